"""Syncs through a proxy that fails as networks and busy servers do: nothing is lost, nothing is made twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.steps import lock
from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.child_run import ChildRuns, Undisturbed
from tests.integration.engine import Bench
from tests.integration.fault_play import SHARE, Play, repeated
from tests.integration.fault_proxy import (
    AnswersLost,
    Asked,
    Fault,
    FaultProxy,
    Halt,
    Milestone,
    RandomFaults,
    no_faults,
)
from tests.integration.kubectl import Kubectl, wait_until
from tests.integration.objects import config_map
from tests.integration.story import Story


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
        assert story.look().state == undisturbed.states[version]
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
            assert story.look().state == undisturbed.states[version]
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
    assert story.look().state == undisturbed.states[0]
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
