"""What an apply will make of an object, where the server's own prediction is missing or made up."""

from __future__ import annotations

import re
from typing import Any

from .objects import Manifest

_TOKEN_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")
_UID_LABELS = frozenset({"batch.kubernetes.io/controller-uid", "controller-uid"})


def overlaid(live: Manifest, body: Manifest) -> Manifest:
    """The live object with the body laid over it: mappings are merged, everything else is what the body says.

    Server-side apply does this for custom resources whose schema names no list keys. What would be removed because the
    body left it out is not predicted.
    """
    merged: Manifest = _merged(live, body)
    return merged


def _merged(live: Any, body: Any) -> Any:
    if not (isinstance(live, dict) and isinstance(body, dict)):
        return body
    return {**live, **{field: _merged(live.get(field), value) for field, value in body.items()}}


def without_invented(predicted: Manifest, body: Manifest, live: Manifest | None) -> Manifest:
    """A predicted object without what the server makes up in a dry run, to make up something else later (observed).

    These are addresses and ports of a Service, the uid in the selector and labels of a new Job, and the volume with the
    token of a new Pod, whose name is random. A field without content (``clusterIP: ""``, ``nodePort: 0``) asks for one.
    """
    match predicted.get("apiVersion"), predicted.get("kind"):
        case "v1", "Service":
            return {**predicted, "spec": _service_spec(predicted, body, live or {})}
        case "v1", "Pod" if live is None:
            return {**predicted, "spec": _without_token(_mapping(predicted.get("spec")), _mapping(body.get("spec")))}
        case "batch/v1", "Job" if live is None:
            return _without_uids(predicted, body)
    return predicted


def _service_spec(predicted: Manifest, body: Manifest, live: Manifest) -> dict[str, Any]:
    spec, sources = dict(_mapping(predicted.get("spec"))), [_mapping(body.get("spec")), _mapping(live.get("spec"))]
    if not any(source.get("healthCheckNodePort") for source in sources):
        spec.pop("healthCheckNodePort", None)
    # Whoever names the one address names the first of the many, and the reverse.
    known = [address for source in sources for address in (source.get("clusterIP"), *_list(source.get("clusterIPs")))]
    if spec.get("clusterIP") not in known:
        spec.pop("clusterIP", None)
    addresses = [address for address in _list(spec.pop("clusterIPs", None)) if address in known]
    if addresses:
        spec["clusterIPs"] = addresses
    ports = {_port(port) for source in sources for port in _mappings(source.get("ports")) if port.get("nodePort")}
    if "ports" in spec:
        spec["ports"] = [
            port if _port(port) in ports else {name: value for name, value in port.items() if name != "nodePort"}
            for port in _mappings(spec["ports"])
        ]
    return spec


def _port(port: dict[str, Any]) -> tuple[Any, str]:
    """By which an item of the list is told apart."""
    return port.get("port"), port.get("protocol") or "TCP"


def _without_token(spec: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    stated = {volume.get("name") for volume in _mappings(given.get("volumes"))}
    made_up = {
        volume.get("name")
        for volume in _mappings(spec.get("volumes"))
        if volume.get("name") not in stated and _TOKEN_VOLUME.fullmatch(str(volume.get("name")))
    }
    spec = _without_named(spec, "volumes", made_up)
    for part in ("containers", "initContainers"):
        if part in spec:
            spec[part] = [_without_named(one, "volumeMounts", made_up) for one in _mappings(spec[part])]
    return spec


def _without_named(holder: dict[str, Any], field: str, names: set[Any]) -> dict[str, Any]:
    """A copy; a list that has no other items goes."""
    left = [item for item in _mappings(holder.get(field)) if item.get("name") not in names]
    rest = {name: value for name, value in holder.items() if name != field}
    return {**rest, field: left} if left else rest


def _without_uids(predicted: Manifest, body: Manifest) -> Manifest:
    if _mapping(body.get("spec")).get("manualSelector"):
        return predicted
    spec = dict(_mapping(predicted.get("spec")))
    spec.pop("selector", None)
    spec["template"] = _without_uid_labels(_mapping(spec.get("template")))
    # The server copies the labels of the template to a Job that has none.
    return {**_without_uid_labels(predicted), "spec": spec}


def _without_uid_labels(holder: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(_mapping(holder.get("metadata")))
    labels = {name: value for name, value in _mapping(metadata.pop("labels", None)).items() if name not in _UID_LABELS}
    return {**holder, "metadata": {**metadata, "labels": labels} if labels else metadata}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]
