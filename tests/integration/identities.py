"""Users of a cluster besides its own three: service accounts that log in by token, with rights that a test gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from local_cluster import Cluster
from tests.integration.kubectl import Kubectl

RBAC = "rbac.authorization.k8s.io"


def account(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def log_in(cluster: Cluster, kubectl: Kubectl, namespace: str, name: str, folder: Path) -> Path:
    """Make a service account and, in the folder, a kubeconfig that logs in as it. Its namespace has to exist."""
    kubectl.run("--namespace", namespace, "create", "serviceaccount", name)
    token = kubectl.run("--namespace", namespace, "create", "token", name).strip()
    config: dict[str, Any] = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    path = folder / f"{name}.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    return path


def grant(kubectl: Kubectl, name: str, subject: str, rules: list[dict[str, Any]], namespace: str = "") -> None:
    """Give a user these rights and no others, in one namespace or in the cluster, instead of what it had by that name.

    :param subject: a user name, such as ``account`` makes.
    """
    place = {"namespace": namespace} if namespace else {}
    prefix = "" if namespace else "Cluster"
    metadata = {"name": name, **place}
    role = {"apiVersion": f"{RBAC}/v1", "kind": f"{prefix}Role", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{prefix}RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": f"{prefix}Role", "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": subject}],
    }
    for manifest in (role, binding):
        kubectl.run("apply", "--filename=-", text=yaml.safe_dump(manifest))


def rule(group: str, resources: str, verbs: str) -> dict[str, Any]:
    """Words separated by blanks: ``rule("", "configmaps secrets", "get patch")``."""
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
