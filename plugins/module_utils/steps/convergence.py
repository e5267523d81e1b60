"""The frame around converging one add-on: take its lock, write down how it ended, give the lock back.

``end`` and ``release`` never fail: a failure in a ``rescue`` or ``always`` would take every later add-on with it. What
they could not write is kept in the outcome, where the summary finds it and fails the run.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..cluster.client import ApiError, delete_options
from ..model.errors import AddonError, ClusterError, DefinitionError, LockError
from ..model.names import UNINSTALL_ANNOTATION
from ..model.outcome import Outcome, Phase
from ..model.record import Record
from .dependencies import failed_dependency
from .lock import WAIT_SECONDS, held, lock_of
from .queue import suspension
from .records import COLLECTION, read_record, write_status
from .session import Progress, Session
from .status import status_after
from .tombstones import bury, clear_tombstone, read_tombstone

_NO_UNINSTALL = (
    f"its definition left git, and it is marked for uninstall, which this version can't do: everything keeps running. "
    f"Remove the annotation {UNINSTALL_ANNOTATION} to drop the record only"
)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Facts that decide how an add-on goes on; exactly one of these is true, or ``active`` is."""

    removed: bool = False
    uninstall: bool = False
    suspended: bool = False
    skipped: bool = False
    reason: str = ""

    @property
    def active(self) -> bool:
        return not (self.removed or self.uninstall or self.suspended or self.skipped)


def begin(session: Session, name: str, progress: Progress) -> Beginning:
    """Take the lock and read the record again.

    :raises LockError: when another run works on the add-on. :raises DefinitionError: when its file is invalid.
    """
    info, directory = session.info, session.directory
    outcome = directory.outcome(name)
    if name in info.order:
        outcome.skipped = failed_dependency(session, name)
        if outcome.skipped:
            directory.save_outcome(outcome)
            return Beginning(skipped=True, reason=outcome.skipped)
    lock = lock_of(session, name)
    try:
        try:
            lock.acquire()
        except LockError:
            progress(f"{name}: waiting for the lock that another run holds, at most {WAIT_SECONDS:.0f} s")
            lock.acquire(wait=WAIT_SECONDS)
    except AddonError as error:
        raise error.about(addon=name) from error
    outcome.locked = True
    directory.save_outcome(outcome)
    known = session.record(name).resource_version
    record = read_record(session, name)
    if record and record.resource_version != known:
        # Another run may have worked on it meanwhile, and brought kinds along.
        session.rediscover()
    if record is None:
        raise ClusterError("its record was deleted during the run", addon=name, hint="run again")
    if name in info.protected:
        raise DefinitionError(info.protected[name])
    if name in info.removed:
        if record.uninstall_mark:
            return Beginning(uninstall=True, reason=_NO_UNINSTALL)
        return Beginning(removed=True, reason="its definition left git")
    _resume(session, record)
    if session.rests(name):
        return Beginning(suspended=True, reason=suspension(record))
    return Beginning()


def _resume(session: Session, record: Record) -> None:
    """Give a definition that returned what its tombstone kept."""
    if not record.fresh:
        return
    namespace = session.info.options.state_namespace
    kept = read_tombstone(session.caller, namespace, record.name)
    if kept:
        write_status(session, record.name, kept)
        clear_tombstone(session.caller, namespace, record.name)


def end(session: Session, name: str, phase: Phase, message: str) -> Outcome:
    """Write how the add-on ended into its record. Never raises an ``AddonError``: see ``Outcome.unrecorded``."""
    outcome = session.directory.outcome(name)
    if phase == "Synced" and outcome.unready:
        phase, message = "Error", outcome.unready
    outcome.phase, outcome.message = phase, message
    outcome.error = message if phase == "Error" else ""
    if phase == "Synced":
        outcome.pending = False
    session.directory.save_outcome(outcome)
    if not outcome.locked:
        return outcome
    try:
        with held(session, name):
            changes = status_after(session, name, outcome)
            if changes:
                write_status(session, name, changes)
    except AddonError as error:
        _unrecorded(session, outcome, error)
    return outcome


def drop(session: Session, name: str) -> Outcome:
    """Leave everything running, keep the inventory as a tombstone, and delete the record.

    :raises AddonError: when the lock was lost, or the cluster refuses.
    """
    record = session.record(name)
    with held(session, name):
        # A record that never got what its tombstone keeps has nothing to write over it.
        if not record.fresh:
            bury(session.caller, session.info.options.state_namespace, record)
        try:
            session.caller.delete(f"{COLLECTION}/{name}", delete_options(record.uid, record.resource_version))
        except ApiError as error:
            if not error.not_found:
                raise error.about(addon=name) from error
    outcome = session.directory.outcome(name)
    kept = len(record.inventory.entries)
    outcome.dropped, outcome.pending, outcome.phase = True, False, ""
    outcome.message = f"its definition left git: {kept} objects keep running, the record is gone"
    session.directory.save_outcome(outcome)
    return outcome


def release(session: Session, name: str) -> Outcome:
    """Give the lock back, if this run has it. Never raises an ``AddonError``."""
    outcome = session.directory.outcome(name)
    if outcome.locked:
        try:
            lock_of(session, name).release()
        except AddonError as error:
            _unrecorded(session, outcome, error)
        outcome.locked = False
        session.directory.save_outcome(outcome)
    return outcome


def _unrecorded(session: Session, outcome: Outcome, error: AddonError) -> None:
    outcome.unrecorded = str(error.about(addon=outcome.name))
    session.directory.save_outcome(outcome)
