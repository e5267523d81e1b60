"""What a record's status becomes after a run: phase, conditions, inventory, preview, history, facts for later runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from ..cluster.world import read_world
from ..model.errors import ClusterError
from ..model.outcome import Outcome
from ..model.plan import APPLIES, Plan
from ..model.record import Record
from ..model.review import bounded, most_important, pending_items
from .inventories import inventory_after
from .prune import prunable
from .recorded_versions import latest_versions
from .session import Session

_PREVIEW_ITEMS = 100
_PREVIEW_DIFF_CHARACTERS = 3000
_PREVIEW_FIELDS = 10
_PREVIEW_BYTES = 250_000
_HISTORY_ENTRIES = 10
MESSAGE_CHARACTERS = 2000


def status_after(session: Session, name: str, outcome: Outcome) -> dict[str, Any]:
    """The fields of the status that change, empty when the record says all of it already.

    ``lastSynced`` and the conditions' times move only with something else: a run without news writes nothing.
    """
    record = session.record(name)
    plan = session.directory.plan(name)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    status: dict[str, Any] = {
        "phase": outcome.phase,
        "message": outcome.message[:MESSAGE_CHARACTERS],
        "observedGeneration": record.generation,
        "conditions": _conditions(record, plan, outcome, now),
    }
    if plan:
        status |= _planned(session, record, plan, outcome, now)
    changes = {field: value for field, value in status.items() if record.status.get(field) != value}
    return {**changes, "lastSynced": now} if changes else {}


def _planned(session: Session, record: Record, plan: Plan, outcome: Outcome, now: str) -> dict[str, Any]:
    bundle = session.directory.bundle(plan.name)
    status: dict[str, Any] = {}
    touched = outcome.inventory_ahead or outcome.phase == "Synced"
    if touched:
        inventory = inventory_after(record.inventory, plan, outcome)
        status["objects"] = latest_versions(session, inventory, outcome).to_status()
    status["preview"] = _preview(plan) if outcome.phase != "Synced" else {"counts": {}, "digest": ""}
    if outcome.phase == "Synced" and bundle:
        status |= {
            "revision": bundle.revision,
            "renderKey": bundle.render_key,
            "appliedHash": bundle.digest,
            "appliedSyncRequest": record.sync_request,
            "adopted": bool(record.status.get("adopted")) or outcome.count("adopt") > 0,
        }
    if outcome.changed:
        status["world"] = _world(session)
        entry = {
            "revision": bundle.revision if bundle else "",
            "commit": session.info.commit,
            "digest": bundle.digest if bundle else "",
            "run": session.info.run_id,
            "user": session.info.user,
            "outcome": outcome.phase,
            "time": now,
        }
        status["history"] = [entry, *(record.status.get("history") or [])][:_HISTORY_ENTRIES]
    return status


def _world(session: Session) -> str | None:
    try:
        return read_world(session.acting, session.discovery, session.key)
    except ClusterError:
        return None


def _conditions(record: Record, plan: Plan | None, outcome: Outcome, now: str) -> list[dict[str, Any]]:
    """``Synced``, ``Healthy`` and ``Ready`` (both), in the form that ``kubectl wait`` reads."""
    synced = {"Synced": "True", "Suspended": record.condition("Synced") or "Unknown"}.get(outcome.phase, "False")
    # Carried out to the end and then not ready in time: what runs is what git says, it only does not run well.
    if outcome.phase == "Error" and outcome.healthy is False and _all_carried_out(plan, outcome):
        synced = "True"
    healthy = {True: "True", False: "False", None: record.condition("Healthy") or "Unknown"}[outcome.healthy]
    both = "True" if (synced, healthy) == ("True", "True") else "False"
    known = {condition["type"]: condition for condition in record.status.get("conditions") or []}
    conditions = []
    for kind, state in (("Synced", synced), ("Healthy", healthy), ("Ready", both)):
        before = known.get(kind) or {}
        since = before.get("lastTransitionTime", now) if before.get("status") == state else now
        condition = {"type": kind, "status": state, "reason": outcome.phase, "lastTransitionTime": since}
        condition["message"] = outcome.message[:200] if state != "True" else ""
        conditions.append(condition)
    ours = {condition["type"] for condition in conditions}
    return [*conditions, *(condition for kind, condition in known.items() if kind not in ours)]


def _all_carried_out(plan: Plan | None, outcome: Outcome) -> bool:
    if outcome.planned.get("blocked"):
        return False
    wanted = sum(outcome.planned.get(action, 0) for action in APPLIES)
    leaving = {item.key for item in prunable(plan, outcome)} if plan else set()
    leaving |= {item.key for item in outcome.pruned}
    return len(outcome.applied) >= wanted and leaving <= set(outcome.gone)


def _preview(plan: Plan) -> dict[str, Any]:
    """What a sync would do, bounded: the 100 items that matter most, diffs of 3000 characters, all of it 250 kB."""
    pending = pending_items(plan)
    items: list[dict[str, Any]] = []
    size = 0
    for item in most_important(pending, _PREVIEW_ITEMS):
        diff = item.unified(limit_characters=_PREVIEW_DIFF_CHARACTERS)
        entry: dict[str, Any] = {"object": str(item.key), "action": item.action, "verdict": item.verdict}
        if item.reason:
            entry["reason"] = item.reason[:MESSAGE_CHARACTERS]
        fields = {
            "takesOver": [f"{one.field} from {one.manager}" for one in item.takes_over],
            "yields": [f"{one.field} to {one.manager or 'nobody'}: {one.reason}" for one in item.yields],
            "absorbs": item.absorbs,
            "removes": item.removes,
            "repairs": [one.title for one in item.repairs],
        }
        entry |= {name: bounded(texts, _PREVIEW_FIELDS) for name, texts in fields.items() if texts}
        if diff:
            entry["diff"] = diff
        size += len(json.dumps(entry))
        if size > _PREVIEW_BYTES:
            break
        items.append(entry)
    preview: dict[str, Any] = {"counts": plan.counts(), "digest": plan.digest, "items": items}
    if len(items) < len(pending):
        preview["cut"] = f"{len(pending) - len(items)} more objects"
    return preview
