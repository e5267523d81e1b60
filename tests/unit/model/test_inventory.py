"""The inventory: written ahead, kept in a record's status, and what has left the source."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import (
    AppliedFacts,
    EntryState,
    Inventory,
    InventoryEntry,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey

A, B = ObjectKey("", "ConfigMap", "web", "a"), ObjectKey("apps", "Deployment", "web", "b")
ROLE = ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "system:r")
FACTS = AppliedFacts("u", "7", 3, "own", "body", "crd/1")


def inventory(**states: EntryState) -> Inventory:
    keys = {"a": A, "b": B}
    return Inventory({keys[name]: InventoryEntry(keys[name], "v1", state, FACTS) for name, state in states.items()})


@pytest.mark.parametrize(
    ("before", "rendered", "after"),
    [
        ({}, [A], {"a": "pending"}),
        ({"a": "applied"}, [A, B], {"a": "applied", "b": "pending"}),
        ({"a": "applied", "b": "applied"}, [A], {"a": "applied", "b": "applied"}),
        ({"a": "stale"}, [A], {"a": "pending"}),
        ({"a": "retained"}, [A], {"a": "pending"}),
        ({"a": "pruning"}, [], {"a": "pruning"}),
        ({"a": "pending"}, [], {"a": "pending"}),
    ],
)
def test_old_and_new_together_before_the_first_change(
    before: dict[str, EntryState], rendered: list[ObjectKey], after: dict[str, EntryState]
) -> None:
    known = inventory(**before)
    ahead = known.ahead((key, "v1") for key in rendered)
    assert {key.name: entry.state for key, entry in ahead.entries.items()} == after
    assert known == inventory(**before)
    # What is remembered of an object outlives that it has to be applied again.
    assert all(ahead.entries[key].facts == entry.facts for key, entry in known.entries.items())


def test_what_left_the_source_in_order() -> None:
    known = inventory(b="applied", a="retained")
    assert [entry.key for entry in known.left_source([])] == [A, B]
    assert [entry.key for entry in known.left_source([A])] == [B]
    assert known.left_source([B, A]) == []


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (InventoryEntry(A, "v1", "pending"), {"version": "v1", "kind": "ConfigMap", "namespace": "web", "name": "a",
                                              "state": "pending"}),
        (InventoryEntry(B, "v1", "applied", FACTS),
         {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "web", "name": "b", "state": "applied",
          "uid": "u", "resourceVersion": "7", "generation": 3, "own": "own", "body": "body", "crd": "crd/1"}),
        (InventoryEntry(ROLE, "v1", "retained", AppliedFacts("u", "7", None, "own", "body")),
         {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole", "name": "system:r",
          "state": "retained", "uid": "u", "resourceVersion": "7", "own": "own", "body": "body"}),
        (InventoryEntry(A, "v1", "applied", AppliedFacts("u", "7", 0, "own", "body")),
         {"version": "v1", "kind": "ConfigMap", "namespace": "web", "name": "a", "state": "applied", "uid": "u",
          "resourceVersion": "7", "generation": 0, "own": "own", "body": "body"}),
    ],
)  # fmt: skip
def test_status_there_and_back(entry: InventoryEntry, status: dict[str, Any]) -> None:
    kept = Inventory({entry.key: entry})
    assert kept.to_status() == [status]
    assert Inventory.from_status([status]) == kept


def test_status_is_in_a_stable_order_and_may_be_absent() -> None:
    assert inventory(b="applied", a="applied").to_status() == inventory(a="applied", b="applied").to_status()
    assert Inventory.from_status(None) == Inventory.from_status([]) == Inventory()


def test_fields_of_an_older_or_newer_engine_do_no_harm() -> None:
    read = Inventory.from_status([{"kind": "ConfigMap", "name": "a", "hash": "x", "adoptedFrom": {"y": 1}}])
    (entry,) = read.entries.values()
    assert (entry.state, entry.facts, entry.uid, entry.version) == ("pending", None, "", "")


def test_an_entry_says_where_it_is_found() -> None:
    assert InventoryEntry(B, "v1", "applied", FACTS).api_version == "apps/v1"
    assert InventoryEntry(A, "v1", "applied").api_version == "v1"
    assert InventoryEntry(B, "v1", "applied", FACTS).uid == "u"
    assert A in inventory(a="applied")
    assert B not in inventory(a="applied")
