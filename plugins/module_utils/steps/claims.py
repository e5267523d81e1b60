"""Objects that somebody else lays claim to: a hand-over in one run, a clash, what an absent add-on still holds, another
Helm release's, a controller's.

What another add-on of the run has, or may have, is never pruned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..model.bundle import Bundle
from ..model.holders import controller_of, helm_release_of
from ..model.inventory import InventoryEntry
from ..model.names import ADOPT_ANNOTATION
from ..model.objects import Manifest, ObjectKey
from ..model.plan import Plan, PlanItem
from .session import Session

_ASK = f'annotate it in the source with {ADOPT_ANNOTATION}: "true"'


@dataclass(frozen=True, slots=True)
class Claims:
    """What the add-ons lay claim to.

    ``sources`` tells where each rendered one has each of its objects from, ``holders`` which records hold an object.
    """

    sources: dict[str, dict[ObjectKey, str]]
    holders: dict[ObjectKey, dict[str, InventoryEntry]]

    @classmethod
    def of(cls, session: Session, bundles: Iterable[Bundle]) -> Claims:
        sources = {
            bundle.name: {item.key: item.source for item in bundle.objects if not item.generated} for bundle in bundles
        }
        holders: dict[ObjectKey, dict[str, InventoryEntry]] = {}
        for name, record in sorted(session.records.items()):
            for key, entry in record.inventory.entries.items():
                holders.setdefault(key, {})[name] = entry
        return cls(sources, holders)


def adoption_asked(manifest: Manifest) -> bool:
    """Whether the source says of this object that it is to be taken over, whoever has it and whatever changes."""
    return bool((manifest["metadata"].get("annotations") or {}).get(ADOPT_ANNOTATION) == "true")


def held_by_others(session: Session, name: str, item: PlanItem, live: Manifest) -> str:
    """Why a live object that no add-on has yet can't be taken over: whose it is. Empty when it can."""
    definition = session.directory.definition(name).definition
    controller, release = controller_of(live), helm_release_of(live["metadata"])
    if release == (definition.namespace, definition.release_name) or item.adoption_asked:
        release = None
    if not (controller or release) or (item.owner and item.key in session.record(item.owner).inventory):
        return ""
    if controller:
        return f"belongs to {controller}, whose controller made it and goes on writing it: remove it from the source"
    assert release
    return f"belongs to Helm release {release[1]} in namespace {release[0]}. To take it from there, {_ASK}"


def settle_claims(session: Session, plan: Plan, claims: Claims) -> None:
    """Judge every item against what the other add-ons of the run render and what all inventories hold."""
    for item in plan.items:
        others = [name for name, objects in claims.sources.items() if item.key in objects and name != plan.name]
        if item.action in ("prune", "keep"):
            if others and item.kept_as == "stale":
                item.action, item.reason = "keep", f"moves to add-on {others[0]}"
        elif item.generated:
            continue
        elif others:
            there = f"{others[0]} ({claims.sources[others[0]][item.key]})"
            _block(item, f"is in two add-ons: here ({item.source}) and in {there}")
        elif item.action == "blocked" and not item.left_out:
            continue
        elif holder := _holder(session, plan.name, item, claims):
            _judge_holder(session, item, holder, claims)
        elif item.owner and item.owner != plan.name:
            item.reason = f"its label names add-on {item.owner}, which does not have it"
            item.owner = ""
    if pruned := plan.with_action("prune"):
        _spare_what_others_hold(session, plan.name, pruned, claims)


def _spare_what_others_hold(session: Session, name: str, pruned: list[PlanItem], claims: Claims) -> None:
    """Keep what another add-on has under another identity, or what one that is not planned has in its inventory."""
    uids: dict[str, str] = {}
    for other in claims.sources.keys() - {name}:
        planned = session.directory.plan(other)
        here = [item.uid for item in (planned.items if planned else []) if item.action not in ("prune", "keep")]
        uids |= {uid: other for uid in here if uid}
    for item in pruned:
        absent = [
            other
            for other, entry in claims.holders.get(item.key, {}).items()
            if other not in {name, *claims.sources} and entry.state in ("pending", "applied")
        ]
        if item.uid in uids:
            # One object can be served in two API groups (observed).
            item.action, item.reason = "keep", f"moves to add-on {uids[item.uid]}"
        elif absent:
            item.action, item.reason = "keep", f"add-on {absent[0]} has it, too, {_why_absent(session, absent[0])}"


def _holder(session: Session, name: str, item: PlanItem, claims: Claims) -> str:
    """The other add-on that has the object, by its label or by its record; empty for none."""
    label, holders = item.owner or "", claims.holders.get(item.key, {})
    if label == name and name in holders:
        return ""
    if label and label != name and (label in holders or label in claims.sources or label in session.info.removed):
        return label
    for other, entry in holders.items():
        if item.owner is None:
            # It is not there yet, or not any more: that add-on makes it again, unless its source gave it up.
            holds = entry.state in ("pending", "applied") and other not in {*claims.sources, *session.info.removed}
        else:
            # With another uid, somebody else made it anew.
            holds = entry.uid in ("", item.uid)
        if other != name and holds:
            return other
    return ""


def _judge_holder(session: Session, item: PlanItem, holder: str, claims: Claims) -> None:
    """An object that another add-on has, and that no other add-on of the run renders."""
    rests = holder in claims.sources and session.rests(holder)
    if holder in session.info.removed or (holder in claims.sources and not rests):
        item.reason = f"handed over by add-on {holder}"
    elif item.adoption_asked:
        item.reason = f"taken from add-on {holder}, as its source asks"
    else:
        why = "which is suspended or paused" if rests else _why_absent(session, holder)
        _block(item, f"belongs to add-on {holder}, {why}. To take it from there, {_ASK}")


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
    # Not just left out: the add-on is to be sorted out before anything of it is written.
    item.immutable, item.held_by = [], ""
