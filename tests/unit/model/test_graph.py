"""The object graph: order, failures, cancelling, waiting; and the same for graphs made by chance."""

from __future__ import annotations

import itertools
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import GraphError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.graph import (
    Edge,
    Graph,
    Need,
    Node,
    NodeResult,
    Slots,
    State,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey

IntGraph = Graph[int, int]
TextGraph = Graph[str, str]


def graph_of(edges: dict[str, list[str]], ranks: dict[str, int] | None = None) -> TextGraph:
    graph = TextGraph()
    for key, after in edges.items():
        graph.add(Node(key, key.upper, [Edge(blocker) for blocker in after], rank=(ranks or {}).get(key, 0)))
    return graph


def failing(key: str) -> Callable[[], str]:
    def fail() -> str:
        raise ValueError(f"{key} broke")

    return fail


def doing(*actions: Callable[[], object], result: str = "") -> Callable[[], str]:
    def run() -> str:
        for action in actions:
            action()
        return result

    return run


@pytest.mark.parametrize(
    ("edges", "ranks", "layers"),
    [
        ({}, {}, []),
        ({"b": [], "a": []}, {}, [["a", "b"]]),
        ({"b": [], "a": []}, {"a": 1}, [["b", "a"]]),
        ({"a": ["c"], "b": ["c"], "c": []}, {}, [["c"], ["a", "b"]]),
        ({"a": ["b", "c"], "b": ["c"], "c": []}, {}, [["c"], ["b"], ["a"]]),
    ],
)
def test_layers(edges: dict[str, list[str]], ranks: dict[str, int], layers: list[list[str]]) -> None:
    assert graph_of(edges, ranks).order() == layers


def test_duplicate_unknown_and_cycle_are_errors_before_anything_runs() -> None:
    started: list[str] = []
    graph = TextGraph()
    graph.add(Node("a", doing(lambda: started.append("a")), [Edge("b", "CR needs CRD")]))
    with pytest.raises(GraphError, match=r"^a: added twice to the graph$"):
        graph.add(Node("a", str))
    for look in (graph.order, lambda: graph.run(2)):
        with pytest.raises(GraphError) as caught:
            look()
        assert str(caught.value) == "a: comes after b (CR needs CRD), which is not in the graph"
    graph.add(Node("free", doing(lambda: started.append("free"))))
    graph.add(Node("c", str, [Edge("a", "user")]))
    graph.add(Node("b", str, [Edge("c")]))
    with pytest.raises(GraphError) as caught:
        graph.run(2)
    assert str(caught.value) == "a cycle, each comes after the next: a -> b (CR needs CRD) -> c -> a (user)"
    assert started == []


def test_a_node_after_itself_is_a_cycle() -> None:
    with pytest.raises(GraphError, match=r"a -> a$"):
        graph_of({"a": ["a"]}).order()


def test_object_keys_are_keys() -> None:
    crd = ObjectKey("apiextensions.k8s.io", "CustomResourceDefinition", "", "things.x.io")
    graph = Graph[ObjectKey, None]()
    graph.add(Node(ObjectKey("x.io", "Thing", "web", "a"), lambda: None, [Edge(crd, "needs its kind")]))
    with pytest.raises(GraphError, match=r"^Thing web/a: comes after CustomResourceDefinition things.x.io \(needs its"):
        graph.order()


def test_a_failure_skips_descendants_and_every_error_is_kept() -> None:
    graph = TextGraph()
    for key, after in {"a": [], "b": [], "c": ["a"], "d": ["c", "b"], "e": ["free"], "free": []}.items():
        graph.add(Node(key, failing(key) if key in "ab" else key.upper, [Edge(blocker) for blocker in after]))
    seen: list[str] = []
    results = graph.run(1, on_done=lambda key, result: seen.append(f"{key} {result.state}"))
    assert {key: str(result.error) for key, result in results.items() if result.error} == {
        "a": "a broke",
        "b": "b broke",
    }
    assert results["c"] == NodeResult("skipped", causes=("a",))
    assert results["d"] == NodeResult("skipped", causes=("a", "b"))
    assert results["e"] == NodeResult("done", "E")
    assert seen == ["a failed", "c skipped", "b failed", "d skipped", "free done", "e done"]


def test_stop_cancels_what_has_not_started() -> None:
    stop = threading.Event()
    graph = TextGraph()
    graph.add(Node("a", doing(stop.set, result="A")))
    graph.add(Node("b", str))
    graph.add(Node("c", str, [Edge("a")]))
    states = {key: result.state for key, result in graph.run(1, stop).items()}
    assert states == {"a": "done", "b": "cancelled", "c": "cancelled"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_an_interrupted_scheduler_ends_what_runs(error: type[BaseException]) -> None:
    stop, began = threading.Event(), threading.Event()
    stopped: list[bool] = []

    def work() -> str:
        began.set()
        stopped.append(stop.wait(20))
        return "A"

    def interrupt(_key: str, _result: NodeResult[str]) -> None:
        assert began.wait(20)
        raise error

    graph = TextGraph()
    graph.add(Node("a", work))
    graph.add(Node("b", str))
    with pytest.raises(error):
        graph.run(2, stop, interrupt)
    assert stopped == [True]


def test_ready_edges_wait_without_a_worker_and_applied_edges_do_not_wait() -> None:
    events: list[str] = []
    ready = threading.Event()

    def note(text: str) -> Callable[[], str]:
        return doing(lambda: events.append(text))

    def wait(seconds: float) -> bool:
        assert seconds >= 0
        return ready.is_set()

    graph = TextGraph()
    graph.add(Node("crd", note("crd"), wait=wait))
    graph.add(Node("needs-ready", note("needs-ready"), [Edge("crd", need="ready")]))
    graph.add(Node("needs-applied", doing(ready.set, note("needs-applied")), [Edge("crd")]))
    results = graph.run(1, poll=0.01)
    assert events == ["crd", "needs-applied", "needs-ready"]
    assert {result.state for result in results.values()} == {"done"}


def test_ranks_do_not_order_what_can_run_at_the_same_time() -> None:
    both = threading.Barrier(2)
    graph = IntGraph()
    for key, rank in ((1, 0), (2, 9)):
        graph.add(Node(key, lambda: both.wait(timeout=30), rank=rank))
    assert {result.state for result in graph.run(2).values()} == {"done"}


def test_nobody_needs_it_ready_so_nobody_waits() -> None:
    graph = TextGraph()
    graph.add(Node("a", lambda: "A", wait=lambda seconds: False))
    graph.add(Node("b", lambda: "B", [Edge("a")]))
    assert graph.run(1)["a"] == NodeResult("done", "A")


def test_a_wait_that_fails_skips_only_what_needed_it_ready() -> None:
    def never(seconds: float) -> bool:
        raise TimeoutError("not ready in time")

    graph = TextGraph()
    graph.add(Node("a", lambda: "A", wait=never))
    graph.add(Node("ready", str, [Edge("a", need="ready")]))
    graph.add(Node("slow", doing(lambda: time.sleep(0.03))))
    graph.add(Node("applied", lambda: "X", [Edge("a"), Edge("slow")]))
    results = graph.run(2, poll=0.01)
    assert (results["a"].state, results["a"].value, str(results["a"].error)) == ("failed", "A", "not ready in time")
    assert results["ready"] == NodeResult("skipped", causes=("a",))
    assert results["applied"] == NodeResult("done", "X")


@pytest.mark.parametrize("outcome", ["fails", "is skipped"])
def test_what_did_not_run_is_not_waited_for(outcome: str) -> None:
    graph = TextGraph()
    graph.add(Node("root", failing("root")))
    after = [Edge("root")] if outcome == "is skipped" else []
    graph.add(Node("a", failing("a"), after, wait=lambda seconds: False))
    graph.add(Node("b", str, [Edge("a", need="ready")]))
    results = graph.run(3)
    assert results["b"] == NodeResult("skipped", causes=("root",) if outcome == "is skipped" else ("a",))


def test_stop_while_waiting() -> None:
    stop = threading.Event()
    graph = TextGraph()

    def wait(seconds: float) -> bool:
        stop.set()
        return False

    graph.add(Node("a", lambda: "A", wait=wait))
    graph.add(Node("b", str, [Edge("a", need="ready")]))
    assert {key: result.state for key, result in graph.run(1, stop, poll=0.01).items()} == {
        "a": "done",
        "b": "cancelled",
    }


@dataclass
class Chance:
    """A graph made by chance, what happens in it, and what was seen of it."""

    seed: int
    slow: float = 0.0

    def __post_init__(self) -> None:
        chance = random.Random(self.seed)
        self.size, self.workers = chance.randint(1, 40), chance.randint(1, 6)
        names = list(range(self.size))
        chance.shuffle(names)
        needs: list[Need] = ["ended", "applied", "ready"]
        self.edges: dict[int, dict[int, Need]] = {
            names[place]: {
                names[blocker]: chance.choice(needs)
                for blocker in chance.sample(range(place), chance.randint(0, min(3, place)))
            }
            for place in range(self.size)
        }
        self.in_order = names
        self.broken = {key for key in names if chance.random() < 0.1}
        self.waited = {key for key in names if chance.random() < 0.3}
        self.late = {key for key in self.waited if chance.random() < 0.3}
        self.looks_left = {key: chance.randint(0, 4) for key in self.waited}
        self.added = chance.sample(names, self.size)
        self.mutex = threading.Lock()
        self.running = self.most = 0
        self.order: list[int] = []
        self.applied: set[int] = set()
        self.over: set[int] = set()
        self.too_early: list[tuple[int, int]] = []

    def run(self, workers: int, stop: threading.Event | None = None) -> dict[int, NodeResult[int]]:
        graph = IntGraph()
        for key in self.added:
            after = [Edge(blocker, need=need) for blocker, need in self.edges[key].items()]
            wait = (lambda _seconds, key=key: self._wait(key)) if key in self.waited else None
            run = lambda key=key: self._work(key)  # noqa: E731
            graph.add(Node(key, run, after, rank=key % 3, wait=wait))
        return graph.run(workers, stop, lambda key, _result: self.over.add(key), poll=0.0)

    def _work(self, key: int) -> int:
        with self.mutex:
            self.running += 1
            self.most = max(self.most, self.running)
            self.order.append(key)
            for blocker, need in self.edges[key].items():
                # An applied one that is still waited for is not over.
                if blocker not in self.over and (need != "applied" or blocker not in self.applied):
                    self.too_early.append((key, blocker))
        time.sleep(self.slow)
        with self.mutex:
            self.running -= 1
            if key not in self.broken:
                self.applied.add(key)
        if key in self.broken:
            raise ValueError(f"{key} broke")
        return key * 2

    def _wait(self, key: int) -> bool:
        self.looks_left[key] -= 1
        if self.looks_left[key] >= 0:
            return False
        if key in self.late:
            raise TimeoutError(f"{key} is late")
        return True

    def expected(self) -> dict[int, tuple[State, str, tuple[int, ...]]]:
        """State, error and causes of each node, worked out one after the other."""
        needed_ready = {blocker for after in self.edges.values() for blocker, need in after.items() if need == "ready"}
        found: dict[int, tuple[State, str, tuple[int, ...]]] = {}
        for key in self.in_order:
            causes: set[int] = set()
            for blocker, need in self.edges[key].items():
                state, error, roots = found[blocker]
                if need == "ended" or (need == "applied" and "late" in error):
                    continue
                causes |= {blocker} if state == "failed" else set(roots)
            if causes:
                found[key] = ("skipped", "", tuple(sorted(causes)))
            elif key in self.broken:
                found[key] = ("failed", f"{key} broke", ())
            elif key in self.late and key in needed_ready:
                found[key] = ("failed", f"{key} is late", ())
            else:
                found[key] = ("done", "", ())
        return found


def told(results: dict[int, NodeResult[int]]) -> dict[int, tuple[State, str, tuple[Any, ...]]]:
    return {key: (one.state, str(one.error or ""), one.causes) for key, one in results.items()}


@pytest.mark.parametrize("seed", range(300))
def test_graphs_by_chance(seed: int) -> None:
    """Order, what is skipped and why, every error, the bound of workers."""
    chance = Chance(seed, slow=0.0002)
    results = chance.run(chance.workers)
    assert told(results) == chance.expected()
    assert not chance.too_early
    assert chance.most <= chance.workers
    ran = {key for key, (state, _error, _causes) in chance.expected().items() if state != "skipped"}
    assert sorted(chance.order) == sorted(ran), "each that can run does, once"
    assert all(results[key].value == key * 2 for key in ran - chance.broken)


@pytest.mark.parametrize("seed", range(300, 400))
def test_one_worker_takes_the_same_way_each_time(seed: int) -> None:
    first, second = Chance(seed), Chance(seed)
    second.added = first.added[::-1]
    assert list(first.run(1)) == list(second.run(1))
    assert first.order == second.order


@pytest.mark.parametrize("seed", range(400, 500))
def test_graphs_that_are_stopped_by_chance(seed: int) -> None:
    """What runs is finished, nothing new starts, and every node has a result."""
    chance = Chance(seed)
    stop = threading.Event()
    last = random.Random(seed).randint(1, chance.size)
    work = chance._work

    def work_or_stop(key: int) -> int:
        if len(chance.order) + 1 >= last:
            stop.set()
        return work(key)

    chance._work = work_or_stop  # type: ignore[method-assign]
    results = chance.run(1, stop)
    assert set(results) == set(chance.in_order)
    assert len(chance.order) <= last
    expected = chance.expected()
    for key, result in results.items():
        if key in chance.order:
            assert result.state in ("done", "failed")
        elif result.state == "skipped":
            assert set(result.causes) <= set(expected[key][2])
        else:
            assert result.state == "cancelled" or expected[key][0] == "skipped"
    if len(chance.order) < last:
        assert told(results) == expected, "it never came to that"


@pytest.mark.parametrize("seed", range(500, 600))
def test_faults_put_into_graphs_by_chance(seed: int) -> None:
    """A duplicate, an unknown and a cycle, wherever they are, are errors that name both ends; nothing runs."""
    chance = random.Random(seed)
    made = Chance(seed)
    started: list[int] = []
    graph = IntGraph()
    fault = chance.choice(["unknown", "cycle"])
    low, high = sorted(chance.sample(range(made.size), 2)) if made.size > 1 else (0, 0)
    # What is first in order comes after what is last.
    first, last = made.in_order[low], made.in_order[high] if fault == "cycle" else 1000
    for key in made.added:
        after = [Edge(blocker) for blocker in made.edges[key]]
        after += [Edge(last, "put in")] if key == first else []
        after += [Edge(first)] if fault == "cycle" and key == last != first else []
        graph.add(Node(key, doing_number(started, key), after))
    with pytest.raises(GraphError, match="added twice") as caught:
        graph.add(Node(first, lambda: 0))
    assert caught.value.subject == str(first)
    with pytest.raises(GraphError) as caught:
        graph.run(made.workers)
    text = str(caught.value)
    if fault == "unknown":
        assert text == f"{first}: comes after 1000 (put in), which is not in the graph"
    else:
        assert text.startswith("a cycle, each comes after the next: ")
        path = re.sub(r" \(.*?\)", "", text.removeprefix("a cycle, each comes after the next: ")).split(" -> ")
        assert path[0] == path[-1]
        for key, blocker in itertools.pairwise(map(int, path)):
            assert blocker in made.edges[key] or {key, blocker} == {first, last}
    assert not started


def doing_number(started: list[int], key: int) -> Callable[[], int]:
    def run() -> int:
        started.append(key)
        return key

    return run


def test_hundreds_that_are_waited_for_hold_up_no_worker() -> None:
    """Two workers, and each of 200 nodes is ready only when all of them were applied."""
    applied: list[int] = []
    graph = IntGraph()
    for key in range(200):
        graph.add(Node(key, doing_number(applied, key), wait=lambda _seconds: len(applied) >= 200))
        graph.add(Node(1000 + key, lambda: 0, [Edge(key, need="ready")]))
    results = graph.run(2, poll=0.001)
    assert {result.state for result in results.values()} == {"done"}


def test_a_node_that_only_waits_gives_its_place_to_another() -> None:
    """One worker: the first node goes on only when the second one has run."""
    slots, second_ran = Slots(1), threading.Event()
    working, most = [0], [0]

    def first() -> bool:
        with slots.gives_up():
            return second_ran.wait(20)

    def work(name: int) -> bool:
        working[0] += 1
        most[0] = max(most[0], working[0])
        time.sleep(0.01)
        working[0] -= 1
        if name == 1:
            second_ran.set()
        return True

    graph: Graph[int, bool] = Graph()
    graph.add(Node(0, first))
    for number in range(1, 5):
        graph.add(Node(number, lambda number=number: work(number)))  # type: ignore[misc]
    results = graph.run(slots)
    assert {key: result.value for key, result in results.items()} == dict.fromkeys(range(5), True)
    assert most == [1]


def test_what_has_only_to_be_over_may_have_failed() -> None:
    def late(_seconds: float) -> bool:
        raise TimeoutError("late")

    graph = TextGraph()
    graph.add(Node("broken", failing("broken")))
    graph.add(Node("skipped", str, [Edge("broken")]))
    graph.add(Node("late", lambda: "", wait=late))
    graph.add(Node("needs-late", str, [Edge("late", need="ready")]))
    after: list[Edge[str]] = [Edge(key, need="ended") for key in ("broken", "skipped", "late", "needs-late")]
    graph.add(Node("last", lambda: "done", after))
    results = graph.run(3, poll=0.001)
    assert list(results)[-1] == "last"
    assert results["last"] == NodeResult("done", "done")


def test_thousands_of_nodes_cost_little() -> None:
    graph = IntGraph()
    for key in range(3000):
        graph.add(Node(key, lambda: 0, [Edge(key // 2)] if key else []))
    started = time.monotonic()
    assert {result.state for result in graph.run(8).values()} == {"done"}
    assert time.monotonic() - started < 5
