"""``addon_diff``: what applying the bundle would do to the live cluster."""

from __future__ import annotations

from typing import Any

from ..model.layers import layers_of
from ..model.plan import Plan
from ..model.review import told_items, warning_lines
from ..steps.plan import plan
from ..steps.session import open_session
from .invocation import Invocation, Parameters, Result, diff_lines, diff_of
from .options import STEP_SPEC

ARGUMENT_SPEC = STEP_SPEC

_WARNINGS = 20
_LAYERS = 50
_NAMES = 10

RETURNS = ("path", "counts", "pending", "comparable", "digest", "gate", "gate_reason", "replanned", "layers", "diff")


def call(parameters: Parameters, invocation: Invocation) -> Result:
    session, name = open_session(parameters["run"]), parameters["name"]
    made = plan(session, name, invocation.progress)
    told = told_items(made)
    held = session.directory.outcome(name).locked and made.gate in ("adoption", "manual-sync", "hooks")
    return Result(
        changed=invocation.check and made.pending and not session.rests(name),
        values={
            "path": str(session.directory.path / "plan" / f"{name}.json"),
            "counts": made.counts(),
            "pending": made.pending,
            "comparable": made.comparable,
            "digest": made.digest,
            "gate": made.gate,
            "gate_reason": made.gate_reason,
            "replanned": made.replan_reason,
            "layers": _layers(made),
        },
        diff=diff_of(told) if invocation.check and invocation.diff else [],
        # Ansible prints a task's diff only when it changed something; what a gate holds must be seen all the same.
        report=diff_lines(told) if held and invocation.diff and not invocation.check else [],
        warnings=warning_lines(made.items, _WARNINGS),
    )


def _layers(made: Plan) -> list[dict[str, Any]]:
    layers = list(layers_of(made.items).items())[:_LAYERS]
    return [
        {"layer": number, "count": len(keys), "objects": [str(key) for key in keys[:_NAMES]]} for number, keys in layers
    ]
