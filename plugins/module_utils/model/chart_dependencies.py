"""What a chart folder depends on, by its own files: what it wants, and what the lock file names.

Nothing here decides what Helm takes: what Helm's own reader makes of these files is asked from Helm.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import RenderError
from .shapes import mapping_of, mappings_of
from .yaml_documents import read_documents

_CHART, _REQUIREMENTS = "Chart.yaml", "requirements.yaml"
_LOCKS = ("requirements.lock", "Chart.lock")
"""Where there are both, Helm goes by the first one, whatever the ``apiVersion`` is."""

DEPENDENCY_FILES = (_CHART, _REQUIREMENTS, *_LOCKS)
_UPDATE = "run helm dependency update, and commit Chart.lock"

_FIELDS = ("name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias")
"""Of Helm's ``Dependency``, in its order."""
_ALWAYS = frozenset({"name", "repository"})
"""Go writes the others only if they say something."""
_ESCAPED_BY_GO = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


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

        :raises RenderError: outside of the repository, or around the chart.
        """
        folder = posixpath.normpath(posixpath.join(chart, self.repository.removeprefix("file://")))
        subject = posixpath.normpath(f"{chart}/{_CHART}")
        if folder == ".." or folder.startswith(("../", "/")):
            raise RenderError(
                f"the dependency {self.name} lies outside of the repository", subject=subject, hint="commit it"
            )
        if folder == "." or f"{posixpath.normpath(chart)}/".startswith(f"{folder}/"):
            raise RenderError(f"the dependency {self.name} is the chart, or around it", subject=subject)
        return folder


@dataclass(frozen=True, slots=True)
class ChartDependencies:
    """:param chart: the chart's folder, for messages.

    :param locked: ``None`` without a lock file.
    :param in_sync: whether the lock file was made for what is wanted now, as Helm tells it.
    """

    chart: str
    wanted: list[Dependency]
    locked: list[Dependency] | None
    in_sync: bool

    @classmethod
    def read(cls, files: Mapping[str, bytes], chart: str) -> ChartDependencies:
        """:param files: content by name of those of ``DEPENDENCY_FILES`` that there are.

        :raises DocumentError: one can't be read.
        """
        values = {name: _value(content, posixpath.normpath(f"{chart}/{name}")) for name, content in files.items()}
        meta, older = values.get(_CHART, {}), values.get(_REQUIREMENTS, {})
        wanted = _entries(older if "dependencies" in older else meta)
        lock = next((values[name] for name in _LOCKS if name in values), None)
        if lock is None:
            return cls(chart, _dependencies(wanted), None, False)
        locked = _entries(lock)
        digests = {_digest([_as_go(wanted), _as_go(locked)])}
        if meta.get("apiVersion") in (None, "", "v1"):
            # How Helm 2 did it, which later ones accept.
            digests.add(_digest({"dependencies": _as_go(wanted)}))
        same = [entry.get("name") for entry in wanted] == [entry.get("name") for entry in locked]
        return cls(chart, _dependencies(wanted), _dependencies(locked), same and lock.get("digest") in digests)

    def to_download(self, missing: Collection[Dependency]) -> list[Dependency]:
        """Those of repositories among the missing ones, each in exactly one version.

        :raises RenderError: no lock file says in which, or it was made for other dependencies.
        """
        places = [place for place, one in enumerate(self.wanted) if one in missing and one.of_repository]
        if not places:
            return []
        if self.locked is None:
            raise self._error(
                f"no Chart.lock says which version of {self.wanted[places[0]].name} it depends on",
                f"{_UPDATE} or charts/",
            )
        if not self.in_sync:
            raise self._error("Chart.lock does not fit the dependencies of Chart.yaml", _UPDATE)
        return [self.locked[place] for place in places]

    def _error(self, message: str, hint: str) -> RenderError:
        return RenderError(message, subject=posixpath.normpath(f"{self.chart}/{_CHART}"), hint=hint)


def _value(content: bytes, source: str) -> dict[str, Any]:
    documents = read_documents(content, source)
    return mapping_of(documents[0].value) if documents else {}


def _entries(value: dict[str, Any]) -> list[dict[str, Any]]:
    return mappings_of(value.get("dependencies"))


def _dependencies(entries: list[dict[str, Any]]) -> list[Dependency]:
    return [
        Dependency(str(entry.get("name")), str(entry.get("version")), str(entry.get("repository") or ""))
        for entry in entries
    ]


def _as_go(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries as Helm's ``Dependency`` holds them; of import-values, which are people's own, Go sorts the keys."""
    return [
        {
            field: json.loads(json.dumps(entry.get(field) or "", sort_keys=True))
            for field in _FIELDS
            if field in _ALWAYS or entry.get(field)
        }
        for entry in entries
    ]


def _digest(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED_BY_GO)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
