"""What the API server says that was asked of it: the audit log, read between two moments of a test."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.integration.kubectl import Kubectl, wait_until

_WRITING = frozenset({"create", "update", "patch", "delete", "deletecollection"})
# Questions that are asked with a POST and store nothing.
_QUESTIONS = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
_RECORDS, _LOCKS = "addons", "leases"


@dataclass(frozen=True)
class Request:
    """One request; ``user`` is who it counts for, ``caller`` who sent it (another one when impersonating)."""

    entry: dict[str, Any]

    @property
    def verb(self) -> str:
        return str(self.entry["verb"])

    @property
    def resource(self) -> str:
        return str(self._object.get("resource", ""))

    @property
    def namespace(self) -> str:
        return str(self._object.get("namespace", ""))

    @property
    def name(self) -> str:
        return str(self._object.get("name", ""))

    @property
    def subresource(self) -> str:
        return str(self._object.get("subresource", ""))

    @property
    def caller(self) -> str:
        return str(self.entry["user"]["username"])

    @property
    def user(self) -> str:
        return str((self.entry.get("impersonatedUser") or self.entry["user"])["username"])

    @property
    def code(self) -> int:
        return int((self.entry.get("responseStatus") or {}).get("code", 0))

    @property
    def dry_run(self) -> bool:
        return "dryRun=All" in self.entry["requestURI"]

    @property
    def writes(self) -> bool:
        """Whether it could have changed something, also when it was refused."""
        return self.verb in _WRITING and not self.dry_run and self._object.get("apiGroup", "") not in _QUESTIONS

    @property
    def asks_to_write(self) -> bool:
        """Whether its verb is a writing one, of whatever it is: a dry run and a review, too."""
        return self.verb in _WRITING

    @property
    def on_record(self) -> bool:
        return self.resource == _RECORDS and self._object.get("apiGroup") == "rendimiento.ai"

    @property
    def on_lock(self) -> bool:
        return self.resource == _LOCKS and self.name.startswith("addon-")

    @cached_property
    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = self.entry.get("objectRef") or {}
        return found

    def __str__(self) -> str:
        place = "/".join(filter(None, (self.namespace, self.name, self.subresource)))
        return f"{self.verb} {self.resource} {place} as {self.user} ({self.code})"


class Requests(list[Request]):
    """The requests of a while, in the order of their answers; prints one a line."""

    @property
    def writes(self) -> Requests:
        """Without reads and dry runs."""
        return Requests(request for request in self if request.writes)

    @property
    def with_writing_verbs(self) -> Requests:
        """Also dry runs, and questions that are asked with a POST."""
        return Requests(request for request in self if request.asks_to_write)

    @property
    def on_objects(self) -> Requests:
        """Those that are about what add-ons install: neither records, nor locks, nor the engine's own Secrets."""
        return self.on_objects_but("rendimiento-system")

    def on_objects_but(self, state_namespace: str) -> Requests:
        """The same where the engine's own things are in another namespace."""
        return Requests(
            request
            for request in self
            if not (request.on_record or request.on_lock or request.namespace == state_namespace)
        )

    @property
    def on_records(self) -> Requests:
        return Requests(request for request in self if request.on_record)

    def of(self, resource: str, name: str) -> Requests:
        return Requests(request for request in self if (request.resource, request.name) == (resource, name))

    def users(self) -> set[str]:
        return {request.user for request in self}

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no request"


class Audit:
    """:param kubectl: asks for something that is not there, whose trace in the log says that all before it is there."""

    def __init__(self, log: Path, kubectl: Kubectl) -> None:
        self._log = log
        self._kubectl = kubectl

    def mark(self) -> int:
        """A moment, for ``since``."""
        self._settle()
        return self._log.stat().st_size

    def since(self, mark: int) -> Requests:
        self._settle()
        with self._log.open("rb") as log:
            log.seek(mark)
            requests = _parse(log.read())
        return Requests(request for request in requests if not request.name.startswith("sentinel-"))

    def peek(self, mark: int) -> Requests:
        """What is in the log this very moment, without asking the server anything."""
        with self._log.open("rb") as log:
            log.seek(mark)
            content = log.read()
        return Requests(_parse(content[: content.rfind(b"\n") + 1]))

    def _settle(self) -> None:
        name = f"sentinel-{uuid.uuid4().hex}"
        self._kubectl.find("configmap", name, "default")
        wait_until(lambda: name.encode() in self._log.read_bytes()[-200_000:], "the audit log is up to date")


def _parse(lines: bytes) -> Iterable[Request]:
    return (Request(json.loads(line)) for line in lines.splitlines())
