"""From what a source wrote to the objects that are sent: flattened, placed in a namespace, labelled, cleaned.

Everything here makes the body of a server-side apply well-formed and stable; nothing changes what the author meant.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from .bundle import BundleObject
from .errors import ObjectError
from .fields import value_at
from .invisible import is_visible, with_codes
from .keyed_hash import canonical_json
from .names import HOOK_ANNOTATION, LOCAL_CONFIG_ANNOTATION, OWNER_LABEL, RBAC_GROUP, STATE_OBJECTS
from .objects import Manifest, ObjectKey, join_api_version, split_api_version
from .shapes import mapping_of, mappings_of

Namespaced = Callable[[str, str, str], bool | None]
"""Whether a kind (group, version, kind) lives in namespaces; ``None`` when nothing knows the kind."""

# Set by the API server; pasted from `kubectl get -o yaml` they make an apply fail or say nothing.
_SERVER_SET = (
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)

# All that the API server can accept as a name of some kind: one segment of a path, and `..` leads to another path.
_NAME = re.compile(r"(?!\.\.?$)[^/%\s\x00-\x1f\x7f]{1,253}")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

_MOST_LEVELS = 120
"""How deep an object may be nested. Real ones stay below 60; Python's own limits would end the run somewhere else."""

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
    documents: Iterable[SourceObject],
    *,
    addon: str,
    namespace: str,
    create_namespace: bool,
    namespaced: Namespaced,
    state_namespace: str,
) -> Normalised:
    """All objects of one add-on, in the order of the source; one that stands there twice, equal, is taken once.

    :param addon: name written into the owner label.
    :param namespace: for namespaced objects that name none.
    :param state_namespace: where the collection keeps its own objects.
    :raises ObjectError: for an object without identity, an unusable shape, two that differ under one identity, or one
        that the collection itself works with.
    """
    result = Normalised()
    known: dict[ObjectKey, BundleObject] = {}
    for item in flatten(documents):
        manifest = _cleaned(item, result.warnings)
        if _annotations(manifest).get(LOCAL_CONFIG_ANNOTATION) == "true":
            continue
        events = hook_events(manifest)
        if events and events <= _TEST_HOOKS:
            continue
        _place(manifest, item.source, namespace, namespaced, result.warnings)
        manifest["metadata"].setdefault("labels", {})[OWNER_LABEL] = addon
        made = BundleObject(manifest, item.source)
        if _is_state(made.key, state_namespace):
            raise ObjectError(
                f"is an object of rendimiento.addons itself, which no add-on may install ({item.source})",
                subject=str(made.key),
                hint="remove it, or give it another name",
            )
        first = known.setdefault(made.key, made)
        if first is made:
            (result.hooks if events else result.objects).append(made)
        elif canonical_json(first.manifest) == canonical_json(manifest):
            result.warnings.append(f"{made.key} is in the source twice, and equal: {first.source} and {item.source}")
        else:
            raise ObjectError(
                f"is in the source twice: {first.source} and {item.source}", subject=str(made.key), hint="remove one"
            )
    if create_namespace and ObjectKey("", "Namespace", "", namespace) not in known:
        result.objects.insert(0, _namespace(namespace, addon))
    return result


def _is_state(key: ObjectKey, state_namespace: str) -> bool:
    return key.namespace in ("", state_namespace) and any(
        key.group_kind == (group, kind) and re.fullmatch(name, key.name) for group, kind, name in STATE_OBJECTS
    )


def _namespace(name: str, addon: str) -> BundleObject:
    metadata = {"name": name, "labels": {OWNER_LABEL: addon}}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    return BundleObject(manifest, "createNamespace", generated=True)


def flatten(documents: Iterable[SourceObject]) -> Iterator[SourceObject]:
    """Objects only: ``List`` and typed lists become their items, as for kubectl; a kind that only ends in List stays.

    :raises ObjectError: for what is no object, or has no apiVersion or kind.
    """
    for document in documents:
        yield from _flatten(document, 0)


def _flatten(document: SourceObject, level: int) -> Iterator[SourceObject]:
    manifest: Any = document.manifest
    source = document.source
    if not isinstance(manifest, dict):
        kind = "a list" if isinstance(manifest, list) else "a single value"
        raise ObjectError(f"is {kind}, not a Kubernetes object", subject=source, hint="remove it, or move the file")
    for name in ("apiVersion", "kind"):
        value = manifest.get(name)
        if not value:
            raise ObjectError(f"has no {name}", subject=source, hint="every document must be a Kubernetes object")
        if not _is_word(value):
            raise ObjectError(f"{name} is not a word", subject=source)
    if not _is_list(manifest):
        yield document
        return
    if level == _MOST_LEVELS:
        raise ObjectError("is a list of lists, nested too deeply", subject=source)
    kind = manifest["kind"]
    for number, item in enumerate(manifest.get("items") or [], 1):
        if isinstance(item, dict) and kind != "List":
            # A typed list may leave these out of its items.
            item = {"apiVersion": manifest["apiVersion"], "kind": kind.removesuffix("List"), **item}
        yield from _flatten(SourceObject(item, f"{source}, item {number}"), level + 1)


def _is_word(value: Any) -> TypeGuard[str]:
    """Text that programs can be started with, and that does nothing to a terminal."""
    return isinstance(value, str) and value.isprintable() and " " not in value


def _is_list(manifest: Manifest) -> bool:
    items, metadata = manifest.get("items"), manifest.get("metadata")
    if (manifest["apiVersion"], manifest["kind"]) == ("v1", "List"):
        return items is None or isinstance(items, list)
    named = isinstance(metadata, dict) and metadata.get("name")
    return isinstance(items, list) and manifest["kind"].endswith("List") and not named


def _copied(value: Any, levels: int = _MOST_LEVELS, field_name: str = "") -> Any:
    """Without the ``creationTimestamp: null`` that Go writes into every ``metadata``, also of templates.

    :raises RecursionError: when the value is nested deeper than ``levels``.
    """
    if isinstance(value, dict):
        if not levels:
            raise RecursionError
        if field_name == "metadata" and value.get("creationTimestamp", 0) is None:
            value = {key: item for key, item in value.items() if key != "creationTimestamp"}
        return {key: _copied(item, levels - 1, key) for key, item in value.items()}
    if isinstance(value, list):
        if not levels:
            raise RecursionError
        return [_copied(item, levels - 1) for item in value]
    return value


def _cleaned(item: SourceObject, warnings: list[str]) -> Manifest:
    """A copy with a sound ``metadata`` and without what only the server may set."""
    try:
        manifest: Manifest = _copied(item.manifest)
    except RecursionError:
        raise ObjectError(f"is nested more than {_MOST_LEVELS} levels deep", subject=item.source) from None
    kind, metadata = manifest["kind"], manifest.get("metadata")
    if not isinstance(metadata, dict):
        raise ObjectError(f"{kind} has no metadata", subject=item.source)
    name = metadata.get("name")
    if metadata.get("generateName"):
        if name:
            # With both, the server takes the name; who wrote two of them meant something else (Helm refuses it, too).
            raise ObjectError(f"{kind} has both name and generateName", subject=item.source, hint="remove one")
        raise ObjectError(
            f"{kind} uses generateName, so it has no identity", subject=item.source, hint="give it metadata.name"
        )
    if name in (None, ""):
        raise ObjectError(f"{kind} has no metadata.name", subject=item.source)
    if not isinstance(name, str):
        raise ObjectError(f"{kind} has a metadata.name that is not text", subject=item.source, hint="put it in quotes")
    if not _NAME.fullmatch(name) or not is_visible(name):
        raise ObjectError(
            f"{kind} has a metadata.name that no object can have: {with_codes(repr(name)):.80}", subject=item.source
        )
    group, _version = split_api_version(manifest["apiVersion"])
    if isinstance(manifest.get("sops"), dict) and _is_builtin_group(group):
        raise ObjectError(
            f"{kind} {name} is encrypted with sops", subject=item.source, hint="it can't be applied as it is"
        )
    for part in ("labels", "annotations"):
        _check_strings(metadata, f"metadata.{part}", f"{kind} {name}", item.source)
    _check_templates(manifest, f"{kind} {name}", item.source)
    for server_set in _SERVER_SET:
        metadata.pop(server_set, None)
    if metadata.pop("ownerReferences", None):
        # They name uids of one cluster. Where those are not, the garbage collector deletes the object (observed).
        warnings.append(f"{item.source}: ownerReferences of {kind} {name} are not sent, their uids are a cluster's own")
    if finalizers := metadata.get("finalizers"):
        names = ", ".join(map(str, finalizers)) if isinstance(finalizers, list) else finalizers
        warnings.append(f"{item.source}: {kind} {name} has finalizers ({names}): only their controller can delete it")
    manifest.pop("status", None)
    _leave_out_empty(metadata, "labels", "annotations")
    # Templates leave `namespace:` behind when a value is empty.
    if metadata.get("namespace") in (None, ""):
        metadata.pop("namespace", None)
    elif not isinstance(metadata["namespace"], str):
        raise ObjectError(
            f"{kind} {name} has a metadata.namespace that is not text", subject=item.source, hint="quote it"
        )
    elif not _NAMESPACE.fullmatch(metadata["namespace"]):
        raise ObjectError(
            f"{kind} {name} has a metadata.namespace that no namespace can have: {metadata['namespace']!r:.80}",
            subject=item.source,
        )
    if (group, kind) == ("", "Secret"):
        for part in ("data", "stringData"):
            # Here, since the API server would refuse it with the value in its message.
            _check_strings(manifest, part, f"{kind} {name}", item.source, empty=True)
        _merge_string_data(manifest)
        _leave_out_empty(manifest, "data")
    if (group, kind) == ("", "ConfigMap"):
        _leave_out_empty(manifest, "data", "binaryData")
    _default_protocols(manifest)
    _name_service_account_twice(manifest)
    if (group, kind) == (RBAC_GROUP, "ClusterRole") and manifest.get("aggregationRule"):
        # The aggregation controller writes them; sent by us they would be fought over for ever.
        manifest.pop("rules", None)
    return manifest


def _is_builtin_group(group: str) -> bool:
    """Whether the API server itself has the kinds. Others may have a ``sops`` of their own, such as SopsSecret."""
    return "." not in group or group.endswith(".k8s.io")


def _check_strings(holder: dict[str, Any], path: str, subject: str, source: str, empty: bool = False) -> None:
    """:param empty: whether a value may be missing, which means empty text to the server."""
    values = holder.get(path.rpartition(".")[2])
    if values is None:
        return
    if not isinstance(values, dict):
        raise ObjectError(f"{subject}: {path} is not a mapping", subject=source)
    for key, value in values.items():
        if not isinstance(value, str) and not (empty and value is None):
            raise ObjectError(f"{subject}: {path}.{key} is not text", subject=source, hint="put the value in quotes")


def _check_templates(manifest: Manifest, subject: str, source: str) -> None:
    """Labels and annotations of what a workload creates: the server's own message does not say where they stand."""
    path = pod_path(manifest) or ()
    # Of the pod and, in a CronJob, of its jobs.
    places = [path[:end] for end in range(1, len(path)) if path[end - 1].endswith(("template", "Template"))]
    templates = [(".".join(place), value_at(manifest, place)) for place in places]
    spec = mapping_of(manifest.get("spec"))
    if path and manifest["kind"] == "StatefulSet":
        claims = mappings_of(spec.get("volumeClaimTemplates"))
        templates += [(f"spec.volumeClaimTemplates[{number}]", claim) for number, claim in enumerate(claims)]
    for place, template in templates:
        metadata = mapping_of(mapping_of(template).get("metadata"))
        for part in ("labels", "annotations"):
            _check_strings(metadata, f"{place}.metadata.{part}", subject, source, empty=True)


def _merge_string_data(manifest: Manifest) -> None:
    """``stringData`` as ``data``: applied as it is, a key that leaves it would stay in ``data`` for ever (observed)."""
    string_data = manifest.pop("stringData", None)
    if string_data:
        encoded = {key: base64.b64encode((value or "").encode()).decode() for key, value in string_data.items()}
        manifest["data"] = {**(manifest.get("data") or {}), **encoded}


def _leave_out_empty(manifest: Manifest, *fields: str) -> None:
    """Fields without content, which something else may fill in at run time.

    Sent, it makes us an owner of the field itself, which the next patch of somebody else takes away again: a difference
    that comes back for ever, and shows nothing (observed).
    """
    for name in fields:
        if name in manifest and manifest[name] in (None, {}):
            del manifest[name]


def _default_protocols(manifest: Manifest) -> None:
    """``protocol: TCP`` where ports leave it out: it is a merge key.

    Without it the apply is refused, and with an empty one every apply but the first (observed).
    """
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        return
    if manifest["kind"] == "Service" and manifest["apiVersion"] == "v1":
        _protocols(spec.get("ports"))
    pod = pod_spec(manifest)
    if pod:
        for part in CONTAINERS:
            for container in mappings_of(pod.get(part)):
                _protocols(container.get("ports"))


def _protocols(ports: Any) -> None:
    for port in mappings_of(ports):
        if port.get("protocol") in (None, ""):
            port["protocol"] = "TCP"


def _name_service_account_twice(manifest: Manifest) -> None:
    """Both ``serviceAccountName`` and its older twin, which the server fills in from each other.

    Whichever is not sent keeps the account for ever: a changed ``serviceAccount`` and a removed ``serviceAccountName``
    have no effect (observed).
    """
    pod = pod_spec(manifest)
    if pod and (name := pod.get("serviceAccountName") or pod.get("serviceAccount")):
        pod["serviceAccountName"] = pod["serviceAccount"] = name


CONTAINERS = ("containers", "ephemeralContainers", "initContainers")
"""The fields of a pod spec that list containers."""


def pod_path(manifest: Manifest) -> tuple[str, ...] | None:
    """Where the pod spec is in a workload of the built-in kinds, ``None`` for everything else."""
    group, _version = split_api_version(manifest["apiVersion"])
    match (group, manifest["kind"]):
        case ("", "Pod"):
            return ("spec",)
        case ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job"):
            return ("spec", "template", "spec")
        case ("", "ReplicationController"):
            return ("spec", "template", "spec")
        case ("batch", "CronJob"):
            return ("spec", "jobTemplate", "spec", "template", "spec")
        case ("", "PodTemplate"):
            return ("template", "spec")
    return None


def pod_spec(manifest: Manifest) -> dict[str, Any] | None:
    """The pod spec inside a workload of the built-in kinds, ``None`` for everything else."""
    path = pod_path(manifest)
    value = value_at(manifest, path) if path else None
    return value if isinstance(value, dict) else None


def pod_labels(manifest: Manifest) -> dict[str, Any] | None:
    """The labels of the pods that a workload of the built-in kinds makes, ``None`` for everything else."""
    path = pod_path(manifest)
    return None if path is None else mapping_of(value_at(manifest, (*path[:-1], "metadata", "labels")))


def _place(manifest: Manifest, source: str, namespace: str, namespaced: Namespaced, warnings: list[str]) -> None:
    """Fill in the namespace only where it is missing, and take it away where the kind has none."""
    metadata = manifest["metadata"]
    group, version = split_api_version(manifest["apiVersion"])
    match namespaced(group, version, manifest["kind"]):
        case True:
            metadata["namespace"] = metadata.get("namespace") or namespace
        case False:
            if metadata.pop("namespace", None):
                title = f"{manifest['kind']} {metadata['name']}"
                warnings.append(f"{source}: {title} has no namespace, the one given is ignored")
        case None:
            pass  # The plan reports the kind as not served; guessing a scope would invent an identity.


def _annotations(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("annotations") or {}


def hook_events(manifest: Manifest) -> set[str]:
    """Events of a Helm hook, lower-cased and trimmed as Helm does; empty for an ordinary object."""
    text = mapping_of(mapping_of(manifest.get("metadata")).get("annotations")).get(HOOK_ANNOTATION)
    if not isinstance(text, str):
        return set()
    return {event.strip().lower() for event in text.split(",") if event.strip()}


def kinds_brought(manifests: Iterable[Manifest]) -> Iterator[tuple[str, str, str, bool]]:
    """The kinds of all CustomResourceDefinitions among these, see ``kinds_of_definition``."""
    for manifest in filter(is_definition, manifests):
        yield from kinds_of_definition(manifest)


def kinds_of_definition(manifest: Manifest) -> list[tuple[str, str, str, bool]]:
    """Group, version, kind and whether it is namespaced, for every served version of a CustomResourceDefinition.

    What is not as it should be is left out: the API server says so when it is asked to install it.
    """
    spec = mapping_of(manifest.get("spec"))
    group, kind = spec.get("group"), mapping_of(spec.get("names")).get("kind")
    served = [version.get("name") for version in mappings_of(spec.get("versions")) if version.get("served") is True]
    if not _is_word(group) or not _is_word(kind):
        return []
    return [(group, name, kind, spec.get("scope") == "Namespaced") for name in served if _is_word(name)]


def api_versions_of(manifests: Iterable[Manifest]) -> Iterator[str]:
    """What the CustomResourceDefinitions among these add to a cluster's API list, in Helm's two forms."""
    for manifest in filter(is_definition, manifests):
        for group, version, kind, _inside in kinds_of_definition(manifest):
            yield join_api_version(group, version)
            yield f"{join_api_version(group, version)}/{kind}"


def is_definition(manifest: Manifest) -> bool:
    """Whether an object is a CustomResourceDefinition."""
    group, _version = split_api_version(manifest["apiVersion"])
    return (group, manifest["kind"]) == ("apiextensions.k8s.io", "CustomResourceDefinition")


def describe_kind(group: str, version: str, kind: str) -> str:
    return f"{kind} of {join_api_version(group, version)}"
