"""The lock of one add-on in one run: ``begin`` takes it, every later step checks and renews it, ``release`` ends it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..cluster.lease import LeaseLock, Renewal
from ..model.errors import LockError
from ..model.run_process import is_gone
from .session import Session

DURATION_SECONDS = 60
WAIT_SECONDS = 75.0
"""Longer than the duration, so that the lock of a killed run is taken over instead of failing the next run."""


def lock_of(session: Session, name: str) -> LeaseLock:
    return LeaseLock(
        session.caller,
        session.info.options.state_namespace,
        f"addon-{name}",
        f"{session.info.user}@{session.info.host} run {session.info.run_id}",
        DURATION_SECONDS,
        process=session.info.process,
        is_gone=is_gone,
    )


@contextmanager
def held(session: Session, name: str) -> Iterator[Renewal]:
    """Work under the add-on's lock: checked first, renewed by a thread while the work lasts.

    :raises LockError: when this run does not hold it (any more).
    """
    if not session.directory.outcome(name).locked:
        raise LockError("its lock was not taken", addon=name, hint="call addon_status with state=begin first")
    lock = lock_of(session, name)
    try:
        with session.directory.in_use():
            lock.renew()
            with Renewal(lock) as renewal:
                yield renewal
    except LockError as error:
        raise error.about(addon=name) from error
