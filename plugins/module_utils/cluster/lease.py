"""The lock of an add-on: a Lease, so that two runs never converge one add-on at the same time.

Whether a holder is still alive is judged by seeing its Lease change, on this machine's own monotonic clock: clocks of
different machines are never compared (the server neither sets nor checks the times in a Lease; observed, and client-go
does the same). A holder that can be seen to be gone, because it ran on this machine, is not waited for.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from ..model.errors import AddonError, LockError
from ..model.names import PROCESS_ANNOTATION
from .api_error import ApiError
from .client import Client, delete_options

_SECONDS_BETWEEN_LOOKS = 1.0
_RELEASE_ATTEMPTS = 5
_TIME_TO_END = 1 / 6
"""Of the duration: what is under way when a lock could not be renewed has to end before others may take it."""


class LeaseLock:
    """One Lease, held by one run.

    :param holder: identity of the run; a run that comes again as the same holder has the lock at once.
    :param duration_seconds: how long a Lease has to stay unchanged until its holder counts as gone.
    :param process: the holder's process, written into the Lease for others on the same machine; may be empty.
    :param is_gone: whether the process of a Lease is known to have ended, so that nobody works under its lock any more.
    :param now: the monotonic clock, in seconds; ``sleep`` goes with it.
    :ivar renewed_at: when the last write of ours that the server took was sent, on that clock.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        holder: str,
        duration_seconds: int = 60,
        *,
        process: str = "",
        is_gone: Callable[[str], bool] = lambda _process: False,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.holder = holder
        self.duration_seconds = duration_seconds
        self.renewed_at = 0.0
        self.now = now
        self._process = process
        self._is_gone = is_gone
        self._client = client
        self._sleep = sleep
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{quote(namespace)}/leases"
        self._path = f"{self._collection}/{quote(name)}"
        self._namespace = namespace
        self._lease: dict[str, Any] | None = None

    def acquire(self, wait: float = 0.0, poll: float = 1.0) -> None:
        """Takes the lock, and waits at most ``wait`` seconds for it.

        A Lease of somebody else is taken over when it did not change for its own duration while we looked, so a
        shorter ``wait`` never takes over; one that was given back, or whose process is gone, is taken at once.

        :raises LockError: somebody else holds it, named with the time since when.
        :raises ApiError: the Lease can't be read or written; ``not_found_namespace`` when its namespace is missing.
        """
        start = self.now()
        seen, seen_at = "", start
        while True:
            lease = self._read()
            if lease is None:
                if self._create():
                    return
                continue
            version, spec = lease["metadata"]["resourceVersion"], lease["spec"]
            if version != seen:
                seen, seen_at = version, self.now()
            holder = spec.get("holderIdentity") or ""
            duration = spec.get("leaseDurationSeconds") or self.duration_seconds
            dead = self.now() - seen_at >= duration or self._is_gone(_process_of(lease))
            if not holder or holder == self.holder or dead:
                if self._write(lease, taken_over=holder != self.holder):
                    return
                continue
            if self.now() - start >= wait:
                raise self._held_by(holder, spec, duration)
            self._sleep(poll)

    def check(self, timeout: float | None = None) -> None:
        """Makes sure that the lock is still ours, without writing.

        :param timeout: as for ``renew``.
        :raises LockError: it is not.
        """
        lease = self._read(timeout)
        if lease is None or lease["spec"].get("holderIdentity") != self.holder:
            raise self._lost(lease)
        self._lease = lease

    def renew(self, timeout: float | None = None) -> None:
        """Shows the others that this run is alive.

        :param timeout: seconds for an answer, and one try only; without it, as patient as other requests.
        :raises LockError: the lock was lost.
        """
        if self._lease is None:
            self.check(timeout)
        if self._lease is not None and not self._write(self._lease, taken_over=False, timeout=timeout):
            # Our own renewal from another process or a repeated request may have come in between.
            self.check(timeout)
            if not self._write(self._lease, taken_over=False, timeout=timeout):
                raise self._lost(self._read())

    def release(self) -> None:
        """Gives the lock back; does nothing when it is not ours (any more)."""
        self._lease = None
        for attempt in range(_RELEASE_ATTEMPTS):
            lease = self._read()
            if lease is None or lease["spec"].get("holderIdentity") != self.holder:
                return
            metadata = lease["metadata"]
            try:
                self._client.delete(self._path, delete_options(metadata["uid"], metadata["resourceVersion"]))
            except ApiError as error:
                if error.not_found:
                    return
                # A last renewal of ours, slower than the rest, came in between.
                if not error.precondition_failed or attempt == _RELEASE_ATTEMPTS - 1:
                    raise
            else:
                return

    def _read(self, timeout: float | None = None) -> dict[str, Any] | None:
        try:
            lease: dict[str, Any] = self._client.request("GET", self._path, **_patience(timeout)).body
        except ApiError as error:
            if error.not_found:
                return None
            raise
        lease.setdefault("spec", {})
        return lease

    def _create(self) -> bool:
        """Whether the Lease could be created; False when another run was faster."""
        now = _micro_time()
        lease: dict[str, Any] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self._namespace, **self._marked({})},
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": self.duration_seconds,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": 0,
            },
        }
        sent = self.now()
        try:
            self._lease = self._client.create(
                self._collection, lease, lambda found: (found.get("spec") or {}).get("holderIdentity") == self.holder
            )
        except ApiError as error:
            if error.already_exists:
                return False
            raise
        self.renewed_at = sent
        return True

    def _write(self, lease: dict[str, Any] | None, *, taken_over: bool, timeout: float | None = None) -> bool:
        """Writes the Lease as ours over the one that was read; False when it changed meanwhile."""
        if lease is None:
            return False
        now = _micro_time()
        spec = {
            **lease["spec"],
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration_seconds,
            "renewTime": now,
        }
        if taken_over:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = (spec.get("leaseTransitions") or 0) + 1
        metadata = {**lease["metadata"], **self._marked(lease["metadata"])}
        sent = self.now()
        try:
            # The resourceVersion in the body makes the server refuse this when somebody else was faster.
            self._lease = self._client.request(
                "PUT",
                self._path,
                body={**lease, "metadata": metadata, "spec": spec},
                **_patience(timeout),
            ).body
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            found = self._read(timeout)
            if found is None or (found["spec"].get("holderIdentity"), found["spec"].get("renewTime")) != (
                self.holder,
                now,
            ):
                return False
            # A repeated request finds its own work done.
            self._lease = found
        self.renewed_at = sent
        return True

    def _marked(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """The annotations of a Lease that is ours."""
        others = {
            name: value for name, value in (metadata.get("annotations") or {}).items() if name != PROCESS_ANNOTATION
        }
        return {"annotations": {**others, **({PROCESS_ANNOTATION: self._process} if self._process else {})}}

    def _held_by(self, holder: str, spec: dict[str, Any], duration: int) -> LockError:
        since = f" since {spec['acquireTime'][:19]}Z" if spec.get("acquireTime") else ""
        return LockError(
            f"{holder} holds the lock{since}",
            subject=f"Lease {self._namespace}/{self.name}",
            hint=f"wait for that run to end; if it was killed, its lock can be taken over after {duration} s",
        )

    def _lost(self, lease: dict[str, Any] | None) -> LockError:
        holder = lease["spec"].get("holderIdentity") if lease else ""
        who = f"{holder} has it now" if holder else "it is gone"
        return LockError(
            f"the lock was lost: {who}",
            subject=f"Lease {self._namespace}/{self.name}",
            hint="nothing more is changed in this run; run again when the other one is through",
        )


class Renewal:
    """Keeps a held lock while a long step runs; use it as a context manager.

    A thread renews it every third of its duration. It stops when the parent process is gone: a worker lives on for a
    while after its ansible-playbook was killed and must not keep a lock alive that nobody will give back. And it calls
    the lock lost before others may take it, so that what is under way has ended by then.

    :ivar lost: set when the lock could not be kept; long steps look at it before they start something new.
    """

    def __init__(self, lock: LeaseLock, *, interval: float | None = None) -> None:
        self.lost = threading.Event()
        self._lock = lock
        self._interval = interval if interval is not None else lock.duration_seconds / 3
        self._parent = os.getppid()
        self._over = threading.Event()
        self._error: AddonError | None = None
        self._thread = threading.Thread(target=self._run, name=f"renew {lock.name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def check(self) -> None:
        """Raises what went wrong with the renewal, if anything did: ``LockError``, or why it could not be asked."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        lock = self._lock
        look = min(_SECONDS_BETWEEN_LOOKS, self._interval / 4)
        lasts = lock.duration_seconds * (1 - _TIME_TO_END)
        while self._error is None and not self._over.wait(look):
            if os.getppid() != self._parent:
                self._error = LockError("the process that started this run is gone", hint="run again")
            elif lock.now() - lock.renewed_at >= self._interval:
                left = lock.renewed_at + lasts - lock.now()
                try:
                    lock.renew(timeout=max(left / 2, look))
                except LockError as error:
                    self._error = error
                except AddonError as error:
                    # An API server that restarts is no lost lock, until others may have taken it.
                    if lock.now() - lock.renewed_at >= lasts:
                        self._error = error
        if self._error is not None:
            self.lost.set()


def _patience(timeout: float | None) -> dict[str, Any]:
    """How long a request may take: one try with a time-out, or as long as other requests."""
    return {} if timeout is None else {"timeout": timeout, "retry": False}


def _process_of(lease: dict[str, Any]) -> str:
    return str((lease["metadata"].get("annotations") or {}).get(PROCESS_ANNOTATION) or "")


def _micro_time() -> str:
    """Now as ``MicroTime``, which wants exactly six decimals."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
