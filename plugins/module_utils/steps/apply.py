"""Applies what the plan says differs: namespaces and kinds first and waited for, then the rest along the graph."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ..cluster.client import ApiError
from ..cluster.lease import Renewal
from ..cluster.readiness_progress import PROGRESS_SECONDS
from ..cluster.readiness_rules import Readiness
from ..model.bundle import Bundle
from ..model.errors import AddonError, PlanError, ReadinessError
from ..model.graph import Graph, Node, NodeResult
from ..model.masking import Mask
from ..model.normalise import is_definition, kinds_of_definition
from ..model.objects import ObjectKey
from ..model.outcome import AppliedObject, Outcome
from ..model.plan import APPLIES, Plan, PlanItem
from ..model.wording import listed
from .failures import failure_kept
from .lock import held
from .object_graph import PREREQUISITES, ObjectOrder, rank_of
from .object_writes import ObjectWriter
from .readiness import readiness_watch, unready_error
from .records import write_ahead
from .session import Progress, Session

Stage = Literal["prerequisites", "all"]

_SERVED_WITHIN_SECONDS = 60.0


def apply(session: Session, name: str, stage: Stage, progress: Progress) -> list[PlanItem]:
    """Carry out one stage of the plan; returns the items that were applied.

    :raises PlanError: when a gate holds the plan back, or an object can't be applied; what was applied is recorded.
        Also at the end of all, when the plan leaves something out.
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
            if plan.left_out_reason:
                raise PlanError(plan.left_out_reason, addon=name)
            application.wait()
    return due


def due_items(plan: Plan, outcome: Outcome, stage: Stage) -> list[PlanItem]:
    """Items of a stage that were not applied yet in this run."""
    done = {item.key for item in outcome.applied}
    return [
        item
        for item in plan.items
        if item.action in APPLIES and item.key not in done and (stage == "all" or item.key.group_kind in PREREQUISITES)
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

    @cached_property
    def _writer(self) -> ObjectWriter:
        return ObjectWriter(self.session, self.name, self._mask, self.progress, self.renewal.lost)

    # Applying

    def run(self, due: list[PlanItem]) -> None:
        """Apply these items along the graph; what was applied is in the outcome, whatever happens."""
        prerequisites = [item for item in due if item.key.group_kind in PREREQUISITES]
        rest = [item for item in due if item.key.group_kind not in PREREQUISITES]
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
        order = ObjectOrder.of(self.bundle.manifests())
        due = {item.key for item in items}
        for item in items:
            graph.add(
                Node(
                    key=item.key,
                    run=lambda item=item: self._apply(item),  # type: ignore[misc]
                    after=order.among(item.key, due),
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
        applied = self._writer.write(item, self._bodies[item.key])
        if applied:
            with self._mutex:
                self._applied.append(applied)

    def _verify_simulated(self, items: list[PlanItem]) -> None:
        """Dry-run what could only be simulated before, so that a refusal stops the run before the first real write."""
        refused = []
        for item in items:
            if item.verdict != "simulated":
                continue
            try:
                self._writer.rehearse(item, self._bodies[item.key])
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
        states = self._followed(keys, float(timeout))
        outcome.healthy = all(state.state == "ready" for state in states.values())
        # `wait: 0` means not to wait: health is looked at once, for the record.
        error = self._unready(keys, states, float(timeout)) if timeout else None
        # When the wait of an earlier run ran out, this one goes on to prune: what left the source may be what holds
        # the others up.
        if error and not waited_before:
            raise error
        outcome.unready = str(error) if error else ""
        self.session.directory.save_outcome(outcome)

    def _settle(self, keys: list[tuple[ObjectKey, str]], timeout: float) -> None:
        if error := self._unready(keys, self._followed(keys, timeout), timeout):
            raise error

    def _followed(self, keys: list[tuple[ObjectKey, str]], timeout: float) -> dict[ObjectKey, Readiness]:
        """Wait for objects, each with the version in which it was applied; the last word on each."""
        with readiness_watch(self.session, self.name, self.renewal.lost) as watch:
            for key, version in keys:
                watch.follow(key, version)
            states = watch.wait((key for key, _version in keys), timeout, self._tell)
        self.renewal.check()
        notes = [f"{key}: {state.reason}" for key, state in states.items() if state.state == "ready" and state.reason]
        if notes:
            self._tell(f"ready, but {listed(notes, 3)}")
        return states

    def _unready(
        self, keys: list[tuple[ObjectKey, str]], states: dict[ObjectKey, Readiness], timeout: float
    ) -> ReadinessError | None:
        return unready_error(self.session, self.name, dict(keys), states, timeout, self._mask)

    def _tell(self, text: str) -> None:
        self.progress(f"{self.name}: {self._mask.text(text)}")

    def _save(self) -> None:
        outcome = self.session.directory.outcome(self.name)
        outcome.applied += self._applied
        self._applied = []
        self.session.directory.save_outcome(outcome)


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
