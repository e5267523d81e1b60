"""``addon_bootstrap``: prepares a cluster for the collection, once and again after an upgrade."""

from __future__ import annotations

from ..steps.bootstrap import bootstrap
from .invocation import Invocation, Parameters, Result
from .options import ACCESS_SPEC, STATE_NAMESPACE_SPEC, access_options

ARGUMENT_SPEC = {**ACCESS_SPEC, **STATE_NAMESPACE_SPEC}


def call(parameters: Parameters, invocation: Invocation) -> Result:
    prepared = bootstrap(access_options(parameters), parameters["state_namespace"], check=invocation.check)
    changed = [item for item in prepared if item.changed]
    diff = [
        {
            "before_header": item.title,
            "after_header": item.title,
            "before": item.difference.before,
            "after": item.difference.after,
        }
        for item in changed
    ]
    return Result(
        changed=bool(changed),
        values={
            "objects": [item.title for item in prepared],
            "created": [item.title for item in changed if item.created],
            "updated": [item.title for item in changed if not item.created],
        },
        diff=diff if invocation.diff else [],
    )
