"""What a reviewer of a run gets to see, before it has a form: the run's facts, its add-ons, and what matters most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .objects import ObjectKey
from .outcome import Outcome
from .plan import CHANGES, Plan, PlanItem
from .wording import counted, printable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReviewedAddon:
    """One add-on of a run.

    ``plan`` is ``None`` when there is none: it could not be rendered or planned, or its definition left git. ``phase``
    and ``why`` are those of the summary; ``warnings`` are the render's.
    """

    name: str
    phase: str
    why: str
    outcome: Outcome
    plan: Plan | None = None
    revision: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def pending(self) -> bool:
        """Whether a sync would do something that was planned, also if a gate or a pause holds it back."""
        return self.plan.pending if self.plan else self.outcome.pending


@dataclass(frozen=True, slots=True)
class Review:
    """A run to be reviewed.

    ``comparable`` is false when digests and stand-ins of secrets were made with a key of this run alone. ``invalid``
    tells what is wrong with definition files that have no name to go by. ``context`` is that of the kubeconfig, empty
    when none was used.
    """

    commit: str
    server: str
    server_version: str
    check: bool
    comparable: bool
    addons: list[ReviewedAddon]
    invalid: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    context: str = ""


def pending_items(plan: Plan) -> list[PlanItem]:
    """What a sync would change, and what it could not carry out; each item once, in the order of the plan."""
    return [item for item in plan.items if item.pending]


def told_items(plan: Plan) -> list[PlanItem]:
    """The same, and objects of which only this is to be told: fields of theirs are left as they are."""
    return [item for item in plan.items if item.pending or any(one.notable for one in item.yields)]


def importance(item: PlanItem) -> int:
    """Rank for a reader who may not get to the end: what is lost comes first, what is only new last."""
    if item.action in ("prune", "replace"):
        return 0
    if not item.settled:
        return 1
    if item.action in CHANGES and (item.takes_over or item.absorbs or item.removes or item.repairs):
        return 2
    if item.action in ("update", "adopt"):
        return 3
    return 4 if item.action == "create" else 5


def most_important(items: Sequence[PlanItem], most: int) -> list[PlanItem]:
    """At most so many of the items, in their own order."""
    return foremost(items, importance, most)


def foremost(things: Sequence[T], rank: Callable[[T], int], most: int) -> list[T]:
    """At most so many, those of the lowest rank, in their own order."""
    ranked = sorted(range(len(things)), key=lambda index: rank(things[index]))
    return [things[index] for index in sorted(ranked[:most])]


def grouped_warnings(items: Iterable[PlanItem]) -> dict[str, list[ObjectKey]]:
    """The server's warnings, each text once, with the objects that it was about."""
    grouped: dict[str, list[ObjectKey]] = {}
    for item in items:
        for text in dict.fromkeys(map(printable, item.warnings)):
            grouped.setdefault(text, []).append(item.key)
    return grouped


def warning_lines(items: Iterable[PlanItem], most: int) -> list[str]:
    """The server's warnings as lines, the same text once: ``ConfigMap web/a: deprecated (and 99 more objects)``."""
    grouped = grouped_warnings(items)
    lines = [f"{keys[0]}: {text}{_and_more(keys)}" for text, keys in list(grouped.items())[:most]]
    return [*lines, f"… {len(grouped) - most} more warnings"] if len(grouped) > most else lines


def ownership_lines(item: PlanItem, most: int) -> list[str]:
    """What applying does to the fields of others, in words, at most so many lines of each sort."""
    yields = [
        f"leaves {one.field} {f'to {one.manager}' if one.manager else 'as it is'}: {one.reason}" for one in item.yields
    ]
    return [
        printable(line)
        for lines in (
            [f"takes {one.field} from {one.manager}" for one in item.takes_over],
            [f"shares {one.field} with {one.manager}" for one in item.shares],
            yields,
            [f"absorbs the fields of {manager}" for manager in item.absorbs],
            [f"removes {path}" for path in item.removes],
            [f"repairs {one.title}" for one in item.repairs],
        )
        for line in bounded(lines, most)
    ]


def bounded(lines: Sequence[str], most: int) -> list[str]:
    """At most so many, with a last one that says how many there were besides."""
    return [*lines[:most], f"… {len(lines) - most} more"] if len(lines) > most else list(lines)


def _and_more(keys: list[ObjectKey]) -> str:
    return f" (and {counted(len(keys) - 1, 'more object')})" if len(keys) > 1 else ""
