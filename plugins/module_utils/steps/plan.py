"""The third step: what applying a bundle would do to the live cluster, object by object, without writing anything.

Every object is dry-run by the API server. What can't be, because its namespace or its kind comes with the same run, is
*simulated*; what could not be checked is *unknown* and says why. One object's failure is that object's result.
"""

from __future__ import annotations

from ..model.bundle import Bundle
from ..model.errors import PlanError
from ..model.keyed_hash import keyed_hash
from ..model.made_up import stable
from ..model.plan import Plan, PlanItem
from .claims import Claims, settle_claims
from .dependencies import changed_dependency
from .failures import failure_kept
from .gates import judge
from .left_out import leave_out_dependents
from .object_graph import ObjectOrder
from .open_renders import why_open
from .plan_of_left import LeftPlanner
from .plan_of_source import SourcePlanner
from .rights import missing_rights
from .session import Progress, Session
from .shown_states import States


def plan(session: Session, name: str, progress: Progress) -> Plan:
    """The add-on's plan: PLAN's stored one, unless a new one is due.

    :raises AddonError: when there is no bundle to plan, or the cluster can't be used.
    """
    bundle = session.directory.bundle(name)
    if bundle is None:
        known_error = session.directory.outcome(name).error
        raise PlanError(known_error.removeprefix(f"add-on {name}: ") or "was not rendered", addon=name)
    known = session.directory.plan(name)
    if known:
        known.replan_reason = _replan_reason(session, known)
        if not known.replan_reason:
            return known
    with failure_kept(session, name):
        made = _plan(session, bundle, progress, fresh=known is not None)
    if known:
        made.replan_reason = known.replan_reason
        settle_claims(session, made, Claims.of(session, session.directory.bundles()))
        judge(session, made, bundle)
        outcome = session.directory.outcome(name)
        outcome.note_plan(made)
        session.directory.save_outcome(outcome)
    session.directory.save_plan(made)
    return made


def _replan_reason(session: Session, known: Plan) -> str:
    """Why a stored plan may not be carried out as it stands; empty when it may."""
    if session.record(known.name).resource_version != known.record_version:
        return "its record moved"
    if any(item.verdict in ("simulated", "unknown") for item in known.items):
        return "some objects could not be checked before"
    changed = changed_dependency(session, known.name)
    return f"{changed}, which it depends on, changed in this run" if changed else ""


def _plan(session: Session, bundle: Bundle, progress: Progress, *, fresh: bool) -> Plan:
    record = session.record(bundle.name)
    states = States()
    open_render = why_open(session, bundle)
    items = SourcePlanner(session, bundle, states, open_render, progress).items()
    order = ObjectOrder.of(item.manifest for item in bundle.objects)
    leave_out_dependents(items, order)
    left_out = next((item.key for item in items if item.left_out), None)
    left_planner = LeftPlanner(session, bundle, states, open_render, fresh, left_out)
    left = left_planner.left({item.uid for item in items if item.uid})
    _put_in_order(items, order)
    states.show([*items, *left.items], session.mask(bundle.name), bundle.manifests())
    made = Plan(
        name=bundle.name,
        bundle_digest=bundle.digest,
        record_version=record.resource_version,
        comparable=session.info.comparable,
        items=[*items, *left.items],
        gone=left.gone,
        notes=left.notes,
        unknown=left.unknown,
    )
    bodies = {item.key: stable(item.manifest, item.second) for item in bundle.objects}
    for item in made.items:
        body = keyed_hash(session.key, bodies.get(item.key))
        ownership = [
            item.absorbs,
            item.removes,
            [one.title for one in item.repairs],
            [[one.field, one.manager] for one in item.yields],
        ]
        facts = [item.key.to_json(), item.version, item.action, item.fingerprint, body, *ownership]
        item.digest = keyed_hash(session.key, facts)
    made.digest = keyed_hash(session.key, [bundle.digest, sorted(item.digest for item in made.items)])
    made.rights = missing_rights(session, made, bundle, fresh=fresh)
    judge(session, made, bundle)
    return made


def _put_in_order(items: list[PlanItem], order: ObjectOrder) -> None:
    """Note the layer of everything that the add-on has, and where an annotation overrules what the objects say."""
    layers = order.layers(item.key for item in items if item.managed)
    for item in items:
        item.layer = layers.get(item.key, 0)
        item.warnings += order.warnings.get(item.key, [])
