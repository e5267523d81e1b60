"""Deletes what left the source, with proof: the very object of the inventory, still labelled as this add-on's.

What is protected, kept by a policy or claimed by another add-on is no prune item at all: the plan reports it as kept.
An object goes when what was applied after it is gone; what does not go is told with what holds it, and the next run
goes on from there.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..cluster.client import ApiError, delete_options
from ..cluster.discovery import path_of
from ..cluster.lease import Renewal
from ..cluster.readiness_progress import PROGRESS_SECONDS
from ..cluster.snapshot import ObjectMetadata
from ..model.errors import AddonError, PlanError
from ..model.graph import Edge, Graph, Node, NodeResult
from ..model.names import OWNER_LABEL
from ..model.objects import Manifest, ObjectKey, resource_version_of
from ..model.outcome import ObjectResult, Outcome
from ..model.plan import Plan, PlanItem
from ..model.wording import listed
from .custom_resources import definition_name
from .deletion_obstacles import cascade_of, obstacle_in_itself
from .deletion_order import deletion_edges
from .departures import Departures
from .failures import failure_kept
from .lock import held
from .object_graph import rank_of
from .records import write_ahead
from .session import Progress, Session
from .taken_along import TakenAlong

_GONE_WITHIN_SECONDS = 60.0
_GONE_AGAIN_WITHIN_SECONDS = 5.0
"""For what an earlier run waited for in vain."""
_GUARD_ATTEMPTS = 5
_KEPT_NEXT = "it was not deleted; the next run looks again, and keeps it while that holds"
_END = ObjectKey("", "", "", "")


def prune(session: Session, name: str, progress: Progress) -> list[PlanItem]:
    """Delete what the plan says; returns the items that were deleted, or are being deleted.

    :raises PlanError: when a gate holds the plan back, or an object can't be deleted or does not go; all others are.
    """
    plan = session.directory.plan(name)
    if plan is None:
        raise PlanError("was not planned", addon=name, hint="call addon_diff first")
    if plan.gate:
        raise PlanError(plan.gate_reason, addon=name)
    items = prunable(plan, session.directory.outcome(name))
    if not items:
        return []
    with failure_kept(session, name), held(session, name) as renewal:
        write_ahead(session, name)
        with Departures(session.acting) as departures:
            return _Deletion(session, name, items, renewal, departures, progress).run()


def prune_first(session: Session, name: str, items: list[PlanItem], renewal: Renewal, progress: Progress) -> None:
    """Delete what stands in the way of applying; the inventory is written ahead and the lock held.

    :raises PlanError: as ``prune``.
    """
    with Departures(session.acting) as departures:
        _Deletion(session, name, items, renewal, departures, progress).run()


def prunable(plan: Plan, outcome: Outcome) -> list[PlanItem]:
    """Prune items without those whose uid was just applied: one object can be served in two API groups (observed)."""
    done = {item.key for item in outcome.pruned}
    applied = {item.facts.uid for item in outcome.applied} | {
        uid
        for item in plan.items
        if item.action not in ("prune", "keep")
        for uid in (item.uid, item.facts.uid if item.facts else "")
    }
    return [item for item in plan.with_action("prune") if item.key not in done and item.uid not in applied]


@dataclass
class _Deletion:
    session: Session
    name: str
    items: list[PlanItem]
    renewal: Renewal
    departures: Departures
    progress: Progress
    _pruned: list[PlanItem] = field(default_factory=list)
    _gone: list[ObjectKey] = field(default_factory=list)
    _notes: list[str] = field(default_factory=list)
    _namespaces: dict[str, bool] = field(default_factory=dict)
    _mutex: threading.Lock = field(default_factory=threading.Lock)
    _done: int = 0
    _told: float = field(default_factory=time.monotonic)

    def run(self) -> list[PlanItem]:
        """Delete along the graph of the live objects, each when what has to go before is gone."""
        self.renewal.check()
        try:
            live = self._live()
            keeping = TakenAlong(self.session).by_uid([(item.key, item.uid) for item in self.items])
            custom = {key.group_kind for key in live if definition_name(self.session, key.group, key.kind)}
            edges = deletion_edges(live, custom)
            graph: Graph[ObjectKey, None] = Graph()
            for item in self.items:
                if item.key in live:
                    graph.add(self._node(item, edges[item.key], keeping.get(item.uid, "")))
            graph.add(Node(_END, run=lambda: None, after=[Edge(key, need="ready") for key in live]))
            results = graph.run(self.session.info.options.workers, self.renewal.lost, self._one_more)
            results.pop(_END)
        finally:
            self._save()
        self.renewal.check()
        if any(result.state == "failed" for result in results.values()):
            raise _failure(self.name, results)
        return self._pruned

    def _live(self) -> dict[ObjectKey, Manifest]:
        """The objects as they are now; of what can't be read only the identity, since its deletion will fail."""

        def read(item: PlanItem) -> Manifest | None:
            try:
                return self.session.acting.find(self._path(item))
            except AddonError:
                return _nameless(item)

        found = zip(self.items, self.session.each(read, self.items), strict=True)
        live = {item.key: manifest for item, manifest in found if manifest is not None}
        self._gone += [item.key for item in self.items if item.key not in live]
        return live

    def _node(self, item: PlanItem, after: list[Edge[ObjectKey]], keeping: str) -> Node[ObjectKey, None]:
        entry = self.session.record(self.name).inventory.entries.get(item.key)
        again = entry is not None and entry.state == "pruning"

        def run() -> None:
            if keeping:
                raise PlanError(keeping, hint=_KEPT_NEXT)
            self._delete(item)

        def wait(seconds: float) -> bool:
            self._tell()
            if self.departures.gone(item.key):
                return True
            if seconds > (_GONE_AGAIN_WITHIN_SECONDS if again else self._seconds):
                raise self._stuck(item, seconds)
            return False

        return Node(item.key, run, after, rank=-rank_of(item.key), wait=wait)

    @cached_property
    def _seconds(self) -> float:
        """How long an object may take to go: as long as others may take to become ready, at most a minute."""
        wait = self.session.directory.definition(self.name).definition.wait
        return min(_GONE_WITHIN_SECONDS, float(wait or _GONE_WITHIN_SECONDS))

    def _stuck(self, item: PlanItem, seconds: float) -> PlanError:
        finalizers = self.departures.finalizers(item.key)
        others = [name for name in finalizers if name != "foregroundDeletion"]
        why, hint = "", "the next run goes on"
        if others:
            why = f"; waits for finalizers {', '.join(others)}"
            hint = f"the controller that set them has to remove them, see if it runs; {hint}"
        elif finalizers:
            why = "; waits for its dependents (finalizer foregroundDeletion)"
            hint = f"look at its pods; {hint}"
        place = f" with namespace {item.key.namespace}" if self._terminating(item.key.namespace) else ""
        return PlanError(f"is still there {seconds:.0f} s after it was deleted{place}{why}", hint=hint)

    def _delete(self, item: PlanItem) -> None:
        """Look at the object once more, then delete exactly that one.

        :raises PlanError: it is not the one that was planned any more. :raises ApiError: the server refuses.
        """
        path = self._path(item)
        live: Manifest | None = None
        reply: Any = None
        for attempt in range(1, _GUARD_ATTEMPTS + 1):
            try:
                live = self.session.acting.find(path)
                note = "" if live is None else _note(item, live, self.name)
                if live is None or note:
                    self._went(item, note)
                    return
                if doubt := _doubt(item, live):
                    raise PlanError(doubt, hint=_KEPT_NEXT)
                reply = live
                if not (live["metadata"].get("deletionTimestamp") or self._terminating(item.key.namespace)):
                    version, cascade = resource_version_of(live), item.cascade or cascade_of(item.key)
                    options = delete_options(live["metadata"]["uid"], version, cascade)
                    reply = self.session.acting.delete(path, options).body
                break
            except ApiError as error:
                if error.not_found:
                    self._went(item, "")
                    return
                # A controller wrote its status in between: look at it once more.
                if error.precondition_failed and attempt < _GUARD_ATTEMPTS:
                    continue
                mask = self.session.mask(self.name).with_secrets_of([live] if live else [])
                error.message = mask.text(error.message)
                raise
        with self._mutex:
            self._pruned.append(item)
            # Of what is gone at once the server says only that; what something holds it returns (observed).
            if isinstance(reply, dict) and (reply.get("metadata") or {}).get("uid") == item.uid:
                self.departures.follow(item.key, path, reply["metadata"])

    def _went(self, item: PlanItem, note: str) -> None:
        with self._mutex:
            self._gone.append(item.key)
            if note:
                self._notes.append(f"{item.key}: {note}")

    def _terminating(self, namespace: str) -> bool:
        """Whether a namespace is being deleted: then all in it is, too."""
        if not namespace:
            return False
        with self._mutex:
            if namespace not in self._namespaces:
                try:
                    live = self.session.acting.find(f"/api/v1/namespaces/{namespace}")
                except ApiError:
                    # Who may not read it gets on without.
                    live = None
                self._namespaces[namespace] = bool(live and live["metadata"].get("deletionTimestamp"))
            return self._namespaces[namespace]

    def _path(self, item: PlanItem) -> str:
        """:raises PlanError: its kind is not served any more."""
        discovery, key = self.session.discovery, item.key
        resource = discovery.find(key.group, item.version, key.kind) or discovery.preferred(key.group, key.kind)
        if resource is None:
            raise PlanError("its kind is not served any more", hint="run again")
        return path_of(resource, key.namespace, key.name)

    def _one_more(self, _key: ObjectKey, _result: NodeResult[None]) -> None:
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        """Tells how far the deletion is, every ``PROGRESS_SECONDS``."""
        if time.monotonic() - self._told >= PROGRESS_SECONDS:
            self._told = time.monotonic()
            waiting = listed([str(key) for key in self.departures.remaining()], 3)
            held_up = f", waiting until these are gone: {waiting}" if waiting else ""
            self.progress(f"{self.name}: deleted {self._done} of {len(self.items)} objects{held_up}")

    def _save(self) -> None:
        outcome = self.session.directory.outcome(self.name)
        outcome.pruned += [ObjectResult(item.key) for item in self._pruned]
        outcome.gone += self._gone
        outcome.gone += [item.key for item in self._pruned if self.departures.left(item.key)]
        outcome.notes += self._notes
        self.session.directory.save_outcome(outcome)


def _failure(name: str, results: dict[ObjectKey, NodeResult[None]]) -> AddonError:
    """One error for all objects that failed; the first is told whole, the others by name."""
    failed = {key: result.error for key, result in results.items() if result.state == "failed"}
    first, *others = sorted(failed)
    error = failed[first]
    message = error.message if isinstance(error, AddonError) else f"failed unexpectedly ({type(error).__name__})"
    more = f". Not deleted or not gone either: {listed([str(key) for key in others], 3)}" if others else ""
    left = sorted(key for key, result in results.items() if result.state == "skipped")
    waiting = f". Not tried yet, because they come after those: {listed([str(key) for key in left], 3)}" if left else ""
    hint = error.hint if isinstance(error, AddonError) else ""
    return PlanError(f"{message}{more}{waiting}", addon=name, subject=str(first), hint=hint)


def _nameless(item: PlanItem) -> Manifest:
    """What is known of an object that can't be read."""
    metadata = {"namespace": item.key.namespace, "name": item.key.name}
    return {"apiVersion": item.key.group + "/" if item.key.group else "v1", "kind": item.key.kind, "metadata": metadata}


def _note(item: PlanItem, live: Manifest, name: str) -> str:
    """Why this live object is no business of the add-on any more; empty when it still is."""
    if (live["metadata"].get("labels") or {}).get(OWNER_LABEL) == name:
        return ""
    made_again = live["metadata"]["uid"] != item.uid
    return "was made again by somebody else" if made_again else "is no longer labelled as this add-on's"


def _doubt(item: PlanItem, live: Manifest) -> str:
    """Why this live object may not be deleted after all, empty when everything still holds."""
    if live["metadata"]["uid"] != item.uid:
        return "was deleted and made again since the plan was made"
    metadata = ObjectMetadata.of(item.key.group, item.key.kind, live)
    return obstacle_in_itself(item.key, metadata, item.cascade or cascade_of(item.key), lambda: live)
