"""Helm charts: from a chart repository, or a chart folder in git. Helm itself renders them, for the real cluster."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...model.chart_questions import asked_by, may_be_random
from ...model.cluster_facts import ClusterFacts
from ...model.definition import GitSource
from ...model.errors import RenderError, RepositoryError
from ...model.helm_output import read_helm_output
from ...model.keyed_hash import canonical_json
from ...model.normalise import SourceObject, api_versions_of, flatten, hook_events
from ...model.values_schema import is_values_schema, leads_elsewhere
from ...model.wording import listed
from ...model.yaml_documents import read_documents
from ...programs.chart_files import chart_texts
from ...programs.helm import Helm
from ...programs.helm_errors import warnings_of
from ...repository.git import SYMBOLIC_LINK
from .charts import Chart, find_chart
from .git_folder import refuse_lfs_pointer
from .source import Preparation, Rendered, SourceRequest

_SECRET_NAME = re.compile(r"pass|pwd|secret|token|key|credential|auth|private|cert|salt|dsn|webhook", re.IGNORECASE)
_SHORTEST_SECRET = 4
_SHORTEST_TEXT = 12


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
        chart = find_chart(request, helm)
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
        refuse_lfs_pointer(content, name)
        yield _ValuesFile(name, content, _values(content, name))
    if definition.values:
        # As JSON, whose keys and values no YAML reader takes for something else.
        yield _ValuesFile("values", json.dumps(definition.values, sort_keys=True).encode(), definition.values)


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


# The render


def _render(request: SourceRequest, helm: Helm, chart: Chart, values: list[_ValuesFile]) -> Rendered:
    definition = request.definition
    with tempfile.TemporaryDirectory(dir=request.tools.work) as work:
        folder = Path(work, "chart")
        folder.mkdir()
        unpacked = chart.unpacked(folder)
        given = _written(values, Path(work, "values"))
        files = list(chart_texts(unpacked))
        for name, text in files:
            refuse_lfs_pointer(text, name)
        open_schemas = [name for name, text in files if is_values_schema(name) and leads_elsewhere(text)]
        secrets = _confidential([file.values for file in values])
        texts = [*(text for _, text in files), *(file.content.decode("utf-8", "replace") for file in values)]

        def made_for(cluster: ClusterFacts) -> tuple[list[SourceObject], list[str]]:
            output = helm.template(
                unpacked,
                release=definition.release_name,
                namespace=definition.namespace,
                values_files=given,
                cluster=cluster,
                check_values=not open_schemas,
                secrets=secrets,
            )
            return read_helm_output(output.text, "chart"), warnings_of(output.errors)

        asked, cluster = asked_by(texts), request.cluster
        documents, warnings = made_for(cluster)
        brought = _brought(documents)
        complete = replace(asked, brings=tuple(sorted(brought)))
        if complete.answers(cluster) != asked.answers(cluster):
            # A later render finds the chart's own kinds served; Helm, too, installs them before it renders.
            served = cluster.with_kinds(brought)
            later = made_for(served)
            # A chart that brings a kind only where it is missing would take it away again.
            if brought <= _brought(later[0]):
                asked, cluster, (documents, warnings) = complete, served, later
        else:
            asked = complete
        if may_be_random(texts):
            warnings += _differing(documents, made_for(cluster)[0])
        if open_schemas:
            warnings.append(f"values are not checked, since {listed(open_schemas, 2)} refers to other files or servers")
    return Rendered(documents, warnings, asked)


def _brought(documents: list[SourceObject]) -> set[str]:
    """What the chart's own kinds add to the API list; those of hooks may never be installed."""
    manifests = (item.manifest for item in flatten(documents))
    return set(api_versions_of(manifest for manifest in manifests if not hook_events(manifest)))


def _differing(documents: list[SourceObject], again: list[SourceObject]) -> list[str]:
    """A warning about objects that come out differently each time: what they hold would change without a cause."""
    known = {canonical_json(item.manifest) for item in again}
    differing = [item.source for item in documents if canonical_json(item.manifest) not in known]
    if not differing:
        return []
    return [f"made differently by each render, so give the values that the chart makes up: {listed(differing, 5)}"]


def _written(values: list[_ValuesFile], folder: Path) -> list[Path]:
    folder.mkdir(mode=0o700)
    paths = []
    for number, file in enumerate(values):
        path = folder / f"{number}-{posixpath.basename(file.name)}"
        path.write_bytes(file.content)
        paths.append(path)
    return paths


def _confidential(value: Any, named: bool = False) -> set[str]:
    """Values that no message may repeat: those whose keys say so, and all texts long enough to be a secret."""
    match value:
        case dict():
            found = (_confidential(one, named or bool(_SECRET_NAME.search(key))) for key, one in value.items())
            return set().union(*found)
        case list():
            return set().union(*(_confidential(one, named) for one in value))
        case str() if len(value) >= (_SHORTEST_SECRET if named else _SHORTEST_TEXT):
            return {value}
    return set()
