"""What can't be changed in place: refused with its field, left out while the rest goes on, or made anew where asked.

And what has no old object to change: finished Jobs that are gone, and objects that are being deleted.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster import Cluster
from tests.integration.kubectl import Kubectl, Object, inventory
from tests.integration.objects import config_map, deployment, job, volume
from tests.integration.stage import Runs, Stage, actions, carried, item_of

REPLACE = {"rendimiento.ai/replace": "true"}
GROUP = "replacing.test"
CLASS = "replacing"
KINDS = ("statefulsets", "deployments", "daemonsets", "jobs", "configmaps", "persistentvolumeclaims", "pods")


def stateful_set(name: str, *, storage: str = "1Gi", service: str = "db", app: str = "", **spec: Any) -> Object:
    labels = {"app": app or name}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "serviceName": service,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {**claim, "storageClassName": CLASS}}],
            **spec,
        },
    }


def selecting(made: Object, app: str) -> Object:
    """The same workload with another selector."""
    made = copy.deepcopy(made)
    made["spec"]["selector"]["matchLabels"]["app"] = app
    made["spec"]["template"]["metadata"]["labels"]["app"] = app
    return made


def running(made: Object, image: str) -> Object:
    made = copy.deepcopy(made)
    made["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return made


def replaceable(made: Object) -> Object:
    made = copy.deepcopy(made)
    made["metadata"].setdefault("annotations", {}).update(REPLACE)
    return made


# B33


B33_OBJECTS = (stateful_set("db"), job("migrate"), deployment("web"), config_map("x", data={"version": "1"}))
B33_CHANGED = (
    stateful_set("db", storage="2Gi"),
    running(job("migrate"), "other"),
    selecting(deployment("web"), "other"),
)
B33_FIELDS = {
    "StatefulSet/db": "spec.volumeClaimTemplates",
    "Job/migrate": "spec.template",
    "Deployment/web": "spec.selector",
}


@dataclass
class Replacing:
    first: dict[str, Object]
    preview: Runs
    second: Runs
    after: dict[str, Object]
    again: Runs
    at_last: dict[str, Object]
    records: dict[str, Object]


NAMES = ("b33", "b33-asked", "b33-needed", "b33-wrong", "b33-kept", "b33-selector", "b33-claims")


@pytest.fixture(scope="module")
def b33(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Replacing:
    stage = Stage.of(tmp_path_factory.mktemp("b33"), "b33", bootstrapped, kubectl)
    for number in range(5):
        there = volume(f"replacing-{number}")
        there["spec"] |= {"storageClassName": CLASS, "capacity": {"storage": "5Gi"}}
        kubectl.create(there)
    made: dict[str, Any] = {"createNamespace": True, "wait": 30}
    repository = stage.repository
    for name in ("b33", "b33-asked"):
        repository.addon(name, *B33_OBJECTS, config_map("old"), **made)
    using = deployment("using")
    using["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "frozen"}}]
    frozen = {**config_map("frozen", data={"a": "1"}), "immutable": True}
    repository.addon("b33-needed", frozen, using, config_map("x", data={"version": "1"}), **made)
    repository.addon("b33-wrong", deployment("web"), config_map("x", data={"version": "1"}), **made)
    repository.addon("b33-kept", deployment("web"), config_map("x", data={"version": "1"}), **made)
    repository.addon("b33-selector", stateful_set("db"), **made)
    deleting: dict[str, Any] = {
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}
    }
    repository.addon("b33-claims", stateful_set("one", **deleting), stateful_set("two", **deleting), **made)
    stage.sync()
    first = kubectl.everything(*KINDS)
    record = kubectl.record("b33-asked")
    assert {name: kubectl.phase(name) for name in NAMES} == dict.fromkeys(NAMES, "Synced"), record["status"]

    changed_map = config_map("x", data={"version": "2"})
    repository.addon("b33", *B33_CHANGED, changed_map, **made)
    repository.addon("b33-asked", *map(replaceable, B33_CHANGED), changed_map, **made)
    repository.addon("b33-needed", {**frozen, "data": {"a": "2"}}, running(using, "other"), changed_map, **made)
    # Wrong in itself, and asked to be replaced: that must not cost the one that runs.
    wrong = replaceable(selecting(deployment("web"), "other"))
    wrong["spec"]["replicas"] = -1
    repository.addon("b33-wrong", wrong, changed_map, **made)
    kept = replaceable(selecting(deployment("web"), "other"))
    kept["metadata"]["annotations"]["helm.sh/resource-policy"] = "keep"
    kubectl.run("--namespace", "b33-kept", "annotate", "deployment", "web", "helm.sh/resource-policy=keep")
    repository.addon("b33-kept", kept, changed_map, **made)
    repository.addon("b33-selector", replaceable(selecting(stateful_set("db"), "other")), **made)
    orphaned = replaceable(stateful_set("one", service="other", **deleting))
    refused = replaceable(selecting(stateful_set("two", **deleting), "other"))
    repository.addon("b33-claims", orphaned, refused, **made)
    preview = stage.preview()
    second = stage.sync()
    after = kubectl.everything(*KINDS)
    again = stage.sync()
    return Replacing(
        first, preview, second, after, again, kubectl.everything(*KINDS), {name: kubectl.record(name) for name in NAMES}
    )


def test_b33_the_preview_lists_what_cannot_be_changed_in_place_with_its_field(b33: Replacing) -> None:
    for run in (b33.preview["b33"], b33.second["b33"]):
        assert {f"{item.key.kind}/{item.key.name}": item.immutable for item in carried(run).with_action("blocked")} == {
            title: [field] for title, field in B33_FIELDS.items()
        }
        for title, name in B33_FIELDS.items():
            item = item_of(run, *title.split("/"))
            assert item.verdict == "verified"
            assert f"{name} can't be changed in place (" in item.reason
            assert 'set annotation rendimiento.ai/replace: "true"' in item.reason
            assert "\n" not in item.reason
    assert b33.preview["b33"].outcome.phase == "Error"


def test_b33_everything_else_is_applied_and_the_result_failed(b33: Replacing) -> None:
    assert b33.after["ConfigMap b33/x"]["data"] == {"version": "2"}
    run = b33.second["b33"]
    assert (run.outcome.phase, run.failure) == ("Error", run.outcome.error)
    assert f"StatefulSet b33/db: {B33_FIELDS['StatefulSet/db']} can't be changed in place" in run.failure
    assert "(and 2 more left out)" in run.failure
    for title in ("StatefulSet b33/db", "Job b33/migrate", "Deployment b33/web"):
        assert b33.after[title]["metadata"]["uid"] == b33.first[title]["metadata"]["uid"]
        assert b33.after[title]["spec"] == b33.first[title]["spec"]


def test_b33_nothing_is_pruned_in_such_a_run_and_the_preview_says_so(b33: Replacing) -> None:
    for runs in (b33.preview, b33.second, b33.again):
        item = item_of(runs["b33"], "ConfigMap", "old")
        assert (item.action, item.reason) == ("keep", "left the source; stays until StatefulSet b33/db can be applied")
    assert "ConfigMap b33/old" in b33.at_last
    assert inventory(b33.records["b33"])["ConfigMap b33/old"] == "stale"


def test_b33_the_next_run_says_the_same_and_writes_nothing(b33: Replacing) -> None:
    assert b33.again["b33"].failure == b33.second["b33"].failure
    assert not b33.again["b33"].outcome.changed
    assert len(b33.records["b33"]["status"]["history"]) == 2


def test_b33_asked_for_the_preview_shows_delete_and_create_with_the_difference(b33: Replacing) -> None:
    run = b33.preview["b33-asked"]
    assert actions(run) == {
        "Namespace/b33-asked": "unchanged",
        "StatefulSet/db": "replace",
        "Job/migrate": "replace",
        "Deployment/web": "replace",
        "ConfigMap/x": "update",
        "ConfigMap/old": "prune",
    }
    cascades = {title: item_of(run, *title.split("/")).cascade for title in B33_FIELDS}
    assert cascades == {"StatefulSet/db": "Orphan", "Job/migrate": "Foreground", "Deployment/web": "Foreground"}
    for title, name in B33_FIELDS.items():
        item = item_of(run, *title.split("/"))
        assert (item.verdict, item.immutable) == ("verified", [name])
        assert f"{name} can't be changed in place, so it is deleted and made anew; its pods" in item.reason
    shown = {
        "StatefulSet/db": ("storage: 1Gi", "storage: 2Gi"),
        "Job/migrate": ("image: none", "image: other"),
        "Deployment/web": ("app: web", "app: other"),
    }
    for title, (old, new) in shown.items():
        lines = [line[:1] + line[1:].strip(" -") for line in item_of(run, *title.split("/")).unified().splitlines()]
        assert f"-{old}" in lines and f"+{new}" in lines, lines


def test_b33_asked_for_it_is_done(b33: Replacing) -> None:
    run = b33.second["b33-asked"]
    assert (run.failure, run.outcome.phase) == ("", "Synced")
    for title in ("StatefulSet b33-asked/db", "Job b33-asked/migrate", "Deployment b33-asked/web"):
        assert b33.after[title]["metadata"]["uid"] != b33.first[title]["metadata"]["uid"]
    [claim] = b33.after["StatefulSet b33-asked/db"]["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert "ConfigMap b33-asked/old" not in b33.after
    assert set(actions(b33.again["b33-asked"]).values()) == {"unchanged"}


@pytest.mark.parametrize(("addon", "name"), [("b33-asked", "db"), ("b33-claims", "one")])
def test_b33_the_pods_and_claims_of_a_stateful_set_stay(b33: Replacing, addon: str, name: str) -> None:
    """Also when it says that its claims go when it is deleted."""
    for title in (f"Pod {addon}/{name}-0", f"PersistentVolumeClaim {addon}/data-{name}-0"):
        assert title in b33.first
        assert b33.at_last[title]["metadata"]["uid"] == b33.first[title]["metadata"]["uid"], title
    [owner] = b33.at_last[f"Pod {addon}/{name}-0"]["metadata"]["ownerReferences"]
    assert owner["uid"] == b33.at_last[f"StatefulSet {addon}/{name}"]["metadata"]["uid"]


def test_b33_pods_that_the_new_stateful_set_does_not_select_go_and_their_claims_stay(b33: Replacing) -> None:
    item = item_of(b33.preview["b33-selector"], "StatefulSet", "db")
    assert (item.action, item.cascade) == ("replace", "Foreground")
    assert "its claims stay" in item.reason
    assert b33.second["b33-selector"].outcome.phase == "Synced"
    pod, claim = "Pod b33-selector/db-0", "PersistentVolumeClaim b33-selector/data-db-0"
    assert b33.at_last[pod]["metadata"]["labels"]["app"] == "other"
    assert b33.at_last[claim]["metadata"]["uid"] == b33.first[claim]["metadata"]["uid"]


def test_b33_a_stateful_set_whose_claims_would_go_stays(b33: Replacing) -> None:
    item = item_of(b33.second["b33-claims"], "StatefulSet", "two")
    assert item.action == "blocked"
    assert "its PersistentVolumeClaims would go with it" in item.reason
    title = "StatefulSet b33-claims/two"
    assert b33.at_last[title]["metadata"]["uid"] == b33.first[title]["metadata"]["uid"]


def test_b33_what_needs_a_left_out_object_is_left_out_with_it(b33: Replacing) -> None:
    run = b33.second["b33-needed"]
    assert item_of(run, "ConfigMap", "frozen").immutable == ["data"]
    item = item_of(run, "Deployment", "using")
    assert (item.action, item.held_by) == ("blocked", "ConfigMap b33-needed/frozen")
    assert "needs ConfigMap b33-needed/frozen" in item.reason
    assert b33.after["ConfigMap b33-needed/x"]["data"] == {"version": "2"}
    [container] = b33.after["Deployment b33-needed/using"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "none"
    assert "ConfigMap b33-needed/frozen" in run.failure


def test_b33_a_wrong_object_is_never_replaced_and_stops_the_addon(b33: Replacing) -> None:
    run = b33.second["b33-wrong"]
    item = item_of(run, "Deployment", "web")
    assert (item.action, item.immutable) == ("blocked", [])
    assert "spec.replicas" in item.reason and "the API server refuses it" in item.reason
    assert carried(run).gate == "refused"
    for title in ("Deployment b33-wrong/web", "ConfigMap b33-wrong/x"):
        assert b33.at_last[title]["metadata"]["uid"] == b33.first[title]["metadata"]["uid"]
        assert b33.at_last[title].get("data") == b33.first[title].get("data")


def test_b33_what_is_to_be_kept_is_not_replaced(b33: Replacing) -> None:
    item = item_of(b33.second["b33-kept"], "Deployment", "web")
    assert item.action == "blocked"
    assert "annotation helm.sh/resource-policy: keep" in item.reason
    title = "Deployment b33-kept/web"
    assert b33.at_last[title]["metadata"]["uid"] == b33.first[title]["metadata"]["uid"]


# B29


CLAIMS = ("same", "less", "more", "class", "unbound", "grown")


def claim(storage: str, **spec: Any) -> Object:
    made = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "p"}, "spec": made}


def storage_class(name: str, **fields: Any) -> Object:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    return {**kind, "metadata": {"name": name}, "provisioner": "replacing.test/none", **fields}


@dataclass
class Claims:
    before: dict[str, Object]
    preview: Runs
    sync: Runs
    after: dict[str, Object]


@pytest.fixture(scope="module")
def b29(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Claims:
    """Claims that somebody made: of a default class, and bound to a volume by its name, as no source has it."""
    stage = Stage.of(tmp_path_factory.mktemp("b29"), "b29", bootstrapped, kubectl)
    default = "storageclass.kubernetes.io/is-default-class"
    kubectl.create(storage_class("b29-std"), storage_class("b29-growing", allowVolumeExpansion=True))
    kubectl.run("annotate", "storageclass", "b29-std", f"{default}=true")
    for name in CLAIMS:
        kubectl.run("create", "namespace", f"b29-{name}")
        kubectl.run("--namespace", f"b29-{name}", "create", "configmap", "other", "--from-literal=version=1")
        growing = {"storageClassName": "b29-growing"} if name == "grown" else {}
        kubectl.run("--namespace", f"b29-{name}", "apply", "-f", "-", text=json.dumps(claim("10Gi", **growing)))
        if name == "unbound":
            continue
        there = volume(f"b29-{name}")
        claimed = {"namespace": f"b29-{name}", "name": "p"}
        there["spec"] |= {"storageClassName": growing.get("storageClassName", "b29-std"), "claimRef": claimed}
        there["spec"]["capacity"] = {"storage": "10Gi"}
        kubectl.create(there)
        kubectl.merge("persistentvolumeclaim", "p", {"spec": {"volumeName": f"b29-{name}"}}, f"b29-{name}")
    kubectl.run("annotate", "storageclass", "b29-std", f"{default}-")
    for name in CLAIMS:
        if name != "unbound":
            kubectl.run("--namespace", f"b29-{name}", "wait", "--for=jsonpath={.status.phase}=Bound", "pvc/p")
    before = kubectl.everything("persistentvolumeclaims")
    sources = {
        "same": claim("10Gi"),
        "less": claim("8Gi"),
        "more": claim("12Gi"),
        "class": claim("10Gi", storageClassName=""),
        "unbound": replaceable(claim("12Gi")),
        "grown": claim("12Gi", storageClassName="b29-growing"),
    }
    for name, source in sources.items():
        allowed = {"adopt": True, "allowAdoptChanges": name != "same", "wait": 0}
        version = "1" if name == "same" else "2"
        stage.repository.addon(f"b29-{name}", source, config_map("other", data={"version": version}), **allowed)
    preview = stage.preview()
    return Claims(before, preview, stage.sync(), kubectl.everything("persistentvolumeclaims", "configmaps"))


def test_b29_a_bound_claim_shows_no_difference_to_its_source(b29: Claims) -> None:
    item = item_of(b29.preview["b29-same"], "PersistentVolumeClaim", "p")
    assert (item.action, item.verdict, item.patch) == ("adopt", "verified", [])
    assert (b29.sync["b29-same"].failure, b29.sync["b29-same"].outcome.phase) == ("", "Synced")


@pytest.mark.parametrize(
    ("name", "field", "said"),
    [
        ("less", "spec.resources.requests.storage", "field can not be less than status.capacity"),
        ("more", "spec.resources.requests.storage", "only dynamically provisioned pvc can be resized"),
        ("class", "spec", "spec is immutable after creation"),
        ("unbound", "spec", "except resources.requests"),
    ],
)
def test_b29_what_the_server_says_of_each_change_is_shown(b29: Claims, name: str, field: str, said: str) -> None:
    for runs in (b29.preview, b29.sync):
        item = item_of(runs[f"b29-{name}"], "PersistentVolumeClaim", "p")
        assert (item.action, item.verdict, item.immutable) == ("blocked", "verified", [field])
        assert said in item.reason and "\n" not in item.reason
        assert "A PersistentVolumeClaim is never deleted automatically" in item.reason
    assert b29.sync[f"b29-{name}"].outcome.phase == "Error"


def test_b29_a_claim_that_can_grow_grows(b29: Claims) -> None:
    item = item_of(b29.sync["b29-grown"], "PersistentVolumeClaim", "p")
    assert (item.action, item.verdict) == ("update", "verified")
    found = b29.after["PersistentVolumeClaim b29-grown/p"]
    assert found["spec"]["resources"]["requests"]["storage"] == "12Gi"


def test_b29_no_claim_is_made_anew_and_other_objects_proceed(b29: Claims) -> None:
    for name in CLAIMS:
        title = f"PersistentVolumeClaim b29-{name}/p"
        assert b29.after[title]["metadata"]["uid"] == b29.before[title]["metadata"]["uid"]
        wanted = "1" if name == "same" else "2"
        assert b29.after[f"ConfigMap b29-{name}/other"]["data"] == {"version": wanted}
