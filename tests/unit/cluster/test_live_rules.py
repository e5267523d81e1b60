"""Readiness that takes more than the object itself: storage classes, what is served, a workload's pods, own rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster import live_rules as live_rules_file
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.live_rules import LiveRules
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.readiness_rules import Readiness
from ansible_collections.rendimiento.addons.plugins.module_utils.model.ready_rules import ReadyRule
from tests.unit.cluster.small_server import SmallServer

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
PODS = "/api/v1/namespaces/space/pods"
READY = Readiness("ready")
UNBOUND = Readiness("waiting", "it is not bound to a volume")
LATE = Readiness("ready", "it waits for its first consumer")


@pytest.fixture
def server() -> Iterator[SmallServer]:
    with SmallServer() as server:
        yield server


def rules(server: SmallServer, *entries: dict[str, Any]) -> LiveRules:
    return LiveRules(Client(Credential(server.url)), [ReadyRule.of(entry) for entry in entries])


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {}, "items": list(items)}


def claim(storage_class: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "a", "namespace": "space", **metadata},
        "spec": {"storageClassName": storage_class},
        "status": {"phase": "Pending"},
    }


def test_a_claim_that_nobody_uses(server: SmallServer) -> None:
    server.answers[CLASSES] = listed(
        {"metadata": {"name": "late"}, "volumeBindingMode": "WaitForFirstConsumer"},
        {"metadata": {"name": "now"}, "volumeBindingMode": "Immediate"},
    )
    judge = rules(server)
    assert judge(claim("late")) == LATE
    assert judge(claim("now")) == UNBOUND
    assert judge(claim("late", annotations={"volume.kubernetes.io/selected-node": "n"})) == UNBOUND
    assert judge(claim("late", deletionTimestamp="…")).state == "waiting"
    assert server.asked == [CLASSES]


def test_classes_that_may_not_be_read_are_looked_for_again(server: SmallServer) -> None:
    server.answers[CLASSES] = 403
    judge = rules(server)
    assert judge(claim("late")) == UNBOUND
    server.answers[CLASSES] = listed({"metadata": {"name": "late"}, "volumeBindingMode": "WaitForFirstConsumer"})
    assert judge(claim("late")) == LATE


def test_a_rule_takes_the_place_of_what_is_built_in(server: SmallServer) -> None:
    judge = rules(server, {"kind": "PersistentVolumeClaim", "jsonPath": "{.status.phase}", "value": "Bound"})
    assert judge(claim("late")) == Readiness("waiting", "{.status.phase} is Pending, not Bound")
    assert server.asked == []


def test_which_kinds_are_not_asked_about(server: SmallServer) -> None:
    judge = rules(
        server,
        {"kind": "ConfigMap", "jsonPath": "{.data.done}"},
        {"group": "apps", "kind": "Deployment", "wait": False},
        {"kind": "X", "wait": False},
        {"kind": "X", "condition": "Up"},
    )
    unasked = {kind: judge.are_unasked(kind) for kind in [("", "ConfigMap"), ("", "Secret"), ("", "Service")]}
    assert unasked == {("", "ConfigMap"): False, ("", "Secret"): True, ("", "Service"): False}
    assert judge.are_unasked(("apps", "Deployment"))
    assert not judge.are_unasked(("x.io", "X"))


def test_a_kind_is_ready_when_every_version_is_served(server: SmallServer) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.io"},
        "spec": {
            "group": "x.io",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v2", "served": True},
                {"name": "v1", "served": True},
                {"name": "v0", "served": False},
            ],
        },
        "status": {
            "conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}]
        },
    }
    judge = rules(server)
    served, other = {"resources": [{"kind": "Thing"}]}, {"resources": [{"kind": "Other"}]}
    assert judge(definition) == Readiness("waiting", "v2 is not served yet")
    assert judge(definition).again < 1

    server.answers |= {"/apis/x.io/v2": served, "/apis/x.io/v1": other}
    assert judge(definition) == Readiness("waiting", "v1 is not served yet")
    server.answers["/apis/x.io/v1"] = served
    assert judge(definition) == READY


def replica_set(uid: str = "top", available: int = 0) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "a", "namespace": "space", "uid": uid, "generation": 1},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}},
        "status": {"observedGeneration": 1, "replicas": 1, "availableReplicas": available},
    }


def pod(reason: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "a-1", "ownerReferences": [{"uid": "top"}]},
        "status": {"phase": "Pending", "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": reason}}}]},
    }


def test_pods_are_looked_at_after_a_while(server: SmallServer, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = rules(server)
    server.answers[PODS] = listed(pod("ErrImagePull"))
    assert judge(replica_set()) == Readiness("waiting", "0 of 1 replicas available")
    assert server.asked == []
    assert judge(replica_set()).again <= 10

    monkeypatch.setattr(live_rules_file, "_SECONDS_BETWEEN_PODS", 0.0)
    judge = rules(server)
    told = "0 of 1 replicas available; pod a-1: container c: ErrImagePull"
    assert judge(replica_set()) == Readiness("waiting", told)
    assert judge(replica_set(available=1)) == READY

    monkeypatch.setattr(live_rules_file, "_SECONDS_BETWEEN_PODS", 10.0)
    judge(replica_set())
    asked = len(server.asked)
    assert judge(replica_set()) == Readiness("waiting", told)
    assert len(server.asked) == asked


def test_a_workload_whose_pods_can_not_start_has_failed(server: SmallServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_rules_file, "_SECONDS_BETWEEN_PODS", 0.0)
    judge = rules(server)
    server.answers[PODS] = listed(pod("InvalidImageName"))
    assert judge(replica_set()).state == "failed"
    server.answers[PODS] = 403
    assert judge(replica_set()) == Readiness("waiting", "0 of 1 replicas available")
