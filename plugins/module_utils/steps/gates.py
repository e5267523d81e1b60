"""The gates: what holds a plan back although it could be carried out, decided by plan and record alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..model.bundle import Bundle
from ..model.definition import Definition
from ..model.names import ADOPT_ANNOTATION
from ..model.plan import Gate, Plan, PlanItem
from ..model.record import Record
from ..model.wording import listed
from .session import Session


def judge(session: Session, made: Plan, bundle: Bundle) -> None:
    """Set the gate that holds the plan back, the strictest first."""
    made.rights.keep_needed({item.key: item.action for item in made.items})
    definition = session.directory.definition(made.name).definition
    case = _Case(made, bundle, definition, session.record(made.name))
    made.gate, made.gate_reason = "", ""
    for gate, reason_of in _GATES:
        if reason := reason_of(case):
            made.gate, made.gate_reason = gate, reason
            return


@dataclass(frozen=True, slots=True)
class _Case:
    """What is judged."""

    made: Plan
    bundle: Bundle
    definition: Definition
    record: Record

    @property
    def foreign(self) -> list[PlanItem]:
        """What is to be taken over. What the source asks for by name needs no leave for the whole add-on."""
        foreign = [item for item in self.made.items if item.foreign and not item.adoption_asked]
        return [item for item in foreign if item.action != "unchanged" and (item.managed or item.left_out)]

    @property
    def forgotten(self) -> list[PlanItem]:
        """The label alone is no proof that the add-on made it: its record was lost, nothing says what was applied."""
        owned = [item for item in self.made.items if item.owner == self.made.name and not item.adoption_asked]
        return owned if self.record.fresh else []


def _lacks_rights(case: _Case) -> str:
    if not case.made.rights.missing:
        return ""
    others = [item for item in case.made.refusing if not item.forbidden]
    besides = f". Besides, {others[0].key}: {others[0].reason}" if others else ""
    return f"{case.made.rights.sentence()}{besides}"


def _refused(case: _Case) -> str:
    refusing = case.made.refusing
    more = f" (and {len(refusing) - 1} more)" if len(refusing) > 1 else ""
    return f"{refusing[0].key}: {refusing[0].reason}{more}" if refusing else ""


def _has_hooks(case: _Case) -> str:
    if not case.bundle.hooks or case.definition.skip_hooks:
        return ""
    names = ", ".join(str(item.key) for item in case.bundle.hooks[:3])
    return f"has Helm hooks ({names}), which this version can't run. Set skipHooks: true to leave them out"


def _takes_over(case: _Case) -> str:
    if not case.foreign or case.definition.adopt:
        return ""
    return f"already in the cluster and not this add-on's: {_listed(case.foreign)}. Set adopt: true to take them over"


def _takes_fields(case: _Case) -> str:
    contested = [item for item in case.foreign if item.contested]
    if not contested:
        return ""
    return (
        f"taking over what runs would take fields from others: {_contested(contested)}. Leave those fields out of "
        f'the source, or annotate the objects in the source with {ADOPT_ANNOTATION}: "true"'
    )


def _lost_its_record(case: _Case) -> str:
    if not case.forgotten or case.definition.adopt:
        return ""
    left = [item for item in case.forgotten if item.action == "keep"]
    not_in_source = f". Not in the source: {_listed(left)}" if left else ""
    return (
        f"labelled as this add-on's, but in no record, so its record was lost: {_listed(case.forgotten)}{not_in_source}"
        f"{_more(case.made)}. Set adopt: true to take them over; nothing is pruned in that run"
    )


def _does_not_know_all(case: _Case) -> str:
    if not (case.forgotten and case.made.unknown) or case.definition.allow_adopt_changes:
        return ""
    return (
        f"its record was lost{_more(case.made)}. What is not found now is never pruned: have these listed by the "
        "acting account, or set allowAdoptChanges: true to do without"
    )


def _changes_what_it_forgot(case: _Case) -> str:
    overwritten = [item for item in case.forgotten if item.action in ("update", "replace")]
    if not overwritten or case.definition.allow_adopt_changes:
        return ""
    return (
        f"labelled as this add-on's, but in no record, and a sync would change it: {_listed(overwritten)}. "
        "Correct the source until nothing changes, or set allowAdoptChanges: true"
    )


def _changes_what_it_takes_over(case: _Case) -> str:
    if not case.foreign or case.definition.allow_adopt_changes:
        return ""
    changing = [item for item in case.foreign if item.action != "adopt"]
    # An add-on taken over whole must be whole already: at the first sync an object to create is a change, too.
    at_first = [] if case.record.applied_before else case.made.with_action("create")
    if not changing and not at_first:
        return ""
    return (
        f"taking over what runs would change {_listed(changing or at_first)}. "
        "Correct the source until nothing changes, or set allowAdoptChanges: true"
    )


def _waits_for_a_request(case: _Case) -> str:
    asked = case.record.sync_request > case.record.applied_sync_request
    if not case.definition.manual_sync or not case.made.changes or asked:
        return ""
    return "changes wait for a sync: raise spec.syncRequest of the Addon"


_GATES: tuple[tuple[Gate, Callable[[_Case], str]], ...] = (
    ("refused", _lacks_rights),
    ("refused", _refused),
    ("hooks", _has_hooks),
    ("adoption", _takes_over),
    ("adoption", _takes_fields),
    ("adoption", _lost_its_record),
    ("adoption", _does_not_know_all),
    ("adoption", _changes_what_it_forgot),
    ("adoption", _changes_what_it_takes_over),
    ("manual-sync", _waits_for_a_request),
)
"""What holds a plan back, with what says why, empty where it does not."""


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
