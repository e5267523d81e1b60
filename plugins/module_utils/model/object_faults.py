"""What is wrong with an object in ways that the API server's dry run does not tell, or tells badly.

Sizes that only the storage refuses, entries that stand twice where server-side apply needs them once (a 500 from the
server, though every other way of creating the object takes them), and ports that two Services of one add-on want.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from . import list_keys
from .kinds import WEBHOOK_CONFIGURATIONS
from .normalise import CONTAINERS, pod_path, pod_spec
from .objects import Manifest, ObjectKey, key_of, split_api_version
from .shapes import list_of, mapping_of, mappings_of
from .wording import shortened

_KIB = 1024

MOST_STORED = 1536 * _KIB
"""Bytes of an object: the limit of etcd. Above it a dry run is fine and the write is refused with a 500 (observed)."""

MOST_SENT = 3072 * _KIB
"""Bytes of a request (``limit is 3145728``, observed)."""

MOST_DATA = 1024 * _KIB
"""Bytes in all values of a ConfigMap or Secret, decoded (``MaxSecretSize``)."""

MOST_ANNOTATIONS = 256 * _KIB
"""Bytes in all annotations, names included (``TotalAnnotationSizeLimitB``)."""

_LONGEST_NAME = 120
"""Characters of a name in a message; a mount path or a finalizer may have thousands."""

# Keys of the lists that server-side apply merges item by item: ``x-kubernetes-list-map-keys`` of Kubernetes 1.37,
# without those of status.
_Keys = tuple[str, ...]
_NAME: _Keys = ("name",)
_POD_LISTS: dict[str, _Keys] = {
    "containers": _NAME,
    "ephemeralContainers": _NAME,
    "hostAliases": ("ip",),
    "imagePullSecrets": _NAME,
    "initContainers": _NAME,
    "resourceClaims": _NAME,
    "schedulingGates": _NAME,
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumes": _NAME,
}
_CONTAINER_LISTS: dict[str, _Keys] = {
    "env": _NAME,
    "ports": ("containerPort", "protocol"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
}
_POLICIES = ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")


def object_faults(manifest: Manifest) -> list[str]:
    """Each in one line, with the place; names of entries are told, values are not."""
    return [*_sizes(manifest), *_twice(manifest)]


def bundle_faults(manifests: Iterable[Manifest]) -> dict[ObjectKey, list[str]]:
    """What objects of one add-on can't have both, for each of the objects that are concerned.

    The server's dry run of each sees nothing of the other: ports that are taken on every node, and fixed addresses.
    """
    users: dict[tuple[str, str], dict[ObjectKey, str]] = {}
    for manifest in manifests:
        if (manifest["apiVersion"], manifest["kind"]) == ("v1", "Service"):
            for place, what, value in _taken_by(manifest):
                users.setdefault((what, value), {}).setdefault(key_of(manifest), place)
    faults: dict[ObjectKey, list[str]] = {}
    for (what, value), places in users.items():
        first, *more = places
        for key, place in places.items() if more else ():
            # One of them is enough to find it; all would be as many messages as there are pairs.
            other = more[0] if key == first else first
            rest = f" and {len(more) - 1} more" if len(more) > 1 else ""
            faults.setdefault(key, []).append(
                f"{place}: {what} {_name(value)} is also that of {other}{rest}, change one"
            )
    return faults


def _taken_by(service: Manifest) -> Iterator[tuple[str, str, str]]:
    """Field, what it takes, and which one. A port is taken for all protocols at once (observed)."""
    spec = mapping_of(service.get("spec"))
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        for number, port in enumerate(map(mapping_of, list_of(spec.get("ports")))):
            if found := port.get("nodePort"):
                yield f"spec.ports[{_name(port.get('name') or number)}].nodePort", "node port", str(found)
        if found := spec.get("healthCheckNodePort"):
            yield "spec.healthCheckNodePort", "node port", str(found)
    for address in [spec.get("clusterIP"), *list_of(spec.get("clusterIPs"))]:
        if isinstance(address, str) and address not in ("", "None"):
            yield "spec.clusterIP", "address", address


def _sizes(manifest: Manifest) -> Iterator[str]:
    size = len(json.dumps(manifest, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > MOST_SENT:
        yield f"is too large: {_limit(size, MOST_SENT)} in a request"
    elif size > MOST_STORED:
        yield f"is too large: {_limit(size, MOST_STORED)} for an object"
    annotations = mapping_of(manifest["metadata"].get("annotations"))
    used = sum(_bytes(name) + _bytes(value) for name, value in annotations.items())
    if used > MOST_ANNOTATIONS:
        yield f"metadata.annotations are too large: {_limit(used, MOST_ANNOTATIONS)}"
    if manifest["apiVersion"] == "v1" and manifest["kind"] in ("ConfigMap", "Secret"):
        plain, coded = ("data", "binaryData") if manifest["kind"] == "ConfigMap" else ("stringData", "data")
        used = sum(map(_bytes, mapping_of(manifest.get(plain)).values()))
        used += sum(map(_decoded, mapping_of(manifest.get(coded)).values()))
        if used > MOST_DATA:
            yield f"its data is too large: {_limit(used, MOST_DATA)} for a {manifest['kind']}"


def _limit(size: int, most: int) -> str:
    # Rounded up, so that one byte too many does not read as equal.
    return f"{math.ceil(size / _KIB)} KiB of at most {most // _KIB} KiB"


def _bytes(value: Any) -> int:
    return len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else 0


def _decoded(value: Any) -> int:
    """Length of what base64 text stands for."""
    if not isinstance(value, str):
        return 0
    text = value.rstrip().rstrip("=")
    return (len(text) - text.count("\n") - text.count("\r")) * 3 // 4


def _twice(manifest: Manifest) -> Iterator[str]:
    finalizers = Counter(one for one in list_of(manifest["metadata"].get("finalizers")) if isinstance(one, str))
    for finalizer in (one for one, times in finalizers.items() if times > 1):
        yield f"metadata.finalizers: {_name(finalizer)} stands twice, remove one"
    group, _version = split_api_version(manifest["apiVersion"])
    spec = mapping_of(manifest.get("spec"))
    match group, manifest["kind"]:
        case "", "Service":
            yield from _same(spec, "spec", {"ports": ("port", "protocol")})
        case "", "ServiceAccount":
            yield from _same(manifest, "", {"secrets": _NAME})
        case group_kind if group_kind in WEBHOOK_CONFIGURATIONS:
            yield from _same(manifest, "", {"webhooks": _NAME})
            for webhook in list_of(manifest.get("webhooks")):
                yield from _same(
                    webhook, f"webhooks[{_name(mapping_of(webhook).get('name'))}]", {"matchConditions": _NAME}
                )
        case "admissionregistration.k8s.io", kind if kind in _POLICIES:
            yield from _same(spec, "spec", {"matchConditions": _NAME, "variables": _NAME})
    if pod := pod_spec(manifest):
        yield from _twice_in_pod(pod, ".".join(pod_path(manifest) or ()))


def _twice_in_pod(pod: dict[str, Any], path: str) -> Iterator[str]:
    yield from _same(pod, path, _POD_LISTS)
    for part in CONTAINERS:
        for number, container in enumerate(list_of(pod.get(part))):
            place = f"{path}.{part}[{_name(mapping_of(container).get('name') or number)}]"
            yield from _same(container, place, _CONTAINER_LISTS)
            yield from _same(mapping_of(container).get("resources"), f"{place}.resources", {"claims": _NAME})


def _same(holder: Any, path: str, lists: dict[str, _Keys]) -> Iterator[str]:
    for field, keys in lists.items():
        # As text: 80 and "80" are no valid pair either.
        seen = Counter(list_keys.key_of(keys, item) for item in mappings_of(mapping_of(holder).get(field)))
        for values, times in seen.items():
            if times > 1 and values[0]:
                how_often = "twice" if times == 2 else f"{times} times"
                place = f"{path}.{field}" if path else field
                yield f"{place}: {_name('/'.join(values))} stands {how_often}, remove one"


def _name(value: Any) -> str:
    """What an entry is called, at a length that leaves the message readable."""
    return shortened(str(value), _LONGEST_NAME)
