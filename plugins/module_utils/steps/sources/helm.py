"""Helm charts: from a chart repository, or a chart folder in git. Helm itself renders them, for the real cluster."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from ...model.chart_questions import asked_by, asks_the_clock, looks_up, may_be_random
from ...model.cluster_facts import Asked, ClusterFacts
from ...model.definition import GitSource
from ...model.errors import RenderError
from ...model.helm_output import read_helm_output
from ...model.normalise import SourceObject, api_versions_of, flatten, hook_events
from ...model.values_schema import is_values_schema, leads_elsewhere
from ...model.wording import listed
from ...model.yaml_documents import read_documents, reads_as_text
from ...programs.chart_files import chart_texts
from ...programs.cluster_faults import unlisted, untold
from ...programs.helm import ClusterFaultError, Connection, Helm, unanswered
from ...programs.helm_errors import ChartRefusalError, warnings_of
from .charts import Chart, find_chart
from .git_folder import committed_file, refuse_lfs_pointer
from .source import Preparation, Rendered, SourceRequest, another_second, second_of

_SECRET_NAME = re.compile(r"pass|pwd|secret|token|key|credential|auth|private|cert|salt|dsn|webhook", re.IGNORECASE)
_SHORTEST_SECRET = 4
_SHORTEST_TEXT = 12
_SHORTEST_NUMBER = 6


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
        namespace = request.definition.namespace
        if not reads_as_text(namespace):
            raise RenderError(
                f"namespace: {namespace} is no text where a chart writes it without quotes",
                hint="use a namespace with another name",
            )
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
        content = committed_file(checkout, name, "valuesFiles")
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
    with tempfile.TemporaryDirectory(dir=request.tools.work) as work:
        folder = Path(work, "chart")
        folder.mkdir()
        unpacked = chart.unpacked(folder)
        given = _written(values, Path(work, "values"))
        files = list(chart_texts(unpacked))
        for name, text in files:
            refuse_lfs_pointer(text, name)
        open_schemas = [name for name, text in files if is_values_schema(name) and leads_elsewhere(text)]
        texts = [*(text for _, text in files), *(file.content.decode("utf-8", "replace") for file in values)]
        made = _Render(
            helm=helm,
            request=request,
            chart=unpacked,
            values_files=given,
            texts=texts,
            asked=asked_by(texts),
            check_values=not open_schemas,
            secrets=_confidential([file.values for file in values]),
        ).made()
    if open_schemas:
        made.warnings.append(
            f"values are not checked, since {listed(open_schemas, 2)} refers to other files or servers"
        )
    return made


@dataclass(slots=True)
class _Render:
    """One unpacked chart: how it has to be called, and what comes out; ``asked`` is what its texts ask."""

    helm: Helm
    request: SourceRequest
    chart: Path
    values_files: list[Path]
    texts: Sequence[str]
    asked: Asked
    check_values: bool
    secrets: set[str]

    def made(self) -> Rendered:
        if not looks_up(self.texts):
            return self._unconnected()
        try:
            return self._connected()
        except ClusterFaultError as fault:
            reason = fault.message
        try:
            made = self._unconnected()
        except RenderError as error:
            raise RenderError(
                f"{error.message} (rendered without the cluster's objects: {reason})",
                subject=error.subject,
                hint=error.hint,
            ) from error
        made.connected = True
        made.incomplete = f"rendered without the objects that its lookups would find in the cluster: {reason}"
        made.warnings.append(made.incomplete)
        return made

    def _connected(self) -> Rendered:
        """:raises ClusterFaultError: the cluster can't say what it would say once all that is to come is there.

        :raises RenderError: the cluster does not answer for the moment.
        """
        asked, cluster = self.asked, replace(self.request.cluster, api_versions=self.request.served)
        if asked.answers(cluster) != asked.answers(self.request.cluster):
            raise ClusterFaultError("it asks for kinds that come with add-ons that it depends on")
        with self.request.tools.connect() as connection:
            documents, warnings = self._template(cluster, connection)
            complete = replace(asked, brings=tuple(sorted(_brought(documents))))
            if complete.answers(cluster) != asked.answers(cluster):
                raise ClusterFaultError("it asks for kinds that it brings itself")
            second = self._second(documents, cluster, connection)
        return Rendered(documents, warnings, complete, second, connected=True)

    def _unconnected(self) -> Rendered:
        asked, cluster = self.asked, self.request.cluster
        documents, warnings = self._template(cluster)
        brought = _brought(documents)
        complete = replace(asked, brings=tuple(sorted(brought)))
        if complete.answers(cluster) != asked.answers(cluster):
            # A later render finds the chart's own kinds served; Helm, too, installs them before it renders.
            served = cluster.with_kinds(brought)
            later = self._template(served)
            # A chart that brings a kind only where it is missing would take it away again.
            if brought <= _brought(later[0]):
                asked, cluster, (documents, warnings) = complete, served, later
        else:
            asked = complete
        return Rendered(documents, warnings, asked, self._second(documents, cluster))

    def _second(
        self, documents: list[SourceObject], cluster: ClusterFacts, connection: Connection | None = None
    ) -> list[SourceObject]:
        """What comes out of the same once more, where chance has a part in it."""
        if not may_be_random(self.texts):
            return []
        if asks_the_clock(self.texts):
            another_second()
        return second_of(documents, self._template(cluster, connection)[0])

    def _template(
        self, cluster: ClusterFacts, connection: Connection | None = None
    ) -> tuple[list[SourceObject], list[str]]:
        try:
            output = self.helm.template(
                self.chart,
                release=self.request.definition.release_name,
                namespace=self.request.definition.namespace,
                values_files=self.values_files,
                cluster=cluster,
                check_values=self.check_values,
                secrets=self.secrets,
                connection=connection,
            )
        except ChartRefusalError as error:
            if connection:
                raise error.without_text() from error
            raise
        if connection and (missing := unlisted(output.errors)):
            self._see_answered(cluster, missing)
        documents, warnings = read_helm_output(output.text, "chart")
        return documents, warnings_of(output.errors) + warnings

    def _see_answered(self, cluster: ClusterFacts, missing: set[str]) -> None:
        """:raises RenderError: the chart asks for kinds that the cluster has, and that helm could not list."""
        known = {entry for entry in cluster.api_versions if not entry.startswith(tuple(f"{one}/" for one in missing))}
        listed_ones = replace(cluster, api_versions=frozenset(known - missing))
        if self.asked.answers(listed_ones) != self.asked.answers(cluster):
            raise unanswered(untold(missing), self.chart.name)


def _brought(documents: list[SourceObject]) -> set[str]:
    """What the chart's own kinds add to the API list; those of hooks may never be installed."""
    manifests = (item.manifest for item in flatten(documents))
    return set(api_versions_of(manifest for manifest in manifests if not hook_events(manifest)))


def _written(values: list[_ValuesFile], folder: Path) -> list[Path]:
    folder.mkdir(mode=0o700)
    paths = []
    for number, file in enumerate(values):
        path = folder / f"{number}-{posixpath.basename(file.name)}"
        path.write_bytes(file.content)
        paths.append(path)
    return paths


def _confidential(value: Any, named: bool = False) -> set[str]:
    """Values that no message may repeat: those whose keys say so, and all texts long enough to be a secret.

    Numbers are there as Go writes them.
    """
    match value:
        case bool():
            return set()
        case int() | float() if named:
            return set(_number_texts(value))
        case dict():
            found = (_confidential(one, named or bool(_SECRET_NAME.search(key))) for key, one in value.items())
            return set().union(*found)
        case list():
            return set().union(*(_confidential(one, named) for one in value))
        case str() if len(value) >= (_SHORTEST_SECRET if named else _SHORTEST_TEXT):
            return {value}
    return set()


def _number_texts(number: float) -> Iterator[str]:
    """With all digits and with an exponent: which one it is depends on the function that writes it."""
    digits = Decimal(repr(number)).normalize()
    if len(digits.as_tuple().digits) >= _SHORTEST_NUMBER:
        mantissa, _, exponent = f"{digits:e}".partition("e")
        yield f"{digits:f}"
        yield f"{mantissa}e{int(exponent):+03d}"
