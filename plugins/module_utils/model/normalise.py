"""From what a source wrote to the objects that are sent: flattened, placed in a namespace, labelled, cleaned.

Everything here makes the body of a server-side apply well-formed and stable; nothing changes what the author meant.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .bundle import BundleObject
from .errors import ObjectError
from .names import HOOK_ANNOTATION, LOCAL_CONFIG_ANNOTATION, OWNER_LABEL
from .objects import Manifest, ObjectKey, join_api_version, key_of, split_api_version

Namespaced = Callable[[str, str, str], bool | None]
"""Whether a kind (group, version, kind) lives in namespaces; ``None`` when nothing knows the kind."""

# Set by the API server; pasted from `kubectl get -o yaml` they make an apply fail or say nothing.
_SERVER_SET = ("creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")

_TEST_HOOKS = frozenset({"test", "test-success", "test-failure"})


@dataclass(frozen=True, slots=True)
class SourceObject:
    """An object as the source has it, with the place it was read from."""

    manifest: Manifest
    source: str


@dataclass(slots=True)
class Normalised:
    objects: list[BundleObject] = field(default_factory=list)
    hooks: list[BundleObject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def normalise(
    documents: Iterable[SourceObject], *, addon: str, namespace: str, create_namespace: bool, namespaced: Namespaced
) -> Normalised:
    """All objects of one add-on, in the order of the source.

    :param addon: name written into the owner label.
    :param namespace: for namespaced objects that name none.
    :raises ObjectError: for an object without identity, an unusable shape, or two objects of one identity.
    """
    result = Normalised()
    places: dict[ObjectKey, str] = {}
    for document in documents:
        for item in _flatten(document):
            manifest = _cleaned(item)
            if _annotations(manifest).get(LOCAL_CONFIG_ANNOTATION) == "true":
                continue
            events = _hook_events(manifest)
            if events and events <= _TEST_HOOKS:
                continue
            _place(manifest, item.source, namespace, namespaced, result.warnings)
            manifest["metadata"].setdefault("labels", {})[OWNER_LABEL] = addon
            key = key_of(manifest)
            if key in places:
                raise ObjectError(
                    f"is in the source twice: {places[key]} and {item.source}", subject=str(key), hint="remove one"
                )
            places[key] = item.source
            (result.hooks if events else result.objects).append(BundleObject(manifest, item.source))
    if create_namespace and ObjectKey("", "Namespace", "", namespace) not in places:
        result.objects.insert(0, _namespace(namespace, addon))
    return result


def _namespace(name: str, addon: str) -> BundleObject:
    metadata = {"name": name, "labels": {OWNER_LABEL: addon}}
    return BundleObject({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, "createNamespace", generated=True)


def _flatten(document: SourceObject) -> Iterator[SourceObject]:
    """``List`` and typed lists become their items (kubectl does the same); a kind that only ends in List stays."""
    manifest, source = document.manifest, document.source
    if not isinstance(manifest, dict):
        kind = "a list" if isinstance(manifest, list) else "a single value"
        raise ObjectError(f"is {kind}, not a Kubernetes object", subject=source, hint="remove it, or move the file")
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str) or not value:
            raise ObjectError(f"has no {name}", subject=source, hint="every document must be a Kubernetes object")
    items = manifest.get("items")
    if isinstance(items, list) and str(kind).endswith("List") and not (manifest.get("metadata") or {}).get("name"):
        for number, item in enumerate(items, 1):
            if isinstance(item, dict) and kind != "List":
                # A typed list may leave these out of its items.
                item = {"apiVersion": api_version, "kind": str(kind).removesuffix("List"), **item}
            yield from _flatten(SourceObject(item, f"{source}, item {number}"))
    else:
        yield document


def _cleaned(item: SourceObject) -> Manifest:
    """A copy with a sound ``metadata`` and without what only the server may set."""
    manifest = copy.deepcopy(item.manifest)
    kind, metadata = manifest["kind"], manifest.get("metadata")
    if not isinstance(metadata, dict):
        raise ObjectError(f"{kind} has no metadata", subject=item.source)
    name = metadata.get("name")
    if metadata.get("generateName"):
        raise ObjectError(
            f"{kind} uses generateName, so it has no identity", subject=item.source, hint="give it metadata.name"
        )
    if not isinstance(name, str) or not name:
        found = "no metadata.name" if name is None else "a metadata.name that is not text; put it in quotes"
        raise ObjectError(f"{kind} has {found}", subject=item.source)
    if "sops" in manifest and isinstance(manifest["sops"], dict):
        raise ObjectError(f"{kind} {name} is encrypted with sops", subject=item.source, hint="it can't be applied as it is")
    for part in ("labels", "annotations"):
        _check_strings(metadata, part, f"{kind} {name}", item.source)
    for server_set in _SERVER_SET:
        metadata.pop(server_set, None)
    manifest.pop("status", None)
    for empty in [part for part in ("labels", "annotations") if not metadata.get(part)]:
        metadata.pop(empty, None)
    if not isinstance(metadata.get("namespace", ""), str):
        raise ObjectError(f"{kind} {name} has a metadata.namespace that is not text", subject=item.source, hint="quote it")
    group, _version = split_api_version(manifest["apiVersion"])
    if (group, kind) == ("", "Secret"):
        _merge_string_data(manifest, item.source)
    _default_protocols(manifest)
    return manifest


def _check_strings(metadata: dict[str, Any], part: str, subject: str, source: str) -> None:
    values = metadata.get(part)
    if values is None:
        return
    if not isinstance(values, dict):
        raise ObjectError(f"{subject}: metadata.{part} is not a mapping", subject=source)
    for key, value in values.items():
        if not isinstance(value, str):
            raise ObjectError(f"{subject}: metadata.{part}.{key} is not text", subject=source, hint="put the value in quotes")


def _merge_string_data(manifest: Manifest, source: str) -> None:
    """``stringData`` as ``data``: applied as it is, a key that leaves it would stay in ``data`` for ever (observed)."""
    string_data = manifest.pop("stringData", None)
    if not string_data:
        return
    data = manifest.setdefault("data", {}) or {}
    for key, value in string_data.items():
        if not isinstance(value, str):
            name = manifest["metadata"]["name"]
            raise ObjectError(f"Secret {name}: stringData.{key} is not text", subject=source, hint="put the value in quotes")
        data[key] = base64.b64encode(value.encode()).decode()
    manifest["data"] = data


def _default_protocols(manifest: Manifest) -> None:
    """``protocol: TCP`` where ports leave it out: it is a merge key, without it the apply is refused (observed)."""
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        return
    if manifest["kind"] == "Service" and manifest["apiVersion"] == "v1":
        _protocols(spec.get("ports"))
    pod = pod_spec(manifest)
    if pod:
        for part in ("containers", "initContainers", "ephemeralContainers"):
            for container in pod.get(part) or []:
                if isinstance(container, dict):
                    _protocols(container.get("ports"))


def _protocols(ports: Any) -> None:
    for port in ports if isinstance(ports, list) else []:
        if isinstance(port, dict):
            port.setdefault("protocol", "TCP")


def pod_spec(manifest: Manifest) -> dict[str, Any] | None:
    """The pod spec inside a workload of the built-in kinds, ``None`` for everything else."""
    group, _version = split_api_version(manifest["apiVersion"])
    match (group, manifest["kind"]):
        case ("", "Pod"):
            path: tuple[str, ...] = ("spec",)
        case ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job"):
            path = ("spec", "template", "spec")
        case ("", "ReplicationController"):
            path = ("spec", "template", "spec")
        case ("batch", "CronJob"):
            path = ("spec", "jobTemplate", "spec", "template", "spec")
        case _:
            return None
    value: Any = manifest
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _place(manifest: Manifest, source: str, namespace: str, namespaced: Namespaced, warnings: list[str]) -> None:
    """Fill in the namespace only where it is missing, and take it away where the kind has none."""
    metadata = manifest["metadata"]
    group, version = split_api_version(manifest["apiVersion"])
    match namespaced(group, version, manifest["kind"]):
        case True:
            metadata["namespace"] = metadata.get("namespace") or namespace
        case False:
            if metadata.pop("namespace", None):
                warnings.append(f"{source}: {manifest['kind']} {metadata['name']} has no namespace, the one given is ignored")
        case None:
            pass  # The plan reports the kind as not served; guessing a scope would invent an identity.


def _annotations(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("annotations") or {}


def _hook_events(manifest: Manifest) -> set[str]:
    """Events of a Helm hook, lower-cased and trimmed as Helm does; empty for an ordinary object."""
    text = _annotations(manifest).get(HOOK_ANNOTATION, "")
    return {event.strip().lower() for event in text.split(",") if event.strip()}


def kinds_of_definition(manifest: Manifest) -> list[tuple[str, str, str, bool]]:
    """Group, version, kind and whether it is namespaced, for every served version of a CustomResourceDefinition."""
    spec = manifest.get("spec") or {}
    names = spec.get("names") or {}
    return [
        (spec.get("group", ""), version.get("name", ""), names.get("kind", ""), spec.get("scope") == "Namespaced")
        for version in spec.get("versions") or []
        if isinstance(version, dict) and version.get("served")
    ]


def is_definition(manifest: Manifest) -> bool:
    """Whether an object is a CustomResourceDefinition."""
    group, _version = split_api_version(manifest["apiVersion"])
    return (group, manifest["kind"]) == ("apiextensions.k8s.io", "CustomResourceDefinition")


def describe_kind(group: str, version: str, kind: str) -> str:
    return f"{kind} of {join_api_version(group, version)}"
