"""A hundred syncs through a proxy that fails: most end Synced all the same, the others say why and are made up for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integration.fault_play import SHARE, Play
from tests.integration.fault_proxy import FAULTS, RandomFaults
from tests.integration.story import Story

pytestmark = pytest.mark.long

STORIES = 50
HOPELESS_EVERY = 8


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
