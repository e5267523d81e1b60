"""The lock against a Lease that is only a dictionary, on a clock that is only a number."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.api_error import ApiError
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Response
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.lease import LeaseLock
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import LockError


def refusal(code: int, reason: str, path: str) -> ApiError:
    return ApiError(code, {"kind": "Status", "reason": reason, "details": {"name": "addon-a"}}, path=path)


class Leases:
    """A server that holds one Lease and checks its resourceVersion."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0

    def store(self, lease: dict[str, Any]) -> Response:
        self.version += 1
        metadata = {**lease["metadata"], "uid": "u", "resourceVersion": str(self.version)}
        self.lease = {**lease, "metadata": metadata}
        return Response(200, self.lease, {}, [])

    def get(self, path: str) -> Response:
        if self.lease is None:
            raise refusal(404, "NotFound", path)
        return Response(200, {**self.lease, "spec": dict(self.lease["spec"])}, {}, [])

    def post(self, path: str, lease: dict[str, Any]) -> Response:
        if self.lease is not None:
            raise refusal(409, "AlreadyExists", path)
        return self.store(lease)

    def put(self, path: str, lease: dict[str, Any]) -> Response:
        if self.lease is None:
            raise refusal(404, "NotFound", path)
        if lease["metadata"]["resourceVersion"] != str(self.version):
            raise refusal(409, "Conflict", path)
        return self.store(lease)

    def delete(self, path: str, options: dict[str, Any], *, query: dict[str, str]) -> Response:
        if self.lease is None or options["preconditions"] != {"uid": "u", "resourceVersion": str(self.version)}:
            raise refusal(409, "Conflict", path)
        self.lease = None
        return Response(200, {}, {}, [])


class World:
    """Time that passes only while somebody sleeps, and what happens meanwhile."""

    def __init__(self) -> None:
        self.leases = Leases()
        self.time = 1000.0
        self.every_second: list[Any] = []

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        for action in self.every_second:
            action()

    def lock(self, holder: str, duration: int = 60) -> LeaseLock:
        return LeaseLock(
            self.leases,  # type: ignore[arg-type]
            "rendimiento-system",
            "addon-a",
            holder,
            duration,
            now=lambda: self.time,
            sleep=self.sleep,
        )

    @property
    def spec(self) -> dict[str, Any]:
        assert self.leases.lease is not None
        return self.leases.lease["spec"]  # type: ignore[no-any-return]


@pytest.fixture
def world() -> World:
    return World()


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
