"""Whether a live object may be deleted, why not, and how it is: the same for what is pruned and what is made anew."""

from __future__ import annotations

from collections.abc import Callable

from ..cluster.snapshot import ObjectMetadata
from ..model.keep_policies import keep_reason, may_take_volumes, volume_reason
from ..model.kinds import RUNS_PODS
from ..model.objects import Manifest, ObjectKey
from ..model.plan import Cascade
from .session import Session
from .taken_along import TakenAlong


def cascade_of(key: ObjectKey) -> Cascade:
    """How an object of this kind is deleted: the pods of a workload go before it does."""
    return "Foreground" if key.group_kind in RUNS_PODS else "Background"


def obstacle(session: Session, key: ObjectKey, live: Manifest, cascade: Cascade) -> str:
    """Why this live object may not be deleted, empty when it may be.

    :raises ClusterError: what would go with it can't be read, so that nobody knows.
    """
    found = obstacle_in_itself(key, ObjectMetadata.of(key.group, key.kind, live), cascade, lambda: live)
    if found or cascade == "Orphan":
        return found
    uid = live["metadata"]["uid"]
    return TakenAlong(session).by_uid([(key, uid)]).get(uid, "")


def obstacle_in_itself(
    key: ObjectKey, metadata: ObjectMetadata, cascade: Cascade, read: Callable[[], Manifest | None]
) -> str:
    """The part of ``obstacle`` that the object says itself; ``TakenAlong`` has the other one, for many at a time.

    :param read: gives the object as it is now; only asked where its metadata does not tell.
    """
    reason = keep_reason(key, metadata.labels, metadata.annotations, metadata.owner_references)
    if reason or not may_take_volumes(key) or cascade == "Orphan":
        return reason
    live = read()
    return volume_reason(live) if live else ""
