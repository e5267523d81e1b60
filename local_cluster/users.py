"""Who uses the cluster, and what each of them may do."""

from __future__ import annotations

from typing import Any

from .api_client import ApiClient

# The users that get a kubeconfig, with the groups in their certificates. `system:masters` may do everything.
USERS: dict[str, tuple[str, ...]] = {
    "admin": ("system:masters",),
    "platform": (),
    "viewer": (),
}

STATE_NAMESPACE = "rendimiento-system"
ACTING_SERVICE_ACCOUNT = "rendimiento-addons"
ADDONS_GROUP = "rendimiento.ai"

RBAC_GROUP = "rbac.authorization.k8s.io"
READ = ["get", "list", "watch"]
MANAGE = [*READ, "create", "update", "patch", "delete", "deletecollection"]


def grant_rights(api: ApiClient) -> None:
    """Makes the state namespace and the users' roles; may be repeated."""
    namespace = f"/api/v1/namespaces/{STATE_NAMESPACE}"
    api.apply(namespace, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STATE_NAMESPACE}})
    _grant(api, "platform", _platform_rules())
    _grant(api, "platform", _platform_namespace_rules(), STATE_NAMESPACE)
    # Custom resources may join the built-in role `view` by a label on a role of their own.
    _bind(api, "viewer", "local-cluster-viewer-view", "view")
    _let_viewer_read(api)


def _let_viewer_read(api: ApiClient) -> None:
    """Lets the viewer read everything that the server has now, except Secrets.

    RBAC cannot say "except", so the role lists what there is. Groups of custom resources that appear later are missing
    until this is done again.
    """
    groups = {group["name"] for group in api.get("/apis")["groups"]} | {ADDONS_GROUP}
    resources = [resource["name"] for resource in api.get("/api/v1")["resources"]]
    # Of the subresources, only those that merely show something: a GET of `proxy` or `exec` does more than read.
    core = [name for name in resources if "/" not in name and name != "secrets"]
    _grant(
        api,
        "viewer",
        [
            _rule([""], [*core, "*/status", "*/scale", "pods/log"], READ),
            _rule(sorted(groups), ["*"], READ),
        ],
    )


def namespaces_are_ready(api: ApiClient) -> bool:
    """Whether pods can be created: the controllers have given each namespace its service account."""
    return all(
        api.find(f"/api/v1/namespaces/{namespace}/serviceaccounts/default") is not None
        for namespace in ("default", STATE_NAMESPACE)
    )


def _platform_rules() -> list[dict[str, Any]]:
    return [
        _rule([ADDONS_GROUP], ["addons", "addons/status"], MANAGE),
        _rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], ["get"], [f"addons.{ADDONS_GROUP}"]),
    ]


def _platform_namespace_rules() -> list[dict[str, Any]]:
    return [
        _rule(["coordination.k8s.io"], ["leases"], MANAGE),
        _rule([""], ["secrets"], MANAGE),
        _rule([""], ["serviceaccounts"], ["get", "impersonate"], [ACTING_SERVICE_ACCOUNT]),
    ]


def _rule(groups: list[str], resources: list[str], verbs: list[str], names: list[str] | None = None) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": groups, "resources": resources, "verbs": verbs}
    return rule if names is None else {**rule, "resourceNames": names}


def _grant(api: ApiClient, user: str, rules: list[dict[str, Any]], namespace: str | None = None) -> None:
    """Gives the user a role of its own, in one namespace or in the whole cluster."""
    name = f"local-cluster-{user}"
    _apply(api, "Role", name, namespace, {"rules": rules})
    _bind(api, user, name, name, namespace)


def _bind(api: ApiClient, user: str, name: str, role: str, namespace: str | None = None) -> None:
    subject = {"apiGroup": RBAC_GROUP, "kind": "User", "name": user}
    reference = {"apiGroup": RBAC_GROUP, "kind": _scoped("Role", namespace), "name": role}
    _apply(api, "RoleBinding", name, namespace, {"subjects": [subject], "roleRef": reference})


def _apply(api: ApiClient, kind: str, name: str, namespace: str | None, content: dict[str, Any]) -> None:
    kind = _scoped(kind, namespace)
    place = "" if namespace is None else f"/namespaces/{namespace}"
    head = {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": {"name": name}}
    api.apply(f"/apis/{RBAC_GROUP}/v1{place}/{kind.lower()}s/{name}", {**head, **content})


def _scoped(kind: str, namespace: str | None) -> str:
    return f"Cluster{kind}" if namespace is None else kind
