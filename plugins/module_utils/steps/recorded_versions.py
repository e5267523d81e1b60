"""Brings the resourceVersions in an inventory up to date after the wait, as far as they prove the same content.

Controllers write status while an add-on becomes ready. Without this the next run would find every version moved.
"""

from __future__ import annotations

from dataclasses import replace

from ..cluster.snapshot import ObjectMetadata
from ..model.inventory import AppliedFacts, Inventory, InventoryEntry
from ..model.objects import ObjectKey
from ..model.outcome import Outcome
from ..model.ownership import ownership_hash
from .session import Session


def latest_versions(session: Session, inventory: Inventory, outcome: Outcome) -> Inventory:
    """Read the applied kinds again and record new versions of objects whose uid, generation and ownership are equal."""
    if not outcome.applied:
        return inventory
    live = session.fresh_snapshot({item.key.group_kind for item in outcome.applied}).objects
    entries: dict[ObjectKey, InventoryEntry] = {}
    for key, entry in inventory.entries.items():
        found = live.get(key)
        if found and entry.facts and _same_content(session.key, found, entry.facts):
            entry = replace(entry, facts=replace(entry.facts, resource_version=found.resource_version))
        entries[key] = entry
    return Inventory(entries)


def _same_content(key: bytes, found: ObjectMetadata, facts: AppliedFacts) -> bool:
    metadata = {
        "managedFields": found.managed_fields,
        "labels": found.labels,
        "annotations": found.annotations,
        "finalizers": found.finalizers,
        "ownerReferences": found.owner_references,
    }
    return (found.uid, found.generation, ownership_hash(key, metadata)) == (facts.uid, facts.generation, facts.own)
