"""The outcome of one add-on in one run: what every step adds to, and all that the summary reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .inventory import AppliedFacts
from .missing_rights import RightsReport
from .objects import ObjectKey
from .plan import Plan

Phase = Literal["Pending", "Synced", "OutOfSync", "Blocked", "Error", "Suspended"]


@dataclass(frozen=True, slots=True)
class ObjectResult:
    """An object with what became of it, or why it stays."""

    key: ObjectKey
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AppliedObject:
    key: ObjectKey
    version: str
    action: str
    facts: AppliedFacts


@dataclass(slots=True)
class Outcome:
    """One add-on's share of a run.

    ``phase`` is empty until something decided it. ``skipped`` says why nothing was done. ``pending`` tells that
    changes wait at the end of the run (all of them in check mode). ``unready`` says what was not ready in time,
    although the add-on went on; ``completed`` are the Jobs that were seen to have done their work; ``held_back`` are
    the objects that were not applied since they wait for others, with the reason. ``unrecorded`` holds what could not
    be written to the record or released: it fails the summary, since ``end`` and ``release`` never fail themselves.
    ``notes`` tell what the inventory lets go of, and why.
    """

    name: str
    phase: Phase | Literal[""] = ""
    message: str = ""
    error: str = ""
    skipped: str = ""
    dropped: bool = False
    pending: bool = False
    unknown: int = 0
    locked: bool = False
    inventory_ahead: bool = False
    healthy: bool | None = None
    unready: str = ""
    planned: dict[str, int] = field(default_factory=dict)
    applied: list[AppliedObject] = field(default_factory=list)
    completed: list[ObjectKey] = field(default_factory=list)
    held_back: list[ObjectResult] = field(default_factory=list)
    pruned: list[ObjectResult] = field(default_factory=list)
    gone: list[ObjectKey] = field(default_factory=list)
    kept: list[ObjectResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unrecorded: str = ""
    rights: RightsReport = field(default_factory=RightsReport)

    @property
    def changed(self) -> bool:
        """Whether an object of the add-on was written or deleted."""
        return bool(self.applied or self.pruned)

    def note_plan(self, plan: Plan) -> None:
        """Take over what a plan says of the add-on: counts, what is kept and why, whether changes are pending."""
        self.planned = plan.counts()
        self.unknown = self.planned.get("unknown", 0)
        self.kept = [ObjectResult(item.key, item.reason) for item in plan.with_action("keep")]
        self.notes = list(plan.notes)
        self.pending = plan.pending
        self.rights = plan.rights

    def count(self, action: str) -> int:
        return sum(1 for item in self.applied if item.action == action)
