"""A cluster that was not prepared: previews work, a sync says what is missing; bootstrap can be repeated and undone.

The tests go through the life of one cluster, in their order.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import AccessOptions, resolve
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Client
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import BootstrapError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.names import (
    PLATFORM_ROLE,
    PREVIEWER_ROLE,
    VIEWER_ROLE,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.record import Record
from ansible_collections.rendimiento.addons.plugins.module_utils.model.roles import Subject
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.bootstrap import bootstrap
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.bootstrap_removal import remove_bootstrap
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.tombstones import bury
from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.clusters import running_cluster
from tests.integration.engine import Engine
from tests.integration.identities import account, log_in
from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map
from tests.integration.playbooks import PlaybookResult
from tests.integration.scene import Scene

COMMAND = "ansible-playbook rendimiento.addons.bootstrap"
CRD = "addons.rendimiento.ai"
OWN_PLACE = "own-place"
ROLES = {"platform": PLATFORM_ROLE, "previewer": PREVIEWER_ROLE, "viewer": VIEWER_ROLE}


@dataclass(frozen=True)
class Fresh:
    """A cluster of its own, with the means to look at it."""

    cluster: Cluster
    kubectl: Kubectl
    audit: Audit
    scene: Scene

    def bootstrap(self, *, check: bool = False, **options: Any) -> tuple[PlaybookResult, Requests]:
        mark = self.audit.mark()
        options = {"addon_kubeconfig": str(self.cluster.kubeconfig)} | options
        result = self.scene.playbooks.run("bootstrap", options, check=check, diff=True)
        return result, self.audit.since(mark)

    def prepare(self, subjects: Mapping[str, list[Subject] | None] | None = None, *, check: bool = False) -> list[str]:
        """The same in a state namespace that the cluster's own users have no part in: titles of what changed."""
        prepared = bootstrap(self.access, OWN_PLACE, subjects or {}, check=check)
        return [f"{item.state} {item.title}" for item in prepared if item.changed]

    def take_back(self, *, purge: bool = False, check: bool = False) -> dict[str, str]:
        """Titles of what was there, each with what became of it."""
        removed = remove_bootstrap(self.access, OWN_PLACE, purge=purge, check=check)
        return {item.title: f"{item.state} {item.reason}".strip() for item in removed}

    def engine(self, kubeconfig: Path, impersonate: str = "") -> Engine:
        repository = self.scene.repository
        return Engine(
            repository.path,
            repository.folder,
            kubeconfig,
            self.scene.cache,
            impersonate=impersonate,
            state_namespace=OWN_PLACE,
        )

    @property
    def access(self) -> AccessOptions:
        return AccessOptions(kubeconfig=str(self.cluster.kubeconfig))

    def key(self) -> str:
        found: str = self.kubectl.get("secret", "addon-key", "rendimiento-system")["data"]["key"]
        return found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fresh]:
    folder = tmp_path_factory.mktemp("fresh")
    with running_cluster(folder) as cluster:
        kubectl = Kubectl(cluster.programs["kubectl"], cluster.kubeconfig)
        audit = Audit(cluster.audit_log, kubectl)
        scene = Scene(folder, "addons", cluster, kubectl, audit)
        scene.repository.addon("first", config_map("settings"), createNamespace=True)
        scene.repository.commit()
        yield Fresh(cluster, kubectl, audit, scene)


def test_the_way_from_a_fresh_cluster_to_a_sync(fresh: Fresh) -> None:
    kubectl, audit, scene = fresh.kubectl, fresh.audit, fresh.scene
    # Nothing was prepared: a sync says how to, and does nothing.
    mark = audit.mark()
    refused = scene.sync().failed()
    assert CRD in refused.error and COMMAND in refused.error
    assert refused.output.count("[ERROR]") == 1
    # A preview works all the same.
    preview = scene.sync(check=True, diff=True).succeeded()
    assert preview.counts("first") == {"created": 2}
    assert preview.phases == {"first": "Pending"}
    assert "+++ after: ConfigMap first/settings (create, simulated)" in preview.output
    assert not audit.since(mark).writes

    # The preview of bootstrap shows everything and hides the key.
    result, requests = fresh.bootstrap(check=True)
    assert result.succeeded().changed == 1
    for kind in ("CustomResourceDefinition", "ServiceAccount", "ClusterRoleBinding", "Secret"):
        assert f"+++ after: {kind} " in result.output
    assert not requests.writes, requests.writes
    assert kubectl.find("crd", CRD) is None

    result, _requests = fresh.bootstrap()
    assert result.succeeded().changed == 1
    key = fresh.key()
    assert key not in result.output
    assert not scene.playbooks.left_behind(), "the administrator's login stays on disk"
    assert scene.sync().succeeded().phases == {"first": "Synced"}

    # Again: nothing to do, and above all the same key.
    result, requests = fresh.bootstrap()
    assert result.succeeded().changed == 0
    assert not requests.writes, requests.writes
    assert fresh.key() == key

    # The key is gone: every digest would be worthless, so nothing is done until it is back.
    kubectl.run("--namespace", "rendimiento-system", "delete", "secret", "addon-key")
    refused = scene.sync().failed()
    assert "addon-key" in refused.error and COMMAND in refused.error
    assert scene.sync(check=True).succeeded().counts("first") == {"unchanged": 2}


def test_everything_is_shown_before_anything_exists_and_nothing_to_do_afterwards(fresh: Fresh) -> None:
    mark = fresh.audit.mark()
    shown = fresh.prepare(check=True)
    assert not fresh.audit.since(mark).writes
    # The kind, the roles of the cluster and the account's binding are there from the other place.
    assert shown == [
        f"created Namespace {OWN_PLACE}",
        f"created ServiceAccount {OWN_PLACE}/rendimiento-addons",
        "updated ClusterRoleBinding rendimiento-addons",
        "updated ClusterRole rendimiento-addons-platform",
        "updated ClusterRole rendimiento-addons-previewer",
        f"created Role {OWN_PLACE}/rendimiento-addons-platform",
        f"created Role {OWN_PLACE}/rendimiento-addons-previewer",
        f"created Secret {OWN_PLACE}/addon-key",
    ]
    assert fresh.prepare() == shown
    assert fresh.prepare() == []
    # Nobody was named, so nobody is bound.
    assert not [name for name in fresh.kubectl.everything("clusterrolebinding", "rolebinding") if "addons-" in name]


def test_who_is_bound_to_the_roles_can_do_their_work_and_no_more(fresh: Fresh, tmp_path: Path) -> None:
    kubectl = fresh.kubectl
    kubectl.run("create", "namespace", "people")
    logins = {name: log_in(fresh.cluster, kubectl, "people", name, tmp_path) for name in ROLES}
    bound = {ROLES[name]: [Subject("ServiceAccount", name, "people")] for name in ROLES}
    assert len(fresh.prepare(bound)) == 5
    # Bindings of roles that are not named stay; an empty list ends one.
    assert fresh.prepare({}) == fresh.prepare({VIEWER_ROLE: None}) == []
    acting = account(OWN_PLACE, "rendimiento-addons")

    fresh.scene.repository.addon("second", config_map("settings", data={"version": "1"}), createNamespace=True)
    fresh.scene.repository.commit()
    mark = fresh.audit.mark()
    previewed = fresh.engine(logins["previewer"], acting).run(check=True)["second"]
    assert previewed.planned is not None and previewed.planned.counts() == {"create": 2}
    assert not fresh.audit.since(mark).writes

    mark = fresh.audit.mark()
    synced = fresh.engine(logins["platform"], acting).run(check=False)["second"]
    assert synced.outcome.phase == "Synced", synced.failure
    requests = fresh.audit.since(mark)
    assert not [str(request) for request in requests if request.code in (401, 403)]
    assert {request.user for request in requests.on_objects_but(OWN_PLACE).writes} == {acting}
    viewer = Kubectl(fresh.cluster.programs["kubectl"], logins["viewer"])
    assert viewer.phase("second") == "Synced"
    previewer = Kubectl(fresh.cluster.programs["kubectl"], logins["previewer"])
    for login, verb, what, allowed in (
        (viewer, "get", "secrets", False),
        (viewer, "impersonate", "serviceaccounts/rendimiento-addons", False),
        (viewer, "patch", "addons.rendimiento.ai", False),
        (previewer, "get", "secrets", True),
        (previewer, "create", "leases", False),
        (previewer, "patch", "addons.rendimiento.ai", False),
        (previewer, "patch", "addons.rendimiento.ai/status", False),
    ):
        assert login.can(verb, what, OWN_PLACE) == allowed, (verb, what)
    view = kubectl.get("clusterrole", "view")
    assert any("rendimiento.ai" in rule["apiGroups"] for rule in view["rules"]), "records are part of the role view"
    assert fresh.prepare({VIEWER_ROLE: []}) == ["removed ClusterRoleBinding rendimiento-addons-viewer"]
    assert not viewer.can("get", "addons.rendimiento.ai", OWN_PLACE)


def test_another_version_of_the_record_kind_loses_no_record(fresh: Fresh) -> None:
    kubectl = fresh.kubectl

    def state() -> tuple[Any, ...]:
        kind, records = kubectl.get("crd", CRD), kubectl.list(CRD)
        kept = [(one["metadata"]["uid"], one["spec"], one["status"]) for one in records]
        return kind["metadata"]["uid"], kind["status"]["storedVersions"], kept

    before = state()
    assert len(before[2]) == 2
    # An older one: fewer fields, fewer columns.
    current = kubectl.get("crd", CRD)
    older = copy.deepcopy(current)
    version = older["spec"]["versions"][0]
    del version["additionalPrinterColumns"][3:]
    del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["hookRuns"]
    _replace(kubectl, older)
    assert fresh.prepare() == [f"updated CustomResourceDefinition {CRD}"]
    assert state() == before
    assert kubectl.get("crd", CRD)["spec"] == current["spec"]

    # A newer one, in whose version records may be stored already.
    newer = kubectl.get("crd", CRD)
    later = copy.deepcopy(newer["spec"]["versions"][0])
    newer["spec"]["versions"] = [{**newer["spec"]["versions"][0], "storage": False}, {**later, "name": "v1beta1"}]
    _replace(kubectl, newer)
    with pytest.raises(BootstrapError, match="holds records in version v1beta1"):
        fresh.prepare()
    assert [record["metadata"]["uid"] for record in kubectl.list(CRD)] == [uid for uid, *_rest in before[2]]
    # Once nothing is stored in it any more, the version may go.
    for version in newer["spec"]["versions"]:
        version["storage"] = not version["storage"]
    _replace(kubectl, newer)
    migrated = json.dumps({"status": {"storedVersions": ["v1alpha1"]}})
    kubectl.run("patch", "crd", CRD, "--subresource=status", "--type=merge", f"--patch={migrated}")
    assert fresh.prepare() == [f"updated CustomResourceDefinition {CRD}"]
    assert state() == before


def test_taking_it_back_loses_no_record_unless_told_to(fresh: Fresh) -> None:
    kubectl = fresh.kubectl
    kubectl.run("--namespace", OWN_PLACE, "create", "configmap", "of-others")
    kind, key, place = f"CustomResourceDefinition {CRD}", f"Secret {OWN_PLACE}/addon-key", f"Namespace {OWN_PLACE}"

    mark = fresh.audit.mark()
    shown = fresh.take_back(check=True)
    assert not fresh.audit.since(mark).writes
    assert fresh.take_back() == shown
    gone = [title for title, became in shown.items() if became == "removed"]
    assert {title.partition(" ")[0] for title in gone} == {
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ServiceAccount",
    }
    for kept in (kind, key, place):
        assert shown[kept].startswith("kept there are 2 Addon records (first, second)"), shown
    assert {record["metadata"]["name"] for record in kubectl.list(CRD)} == {"first", "second"}
    assert [became for became in fresh.take_back().values() if became == "removed"] == [], "it was done already"

    # Prepared again, everything goes on with the same key and the same records.
    before = kubectl.get("secret", "addon-key", OWN_PLACE)["data"]
    assert f"created ServiceAccount {OWN_PLACE}/rendimiento-addons" in fresh.prepare()
    assert kubectl.get("secret", "addon-key", OWN_PLACE)["data"] == before

    told = fresh.take_back(purge=True)
    assert told["Addon first"] == told[kind] == told[key] == "removed"
    assert told[place] == f"kept others are in it: ConfigMap {OWN_PLACE}/of-others"
    assert kubectl.find("crd", CRD) is None
    assert kubectl.find("configmap", "settings", "second"), "what add-ons installed stays"
    kubectl.run("--namespace", OWN_PLACE, "delete", "configmap", "of-others")
    assert fresh.take_back() == {place: "removed"}
    assert kubectl.find("namespace", OWN_PLACE) is None
    assert fresh.take_back() == {}


def test_taking_it_back_loses_no_tombstone_unless_told_to(fresh: Fresh, tmp_path: Path) -> None:
    """Of an add-on that left git nothing else knows what it installed."""
    kubectl = fresh.kubectl
    fresh.prepare()
    buried = Record("left", "uid", "1", 1, {}, {}, {}, {"objects": []})
    bury(Client(resolve(fresh.access), files=tmp_path), OWN_PLACE, buried)
    key, tombstone, place = (
        f"Secret {OWN_PLACE}/addon-key",
        f"Secret {OWN_PLACE}/addon-left-tombstone",
        f"Namespace {OWN_PLACE}",
    )
    foreign = {"name": "of-others", "namespace": OWN_PLACE}
    of_others = {"apiVersion": "v1", "kind": "Secret", "metadata": foreign, "stringData": {"password": "swordfish"}}
    kubectl.run("apply", "--filename=-", text=json.dumps(of_others))
    before = kubectl.get("secret", "addon-key", OWN_PLACE)["data"]

    shown = fresh.take_back(check=True)
    assert fresh.take_back() == shown
    for kept in (key, tombstone, place):
        assert shown[kept].startswith("kept there is 1 tombstone (left), the only inventory"), shown
    assert shown[f"CustomResourceDefinition {CRD}"] == "removed", "it holds nothing"
    assert kubectl.find("secret", "addon-left-tombstone", OWN_PLACE)
    assert kubectl.get("secret", "addon-key", OWN_PLACE)["data"] == before

    told = fresh.take_back(purge=True)
    assert told == {key: "removed", tombstone: "removed", place: f"kept others are in it: Secret {OWN_PLACE}/of-others"}
    kubectl.run("--namespace", OWN_PLACE, "delete", "secret", "of-others")
    assert fresh.take_back() == {place: "removed"}


def test_the_playbook_takes_it_back_and_says_what_stays(fresh: Fresh) -> None:
    """In the namespace where the cluster's own users have rights, which are not the collection's."""
    subjects = [{"kind": "Group", "name": "developers"}]
    result, _requests = fresh.bootstrap(addon_viewer_subjects=subjects)
    assert result.succeeded().changed == 1
    bound = fresh.kubectl.get("clusterrolebinding", VIEWER_ROLE)["subjects"]
    assert [(one["kind"], one["name"]) for one in bound] == [("Group", "developers")]
    result, _requests = fresh.bootstrap(addon_bootstrap_state="absent")
    assert result.succeeded().changed == 1
    assert "Namespace rendimiento-system stay: others are in it: Role rendimiento-system/local-cluster" in " ".join(
        result.output.split()
    )
    assert fresh.kubectl.find("crd", CRD) is None


def _replace(kubectl: Kubectl, definition: dict[str, Any]) -> None:
    """Also with fewer fields than there were."""
    metadata = {"name": definition["metadata"]["name"]}
    kubectl.run("replace", "-f", "-", text=json.dumps({**definition, "metadata": metadata}))
