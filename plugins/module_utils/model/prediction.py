"""What an apply will make of an object, where the server's own prediction is missing or made up."""

from __future__ import annotations

from typing import Any

from .objects import Manifest

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

    These are addresses and ports of a Service, and the uid in the selector and labels of a new Job.
    """
    match predicted.get("apiVersion"), predicted.get("kind"):
        case "v1", "Service":
            return {**predicted, "spec": _service_spec(predicted, body, live)}
        case "batch/v1", "Job" if live is None:
            return _without_uids(predicted, body)
    return predicted


def _service_spec(predicted: Manifest, body: Manifest, live: Manifest | None) -> dict[str, Any]:
    wanted, there = _spec(body), _spec(live or {})
    spec = dict(_spec(predicted))
    for name in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
        if name not in wanted and name not in there:
            spec.pop(name, None)
    # By which an item of the list is told apart.
    known = {
        (port.get("port"), port.get("protocol") or "TCP")
        for port in _ports(wanted) + _ports(there)
        if "nodePort" in port
    }
    if "ports" in spec:
        spec["ports"] = [
            port
            if (port.get("port"), port.get("protocol") or "TCP") in known
            else {name: value for name, value in port.items() if name != "nodePort"}
            for port in _ports(spec)
        ]
    return spec


def _without_uids(predicted: Manifest, body: Manifest) -> Manifest:
    spec = dict(_spec(predicted))
    if _spec(body).get("manualSelector"):
        return predicted
    spec.pop("selector", None)
    template = dict(spec.get("template") or {})
    metadata = dict(template.get("metadata") or {})
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name not in _UID_LABELS}
    metadata.pop("labels", None)
    template["metadata"] = {**metadata, "labels": labels} if labels else metadata
    return {**predicted, "spec": {**spec, "template": template}}


def _spec(manifest: Manifest) -> dict[str, Any]:
    spec = manifest.get("spec")
    return spec if isinstance(spec, dict) else {}


def _ports(spec: dict[str, Any]) -> list[dict[str, Any]]:
    ports = spec.get("ports")
    return [port for port in ports if isinstance(port, dict)] if isinstance(ports, list) else []
