"""``addon_prune``: deletes what left the source, with proof; what is protected or has a keep policy is reported."""

from __future__ import annotations

from ..steps.prune import prunable, prune
from ..steps.session import open_session
from .addon_apply import stored_plan
from .invocation import Invocation, Parameters, Result, diff_of
from .options import STEP_SPEC

ARGUMENT_SPEC = STEP_SPEC

RETURNS = ("deleted", "kept", "diff")


def call(parameters: Parameters, invocation: Invocation) -> Result:
    session, name = open_session(parameters["run"]), parameters["name"]
    plan = stored_plan(session, name)
    if invocation.check:
        items = prunable(plan, session.directory.outcome(name))
    else:
        items = prune(session, name, invocation.progress)
    return Result(
        changed=bool(items),
        values={
            "deleted": [str(item.key) for item in items],
            "kept": [{"object": str(item.key), "reason": item.reason} for item in plan.with_action("keep")],
        },
        diff=diff_of(items) if invocation.diff else [],
    )
