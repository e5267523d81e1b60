"""Where a chart is: an archive of a chart repository, or a folder of a commit with all that it is made of."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...model.definition import HelmSource as ChartOfRepository
from ...model.errors import RenderError
from ...model.yaml_documents import read_one
from ...programs.helm import Helm
from ...repository.export import common_folder, export
from ...repository.git import SYMBOLIC_LINK, Checkout, TreeEntry
from .git_folder import folder_entries
from .source import SourceRequest


_CHART_FILES = ("Chart.yaml", "requirements.yaml")
"""The second one is where charts of ``apiVersion: v1`` list what they depend on."""


class Chart(Protocol):
    """:ivar identity: plain JSON that differs when the chart does. :ivar revision: what people call it."""

    @property
    def identity(self) -> Any: ...

    @property
    def revision(self) -> str: ...

    def unpacked(self, folder: Path) -> Path:
        """The chart in an empty folder, with all that it depends on; its path there.

        :raises AddonError: it can't be made complete.
        """


@dataclass(frozen=True, slots=True)
class _ArchivedChart:
    """A chart of a chart repository."""

    name: str
    content: bytes

    @property
    def identity(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def revision(self) -> str:
        return self.name

    def unpacked(self, folder: Path) -> Path:
        path = folder / f"{self.name}.tgz"
        path.write_bytes(self.content)
        return path


@dataclass(frozen=True, slots=True)
class _ChartFolder:
    """A chart folder of a commit.

    :param scope: the smallest folder that holds all that the chart is made of.
    :param beside: chart folders elsewhere in the repository that it depends on.
    :param complete: whether all that it depends on is in ``charts/``.
    """

    checkout: Checkout
    path: str
    scope: str
    beside: tuple[str, ...]
    complete: bool
    helm: Helm
    progress: Callable[[str], None]

    @property
    def identity(self) -> list[str | None]:
        return [self.checkout.tree_id(self.scope), posixpath.relpath(self.path, self.scope)]

    @property
    def revision(self) -> str:
        return self.checkout.commit[:12]

    def unpacked(self, folder: Path) -> Path:
        for link, target in export(self.checkout, self.scope, folder):
            if any(link.startswith(f"{path}/") or path == "." for path in (self.path, *self.beside)):
                raise RenderError(
                    f"is a symbolic link to {target}, which is no file of the repository",
                    subject=link,
                    hint="correct the link, or commit the file itself",
                )
        if not self.complete:
            self.helm.build_dependencies(folder / self.path, self.progress)
        return folder / self.path


def find_chart(request: SourceRequest, helm: Helm) -> Chart:
    """:raises AddonError: there is no such chart, or it can't be had."""
    source = request.definition.source
    if isinstance(source, ChartOfRepository):
        content = helm.chart(source.repo, source.chart, source.version, request.tools.progress)
        return _ArchivedChart(f"{source.chart}-{source.version}", content)
    path = posixpath.normpath(source.path)
    entries = folder_entries(request.source, path)
    missing = list(_missing_dependencies(request.source, path, entries))
    beside = [folder for dependency in missing if (folder := _folder_beside(dependency, path))]
    for folder in beside:
        entries += folder_entries(request.source, folder)
    linked = any(entry.mode == SYMBOLIC_LINK for entry in entries)
    return _ChartFolder(
        request.source,
        path,
        "." if linked else common_folder([path, *beside]),
        tuple(beside),
        not missing,
        helm,
        request.tools.progress,
    )


def _missing_dependencies(checkout: Checkout, path: str, entries: list[TreeEntry]) -> Iterator[dict[str, Any]]:
    """What the chart depends on and ``charts/`` does not hold."""
    files = {entry.path: entry for entry in entries}
    for file in _CHART_FILES:
        name = posixpath.normpath(f"{path}/{file}")
        value = read_one(checkout.read([files[name]])[name], name) if name in files else None
        dependencies = value.get("dependencies") if isinstance(value, dict) else None
        for dependency in dependencies if isinstance(dependencies, list) else []:
            if isinstance(dependency, dict) and not _vendored(str(dependency.get("name")), path, files):
                yield dependency


def _vendored(name: str, path: str, files: Collection[str]) -> bool:
    start = posixpath.normpath(f"{path}/charts/{name}")
    # A link to the folder is that folder; where it leads is seen when it is written out.
    return (
        f"{start}/Chart.yaml" in files
        or start in files
        or any(file.startswith(f"{start}-") and file.endswith(".tgz") for file in files)
    )


def _folder_beside(dependency: dict[str, Any], path: str) -> str:
    """The folder of the repository that a ``file://`` dependency names, empty for any other one.

    :raises RenderError: it lies outside of the repository.
    """
    repository = str(dependency.get("repository") or "")
    if not repository.startswith("file://"):
        return ""
    folder = posixpath.normpath(posixpath.join(path, repository.removeprefix("file://")))
    if folder == ".." or folder.startswith(("../", "/")):
        raise RenderError(
            f"the dependency {dependency.get('name')} lies outside of the repository",
            subject=posixpath.normpath(f"{path}/Chart.yaml"),
            hint="commit it",
        )
    return folder
