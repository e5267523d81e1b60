"""Objects that two add-ons lay claim to: a hand-over in one run, a clash, or what an absent add-on still holds.

What another add-on of the run has, or may have, is never pruned.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model.bundle import Bundle
from ..model.objects import ObjectKey
from ..model.plan import Plan, PlanItem
from .session import Session

Sources = dict[str, dict[ObjectKey, str]]
"""Where each rendered add-on has each of its objects from."""


def sources_by_addon(bundles: Iterable[Bundle]) -> Sources:
    return {bundle.name: {item.key: item.source for item in bundle.objects if not item.generated} for bundle in bundles}


def settle_claims(session: Session, plan: Plan, sources: Sources) -> None:
    """Judge every item against what the other add-ons of the run render and what all inventories hold."""
    for item in plan.items:
        others = [name for name, objects in sources.items() if item.key in objects and name != plan.name]
        if item.action in ("prune", "keep"):
            if others and item.kept_as == "stale":
                item.action, item.reason = "keep", f"moves to add-on {others[0]}"
        elif item.generated:
            continue
        elif others:
            there = f"{others[0]} ({sources[others[0]][item.key]})"
            _block(item, f"is in two add-ons: here ({item.source}) and in {there}")
        elif item.owner and item.owner != plan.name:
            _judge_label(session, item, item.owner, sources)
    if pruned := plan.with_action("prune"):
        _spare_what_others_hold(session, plan.name, pruned, sources)


def _spare_what_others_hold(session: Session, name: str, pruned: list[PlanItem], sources: Sources) -> None:
    """Keep what another add-on has under another identity, or what one that is not planned has in its inventory."""
    uids: dict[str, str] = {}
    for other in sources.keys() - {name}:
        planned = session.directory.plan(other)
        uids |= {item.uid: other for item in (planned.items if planned else []) if item.action not in ("prune", "keep")}
    absent = {
        key: other
        for other, record in session.records.items()
        if other != name and other not in sources
        for key, entry in record.inventory.entries.items()
        if entry.state in ("pending", "applied")
    }
    for item in pruned:
        if item.uid in uids:
            # One object can be served in two API groups (observed).
            item.action, item.reason = "keep", f"moves to add-on {uids[item.uid]}"
        elif item.key in absent:
            other = absent[item.key]
            item.action, item.reason = "keep", f"add-on {other} has it, too, {_why_absent(session, other)}"


def _judge_label(session: Session, item: PlanItem, owner: str, sources: Sources) -> None:
    """A live object with another add-on's label that no other add-on of the run renders."""
    if owner in sources and session.rests(owner):
        _block(item, f"belongs to add-on {owner}, which is suspended or paused")
    elif owner in sources or owner in session.info.removed:
        item.reason = f"handed over by add-on {owner}"
    elif item.key in session.record(owner).inventory:
        _block(item, f"belongs to add-on {owner}, {_why_absent(session, owner)}")
    else:
        item.reason = f"its label names add-on {owner}, which does not have it"
        item.owner = ""


def _why_absent(session: Session, owner: str) -> str:
    if owner in session.info.protected:
        return "whose definition is invalid"
    if owner in session.info.removed:
        return "whose definition left git"
    if owner in session.info.others or session.info.options.only:
        return "which is not part of this run"
    return "which could not be rendered"


def _block(item: PlanItem, reason: str) -> None:
    item.action, item.verdict, item.reason = "blocked", "verified", reason
    # Whatever else holds it back concerns this add-on alone; this does not.
    item.immutable, item.held_by = [], ""
