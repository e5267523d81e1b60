"""Syncs through a proxy that fails as networks and busy servers do: nothing is lost, nothing is made twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.child_run import ChildRuns, Undisturbed
from tests.integration.fault_proxy import FAULTS, Fault, FaultProxy, RandomFaults, no_faults
from tests.integration.story import Story

STORIES = 50
SHARE = 0.12
"""Of all requests: a sync sends about a hundred, so that a dozen of them fail in each."""

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
    undisturbed_failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Play:
    proxy: FaultProxy
    runs: ChildRuns
    kubeconfig: Path
    undisturbed: Undisturbed
    audit: Audit
    tally: Tally

    def __call__(self, story: Story, seed: int, hopeless: tuple[Fault, Fault] = ("none", "none")) -> None:
        """Both versions of the story, each against its own faults, and once more without when that was too much."""
        mark = self.audit.mark()
        uids: dict[str, str] = {}
        for version, commit in enumerate((story.first, story.second)):
            commit()
            self.proxy.plan = RandomFaults(2 * seed + version, SHARE, hopeless[version])
            patience = 30.0 if hopeless[version] == "none" else PATIENCE
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
            assert {name: uids[name] for name in uids.keys() & now.keys()} == {
                name: now[name] for name in uids.keys() & now.keys()
            }, "something was deleted and made again"
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
    return [f"{name}: {count} times" for name, count in done.items() if count > 1]


@pytest.fixture(scope="module")
def play(proxy: FaultProxy, runs: ChildRuns, bootstrapped: Cluster, undisturbed: Undisturbed, audit: Audit) -> Play:
    return Play(proxy, runs, bootstrapped.kubeconfig, undisturbed, audit, Tally())


def test_a_story_against_faults(play: Play, new_story: Callable[[str], Story]) -> None:
    """A sample of the long test: faults that pass in the first sync, writes that stay refused in the second."""
    play(new_story("faults-sample"), 1000, hopeless=("none", "reset after"))

    assert play.tally.synced == 1
    assert clear(play.tally.errors)


@pytest.mark.long
def test_a_hundred_syncs_against_faults(play: Play, new_story: Callable[[str], Story]) -> None:
    tally = play.tally
    tally.synced, tally.errors = 0, []
    kinds = iter(FAULTS * STORIES)
    for number in range(STORIES):
        hopeless: list[Fault] = [
            next(kinds) if (2 * number + version) % HOPELESS_EVERY == 0 else "none" for version in range(2)
        ]
        play(new_story(f"faults-{number}"), number, (hopeless[0], hopeless[1]))

    assert tally.synced + len(tally.errors) == 2 * STORIES
    assert tally.synced >= 80, tally.errors
    assert tally.errors, "the faults were too few to prove anything"
    assert clear(tally.errors)
    assert set(FAULTS) <= play.proxy.happened.keys()


_WHY = ("can't be reached", "unable to handle", "something broke", "too many requests", "shutting down")


def clear(errors: list[str]) -> bool:
    """Each names the add-on or the server, and says in one line what is wrong with it."""
    for error in errors:
        assert error.startswith(("add-on faults-", "https://127.0.0.1:")), error
        assert any(why in error for why in _WHY), error
        assert "\n" not in error
    return True
