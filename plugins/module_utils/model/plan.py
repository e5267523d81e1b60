"""The plan: per object, what applying a bundle would do to the live cluster, and how sure that is.

``changed`` and every diff that a module reports come from here, in check mode and in a real run alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from .difference import Difference, difference
from .field_rules import Path
from .inventory import AppliedFacts, EntryState
from .masking import Mask
from .missing_rights import RightsReport
from .objects import Manifest, ObjectKey

Action = Literal["create", "update", "adopt", "replace", "prune", "keep", "unchanged", "blocked"]
"""``adopt``: label and field ownership only. ``blocked``: the server refuses it, or the engine does."""

Verdict = Literal["proven", "verified", "simulated", "unknown"]
"""``proven``: by what the inventory recorded. ``verified``: dry-run by the server. ``simulated``: its namespace or kind
comes with the same run. ``unknown``: it could not be checked, ``reason`` says why; never counts as unchanged."""

Cascade = Literal["", "Background", "Foreground", "Orphan"]
"""What the server does with an object's dependents when it is deleted, as in ``DeleteOptions.propagationPolicy``."""

CHANGES: frozenset[Action] = frozenset({"create", "update", "adopt", "replace", "prune"})
APPLIES: frozenset[Action] = frozenset({"create", "update", "adopt", "replace"})


@dataclass(frozen=True, slots=True)
class Takeover:
    """A field that another manager owns and that applying takes from it."""

    manager: str
    field: str


@dataclass(frozen=True, slots=True)
class SharedField:
    """A field that another manager owns as well, with the same value: who changes it has to take it from the other."""

    manager: str
    field: str


@dataclass(frozen=True, slots=True)
class Repair:
    """An entry of an object's managed fields that is put right just before the apply.

    ``api_version`` is one that the object's kind does not have any more, empty for fields whose owner was lost.
    """

    manager: str
    api_version: str = ""

    @property
    def title(self) -> str:
        if self.api_version:
            return f"the ownership of {self.manager}: its kind has no version {self.api_version} any more"
        return "lost ownership: what the source states becomes the add-on's, what it does not have stays nobody's"


MADE_UP = "made up by the chart"
"""Why a field stays that is another one in every render."""


@dataclass(frozen=True, slots=True)
class YieldedField:
    """A field of the source that stays as it is in the cluster; ``manager`` is who keeps it, empty if nobody does."""

    field: str
    manager: str
    reason: str

    @property
    def notable(self) -> bool:
        """Whether an object is worth telling of for this alone: what is made up always differs."""
        return self.reason != MADE_UP


@dataclass(slots=True)
class PlanItem:
    """What happens to one object.

    ``before`` and ``after`` are masked YAML texts and ``patch`` the RFC 6902 operations between them, masked too.
    ``owner`` is the add-on named by the live object's label, ``None`` when there is no live object. ``fingerprint`` is
    a keyed hash of the live object: apply refuses an object whose fingerprint moved since the plan. ``facts`` is set
    for unchanged objects, ``kept_as`` is the inventory state of kept ones.

    ``body`` is what is sent instead of the bundle's object, ``None`` for just that: fields that are yielded, made up or
    not taken by its kind differ. ``first`` is sent before it, where one request does not do. ``absorbs`` names the
    managers whose fields become ours, ``removes`` the fields that go with that. ``clears`` are fields that nobody's
    source has and that become ours before the body is sent, so that they go. ``shares`` and ``contested`` are about an
    adoption: what others go on owning, and values of other programs that it would change. ``repairs`` is what is put
    right in the managed fields, before all else. ``adoption_asked`` says that the source asks for this object by name,
    whoever has it and whatever changes.

    ``immutable`` names the fields that the server does not let change. With action ``replace`` the object is deleted
    and made anew; ``cascade`` is the propagation policy of that deletion. ``held_by`` names the object that can't be
    changed and that this one needs. ``in_the_way`` is the webhook configuration that refuses the object for now, and
    that a sync changes or deletes before it comes to the object. ``forbidden`` tells that a right is missing to look at
    it or to dry-run it. ``layer`` counts from 1: what the object waits for is in the layers before.
    """

    key: ObjectKey
    version: str
    action: Action
    verdict: Verdict
    reason: str = ""
    source: str = ""
    generated: bool = False
    adoption_asked: bool = False
    owner: str | None = None
    uid: str = ""
    resource_version: str = ""
    fingerprint: str = ""
    body: Manifest | None = None
    first: Manifest | None = None
    clears: list[Path] = field(default_factory=list)
    takes_over: list[Takeover] = field(default_factory=list)
    contested: list[Takeover] = field(default_factory=list)
    shares: list[SharedField] = field(default_factory=list)
    yields: list[YieldedField] = field(default_factory=list)
    absorbs: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    immutable: list[str] = field(default_factory=list)
    cascade: Cascade = ""
    held_by: str = ""
    forbidden: bool = False
    in_the_way: ObjectKey | None = None
    layer: int = 0
    before: str = ""
    after: str = ""
    patch: list[dict[str, Any]] = field(default_factory=list)
    facts: AppliedFacts | None = None
    kept_as: EntryState = "stale"
    digest: str = ""

    @property
    def header(self) -> str:
        return f"{self.key} ({self.action}, {self.verdict})"

    def show(self, before: Manifest | None, after: Manifest | None, mask: Mask) -> None:
        """Put the difference between two states of the object, if there is one, into the item, masked."""
        shown = difference(before, after, mask)
        if shown.changed:
            self.before, self.after, self.patch = shown.before, shown.after, shown.patch

    def unified(self, limit_lines: int | None = None, limit_characters: int | None = None) -> str:
        """The masked unified diff, empty when nothing is shown to change; what was cut is said in its last line."""
        return Difference(self.before, self.after, self.patch).unified(self.header, limit_lines, limit_characters)

    @property
    def foreign(self) -> bool:
        """The object lives and no label of this product claims it."""
        return self.owner == ""

    @property
    def managed(self) -> bool:
        """The source has this object and the inventory keeps it; not so a namespace that somebody else made."""
        if self.action in ("prune", "keep", "blocked"):
            return False
        return not (self.generated and self.action == "unchanged" and self.facts is None)

    @property
    def completed(self) -> bool:
        """A Job that the source has as it was applied, and that did its work; it may be gone since."""
        return self.facts is not None and self.facts.completed

    @property
    def pending(self) -> bool:
        """Whether a sync would change the object, or can't tell."""
        return self.action in CHANGES or self.doubtful

    @property
    def doubtful(self) -> bool:
        """Whether a sync may do something else with the object than the plan says."""
        return not self.settled or (self.verdict == "simulated" and self.action != "keep")

    @property
    def settled(self) -> bool:
        """Whether this item may be carried out, or left alone, as it stands; what is kept always may."""
        return self.action == "keep" or (self.action != "blocked" and self.verdict != "unknown")

    @property
    def left_out(self) -> bool:
        """Blocked for itself: it can't be changed in place, or needs what can't. The rest is carried out without it."""
        return self.action == "blocked" and bool(self.immutable or self.held_by)


Gate = Literal["", "refused", "hooks", "adoption", "manual-sync"]
"""What holds a plan back: ``refused`` ends as Error, ``hooks`` and ``adoption`` as Blocked, ``manual-sync`` as
OutOfSync."""


@dataclass(slots=True)
class Plan:
    """The plan of one add-on.

    ``bundle_digest`` is the digest of the bundle it was made for, ``digest`` one over the whole plan. ``comparable`` is
    false when it was made with a random key, so that its digests mean nothing outside this run. ``record_version`` is
    the resourceVersion of the record it was planned on. ``gone`` lists inventory entries whose object does not exist,
    or is not this add-on's, any more; ``notes`` say why where that is no matter of course. ``unknown`` tells of
    which kinds there may be objects of an add-on without a record that could not be looked for, and why. ``gate`` holds
    it back, ``gate_reason`` says why. ``rights`` are those that are missing to carry it out.
    """

    name: str
    bundle_digest: str
    record_version: str
    comparable: bool
    items: list[PlanItem] = field(default_factory=list)
    gone: list[ObjectKey] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    digest: str = ""
    gate: Gate = ""
    gate_reason: str = ""
    replan_reason: str = ""
    rights: RightsReport = field(default_factory=RightsReport)

    def with_action(self, *actions: Action) -> list[PlanItem]:
        return [item for item in self.items if item.action in actions]

    @property
    def changes(self) -> list[PlanItem]:
        return [item for item in self.items if item.action in CHANGES]

    @property
    def unsettled(self) -> list[PlanItem]:
        return [item for item in self.items if not item.settled]

    @property
    def refusing(self) -> list[PlanItem]:
        """What has nothing of the plan carried out: it can't be applied at all, or could not be checked."""
        return [item for item in self.unsettled if not item.left_out]

    @property
    def left_out_reason(self) -> str:
        """Why the add-on is not as its source says when all else is applied; empty when nothing is left out."""
        left_out = sorted((item for item in self.items if item.left_out), key=lambda item: bool(item.held_by))
        if not left_out:
            return ""
        more = f" (and {len(left_out) - 1} more left out)" if len(left_out) > 1 else ""
        return f"{left_out[0].key}: {left_out[0].reason}{more}"

    @property
    def pending(self) -> bool:
        """Whether a sync would do something, or can't tell."""
        return any(item.pending for item in self.items)

    def counts(self) -> dict[str, int]:
        return count_actions(self.items)


def count_simulated(items: Iterable[PlanItem]) -> int:
    return sum(1 for item in items if item.verdict == "simulated")


def count_actions(items: Iterable[PlanItem]) -> dict[str, int]:
    """How many items there are per action, and how many are unknown; actions that do not occur are left out."""
    counts: dict[str, int] = {}
    for item in items:
        counts[item.action] = counts.get(item.action, 0) + 1
        if item.verdict == "unknown":
            counts["unknown"] = counts.get("unknown", 0) + 1
    return counts
