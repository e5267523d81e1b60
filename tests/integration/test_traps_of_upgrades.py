"""Traps that new versions of real add-ons set: what can't be changed in place, and APIs that move or go.

Each add-on here is small and sets one of them: an old version is synced, then the new one is previewed and synced.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster import Cluster
from tests.integration.kubectl import Kubectl, Object, inventory, wait_until
from tests.integration.objects import config_map, custom, custom_kind, deployment
from tests.integration.stage import Runs, Stage, actions, carried, item_of

pytestmark = pytest.mark.long

GROUP = "upgrades.test"
OTHER_GROUP = "moving.upgrades.test"
KINDS = (
    "deployments",
    "daemonsets",
    "statefulsets",
    "storageclasses",
    "configmaps",
    "customresourcedefinitions",
    "horizontalpodautoscalers",
)
DROPPED = f"upgradedones.{GROUP}"
MOVED = f"movedones.{OTHER_GROUP}"
GONE = f"goneones.{OTHER_GROUP}"
KEPT = f"keptones.{OTHER_GROUP}"
ROLLING = ("plain", "null", "edited", "templated", "adopted")


def daemon_set(name: str) -> Object:
    made = deployment(name)
    del made["spec"]["replicas"]
    return {**made, "kind": "DaemonSet"}


def stateful_set(name: str, service: str) -> Object:
    made = deployment(name)
    made["spec"] |= {"serviceName": service, "replicas": 0}
    return {**made, "kind": "StatefulSet"}


def selecting(made: Object, app: str) -> Object:
    made = copy.deepcopy(made)
    made["spec"]["selector"]["matchLabels"]["app"] = app
    made["spec"]["template"]["metadata"]["labels"]["app"] = app
    return made


def storage_class(name: str, pool: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, **metadata},
        "provisioner": "upgrades.test/none",
        "parameters": {"pool": pool},
    }


def in_versions(definition: Object, *names: str, unserved: str = "") -> Object:
    """The last of these versions is the one that is stored."""
    made = copy.deepcopy(definition)
    [version] = made["spec"]["versions"]
    made["spec"]["versions"] = [
        {**version, "name": name, "storage": name == names[-1], "served": name != unserved} for name in names
    ]
    return made


def in_version(made: Object, version: str) -> Object:
    return {**made, "apiVersion": f"{made['apiVersion'].partition('/')[0]}/{version}"}


def scaler(version: str) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "scaled"}
    spec: Object = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3}
    resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    if version == "v1":
        spec["targetCPUUtilizationPercentage"] = 50
    else:
        spec["metrics"] = [{"type": "Resource", "resource": resource}]
    kind = "HorizontalPodAutoscaler"
    return {"apiVersion": f"autoscaling/{version}", "kind": kind, "metadata": {"name": "scaler"}, "spec": spec}


def removed_kind() -> Object:
    spec = {rule: {"rule": "RunAsAny"} for rule in ("seLinux", "runAsUser", "fsGroup", "supplementalGroups")}
    metadata = {"name": "restricted"}
    return {"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": metadata, "spec": spec}


def recreated(made: Object, **strategy: Any) -> Object:
    made = copy.deepcopy(made)
    made["spec"]["strategy"] = {"type": "Recreate", **strategy}
    return made


def on_delete(made: Object) -> Object:
    made = copy.deepcopy(made)
    made["spec"]["updateStrategy"] = {"type": "OnDelete"}
    return made


@dataclass
class Upgrades:
    """Old versions are synced; new ones previewed and synced; then a version of a kind goes; then nothing is new."""

    old: dict[str, Object]
    preview: Runs
    new: Runs
    after: dict[str, Object]
    dropped: Runs
    at_last: dict[str, Object]
    records: dict[str, Object]


@pytest.fixture(scope="module")
def upgrades(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Upgrades:
    stage = Stage.of(tmp_path_factory.mktemp("upgrades"), "upgrades", bootstrapped, kubectl)
    made: dict[str, Any] = {"createNamespace": True, "wait": 0}
    kinds = {name: custom_kind(OTHER_GROUP, name) for name in ("MovedOne", "GoneOne", "KeptOne")}
    kubectl.create(in_versions(kinds["MovedOne"], "v1beta1", "v1"), kinds["GoneOne"])
    kubectl.create(in_versions(kinds["KeptOne"], "v1beta1", "v1"))
    for name in (MOVED, GONE, KEPT):
        kubectl.run("wait", "--for=condition=Established", f"crd/{name}")
    repository = stage.repository
    one = config_map("x", data={"version": "1"})

    for name in ("trap-21", "trap-21-asked"):
        fixed = [selecting(stateful_set("selected", "db"), "old"), stateful_set("served", "db")]
        repository.addon(name, deployment("web"), daemon_set("agent"), *fixed, storage_class(name, "a"), one, **made)
    for name in ROLLING[:-1]:
        repository.addon(f"trap-22-{name}", deployment("web"), **made)
    kubectl.run("create", "namespace", "trap-22-adopted")
    kubectl.create(deployment("web", "trap-22-adopted"))
    adopted = {"adopt": True, "allowAdoptChanges": True}
    repository.addon("trap-22-set", stateful_set("set", "db"), daemon_set("agent"), **made)
    dropped = custom_kind(GROUP, "UpgradedOne")
    early = in_version(custom(GROUP, "UpgradedOne", "a", size=1), "v1alpha1")
    repository.addon("trap-23", in_versions(dropped, "v1alpha1"), early, one, **made)
    moved = custom(OTHER_GROUP, "MovedOne", "a", size=1)
    repository.addon("trap-26", in_version(moved, "v1beta1"), deployment("scaled"), scaler("v1"), **made)
    kept = custom(OTHER_GROUP, "KeptOne", "a", size=1)
    repository.addon("trap-26-kept", in_version(kept, "v1beta1"), one, **made, prune=False)
    repository.addon("trap-26-old", in_version(kept, "v1beta1"), one, **made)
    repository.addon("trap-27", custom(OTHER_GROUP, "GoneOne", "a", size=1), one, **made)
    stage.sync()
    old = kubectl.everything(*KINDS)

    two = config_map("x", data={"version": "2"})
    fixed = [selecting(stateful_set("selected", "db"), "new"), stateful_set("served", "other")]
    workloads = [selecting(deployment("web"), "new"), selecting(daemon_set("agent"), "new"), *fixed]
    repository.addon("trap-21", *workloads, storage_class("trap-21", "b"), two, **made)
    asked = storage_class("trap-21-asked", "b", annotations={"rendimiento.ai/replace": "true"})
    unchanged = [deployment("web"), daemon_set("agent"), selecting(stateful_set("selected", "db"), "old")]
    repository.addon("trap-21-asked", *unchanged, stateful_set("served", "db"), asked, two, **made)
    kubectl.run(
        "--namespace", "trap-22-edited", "patch", "deployment", "web", "--field-manager=kubectl-edit",
        "--patch", '{"spec": {"strategy": {"rollingUpdate": {"maxSurge": 3}}}}',
    )  # fmt: skip
    for name in ("plain", "edited"):
        repository.addon(f"trap-22-{name}", recreated(deployment("web")), **made)
    repository.addon("trap-22-null", recreated(deployment("web"), rollingUpdate=None), **made)
    repository.addon("trap-22-templated", recreated(deployment("web", image="other", replicas=2)), **made)
    repository.addon("trap-22-adopted", recreated(deployment("web")), **adopted, wait=0)
    repository.addon("trap-22-set", on_delete(stateful_set("set", "db")), on_delete(daemon_set("agent")), **made)
    upgraded = custom(GROUP, "UpgradedOne", "a", size=1)
    repository.addon("trap-23", in_versions(dropped, "v1alpha1", "v1"), upgraded, one, **made)
    repository.addon("trap-26", moved, deployment("scaled"), scaler("v2"), **made)
    repository.addon("trap-26-kept", one, **made, prune=False)
    unserved = in_versions(kinds["KeptOne"], "v1beta1", "v1", unserved="v1beta1")["spec"]["versions"]
    kubectl.merge("crd", KEPT, {"spec": {"versions": unserved}})
    wait_until(lambda: not served(kubectl, f"{OTHER_GROUP}/v1beta1", "keptones"), "the old version is served no more")
    repository.addon("trap-27", two, **made)
    kubectl.run("delete", "crd", GONE)
    wait_until(lambda: not served(kubectl, f"{OTHER_GROUP}/v1", "goneones"), "the kind is gone")
    repository.addon("trap-27-old", removed_kind(), config_map("x"), **made)
    repository.addon("trap-27-version", in_version(scaler("v2"), "v2beta2"), config_map("x"), **made)
    preview = stage.preview()
    new = stage.sync()
    after = kubectl.everything(*KINDS)

    repository.addon("trap-23", in_versions(dropped, "v1"), custom(GROUP, "UpgradedOne", "a", size=2), two, **made)
    last = stage.sync()
    return Upgrades(
        old, preview, new, after, last, kubectl.everything(*KINDS), {name: kubectl.record(name) for name in last}
    )


def served(kubectl: Kubectl, api_version: str, plural: str) -> bool:
    """Whether the server says that it has a kind in this version."""
    found = json.loads(kubectl.run("get", "--raw", f"/apis/{OTHER_GROUP}"))["versions"]
    if api_version not in {each["groupVersion"] for each in found}:
        return False
    resources = json.loads(kubectl.run("get", "--raw", f"/apis/{api_version}"))["resources"]
    return plural in {each["name"] for each in resources}


# Trap 21


def test_trap_21_what_an_upgrade_cannot_change_in_place_is_shown_and_left_out(upgrades: Upgrades) -> None:
    for runs in (upgrades.preview, upgrades.new):
        blocked = carried(runs["trap-21"]).with_action("blocked")
        found = {f"{item.key.kind}/{item.key.name}": item.immutable for item in blocked}
        assert found == {
            "Deployment/web": ["spec.selector"],
            "DaemonSet/agent": ["spec.selector"],
            "StatefulSet/selected": ["spec.selector"],
            "StatefulSet/served": ["spec.serviceName"],
            "StorageClass/trap-21": ["parameters"],
        }
    assert upgrades.new["trap-21"].outcome.phase == "Error"
    assert upgrades.after["ConfigMap trap-21/x"]["data"] == {"version": "2"}
    for title, before in upgrades.old.items():
        if "trap-21" in title and not title.startswith("ConfigMap"):
            assert upgrades.after[title]["metadata"]["uid"] == before["metadata"]["uid"], title


def test_trap_21_a_storage_class_is_changed_by_hand_only(upgrades: Upgrades) -> None:
    item = item_of(upgrades.new["trap-21-asked"], "StorageClass", "trap-21-asked")
    assert (item.action, item.immutable) == ("blocked", ["parameters"])
    assert "A StorageClass is never deleted automatically" in item.reason
    title = "StorageClass trap-21-asked"
    assert upgrades.after[title]["parameters"] == {"pool": "a"}
    assert upgrades.after[title]["metadata"]["uid"] == upgrades.old[title]["metadata"]["uid"]
    assert upgrades.after["ConfigMap trap-21-asked/x"]["data"] == {"version": "2"}


# Trap 22


@pytest.mark.parametrize("name", ROLLING)
def test_trap_22_a_rolling_update_becomes_recreate(upgrades: Upgrades, kubectl: Kubectl, name: str) -> None:
    addon = f"trap-22-{name}"
    for runs in (upgrades.preview, upgrades.new):
        item = item_of(runs[addon], "Deployment", "web")
        assert (item.action, item.verdict, item.clears) == (
            "update",
            "verified",
            [("spec", "strategy", "rollingUpdate")],
        )
        lines = [line[:1] + line[1:].strip() for line in item.unified().splitlines()]
        assert "-rollingUpdate:" in lines and "+type: Recreate" in lines, lines
    title = f"Deployment {addon}/web"
    assert upgrades.new[addon].failure == ""
    assert upgrades.after[title]["spec"]["strategy"] == {"type": "Recreate"}
    assert item_of(upgrades.dropped[addon], "Deployment", "web").action == "unchanged"
    live = kubectl.get("deployment", "web", addon)
    if name != "adopted":
        assert live["metadata"]["uid"] == upgrades.old[title]["metadata"]["uid"]
    owners = {
        (entry["manager"], entry["operation"])
        for entry in live["metadata"]["managedFields"]
        if "f:strategy" in entry["fieldsV1"].get("f:spec", {})
    }
    assert owners == {("rendimiento-addons", "Apply")}


def test_trap_22_all_else_of_that_change_is_planned_and_applied_with_it(upgrades: Upgrades) -> None:
    item = item_of(upgrades.preview["trap-22-templated"], "Deployment", "web")
    changed = {operation["path"] for operation in item.patch}
    assert {"/spec/replicas", "/spec/template/spec/containers/0/image"} <= changed
    live = upgrades.after["Deployment trap-22-templated/web"]
    assert live["spec"]["replicas"] == 2
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "other"
    # One change, so that nothing was rolled out in the old way first.
    assert live["metadata"]["generation"] == 2


def test_trap_22_a_field_that_somebody_set_is_taken_and_told(upgrades: Upgrades) -> None:
    item = item_of(upgrades.preview["trap-22-edited"], "Deployment", "web")
    assert [(one.field, one.manager) for one in item.takes_over] == [(".spec.strategy.rollingUpdate", "kubectl-edit")]


def test_trap_22_stateful_sets_and_daemon_sets_become_on_delete(upgrades: Upgrades) -> None:
    run = upgrades.new["trap-22-set"]
    assert run.failure == ""
    assert item_of(run, "StatefulSet", "set").clears == [("spec", "updateStrategy", "rollingUpdate")]
    assert upgrades.after["StatefulSet trap-22-set/set"]["spec"]["updateStrategy"] == {"type": "OnDelete"}
    # The server takes both together, and says so.
    assert item_of(run, "DaemonSet", "agent").clears == []
    for title in ("StatefulSet trap-22-set/set", "DaemonSet trap-22-set/agent"):
        assert upgrades.after[title]["spec"]["updateStrategy"]["type"] == "OnDelete"
        assert upgrades.after[title]["metadata"]["uid"] == upgrades.old[title]["metadata"]["uid"]
    assert set(actions(upgrades.dropped["trap-22-set"]).values()) == {"unchanged"}


# Trap 23


def test_trap_23_a_definition_that_loses_a_stored_version_is_named_and_never_made_anew(upgrades: Upgrades) -> None:
    run = upgrades.dropped["trap-23"]
    item = item_of(run, "CustomResourceDefinition", DROPPED)
    assert (item.action, item.verdict, item.immutable) == ("blocked", "verified", ["spec.versions"])
    assert "stored as v1alpha1: migrate them" in item.reason
    assert "take v1alpha1 out of status.storedVersions" in item.reason
    assert run.outcome.phase == "Error" and DROPPED in run.failure
    title = f"CustomResourceDefinition {DROPPED}"
    assert upgrades.at_last[title]["metadata"]["uid"] == upgrades.after[title]["metadata"]["uid"]
    assert [each["name"] for each in upgrades.at_last[title]["spec"]["versions"]] == ["v1alpha1", "v1"]


def test_trap_23_what_does_not_depend_on_it_is_applied(upgrades: Upgrades, kubectl: Kubectl) -> None:
    assert upgrades.at_last["ConfigMap trap-23/x"]["data"] == {"version": "2"}
    item = item_of(upgrades.dropped["trap-23"], "UpgradedOne", "a")
    assert (item.action, item.held_by) == ("blocked", f"CustomResourceDefinition {DROPPED}")
    assert kubectl.get(DROPPED, "a", "trap-23")["spec"]["size"] == 1


# Trap 26


def test_trap_26_a_new_version_of_an_api_makes_no_new_object(upgrades: Upgrades, kubectl: Kubectl) -> None:
    for runs in (upgrades.preview, upgrades.new):
        found = actions(runs["trap-26"])
        assert set(found) == {
            "Namespace/trap-26", "MovedOne/a", "Deployment/scaled", "HorizontalPodAutoscaler/scaler"
        }  # fmt: skip
        assert {found["MovedOne/a"], found["HorizontalPodAutoscaler/scaler"]} <= {"adopt", "update"}
        assert carried(runs["trap-26"]).gone == []
    assert upgrades.new["trap-26"].failure == ""
    title = "HorizontalPodAutoscaler trap-26/scaler"
    assert upgrades.after[title]["metadata"]["uid"] == upgrades.old[title]["metadata"]["uid"]
    entries = {entry["kind"]: entry for entry in upgrades.records["trap-26"]["status"]["objects"]}
    assert entries["HorizontalPodAutoscaler"]["version"] == "v2"
    assert entries["MovedOne"]["version"] == "v1"
    assert entries["MovedOne"]["uid"] == kubectl.get(MOVED, "a", "trap-26")["metadata"]["uid"]
    assert set(actions(upgrades.dropped["trap-26"]).values()) == {"unchanged"}


def test_trap_26_what_was_applied_in_a_version_that_went_is_not_gone(upgrades: Upgrades, kubectl: Kubectl) -> None:
    item = item_of(upgrades.new["trap-26-kept"], "KeptOne", "a")
    assert (item.action, item.reason) == ("keep", "left the source; prune is off")
    assert carried(upgrades.new["trap-26-kept"]).gone == []
    assert inventory(upgrades.records["trap-26-kept"])["KeptOne trap-26-kept/a"] == "stale"
    assert kubectl.find(KEPT, "a", "trap-26-kept")


def test_trap_26_a_source_that_still_has_it_is_told_what_is_served(upgrades: Upgrades, kubectl: Kubectl) -> None:
    item = item_of(upgrades.new["trap-26-old"], "KeptOne", "a")
    assert item.action == "blocked"
    assert "It serves v1: change apiVersion" in item.reason
    assert kubectl.find(KEPT, "a", "trap-26-old")


# Trap 27


def test_trap_27_entries_of_kinds_that_are_gone_are_dropped_with_a_note(upgrades: Upgrades) -> None:
    run = upgrades.new["trap-27"]
    assert (run.failure, run.outcome.phase) == ("", "Synced")
    assert [str(key) for key in carried(upgrades.preview["trap-27"]).gone] == ["GoneOne trap-27/a"]
    assert "GoneOne trap-27/a" not in inventory(upgrades.records["trap-27"])


def test_trap_27_a_kind_that_kubernetes_has_no_more_is_told_as_such(upgrades: Upgrades) -> None:
    item = item_of(upgrades.preview["trap-27-old"], "PodSecurityPolicy", "restricted")
    assert (item.action, item.verdict) == ("blocked", "verified")
    assert "PodSecurityPolicy of policy/v1beta1 is a kind of Kubernetes itself that v1.37" in item.reason
    assert "Leave it out of the source" in item.reason
    item = item_of(upgrades.preview["trap-27-version"], "HorizontalPodAutoscaler", "scaler")
    assert "It serves v2, v1: change apiVersion" in item.reason
