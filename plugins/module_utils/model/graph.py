"""Runs work in the order of its dependencies: each node as soon as what it comes after is done, a few at a time.

A failure skips what depends on it, names the root cause there, and lets everything else finish. ``graphlib`` keeps the
books; one thread, the caller's, owns all state, and workers only run ``Node.run``.
"""

from __future__ import annotations

import graphlib
import heapq
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from .errors import GraphError

Need = Literal["ended", "applied", "ready"]
"""What a node needs of one that it comes after: that it is over, however it went; that it was applied; that it is
ready, too (``Node.wait``)."""

State = Literal["done", "failed", "skipped", "cancelled"]


class Key(Hashable, Protocol):
    """What identifies a node: equal for equal things, orderable, and readable as ``str()``."""

    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=Key)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edge(Generic[K]):
    """What a node comes after.

    :param reason: why, for messages ("in its namespace").
    :param need: how far that one has to be; with ``ended`` its failure is nothing to this one.
    """

    key: K
    reason: str = ""
    need: Need = "applied"


@dataclass(frozen=True, slots=True)
class Node(Generic[K, T]):
    """A piece of work.

    :param run: does it, in a worker thread; what it returns is the result, what it raises is the failure.
    :param after: what has to be done before; in any order, also nodes that are added later.
    :param rank: of nodes that could start at the same time, the one with the lowest rank (then key) does.
    :param wait: called again and again after ``run``, when another node needs this one ready, with the seconds since
        ``run`` ended; true when it is ready, raises when it won't be. It runs in the scheduling thread and blocks no
        worker, so it has to be quick: look at a state that somebody else keeps fresh.
    """

    key: K
    run: Callable[[], T]
    after: list[Edge[K]] = field(default_factory=list)
    rank: int = 0
    wait: Callable[[float], bool] | None = None


@dataclass(frozen=True, slots=True)
class NodeResult(Generic[T]):
    """How a node ended.

    :param value: what ``run`` returned; kept when the node failed only afterwards, while it was waited for.
    :param causes: of a skipped node, the nodes that failed, sorted: the roots, not what was skipped in between.
    """

    state: State
    value: T | None = None
    error: Exception | None = None
    causes: tuple[Key, ...] = ()


class Slots:
    """How many nodes work at a time, at least 1. One that only waits gives its place to another meanwhile."""

    def __init__(self, number: int) -> None:
        self.number = max(number, 1)
        self.given_up = 0
        self._mutex = threading.Lock()
        self._free = threading.Semaphore(self.number)

    @contextmanager
    def taken(self) -> Iterator[None]:
        with self._free:
            yield

    @contextmanager
    def gives_up(self) -> Iterator[None]:
        """Called by a node that works: others may take its place until it goes on."""
        self._count(1)
        self._free.release()
        try:
            yield
        finally:
            self._count(-1)
            self._free.acquire()

    def _count(self, change: int) -> None:
        with self._mutex:
            self.given_up += change


class Graph(Generic[K, T]):
    """Nodes and what they come after. Add all nodes, then look at ``order`` or ``run`` it; both may be repeated."""

    def __init__(self) -> None:
        self._nodes: dict[K, Node[K, T]] = {}

    def add(self, node: Node[K, T]) -> None:
        """:raises GraphError: a node of that key is there already."""
        if node.key in self._nodes:
            raise GraphError("added twice to the graph", subject=str(node.key))
        self._nodes[node.key] = node

    def order(self) -> list[list[K]]:
        """Layers: each node stands in the first layer in which all that it comes after is done; sorted by rank, key.

        :raises GraphError: a node comes after one that does not exist, or a cycle (with its path).
        """
        sorter = graphlib.TopologicalSorter(
            {key: sorted({edge.key for edge in self._edges(key)}) for key in sorted(self._nodes)}
        )
        try:
            sorter.prepare()
        except graphlib.CycleError as error:
            raise self._cycle(error.args[1]) from None
        layers: list[list[K]] = []
        while sorter.is_active():
            layer = sorted(sorter.get_ready(), key=self._priority)
            layers.append(layer)
            sorter.done(*layer)
        return layers

    def run(
        self,
        workers: int | Slots,
        stop: threading.Event | None = None,
        on_done: Callable[[K, NodeResult[T]], None] | None = None,
        poll: float = 0.2,
    ) -> dict[K, NodeResult[T]]:
        """Runs every node that can be run, and returns how each ended; failures of nodes are results, not raised.

        :param workers: how many nodes run at a time, at least 1; with one worker the order is always the same. Given as
            slots, a node may give up its own while it only waits.
        :param stop: when set, nothing new is started and the rest is cancelled; what runs is waited for. It is set when
            this thread is interrupted: what a node waits for in ``run`` has to end with it.
        :param on_done: called in this thread when a node has ended (been waited for, if it has to be).
        :param poll: seconds between two calls of a ``Node.wait``.
        :raises GraphError: as ``order``, before anything runs.
        """
        self.order()
        slots = workers if isinstance(workers, Slots) else Slots(workers)
        return _Run(self, slots, stop or threading.Event(), on_done, poll).results()

    def _priority(self, key: K) -> tuple[int, K]:
        return self._nodes[key].rank, key

    def _edges(self, key: K) -> Iterator[Edge[K]]:
        for edge in self._nodes[key].after:
            if edge.key not in self._nodes:
                reason = f" ({edge.reason})" if edge.reason else ""
                raise GraphError(f"comes after {edge.key}{reason}, which is not in the graph", subject=str(key))
            yield edge

    def _cycle(self, path: list[K]) -> GraphError:
        # graphlib lists what comes before first; the message reads "a -> b" as "a comes after b".
        members = list(reversed(path))[:-1]
        first = members.index(min(members))
        members = members[first:] + members[:first]
        text = str(members[0])
        for node, blocker in zip(members, [*members[1:], members[0]], strict=True):
            reason = next((edge.reason for edge in self._edges(node) if edge.key == blocker and edge.reason), "")
            text += f" -> {blocker}" + (f" ({reason})" if reason else "")
        return GraphError(f"a cycle, each comes after the next: {text}")


_Step = tuple[K, Need]
"""A node has one step, or two when another node needs it ready: that one comes after the first."""


class _Run(Generic[K, T]):
    """One run of a graph: the scheduler and its state."""

    def __init__(
        self,
        graph: Graph[K, T],
        slots: Slots,
        stop: threading.Event,
        on_done: Callable[[K, NodeResult[T]], None] | None,
        poll: float,
    ) -> None:
        self._nodes = graph._nodes
        self._slots = slots
        self._stop = stop
        self._on_done = on_done
        self._poll = poll
        self._results: dict[K, NodeResult[T]] = {}
        self._applied: dict[K, tuple[T, float]] = {}
        self._waiting: list[K] = []
        self._next_look = 0.0
        self._queue: list[tuple[int, K]] = []
        self._edges = {key: list(graph._edges(key)) for key in self._nodes}
        needed_ready = {edge.key for after in self._edges.values() for edge in after if edge.need == "ready"}
        self._waited_for = {key for key in needed_ready if self._nodes[key].wait is not None}
        self._sorter: graphlib.TopologicalSorter[_Step[K]] = graphlib.TopologicalSorter()
        for key, after in self._edges.items():
            self._sorter.add((key, "applied"), *(self._step(edge.key, edge.need) for edge in after))
            if key in self._waited_for:
                self._sorter.add((key, "ready"), (key, "applied"))
        self._sorter.prepare()

    def _step(self, key: K, need: Need) -> _Step[K]:
        return key, "ready" if need != "applied" and key in self._waited_for else "applied"

    def results(self) -> dict[K, NodeResult[T]]:
        running: dict[Future[T], K] = {}
        # One that gives up its place still needs its thread; no more are made than run or wait at a time.
        with ThreadPoolExecutor(max(len(self._nodes), 1), thread_name_prefix="graph") as pool:
            try:
                self._schedule(pool, running)
            except BaseException:
                # Leaving the pool waits for what runs: that shall not wait for anything in its turn.
                self._stop.set()
                raise
        return self._results

    def _schedule(self, pool: ThreadPoolExecutor, running: dict[Future[T], K]) -> None:
        self._enqueue()
        while self._sorter.is_active():
            self._look_at_waiting()
            self._start_what_can(pool, running)
            until_look = max(self._next_look - time.monotonic(), 0.0) if self._waiting else None
            if self._queue:
                # A place may be given up without an end of anything.
                until_look = min(self._poll, self._poll if until_look is None else until_look)
            if running:
                for future in wait_for(running, until_look, FIRST_COMPLETED).done:
                    self._ran(running.pop(future), future)
            else:
                self._stop.wait(until_look or 0.0)

    def _enqueue(self) -> None:
        for key, need in self._sorter.get_ready():
            if need == "applied":
                heapq.heappush(self._queue, (self._nodes[key].rank, key))
            elif key in self._results:
                self._done(key, "ready")
            else:
                self._waiting.append(key)

    def _start_what_can(self, pool: ThreadPoolExecutor, running: dict[Future[T], K]) -> None:
        while self._queue:
            key = self._queue[0][1]
            ended = self._ended_without_running(key)
            if ended is None and len(running) - self._slots.given_up >= self._slots.number:
                return
            heapq.heappop(self._queue)
            if ended is None:
                running[pool.submit(self._run, key)] = key
            else:
                self._end(key, ended)
                self._done(key, "applied")

    def _run(self, key: K) -> T:
        with self._slots.taken():
            return self._nodes[key].run()

    def _ended_without_running(self, key: K) -> NodeResult[T] | None:
        causes: set[Key] = set()
        for edge in self._edges[key]:
            if edge.need == "ended" or (edge.need == "applied" and edge.key in self._applied):
                continue  # It may have failed since, while it was waited for, but not in what is needed here.
            match self._results.get(edge.key):
                case NodeResult(state="failed"):
                    causes.add(edge.key)
                case NodeResult(state="skipped", causes=roots):
                    causes.update(roots)
        if causes:
            return NodeResult("skipped", causes=tuple(sorted(causes)))
        return NodeResult("cancelled") if self._stop.is_set() else None

    def _ran(self, key: K, future: Future[T]) -> None:
        match future.exception():
            case None:
                self._applied[key] = future.result(), time.monotonic()
                if key not in self._waited_for:
                    self._end(key, NodeResult("done", future.result()))
            case Exception() as error:
                self._end(key, NodeResult("failed", error=error))
            case error:
                raise error
        self._done(key, "applied")

    def _look_at_waiting(self) -> None:
        if time.monotonic() < self._next_look and not self._stop.is_set():
            return
        for key in self._waiting.copy():
            if (result := self._waited(key)) is not None:
                self._waiting.remove(key)
                self._end(key, result)
                self._done(key, "ready")
        self._next_look = time.monotonic() + self._poll

    def _waited(self, key: K) -> NodeResult[T] | None:
        """How the node ended, or None when it is still to be waited for."""
        value, since = self._applied[key]
        wait = self._nodes[key].wait
        try:
            # Stopped while waiting: what it had to do, it did.
            ready = wait is None or self._stop.is_set() or wait(time.monotonic() - since)
        except Exception as error:
            return NodeResult("failed", value, error)
        return NodeResult("done", value) if ready else None

    def _end(self, key: K, result: NodeResult[T]) -> None:
        self._results[key] = result
        if self._on_done is not None:
            self._on_done(key, result)

    def _done(self, key: K, need: Need) -> None:
        self._sorter.done((key, need))
        self._enqueue()
