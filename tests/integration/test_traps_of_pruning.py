"""Objects that are not simply deleted: traps that real add-ons set, and what holds an object that is to go."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.kubectl import Kubectl, Object, wait_until
from tests.integration.objects import config_map, custom, custom_kind, deployment, job, service, volume, volume_claim
from tests.integration.stage import Runs, Stage, all_synced, kept, planned, pruned

GROUP = "leaving.example.com"
HOLD = "leaving.example.com/hold"
REFUSING = "leaving-refused"
API = "leaving-api.example.com"
RBAC = "rbac.authorization.k8s.io"
STAYS = config_map("stays")


def operator(namespace: str) -> list[Object]:
    """A kind's operator with its rights, its webhook, and what it only has besides."""
    place = {"name": "operator", "namespace": namespace}
    subject = {"kind": "ServiceAccount", **place}
    made = deployment("operator", namespace)
    made["spec"]["template"]["spec"] |= {"serviceAccountName": "operator"}
    client = {"service": {**place, "port": 443}}
    rule = {"apiGroups": ["nothing.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["no"]}
    webhook = {"name": "hook.leaving.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None"}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place},
        {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": place, "rules": []},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": place,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "operator"},
            "subjects": [subject],
        },
        made,
        service("operator", namespace, port=443),
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": namespace},
            "webhooks": [{**webhook, "clientConfig": client, "rules": [rule], "failurePolicy": "Ignore"}],
        },
        config_map("unrelated", namespace),
    ]


def answered_api() -> list[Object]:
    """An API with what answers it. Nobody really does, so its Service is not named: it would hold up all namespaces."""
    spec = {"group": API, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100}
    api = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"v1.{API}"}}
    return [{**api, "spec": spec}, deployment("answers"), service("answers")]


def claiming(name: str) -> Object:
    labels = {"app": name}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    spec = {
        "replicas": 1,
        "serviceName": name,
        "selector": {"matchLabels": labels},
        "template": template,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}


def scaler(version: str) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3}
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "moves"},
        "spec": spec,
    }


def two_versions(*served: str) -> Object:
    kind = custom_kind("moving.example.com", "Mover")
    (version,) = kind["spec"]["versions"]
    versions = [
        {**version, "name": name, "served": name in served, "storage": name == "v1"} for name in ("v1", "v1beta1")
    ]
    return {**kind, "spec": {**kind["spec"], "versions": versions}}


def refusing_policy() -> list[Object]:
    """Refuses to delete what carries a label."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
    labelled = {"resourceRules": [rule], "objectSelector": {"matchLabels": {REFUSING: "yes"}}}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": labelled,
        "validations": [{"expression": "false", "message": "this one is never deleted"}],
    }
    api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": REFUSING}}
    binding = {"policyName": REFUSING, "validationActions": ["Deny"]}
    return [
        {**api, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**api, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]


def owned_by(owner: Object, made: Object, **reference: Any) -> Object:
    metadata = {name: owner["metadata"][name] for name in ("name", "uid")}
    entry = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **metadata, **reference}
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [entry]}}


def hold(kubectl: Kubectl, kind: str, name: str, namespace: str, *finalizers: str) -> None:
    kubectl.merge(kind, name, {"metadata": {"finalizers": list(finalizers)}}, namespace)


@contextmanager
def making_again(kubectl: Kubectl, name: str, namespace: str) -> Iterator[None]:
    """A controller that lets go of a ConfigMap when it is deleted, and makes it again at once."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.05):
            live = kubectl.find("configmap", name, namespace)
            if live and live["metadata"].get("deletionTimestamp"):
                hold(kubectl, "configmap", name, namespace)
                wait_until(lambda: kubectl.find("configmap", name, namespace) is None, "it is gone", poll=0.01)
                kubectl.create(config_map(name, namespace))
                return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True)
class Story:
    """What left the source is held; nothing has changed; what held it lets go."""

    stage: Stage
    preview: Runs
    stuck: Runs
    states: dict[str, dict[str, str]]
    asked: Requests
    again: Runs
    asked_again: Requests
    free: Runs
    asked_then: Requests


@pytest.fixture(scope="module")
def story(bootstrapped: Cluster, kubectl: Kubectl, audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Story:
    stage = Stage.of(tmp_path_factory.mktemp("traps"), "traps-of-pruning", bootstrapped, kubectl)
    reserved = volume("trap-25-store")
    reserved["spec"]["claimRef"] = {"namespace": "trap-25", "name": "data-store-0"}
    kubectl.create(reserved, *refusing_policy(), two_versions("v1", "v1beta1"))
    kubectl.run("create", "namespace", "leaving-doomed")
    kubectl.run("wait", "--for=condition=Established", "crd/movers.moving.example.com")
    wait_until(lambda: "movers" in kubectl.run("api-resources", "--output=name"), "the kind is served")

    def leaving(name: str, *objects: Object, **fields: Any) -> None:
        stage.addon(name, STAYS, *objects, **{"wait": 3, "maxDelete": 20, **fields})

    mover = {**custom("moving.example.com", "Mover", "m", size=1), "apiVersion": "moving.example.com/v1beta1"}
    kinds = [custom_kind(GROUP, kind) for kind in ("Database", "Foreign")]
    leaving("leaving-kinds", *kinds)
    leaving("trap-24", custom_kind("trap-24.example.com", "Own"))
    leaving("trap-25", claiming("store"), volume("trap-25"), volume_claim("data", volume="trap-25"), wait=60)
    leaving("trap-26", scaler("v1"), mover)
    leaving("trap-27")
    needing = {"dependsOn": ["leaving-kinds"]}
    ordered = [custom(GROUP, "Database", "d", size=1), *operator("leaving-order"), job("worked")]
    leaving("leaving-order", *ordered, wait=60, **needing)
    leaving("leaving-data", *(custom(GROUP, "Database", name) for name in ("owner", "above", "bare")), **needing)
    leaving("leaving-plain", config_map("owner"), deployment("owner"), config_map("bare"), wait=60)
    leaving("leaving-owned", config_map("made"), config_map("copied"))
    leaving("leaving-partly", config_map("a"), config_map("b", labels={REFUSING: "yes"}), config_map("c"))
    leaving("leaving-again", config_map("again"))
    leaving("leaving-place", config_map("there", "leaving-doomed"))
    leaving("leaving-api", *answered_api(), wait=60)
    all_synced(stage.sync())

    kubectl.create(custom("trap-24.example.com", "Own", "theirs", "default", size=7))
    hold(kubectl, f"database.{GROUP}", "d", "leaving-order", HOLD)
    hold(kubectl, "configmap", "again", "leaving-again", HOLD)
    owner, above = (kubectl.get(f"database.{GROUP}", name, "leaving-data") for name in ("owner", "above"))
    kubectl.create(owned_by(owner, volume_claim("direct", "leaving-data", volume="nowhere")))
    kubectl.create(owned_by(above, config_map("between", "leaving-data")))
    between = kubectl.get("configmap", "between", "leaving-data")
    kubectl.create(owned_by(between, volume_claim("indirect", "leaving-data", volume="nowhere")))
    for kind in ("configmap", "deployment"):
        claim = volume_claim(f"of-{kind}", "leaving-plain", volume="nowhere")
        kubectl.create(owned_by(kubectl.get(kind, "owner", "leaving-plain"), claim))
    made_by = kubectl.get("configmap", "stays", "leaving-owned")
    for name, controller in (("made", True), ("copied", False)):
        references = owned_by(made_by, config_map(name), controller=controller)["metadata"]["ownerReferences"]
        kubectl.merge("configmap", name, {"metadata": {"ownerReferences": references}}, "leaving-owned")
    hold(kubectl, "configmap", "there", "leaving-doomed", HOLD)
    kubectl.run("delete", "namespace", "leaving-doomed", "--wait=false")
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", text=json.dumps(two_versions("v1")))
    record = kubectl.record("trap-27")["status"]["objects"]
    old = {"group": "policy", "version": "v1beta1", "kind": "PodSecurityPolicy", "name": "old", "state": "applied"}
    patch = json.dumps({"status": {"objects": [*record, {**old, "uid": "1"}]}})
    kubectl.run("patch", "radd", "trap-27", "--subresource=status", "--type=merge", f"--patch={patch}")

    leaving("leaving-kinds", *kinds)
    for name in ("trap-24", "trap-25", "trap-27", "leaving-owned", "leaving-partly", "leaving-again", "leaving-place"):
        leaving(name)
    for name in ("leaving-api", "leaving-plain"):
        leaving(name, wait=60)
    leaving("trap-26", scaler("v2"))
    for name in ("leaving-order", "leaving-data"):
        leaving(name, **needing)
    preview = stage.preview()
    mark = audit.mark()
    with making_again(kubectl, "again", "leaving-again"):
        stuck = stage.sync()
    asked = audit.since(mark)
    states = {name: stage.inventory(name) for name in stuck}

    mark = audit.mark()
    again = stage.sync()
    asked_again = audit.since(mark)

    hold(kubectl, f"database.{GROUP}", "d", "leaving-order")
    hold(kubectl, "configmap", "there", "leaving-doomed")
    kubectl.run("delete", "validatingadmissionpolicybinding", REFUSING)
    wait_until(lambda: kubectl.find("namespace", "leaving-doomed") is None, "the namespace is gone", seconds=60)
    mark = audit.mark()
    free = stage.sync()
    return Story(stage, preview, stuck, states, asked, again, asked_again, free, audit.since(mark))


def deleted(requests: Requests, namespace: str) -> list[tuple[str, str]]:
    """What was asked to be deleted, in the order of the answers."""
    return [
        (one.resource, one.name) for one in requests if one.verb == "delete" and namespace in (one.namespace, one.name)
    ]


def test_trap_24_a_kind_that_leaves_the_source_stays_with_everybodys_objects(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.stuck, ["trap-24"])
    title = "CustomResourceDefinition owns.trap-24.example.com"
    assert planned(story.preview["trap-24"])[title] == "keep"
    assert "protected kind" in kept(story.stuck["trap-24"])[title]
    assert story.states["trap-24"][title] == "retained"
    assert kubectl.get("own.trap-24.example.com", "theirs", "default")["spec"] == {"size": 7}
    assert kept(story.free["trap-24"]).keys() == {title}, "it is told again in each run"


def test_trap_25_claims_that_leave_the_source_stay(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.stuck, ["trap-25"])
    assert kept(story.stuck["trap-25"]).keys() == {"PersistentVolume trap-25", "PersistentVolumeClaim trap-25/data"}
    assert story.states["trap-25"]["PersistentVolumeClaim trap-25/data"] == "retained"
    assert kubectl.get("pvc", "data", "trap-25")["status"]["phase"] == "Bound"


def test_trap_25_so_do_those_that_a_stateful_set_made(story: Story, kubectl: Kubectl) -> None:
    assert pruned(story.stuck["trap-25"]) == ["StatefulSet trap-25/store"]
    assert "deletionTimestamp" not in kubectl.get("pvc", "data-store-0", "trap-25")["metadata"]
    assert kubectl.list("pods", "app=store", "trap-25") == [], "its pods went first"


def test_trap_26_another_api_version_is_the_same_object(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.stuck, ["trap-26"])
    assert "HorizontalPodAutoscaler trap-26/moves" not in pruned(story.stuck["trap-26"])
    assert kubectl.find("hpa", "moves", "trap-26")


def test_trap_26_a_version_that_is_not_served_any_more_is_not_gone(story: Story, kubectl: Kubectl) -> None:
    assert pruned(story.stuck["trap-26"]) == ["Mover trap-26/m"]
    assert kubectl.find("mover.moving.example.com", "m", "trap-26") is None


def test_trap_27_a_kind_that_no_longer_exists_is_let_go_of_with_a_note(story: Story) -> None:
    all_synced(story.stuck, ["trap-27"])
    assert story.stuck["trap-27"].outcome.notes == ["PodSecurityPolicy old: its kind is not served any more"]
    assert "PodSecurityPolicy old" not in story.states["trap-27"]


def test_what_is_held_is_told_with_its_finalizer_and_what_waits_for_it(story: Story) -> None:
    failure = story.stuck["leaving-order"].failure
    assert "Database leaving-order/d: is still there " in failure
    assert f"waits for finalizers {HOLD}. Not tried yet, because they come after those: " in failure
    assert story.states["leaving-order"]["Database leaving-order/d"] == "pruning"
    assert story.states["leaving-order"]["Deployment leaving-order/operator"] == "applied"


def test_what_finishes_an_object_outlives_it_and_webhooks_go_first(story: Story) -> None:
    first, then = (deleted(requests, "leaving-order") for requests in (story.asked, story.asked_then))
    assert first[0] == ("validatingwebhookconfigurations", "leaving-order")
    assert {("databases", "d"), ("configmaps", "unrelated")} < set(first)
    assert not {"deployments", "services", "serviceaccounts", "roles", "rolebindings"} & {kind for kind, _ in first}
    order = [kind for kind, _name in then]
    assert order.index("deployments") < order.index("rolebindings") < order.index("roles")
    assert order.index("deployments") < order.index("serviceaccounts")
    all_synced(story.free, ["leaving-order"])
    assert story.stage.inventory("leaving-order").keys() == {"ConfigMap leaving-order/stays", "Namespace leaving-order"}


def test_an_api_is_deleted_before_what_answers_it(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.stuck, ["leaving-api"])
    order = [kind for kind, _name in (*deleted(story.asked, f"v1.{API}"), *deleted(story.asked, "leaving-api"))]
    assert sorted(order) == ["apiservices", "deployments", "services"]
    kinds = [one.resource for one in story.asked if one.verb == "delete" and one.resource in order
             and (one.namespace == "leaving-api" or one.name == f"v1.{API}")]  # fmt: skip
    assert kinds[0] == "apiservices"
    assert kubectl.find("apiservice", f"v1.{API}") is None


def test_what_is_being_deleted_is_not_deleted_again(story: Story) -> None:
    assert ("databases", "d") not in deleted(story.asked_again, "leaving-order")
    assert planned(story.again["leaving-order"])["Database leaving-order/d"] == "prune"
    assert HOLD in story.again["leaving-order"].failure


def test_dependents_of_what_is_deleted_go_along(story: Story, kubectl: Kubectl) -> None:
    assert story.preview["leaving-order"].planned is not None
    cascades = {item.key.kind: item.cascade for item in story.preview["leaving-order"].planned.with_action("prune")}
    assert (cascades["Deployment"], cascades["Job"], cascades["Database"]) == ("Foreground", "Foreground", "Background")
    for kind in ("pods", "replicasets", "jobs", "deployments"):
        assert kubectl.list(kind, namespace="leaving-order") == []


def test_an_object_that_data_would_go_with_stays(story: Story, kubectl: Kubectl) -> None:
    for runs in (story.preview, story.stuck):
        reasons = {
            title: reason for title, reason in kept(runs["leaving-data"]).items() if title.startswith("Database")
        }
        assert reasons == {
            "Database leaving-data/owner":
            "PersistentVolumeClaim leaving-data/direct would go with it: it is its owner",
            "Database leaving-data/above":
            "PersistentVolumeClaim leaving-data/indirect would go with it: it is its owner",
        }  # fmt: skip
    assert pruned(story.stuck["leaving-data"]) == ["Database leaving-data/bare"]
    assert story.states["leaving-data"]["Database leaving-data/above"] == "retained"
    for name in ("direct", "indirect"):
        assert "deletionTimestamp" not in kubectl.get("pvc", name, "leaving-data")["metadata"]


def test_so_does_one_of_a_kind_that_seldom_owns_any(story: Story, kubectl: Kubectl) -> None:
    for runs in (story.preview, story.stuck):
        assert kept(runs["leaving-plain"]) == {
            f"{kind} leaving-plain/owner":
            f"PersistentVolumeClaim leaving-plain/of-{kind.lower()} would go with it: it is its owner"
            for kind in ("ConfigMap", "Deployment")
        }  # fmt: skip
    all_synced(story.stuck, ["leaving-plain"])
    assert pruned(story.stuck["leaving-plain"]) == ["ConfigMap leaving-plain/bare"]
    for kind in ("configmap", "deployment"):
        assert "deletionTimestamp" not in kubectl.get("pvc", f"of-{kind}", "leaving-plain")["metadata"]


def test_what_a_controller_has_stays(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.stuck, ["leaving-owned"])
    reason = kept(story.stuck["leaving-owned"])["ConfigMap leaving-owned/made"]
    assert reason == "belongs to ConfigMap stays, which controls it"
    assert pruned(story.stuck["leaving-owned"]) == ["ConfigMap leaving-owned/copied"]
    assert kubectl.find("configmap", "made", "leaving-owned")


def test_one_refusal_holds_up_nothing_else_and_is_not_forgotten(story: Story) -> None:
    run = story.stuck["leaving-partly"]
    assert run.outcome.phase == "Error"
    assert "ConfigMap leaving-partly/b" in run.failure and "this one is never deleted" in run.failure
    assert pruned(run) == ["ConfigMap leaving-partly/a", "ConfigMap leaving-partly/c"]
    left = {"ConfigMap leaving-partly/b", "ConfigMap leaving-partly/stays", "Namespace leaving-partly"}
    assert story.states["leaving-partly"].keys() == left
    all_synced(story.free, ["leaving-partly"])
    assert pruned(story.free["leaving-partly"]) == ["ConfigMap leaving-partly/b"]


def test_what_its_controller_makes_again_is_somebody_elses(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.stuck, ["leaving-again"])
    assert pruned(story.stuck["leaving-again"]) == ["ConfigMap leaving-again/again"]
    made = kubectl.get("configmap", "again", "leaving-again")["metadata"]
    assert "labels" not in made and "deletionTimestamp" not in made
    assert "ConfigMap leaving-again/again" not in story.states["leaving-again"]


def test_in_a_namespace_that_is_being_deleted_everything_is(story: Story) -> None:
    failure = story.stuck["leaving-place"].failure
    assert " s after it was deleted with namespace leaving-doomed; waits for finalizers " in failure and HOLD in failure
    for requests in (story.asked, story.asked_again):
        assert not [one for one in requests.writes if one.namespace == "leaving-doomed" and one.user == "admin"]
    all_synced(story.free, ["leaving-place"])
    assert "ConfigMap leaving-doomed/there" not in story.stage.inventory("leaving-place")
