"""Helm charts: from a chart repository, or a chart folder in git. Helm itself renders them, for the real cluster."""

from __future__ import annotations

import hashlib
import itertools
import json
import posixpath
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...model.chart_questions import asked_by
from ...model.cluster_facts import ClusterFacts
from ...model.definition import GitSource
from ...model.definition import HelmSource as ChartOfRepository
from ...model.errors import RenderError, RepositoryError
from ...model.helm_output import read_helm_output
from ...model.normalise import SourceObject, api_versions_of, flatten
from ...model.yaml_documents import read_documents, read_one
from ...programs.chart_files import chart_texts
from ...programs.helm import Helm
from ...programs.helm_errors import warnings_of
from ...repository.export import common_folder, export
from ...repository.git import SYMBOLIC_LINK, Checkout, TreeEntry
from .git_folder import folder_entries, refuse_lfs_pointer
from .source import Preparation, Rendered, SourceRequest

_SECRET_NAME = re.compile(r"pass|secret|token|key|credential|auth|private|cert|salt", re.IGNORECASE)
_SHORTEST_SECRET = 4


class HelmSource:
    """``helm template`` with the values of the definition, for the cluster's version and API list."""

    kind = "helm"

    def accepts(self, request: SourceRequest) -> bool:
        match request.definition.source:
            case GitSource(path=path):
                return request.source.tree_id(f"{path}/Chart.yaml") is not None
        return True

    def prepare(self, request: SourceRequest) -> Preparation:
        if request.definition.values_from:
            raise RenderError("valuesFrom: this version can't do that yet", hint="put the values into values")
        helm = Helm(request.tools.helm(), request.tools.cache, request.tools.work)
        values = list(_values_files(request))
        chart = _chart(request, helm)
        inputs = {
            "chart": chart.identity,
            "values": [hashlib.sha256(file.content).hexdigest() for file in values],
            "release": request.definition.release_name,
            "namespace": request.definition.namespace,
            "cluster": request.cluster.version,
            "helm": helm.version(),
        }
        return Preparation(inputs, chart.revision, lambda: _render(request, helm, chart, values))


@dataclass(frozen=True, slots=True)
class _ValuesFile:
    """A file of the gitops repository, or the definition's own ``values``."""

    name: str
    content: bytes
    values: dict[str, Any]


def _values_files(request: SourceRequest) -> Iterator[_ValuesFile]:
    """In the order in which Helm merges them: later ones win, and the definition's ``values`` over all.

    :raises AddonError: a file is missing, is no YAML, or holds something else than values.
    """
    definition, checkout = request.definition, request.checkout
    for path in definition.source.values_files:
        name = posixpath.normpath(path)
        folder = posixpath.dirname(name) or "."
        try:
            found = [entry for entry in checkout.entries(folder, recursive=False) if entry.path == name]
        except RepositoryError:
            found = []
        if not found or found[0].kind != "blob" or found[0].mode == SYMBOLIC_LINK:
            what = "is a symbolic link" if found and found[0].mode == SYMBOLIC_LINK else "is no file"
            raise RenderError(f"valuesFiles: {path} {what} of commit {checkout.commit[:12]}", hint="correct the path")
        content = checkout.read(found)[name]
        refuse_lfs_pointer(content[:100].decode("utf-8", "replace"), name)
        yield _ValuesFile(name, content, _values(content, name))
    if definition.values:
        # As JSON, whose keys and values no YAML reader takes for something else.
        yield _ValuesFile("values", json.dumps(definition.values).encode(), definition.values)


def _values(content: bytes, name: str) -> dict[str, Any]:
    match read_documents(content, name):
        case []:
            return {}
        case [document] if isinstance(document.value, dict):
            return document.value
        case [_]:
            raise RenderError("is no mapping of values", subject=name)
        case [_, second, *_]:
            raise RenderError("a second document starts here, only one is expected", subject=second.place)
    raise AssertionError


# The chart


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
    :param missing: names of dependencies that are not in ``charts/``.
    """

    checkout: Checkout
    path: str
    scope: str
    beside: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def identity(self) -> list[str | None]:
        return [self.checkout.tree_id(self.scope), posixpath.relpath(self.path, self.scope)]

    @property
    def revision(self) -> str:
        return self.checkout.commit[:12]

    def unpacked(self, folder: Path) -> Path:
        """:raises RenderError: for a symbolic link of the chart that leads out of the repository, or nowhere."""
        for link, target in export(self.checkout, self.scope, folder):
            if any(link.startswith(f"{path}/") or path == "." for path in (self.path, *self.beside)):
                raise RenderError(
                    f"is a symbolic link to {target}, which is no file of the repository",
                    subject=link,
                    hint="correct the link, or commit the file itself",
                )
        return folder / self.path


def _chart(request: SourceRequest, helm: Helm) -> _ArchivedChart | _ChartFolder:
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
        tuple(str(dependency.get("name")) for dependency in missing),
    )


def _missing_dependencies(checkout: Checkout, path: str, entries: list[TreeEntry]) -> Iterator[dict[str, Any]]:
    """What ``Chart.yaml`` depends on and ``charts/`` does not hold."""
    name = posixpath.normpath(f"{path}/Chart.yaml")
    files = {entry.path: entry for entry in entries}
    chart = read_one(checkout.read([files[name]])[name], name)
    dependencies = chart.get("dependencies") if isinstance(chart, dict) else None
    for dependency in dependencies if isinstance(dependencies, list) else []:
        if isinstance(dependency, dict):
            start = posixpath.normpath(f"{path}/charts/{dependency.get('name')}")
            # A link to the folder is that folder; where it leads is seen when it is written out.
            vendored = f"{start}/Chart.yaml" in files or start in files
            if not vendored and not any(file.startswith(f"{start}-") and file.endswith(".tgz") for file in files):
                yield dependency


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


# The render


def _render(
    request: SourceRequest, helm: Helm, chart: _ArchivedChart | _ChartFolder, values: list[_ValuesFile]
) -> Rendered:
    definition = request.definition
    with tempfile.TemporaryDirectory(dir=request.tools.work) as work:
        folder = Path(work, "chart")
        folder.mkdir()
        unpacked = chart.unpacked(folder)
        if isinstance(chart, _ChartFolder) and chart.missing:
            helm.build_dependencies(unpacked, request.tools.progress)
        given = _written(values, Path(work, "values"))
        of_values = (file.content.decode("utf-8", "replace") for file in values)
        asked = asked_by(itertools.chain(_texts(unpacked), of_values))

        def documents_for(cluster: ClusterFacts) -> tuple[list[SourceObject], list[str]]:
            output = helm.template(
                unpacked,
                release=definition.release_name,
                namespace=definition.namespace,
                values_files=given,
                cluster=cluster,
                secrets=_confidential([file.values for file in values]),
            )
            return read_helm_output(output.text, chart.revision), warnings_of(output.errors)

        documents, warnings = documents_for(request.cluster)
        complete = replace(asked, brings=tuple(api_versions_of(item.manifest for item in flatten(documents))))
        if complete.answers(request.cluster) != asked.answers(request.cluster):
            # Helm installs a chart's own kinds before it renders; a later render finds them served, too.
            documents, warnings = documents_for(request.cluster.with_kinds(complete.brings))
    return Rendered(documents, warnings, complete)


def _written(values: list[_ValuesFile], folder: Path) -> list[Path]:
    folder.mkdir(mode=0o700)
    paths = []
    for number, file in enumerate(values):
        path = folder / f"{number}-{posixpath.basename(file.name)}"
        path.write_bytes(file.content)
        paths.append(path)
    return paths


def _texts(chart: Path) -> Iterator[str]:
    for name, text in chart_texts(chart):
        refuse_lfs_pointer(text, name)
        yield text


def _confidential(value: Any, named: bool = False) -> set[str]:
    """Values that no message may repeat, by what their keys are called."""
    match value:
        case dict():
            found = (_confidential(one, named or bool(_SECRET_NAME.search(key))) for key, one in value.items())
            return set().union(*found)
        case list():
            return set().union(*(_confidential(one, named) for one in value))
        case str() if named and len(value) >= _SHORTEST_SECRET:
            return {value}
    return set()
