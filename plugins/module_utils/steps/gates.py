"""The gates: what holds a plan back although it could be carried out, decided by plan and record alone."""

from __future__ import annotations

from ..model.bundle import Bundle
from ..model.names import ADOPT_ANNOTATION
from ..model.plan import Plan, PlanItem
from ..model.wording import listed
from .session import Session


def judge(session: Session, made: Plan, bundle: Bundle) -> None:
    """Set the gate that holds the plan back, the strictest first."""
    record = session.record(made.name)
    definition = session.directory.definition(made.name).definition
    made.gate, made.gate_reason = "", ""
    made.rights.keep_needed({item.key: item.action for item in made.items})
    refusing = made.refusing
    foreign = [
        item for item in made.items if item.foreign and item.action != "unchanged" and (item.managed or item.left_out)
    ]
    # What the source asks for by name needs no leave for the whole add-on.
    foreign = [item for item in foreign if not item.adoption_asked]
    changing = [item for item in foreign if item.action != "adopt"]
    contested = [item for item in foreign if item.contested]
    # The label alone is no proof that the add-on made it: its record was lost, and nothing says what was applied.
    forgotten = [item for item in made.items if record.fresh and item.owner == made.name and not item.adoption_asked]
    overwritten = [item for item in forgotten if item.action in ("update", "replace")]
    if made.rights.missing:
        others = [item for item in refusing if not item.forbidden]
        besides = f". Besides, {others[0].key}: {others[0].reason}" if others else ""
        made.gate, made.gate_reason = "refused", f"{made.rights.sentence()}{besides}"
    elif refusing:
        first = refusing[0]
        more = f" (and {len(refusing) - 1} more)" if len(refusing) > 1 else ""
        made.gate, made.gate_reason = "refused", f"{first.key}: {first.reason}{more}"
    elif bundle.hooks and not definition.skip_hooks:
        names = ", ".join(str(item.key) for item in bundle.hooks[:3])
        made.gate = "hooks"
        made.gate_reason = (
            f"has Helm hooks ({names}), which this version can't run. Set skipHooks: true to leave them out"
        )
    elif foreign and not definition.adopt:
        made.gate = "adoption"
        made.gate_reason = (
            f"already in the cluster and not this add-on's: {_listed(foreign)}. Set adopt: true to take them over"
        )
    elif contested:
        made.gate = "adoption"
        made.gate_reason = (
            f"taking over what runs would take fields from others: {_contested(contested)}. Leave those fields out of "
            f'the source, or annotate the objects in the source with {ADOPT_ANNOTATION}: "true"'
        )
    elif forgotten and not definition.adopt:
        made.gate = "adoption"
        left = [item for item in forgotten if item.action == "keep"]
        not_in_source = f". Not in the source: {_listed(left)}" if left else ""
        made.gate_reason = (
            f"labelled as this add-on's, but in no record, so its record was lost: {_listed(forgotten)}{not_in_source}"
            f"{_more(made)}. Set adopt: true to take them over; nothing is pruned in that run"
        )
    elif forgotten and made.unknown and not definition.allow_adopt_changes:
        made.gate = "adoption"
        made.gate_reason = (
            f"its record was lost{_more(made)}. What is not found now is never pruned: have these listed by the acting "
            "account, or set allowAdoptChanges: true to do without"
        )
    elif overwritten and not definition.allow_adopt_changes:
        made.gate = "adoption"
        made.gate_reason = (
            f"labelled as this add-on's, but in no record, and a sync would change it: {_listed(overwritten)}. "
            "Correct the source until nothing changes, or set allowAdoptChanges: true"
        )
    elif foreign and not definition.allow_adopt_changes and (changing or _adopts_at_first(made, record.applied_before)):
        others = changing or made.with_action("create")
        made.gate = "adoption"
        made.gate_reason = (
            f"taking over what runs would change {_listed(others)}. "
            "Correct the source until nothing changes, or set allowAdoptChanges: true"
        )
    elif definition.manual_sync and made.changes and record.sync_request <= record.applied_sync_request:
        made.gate = "manual-sync"
        made.gate_reason = "changes wait for a sync: raise spec.syncRequest of the Addon"


def _adopts_at_first(made: Plan, applied_before: bool) -> bool:
    """An add-on taken over whole must be whole already: at the first sync an object to create is a change, too."""
    return not applied_before and bool(made.with_action("create"))


def _more(made: Plan) -> str:
    """What may be the add-on's besides what was found, as the end of a sentence."""
    if not made.unknown:
        return ""
    return f"; it is not known whether objects of these kinds are there: {listed(made.unknown, 3)}"


def _contested(items: list[PlanItem]) -> str:
    fields = [
        f"{item.key} ({listed([f'{one.field} from {one.manager}' for one in item.contested], 3)})" for item in items
    ]
    return listed(fields, 3)


def _listed(items: list[PlanItem]) -> str:
    return listed([str(item.key) for item in items], 3)
