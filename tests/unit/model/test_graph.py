"""The object graph: order, failures, cancelling, waiting; and the same for graphs made by chance."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import GraphError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.graph import Edge, Graph, Node, NodeResult
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


def test_optional_edges_to_absent_nodes_are_dropped() -> None:
    graph = TextGraph()
    graph.add(Node("a", lambda: "A", [Edge("absent", optional=True), Edge("b", optional=True)]))
    graph.add(Node("b", lambda: "B"))
    assert graph.order() == [["b"], ["a"]]


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


@pytest.mark.parametrize("seed", range(60))
def test_graphs_by_chance(seed: int) -> None:
    chance = random.Random(seed)
    size, workers = chance.randint(1, 40), chance.randint(1, 6)
    edges = {
        key: sorted(chance.sample(range(key), chance.randint(0, min(3, key)))) if key else [] for key in range(size)
    }
    names = list(range(size))
    chance.shuffle(names)
    blockers = {names[key]: {names[blocker] for blocker in after} for key, after in edges.items()}
    broken = {key for key in blockers if chance.random() < 0.1}
    waited = {key for key in blockers if chance.random() < 0.2}
    needs = {(key, blocker): chance.random() < 0.5 for key, after in blockers.items() for blocker in after}
    lock = threading.Lock()
    running, most = 0, 0
    ended: set[int] = set()
    order: list[int] = []

    def work(key: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            order.append(key)
            assert blockers[key] <= ended, "started before what it comes after had ended"
        time.sleep(0.0005)
        with lock:
            running -= 1
            ended.add(key)
        if key in broken:
            raise ValueError(str(key))
        return key * 2

    def build() -> IntGraph:
        graph = IntGraph()
        for key in chance.sample(sorted(blockers), size):
            after = [Edge(blocker, need="ready" if needs[key, blocker] else "applied") for blocker in blockers[key]]
            wait = (lambda seconds: seconds > 0.001) if key in waited else None
            graph.add(Node(key, lambda key=key: work(key), after, rank=key % 3, wait=wait))  # type: ignore[misc]
        return graph

    graph = build()
    results = graph.run(workers, poll=0.001)

    roots: dict[int, set[int]] = {}
    for key in [key for layer in graph.order() for key in layer]:
        roots[key] = {cause for blocker in blockers[key] for cause in (roots[blocker] or {blocker} & broken)}
    assert most <= workers
    assert set(results) == set(blockers)
    for key, result in results.items():
        if roots[key]:
            assert result == NodeResult("skipped", causes=tuple(sorted(roots[key])))
        elif key in broken:
            assert (result.state, str(result.error)) == ("failed", str(key))
        else:
            assert result == NodeResult("done", key * 2)

    waited.clear()
    orders = []
    for _ in range(2):
        order.clear()
        ended.clear()
        build().run(1)
        orders.append(order.copy())
    assert orders[0] == orders[1]


def test_thousands_of_nodes_cost_little() -> None:
    graph = IntGraph()
    for key in range(3000):
        graph.add(Node(key, lambda: 0, [Edge(key // 2)] if key else []))
    started = time.monotonic()
    assert {result.state for result in graph.run(8).values()} == {"done"}
    assert time.monotonic() - started < 5
