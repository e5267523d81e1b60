"""A run that is killed or interrupted: the next one completes it, and no object is ever without an inventory."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local_cluster import Cluster
from tests.integration.audit import Audit
from tests.integration.child_run import ChildRuns, Deadly, Ended, Undisturbed
from tests.integration.fault_proxy import Asked, Fault, FaultProxy
from tests.integration.kubectl import Kubectl, inventory, title, wait_until
from tests.integration.objects import config_map
from tests.integration.scene import Scene
from tests.integration.story import OWNER, Story

OBJECTS = 60
SEED = 6
POINTS = 25
"""In each of the two versions of a story: 50 in all."""

WRITTEN_BY_AN_ORPHAN = 20
"""At most: it looks every second whether its parent lives, and its two threads write one object in 0.3 s each."""


def point(where: float, writes: int) -> Deadly:
    """Before or after one of the writes, each of which is a point of its own."""
    position = round(where * (2 * writes - 1))
    return Deadly(1 + position // 2, after=position % 2 == 1)


@pytest.fixture(scope="module")
def killed(
    new_story: Callable[[str], Story], undisturbed: Undisturbed, bootstrapped: Cluster, runs: ChildRuns
) -> Callable[[str, float, float], None]:
    """Plays a story in which the run of each version is killed once, and completed by the next."""

    for writes in undisturbed.writes:
        assert len({point(number / (POINTS - 1), writes) for number in range(POINTS)}) == POINTS

    def play(name: str, first: float, second: float) -> None:
        """:param first: where in the run of the first version: 0 is before its first write, 1 after its last."""
        story = new_story(name)
        for version, (commit, where) in enumerate([(story.first, first), (story.second, second)]):
            commit()
            writes = undisturbed.writes[version]
            deadly = point(where, writes)
            ended = runs.sync(story, bootstrapped.kubeconfig, deadly=deadly)
            assert ended == Ended(killed=True), f"{deadly} of {writes}: {ended}"
            assert not story.look().without_inventory

            start = time.monotonic()
            ended = runs.sync(story, bootstrapped.kubeconfig)
            assert ended.synced, f"{deadly}: {ended}"
            assert time.monotonic() - start < 50, "it waited for the lock of a process that is gone"
            assert story.look().state == undisturbed.states[version], f"{deadly}"
            assert not list(runs.runtime.iterdir()), "the folder of the killed run, with its login, is still there"

    return play


def test_the_next_run_completes_one_that_was_killed(killed: Callable[[str, float, float], None]) -> None:
    killed("killed-midway", 0.4, 0.701)


@pytest.mark.long
@pytest.mark.parametrize("number", range(POINTS))
def test_the_next_run_completes_one_that_was_killed_anywhere(
    killed: Callable[[str, float, float], None], number: int
) -> None:
    """25 stories with two kills each; the points lie evenly, in an order of their own for each version."""
    order = list(range(POINTS))
    random.Random(SEED).shuffle(order)
    killed(f"killed-at-{number}", number / (POINTS - 1), order[number] / (POINTS - 1))


# Whole playbooks: Ansible's workers outlive it


@pytest.fixture(scope="module")
def slow(bootstrapped: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultProxy]:
    """The cluster, but every write to a ConfigMap takes a while, so that a run can be hit in the middle."""

    def delayed(asked: Asked) -> Fault:
        return "delay" if asked.writes and "/configmaps/" in asked.path else "none"

    with FaultProxy(bootstrapped.kubeconfig, tmp_path_factory.mktemp("proxy"), delayed) as proxy:
        yield proxy


def processes_below(pid: int) -> list[int]:
    """A process and its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in processes_below(int(child)))]


def lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize(
    ("how", "after"),
    [
        ("playbook-killed", 5),
        ("SIGTERM", 5),
        *(
            pytest.param(how, after, marks=pytest.mark.long)
            for how, after in [
                ("playbook-killed", 1),
                ("playbook-killed", 20),
                ("playbook-killed", 35),
                ("SIGTERM", 30),
                ("SIGINT", 5),
                ("everything-killed", 5),
            ]
        ),
    ],
)
def test_a_playbook_that_is_stopped(
    scene: Scene, slow: FaultProxy, kubectl: Kubectl, audit: Audit, how: str, after: int
) -> None:
    """:param after: how many objects are written by then."""
    name = f"stopped-{how.lower()}-{after}"
    many = [config_map(f"number-{number:02}") for number in range(OBJECTS)]
    scene.repository.addon(name, *many, createNamespace=True)
    scene.repository.commit()

    def written() -> int:
        return sum(each.resource == "configmaps" and each.namespace == name for each in audit.peek(mark).writes)

    mark = audit.mark()
    run = scene.playbooks.start("sync", scene.variables(workers=2, kubeconfig=str(slow.kubeconfig)))
    wait_until(lambda: run.poll() is not None or written() >= after, "so much is written", 60, 0.01)
    assert run.poll() is None, "the run ended before it could be stopped"
    processes = processes_below(run.pid)
    before = written()
    match how:
        case "everything-killed":
            for each in processes:
                os.kill(each, signal.SIGKILL)
        case "playbook-killed":
            os.kill(run.pid, signal.SIGKILL)
        case _:
            os.kill(run.pid, getattr(signal, how))
    run.wait(60)
    wait_until(lambda: not any(map(lives, processes)), "the workers have stopped", 60)
    by_orphans = written() - before
    assert by_orphans <= (2 if how == "everything-killed" else WRITTEN_BY_AN_ORPHAN)

    # The worker that outlived it did not go on for long; what it wrote is in the inventory, as is all else.
    found = {title(each) for each in kubectl.list("configmaps", f"{OWNER}={name}")}
    assert before <= len(found) < OBJECTS
    assert found <= inventory(kubectl.record(name)).keys()
    left = kubectl.find("lease", f"addon-{name}", "rendimiento-system")
    if how == "everything-killed":
        assert left, "nobody can have given it back"
    else:
        assert left is None
        assert kubectl.phase(name) == "Error"
        reason = "the process that started this run is gone" if how == "playbook-killed" else "the run was interrupted"
        assert kubectl.record(name)["status"]["message"] == f"{reason}. Run again"
        assert scene.playbooks.left_behind() == []

    result = scene.sync().succeeded()
    assert result.phases == {name: "Synced"}
    installed = {title(each) for each in kubectl.list("configmaps", f"{OWNER}={name}")}
    assert len(installed) == OBJECTS
    assert inventory(kubectl.record(name)) == dict.fromkeys([*installed, f"Namespace {name}"], "applied")
    assert kubectl.find("lease", f"addon-{name}", "rendimiento-system") is None
    assert scene.playbooks.left_behind() == []
    created = [each.name for each in audit.since(mark).writes if each.namespace == name and each.code == 201]
    assert len(created) == len(set(created)), "something was created twice"
