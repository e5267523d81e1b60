"""What a run may leave on this machine for the next one: charts, renders, clones. Never more than an optimisation.

The folder belongs to one user alone. Entries are written beside and renamed, with a checksum, so that two runs at once
and a run that was killed leave whole entries or none; locks are for what is more than one file.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import CacheError

_MIB = 1024 * 1024

LIMITS = {
    "charts": 256 * _MIB,
    "asked": 32 * _MIB,
    "renders": 256 * _MIB,
    "programs": _MIB,
    "repositories": 1024 * _MIB,
}
"""The areas, and how many bytes each may hold; above that it is emptied to ``_KEPT`` of it."""

_KEY = re.compile("[0-9a-f]+")
_KEPT = 0.75
_TOUCHED_EVERY_SECONDS = 3600
_FOLDER_IN_USE_SECONDS = 24 * 3600
_POLL_SECONDS = 0.1
_HINT = "give another folder as addon_cache_dir"


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """:param path: the folder; ``open`` makes it."""

    path: Path

    @classmethod
    def open(cls, path: str = "") -> CacheFolder:
        """The folder at ``path``, or the user's own: ``rendimiento-addons/sources`` in the user's folder for caches.

        Made with mode 0700 if it is not there; symbolic links on the way are followed once, here.
        :raises CacheError: it can't be made or written, belongs to somebody else, or others may write to or replace it.
        """
        try:
            folder = Path(path).expanduser().absolute() if path else _own_folder()
        except RuntimeError as error:
            raise CacheError("there is no home folder for the cache", hint=_HINT) from error
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = folder.resolve(strict=True)
            facts = folder.stat()
        except OSError as error:
            raise CacheError(
                f"the cache folder can't be made: {error.strerror}", subject=str(folder), hint=_HINT
            ) from error
        # What is in it gets applied, and renders hold Secrets.
        if facts.st_uid != os.geteuid():
            raise CacheError("the cache folder belongs to another user", subject=str(folder), hint=_HINT)
        if facts.st_mode & 0o077:
            raise CacheError(
                f"the cache folder is open to other users (mode {stat.S_IMODE(facts.st_mode):04o})",
                subject=str(folder),
                hint=f"if nobody else wrote to it: chmod 0700 {folder}",
            )
        for parent in folder.parents:
            mode = parent.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                raise CacheError(
                    f"everybody may replace the cache folder (mode {stat.S_IMODE(mode):04o} of {parent})",
                    subject=str(folder),
                    hint=f"chmod o-w {parent}, or give another folder as addon_cache_dir",
                )
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise CacheError("the cache folder can't be written", subject=str(folder), hint=_HINT)
        return cls(folder)

    def read(self, area: str, key: str) -> bytes | None:
        """An entry, ``None`` when there is none. A damaged one counts as none, and is removed."""
        place = self._place(area, key)
        try:
            digest, _, content = place.read_bytes().partition(b"\n")
        except OSError:
            return None
        if digest != _checksum(area, key, content):
            with contextlib.suppress(OSError):
                place.unlink()
            return None
        _touch(place)
        return content

    def write(self, area: str, key: str, content: bytes) -> None:
        """Keep an entry. A disk that is full is no reason to fail: then it is not kept."""
        place = self._place(area, key)
        with contextlib.suppress(OSError):
            place.parent.mkdir(mode=0o700, exist_ok=True)
            descriptor, beside = tempfile.mkstemp(prefix=".", dir=place.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_checksum(area, key, content) + b"\n")
                    file.write(content)
                Path(beside).replace(place)
            except BaseException:
                Path(beside).unlink(missing_ok=True)
                raise
        self.trim(area)

    def folder(self, area: str, key: str) -> Path:
        """A folder of its own for what is more than one file; write to it under its lock.

        It stays for a day at least after this call. Whoever lets it grow calls ``trim``.
        :raises CacheError: it can't be made.
        """
        place = self._place(area, key)
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            place.mkdir(mode=0o700, exist_ok=True)
            os.utime(place)
        except OSError as error:
            raise CacheError(f"can't be made: {error.strerror}", subject=str(place), hint=_HINT) from error
        return place

    @contextmanager
    def lock(self, area: str, key: str, seconds: float, waiting: Callable[[], None]) -> Iterator[None]:
        """Only one process of this machine at a time; ``waiting`` is called once when another one is in it.

        The system gives the lock of a process that was killed free.
        :raises CacheError: when it is still locked after that many seconds.
        """
        place = self.path / "locks" / f"{area}-{self._place(area, key).name}"
        until, waits = time.monotonic() + seconds, False
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CacheError(f"can't be made: {error.strerror}", subject=str(place), hint=_HINT) from error
        try:
            while not _locked(descriptor, place):
                if not waits:
                    waits = True
                    waiting()
                if time.monotonic() >= until:
                    raise CacheError(
                        f"another run holds this part of the cache for more than {seconds:g} s",
                        subject=str(self.path),
                        hint="wait for the other run to end",
                    )
                time.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    def trim(self, area: str) -> None:
        """Remove what was not used for longest, when an area holds more than it may."""
        entries = sorted(self._entries(area), key=lambda entry: entry.used)
        size = sum(entry.size for entry in entries)
        if size <= LIMITS[area]:
            return
        for entry in entries:
            if size <= LIMITS[area] * _KEPT:
                return
            if self._removed(area, entry):
                size -= entry.size

    def _entries(self, area: str) -> Iterator[_Entry]:
        with contextlib.suppress(OSError):
            for path in (self.path / area).iterdir():
                # Another run may remove it at the same time.
                with contextlib.suppress(OSError):
                    facts = path.lstat()
                    is_folder = stat.S_ISDIR(facts.st_mode)
                    yield _Entry(path, facts.st_mtime, _size(path) if is_folder else facts.st_size, is_folder)

    def _removed(self, area: str, entry: _Entry) -> bool:
        try:
            if not entry.is_folder:
                entry.path.unlink()
            elif not _KEY.fullmatch(entry.path.name):
                # What is left of one that was to go, or nothing of this cache's.
                shutil.rmtree(entry.path)
            else:
                with self.lock(area, entry.path.name, 0, lambda: None):
                    if time.time() - entry.path.stat().st_mtime < _FOLDER_IN_USE_SECONDS:
                        return False
                    # Nobody finds half of it.
                    gone = entry.path.rename(entry.path.with_name(f".{entry.path.name}"))
                shutil.rmtree(gone)
        except (OSError, CacheError):
            return False
        return True

    def _place(self, area: str, key: str) -> Path:
        if area not in LIMITS or not _KEY.fullmatch(key):
            raise ValueError("not an area of the cache, or not a digest")
        return self.path / area / key


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    used: float
    size: int
    is_folder: bool


def _own_folder() -> Path:
    # The specification has relative ones ignored.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "rendimiento-addons/sources"


def _checksum(area: str, key: str, content: bytes) -> bytes:
    digest = hashlib.sha256(f"{area}/{key}\n".encode())
    digest.update(content)
    return digest.hexdigest().encode()


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _TOUCHED_EVERY_SECONDS:
            os.utime(path)


def _locked(descriptor: int, place: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise CacheError(f"can't be locked: {error.strerror}", subject=str(place), hint=_HINT) from error
    return True


def _size(folder: Path) -> int:
    return sum((Path(parent) / name).lstat().st_size for parent, _, names in os.walk(folder) for name in names)
