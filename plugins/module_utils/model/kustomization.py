"""What a kustomization names: which paths, in which field, and what may stand at their end.

After kustomize 5.8: ``types/kustomization.go``, the paths that its built-in generators and transformers load, and
``RepoSpec`` for what it takes for remote. Names of fields are compared without regard to case, as Go's JSON reader
does. A field that is not known here is an error, since it could name paths as well.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import parse_qs

from .errors import DocumentError, RenderError
from .yaml_documents import read_documents, read_one

KUSTOMIZATION_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class Form(Enum):
    """What may stand at the end of a path. ``PLUGIN`` is none: a program that makes or changes objects."""

    FILE = "file"
    FOLDER = "folder"
    FILE_OR_FOLDER = "file or folder"
    CHART = "chart"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class Reference:
    """One path that a kustomization names.

    :param field: where it stands, such as ``patches[0].path``.
    :param path: as written, relative to the folder of the kustomization; for a plugin its kind, empty when ``field``
        changes configurations of plugins that stand elsewhere.
    :param configures: what is there configures generators or transformers, and may name paths itself.
    """

    field: str
    path: str
    form: Form
    configures: bool = False

    @property
    def remote(self) -> bool:
        """Whether kustomize may look for it in another place than in the files around it."""
        return bool(
            (self.form in (Form.FILE, Form.FILE_OR_FOLDER) and _DOWNLOADED.match(self.path))
            or (self.form in (Form.FOLDER, Form.FILE_OR_FOLDER) and _CLONED.match(self.path))
        )

    @property
    def moves(self) -> bool:
        """Whether it is a remote folder at something else than a full commit id."""
        address, _, query = self.path.partition("?")
        if not self.remote or self.form is Form.FILE:
            return False
        if self.form is Form.FILE_OR_FOLDER and address.endswith((".yaml", ".yml")):
            return False
        revisions = parse_qs(query)
        revision = revisions.get("ref", revisions.get("version", [""]))[0]
        return re.fullmatch(r"[0-9a-f]{40}", revision) is None


_DOWNLOADED = re.compile(r"https?:", re.IGNORECASE)
# A little more than kustomize takes for a repository: `user@host/folder` has to be longer there.
_CLONED = re.compile(
    r"(git::)?((ssh|https?|file)://|github\.com[/:]|[a-z][a-z0-9-]*@[^/:]*[/:].)", re.IGNORECASE | re.DOTALL
)

_LARGEST_INLINE_COPY = 1000
"""Values that aliases may add to a text that stands where a path may; there may be many such texts."""

_PATHS = {
    "resources": Form.FILE_OR_FOLDER,
    "bases": Form.FILE_OR_FOLDER,
    "components": Form.FOLDER,
    "configurations": Form.FILE,
    "crds": Form.FILE,
}
_PLUGINS = ("generators", "transformers", "validators")
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_DATA = ("configMapGenerator", "secretGenerator")
_HELM = ("helmCharts", "helmGlobals", "helmChartInflationGenerator")
_WITHOUT_PATHS = (
    "apiVersion",
    "buildMetadata",
    "commonAnnotations",
    "commonLabels",
    "generatorOptions",
    "imageTags",
    "images",
    "kind",
    "labels",
    "metadata",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "replicas",
    "sortOptions",
    "vars",
)
_FIELDS = {
    name.casefold(): name
    for name in (
        *_PATHS, *_PLUGINS, *_WITH_PATH, *_DATA, *_HELM, *_WITHOUT_PATHS, "openapi", "patchesStrategicMerge"
    )
}  # fmt: skip
_ONLY_LISTS = frozenset({"apiVersion", "kind", "metadata", "resources", "bases"})

_PLUGINS_WITHOUT_PATHS = frozenset(
    {
        "AnnotationsTransformer",
        "HashTransformer",
        "IAMPolicyGenerator",
        "ImageTagTransformer",
        "LabelTransformer",
        "NamespaceTransformer",
        "PrefixSuffixTransformer",
        "PrefixTransformer",
        "ReplicaCountTransformer",
        "SuffixTransformer",
    }
)


def references_of_kustomization(content: bytes, source: str, *, configures: bool = False) -> list[Reference]:
    """Every path in a kustomization file.

    :param source: the file, for messages.
    :param configures: the kustomization builds configurations of generators or transformers, not objects.
    :raises AddonError: the file is no kustomization.
    """
    document = read_one(content, source)
    try:
        return list(_of_kustomization(document, configures))
    except RenderError as error:
        error.about(subject=source)
        raise


def references_of_plugins(content: bytes, source: str) -> list[Reference]:
    """Every path in a file that configures generators or transformers.

    :raises AddonError: it does not.
    """
    documents = read_documents(content, source)
    try:
        return [found for document in documents for found in _of_plugin(document.value, "")]
    except RenderError as error:
        error.about(subject=source)
        raise


def _of_kustomization(document: Any, configures: bool) -> Iterator[Reference]:
    fields = _known_fields(document)
    if configures:
        # What patches and the like make of a configuration can't be told without kustomize.
        yield from (Reference(name, "", Form.PLUGIN) for name in fields if name not in _ONLY_LISTS)
    for name, form in _PATHS.items():
        for place, path in _texts(fields.get(name), name):
            yield Reference(place, path, form, configures and form is Form.FILE_OR_FOLDER)
    for name in _PLUGINS:
        for place, text in _texts(fields.get(name), name):
            if values := _inline(text):
                yield from (found for value in values for found in _of_plugin(value, place))
            else:
                yield Reference(place, text, Form.FILE_OR_FOLDER, True)
    for place, text in _texts(fields.get("patchesStrategicMerge"), "patchesStrategicMerge"):
        yield from _unless_inline(text, place)
    for name in _WITH_PATH:
        for place, entry in _entries(fields.get(name), name):
            yield from _text(entry, "path", place)
    for name in _DATA:
        for place, entry in _entries(fields.get(name), name):
            yield from _data_files(entry, place)
    yield from _text(_mapping(fields.get("openapi"), "openapi"), "path", "openapi")
    if fields.get("helmChartInflationGenerator"):
        raise RenderError("helmChartInflationGenerator: is not supported", hint="write it as helmCharts")
    settings = _mapping(fields.get("helmGlobals"), "helmGlobals")
    for place, entry in _entries(fields.get("helmCharts"), "helmCharts"):
        yield from _chart(entry | settings, place)


def _known_fields(document: Any) -> dict[str, Any]:
    """The fields of a kustomization under their proper names."""
    if not isinstance(document, dict):
        raise RenderError("is no kustomization: expected a mapping of fields")
    fields: dict[str, Any] = {}
    for written, value in document.items():
        name = _FIELDS.get(written.casefold())
        if name is None:
            close = difflib.get_close_matches(written.casefold(), _FIELDS, n=1)
            raise RenderError(f"{written}: unknown field", hint=f"did you mean {_FIELDS[close[0]]}" if close else "")
        if name in fields:
            raise RenderError(f"{name}: stands there twice, in capitals and not", hint="remove one")
        fields[name] = value
    return fields


def _of_plugin(configuration: Any, place: str) -> Iterator[Reference]:
    if not isinstance(configuration, dict):
        raise RenderError("configures no generator or transformer", hint="it has to be an object")
    kind, fields = configuration.get("kind"), _mapping(configuration, place)
    if configuration.get("apiVersion") != "builtin":
        yield Reference(place, str(kind), Form.PLUGIN)
        return
    place = place or str(kind)
    match kind:
        case "ConfigMapGenerator" | "SecretGenerator":
            yield from _data_files(fields, place)
        case "HelmChartInflationGenerator":
            yield from _chart(fields, place)
        case "PatchTransformer" | "PatchJson6902Transformer":
            yield from _text(fields, "path", place)
        case "PatchStrategicMergeTransformer":
            for entry, text in _texts(fields.get("paths"), f"{place}.paths"):
                yield from _unless_inline(text, entry)
        case "ReplacementTransformer":
            for entry, replacement in _entries(fields.get("replacements"), f"{place}.replacements"):
                yield from _text(replacement, "path", entry)
        case "ValueAddTransformer":
            yield from _text(fields, "targetFilePath", place)
        case _ if kind not in _PLUGINS_WITHOUT_PATHS:
            yield Reference(place, str(kind), Form.PLUGIN)


def _unless_inline(text: str, place: str) -> Iterator[Reference]:
    if not _inline(text):
        yield Reference(place, text, Form.FILE)


def _inline(text: str) -> list[dict[str, Any]]:
    """The objects of a text that stands where a path may; none when it is a path."""
    try:
        values = [document.value for document in read_documents(text, "", largest_copy=_LARGEST_INLINE_COPY)]
    except DocumentError:
        return []
    return values if all(isinstance(value, dict) for value in values) else []


def _data_files(fields: dict[str, Any], place: str) -> Iterator[Reference]:
    for entry, text in _texts(fields.get("files"), f"{place}.files"):
        # key=path; the key may be left out.
        yield Reference(entry, text.partition("=")[2] or text, Form.FILE)
    for entry, text in _texts(fields.get("envs"), f"{place}.envs"):
        yield Reference(entry, text, Form.FILE)
    yield from _text(fields, "env", place)


def _chart(fields: dict[str, Any], place: str) -> Iterator[Reference]:
    """A chart and its values files; ``fields`` has those of helmGlobals and of the chart together."""
    if fields.get("confighome"):
        # It may hold plugins, which helm would run.
        raise RenderError(f"{place}: configHome is not supported", hint="leave it out")
    name, version = str(fields.get("name") or ""), str(fields.get("version") or "")
    for field, text in (("name", name), ("version", version), ("releaseName", str(fields.get("releasename") or ""))):
        # kustomize makes paths and arguments of helm of them.
        if "/" in text or text.startswith(("-", "..")):
            raise RenderError(f"{place}.{field}: is no name", hint="put a folder into helmGlobals.chartHome")
    if fields.get("repo") and not version:
        raise RenderError(
            f"{place}.version: missing, it has to be given", hint="the newest one would be another tomorrow"
        )
    home = str(fields.get("charthome") or "charts")
    pulled = f"{name}-{version}" if fields.get("repo") and version else ""
    yield Reference(place, posixpath.join(home, pulled, name), Form.CHART)
    yield from _text(fields, "valuesFile", place)
    for entry, text in _texts(fields.get("additionalvaluesfiles"), f"{place}.additionalValuesFiles"):
        yield Reference(entry, text, Form.FILE)


def _mapping(value: Any, place: str) -> dict[str, Any]:
    """A mapping with the names of its fields folded."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RenderError(f"{place}: expected a mapping of fields")
    folded = {name.casefold(): item for name, item in value.items()}
    if len(folded) < len(value):
        raise RenderError(f"{place}: a field stands there twice, in capitals and not", hint="remove one")
    return folded


def _entries(value: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry, item in _items(value, place):
        yield entry, _mapping(item, entry)


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    for entry, item in _items(value, place):
        if not isinstance(item, str) or not item:
            raise RenderError(f"{entry}: expected text", hint="quote it if it looks like a number")
        yield entry, item


def _items(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if value is not None and not isinstance(value, list):
        raise RenderError(f"{place}: expected a list")
    for index, item in enumerate(value or ()):
        yield f"{place}[{index}]", item


def _text(fields: dict[str, Any], name: str, place: str) -> Iterator[Reference]:
    path = fields.get(name.casefold())
    if path is not None and not isinstance(path, str):
        raise RenderError(f"{place}.{name}: expected text")
    if path:
        yield Reference(f"{place}.{name}", path, Form.FILE)
