"""The lock against a server that knows nothing but one Lease, on a clock that is only a number."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.lease import LeaseLock, Renewal
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import LockError, UnreachableError
from tests.loopback import Exchange, Loopback


class Leases(Loopback):
    """A server that holds one Lease and checks its resourceVersion.

    :ivar answers_lost: how many of the next writes are carried out, and their answers lost.
    :ivar every_other_lost: the same for every other write from now on, beginning with the next.
    :ivar away: every connection is closed without an answer, and nothing is done.
    :ivar seconds: that an answer takes.
    """

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.writes: list[str] = []
        self.answers_lost = 0
        self.every_other_lost = False
        self.away = False
        self.seconds = 0.0
        super().__init__(self._answer)

    def _answer(self, exchange: Exchange) -> None:
        content = json.loads(exchange.content() or "null")
        threading.Event().wait(self.seconds)
        if self.away:
            exchange.close_connection = True
            return
        status, body = self._done(exchange.command, content)
        if exchange.command != "GET" and self._is_lost():
            exchange.close_connection = True
            return
        exchange.reply(status, json.dumps(body).encode(), "application/json")

    def _is_lost(self) -> bool:
        if self.every_other_lost:
            return len(self.writes) % 2 == 1
        self.answers_lost -= 1
        return self.answers_lost >= 0

    def _done(self, method: str, content: Any) -> tuple[int, dict[str, Any]]:
        if method != "GET":
            self.writes.append(method)
        if method == "POST":
            return self._refusal(409, "AlreadyExists") if self.lease else (201, self.store(content))
        if self.lease is None:
            return self._refusal(404, "NotFound")
        if method == "PUT" and content["metadata"]["resourceVersion"] != str(self.version):
            return self._refusal(409, "Conflict")
        if method == "PUT":
            return 200, self.store(content)
        if method == "DELETE":
            if content["preconditions"] != {"uid": "u", "resourceVersion": str(self.version)}:
                return self._refusal(409, "Conflict")
            self.lease = None
            return 200, {}
        return 200, self.lease

    def store(self, lease: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        metadata = {**lease["metadata"], "uid": "u", "resourceVersion": str(self.version)}
        self.lease = {**lease, "metadata": metadata}
        return self.lease

    @staticmethod
    def _refusal(code: int, reason: str) -> tuple[int, dict[str, Any]]:
        return code, {"kind": "Status", "reason": reason, "code": code, "details": {"name": "addon-a"}}


class World:
    """Time that passes only while somebody sleeps, and what happens meanwhile."""

    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.time = 1000.0
        self.every_second: list[Any] = []

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        for action in self.every_second:
            action()

    def lock(self, holder: str, duration: int = 60, **options: Any) -> LeaseLock:
        client = Client(Credential(self.leases.url), answered=True)
        return LeaseLock(
            client,
            "rendimiento-system",
            "addon-a",
            holder,
            duration,
            **{"now": lambda: self.time, "sleep": self.sleep, **options},
        )

    @property
    def spec(self) -> dict[str, Any]:
        assert self.leases.lease is not None
        return self.leases.lease["spec"]  # type: ignore[no-any-return]


@pytest.fixture
def world() -> Iterator[World]:
    with Leases() as leases:
        yield World(leases)


def test_one_holder_at_a_time(world: World) -> None:
    first = world.lock("first")
    first.acquire()

    with pytest.raises(LockError) as caught:
        world.lock("second").acquire()

    since = world.spec["acquireTime"][:19]
    assert str(caught.value) == (
        f"Lease rendimiento-system/addon-a: first holds the lock since {since}Z."
        " Wait for that run to end; if it was killed, its lock can be taken over after 60 s."
    )
    first.release()
    world.lock("second").acquire()


def test_the_same_run_has_it_at_once(world: World) -> None:
    world.lock("run").acquire()
    acquired = world.spec["acquireTime"]

    world.lock("run").acquire()

    assert (world.spec["acquireTime"], world.spec["leaseTransitions"]) == (acquired, 0)


def test_a_dead_holder_is_taken_over_after_the_duration_of_its_own_lease(world: World) -> None:
    world.lock("dead", duration=20).acquire()
    start = world.time

    world.lock("next").acquire(wait=75)

    assert 20 <= world.time - start <= 21
    assert (world.spec["holderIdentity"], world.spec["leaseTransitions"]) == ("next", 1)


def test_a_holder_that_renews_is_never_taken_over(world: World) -> None:
    alive = world.lock("alive", duration=20)
    alive.acquire()
    world.every_second = [alive.renew]
    start = world.time

    with pytest.raises(LockError, match="alive holds the lock"):
        world.lock("next").acquire(wait=75)
    assert 75 <= world.time - start <= 76


def test_waiting_for_a_holder_that_gives_it_back(world: World) -> None:
    other = world.lock("other")
    other.acquire()
    world.every_second = [lambda: other.release() if world.time >= 1005 else None]

    world.lock("next").acquire(wait=75)

    assert world.time <= 1006


def test_a_lock_that_was_lost(world: World) -> None:
    lock = world.lock("slow", duration=5)
    lock.acquire()
    world.lock("next").acquire(wait=10)

    for action in (lock.check, lock.renew):
        with pytest.raises(LockError, match="the lock was lost: next has it now"):
            action()
    lock.release()
    assert world.spec["holderIdentity"] == "next"


def test_a_lease_that_is_gone(world: World) -> None:
    lock = world.lock("run")
    lock.acquire()
    world.leases.lease = None

    with pytest.raises(LockError, match="the lock was lost: it is gone"):
        lock.renew()
    lock.release()


def test_a_later_step_renews_without_having_acquired(world: World) -> None:
    world.lock("run").acquire()
    before = world.leases.version

    world.lock("run").renew()

    assert world.leases.version == before + 1


def test_two_processes_of_one_run_may_both_renew(world: World) -> None:
    one, other = world.lock("run"), world.lock("run")
    one.acquire()
    other.renew()

    one.renew()


def test_times_have_six_decimals(world: World) -> None:
    world.lock("run").acquire()

    assert len(world.spec["renewTime"]) == len("2026-11-30T10:14:02.123456Z")


def test_times_of_others_mean_nothing(world: World) -> None:
    """Their clocks may be an hour ahead or behind: a dead holder is waited for just as long, a live one never ends."""
    for number, year in enumerate((2000, 2999)):
        world.lock(f"dead-{number}", duration=20).acquire()
        world.spec["renewTime"] = world.spec["acquireTime"] = f"{year}-01-01T00:00:00.000000Z"
        start = world.time
        with pytest.raises(LockError, match="holds the lock"):
            world.lock("next").acquire(wait=19)
        world.lock("next").acquire(wait=75)
        assert 39 <= world.time - start <= 41
        world.lock("next").release()


def test_a_lease_whose_times_move_on_is_alive_whatever_they_say(world: World) -> None:
    alive = world.lock("alive", duration=20)
    alive.acquire()

    def renewed_by_a_machine_with_another_clock() -> None:
        world.spec["renewTime"] = "2000-01-01T00:00:00.000000Z"
        world.leases.store(world.leases.lease or {})

    world.every_second = [renewed_by_a_machine_with_another_clock]
    with pytest.raises(LockError, match="alive holds the lock"):
        world.lock("next").acquire(wait=75)


@pytest.mark.parametrize("known", [True, False])
def test_a_holder_that_is_seen_to_be_gone_is_not_waited_for(world: World, known: bool) -> None:
    world.lock("killed", process="the killed one").acquire()
    start = world.time

    world.lock("next", is_gone=lambda process: known and process == "the killed one").acquire(wait=75)

    assert (world.time - start < 1) is known
    assert world.spec["holderIdentity"] == "next"
    assert world.leases.lease and world.leases.lease["metadata"]["annotations"] == {}


Act = Callable[[LeaseLock], None]


@pytest.mark.parametrize("lost", [1, 2, 3])
@pytest.mark.parametrize("act", [LeaseLock.acquire, LeaseLock.renew, LeaseLock.release])
def test_a_write_whose_answer_is_lost_is_found_again(world: World, act: Act, lost: int) -> None:
    lock = world.lock("run")
    if act is not LeaseLock.acquire:
        lock.acquire()
    world.leases.answers_lost = lost

    act(lock)

    if act is LeaseLock.release:
        assert world.leases.lease is None
    else:
        assert world.spec["holderIdentity"] == "run"
        lock.renew()


@pytest.mark.parametrize("taken_over", [False, True])
def test_every_write_is_carried_out_and_its_answer_lost(world: World, taken_over: bool) -> None:
    """So each is repeated, and refused as it is done already."""
    if taken_over:
        world.lock("dead").acquire()
        world.leases.writes.clear()
    world.leases.every_other_lost = True
    lock = world.lock("run", is_gone=lambda _process: True)

    lock.acquire()
    for _time in range(3):
        lock.renew()
    assert world.spec["holderIdentity"] == "run"
    lock.release()
    assert world.leases.lease is None


def test_a_lock_that_is_taken_while_the_answer_to_our_create_is_lost(world: World) -> None:
    world.leases.answers_lost = 1
    winner = world.lock("winner")
    winner.acquire()
    world.leases.answers_lost = 1

    with pytest.raises(LockError, match="winner holds the lock"):
        world.lock("loser").acquire()


def test_a_late_renewal_does_not_stop_the_release(world: World) -> None:
    lock, late = world.lock("run"), world.lock("run")
    lock.acquire()
    late.check()
    read = lock._read

    def read_and_renewed(timeout: float | None = None) -> dict[str, Any] | None:
        found = read(timeout)
        if world.leases.version < 2:
            late.renew()
        return dict(found) if found else None

    lock._read = read_and_renewed  # type: ignore[method-assign]
    lock.release()

    assert world.leases.lease is None


# Renewal, on the real clock


def test_a_renewal_survives_answers_that_are_slow(world: World) -> None:
    lock = world.lock("run", 3, now=time.monotonic)
    lock.acquire()
    before = world.leases.version
    world.leases.seconds = 0.4
    with Renewal(lock) as renewal:
        renewal.lost.wait(4)
    renewal.check()
    assert world.leases.version >= before + 2


def test_a_lock_that_can_t_be_renewed_counts_as_lost_before_others_may_take_it(world: World) -> None:
    lock = world.lock("run", 3, now=time.monotonic)
    lock.acquire()
    with Renewal(lock) as renewal:
        world.leases.away = True
        assert renewal.lost.wait(10)
        assert time.monotonic() - lock.renewed_at < 3
    with pytest.raises(UnreachableError):
        renewal.check()


def test_a_server_that_comes_back_in_time_is_no_loss(world: World) -> None:
    lock = world.lock("run", 4, now=time.monotonic)
    lock.acquire()
    with Renewal(lock, interval=0.2) as renewal:
        world.leases.away = True
        renewal.lost.wait(1)
        world.leases.away = False
        assert not renewal.lost.wait(3)
    renewal.check()
