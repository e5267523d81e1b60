"""Kinds of Kubernetes that are alike in something that several parts of the engine ask for."""

from __future__ import annotations

from .names import RBAC_GROUP
from .objects import GroupKind

API_SERVICE: GroupKind = ("apiregistration.k8s.io", "APIService")

WEBHOOK_CONFIGURATIONS: frozenset[GroupKind] = frozenset(
    {
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    }
)

RBAC_KINDS: frozenset[GroupKind] = frozenset(
    (RBAC_GROUP, kind) for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
)

ANSWERS_SERVICES: frozenset[GroupKind] = frozenset(
    {
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "ReplicaSet"),
        ("", "ReplicationController"),
        ("", "Pod"),
    }
)
"""Whose pods answer for the Services that select them: pods of a Job may have such labels, but they don't."""

MAKES_PODS_AT_ONCE: frozenset[GroupKind] = ANSWERS_SERVICES | {("batch", "Job")}
"""Whose pods tell why it is not ready; a pod is its own."""

RUNS_PODS: frozenset[GroupKind] = MAKES_PODS_AT_ONCE | {("batch", "CronJob")}
"""Whose pods go with it when it is deleted."""
