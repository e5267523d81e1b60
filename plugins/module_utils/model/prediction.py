"""What an apply will make of an object, where the server's own prediction is missing or made up."""

from __future__ import annotations

import re
from typing import Any

from .list_keys import key_of
from .objects import Manifest
from .shapes import list_of, mapping_of, mappings_of

_TOKEN_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")
_PORT_KEYS = ("port", "protocol")
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
            spec = _without_token(mapping_of(predicted.get("spec")), mapping_of(body.get("spec")))
            return {**predicted, "spec": spec}
        case "batch/v1", "Job" if live is None:
            return _without_uids(predicted, body)
    return predicted


def _service_spec(predicted: Manifest, body: Manifest, live: Manifest) -> dict[str, Any]:
    spec = dict(mapping_of(predicted.get("spec")))
    sources = [mapping_of(body.get("spec")), mapping_of(live.get("spec"))]
    if not any(source.get("healthCheckNodePort") for source in sources):
        spec.pop("healthCheckNodePort", None)
    # Whoever names the one address names the first of the many, and the reverse.
    known = [address for source in sources for address in (source.get("clusterIP"), *list_of(source.get("clusterIPs")))]
    if spec.get("clusterIP") not in known:
        spec.pop("clusterIP", None)
    addresses = [address for address in list_of(spec.pop("clusterIPs", None)) if address in known]
    if addresses:
        spec["clusterIPs"] = addresses
    given = (port for source in sources for port in mappings_of(source.get("ports")) if port.get("nodePort"))
    known_ports = {key_of(_PORT_KEYS, port) for port in given}
    if "ports" in spec:
        spec["ports"] = [
            port
            if key_of(_PORT_KEYS, port) in known_ports
            else {name: value for name, value in port.items() if name != "nodePort"}
            for port in mappings_of(spec["ports"])
        ]
    return spec


def _without_token(spec: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    stated = {volume.get("name") for volume in mappings_of(given.get("volumes"))}
    made_up = {
        volume.get("name")
        for volume in mappings_of(spec.get("volumes"))
        if volume.get("name") not in stated and _TOKEN_VOLUME.fullmatch(str(volume.get("name")))
    }
    spec = _without_named(spec, "volumes", made_up)
    for part in ("containers", "initContainers"):
        if part in spec:
            spec[part] = [_without_named(one, "volumeMounts", made_up) for one in mappings_of(spec[part])]
    return spec


def _without_named(holder: dict[str, Any], field: str, names: set[Any]) -> dict[str, Any]:
    """A copy; a list that has no other items goes."""
    left = [item for item in mappings_of(holder.get(field)) if item.get("name") not in names]
    rest = {name: value for name, value in holder.items() if name != field}
    return {**rest, field: left} if left else rest


def _without_uids(predicted: Manifest, body: Manifest) -> Manifest:
    if mapping_of(body.get("spec")).get("manualSelector"):
        return predicted
    spec = dict(mapping_of(predicted.get("spec")))
    spec.pop("selector", None)
    spec["template"] = _without_uid_labels(mapping_of(spec.get("template")))
    # The server copies the labels of the template to a Job that has none.
    return {**_without_uid_labels(predicted), "spec": spec}


def _without_uid_labels(holder: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(mapping_of(holder.get("metadata")))
    given = mapping_of(metadata.pop("labels", None))
    labels = {name: value for name, value in given.items() if name not in _UID_LABELS}
    return {**holder, "metadata": {**metadata, "labels": labels} if labels else metadata}
