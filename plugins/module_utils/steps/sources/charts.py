"""Where a chart is: an archive of a chart repository, or a folder of a commit with all that it is made of."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...model.chart_dependencies import DEPENDENCY_FILES, ChartDependencies
from ...model.definition import ChartSource
from ...model.errors import RenderError
from ...programs.helm import Helm
from ...programs.program import TimeLimitError
from ...repository.export import common_folder, export
from ...repository.git import SYMBOLIC_LINK, Checkout
from .git_folder import folder_entries
from .source import SourceRequest


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
    if isinstance(source, ChartSource):
        content = _archive(request, helm, source)
        return _ArchivedChart(f"{source.chart}-{source.version}", content)
    path = posixpath.normpath(source.path)
    entries = folder_entries(request.source, path)
    files = {posixpath.relpath(entry.path, path): entry for entry in entries}
    contents = request.source.contents(files[name] for name in DEPENDENCY_FILES if name in files)
    dependencies = ChartDependencies.read({posixpath.basename(entry.path): text for entry, text in contents}, path)
    complete = all(_vendored(one.name, files) for one in dependencies.wanted)
    # Where one is missing, Helm brings all of them.
    beside = [] if complete else [one.folder(path) for one in dependencies.wanted if one.beside]
    for folder in beside:
        entries += folder_entries(request.source, folder)
    linked = any(entry.mode == SYMBOLIC_LINK for entry in entries)
    return _ChartFolder(
        request.source,
        path,
        "." if linked else common_folder([path, *beside]),
        tuple(beside),
        complete,
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
