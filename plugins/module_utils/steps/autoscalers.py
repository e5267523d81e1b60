"""What scales workloads by itself: their ``replicas`` are left to it, also while nobody owns that field."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from ..cluster.api_error import ApiError
from ..cluster.discovery import path_of
from ..model.errors import ClusterError
from ..model.objects import Manifest, ObjectKey, split_api_version
from .session import Session

_AUTOSCALER = ("autoscaling", "HorizontalPodAutoscaler")
_KINDS = frozenset({_AUTOSCALER, ("keda.sh", "ScaledObject")})

_Targets = dict[ObjectKey, str]
"""Workloads that are scaled, and by what."""


class Autoscalers:
    """Those of the cluster and those that come with a run; may be used by many threads.

    Nothing is asked of the server before an object needs it, and nothing twice. KEDA makes an autoscaler of the
    cluster for each of its own, so only its coming ones are looked at.

    :param brought: the objects of the add-on and of those that it depends on.
    """

    def __init__(self, session: Session, brought: Iterable[Manifest]) -> None:
        self._session = session
        self._brought = _targets_of(brought)
        self._listed: dict[str, _Targets | ClusterError] = {}
        self._lock = threading.Lock()

    def scaler_of(self, key: ObjectKey) -> str:
        """What scales an object, such as ``HorizontalPodAutoscaler web``; empty if nothing does.

        :raises ClusterError: when the autoscalers can be listed neither in all of the cluster nor in its namespace.
        """
        if key in self._brought:
            return self._brought[key]
        with self._lock:
            # Under the lock: of many threads that need the same list, one asks.
            found = self._in("")
            if isinstance(found, ApiError) and found.forbidden and key.namespace:
                found = self._in(key.namespace)
        if isinstance(found, ClusterError):
            raise found
        return found.get(key, "")

    def _in(self, namespace: str) -> _Targets | ClusterError:
        """Of one namespace, or for ``""`` of all."""
        if namespace not in self._listed:
            try:
                self._listed[namespace] = _targets_of(self._list(namespace))
            except ClusterError as error:
                self._listed[namespace] = error
        return self._listed[namespace]

    def _list(self, namespace: str) -> list[Manifest]:
        resource = self._session.discovery.find(_AUTOSCALER[0], "v2", _AUTOSCALER[1])
        if resource is None:
            return []
        items, _version = self._session.acting.list_all(path_of(resource, namespace))
        return [{**item, "apiVersion": "autoscaling/v2", "kind": _AUTOSCALER[1]} for item in items]


def _targets_of(manifests: Iterable[Manifest]) -> _Targets:
    targets: _Targets = {}
    for manifest in manifests:
        group, _version = split_api_version(manifest.get("apiVersion", ""))
        if (group, manifest.get("kind")) in _KINDS and (target := _target(manifest)):
            targets[target] = f"{manifest['kind']} {manifest['metadata']['name']}"
    return targets


def _target(manifest: Manifest) -> ObjectKey | None:
    spec: Any = manifest.get("spec")
    reference = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict) or not isinstance(reference.get("name"), str):
        return None
    group, _version = split_api_version(str(reference.get("apiVersion") or "apps/v1"))
    kind = str(reference.get("kind") or "Deployment")
    return ObjectKey(group, kind, manifest["metadata"].get("namespace") or "", reference["name"])
