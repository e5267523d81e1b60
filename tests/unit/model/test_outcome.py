"""What an add-on's share of a run says of itself."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import AppliedFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import (
    AppliedObject,
    ObjectResult,
    Outcome,
)

KEY = ObjectKey("", "ConfigMap", "web", "a")
FACTS = AppliedFacts("u", "1", None, "", "")


@pytest.mark.parametrize(
    ("outcome", "changed"),
    [
        (Outcome("web"), False),
        (Outcome("web", phase="Synced", kept=[ObjectResult(KEY)], gone=[KEY], pending=True), False),
        (Outcome("web", applied=[AppliedObject(KEY, "v1", "adopt", FACTS)]), True),
        (Outcome("web", pruned=[ObjectResult(KEY)]), True),
    ],
)
def test_changed_means_written_or_deleted(outcome: Outcome, changed: bool) -> None:
    assert outcome.changed is changed


def test_counts_by_action() -> None:
    outcome = Outcome(
        "web", applied=[AppliedObject(KEY, "v1", action, FACTS) for action in ("create", "adopt", "create")]
    )
    assert [outcome.count(action) for action in ("create", "adopt", "update")] == [2, 1, 0]
