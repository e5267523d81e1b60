"""Which facts of a cluster make two renders different."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.cluster_facts import Asked, ClusterFacts

BEFORE = ClusterFacts("v1", frozenset({"apps/v1", "policy/v1"}))
AFTER = ClusterFacts("v1", frozenset({"apps/v1", "policy/v1", "own.io/v1", "own.io/v1/Thing"}), upgrade=True)
OTHER = ClusterFacts("v1", frozenset({"apps/v1", "other.io/v1"}))
OWN = ("own.io/v1", "own.io/v1/Thing")


@pytest.mark.parametrize(
    ("asked", "one", "two", "same"),
    [
        (Asked(), BEFORE, AFTER, True),
        (Asked(), BEFORE, OTHER, True),
        (Asked(upgrade=True), BEFORE, AFTER, False),
        (Asked(("policy/v1",)), BEFORE, AFTER, True),
        (Asked(("policy/v1",)), BEFORE, OTHER, False),
        (Asked(("own.io/v1",)), BEFORE, AFTER, False),
        (Asked(None), BEFORE, OTHER, False),
        # Its own kinds are there after the first sync, and count as there before it.
        (Asked(None, brings=OWN), BEFORE, AFTER, True),
        (Asked(("own.io/v1",), brings=OWN), BEFORE, AFTER, True),
    ],
)
def test_answers(asked: Asked, one: ClusterFacts, two: ClusterFacts, same: bool) -> None:
    assert (asked.answers(one) == asked.answers(two)) is same


def test_answers_are_plain_json_in_one_order() -> None:
    cluster = BEFORE.with_kinds(OWN)
    assert Asked(None, upgrade=True).answers(cluster) == {
        "apiVersions": ["apps/v1", "own.io/v1", "own.io/v1/Thing", "policy/v1"],
        "upgrade": False,
    }
    assert Asked().answers(cluster) == {"apiVersions": [], "upgrade": None}
