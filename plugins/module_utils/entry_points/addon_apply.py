"""``addon_apply``: server-side applies what the plan says differs, then waits until it is ready."""

from __future__ import annotations

from ..model.errors import PlanError
from ..model.plan import Plan, count_actions
from ..steps.apply import apply, due_items
from ..steps.session import Session, open_session
from .invocation import Invocation, Parameters, Result, diff_of
from .options import STEP_SPEC

ARGUMENT_SPEC = {
    **STEP_SPEC,
    "stage": {"type": "str", "choices": ["prerequisites", "all"], "default": "all"},
}

RETURNS = ("counts", "objects", "diff")


def call(parameters: Parameters, invocation: Invocation) -> Result:
    session, name, stage = open_session(parameters["run"]), parameters["name"], parameters["stage"]
    if invocation.check:
        items = due_items(stored_plan(session, name), session.directory.outcome(name), stage)
    else:
        items = apply(session, name, stage, invocation.progress)
    return Result(
        changed=bool(items),
        values={"counts": count_actions(items), "objects": [str(item.key) for item in items]},
        diff=diff_of(items) if invocation.diff else [],
    )


def stored_plan(session: Session, name: str) -> Plan:
    """:raises PlanError: when ``addon_diff`` was not called before."""
    plan = session.directory.plan(name)
    if plan is None:
        raise PlanError("was not planned", addon=name, hint="call addon_diff first")
    return plan
