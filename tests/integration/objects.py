"""Kubernetes objects for tests, as small as they can be."""

from __future__ import annotations

import base64
from typing import Any

Object = dict[str, Any]


def config_map(name: str, namespace: str | None = None, data: dict[str, str] | None = None, **metadata: Any) -> Object:
    return {**_object("v1", "ConfigMap", name, namespace, metadata), "data": data or {"key": "value"}}


def secret(name: str, namespace: str | None = None, data: dict[str, str] | None = None) -> Object:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in (data or {}).items()}
    return {**_object("v1", "Secret", name, namespace), "data": encoded}


def namespace(name: str) -> Object:
    return _object("v1", "Namespace", name)


def service(name: str, namespace: str | None = None, port: int = 80) -> Object:
    spec = {"selector": {"app": name}, "ports": [{"port": port, "targetPort": port}]}
    return {**_object("v1", "Service", name, namespace), "spec": spec}


def deployment(
    name: str, namespace: str | None = None, *, image: str = "none", replicas: int = 1, outcome: str = ""
) -> Object:
    """:param outcome: how the pods misbehave: fail, hang or unready (the local cluster knows these); empty for well."""
    labels = {"app": name} | ({"test.io/outcome": outcome} if outcome else {})
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {**_object("apps/v1", "Deployment", name, namespace), "spec": spec}


def job(name: str, namespace: str | None = None, **metadata: Any) -> Object:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    return {**_object("batch/v1", "Job", name, namespace, metadata), "spec": {"template": template}}


def volume_claim(name: str, namespace: str | None = None, *, volume: str) -> Object:
    """A claim for one volume, see ``volume``."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
        "volumeName": volume,
    }
    return {**_object("v1", "PersistentVolumeClaim", name, namespace), "spec": spec}


def volume(name: str) -> Object:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": f"/volumes/{name}"},
        "storageClassName": "",
    }
    return {**_object("v1", "PersistentVolume", name), "spec": spec}


def custom_kind(group: str, kind: str) -> Object:
    """The CustomResourceDefinition of a namespaced kind whose spec holds an integer ``size`` and a text ``color``."""
    plural = f"{kind.lower()}s"
    fields = {"size": {"type": "integer"}, "color": {"type": "string"}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        **_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}"),
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def custom(group: str, kind: str, name: str, namespace: str | None = None, **spec: Any) -> Object:
    return {**_object(f"{group}/v1", kind, name, namespace), "spec": spec}


def _object(
    api_version: str, kind: str, name: str, namespace: str | None = None, metadata: dict[str, Any] | None = None
) -> Object:
    place = {} if namespace is None else {"namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place, **(metadata or {})}}
