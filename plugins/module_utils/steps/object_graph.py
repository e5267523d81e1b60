"""The object graph inside an add-on: what has to be applied before what, read from the objects themselves.

Webhooks come after everything else: theirs would refuse the add-on's own objects until the pods that answer are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..model.errors import GraphError
from ..model.graph import Edge, Graph, Node
from ..model.names import DEPENDS_ON_ANNOTATION
from ..model.normalise import pod_spec
from ..model.objects import Manifest, ObjectKey, key_of
from ..model.shapes import mappings_of

_WEBHOOKS = frozenset(
    ("admissionregistration.k8s.io", kind)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
)

# Only a tie-break between objects that no edge orders: what others read comes first, what intercepts them last.
_RANKS: dict[tuple[str, str], int] = {
    ("", "Namespace"): 0,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): 0,
    ("scheduling.k8s.io", "PriorityClass"): 1,
    ("storage.k8s.io", "StorageClass"): 1,
    ("", "ServiceAccount"): 2,
    ("rbac.authorization.k8s.io", "ClusterRole"): 2,
    ("rbac.authorization.k8s.io", "Role"): 2,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): 3,
    ("rbac.authorization.k8s.io", "RoleBinding"): 3,
    ("", "Secret"): 3,
    ("", "ConfigMap"): 3,
    ("", "PersistentVolume"): 2,
    ("", "PersistentVolumeClaim"): 3,
    ("", "Service"): 4,
    **dict.fromkeys(_WEBHOOKS, 9),
}
_DEFAULT_RANK = 5


def rank_of(key: ObjectKey) -> int:
    return _RANKS.get(key.group_kind, _DEFAULT_RANK)


def edges_of(manifest: Manifest, others: Mapping[ObjectKey, Manifest]) -> list[Edge[ObjectKey]]:
    """Edges to the objects of this walk that have to be applied before this one.

    A webhook configuration comes after all that depend on no webhook configuration. What does depend on one is left
    out for every one of them, not only for that one, so that these edges close no cycle that the others don't.

    :raises GraphError: for a ``depends-on`` annotation that can't be read.
    """
    key = key_of(manifest)
    wanted = _needs(manifest, others)
    if key.group_kind in _WEBHOOKS:
        later = _after_webhooks(others)
        wanted = {other: "webhooks come last" for other in others if other not in later} | wanted
    return [Edge(blocker, reason) for blocker, reason in wanted.items()]


def _needs(manifest: Manifest, others: Mapping[ObjectKey, Manifest]) -> dict[ObjectKey, str]:
    """What an object itself names of the others, with the reason."""
    key = key_of(manifest)
    wanted: dict[ObjectKey, str] = {}
    if key.namespace:
        wanted[ObjectKey("", "Namespace", "", key.namespace)] = "in namespace"
    for kind, name in _references(pod_spec(manifest) or {}):
        wanted[ObjectKey("", kind, key.namespace, name)] = "used by its pods"
    role = manifest.get("roleRef")
    if isinstance(role, dict) and key.group == "rbac.authorization.k8s.io":
        kind = str(role.get("kind"))
        wanted[ObjectKey(key.group, kind, key.namespace if kind == "Role" else "", str(role.get("name")))] = "its role"
    for blocker in _depends_on(manifest, key):
        wanted[blocker] = "depends-on"
    return {blocker: reason for blocker, reason in wanted.items() if blocker in others and blocker != key}


def _after_webhooks(manifests: Mapping[ObjectKey, Manifest]) -> set[ObjectKey]:
    """The webhook configurations, and what depends on one of them, directly or through others."""
    dependents: dict[ObjectKey, list[ObjectKey]] = {}
    for key, manifest in manifests.items():
        for blocker in _needs(manifest, manifests):
            dependents.setdefault(blocker, []).append(key)
    found: set[ObjectKey] = set()
    waiting = [key for key in manifests if key.group_kind in _WEBHOOKS]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += dependents.get(key, [])
    return found


def check_order(manifests: Iterable[Manifest]) -> None:
    """Find out before anything is written whether all objects of an add-on can be put in order.

    :raises GraphError: for a cycle, or a ``depends-on`` annotation that can't be read or names nothing of the add-on.
    """
    everything = {key_of(manifest): manifest for manifest in manifests}
    graph: Graph[ObjectKey, None] = Graph()
    for key, manifest in everything.items():
        unknown = [blocker for blocker in _depends_on(manifest, key) if blocker not in everything or blocker == key]
        if unknown:
            raise GraphError(
                f"annotation {DEPENDS_ON_ANNOTATION} names {unknown[0]}, which is no other object of this add-on",
                subject=str(key),
                hint="correct it; between add-ons use dependsOn of the definition",
            )
        graph.add(Node(key, run=lambda: None, after=edges_of(manifest, everything)))
    graph.order()


def _depends_on(manifest: Manifest, key: ObjectKey) -> list[ObjectKey]:
    text = (manifest["metadata"].get("annotations") or {}).get(DEPENDS_ON_ANNOTATION, "")
    blockers = []
    for part in filter(None, map(str.strip, text.split(","))):
        words = part.split("/")
        if len(words) != 4 or not words[1] or not words[3]:
            raise GraphError(
                f"annotation {DEPENDS_ON_ANNOTATION}: {part!r} is not <group>/<kind>/<namespace>/<name>",
                subject=str(key),
                hint="the core group and the namespace of cluster-scoped kinds are empty: /Service/web/api",
            )
        blockers.append(ObjectKey(*words))
    return blockers


def _references(pod: dict[str, Any]) -> set[tuple[str, str]]:
    """Kind and name of the objects in its own namespace that a pod can't start without."""
    found: list[tuple[str, Any]] = [("ServiceAccount", pod.get("serviceAccountName"))]
    for volume in mappings_of(pod.get("volumes")):
        found.append(("ConfigMap", _get(volume, "configMap", "name")))
        found.append(("Secret", _get(volume, "secret", "secretName")))
        found.append(("PersistentVolumeClaim", _get(volume, "persistentVolumeClaim", "claimName")))
        for source in mappings_of(_get(volume, "projected", "sources")):
            found.append(("ConfigMap", _get(source, "configMap", "name")))
            found.append(("Secret", _get(source, "secret", "name")))
    for container in [*mappings_of(pod.get("initContainers")), *mappings_of(pod.get("containers"))]:
        for source in mappings_of(container.get("envFrom")):
            found.append(("ConfigMap", _get(source, "configMapRef", "name")))
            found.append(("Secret", _get(source, "secretRef", "name")))
        for variable in mappings_of(container.get("env")):
            found.append(("ConfigMap", _get(variable, "valueFrom", "configMapKeyRef", "name")))
            found.append(("Secret", _get(variable, "valueFrom", "secretKeyRef", "name")))
    return {(kind, name) for kind, name in found if isinstance(name, str) and name}


def _get(value: Any, *path: str) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
