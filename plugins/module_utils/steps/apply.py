"""Applies what the plan says differs: namespaces and kinds first and waited for, then the rest along the graph."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ..cluster.client import ApiError
from ..cluster.discovery import Discovery
from ..cluster.lease import Renewal
from ..cluster.readiness_progress import PROGRESS_SECONDS
from ..cluster.readiness_rules import Readiness
from ..model.bundle import Bundle
from ..model.errors import AddonError, PlanError, ReadinessError
from ..model.graph import Slots
from ..model.kinds import API_SERVICE
from ..model.layers import layer_lines
from ..model.masking import Mask
from ..model.normalise import describe_kind, is_definition, kinds_of_definition
from ..model.objects import ObjectKey, join_api_version
from ..model.outcome import AppliedObject, Outcome
from ..model.plan import APPLIES, Plan, PlanItem
from ..model.shapes import mapping_of
from ..model.wording import listed
from .failures import failure_kept
from .lock import held
from .object_graph import PREREQUISITES, ObjectOrder
from .object_walk import ObjectWalk, Walked
from .object_writes import ObjectWriter
from .prune import prunable, prune_first
from .readiness import readiness_watch, unready_error
from .records import write_ahead
from .session import Progress, Session

Stage = Literal["prerequisites", "all"]

_SERVED_WITHIN_SECONDS = 60.0
_NAMED = 3
_NAMED_HELD_BACK = 10


def apply(session: Session, name: str, stage: Stage, progress: Progress) -> list[PlanItem]:
    """Carry out one stage of the plan; returns the items that were applied.

    :raises PlanError: when a gate holds the plan back, or an object can't be applied; what was applied is recorded.
        Also at the end of all, when the plan leaves something out.
    :raises ReadinessError: when objects are not ready in time; what waits for them is not applied.
    """
    plan, bundle = session.directory.plan(name), session.directory.bundle(name)
    if plan is None or bundle is None:
        raise PlanError("was not planned", addon=name, hint="call addon_diff first")
    if plan.gate:
        raise PlanError(plan.gate_reason, addon=name)
    outcome = session.directory.outcome(name)
    due = due_items(plan, outcome, stage)
    with failure_kept(session, name), held(session, name) as renewal:
        application = _Application(session, plan, bundle, renewal, progress)
        if due:
            if not outcome.applied:
                tell_layers(name, due_items(plan, outcome, "all"), progress)
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
        if item.action in APPLIES and item.key not in done and (stage == "all" or item.key.group_kind in PREREQUISITES)
    ]


def tell_layers(name: str, items: list[PlanItem], progress: Progress) -> None:
    """Say in which order objects are going to be applied, if they are not applied all at once."""
    lines = layer_lines(items)
    for line in lines if len(lines) > 1 else []:
        progress(f"{name}: {line}")


@dataclass
class _Application:
    session: Session
    plan: Plan
    bundle: Bundle
    renewal: Renewal
    progress: Progress
    _applied: list[AppliedObject] = field(default_factory=list)
    _completed: set[ObjectKey] = field(default_factory=set)
    _problems: Walked = field(default_factory=Walked)
    _written: float = field(default_factory=time.monotonic)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.name = self.bundle.name
        self._bodies = {item.key: item.manifest for item in self.bundle.objects}
        self._versions = {item.key: item.version for item in self.plan.items}
        self._bodies |= {item.key: item.body for item in self.plan.items if item.body is not None}

    @cached_property
    def _mask(self) -> Mask:
        """What hides the secrets of all objects of the add-on in messages."""
        sent = [manifest for item in self.plan.items for manifest in (item.body, item.first) if manifest is not None]
        return self.session.mask(self.name).with_secrets_of([*self.bundle.manifests(), *sent])

    @cached_property
    def _writer(self) -> ObjectWriter:
        return ObjectWriter(self.session, self.name, self._mask, self.progress, self.renewal.lost, self._slots.gives_up)

    @cached_property
    def _slots(self) -> Slots:
        return Slots(self.session.info.options.workers)

    # Applying

    def run(self, due: list[PlanItem]) -> None:
        """Apply these items along the graph; what was applied is in the outcome, whatever happens.

        :raises AddonError: when a namespace or a kind can't be applied; nothing that comes after them is, then.
        """
        prerequisites = [item for item in due if item.key.group_kind in PREREQUISITES]
        rest = [item for item in due if item.key.group_kind not in PREREQUISITES]
        try:
            if prerequisites:
                problems = self._walk(prerequisites)
                if problems.any:
                    raise self._error(problems)
                self._wait_until_served(prerequisites)
            rest = self._clear_the_way(rest)
            if rest:
                self._verify_simulated(rest)
                self._problems = self._walk(rest)
        finally:
            self._save()

    def _clear_the_way(self, items: list[PlanItem]) -> list[PlanItem]:
        """Change or delete the webhook configurations that refuse some of these objects; what is left to apply."""
        keys = {item.in_the_way for item in items if item.in_the_way}
        if keys:
            self._tell(f"first {listed([str(key) for key in sorted(keys)], _NAMED)}, which refuses what comes next")
        changing = [item for item in items if item.key in keys]
        if changing and (problems := self._walk(changing)).any:
            raise self._error(problems)
        self._save()
        outcome = self.session.directory.outcome(self.name)
        if leaving := [item for item in prunable(self.plan, outcome) if item.key in keys]:
            prune_first(self.session, self.name, leaving, self.renewal, self.progress)
        return [item for item in items if item.key not in keys]

    def _walk(self, items: list[PlanItem]) -> Walked:
        with readiness_watch(self.session, self.name, self.renewal.lost) as watch:
            walk = ObjectWalk(
                order=ObjectOrder.of(item.manifest for item in self.bundle.objects),
                standing={item.key: item for item in self.plan.items if item.managed and not item.completed},
                write=self._apply,
                watch=watch,
                seconds=self._seconds,
                progress=self._tell,
            )
            walked = walk.run(items, self._slots, self.renewal.lost)
            self._completed |= watch.completed()
        self.renewal.check()
        return walked

    def _apply(self, item: PlanItem) -> str:
        applied = self._writer.write(item, self._bodies[item.key])
        with self._mutex:
            self._written = time.monotonic()
            if applied:
                self._applied.append(applied)
        return applied.facts.resource_version if applied else ""

    def _verify_simulated(self, items: list[PlanItem]) -> None:
        """Dry-run what could only be simulated before, so that a refusal stops the run before the first real write."""

        def refusal(item: PlanItem) -> str:
            try:
                self._writer.rehearse(item, self._bodies[item.key])
            except ApiError as error:
                return f"{item.key}: {self._mask.text(error.message)}"
            return ""

        simulated = [item for item in items if item.verdict == "simulated"]
        if refused := list(filter(None, self.session.each(refusal, simulated, self._far))):
            more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
            raise PlanError(f"{refused[0]}{more}", addon=self.name, hint="nothing but namespaces and kinds was applied")

    def _far(self, done: int, total: int) -> None:
        self._tell(f"checked {done} of {total} objects that could not be checked before")

    def _wait_until_served(self, items: list[PlanItem]) -> None:
        """Wait for the kinds of new and changed CustomResourceDefinitions, by condition and in discovery."""
        definitions = [self._bodies[item.key] for item in items if is_definition(self._bodies[item.key])]
        if not definitions:
            return
        states = self._unready(
            [item for item in items if is_definition(self._bodies[item.key])], _SERVED_WITHIN_SECONDS
        )
        if error := self._late(states, _SERVED_WITHIN_SECONDS):
            raise error
        wanted = sorted({kind[:3] for manifest in definitions for kind in kinds_of_definition(manifest)})

        def unserved(found: Discovery) -> list[str]:
            return [describe_kind(*kind) for kind in wanted if found.find(*kind) is None]

        if missing := self._rediscover(unserved):
            raise ReadinessError(f"{missing[0]} is not served yet", addon=self.name)

    def _rediscover(self, missing: Callable[[Discovery], list[str]]) -> list[str]:
        """Ask what is served until nothing is missing any more; what still is after a while."""
        began = told = time.monotonic()
        while True:
            found = missing(self.session.rediscover())
            now = time.monotonic()
            if not found or now - began > _SERVED_WITHIN_SECONDS or self.renewal.lost.wait(0.2):
                return found
            if now - told >= PROGRESS_SECONDS:
                told = now
                self._tell(f"waiting until these are served, {now - began:.0f} s: {listed(found, _NAMED)}")

    # Readiness

    @property
    def _seconds(self) -> float:
        return float(self.session.directory.definition(self.name).definition.wait)

    def wait(self) -> None:
        """Wait until the add-on's objects are ready: what was applied, or all when they were not known to be.

        :raises AddonError: for everything that did not work, also before.
        """
        outcome = self.session.directory.outcome(self.name)
        healthy_before = self.session.record(self.name).condition("Healthy") == "True"
        waited_before = self.session.record(self.name).condition("Healthy") == "False"
        applied = {item.key for item in outcome.applied}
        problems = self._problems
        if healthy_before and not applied and not problems.any and not self.plan.left_out_reason:
            return
        leave = {*problems.failed, *problems.unready, *(one.key for one in problems.held_back)}
        leave |= {*outcome.completed, *(item.key for item in self.plan.items if item.completed)}
        items = [
            item
            for item in self.plan.items
            if item.managed and item.key not in leave and (item.key in applied or not healthy_before)
        ]
        outcome.healthy, outcome.held_back = False, problems.held_back
        self.session.directory.save_outcome(outcome)
        seconds = self._seconds
        if problems.any:
            # It has lasted long enough when it lasted until here for what is late.
            seconds = max(seconds - (time.monotonic() - self._written), 0.0)
        problems.unready.update(self._unready(items, seconds))
        outcome.completed = sorted({*outcome.completed, *self._completed})
        self._rediscover_apis(applied - problems.unready.keys())
        left_out = bool(self.plan.left_out_reason)
        if problems.only_unready and not left_out and (waited_before or not self._seconds):
            # `wait: 0` means not to wait: health is looked at once, for the record. And when the wait of an earlier run
            # ran out, this one goes on to prune: what left the source may be what holds the others up.
            outcome.unready = str(self._error(problems)) if self._seconds else ""
        elif problems.any or left_out:
            # What is not there at all says nothing of what is.
            outcome.healthy = False if problems.unready else None
            self.session.directory.save_outcome(outcome)
            raise self._error(problems)
        else:
            outcome.healthy = True
        self.session.directory.save_outcome(outcome)

    def _unready(self, items: list[PlanItem], seconds: float) -> dict[ObjectKey, Readiness]:
        """What of these is not ready after so many seconds, or has failed."""
        written = {one.key: one.facts.resource_version for one in self.session.directory.outcome(self.name).applied}
        with readiness_watch(self.session, self.name, self.renewal.lost) as watch:
            for item in items:
                watch.follow(item.key, item.version, written.get(item.key, item.resource_version))
            states = watch.wait([item.key for item in items], seconds, self._tell)
            self._completed |= watch.completed()
        self.renewal.check()
        notes = [f"{key}: {state.reason}" for key, state in states.items() if state.state == "ready" and state.reason]
        if notes:
            self._tell(f"ready, but {listed(notes, _NAMED)}")
        unready = {key: state for key, state in states.items() if state.state != "ready"}
        # What failed ended the wait for the others.
        return {key: state for key, state in unready.items() if state.state == "failed"} or unready

    def _late(self, states: dict[ObjectKey, Readiness], seconds: float) -> ReadinessError | None:
        return unready_error(self.session, self.name, self._versions, states, seconds, self._mask)

    def _rediscover_apis(self, keys: Collection[ObjectKey]) -> None:
        """Learn what new APIs serve, for the add-ons that come after this one: that lags behind (observed: 25 s)."""
        specs = [mapping_of(self._bodies.get(key, {}).get("spec")) for key in keys if key.group_kind == API_SERVICE]
        served = {join_api_version(str(spec.get("group")), str(spec.get("version"))) for spec in specs}
        if served:
            self._rediscover(lambda found: sorted(served - set(found.api_versions())))

    def _tell(self, text: str) -> None:
        self.progress(f"{self.name}: {self._mask.text(text)}")

    def _save(self) -> None:
        outcome = self.session.directory.outcome(self.name)
        outcome.completed = sorted({*outcome.completed, *self._completed})
        outcome.applied += self._applied
        self._applied = []
        self.session.directory.save_outcome(outcome)

    def _error(self, problems: Walked) -> AddonError:
        """One error for all that did not work: the first failure whole, the rest by name."""
        parts = []
        subject, hint = "", ""
        failed = sorted(problems.failed)
        if failed:
            subject = str(failed[0])
            error = problems.failed[failed[0]]
            hint = error.hint
            parts.append(error.message)
            if failed[1:]:
                parts.append(f"Also failed: {listed([str(key) for key in failed[1:]], _NAMED)}")
        if self.plan.left_out_reason:
            parts.append(self.plan.left_out_reason)
        for failed_ones in (True, False):
            states = {key: state for key, state in problems.unready.items() if (state.state == "failed") is failed_ones}
            if unready := self._late(states, self._seconds):
                parts.append(unready.message)
                hint = hint or unready.hint
        if problems.held_back:
            shown = [f"{one.key} ({one.reason})" for one in problems.held_back]
            parts.append(f"Not applied: {listed(shown, _NAMED_HELD_BACK)}")
        kind = PlanError if failed or self.plan.left_out_reason else ReadinessError
        message = ". ".join([parts[0], *(f"{part[0].upper()}{part[1:]}" for part in parts[1:])])
        return kind(message, addon=self.name, subject=subject, hint=hint)
