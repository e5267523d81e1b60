"""Between PLAN and CONVERGE: reads all bundles and plans, makes the checks that need them all, and says who is next."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.bundle import Bundle
from ..model.errors import AddonError
from ..model.outcome import Outcome, Phase
from ..model.plan import Plan
from ..model.record import Record
from .claims import Claims, settle_claims
from .dependencies import failed_dependency
from .gates import judge
from .inventories import inventory_after
from .session import Session
from .status import MESSAGE_CHARACTERS


@dataclass(slots=True)
class Queue:
    """``converge`` in dependency order, ``skipped`` with the reason of each."""

    converge: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


GATE_PHASES: dict[str, Phase] = {
    "hooks": "Blocked",
    "adoption": "Blocked",
    "manual-sync": "OutOfSync",
}


def queue(session: Session) -> Queue:
    """Judge the whole run. Every add-on has an outcome afterwards, also those that nothing will be done for."""
    result = Queue()
    info = session.info
    for name, reason in info.protected.items():
        session.directory.save_outcome(Outcome(name, phase="Error", error=reason, message=reason))
        if _to_record(session, name, "Error", reason):
            result.converge.append(name)
    bundles = {bundle.name: bundle for bundle in session.directory.bundles()}
    claims = Claims.of(session, bundles.values())
    plans = {name: session.directory.plan(name) for name in info.order}
    for name, plan in plans.items():
        bundle = bundles.get(name)
        if plan and bundle:
            settle_claims(session, plan, claims)
            judge(session, plan, bundle)
            session.directory.save_plan(plan)
    for name, plan in plans.items():
        outcome = session.directory.outcome(name)
        outcome.skipped = failed_dependency(session, name)
        due = _planned(session, outcome, plan, bundles.get(name)) if plan else _failed(session, outcome)
        session.directory.save_outcome(outcome)
        if outcome.skipped:
            result.skipped[name] = outcome.skipped
        elif due:
            result.converge.append(name)
    for name in info.removed:
        outcome = Outcome(name, phase="Pending", message="its definition left git", pending=True)
        session.directory.save_outcome(outcome)
        result.converge.append(name)
    return result


def _failed(session: Session, outcome: Outcome) -> bool:
    """An add-on that could not be rendered or planned: its Error, once to be recorded."""
    outcome.phase = "Error"
    outcome.error = outcome.error or str(AddonError("was not planned", addon=outcome.name))
    outcome.message = outcome.error
    return _to_record(session, outcome.name, "Error", outcome.error)


def _planned(session: Session, outcome: Outcome, plan: Plan, bundle: Bundle | None) -> bool:
    """Fill in the outcome of a planned add-on; whether CONVERGE has something to do or to record for it.

    Its phase stays empty until CONVERGE decides it: how the last run ended is no outcome of this one.
    """
    name, record = outcome.name, session.record(outcome.name)
    outcome.note_plan(plan)
    if session.rests(name):
        outcome.phase, outcome.message, outcome.pending = "Suspended", suspension(record), False
        return _to_record(session, name, "Suspended", outcome.message)
    if plan.gate == "refused":
        outcome.message = plan.gate_reason
        if plan.rights.is_error or any(item.verdict != "unknown" for item in plan.refusing):
            outcome.phase, outcome.error = "Error", plan.gate_reason
            return True
        # Not to know is no error of a preview, which may have read rights alone (`unknown` in fail_on makes it one); a
        # real run looks once more under the lock, so that a webhook that is down for a moment skips nobody.
        return not session.info.check
    if plan.gate:
        outcome.phase, outcome.message = GATE_PHASES[plan.gate], plan.gate_reason
        held = (record.status.get("preview") or {}).get("digest")
        return held != plan.digest or _to_record(session, name, outcome.phase, plan.gate_reason)
    if plan.left_out_reason:
        outcome.phase = "Error"
        outcome.error = outcome.message = plan.left_out_reason
        return True
    return plan.pending or _unrecorded(plan, bundle, record)


def _unrecorded(plan: Plan, bundle: Bundle | None, record: Record) -> bool:
    """Whether the record does not say yet what is so, although no object has to change."""
    status = record.status
    return (
        bundle is None
        or record.phase != "Synced"
        or record.condition("Healthy") != "True"
        or status.get("observedGeneration") != record.generation
        or status.get("appliedHash") != bundle.digest
        or status.get("renderKey") != bundle.render_key
        or inventory_after(record.inventory, plan) != record.inventory
    )


def _to_record(session: Session, name: str, phase: str, message: str) -> bool:
    record = session.record(name)
    return record.exists and (record.phase != phase or record.status.get("message") != message[:MESSAGE_CHARACTERS])


def suspension(record: Record) -> str:
    """Why an add-on is left as it is: the annotation in the cluster, or the field in git."""
    if not record.paused:
        return "suspend: true in git"
    return "paused by annotation" + (f": {record.paused_reason}" if record.paused_reason else "")
