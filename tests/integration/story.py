"""One add-on in two versions, with about everything that can happen to an object, and what the cluster holds of it.

A run may be disturbed in many ways. What is left in the end is to be what an undisturbed run leaves, object for object.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_process import is_gone
from tests.integration.engine import AddonRun, Engine
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, conditions, inventory, title
from tests.integration.objects import config_map, custom, custom_kind, secret, service

Object = dict[str, Any]

OWNER = "rendimiento.ai/addon"
_KINDS = "configmaps,secrets,services,deployments,serviceaccounts,roles,rolebindings"
_CHANGING = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


@dataclass(frozen=True)
class Story:
    """:param name: of the add-on, its namespace and its API group; used for nothing else in the cluster."""

    name: str
    folder: Path
    kubectl: Kubectl

    @property
    def repository(self) -> Repository:
        made = self.folder / "gitops"
        if made.exists():
            return _Existing(made, f"addons/{self.name}")
        return Repository(made, f"addons/{self.name}")

    def engine(self, kubeconfig: Path) -> Engine:
        return Engine(self.folder / "gitops", f"addons/{self.name}", kubeconfig, self.folder / "cache")

    def sync(self, kubeconfig: Path) -> AddonRun:
        return self.engine(kubeconfig).run(check=False)[self.name]

    def first(self) -> None:
        """Commit the first version."""
        self._commit(
            config_map("changed", data={"key": "old", "leaves": "with the second version"}),
            config_map("stays"),
            config_map("pruned"),
            self._replaced("old"),
            secret("pruned", data={"key": "swordfish-old"}),
            service("stays"),
            *self._workload("old"),
            custom_kind(self.group, "Thing"),
            custom(self.group, "Thing", "changed", size=1, color="red"),
            custom(self.group, "Thing", "pruned", size=1),
        )

    def second(self) -> None:
        """Commit the second one; something that it adopts was made with kubectl meanwhile."""
        found = config_map("adopted", self.name, {"key": "kubectl's", "goes": "with the adoption"})
        self.kubectl.run("apply", "-f", "-", text=json.dumps(found))
        self._commit(
            config_map("changed", data={"key": "new"}),
            config_map("stays"),
            config_map("created"),
            self._replaced("new"),
            config_map("adopted", data={"key": "ours"}),
            secret("created", data={"key": "swordfish-new"}),
            service("stays"),
            *self._workload("new"),
            custom_kind(self.group, "Thing"),
            custom_kind(self.group, "Other"),
            custom(self.group, "Thing", "changed", size=2),
            custom(self.group, "Other", "created", size=1),
        )

    @property
    def group(self) -> str:
        return f"{self.name}.example.com"

    def look(self) -> Look:
        """What the cluster holds of the add-on now."""
        selector = f"--selector={OWNER}={self.name}"
        served = self.kubectl.run("api-resources", f"--api-group={self.group}", "--output=name", "--no-headers")
        kinds = ",".join([_KINDS, *served.split()])
        found: list[Object] = json.loads(
            self.kubectl.run("get", kinds, "--namespace", self.name, selector, "--output=json", "--show-managed-fields")
        )["items"]
        found += json.loads(self.kubectl.run("get", "namespaces,crd", selector, "--output=json"))["items"]
        return Look(
            self.name,
            {title(each): each for each in found},
            self.kubectl.find("addon.rendimiento.ai", self.name) or {},
            self.kubectl.find("lease", f"addon-{self.name}", "rendimiento-system"),
        )

    def _commit(self, *objects: Object) -> None:
        repository = self.repository
        repository.addon(self.name, *objects, createNamespace=True, adopt=True, allowAdoptChanges=True)
        repository.commit()

    def _replaced(self, version: str) -> Object:
        made = config_map("replaced", data={"key": version}, annotations={"rendimiento.ai/replace": "true"})
        return {**made, "immutable": True}

    def _workload(self, version: str) -> list[Object]:
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"] if version == "old" else ["get", "list"]}]
        rbac = "rbac.authorization.k8s.io"
        metadata = {"name": "worker", "namespace": self.name}
        account = {"kind": "ServiceAccount", **metadata}
        role = {"apiGroup": rbac, "kind": "Role", "name": "worker"}
        container = {"name": "main", "image": version, "args": ["goes"] if version == "old" else []}
        template = {
            "metadata": {"labels": {"app": "worker"}},
            "spec": {"serviceAccountName": "worker", "containers": [container]},
        }
        spec: Object = {"replicas": 0, "selector": {"matchLabels": {"app": "worker"}}, "template": template}
        if version == "new":
            spec["strategy"] = {"type": "Recreate"}
        return [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
            {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": role,
                "subjects": [account],
            },
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec},
        ]


@dataclass(frozen=True)
class Look:
    """What the cluster held of an add-on at one moment: every object with its label by title, its record, its lock."""

    name: str
    live: dict[str, Object]
    record: Object
    lease: Object | None

    @property
    def state(self) -> dict[str, Any]:
        """All of it, without what differs between two that are alike."""
        status = self.record.get("status") or {}
        kept: dict[str, Any] = {
            "objects": {name: _normalised(each) for name, each in self.live.items()},
            "inventory": inventory(self.record),
            "phase": status.get("phase"),
            "message": status.get("message"),
            "conditions": conditions(self.record),
            "locked": self._is_locked,
        }
        alike: dict[str, Any] = json.loads(json.dumps(kept).replace(self.name, "NAME"))
        return alike

    @property
    def _is_locked(self) -> bool:
        """The lock of a run that was killed when all was recorded stays until there is something to do again."""
        return self.lease is not None and not is_gone(self.lease["metadata"]["annotations"]["rendimiento.ai/process"])

    @property
    def without_inventory(self) -> set[str]:
        """Objects with the add-on's label that its record does not know."""
        return self.live.keys() - inventory(self.record).keys()

    @property
    def uids(self) -> dict[str, str]:
        return {name: each["metadata"]["uid"] for name, each in self.live.items()}


class _Existing(Repository):
    """A repository that was made before."""

    def __init__(self, path: Path, folder: str) -> None:
        self.path, self.folder = path, folder


def _normalised(live: Object) -> Object:
    metadata = {name: value for name, value in live["metadata"].items() if name not in _CHANGING}
    managers = {
        (each["manager"], each["operation"], each.get("subresource", ""), json.dumps(each["fieldsV1"], sort_keys=True))
        for each in live["metadata"].get("managedFields") or []
        # Controllers write when they please.
        if each["manager"] in ("rendimiento-addons", "kubectl-client-side-apply")
    }
    rest = {name: value for name, value in live.items() if name not in ("status", "metadata")}
    if live["kind"] == "Service":
        rest["spec"] = {name: value for name, value in rest["spec"].items() if name not in ("clusterIP", "clusterIPs")}
    return {**rest, "metadata": metadata, "managers": sorted(map(list, managers))}
