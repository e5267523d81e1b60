"""What a chart folder depends on, by its own files, as Helm reads them: what it wants, and what the lock file names."""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from .errors import RenderError
from .yaml_documents import read_documents

_CHART, _REQUIREMENTS = "Chart.yaml", "requirements.yaml"
_LOCKS = ("requirements.lock", "Chart.lock")
"""Where there are both, Helm goes by the first one, whatever the ``apiVersion`` is."""

DEPENDENCY_FILES = (_CHART, _REQUIREMENTS, *_LOCKS)
_UPDATE = "run helm dependency update, and commit Chart.lock"


@dataclass(frozen=True, slots=True)
class Dependency:
    """:param version: a range, or in a lock file exactly one. :param repository: a URL, or empty."""

    name: str
    version: str
    repository: str

    @property
    def beside(self) -> bool:
        """Whether it is a folder that lies somewhere beside the chart."""
        return self.repository.startswith("file://")

    @property
    def of_repository(self) -> bool:
        return bool(self.repository) and not self.beside

    def folder(self, chart: str) -> str:
        """Where one that lies beside the chart is, when the chart is in this folder of a git repository.

        :raises RenderError: outside of the repository.
        """
        folder = posixpath.normpath(posixpath.join(chart, self.repository.removeprefix("file://")))
        if folder == ".." or folder.startswith(("../", "/")):
            raise RenderError(
                f"the dependency {self.name} lies outside of the repository",
                subject=posixpath.normpath(f"{chart}/{_CHART}"),
                hint="commit it",
            )
        return folder


@dataclass(frozen=True, slots=True)
class ChartDependencies:
    """:param chart: the chart's folder, for messages.

    :param locked: ``None`` without a lock file.
    :param fingerprint: a digest of all that decides whether the lock file fits what is wanted.
    """

    chart: str
    wanted: list[Dependency]
    locked: list[Dependency] | None
    fingerprint: str

    @classmethod
    def read(cls, files: Mapping[str, bytes], chart: str) -> ChartDependencies:
        """:param files: content by name of those of ``DEPENDENCY_FILES`` that there are.

        :raises DocumentError: one can't be read.
        """
        values = {name: _value(content, posixpath.normpath(f"{chart}/{name}")) for name, content in files.items()}
        meta, older = values.get(_CHART, {}), values.get(_REQUIREMENTS, {})
        wanted = _entries(meta)
        if "dependencies" in older:
            # Go reads this list over the other one: what an entry leaves out stays that of the one in its place.
            over = _entries(older)
            wanted = [one | other for one, other in zip_longest(wanted, over, fillvalue=dict[str, Any]())][: len(over)]
        lock = next((values[name] for name in _LOCKS if name in values), None)
        decisive = json.dumps([meta.get("apiversion"), wanted, lock], sort_keys=True)
        return cls(
            chart,
            _dependencies(wanted),
            None if lock is None else _dependencies(_entries(lock)),
            hashlib.sha256(decisive.encode()).hexdigest(),
        )

    def to_download(self) -> list[Dependency]:
        """Those of repositories, each in exactly one version.

        :raises RenderError: no lock file says in which, or it leads to another folder than ``Chart.yaml``.
        """
        folders = {(one.name, one.repository) for one in self.wanted if one.beside}
        for one in self.wanted if self.locked is None else self.locked:
            # Where Chart.yaml may lead was checked; Helm itself goes where the lock file leads.
            if one.beside and (one.name, one.repository) not in folders:
                raise RenderError(
                    f"the folder of {one.name} is another one than in Chart.yaml",
                    subject=f"{self.chart}/Chart.lock",
                    hint=_UPDATE,
                )
            if one.of_repository and self.locked is None:
                raise RenderError(
                    f"no Chart.lock says which version of {one.name} it depends on",
                    subject=f"{self.chart}/{_CHART}",
                    hint=f"{_UPDATE} or charts/",
                )
        return [one for one in self.locked or () if one.of_repository]


def _value(content: bytes, source: str) -> dict[str, Any]:
    documents = read_documents(content, source)
    return _fields(documents[0].value if documents else None)


def _fields(value: Any) -> dict[str, Any]:
    """Go's JSON reader takes names of fields in any case."""
    return {name.lower(): field for name, field in value.items()} if isinstance(value, dict) else {}


def _entries(value: dict[str, Any]) -> list[dict[str, Any]]:
    found = value.get("dependencies")
    return [_fields(entry) for entry in found] if isinstance(found, list) else []


def _dependencies(entries: list[dict[str, Any]]) -> list[Dependency]:
    return [
        Dependency(str(entry.get("name")), str(entry.get("version")), str(entry.get("repository") or ""))
        for entry in entries
        if entry
    ]
