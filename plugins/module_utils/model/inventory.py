"""The inventory: every object that an add-on has, or may have, in the cluster.

It is written ahead (old and new together before the first change, shrunk after), so that a run killed at any point
leaves nothing behind that no inventory knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .objects import ObjectKey, join_api_version

EntryState = Literal["pending", "applied", "pruning", "stale", "retained"]
"""``pending``: about to be applied, or the apply failed. ``applied``: as the source has it. ``pruning``: deletion sent,
not gone yet. ``stale``: left the source while ``prune`` was off. ``retained``: left the source and is never deleted
by itself (a protected kind, a keep policy)."""


@dataclass(frozen=True, slots=True)
class AppliedFacts:
    """What the server said of an object right after it was applied or checked; later runs prove "unchanged" with it.

    ``own`` is a keyed hash of our ownership entry with the values it owns, ``body`` one of the request that was sent;
    ``crd`` is ``uid/generation`` of the CustomResourceDefinition behind a custom resource, else empty. ``completed`` is
    known of a Job that did its work.
    """

    uid: str
    resource_version: str
    generation: int | None
    own: str
    body: str
    crd: str = ""
    completed: bool = False


@dataclass(frozen=True, slots=True)
class InventoryEntry:
    """One object of an add-on; ``version`` is the API version it was last sent in."""

    key: ObjectKey
    version: str
    state: EntryState
    facts: AppliedFacts | None = None

    @property
    def uid(self) -> str:
        return self.facts.uid if self.facts else ""

    @property
    def api_version(self) -> str:
        return join_api_version(self.key.group, self.version)


@dataclass(slots=True)
class Inventory:
    """The entries of one add-on by identity."""

    entries: dict[ObjectKey, InventoryEntry] = field(default_factory=dict)

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self.entries

    def left_source(self, rendered: Iterable[ObjectKey]) -> list[InventoryEntry]:
        """Entries that the source does not have any more, in order of identity."""
        present = set(rendered)
        return [entry for key, entry in sorted(self.entries.items()) if key not in present]

    def ahead(self, rendered: Iterable[tuple[ObjectKey, str]]) -> Inventory:
        """Old and new together: what a run has to write down before its first change.

        :param rendered: identity and version of everything that is going to be applied.
        """
        entries = dict(self.entries)
        for key, version in rendered:
            known = entries.get(key)
            if known is None:
                entries[key] = InventoryEntry(key, version, "pending")
            elif known.state != "applied":
                entries[key] = replace(known, state="pending")
        return Inventory(entries)

    def remember(self, key: ObjectKey, version: str, state: EntryState, uid: str) -> None:
        """Take in an object of a lost record; of one that is known only the state changes."""
        known = self.entries.get(key)
        facts = AppliedFacts(uid, "", None, "", "")
        self.entries[key] = replace(known, state=state) if known else InventoryEntry(key, version, state, facts)

    def to_status(self) -> list[dict[str, Any]]:
        """The form kept in ``status.objects``, in a stable order."""
        return [_entry_to_status(entry) for _key, entry in sorted(self.entries.items())]

    @classmethod
    def from_status(cls, objects: list[dict[str, Any]] | None) -> Inventory:
        entries = (_entry_from_status(item) for item in objects or [])
        return cls({entry.key: entry for entry in entries})


def _entry_to_status(entry: InventoryEntry) -> dict[str, Any]:
    value: dict[str, Any] = {
        "group": entry.key.group,
        "version": entry.version,
        "kind": entry.key.kind,
        "namespace": entry.key.namespace,
        "name": entry.key.name,
        "state": entry.state,
    }
    if entry.facts:
        value |= {
            "uid": entry.facts.uid,
            "resourceVersion": entry.facts.resource_version,
            "own": entry.facts.own,
            "body": entry.facts.body,
        }
        if entry.facts.generation is not None:
            value["generation"] = entry.facts.generation
        if entry.facts.crd:
            value["crd"] = entry.facts.crd
        if entry.facts.completed:
            value["completed"] = True
    return {name: item for name, item in value.items() if item != ""}


def _entry_from_status(value: dict[str, Any]) -> InventoryEntry:
    key = ObjectKey(value.get("group", ""), value["kind"], value.get("namespace", ""), value["name"])
    facts = None
    if value.get("uid"):
        facts = AppliedFacts(
            uid=value["uid"],
            resource_version=value.get("resourceVersion", ""),
            generation=value.get("generation"),
            own=value.get("own", ""),
            body=value.get("body", ""),
            crd=value.get("crd", ""),
            completed=value.get("completed", False),
        )
    return InventoryEntry(key, value.get("version", ""), value.get("state", "pending"), facts)
