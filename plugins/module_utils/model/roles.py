"""Who may do what with the collection's own objects: the roles that bootstrap installs, and their bindings.

``platform`` runs syncs, ``previewer`` full previews, ``viewer`` looks at records. What add-ons install is the acting
account's business: none of the roles gives a right to that, but the first two may act as the account. So a previewer is
trusted as much as the account is: a preview is made of dry runs, and whoever may dry-run a write may write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .names import (
    ACTING_ACCOUNT,
    PLATFORM_ROLE,
    PREVIEWER_ROLE,
    RBAC_GROUP,
    RECORD_CRD,
    RECORD_GROUP,
    RECORD_PLURAL,
    VIEWER_ROLE,
)
from .objects import Manifest

_READ = ["get", "list", "watch"]
_WRITE = ["create", "update", "patch", "delete"]
_STATUS = f"{RECORD_PLURAL}/status"
_AGGREGATE_TO_VIEW = f"{RBAC_GROUP}/aggregate-to-view"
_CLUSTER_ID_NAMESPACE = "kube-system"
"""Its uid is what tells one cluster from another."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a role is bound to; ``namespace`` is that of a ServiceAccount, else empty."""

    kind: str
    name: str
    namespace: str = ""

    def to_manifest(self) -> dict[str, str]:
        if self.kind == "ServiceAccount":
            return {"kind": self.kind, "name": self.name, "namespace": self.namespace}
        return {"apiGroup": RBAC_GROUP, "kind": self.kind, "name": self.name}


def role_objects(namespace: str) -> list[Manifest]:
    """The roles, those of the state namespace included."""
    records = _rule(RECORD_GROUP, [RECORD_PLURAL, _STATUS], _READ)
    cluster = [
        _rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"], [RECORD_CRD]),
        _rule("", ["namespaces"], ["get"], sorted({_CLUSTER_ID_NAMESPACE, namespace})),
    ]
    acting = _rule("", ["serviceaccounts"], ["get", "impersonate"], [ACTING_ACCOUNT])
    writes = _rule(RECORD_GROUP, [RECORD_PLURAL, _STATUS], _WRITE)
    return [
        _role(PLATFORM_ROLE, "", [records, writes, *cluster]),
        _role(PREVIEWER_ROLE, "", [records, *cluster]),
        _role(VIEWER_ROLE, "", [records], {_AGGREGATE_TO_VIEW: "true"}),
        _role(
            PLATFORM_ROLE,
            namespace,
            [
                _rule("coordination.k8s.io", ["leases"], [*_READ, *_WRITE]),
                _rule("", ["secrets"], [*_READ, *_WRITE]),
                acting,
            ],
        ),
        # The key, and tombstones, whose names nobody knows beforehand.
        _role(PREVIEWER_ROLE, namespace, [_rule("", ["secrets"], ["get"]), acting]),
    ]


def account_binding(namespace: str) -> Manifest:
    """What lets the acting account install anything."""
    return _binding(ACTING_ACCOUNT, "", "cluster-admin", [Subject("ServiceAccount", ACTING_ACCOUNT, namespace)])


def role_bindings(role: str, namespace: str, subjects: list[Subject]) -> list[Manifest]:
    """What binds one of the roles to these subjects, in the cluster and, where it has a part there, in the namespace.

    :param subjects: may be empty; the bindings are then those to be removed.
    """
    return [_binding(role, place, role, subjects) for place in ("", *([namespace] if role != VIEWER_ROLE else []))]


def rbac_path(manifest: Manifest) -> str:
    """Where the server has a role or a binding."""
    metadata = manifest["metadata"]
    place = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
    return f"/apis/{RBAC_GROUP}/v1{place}/{manifest['kind'].lower()}s/{metadata['name']}"


def _rule(group: str, resources: list[str], verbs: list[str], names: list[str] | None = None) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    return rule | {"resourceNames": names} if names else rule


def _role(name: str, namespace: str, rules: list[dict[str, Any]], labels: dict[str, str] | None = None) -> Manifest:
    manifest = _rbac("Role", name, namespace)
    if labels:
        manifest["metadata"]["labels"] = labels
    return manifest | {"rules": rules}


def _binding(name: str, namespace: str, role: str, subjects: list[Subject]) -> Manifest:
    return _rbac("RoleBinding", name, namespace) | {
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role" if namespace else "ClusterRole", "name": role},
        "subjects": [subject.to_manifest() for subject in subjects],
    }


def _rbac(kind: str, name: str, namespace: str) -> Manifest:
    place = {"namespace": namespace} if namespace else {}
    kind = kind if namespace else f"Cluster{kind}"
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": {"name": name, **place}}
