"""Applies what the plan says differs: namespaces and kinds first and waited for, then the rest along the graph.

Each write is guarded by what the plan saw. An object whose live side moved since then is refused, not overwritten.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ..cluster.client import ApiError
from ..cluster.discovery import Resource, path_of
from ..cluster.lease import Renewal
from ..cluster.readiness import PROGRESS_SECONDS, Readiness, wait_until_ready
from ..model.bundle import Bundle
from ..model.errors import AddonError, ClusterError, PlanError, ReadinessError
from ..model.graph import Graph, Node, NodeResult
from ..model.masking import Mask
from ..model.names import OWNER_LABEL
from ..model.normalise import is_definition, kinds_of_definition
from ..model.objects import Manifest, ObjectKey, resource_version_of
from ..model.outcome import AppliedObject, Outcome
from ..model.ownership import facts_of, fingerprint
from ..model.plan import APPLIES, Plan, PlanItem
from ..model.wording import listed
from .absorption import absorb
from .custom_resources import definition_facts
from .failures import failure_kept
from .lock import held
from .object_graph import edges_of, rank_of
from .records import write_ahead
from .session import Progress, Session

Stage = Literal["prerequisites", "all"]

_PREREQUISITES = frozenset({("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")})
_SERVED_WITHIN_SECONDS = 60.0
_GUARD_ATTEMPTS = 5
_OF_NO_OBJECT = "1"


def apply(session: Session, name: str, stage: Stage, progress: Progress) -> list[PlanItem]:
    """Carry out one stage of the plan; returns the items that were applied.

    :raises PlanError: when a gate holds the plan back, or an object can't be applied; what was applied is recorded.
    :raises ReadinessError: when the objects are applied, but not ready in time.
    """
    plan, bundle = session.directory.plan(name), session.directory.bundle(name)
    if plan is None or bundle is None:
        raise PlanError("was not planned", addon=name, hint="call addon_diff first")
    if plan.gate:
        raise PlanError(plan.gate_reason, addon=name)
    due = due_items(plan, session.directory.outcome(name), stage)
    with failure_kept(session, name), held(session, name) as renewal:
        application = _Application(session, plan, bundle, renewal, progress)
        if due:
            write_ahead(session, name)
            application.run(due)
        if stage == "all":
            application.wait()
    return due


def due_items(plan: Plan, outcome: Outcome, stage: Stage) -> list[PlanItem]:
    """Items of a stage that were not applied yet in this run."""
    done = {item.key for item in outcome.applied}
    return [
        item
        for item in plan.items
        if item.action in APPLIES and item.key not in done and (stage == "all" or item.key.group_kind in _PREREQUISITES)
    ]


@dataclass
class _Application:
    session: Session
    plan: Plan
    bundle: Bundle
    renewal: Renewal
    progress: Progress
    _applied: list[AppliedObject] = field(default_factory=list)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.name = self.bundle.name
        self._bodies = {item.key: item.manifest for item in self.bundle.objects}
        self._bodies |= {item.key: item.body for item in self.plan.items if item.body is not None}

    @cached_property
    def _mask(self) -> Mask:
        """What hides the secrets of all objects of the add-on in messages."""
        sent = [manifest for item in self.plan.items for manifest in (item.body, item.first) if manifest is not None]
        return self.session.mask(self.name).with_secrets_of([*self.bundle.manifests(), *sent])

    # Applying

    def run(self, due: list[PlanItem]) -> None:
        """Apply these items along the graph; what was applied is in the outcome, whatever happens."""
        prerequisites = [item for item in due if item.key.group_kind in _PREREQUISITES]
        rest = [item for item in due if item.key.group_kind not in _PREREQUISITES]
        try:
            if prerequisites:
                self._walk(prerequisites)
                self._wait_until_served(prerequisites)
            if rest:
                self._verify_simulated(rest)
                self._walk(rest)
        finally:
            self._save()

    def _walk(self, items: list[PlanItem]) -> None:
        graph: Graph[ObjectKey, None] = Graph()
        manifests = {item.key: self._bodies[item.key] for item in items}
        for item in items:
            manifest = manifests[item.key]
            graph.add(
                Node(
                    key=item.key,
                    run=lambda item=item: self._apply(item),  # type: ignore[misc]
                    after=edges_of(manifest, manifests),
                    rank=rank_of(item.key),
                )
            )
        results = graph.run(self.session.info.options.workers, self.renewal.lost, self._far(len(items)))
        self.renewal.check()
        failed = {key: result for key, result in results.items() if result.state == "failed"}
        if failed:
            raise _failure(self.name, failed, results)

    def _far(self, total: int) -> Callable[[ObjectKey, NodeResult[None]], None]:
        """Tells how far the walk is, every ``PROGRESS_SECONDS`` in which something ends."""
        done, told = 0, time.monotonic()

        def one_more(_key: ObjectKey, _result: NodeResult[None]) -> None:
            nonlocal done, told
            done += 1
            if time.monotonic() - told >= PROGRESS_SECONDS:
                told = time.monotonic()
                self.progress(f"{self.name}: went through {done} of {total} objects")

        return one_more

    def _apply(self, item: PlanItem) -> None:
        body, resource = self._bodies[item.key], self._resource(item)
        path = path_of(resource, item.key.namespace, item.key.name)
        try:
            live = self._update(item, path, body) if item.uid else self._create(item, path, body)
        except ApiError as error:
            error.message = self._mask.text(error.message)
            raise error.about(addon=self.name, subject=str(item.key)) from None
        if live is None:
            return
        facts = facts_of(self.session.key, live, body, definition_facts(self.session, item.key))
        with self._mutex:
            self._applied.append(AppliedObject(item.key, item.version, item.action, facts))

    def _create(self, item: PlanItem, path: str, body: Manifest) -> Manifest | None:
        """``None`` when a namespace that was only to exist does by now."""
        client = self.session.acting
        # Of an object that is missing the server takes any version; of one that is there it does not (observed).
        guarded = {**body, "metadata": {**body["metadata"], "resourceVersion": _OF_NO_OBJECT}}
        try:
            created: Manifest = client.apply(path, guarded, force=True).body
        except ApiError as error:
            if not error.precondition_failed:
                raise
        else:
            return created
        live = client.find(path)
        if item.generated and live is not None:
            return None
        if live is not None and (live["metadata"].get("labels") or {}).get(OWNER_LABEL) == self.name:
            self._refuse_unless_done(item, path, body, live, "somebody made it")
            return live
        raise _moved(item, "somebody made it")

    def _update(self, item: PlanItem, path: str, body: Manifest) -> Manifest:
        """Apply onto the very object that was planned; writes to its status in between do not matter."""
        version, expected = item.resource_version, item.fingerprint
        writes = self._writes(item, path, body)
        for _attempt in range(_GUARD_ATTEMPTS * len(writes)):
            try:
                written = writes[0](version)
            except ApiError as error:
                if not error.precondition_failed:
                    raise
            else:
                del writes[0]
                if not writes:
                    return written
                # Controllers act on what we wrote at once; from here on the object is the one that was planned.
                version, expected = resource_version_of(written), ""
                continue
            live = self.session.acting.find(path)
            if live is None:
                raise _moved(item, "it was deleted")
            if live["metadata"]["uid"] != item.uid:
                raise _moved(item, "it was deleted and made again")
            if expected and fingerprint(self.session.key, live) != expected:
                self._refuse_unless_done(item, path, body, live, "it was changed")
                return live
            version = resource_version_of(live)
        raise _moved(item, "it changes all the time")

    def _refuse_unless_done(self, item: PlanItem, path: str, body: Manifest, live: Manifest, what: str) -> None:
        """A repeated request finds its own work done: then there is nothing left to apply.

        :raises PlanError: an apply would change something, so it was somebody else's work.
        """
        if self.session.acting.apply(path, body, dry_run=True, force=True).body != live:
            raise _moved(item, what)

    def _writes(self, item: PlanItem, path: str, body: Manifest) -> list[Callable[[str], Manifest]]:
        """What is written, one after the other, each to the object in the version that the one before left."""
        client = self.session.acting

        def absorbed(version: str) -> Manifest:
            live = client.find(path)
            if live is None or live["metadata"]["uid"] != item.uid:
                raise _moved(item, "it was deleted")
            if resource_version_of(live) != version and fingerprint(self.session.key, live) != item.fingerprint:
                raise _moved(item, "it was changed")
            return absorb(client, path, live, body["apiVersion"], item.absorbs)

        def applied(manifest: Manifest) -> Callable[[str], Manifest]:
            def write(version: str) -> Manifest:
                guard = {"uid": item.uid, "resourceVersion": version}
                guarded = {**manifest, "metadata": {**manifest["metadata"], **guard}}
                reply: Manifest = client.apply(path, guarded, force=True).body
                return reply

            return write

        bodies = [manifest for manifest in (item.first, body) if manifest is not None]
        return [*([absorbed] if item.absorbs else []), *map(applied, bodies)]

    def _resource(self, item: PlanItem) -> Resource:
        resource = self.session.discovery.find(item.key.group, item.version, item.key.kind)
        if resource is None:
            raise ClusterError("its kind is not served", addon=self.name, subject=str(item.key))
        return resource

    def _verify_simulated(self, items: list[PlanItem]) -> None:
        """Dry-run what could only be simulated before, so that a refusal stops the run before the first real write."""
        refused = []
        for item in items:
            if item.verdict != "simulated":
                continue
            body, resource = item.first or self._bodies[item.key], self._resource(item)
            try:
                path = path_of(resource, item.key.namespace, item.key.name)
                self.session.acting.apply(path, body, dry_run=True, force=True)
            except ApiError as error:
                refused.append(f"{item.key}: {self._mask.text(error.message)}")
        if refused:
            more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
            raise PlanError(f"{refused[0]}{more}", addon=self.name, hint="nothing but namespaces and kinds was applied")

    def _wait_until_served(self, items: list[PlanItem]) -> None:
        """Wait for the kinds of new and changed CustomResourceDefinitions, by condition and in discovery."""
        definitions = [self._bodies[item.key] for item in items if is_definition(self._bodies[item.key])]
        if not definitions:
            return
        keys = [(item.key, item.version) for item in items if is_definition(self._bodies[item.key])]
        self._settle(keys, _SERVED_WITHIN_SECONDS)
        wanted = {kind[:3] for manifest in definitions for kind in kinds_of_definition(manifest)}
        deadline = time.monotonic() + _SERVED_WITHIN_SECONDS
        while True:
            discovery = self.session.rediscover()
            missing = sorted(kind for kind in wanted if discovery.find(*kind) is None)
            if not missing:
                return
            if time.monotonic() > deadline or self.renewal.lost.wait(0.2):
                group, version, kind = missing[0]
                raise ReadinessError(f"{kind} of {group}/{version} is not served yet", addon=self.name)

    # Readiness

    def wait(self) -> None:
        """Wait until the add-on's objects are ready: what was applied, or all when they were not known to be."""
        timeout = self.session.directory.definition(self.name).definition.wait
        outcome = self.session.directory.outcome(self.name)
        healthy_before = self.session.record(self.name).condition("Healthy") == "True"
        waited_before = self.session.record(self.name).condition("Healthy") == "False"
        applied = {item.key for item in outcome.applied}
        if healthy_before and not applied:
            return
        keys = [
            (item.key, item.version)
            for item in self.plan.items
            if item.managed and (item.key in applied or not healthy_before)
        ]
        outcome.healthy = False
        self.session.directory.save_outcome(outcome)
        try:
            self._settle(keys, float(timeout))
            outcome.healthy = True
        except ReadinessError as error:
            # `wait: 0` means not to wait: health is looked at once, for the record. And when the wait of an earlier run
            # ran out, this one goes on to prune: what left the source may be what holds the others up.
            if timeout and not waited_before:
                raise
            outcome.unready = str(error) if timeout else ""
        self.session.directory.save_outcome(outcome)

    def _settle(self, keys: list[tuple[ObjectKey, str]], timeout: float) -> None:
        states = wait_until_ready(
            self.session.acting,
            self.session.discovery,
            keys,
            addon=self.name,
            timeout=timeout,
            progress=lambda text: self.progress(f"{self.name}: {text}"),
            stop=self.renewal.lost,
        )
        self.renewal.check()
        unready = {key: state for key, state in states.items() if state.state != "ready"}
        if unready:
            raise _unready(self.name, unready, timeout, self._mask)

    def _save(self) -> None:
        outcome = self.session.directory.outcome(self.name)
        outcome.applied += self._applied
        self._applied = []
        self.session.directory.save_outcome(outcome)


def _moved(item: PlanItem, what: str) -> PlanError:
    return PlanError(
        f"{what} since the plan was made", subject=str(item.key), hint="nothing was changed on it; run again"
    )


def _failure(
    name: str, failed: dict[ObjectKey, NodeResult[None]], results: dict[ObjectKey, NodeResult[None]]
) -> AddonError:
    """One error for all objects that failed; the first is told whole, the others by name."""
    key = min(failed)
    first = failed[key]
    skipped = sum(1 for result in results.values() if result.state == "skipped")
    others = "".join(f"; {other}" for other in sorted(failed)[1:4])
    more = f". Also failed: {others[2:]}" if others else ""
    waiting = f". {skipped} objects that need them were not applied" if skipped else ""
    error = first.error
    message = error.message if isinstance(error, AddonError) else str(error)
    hint = error.hint if isinstance(error, AddonError) else ""
    return PlanError(f"{message}{more}{waiting}", addon=name, subject=str(key), hint=hint)


def _unready(name: str, unready: dict[ObjectKey, Readiness], timeout: float, mask: Mask) -> ReadinessError:
    failed = {key: state for key, state in unready.items() if state.state == "failed"}
    shown = mask.text(listed([f"{key} ({state.reason})" for key, state in sorted((failed or unready).items())], 3))
    if failed:
        return ReadinessError(f"failed: {shown}", addon=name, hint="mend the source, or delete what is stuck")
    return ReadinessError(
        f"not ready after {timeout:.0f} s: {shown}", addon=name, hint="the next run waits again; see wait"
    )
