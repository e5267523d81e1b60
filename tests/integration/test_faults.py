"""Syncs through a proxy that fails as networks and busy servers do: nothing is lost, nothing is made twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.steps import lock
from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.child_run import ChildRuns, Undisturbed
from tests.integration.engine import Bench
from tests.integration.fault_proxy import (
    FAULTS,
    AnswersLost,
    Asked,
    Fault,
    FaultProxy,
    Halt,
    Milestone,
    Plan,
    RandomFaults,
    no_faults,
)
from tests.integration.kubectl import Kubectl, wait_until
from tests.integration.objects import config_map
from tests.integration.story import Story

STORIES = 50
SHARE = 0.12
"""Of all requests: a sync sends about a hundred, so that a dozen of them fail in each."""

REPLACED = "ConfigMap {}/replaced"
"""What the second version of a story deletes and makes anew."""

HOPELESS_EVERY = 8
PATIENCE = 4.0
"""Seconds for which a request is repeated in a hopeless sync."""


@pytest.fixture(scope="module")
def proxy(bootstrapped: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultProxy]:
    with FaultProxy(bootstrapped.kubeconfig, tmp_path_factory.mktemp("proxy")) as proxy:
        yield proxy


@dataclass
class Tally:
    """How many syncs ended Synced at once, and the errors of the others."""

    synced: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Play:
    proxy: FaultProxy
    runs: ChildRuns
    kubeconfig: Path
    undisturbed: Undisturbed
    audit: Audit
    tally: Tally

    def __call__(self, story: Story, *plans: Plan) -> None:
        """The versions of the story, each against its own faults, and once more without when that was too much."""
        mark = self.audit.mark()
        uids: dict[str, str] = {}
        for version, (commit, plan) in enumerate(zip((story.first, story.second), plans, strict=True)):
            commit()
            self.proxy.plan = plan
            patience = PATIENCE if isinstance(plan, RandomFaults) and plan.hopeless != "none" else 30.0
            ended = self.runs.sync(story, self.proxy.kubeconfig, patience=patience)
            self.proxy.plan = no_faults
            assert not story.without_inventory()
            if ended.synced:
                self.tally.synced += 1
            else:
                self.tally.errors.append(ended.failure or ended.unrecorded)
                again = self.runs.sync(story, self.kubeconfig)
                assert again.synced, f"after {ended}: {again}"
            assert story.state() == self.undisturbed.states[version], f"after {ended}"
            now = story.uids()
            made_again = [name for name in uids.keys() & now.keys() if uids[name] != now[name]]
            assert made_again == ([REPLACED.format(story.name)] if version else []), "something else was made again"
            uids = now
        requests = self.audit.since(mark)
        assert not repeated(requests, story, "create"), "created twice"
        assert not repeated(requests, story, "delete"), "deleted twice"
        assert not list(self.runs.runtime.iterdir())


def repeated(requests: Requests, story: Story, verb: str) -> list[str]:
    """Objects of the add-on that were created or deleted more than once; a lock comes and goes with each run."""
    done = Counter(
        f"{each.resource} {each.namespace}/{each.name}"
        for each in requests.writes
        if story.name in (each.namespace, each.name, each.name.partition(".")[2].partition(".")[0])
        and not each.on_record
        and (each.code == 201 if verb == "create" else each.verb == "delete" and each.code < 300)
    )
    return [
        f"{name}: {count} times"
        for name, count in done.items()
        if count > (2 if name.endswith("/replaced") and verb == "create" else 1)
    ]


@pytest.fixture(scope="module")
def play(proxy: FaultProxy, runs: ChildRuns, bootstrapped: Cluster, undisturbed: Undisturbed, audit: Audit) -> Play:
    return Play(proxy, runs, bootstrapped.kubeconfig, undisturbed, audit, Tally())


@pytest.mark.parametrize("fault", ["reset after", pytest.param("504 after", marks=pytest.mark.long)])
def test_every_write_is_carried_out_and_its_answer_lost(
    play: Play, new_story: Callable[[str], Story], fault: Fault
) -> None:
    synced = play.tally.synced
    play(new_story(f"faults-{fault.replace(' ', '-')}"), AnswersLost(fault), AnswersLost(fault))
    assert play.tally.synced == synced + 2, play.tally.errors


@pytest.mark.long
@pytest.mark.parametrize("away", [0.0, 8.0])
def test_an_api_server_that_restarts_in_the_middle_of_a_sync(
    bootstrapped: Cluster,
    new_story: Callable[[str], Story],
    runs: ChildRuns,
    undisturbed: Undisturbed,
    proxy: FaultProxy,
    away: float,
) -> None:
    """The real one, killed once half of what there is to write was written."""
    story = new_story(f"faults-restart-{away:.0f}")
    for version, commit in enumerate((story.first, story.second)):
        commit()
        proxy.plan = halfway = Milestone(undisturbed.writes[version] // 2)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(runs.sync, story, proxy.kubeconfig)
            assert halfway.reached.wait(60)
            bootstrapped.restart_api_server(away)
            ended = running.result()
        assert ended.synced, ended
        assert story.state() == undisturbed.states[version]
        assert proxy.unreachable, "the sync was over before the server was gone"


@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.long)])
def test_two_syncs_that_are_started_together(
    bootstrapped: Cluster,
    new_story: Callable[[str], Story],
    runs: ChildRuns,
    undisturbed: Undisturbed,
    audit: Audit,
    rounds: int,
) -> None:
    """One waits for the other and finds everything done, or says who holds the lock. Each story is two rounds."""
    for number in range(rounds):
        story = new_story(f"faults-twice-{rounds}-{number}")
        for version, commit in enumerate((story.first, story.second)):
            commit()
            mark = audit.mark()
            with ThreadPoolExecutor(2) as pool:
                both = list(pool.map(runs.sync, [story] * 2, [bootstrapped.kubeconfig] * 2))
            assert any(each.synced for each in both), both
            assert all(each.synced or "holds the lock since" in each.failure for each in both), both
            assert story.state() == undisturbed.states[version]
            requests = audit.since(mark)
            assert not repeated(requests, story, "create")
            assert not repeated(requests, story, "delete")
            assert taken_and_given_back(requests, story) == ["create", "delete"] * sum(each.synced for each in both)


def taken_and_given_back(requests: Requests, story: Story) -> list[str]:
    """What was done to the lock, in order."""
    locks = requests.writes.of("leases", f"addon-{story.name}")
    return [each.verb for each in locks if each.code < 300 and each.verb in ("create", "delete")]


def test_a_sync_waits_while_another_one_works(
    bootstrapped: Cluster,
    new_story: Callable[[str], Story],
    runs: ChildRuns,
    proxy: FaultProxy,
    undisturbed: Undisturbed,
    audit: Audit,
) -> None:
    """The first is held up in the middle until the second one has met its lock."""
    story = new_story("faults-waits")
    story.first()
    mark = audit.mark()
    proxy.plan = halt = Halt(undisturbed.writes[0] // 2)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(runs.sync, story, proxy.kubeconfig)
        try:
            assert halt.reached.wait(60)
            halted = audit.mark()
            second = pool.submit(runs.sync, story, bootstrapped.kubeconfig)

            def looks() -> int:
                """At the lock, by the second sync: the first one waits for an answer."""
                lock = audit.peek(halted).of("leases", f"addon-{story.name}")
                return sum(each.verb == "get" and each.code == 200 for each in lock)

            wait_until(lambda: looks() >= 2, "the second sync waits for the lock", 60)
            assert not second.done()
        finally:
            halt.resume.set()
        assert first.result().synced, first.result()
        assert second.result().synced, second.result()
    assert story.state() == undisturbed.states[0]
    requests = audit.since(mark)
    assert not repeated(requests, story, "create")
    assert taken_and_given_back(requests, story) == ["create", "delete"] * 2


def test_a_sync_that_loses_its_lock_writes_no_more(
    new_bench: Callable[[str], Bench],
    proxy: FaultProxy,
    kubectl: Kubectl,
    audit: Audit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody else takes the lock in the middle of a long apply; it is noticed at the next renewal."""
    objects = 150
    monkeypatch.setattr(lock, "DURATION_SECONDS", 3)
    bench = new_bench("faults-lost-lock")
    many = [config_map(f"number-{number:03}") for number in range(objects)]
    bench.repository.addon("faults-lost-lock", *many, createNamespace=True)
    bench.repository.commit()
    lease = "lease/addon-faults-lost-lock"

    class Stolen(Milestone):
        """Every write takes a while; at the tenth the lock is somebody else's."""

        def __call__(self, asked: Asked) -> Fault:
            super().__call__(asked)
            return "delay" if asked.writes and "/configmaps/" in asked.path else "none"

    mark = audit.mark()
    proxy.plan = stolen = Stolen(15)

    def steal() -> None:
        assert stolen.reached.wait(60)
        taken = '{"spec": {"holderIdentity": "a thief"}}'
        kubectl.run("patch", lease, "--namespace", "rendimiento-system", "--type=merge", "--patch", taken)

    with ThreadPoolExecutor(1) as pool:
        theft = pool.submit(steal)
        lost = bench.engine(proxy.kubeconfig).run(check=False)["faults-lost-lock"]
        theft.result()
    proxy.plan = no_faults
    assert (
        lost.failure.startswith("add-on faults-lost-lock: ") and "the lock was lost: a thief has it now" in lost.failure
    )
    left = kubectl.find("lease", "addon-faults-lost-lock", "rendimiento-system")
    assert left and left["spec"]["holderIdentity"] == "a thief"

    def written() -> list[str]:
        writes = audit.since(mark).writes
        return [each.name for each in writes if (each.resource, each.namespace) == ("configmaps", "faults-lost-lock")]

    assert 0 < len(written()) < objects

    kubectl.run("delete", lease, "--namespace", "rendimiento-system")
    bench.sync()
    assert len(written()) == len(set(written())) == objects


@pytest.mark.parametrize("seed", [0])
def test_some_syncs_against_faults(play: Play, new_story: Callable[[str], Story], seed: int) -> None:
    """A sample of the hundred."""
    play(new_story(f"faults-sample-{seed}"), RandomFaults(seed, SHARE), RandomFaults(seed + 1, SHARE, "503"))


@pytest.mark.long
def test_a_hundred_syncs_against_faults(play: Play, new_story: Callable[[str], Story]) -> None:
    tally = play.tally
    tally.synced, tally.errors = 0, []
    kinds = iter(FAULTS * STORIES)
    seeds = iter(range(2 * STORIES))

    def faults() -> RandomFaults:
        seed = next(seeds)
        return RandomFaults(seed, SHARE, next(kinds) if seed % HOPELESS_EVERY == 0 else "none")

    for number in range(STORIES):
        play(new_story(f"faults-{number}"), faults(), faults())

    assert tally.synced + len(tally.errors) == 2 * STORIES
    assert tally.synced >= 80, tally.errors
    assert tally.errors, "the faults were too few to prove anything"
    assert clear(tally.errors)
    assert set(FAULTS) <= play.proxy.happened.keys()
    assert play.proxy.cut_watches


_WHY = (
    "can't be reached",
    "unable to handle",
    "something broke",
    "too many requests",
    "shutting down",
    "did not complete",
)


def clear(errors: list[str]) -> bool:
    """Each names the add-on or the server, and says in one line what is wrong with it."""
    for error in errors:
        assert error.startswith(("add-on faults-", "https://127.0.0.1:")), error
        assert any(why in error for why in _WHY), error
        assert "\n" not in error
    return True
