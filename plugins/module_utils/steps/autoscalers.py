"""What scales workloads by itself: their ``replicas`` are left to it, also while nobody owns that field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..cluster.discovery import path_of
from ..model.errors import ClusterError
from ..model.objects import Manifest, ObjectKey, split_api_version
from .session import Session

_AUTOSCALER = ("autoscaling", "HorizontalPodAutoscaler")
_KINDS = frozenset({_AUTOSCALER, ("keda.sh", "ScaledObject")})

Targets = dict[ObjectKey, str]
"""Workloads that are scaled, and by what."""


def autoscaled(session: Session, brought: Iterable[Manifest]) -> Targets:
    """All workloads that an autoscaler of the cluster, or of these objects, scales.

    KEDA makes an autoscaler of the cluster for each of its own, so only its coming ones are looked at.
    :raises ClusterError: when the cluster's autoscalers can't be listed.
    """
    targets: Targets = {}
    for manifest in (*_in_cluster(session), *brought):
        group, _version = split_api_version(manifest.get("apiVersion", ""))
        if (group, manifest.get("kind")) in _KINDS:
            target = _target(manifest)
            if target:
                targets[target] = f"{manifest['kind']} {manifest['metadata']['name']}"
    return targets


def _in_cluster(session: Session) -> list[Manifest]:
    resource = session.discovery.find(_AUTOSCALER[0], "v2", _AUTOSCALER[1])
    if resource is None:
        return []
    try:
        items, _version = session.acting.list_all(path_of(resource, "", ""))
    except ClusterError as error:
        raise error.about(subject="HorizontalPodAutoscalers") from error
    return [{**item, "apiVersion": "autoscaling/v2", "kind": _AUTOSCALER[1]} for item in items]


def _target(manifest: Manifest) -> ObjectKey | None:
    spec: Any = manifest.get("spec")
    reference = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict) or not isinstance(reference.get("name"), str):
        return None
    group, _version = split_api_version(str(reference.get("apiVersion") or "apps/v1"))
    kind = str(reference.get("kind") or "Deployment")
    return ObjectKey(group, kind, manifest["metadata"].get("namespace") or "", reference["name"])
