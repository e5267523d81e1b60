"""Which refusals mean a default that is in the way, and what is sent and predicted then."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.api_error import ApiError
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.leftovers import (
    leftovers_of,
    owners_of_leftovers,
    with_leftovers,
    without_leftovers,
)

ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}}
FIELD = ("spec", "strategy", "rollingUpdate")
SAID = "Forbidden: may not be specified when strategy `type` is 'Recreate'"
IN_THE_WAY = ("FieldValueForbidden", "spec.strategy.rollingUpdate", SAID)
WRONG = ("FieldValueInvalid", "spec.replicas", "Invalid value: -1: must be greater than or equal to 0")


def refusal(*causes: tuple[str, str, str], status: int = 422) -> ApiError:
    details = {"causes": [{"reason": reason, "field": field, "message": text} for reason, field, text in causes]}
    return ApiError(status, {"kind": "Status", "reason": "Invalid", "message": "…", "details": details})


def deployment(strategy: Any, **metadata: Any) -> dict[str, Any]:
    return {"kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1, "strategy": strategy}}


@pytest.mark.parametrize(
    ("error", "strategy", "found"),
    [
        (refusal(IN_THE_WAY), {"type": "Recreate"}, [FIELD]),
        (refusal(IN_THE_WAY), {"type": "Recreate", "rollingUpdate": None}, [FIELD]),
        # The source has it: that is a wrong source.
        (refusal(IN_THE_WAY), {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}, []),
        # Nothing of the source is next to it, so that nothing of it can be what forbids it.
        (refusal(IN_THE_WAY), {}, []),
        (refusal(IN_THE_WAY), None, []),
        # Something else is wrong as well.
        (
            refusal(IN_THE_WAY, ("FieldValueInvalid", "spec.replicas", "Invalid value: -1: must be")),
            {"type": "Recreate"},
            [],
        ),
        (refusal(("FieldValueRequired", *IN_THE_WAY[1:])), {"type": "Recreate"}, []),
        (refusal(("FieldValueInvalid", "spec.strategy.rollingUpdate", "field is immutable")), {"type": "Recreate"}, []),
        (refusal(("FieldValueForbidden", "spec.other.field", SAID)), {"type": "Recreate"}, []),
        (refusal(), {"type": "Recreate"}, []),
        (refusal(IN_THE_WAY, status=409), {"type": "Recreate"}, []),
    ],
)
def test_what_is_a_leftover(error: ApiError, strategy: Any, found: list[tuple[str, ...]]) -> None:
    assert leftovers_of(error, deployment(strategy), deployment(ROLLING)) == found


def test_what_is_asked_and_predicted() -> None:
    body, live = deployment({"type": "Recreate", "rollingUpdate": None}), deployment(ROLLING)
    assert with_leftovers(body, live, [FIELD])["spec"] == {"replicas": 1, "strategy": ROLLING}
    assert without_leftovers(live, body, [FIELD])["spec"] == {"replicas": 1, "strategy": {"type": "Recreate"}}
    assert live["spec"]["strategy"] == ROLLING


def test_whose_it_is_is_told_unless_it_is_nobodys() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:strategy": {"f:rollingUpdate": {"f:maxSurge": {}}}}}
    entries = [
        {"manager": "rendimiento-addons", "operation": "Apply", "fieldsV1": {"f:spec": {"f:strategy": {"f:type": {}}}}},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": fields},
    ]
    found = owners_of_leftovers(deployment(ROLLING, managedFields=entries), [FIELD])
    assert [(one.manager, one.field) for one in found] == [("kubectl-edit", ".spec.strategy.rollingUpdate")]
    assert owners_of_leftovers(deployment(ROLLING, managedFields=entries[:1]), [FIELD]) == []
