"""Which records are about another cluster: only those that say so."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.record import Record
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.cluster_identity import from_elsewhere


@pytest.mark.parametrize(
    ("recorded", "here", "refused"),
    [("one", "two", True), ("one", "one", False), ("", "one", False), ("one", "", False), ("", "", False)],
)
def test_from_elsewhere(recorded: str, here: str, refused: bool) -> None:
    found = from_elsewhere({"web": Record("web", status={"cluster": recorded})}, here)
    assert found.keys() == ({"web"} if refused else set())
    assert all("about another cluster (one, not two)" in reason for reason in found.values())
