"""One walk along the object graph: each object is written as soon as what it comes after is applied, or ready, too.

What is late or failed holds back what needs it, and nothing else. What is as it should be already, and has to be ready
for something that is due, is only waited for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

from ..cluster.readiness_progress import PROGRESS_SECONDS, Lines
from ..cluster.readiness_rules import Readiness
from ..cluster.readiness_watch import ReadinessWatch
from ..model.errors import AddonError
from ..model.graph import Graph, Node, NodeResult, Slots
from ..model.jobs import JOB
from ..model.objects import ObjectKey
from ..model.outcome import ObjectResult
from ..model.plan import PlanItem
from ..model.wording import listed
from .object_graph import BY_USER, ObjectOrder, rank_of
from .session import Progress

_CAUSES = 2


@dataclass(frozen=True, slots=True)
class Walked:
    """What did not work in a walk; empty when all of it did.

    ``failed`` were not written, or it is not known; ``unready`` are in the cluster, but not ready in time;
    ``held_back`` were not written since they wait for one of these.
    """

    failed: dict[ObjectKey, AddonError] = field(default_factory=dict)
    unready: dict[ObjectKey, Readiness] = field(default_factory=dict)
    held_back: list[ObjectResult] = field(default_factory=list)

    @property
    def any(self) -> bool:
        return bool(self.failed or self.unready or self.held_back)

    @property
    def only_unready(self) -> bool:
        """All of it is in the cluster."""
        return bool(self.unready) and not (self.failed or self.held_back)


@dataclass
class ObjectWalk:
    """Walks over objects of one add-on.

    :param standing: what the add-on has, or will have, in the cluster.
    :param write: writes one object; returns its resourceVersion, empty when it is not known.
    :param watch: follows what has to be ready, and Jobs, which may be gone when the walk is over.
    :param seconds: for how long an object that has to be ready is waited for after it was applied; with 0 it counts as
        ready at once.
    """

    order: ObjectOrder
    standing: Mapping[ObjectKey, PlanItem]
    write: Callable[[PlanItem], str]
    watch: ReadinessWatch
    seconds: float
    progress: Progress

    def __post_init__(self) -> None:
        self._seen: dict[ObjectKey, Readiness] = {}
        self._awaited = 0

    @cached_property
    def _lines(self) -> Lines:
        """Made at the first wait, whose seconds they count."""
        return Lines(self.progress)

    def run(self, items: list[PlanItem], slots: Slots, stop: threading.Event) -> Walked:
        """Write these objects; what had not begun when ``stop`` was set is in no list."""
        due = {item.key: item for item in items}
        wanted = self._wanted(due)
        edges = {key: self.order.among(key, wanted) for key in wanted}
        needed = {edge.key for after in edges.values() for edge in after if edge.need == "ready"}
        graph: Graph[ObjectKey, None] = Graph()
        for key, item in wanted.items():
            waits = bool(self.seconds) and key in needed
            self._awaited += waits
            graph.add(
                Node(
                    key=key,
                    run=partial(self._carry_out, item, write=key in due, follow=waits),
                    after=edges[key],
                    rank=rank_of(key),
                    wait=partial(self._is_ready, key) if waits else None,
                )
            )
        return _walked(graph.run(slots, stop, self._far(len(wanted))), due)

    def _wanted(self, due: Mapping[ObjectKey, PlanItem]) -> dict[ObjectKey, PlanItem]:
        """What is due, and what of the rest has to be waited for."""
        wanted = dict(due)
        open_keys = list(due) if self.seconds else []
        while open_keys:
            key = open_keys.pop()
            for edge in self.order.edges[key]:
                if edge.need != "ready" or edge.key in wanted or edge.key not in self.standing:
                    continue
                # What is in force already is not held up by who answers it: it may be what keeps that one down.
                if edge.reason == BY_USER or key not in due or not due[key].uid:
                    wanted[edge.key] = self.standing[edge.key]
                    open_keys.append(edge.key)
        return wanted

    def _carry_out(self, item: PlanItem, *, write: bool, follow: bool) -> None:
        since = item.resource_version
        if write:
            since = self.write(item)
        if follow or (write and item.key.group_kind == JOB):
            self.watch.follow(item.key, item.version, since)

    def _is_ready(self, key: ObjectKey, since: float) -> bool:
        state = self._seen[key] = self.watch.state(key)
        if state.state == "failed" or (state.state != "ready" and since >= self.seconds):
            raise _NotReadyError(state)
        self._lines.tell(self._seen, self._awaited)
        return state.state == "ready"

    def _far(self, total: int) -> Callable[[ObjectKey, NodeResult[None]], None]:
        """Tells how far the walk is, every ``PROGRESS_SECONDS`` in which something ends."""
        done, told = 0, time.monotonic()

        def one_more(_key: ObjectKey, _result: NodeResult[None]) -> None:
            nonlocal done, told
            done += 1
            if time.monotonic() - told >= PROGRESS_SECONDS:
                told = time.monotonic()
                self.progress(f"went through {done} of {total} objects")

        return one_more


class _NotReadyError(Exception):
    """An object that others need ready is not, and is waited for no longer."""

    def __init__(self, readiness: Readiness) -> None:
        super().__init__(readiness.reason)
        self.readiness = readiness


def _walked(results: Mapping[ObjectKey, NodeResult[None]], due: Mapping[ObjectKey, PlanItem]) -> Walked:
    walked = Walked()
    for key, result in sorted(results.items()):
        match result:
            case NodeResult(state="failed", error=_NotReadyError() as late):
                walked.unready[key] = late.readiness
            case NodeResult(state="failed", error=AddonError() as error):
                walked.failed[key] = error
            case NodeResult(state="failed", error=error):
                # Its text may quote a secret.
                walked.failed[key] = AddonError(f"failed unexpectedly ({type(error).__name__})")
            case NodeResult(state="skipped", causes=causes) if key in due:
                waits_for = listed([str(cause) for cause in causes], _CAUSES)
                walked.held_back.append(ObjectResult(key, f"waits for {waits_for}"))
    return walked
