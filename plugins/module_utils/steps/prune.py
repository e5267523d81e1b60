"""Deletes what left the source, with proof: the very object of the inventory, still labelled as this add-on's.

What is protected, kept by a policy or claimed by another add-on is no prune item at all: the plan reports it as kept.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ..cluster.client import ApiError
from ..cluster.discovery import path_of
from ..cluster.lease import Renewal
from ..cluster.readiness_progress import PROGRESS_SECONDS
from ..model.errors import AddonError, PlanError
from ..model.keep_policies import keep_reason, may_take_volumes, volume_reason
from ..model.names import OWNER_LABEL
from ..model.objects import Manifest, ObjectKey
from ..model.outcome import ObjectResult, Outcome
from ..model.plan import Plan, PlanItem
from .failures import failure_kept
from .lock import held
from .object_graph import rank_of
from .records import write_ahead
from .session import Progress, Session

_GONE_WITHIN_SECONDS = 60.0
_POLL_SECONDS = 0.3
_GUARD_ATTEMPTS = 5


def prune(session: Session, name: str, progress: Progress) -> list[PlanItem]:
    """Delete what the plan says; returns the items that were deleted.

    :raises PlanError: when a gate holds the plan back, or an object can't be deleted or does not go.
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
        return _Deletion(session, name, renewal, progress).run(items)


def prunable(plan: Plan, outcome: Outcome) -> list[PlanItem]:
    """Prune items without those whose uid was just applied: one object can be served in two API groups (observed)."""
    done = {item.key for item in outcome.pruned}
    applied = {item.facts.uid for item in outcome.applied} | {item.facts.uid for item in plan.items if item.facts}
    return [item for item in plan.with_action("prune") if item.key not in done and item.uid not in applied]


@dataclass
class _Deletion:
    session: Session
    name: str
    renewal: Renewal
    progress: Progress

    def run(self, items: list[PlanItem]) -> list[PlanItem]:
        """Delete rank by rank, in the reverse of the order in which objects are applied."""
        failures: list[AddonError] = []
        deleted: list[PlanItem] = []
        for rank in sorted({rank_of(item.key) for item in items}, reverse=True):
            batch = [item for item in items if rank_of(item.key) == rank]
            results = self.session.each(self._delete, batch)
            self.renewal.check()
            failures += [error for error, _sent in results if error]
            sent = [item for item, (_error, was_sent) in zip(batch, results, strict=True) if was_sent]
            deleted += sent
            failures += self._wait_gone(sent)
        if failures:
            more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
            first = failures[0]
            raise PlanError(f"{first.message}{more}", addon=self.name, subject=first.subject, hint=first.hint)
        return deleted

    def _delete(self, item: PlanItem) -> tuple[AddonError | None, bool]:
        """Look at the object once more, then delete exactly that one; whether a deletion was sent."""
        path = self._path(item.key, item.version)
        if path is None or self.renewal.lost.is_set():
            return PlanError("its kind is not served any more", subject=str(item.key), hint="run again"), False
        live: Manifest | None = None
        for attempt in range(1, _GUARD_ATTEMPTS + 1):
            try:
                live = self.session.acting.find(path)
                if live is None:
                    self._note(gone=[item.key])
                    return None, False
                doubt = _doubt(item, live, self.name)
                if doubt:
                    return PlanError(doubt, subject=str(item.key), hint="it was not deleted; run again"), False
                if not live["metadata"].get("deletionTimestamp"):
                    self.session.acting.delete(path, _options(live))
                break
            except ApiError as error:
                if error.not_found:
                    self._note(gone=[item.key])
                    return None, False
                # A controller wrote its status in between: look at it once more.
                if error.precondition_failed and attempt < _GUARD_ATTEMPTS:
                    continue
                mask = self.session.mask(self.name).with_secrets_of([live] if live else [])
                error.message = mask.text(error.message)
                return error.about(subject=str(item.key)), False
        self._note(pruned=[ObjectResult(item.key)])
        return None, True

    def _wait_gone(self, items: list[PlanItem]) -> list[AddonError]:
        """Wait until the deleted objects are gone; what holds those that stay is told by its finalizers."""
        waiting = {item.key: item for item in items}
        start = told = time.monotonic()
        while waiting:
            held_by: dict[ObjectKey, str] = {}
            for key, item in list(waiting.items()):
                path = self._path(key, item.version)
                live = self.session.acting.find(path) if path else None
                if live is None or live["metadata"]["uid"] != item.uid:
                    del waiting[key]
                    self._note(gone=[key])
                else:
                    held_by[key] = ", ".join(live["metadata"].get("finalizers") or [])
            now = time.monotonic()
            if now - start > _GONE_WITHIN_SECONDS:
                return [
                    PlanError(
                        f"is being deleted for {now - start:.0f} s",
                        subject=str(key),
                        hint=f"it waits for its finalizers: {finalizers}" if finalizers else "look at its dependents",
                    )
                    for key, finalizers in held_by.items()
                ]
            if waiting and now - told > PROGRESS_SECONDS:
                told = now
                names = ", ".join(map(str, sorted(waiting)[:3]))
                self.progress(
                    f"{self.name}: waiting until {len(waiting)} objects are gone, {now - start:.0f} s: {names}"
                )
            if waiting and self.renewal.lost.wait(_POLL_SECONDS):
                self.renewal.check()
        return []

    def _path(self, key: ObjectKey, version: str) -> str | None:
        discovery = self.session.discovery
        resource = discovery.find(key.group, version, key.kind) or discovery.preferred(key.group, key.kind)
        return path_of(resource, key.namespace, key.name) if resource else None

    def _note(self, pruned: list[ObjectResult] | None = None, gone: list[ObjectKey] | None = None) -> None:
        with self.session.mutex:
            outcome = self.session.directory.outcome(self.name)
            outcome.pruned += pruned or []
            outcome.gone += gone or []
            self.session.directory.save_outcome(outcome)


def _options(live: Manifest) -> Manifest:
    metadata = live["metadata"]
    preconditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": preconditions,
    }


def _doubt(item: PlanItem, live: Manifest, name: str) -> str:
    """Why this live object may not be deleted after all, empty when everything still holds."""
    metadata: dict[str, Any] = live["metadata"]
    if metadata["uid"] != item.uid:
        return "was deleted and made again since the plan was made"
    if (metadata.get("labels") or {}).get(OWNER_LABEL) != name:
        return "is no longer labelled as this add-on's"
    reason = keep_reason(item.key, metadata.get("annotations") or {}, metadata.get("ownerReferences") or [])
    return reason or (volume_reason(live) if may_take_volumes(item.key) else "")
