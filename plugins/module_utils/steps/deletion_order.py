"""In which order objects are deleted: the order of applying, inverted, and what only counts when something goes.

What finishes an object (its operator, with its rights) has to outlive it, or its finalizers hold it for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..model.errors import GraphError
from ..model.graph import Edge
from ..model.names import DEPENDS_ON_ANNOTATION
from ..model.objects import GroupKind, Manifest, ObjectKey
from ..model.shapes import mapping_of
from .object_graph import ObjectOrder

WORKLOADS: frozenset[GroupKind] = frozenset(
    {
        ("apps", "Deployment"),
        ("apps", "DaemonSet"),
        ("apps", "StatefulSet"),
        ("apps", "ReplicaSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
        ("", "Pod"),
        ("", "ReplicationController"),
    }
)
_RIGHTS: frozenset[GroupKind] = frozenset(
    {
        ("", "ServiceAccount"),
        *(("rbac.authorization.k8s.io", kind) for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
    }
)
_ANSWERING = WORKLOADS | {("", "Service")}
_API_SERVICE = ("apiregistration.k8s.io", "APIService")

_After = dict[ObjectKey, dict[ObjectKey, str]]
"""What each object is deleted after, with the reason."""


def deletion_edges(
    manifests: Mapping[ObjectKey, Manifest], custom: Collection[GroupKind]
) -> dict[ObjectKey, list[Edge[ObjectKey]]]:
    """For each object the edges to those that have to be gone before it is deleted; they close no cycle.

    :param manifests: the live objects that are to be deleted.
    :param custom: the kinds among them that a CustomResourceDefinition defines.
    """
    after = _inverted(manifests)
    for first, then, reason in _pairs(manifests, custom):
        # What people ordered by annotation counts more than these rules.
        if first != then and not _comes_after(after, first, then):
            after[then].setdefault(first, reason)
    return {key: [Edge(other, reason, need="ready") for other, reason in found.items()] for key, found in after.items()}


def _inverted(manifests: Mapping[ObjectKey, Manifest]) -> _After:
    """What is applied after an object is deleted before it. Annotations of live objects may say anything by now."""
    for each in (manifests, {key: _without_annotation(manifest) for key, manifest in manifests.items()}):
        after: _After = {key: {} for key in manifests}
        try:
            for key, edges in ObjectOrder.of(each.values()).edges.items():
                for edge in edges:
                    after[edge.key][key] = f"was applied after it ({edge.reason})"
        except GraphError:
            continue
        return after
    return {key: {} for key in manifests}


def _without_annotation(manifest: Manifest) -> Manifest:
    metadata = manifest["metadata"]
    kept = {name: text for name, text in (metadata.get("annotations") or {}).items() if name != DEPENDS_ON_ANNOTATION}
    return {**manifest, "metadata": {**metadata, "annotations": kept}}


def _pairs(
    manifests: Mapping[ObjectKey, Manifest], custom: Collection[GroupKind]
) -> list[tuple[ObjectKey, ObjectKey, str]]:
    """What else goes first, and then what, and why."""
    made = [key for key in manifests if key.group_kind in custom]
    answering = [key for key in manifests if key.group_kind in _ANSWERING]
    rights = [key for key in manifests if key.group_kind in _RIGHTS]
    workloads = [key for key in answering if key.group_kind in WORKLOADS]
    pairs = [(first, then, "may be finished by it") for first in made for then in [*answering, *rights]]
    pairs += [(first, then, "may use its rights") for first in workloads for then in rights]
    for service, manifest in manifests.items():
        if service.group_kind == _API_SERVICE:
            group = mapping_of(manifest.get("spec")).get("group")
            pairs += [(key, service, "is served by it") for key in manifests if key.group == group]
            pairs += [(service, then, "may be answered by it") for then in answering]
    return pairs


def _comes_after(after: _After, key: ObjectKey, other: ObjectKey) -> bool:
    """Whether ``key`` is deleted after ``other``, directly or through others."""
    seen: set[ObjectKey] = set()
    waiting = [key]
    while waiting:
        current = waiting.pop()
        if current == other:
            return True
        if current not in seen:
            seen.add(current)
            waiting += after[current]
    return False
