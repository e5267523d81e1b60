"""One run as its steps see it: the run directory, the two identities towards the cluster, discovery and the hash key.

Records and locks are the caller's business, everything an add-on installs the acting account's: the two clients are
kept apart here and nowhere else. Opened sessions live as long as the process, so that a looped task pays once.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ..cluster.access import AccessOptions, Credential, resolve
from ..cluster.client import RETRY_WINDOW, Client
from ..cluster.discovery import DEFINITIONS, Discovery, discover
from ..cluster.kubeconfig import kubeconfig_of, secrets_of
from ..cluster.openapi import OpenApi
from ..cluster.readiness_progress import PROGRESS_SECONDS
from ..cluster.snapshot import Snapshot, take
from ..model.errors import ClusterError, RunDirectoryError
from ..model.field_rules import FieldRule
from ..model.json_fields import decode, encode
from ..model.masking import Mask, Placeholders
from ..model.objects import GroupKind
from ..model.record import Record
from ..model.run_directory import RunDirectory, RunInfo
from ..programs.helm import Connection

_SOON = 60.0
"""Seconds: a login that ends before may end during the render."""

_GIVEN_UP = "given_up.json"
"""Is there once the API server did not answer for as long as it is waited for."""

T = TypeVar("T")
R = TypeVar("R")

Progress = Callable[[str], None]


class Session:
    """:param retry_window: seconds, for the requests of its clients.

    :raises RunDirectoryError: when the folder is not that of a run on this host.
    """

    def __init__(self, path: str, *, retry_window: float = RETRY_WINDOW) -> None:
        self._retry_window = retry_window
        self.directory = RunDirectory.open(path)
        self.info: RunInfo = self.directory.info
        self.mutex = threading.Lock()
        self.too_slow: set[str] = set()

    @cached_property
    def _secrets(self) -> dict[str, Any]:
        value = self.directory.read_json("credential.json")
        if not isinstance(value, dict):
            raise RunDirectoryError("has no credentials", subject=str(self.directory.path), hint="start a new run")
        return value

    @cached_property
    def key(self) -> bytes:
        """The key of all digests of this run."""
        return bytes.fromhex(self._secrets["key"])

    @cached_property
    def placeholders(self) -> Placeholders:
        return Placeholders(self.key)

    def mask(self, name: str) -> Mask:
        """What hides an add-on's secrets, those that the definition names included."""
        rules = [FieldRule.of(entry) for entry in self.directory.definition(name).definition.mask]
        return Mask(self.placeholders, rules)

    @cached_property
    def caller(self) -> Client:
        return self._client("")

    @cached_property
    def acting(self) -> Client:
        account = self.info.options.impersonate
        return self._client(account) if account else self.caller

    @cached_property
    def discovery(self) -> Discovery:
        value = self.directory.read_json("discovery.json")
        if not isinstance(value, dict):
            raise RunDirectoryError("has no discovery", subject=str(self.directory.path), hint="start a new run")
        return Discovery.from_json(value)

    def rediscover(self) -> Discovery:
        """Ask the server again, after CustomResourceDefinitions or APIServices changed."""
        found = discover(self.acting)
        self.directory.write_json("discovery.json", found.to_json())
        self.__dict__["discovery"] = found
        self.__dict__.pop("definitions", None)
        self.__dict__.pop("openapi", None)
        return found

    @cached_property
    def openapi(self) -> OpenApi:
        """The schemas that the server publishes, as the acting account sees them."""
        return OpenApi(self.acting)

    @cached_property
    def definitions(self) -> dict[str, str]:
        """``uid/generation`` of every CustomResourceDefinition by name; empty when they may not be listed."""
        try:
            items, _version = self.acting.list_all(DEFINITIONS, metadata_only=True)
        except ClusterError:
            return {}
        metadata = [item["metadata"] for item in items]
        return {one["name"]: f"{one['uid']}/{one.get('generation', 0)}" for one in metadata}

    @cached_property
    def records(self) -> dict[str, Record]:
        return self.directory.records()

    def keep_record(self, record: Record) -> None:
        """Remember a record as it was read or written last."""
        self.records[record.name] = record
        self.directory.save_record(record)

    def record(self, name: str) -> Record:
        return self.records.get(name) or Record(name)

    def rests(self, name: str) -> bool:
        """Whether an add-on is suspended in git or paused in the cluster."""
        return self.directory.definition(name).definition.suspend or self.record(name).paused

    def snapshot(self, kinds: set[GroupKind]) -> Snapshot:
        """The run's shared metadata of all labelled objects, with these kinds in it; read once per kind and run."""
        stored = self.directory.read_json("snapshot.json")
        snapshot = Snapshot.from_json(stored) if stored else None
        known = (snapshot.complete | set(snapshot.incomplete)) if snapshot else set()
        missing = kinds - known
        if snapshot is None or missing:
            more = self.fresh_snapshot(missing)
            if snapshot:
                snapshot.objects.update(more.objects)
                snapshot.complete |= more.complete
                snapshot.incomplete.update(more.incomplete)
            else:
                snapshot = more
            self.directory.write_json("snapshot.json", snapshot.to_json())
        return snapshot

    def each(
        self, function: Callable[[T], R], values: Iterable[T], far: Callable[[int, int], None] | None = None
    ) -> list[R]:
        """What ``function`` makes of each value, in their order, worked on by as many threads as the run may use.

        :param far: gets how many are done, and of how many, every ``PROGRESS_SECONDS``.
        """
        with ThreadPoolExecutor(self.info.options.workers) as pool:
            futures = [pool.submit(function, value) for value in values]
            try:
                while far:
                    ended, left = wait(futures, PROGRESS_SECONDS, FIRST_EXCEPTION)
                    if not left or any(future.exception() for future in ended):
                        break
                    far(len(ended), len(futures))
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def fresh_snapshot(self, kinds: set[GroupKind]) -> Snapshot:
        """The same read now, and not shared."""
        return take(self.acting, self.discovery, sorted(kinds), workers=self.info.options.workers)

    def _client(self, account: str) -> Client:
        credential = Credential.from_json(self._secrets["credential"])
        return Client(
            credential,
            impersonate=account,
            workers=self.info.options.workers,
            files=self.directory.folder("credential"),
            on_unauthorized=self._renewed,
            retry_window=self._retry_window,
            # It did when the run began: a server that is away now restarts, and is waited for, but not by every step.
            answered=self.directory.read_json(_GIVEN_UP) is None,
            on_given_up=lambda: self.directory.write_json(_GIVEN_UP, True),
            reads_only=self.info.reads_only,
        )

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """The cluster for a program, as the acting account; the file with the login is there only meanwhile."""
        credential = Credential.from_json(self._secrets["credential"])
        if credential.expires is not None and credential.expires < time.time() + _SOON:
            credential = self._renewed(credential)
        # Its mode is 0600 from the start.
        with tempfile.NamedTemporaryFile("w", dir=self.directory.folder("credential"), suffix=".json") as file:
            json.dump(kubeconfig_of(credential), file)
            file.flush()
            yield Connection(Path(file.name), self.info.options.impersonate, secrets_of(credential))

    def _renewed(self, refused: Credential) -> Credential:
        """The login that replaces one; of both identities and of all later steps, the first to need it gets it."""
        with self.mutex:
            known = Credential.from_json(self._secrets["credential"])
            if known != refused:
                return known
            credential = resolve(decode(AccessOptions, self._secrets["access"]))
            self._secrets["credential"] = credential.to_json()
            self.directory.write_json("credential.json", self._secrets)
            return credential


_sessions: dict[str, Session] = {}


def open_session(path: str) -> Session:
    """The session of this process for a run; a loop's items share it, with its connections."""
    if path not in _sessions:
        _sessions[path] = Session(path)
    return _sessions[path]


def save_credential(directory: RunDirectory, credential: Credential, access: AccessOptions, key: bytes) -> None:
    directory.write_json(
        "credential.json", {"credential": credential.to_json(), "access": encode(access), "key": key.hex()}
    )
