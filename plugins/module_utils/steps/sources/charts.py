"""Where a chart is: an archive of a chart repository, or a folder of a commit with all that it is made of."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...model.chart_dependencies import DEPENDENCY_FILES, ChartDependencies, Dependency
from ...model.definition import ChartSource
from ...model.errors import RenderError
from ...programs.helm import Helm
from ...programs.program import TimeLimitError
from ...repository.export import common_folder, export
from ...repository.git import SYMBOLIC_LINK, Checkout
from .git_folder import folder_entries
from .source import SourceRequest

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


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
    :param beside: chart folders elsewhere in the repository that it depends on, by name.
    :param missing: those of its dependencies that are not in ``charts/``.
    """

    checkout: Checkout
    path: str
    scope: str
    dependencies: ChartDependencies
    missing: list[Dependency]
    beside: dict[str, str]
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
            if any(link.startswith(f"{path}/") or path == "." for path in (self.path, *self.beside.values())):
                raise RenderError(
                    f"is a symbolic link to {target}, which is no file of the repository",
                    subject=link,
                    hint="correct the link, or commit the file itself",
                )
        chart = folder / self.path
        if self.missing:
            try:
                self._complete(chart, folder)
            except OSError as error:
                message = f"a dependency can't be written to it: {error.strerror}"
                raise RenderError(message, subject=posixpath.normpath(f"{self.path}/charts")) from error
        if self.dependencies.wanted:
            self.helm.check_dependencies(chart, [one.name for one in self.dependencies.wanted])
        return chart

    def _complete(self, chart: Path, folder: Path) -> None:
        """Put what is missing into ``charts/``; where that is a link, the export has seen that it stays inside."""
        wanted = self.dependencies.to_download(self.missing)
        charts = (chart / "charts").resolve()
        charts.mkdir(exist_ok=True)
        for name, path in self.beside.items():
            self._place(charts, name).symlink_to(os.path.relpath((folder / path).resolve(), charts))
        for one in dict.fromkeys(wanted):
            archive = self.helm.chart(one.repository, one.name, one.version, self.progress)
            # Never over a file, nor through a link.
            with self._place(charts, f"{one.name}-{one.version}.tgz").open("xb") as file:
                file.write(archive)

    def _place(self, charts: Path, file: str) -> Path:
        if not _FILE_NAME.fullmatch(file):
            raise RenderError(
                "a dependency's name or version can't be that of a chart", subject=f"{self.path}/Chart.yaml"
            )
        return charts / file


def find_chart(request: SourceRequest, helm: Helm) -> Chart:
    """:raises AddonError: there is no such chart, or it can't be had."""
    source = request.definition.source
    if isinstance(source, ChartSource):
        content = _archive(request, helm, source)
        return _ArchivedChart(f"{source.chart}-{source.version}", content)
    path = posixpath.normpath(source.path)
    entries = folder_entries(request.source, path)
    files = {posixpath.relpath(entry.path, path): entry for entry in entries}
    contents = request.source.contents(files[name] for name in DEPENDENCY_FILES if name in files)
    dependencies = ChartDependencies.read({posixpath.basename(entry.path): text for entry, text in contents}, path)
    missing = [one for one in dependencies.wanted if not _vendored(one.name, files)]
    beside = {one.name: one.folder(path) for one in missing if one.beside}
    for folder in beside.values():
        entries += folder_entries(request.source, folder)
    linked = any(entry.mode == SYMBOLIC_LINK for entry in entries)
    return _ChartFolder(
        request.source,
        path,
        "." if linked else common_folder([path, *beside.values()]),
        dependencies,
        missing,
        beside,
        helm,
        request.tools.progress,
    )


def _archive(request: SourceRequest, helm: Helm, source: ChartSource) -> bytes:
    too_slow = request.tools.too_slow
    if source.repo in too_slow:
        raise RenderError("did not answer another add-on of this run in time", subject=source.repo, hint="try again")
    try:
        return helm.chart(source.repo, source.chart, source.version, request.tools.progress)
    except TimeLimitError:
        too_slow.add(source.repo)
        raise


def _vendored(name: str, files: Collection[str]) -> bool:
    """Whether ``charts/`` holds it, in whatever version."""
    # A link to the folder is that folder; where it leads is seen when it is written out.
    folder = f"charts/{name}"
    # redis-cluster-1.0.0.tgz is no redis.
    archive = re.compile(rf"{re.escape(folder)}-v?\d+\.\d+(\.\d+)?([-+][^/]*)?\.tgz")
    return folder in files or f"{folder}/Chart.yaml" in files or any(archive.fullmatch(file) for file in files)
