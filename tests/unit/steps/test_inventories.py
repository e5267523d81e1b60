"""What an inventory becomes: nothing that may exist is ever forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import Inventory, InventoryEntry
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import (
    AppliedObject,
    ObjectResult,
    Outcome,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Plan, PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.inventories import inventory_after
from tests.unit.steps.made_run import FACTS, inventory, item, key

NEWER = replace(FACTS, resource_version="8")
NOTHING = Outcome("app")


def done(*names: str, **fields: Any) -> Outcome:
    return Outcome("app", applied=[AppliedObject(key(name), "v1", "update", NEWER) for name in names], **fields)


def plan(*items: PlanItem, gone: tuple[ObjectKey, ...] = ()) -> Plan:
    return Plan("app", "", "", True, list(items), list(gone))


@pytest.mark.parametrize(
    ("before", "made", "outcome", "after"),
    [
        # Applied, or not.
        ({"a": "pending"}, plan(item("a", "create")), done("a"), {"a": ("applied", "8")}),
        ({"a": "pending"}, plan(item("a", "create")), NOTHING, {"a": ("pending", "7")}),
        ({"a": "applied"}, plan(item("a", "update")), NOTHING, {"a": ("applied", "7")}),
        ({"a": "applied"}, plan(item("a", "update")), done("a"), {"a": ("applied", "8")}),
        ({}, plan(item("a", "create")), NOTHING, {}),
        ({"a": "applied"}, plan(item("a", "blocked", "unknown")), NOTHING, {"a": ("applied", "7")}),
        # Unchanged: recorded anew only together with something else.
        ({"a": "applied"}, plan(item("a", facts=NEWER)), None, {"a": ("applied", "7")}),
        ({"a": "applied"}, plan(item("a", facts=NEWER)), NOTHING, {"a": ("applied", "8")}),
        ({"a": "pending"}, plan(item("a", facts=NEWER)), None, {"a": ("applied", "7")}),
        ({"a": "stale"}, plan(item("a", facts=NEWER)), NOTHING, {"a": ("applied", "8")}),
        ({}, plan(item("a", facts=NEWER)), None, {"a": ("applied", "8")}),
        # What left the source.
        ({"a": "applied"}, plan(item("a", "keep", kept_as="stale")), None, {"a": ("stale", "7")}),
        ({"a": "applied"}, plan(item("a", "keep", kept_as="retained")), NOTHING, {"a": ("retained", "7")}),
        ({"a": "applied"}, plan(item("a", "prune")), NOTHING, {"a": ("applied", "7")}),
        ({"a": "applied"}, plan(item("a", "prune")), done(pruned=[ObjectResult(key("a"))]), {"a": ("pruning", "7")}),
        ({"a": "applied"}, plan(item("a", "prune")), done(pruned=[ObjectResult(key("a"))], gone=[key("a")]), {}),
        ({"a": "applied"}, plan(item("a", "prune")), done(gone=[key("a")]), {}),
        ({"a": "applied", "b": "applied"}, plan(gone=(key("a"),)), None, {"b": ("applied", "7")}),
        ({}, plan(gone=(key("a"),)), NOTHING, {}),
        # Found by its label after the record was lost.
        ({}, plan(item("a", "keep", kept_as="stale", uid="uid")), NOTHING, {"a": ("stale", "")}),
        # Nothing in the plan about it: stays.
        ({"a": "stale"}, plan(), done(), {"a": ("stale", "7")}),
    ],
)
def test_inventory_after(before: Any, made: Plan, outcome: Outcome | None, after: dict[str, tuple[str, str]]) -> None:
    known = Inventory.from_status(inventory(**before))
    found = inventory_after(known, made, outcome)
    states = {
        entry.key.name: (entry.state, entry.facts.resource_version if entry.facts else "")
        for entry in found.entries.values()
    }
    assert states == after
    assert known == Inventory.from_status(inventory(**before))


NAMESPACE = ObjectKey("", "Namespace", "", "web")


@pytest.mark.parametrize(
    ("fields", "outcome", "state"),
    [
        # Somebody else's, found or made in the meantime: none of ours.
        ({"action": "unchanged", "owner": ""}, NOTHING, None),
        ({"action": "create"}, NOTHING, None),
        # Ours.
        ({"action": "unchanged", "owner": "app", "facts": FACTS}, NOTHING, "applied"),
        ({"action": "create"}, Outcome("app", applied=[AppliedObject(NAMESPACE, "v1", "create", FACTS)]), "applied"),
    ],
)
def test_the_namespace_belongs_to_who_made_it(fields: dict[str, Any], outcome: Outcome, state: str | None) -> None:
    before = Inventory({NAMESPACE: InventoryEntry(NAMESPACE, "v1", "pending")})
    made = item("web", key=NAMESPACE, generated=True, **fields)
    entry = inventory_after(before, plan(made), outcome).entries.get(NAMESPACE)
    assert (entry and entry.state) == state


def test_a_changed_api_version_is_recorded() -> None:
    known = Inventory({key("a"): InventoryEntry(key("a"), "v1beta1", "applied", FACTS)})
    assert inventory_after(known, plan(item("a", facts=NEWER))).entries[key("a")].version == "v1"


def test_kept_objects_and_why() -> None:
    made = plan(item("a", "keep", reason="protected"), item("b"), item("c", "prune"))
    outcome = Outcome("web")
    outcome.note_plan(made)
    assert outcome.kept == [ObjectResult(key("a"), "protected")]
