"""What an add-on's inventory becomes: entries by what the plan says and by what the run did."""

from __future__ import annotations

from dataclasses import replace

from ..model.inventory import Inventory, InventoryEntry
from ..model.outcome import Outcome
from ..model.plan import Plan


def inventory_after(before: Inventory, plan: Plan, outcome: Outcome | None = None) -> Inventory:
    """The inventory after a run that did what ``outcome`` says; without one, after a run that had nothing to do.

    Facts of objects that were only checked are not recorded anew as long as nothing else is.
    """
    after = Inventory(dict(before.entries))
    entries = after.entries
    applied = {item.key: item for item in outcome.applied} if outcome else {}
    pruned = {item.key for item in outcome.pruned} if outcome else set()
    gone = {*plan.gone, *(outcome.gone if outcome else [])}
    for item in plan.items:
        key, known = item.key, entries.get(item.key)
        if item.generated and (not item.managed or (outcome and item.action == "create" and key not in applied)):
            # Somebody else made the namespace, before this run or in it.
            entries.pop(key, None)
        elif item.action == "keep":
            after.remember(key, item.version, item.kept_as, item.uid)
        elif item.action == "prune":
            if known and key in pruned:
                entries[key] = replace(known, state="pruning")
        elif key in applied:
            entries[key] = InventoryEntry(key, item.version, "applied", applied[key].facts)
        elif item.action == "unchanged" and item.managed:
            facts = item.facts if outcome or not (known and known.facts) else known.facts
            entries[key] = InventoryEntry(key, item.version, "applied", facts)
    for key in outcome.completed if outcome else []:
        if (entry := entries.get(key)) and entry.facts:
            entries[key] = replace(entry, facts=replace(entry.facts, completed=True))
    for key in gone:
        entries.pop(key, None)
    return after
