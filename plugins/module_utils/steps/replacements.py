"""What becomes of an object that the server does not let change: it stays as it is, or is deleted and made anew.

The latter only where the source asks for it on the object itself, and where nothing goes with it that nobody can bring
back. Before that the server is asked whether it would take the new object: a wrong manifest must not cost the old one.
"""

from __future__ import annotations

from ..cluster.client import ApiError
from ..model.errors import ClusterError
from ..model.keep_policies import may_take_volumes
from ..model.names import PROTECTED_KINDS, REPLACE_ANNOTATION
from ..model.objects import Manifest, key_of
from ..model.plan import Cascade, PlanItem
from ..model.shapes import mapping_of
from .deletion_obstacles import cascade_of, obstacle
from .rehearsal import Rehearsal, rehearse
from .session import Session


def plan_change_in_place(
    session: Session, path: str, made: PlanItem, body: Manifest, live: Manifest, refusal: ApiError
) -> Manifest | None:
    """Fill in the item of an object with ``refusal.immutable_fields``; what it will be if it is replaced.

    :param body: what would be sent if it were a new object.
    :raises ApiError: the object is wrong itself, or that could not be found out.
    """
    asked = (body["metadata"].get("annotations") or {}).get(REPLACE_ANNOTATION) == "true"
    rehearsal = _rehearsed(session, path, made, body, refusal, asked)
    made.action, made.verdict, made.immutable = "blocked", "verified", refusal.immutable_fields
    cascade, effect = cascade_to(body, live)
    stays = _why_it_stays(session, made, live, refusal, asked, cascade)
    if stays or rehearsal is None:
        made.reason = f"{', '.join(made.immutable)} can't be changed in place ({refusal.message}). {stays}"
        return None
    made.action, made.cascade = "replace", cascade
    if rehearsal.unproven:
        made.verdict = "simulated"
    texts = [f"{', '.join(made.immutable)} can't be changed in place, so it is deleted and made anew", effect]
    made.reason = "; ".join(filter(None, [*texts, rehearsal.unproven]))
    made.warnings += rehearsal.warnings
    return rehearsal.predicted


def _rehearsed(
    session: Session, path: str, made: PlanItem, body: Manifest, refusal: ApiError, asked: bool
) -> Rehearsal | None:
    """The server's word on the new object; ``None`` when it could not give it and nothing depends on it."""
    try:
        rehearsal = rehearse(session.acting, path, body, made.key.group_kind)
    except ApiError as error:
        if asked or error.is_bad_manifest:
            raise
        rehearsal = None
    if refusal.faults and (rehearsal is None or rehearsal.unproven):
        raise refusal
    return rehearsal


def _why_it_stays(
    session: Session, made: PlanItem, live: Manifest, refusal: ApiError, asked: bool, cascade: Cascade
) -> str:
    """What can be done about an object that is not replaced; empty for one that is."""
    kind = made.key.kind
    if refusal.stored_versions:
        versions = ", ".join(refusal.stored_versions)
        return (
            f"Objects may be stored as {versions}: migrate them (a StorageVersionMigration, or write each of them once)"
            f" and take {versions} out of status.storedVersions; until then keep it in the source"
        )
    by_hand = "Undo the change in the source, or make it by hand"
    if made.key.group_kind in PROTECTED_KINDS:
        return f"A {kind} is never deleted automatically. {by_hand}"
    if not asked:
        return (
            f'Undo the change in the source, replace the object by hand, or set annotation {REPLACE_ANNOTATION}: "true"'
            " on it in the source to have it deleted and made anew"
        )
    try:
        kept = obstacle(session, made.key, live, cascade)
    except ClusterError as error:
        kept = f"it is not known whether data would go with it: {error.message}"
    return f"It is not replaced: {kept}. {by_hand}" if kept else ""


def cascade_to(body: Manifest, live: Manifest) -> tuple[Cascade, str]:
    """How the old object is deleted, and in words what that does to the objects that it made.

    The pods of a StatefulSet run on and the new one takes them over, if it selects them; its claims stay in any case.
    """
    key = key_of(live)
    cascade = cascade_of(key)
    if not may_take_volumes(key):
        return cascade, "its pods go with it" if cascade == "Foreground" and key.group_kind != ("", "Pod") else ""
    if _selects_pods_of(body, live):
        return "Orphan", "its pods and claims stay"
    return cascade, "its pods go with it, since the new one does not select them; its claims stay"


def _selects_pods_of(body: Manifest, live: Manifest) -> bool:
    wanted = mapping_of(mapping_of(body.get("spec")).get("selector"))
    spec = mapping_of(live.get("spec"))
    if wanted == spec.get("selector"):
        return True
    labels = mapping_of(mapping_of(mapping_of(spec.get("template")).get("metadata")).get("labels"))
    chosen = mapping_of(wanted.get("matchLabels"))
    return not wanted.get("matchExpressions") and all(labels.get(name) == value for name, value in chosen.items())
