"""The run directory: what the steps of one run hand to each other, as files that only their owner can read.

Steps are separate processes (each Ansible task is a fork, a shipped module a new interpreter), so everything one of
them learns that another needs is a file here. Files are written atomically: a reader sees the old or the new one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .bundle import Bundle
from .definition import Definition
from .errors import RunDirectoryError
from .json_fields import decode, encode
from .outcome import Outcome
from .plan import Plan
from .record import Record

SCHEMA_VERSION = 1
PREFIX = "rendimiento-addons-"
ABANDONED_AFTER_SECONDS = 24 * 3600
_OWNER = "owner.json"

T = TypeVar("T")


@dataclass(slots=True)
class RunOptions:
    """The options of a run that steps after ``addon_definitions`` need; paths are on the host that runs the steps.

    ``cache`` is the folder that is really used; ``helm`` and ``kustomize`` are as given, and looked for when needed.
    """

    state_namespace: str
    impersonate: str = ""
    only: list[str] = field(default_factory=list)
    workers: int = 8
    helm: str = ""
    kustomize: str = ""
    kustomize_allow: list[str] = field(default_factory=list)
    program_seconds: int = 120
    cache: str = ""


@dataclass(slots=True)
class InvalidDefinition:
    """A definition file that breaks a rule. ``name`` is the add-on it protects, empty when that can't be told."""

    file: str
    name: str
    reason: str


@dataclass(slots=True)
class RunInfo:
    """``run.json``: who runs what, where.

    ``order`` holds the add-ons to plan, dependencies first; ``others`` the valid definitions that ``only`` left out;
    ``repository`` is the folder in the git checkout that all paths are relative to, ``remote`` the URL that it is a
    clone of, if a URL was given. ``context`` is the kubeconfig's by which ``server`` was found, if it was. ``cluster``
    is the uid of the namespace kube-system, empty when the acting account may not read it. ``record_kind_served`` is
    false in a preview of a cluster without bootstrap. ``reads_only`` tells that the caller is taken for somebody who
    may only look. ``pid`` is the process whose end is the end of the run, 0 when a shipped module can't tell, and
    ``process`` says the same so that another run on this machine can tell that it is gone (``run_process.py``).
    """

    run_id: str
    host: str
    user: str
    pid: int
    started: float
    repository: str
    remote: str
    commit: str
    path: str
    server: str
    server_version: str
    check: bool
    comparable: bool
    record_kind_served: bool
    options: RunOptions
    context: str = ""
    order: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    invalid: list[InvalidDefinition] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    reads_only: bool = False
    warnings: list[str] = field(default_factory=list)
    process: str = ""
    cluster: str = ""
    schema: int = SCHEMA_VERSION

    @property
    def origin(self) -> str:
        """The repository as the user knows it: its URL, or the folder."""
        return self.remote or self.repository

    @property
    def nameless(self) -> list[str]:
        """What is wrong with invalid files of which not even the add-on is known."""
        return [item.reason for item in self.invalid if not item.name]

    @property
    def protected(self) -> dict[str, str]:
        """What is wrong with the definitions of the add-ons that invalid files are about, by name."""
        reasons: dict[str, str] = {}
        for item in self.invalid:
            if item.name:
                reasons[item.name] = f"{reasons[item.name]}; {item.reason}" if item.name in reasons else item.reason
        return reasons


@dataclass(slots=True)
class SourcedDefinition:
    """``definition/<name>.json``: a valid definition, its file and the id of the file's blob in git."""

    file: str
    blob: str
    definition: Definition


class RunDirectory:
    """One run's folder and typed access to its files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, process: int = 0) -> RunDirectory:
        """A new folder, mode 0700, below ``$XDG_RUNTIME_DIR`` or the temp folder.

        :param process: the one on this host whose end is the folder's end, too, 0 when nothing tells which it is.
        :raises RunDirectoryError: when there is no place for one.
        """
        parent = _parent()
        _sweep(parent)
        try:
            directory = cls(Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)))
            write_private(directory.path / _OWNER, json.dumps({"host": platform.node(), "pid": process}).encode())
            return directory
        except OSError as error:
            raise RunDirectoryError(
                f"no run directory can be made here: {error.strerror}", subject=str(parent), hint="set TMPDIR"
            ) from error

    @classmethod
    def open(cls, path: str) -> RunDirectory:
        """:raises RunDirectoryError: when there is no such run on this host."""
        directory = cls(Path(path))
        if not (directory.path / "run.json").is_file():
            raise RunDirectoryError(
                "is not the folder of a run on this host",
                subject=path,
                hint="call addon_definitions first; all steps of a run must run on one host",
            )
        return directory

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Marks the folder as one that a step works with, for ``is_in_use`` of other processes; ends with the process.

        :raises RunDirectoryError: when it was removed.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise RunDirectoryError(f"can't be used: {error.strerror}", subject=str(self.path)) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield
        finally:
            os.close(descriptor)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    # typed files

    @property
    def info(self) -> RunInfo:
        info: RunInfo = self._load("run.json", RunInfo)
        if info.schema != SCHEMA_VERSION:
            raise RunDirectoryError(
                f"was made by another version of the collection (schema {info.schema}, not {SCHEMA_VERSION})",
                subject=str(self.path),
            )
        return info

    def save_info(self, info: RunInfo) -> None:
        self._save("run.json", info)

    def definition(self, name: str) -> SourcedDefinition:
        """:raises RunDirectoryError: when no valid definition of this run has that name."""
        sourced = self._load_optional(f"definition/{name}.json", SourcedDefinition)
        if sourced is None:
            raise RunDirectoryError("is no add-on of this run with a valid definition", subject=name)
        return sourced

    def save_definition(self, sourced: SourcedDefinition) -> None:
        self._save(f"definition/{sourced.definition.name}.json", sourced)

    def records(self) -> dict[str, Record]:
        records = {record.name: record for record in self._load("records.json", list[Record])}
        for path in (self.path / "record").glob("*.json"):
            records[path.stem] = self._load(f"record/{path.name}", Record)
        return records

    def save_records(self, records: dict[str, Record]) -> None:
        self._save("records.json", list(records.values()))

    def save_record(self, record: Record) -> None:
        """One that moved since: a file of its own, as there may be hundreds and each moves a few times."""
        self._save(f"record/{record.name}.json", record)

    def bundle(self, name: str) -> Bundle | None:
        return self._load_optional(f"bundle/{name}.json", Bundle)

    def save_bundle(self, bundle: Bundle) -> None:
        self._save(f"bundle/{bundle.name}.json", bundle)

    def bundles(self) -> Iterator[Bundle]:
        for path in sorted((self.path / "bundle").glob("*.json")):
            yield self._load(f"bundle/{path.name}", Bundle)

    def plan(self, name: str) -> Plan | None:
        return self._load_optional(f"plan/{name}.json", Plan)

    def save_plan(self, plan: Plan) -> None:
        self._save(f"plan/{plan.name}.json", plan)

    def outcome(self, name: str) -> Outcome:
        return self._load_optional(f"outcome/{name}.json", Outcome) or Outcome(name)

    def outcomes(self) -> Iterator[Outcome]:
        for path in sorted((self.path / "outcome").glob("*.json")):
            yield self._load(f"outcome/{path.name}", Outcome)

    def save_outcome(self, outcome: Outcome) -> None:
        self._save(f"outcome/{outcome.name}.json", outcome)

    # plain files of the layers above

    def read_json(self, name: str) -> Any | None:
        """Content of a file of another layer (credential, discovery, snapshot); ``None`` when it is not there."""
        return self._load(name, Any) if (self.path / name).exists() else None

    def write_json(self, name: str, value: Any) -> None:
        """:raises RunDirectoryError: when the disk is full, or the run directory was removed."""
        content = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        try:
            write_private(self.path / name, content)
        except OSError as error:
            raise RunDirectoryError(f"can't be written: {error.strerror}", subject=str(self.path / name)) from error

    def folder(self, name: str) -> Path:
        """:raises RunDirectoryError: when it can't be made."""
        folder = self.path / name
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise RunDirectoryError(f"can't be made: {error.strerror}", subject=str(folder)) from error
        return folder

    def _load_optional(self, name: str, kind: type[T]) -> T | None:
        return self._load(name, kind) if (self.path / name).exists() else None

    def _load(self, name: str, kind: Any) -> Any:
        try:
            return decode(kind, json.loads((self.path / name).read_bytes()))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RunDirectoryError(
                f"can't be read ({type(error).__name__})",
                subject=str(self.path / name),
                hint="start a new run",
            ) from error

    def _save(self, name: str, value: Any) -> None:
        self.write_json(name, encode(value))


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for the login files of one step outside of a run, swept by the next run if this process is killed.

    :raises RunDirectoryError: when there is no place for one.
    """
    directory = RunDirectory.create(os.getpid())
    try:
        yield directory.path
    finally:
        directory.remove()


def write_private(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner only."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _parent() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(runtime) if runtime and os.access(runtime, os.W_OK) else Path(tempfile.gettempdir())


def _sweep(parent: Path) -> None:
    """Remove our own folders of runs that were killed: they hold a login, and Secrets in plain text."""
    for path in parent.glob(f"{PREFIX}*"):
        # Whatever a folder of that name holds, it does not stop a run.
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.getuid() and _abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _abandoned(path: Path) -> bool:
    """At once when the run's process on this host is gone; after a day when nothing tells which process it was."""
    try:
        owner = json.loads((path / _OWNER).read_bytes())
        host, pid = owner["host"], int(owner["pid"])
    except (OSError, ValueError, TypeError, KeyError):
        host, pid = "", 0
    if pid > 0 and host == platform.node():
        # A step outlives its ansible-playbook by a moment.
        return not process_lives(pid) and not is_in_use(path)
    return time.time() - path.stat().st_mtime > ABANDONED_AFTER_SECONDS


def is_in_use(path: Path) -> bool:
    """Whether a step works with this run directory now; also when that can't be told."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def process_lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
