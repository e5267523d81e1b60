"""When an object counts as ready, kind by kind, from what it says about itself."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.readiness_rules import (
    Readiness,
    assess,
    assess_by,
    is_ready_once_stored,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.ready_rules import ReadyRule


def condition(kind: str, status: str, message: str = "", reason: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, "message": message, "reason": reason, **more}


def of(
    api_version: str, kind: str, status: Any = None, spec: Any = None, metadata: dict[str, Any] | None = None
) -> Readiness:
    """What is said of an object of generation 2, with these parts."""
    manifest: dict[str, Any] = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "a", "generation": 2, **(metadata or {})},
    }
    if spec is not None:
        manifest["spec"] = spec
    if status is not None:
        manifest["status"] = status
    return assess(manifest)


def seen(**status: Any) -> dict[str, Any]:
    return {"observedGeneration": 2, **status}


READY = Readiness("ready")

WORKLOADS = {
    "Deployment, complete": (
        of("apps/v1", "Deployment", seen(replicas=2, updatedReplicas=2, availableReplicas=2), {"replicas": 2}),
        READY,
    ),
    "Deployment of none": (of("apps/v1", "Deployment", seen(), {"replicas": 0}), READY),
    "Deployment without a status": (
        of("apps/v1", "Deployment", None, {"replicas": 1}),
        Readiness("waiting", "its controller has not seen it yet"),
    ),
    "Deployment, seen before the last change": (
        of("apps/v1", "Deployment", {"observedGeneration": 1, "updatedReplicas": 1, "availableReplicas": 1}),
        Readiness("waiting", "its controller has not seen the last change yet"),
    ),
    "Deployment, replicas default to 1": (
        of("apps/v1", "Deployment", seen()),
        Readiness("waiting", "0 of 1 replicas updated"),
    ),
    "Deployment, old replicas": (
        of("apps/v1", "Deployment", seen(replicas=3, updatedReplicas=2, availableReplicas=3), {"replicas": 2}),
        Readiness("waiting", "1 old replicas still run"),
    ),
    "Deployment, not available": (
        of("apps/v1", "Deployment", seen(replicas=2, updatedReplicas=2, availableReplicas=1), {"replicas": 2}),
        Readiness("waiting", "1 of 2 replicas available"),
    ),
    "Deployment, pods are refused": (
        of("apps/v1", "Deployment", seen(conditions=[condition("ReplicaFailure", "True", "exceeded quota")])),
        Readiness("waiting", "0 of 1 replicas updated: exceeded quota"),
    ),
    "Deployment, deadline passed": (
        of(
            "apps/v1",
            "Deployment",
            seen(
                replicas=1,
                updatedReplicas=1,
                conditions=[condition("Progressing", "False", "timed out", "ProgressDeadlineExceeded")],
            ),
        ),
        Readiness("failed", "timed out"),
    ),
    "Deployment, paused": (
        of("apps/v1", "Deployment", seen(), {"paused": True}),
        Readiness("ready", "its rollout is paused"),
    ),
    "Deployment, going": (
        of("apps/v1", "Deployment", seen(), None, {"deletionTimestamp": "…", "finalizers": ["x/y", "z"]}),
        Readiness("waiting", "is being deleted (finalizers: x/y, z)"),
    ),
    "Deployment of another group": (of("x.io/v1", "Deployment"), READY),
    "StatefulSet, complete": (
        of(
            "apps/v1",
            "StatefulSet",
            seen(replicas=2, availableReplicas=2, updatedReplicas=2, currentRevision="b", updateRevision="b"),
            {"replicas": 2},
        ),
        READY,
    ),
    "StatefulSet, not available": (
        of("apps/v1", "StatefulSet", seen(replicas=2, readyReplicas=2, availableReplicas=1), {"replicas": 2}),
        Readiness("waiting", "1 of 2 replicas available"),
    ),
    "StatefulSet, server without availableReplicas": (
        of("apps/v1", "StatefulSet", seen(replicas=1, readyReplicas=1), {"replicas": 2}),
        Readiness("waiting", "1 of 2 replicas ready"),
    ),
    "StatefulSet, rolling": (
        of(
            "apps/v1",
            "StatefulSet",
            seen(replicas=2, availableReplicas=2, updatedReplicas=1, currentRevision="a", updateRevision="b"),
            {"replicas": 2},
        ),
        Readiness("waiting", "1 of 2 replicas updated"),
    ),
    "StatefulSet, partition reached": (
        of(
            "apps/v1",
            "StatefulSet",
            seen(replicas=3, availableReplicas=3, updatedReplicas=1, currentRevision="a", updateRevision="b"),
            {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
        ),
        READY,
    ),
    "StatefulSet, updated by hand": (
        of(
            "apps/v1",
            "StatefulSet",
            seen(replicas=1, availableReplicas=1, currentRevision="a", updateRevision="b"),
            {"updateStrategy": {"type": "OnDelete"}},
        ),
        READY,
    ),
    "StatefulSet, scaled down": (
        of("apps/v1", "StatefulSet", seen(replicas=3, availableReplicas=3), {"replicas": 1}),
        Readiness("waiting", "2 surplus replicas still run"),
    ),
    "DaemonSet, complete": (
        of("apps/v1", "DaemonSet", seen(desiredNumberScheduled=3, updatedNumberScheduled=3, numberAvailable=3)),
        READY,
    ),
    "DaemonSet for no node": (of("apps/v1", "DaemonSet", seen(desiredNumberScheduled=0)), READY),
    "DaemonSet, rolling": (
        of("apps/v1", "DaemonSet", seen(desiredNumberScheduled=3, updatedNumberScheduled=1, numberAvailable=3)),
        Readiness("waiting", "1 of 3 replicas updated"),
    ),
    "DaemonSet, updated by hand": (
        of(
            "apps/v1",
            "DaemonSet",
            seen(desiredNumberScheduled=3, updatedNumberScheduled=1, numberAvailable=3),
            {"updateStrategy": {"type": "OnDelete"}},
        ),
        READY,
    ),
    "ReplicaSet": (
        of("apps/v1", "ReplicaSet", seen(replicas=1, availableReplicas=1), {"replicas": 2}),
        Readiness("waiting", "1 of 2 replicas available"),
    ),
    "ReplicationController": (
        of("v1", "ReplicationController", seen(replicas=1, availableReplicas=1), {"replicas": 1}),
        READY,
    ),
}

JOBS = {
    "running": (
        of("batch/v1", "Job", {"succeeded": 1, "active": 1}, {"completions": 3}),
        Readiness("waiting", "1 of 3 completed"),
    ),
    "about to complete": (
        of("batch/v1", "Job", {"succeeded": 1, "conditions": [condition("SuccessCriteriaMet", "True")]}),
        Readiness("waiting", "1 of 1 completed"),
    ),
    "complete": (of("batch/v1", "Job", {"conditions": [condition("Complete", "True")]}), READY),
    "about to fail": (
        of("batch/v1", "Job", {"conditions": [condition("FailureTarget", "True", "backoff limit")]}),
        Readiness("waiting", "0 of 1 completed"),
    ),
    "failed": (
        of("batch/v1", "Job", {"conditions": [condition("Failed", "True", "backoff limit")]}),
        Readiness("failed", "backoff limit"),
    ),
    "suspended": (of("batch/v1", "Job", {}, {"suspend": True}), Readiness("ready", "it is suspended")),
    "CronJob": (of("batch/v1", "CronJob", {}, {}), READY),
    "CronJob, suspended": (of("batch/v1", "CronJob", {}, {"suspend": True}), Readiness("ready", "it is suspended")),
}


def container(state: str, **about: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "state": {state: about}}]


PODS = {
    "ready": (of("v1", "Pod", {"phase": "Running", "conditions": [condition("Ready", "True")]}), READY),
    "not ready": (
        of("v1", "Pod", {"phase": "Running", "conditions": [condition("Ready", "False")]}),
        Readiness("waiting", "runs but is not ready"),
    ),
    "completed": (of("v1", "Pod", {"phase": "Succeeded"}), Readiness("ready", "it has completed")),
    "failed": (
        of("v1", "Pod", {"phase": "Failed", "containerStatuses": container("terminated", exitCode=3)}),
        Readiness("failed", "container c: Error, exit code 3"),
    ),
    "evicted": (
        of("v1", "Pod", {"phase": "Failed", "reason": "Evicted", "message": "node was low on memory"}),
        Readiness("failed", "node was low on memory"),
    ),
    "not scheduled": (
        of("v1", "Pod", {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "0/3 nodes fit")]}),
        Readiness("waiting", "0/3 nodes fit"),
    ),
    "starting": (
        of("v1", "Pod", {"phase": "Pending", "containerStatuses": container("waiting", reason="ContainerCreating")}),
        Readiness("waiting", "container c: ContainerCreating"),
    ),
    "crashing": (
        of("v1", "Pod", {"phase": "Running", "containerStatuses": container("waiting", reason="CrashLoopBackOff")}),
        Readiness("waiting", "container c: CrashLoopBackOff"),
    ),
    "crashing at its start": (
        of("v1", "Pod", {"phase": "Pending", "initContainerStatuses": container("waiting", reason="CrashLoopBackOff")}),
        Readiness("waiting", "container c: CrashLoopBackOff"),
    ),
    "crashing for minutes": (
        of(
            "v1",
            "Pod",
            {
                "phase": "Running",
                "containerStatuses": [
                    {
                        "name": "c",
                        "restartCount": 50,
                        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                        "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "no database"}},
                    }
                ],
            },
        ),
        Readiness("waiting", "container c: CrashLoopBackOff, exit code 1, 50 restarts, no database"),
    ),
    "without its image": (
        of(
            "v1",
            "Pod",
            {
                "phase": "Pending",
                "containerStatuses": container("waiting", reason="ImagePullBackOff", message='back-off "x"'),
            },
        ),
        Readiness("waiting", 'container c: ImagePullBackOff, back-off "x"'),
    ),
    "with an image that is none": (
        of("v1", "Pod", {"phase": "Pending", "containerStatuses": container("waiting", reason="InvalidImageName")}),
        Readiness("failed", "container c: InvalidImageName"),
    ),
    "ready after a start that failed": (
        of(
            "v1",
            "Pod",
            {
                "phase": "Running",
                "conditions": [condition("Ready", "True")],
                "containerStatuses": [{"name": "c", "restartCount": 9, "state": {"running": {}}}],
            },
        ),
        READY,
    ),
    "ended once, to be started again": (
        of("v1", "Pod", {"phase": "Running", "containerStatuses": container("terminated", exitCode=137)}),
        Readiness("waiting", "container c: Error, exit code 137"),
    ),
    "init container done": (
        of(
            "v1",
            "Pod",
            {
                "phase": "Pending",
                "initContainerStatuses": container("terminated", exitCode=0),
                "containerStatuses": container("waiting", reason="PodInitializing"),
            },
        ),
        Readiness("waiting", "container c: PodInitializing"),
    ),
    "just created": (of("v1", "Pod", {"phase": "Pending"}), Readiness("waiting", "pending")),
}

OTHERS = {
    "claim, bound": (of("v1", "PersistentVolumeClaim", {"phase": "Bound"}), READY),
    "claim, pending": (
        of("v1", "PersistentVolumeClaim", {"phase": "Pending"}),
        Readiness("waiting", "it is not bound to a volume"),
    ),
    "claim, lost": (of("v1", "PersistentVolumeClaim", {"phase": "Lost"}), Readiness("failed", "its volume is lost")),
    "volume": (of("v1", "PersistentVolume", {"phase": "Available"}), READY),
    "volume, failed": (
        of("v1", "PersistentVolume", {"phase": "Failed", "message": "recycling failed"}),
        Readiness("failed", "recycling failed"),
    ),
    "CRD": (
        of(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            {"conditions": [condition("NamesAccepted", "True"), condition("Established", "True")]},
        ),
        READY,
    ),
    "CRD, new": (
        of("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        Readiness("waiting", "it is not established"),
    ),
    "CRD, names taken": (
        of(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            {"conditions": [condition("NamesAccepted", "False", '"foos" is already in use')]},
        ),
        Readiness("failed", '"foos" is already in use'),
    ),
    "APIService": (
        of("apiregistration.k8s.io/v1", "APIService", {"conditions": [condition("Available", "True")]}),
        READY,
    ),
    "APIService, down": (
        of("apiregistration.k8s.io/v1", "APIService", {"conditions": [condition("Available", "False", "no endpoint")]}),
        Readiness("waiting", "no endpoint"),
    ),
    "APIService without a word yet": (
        of("apiregistration.k8s.io/v1", "APIService"),
        Readiness("waiting", "it is not available"),
    ),
    "CRD, names not accepted yet": (
        of(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            {"conditions": [condition("Established", "True")]},
        ),
        Readiness("waiting", "it is not established"),
    ),
    "Namespace": (of("v1", "Namespace", {"phase": "Active"}), READY),
    "Namespace that goes": (
        of("v1", "Namespace", {"phase": "Terminating"}, metadata={"deletionTimestamp": "…"}),
        Readiness("waiting", "is being deleted"),
    ),
    "Namespace, not active": (of("v1", "Namespace"), Readiness("waiting", "it is not active")),
    "Ingress without an address": (of("networking.k8s.io/v1", "Ingress", {"loadBalancer": {}}), READY),
    "Service that goes": (
        of(
            "v1",
            "Service",
            metadata={"deletionTimestamp": "…", "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]},
        ),
        Readiness("waiting", "is being deleted (finalizers: service.kubernetes.io/load-balancer-cleanup)"),
    ),
    "disruption budget that allows none": (
        of("policy/v1", "PodDisruptionBudget", seen(conditions=[condition("DisruptionAllowed", "False")])),
        READY,
    ),
    "autoscaler": (
        of("autoscaling/v2", "HorizontalPodAutoscaler", {"conditions": [condition("ScalingActive", "True")]}),
        READY,
    ),
    "autoscaler, new": (of("autoscaling/v2", "HorizontalPodAutoscaler"), READY),
    "autoscaler without metrics": (
        of(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {
                "conditions": [
                    condition("AbleToScale", "True", reason="SucceededGetScale"),
                    condition("ScalingActive", "False", "no metrics", "FailedGetResourceMetric"),
                ]
            },
        ),
        Readiness("ready", "it can't scale: no metrics"),
    ),
    "autoscaler without its workload": (
        of(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {"conditions": [condition("AbleToScale", "False", "no Deployment a", "FailedGetScale")]},
        ),
        Readiness("ready", "it can't scale: no Deployment a"),
    ),
    "autoscaler that is off": (
        of(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {"conditions": [condition("ScalingActive", "False", "0 replicas", "ScalingDisabled")]},
        ),
        READY,
    ),
    "ConfigMap": (of("v1", "ConfigMap"), READY),
    "Service": (of("v1", "Service", {"loadBalancer": {}}, {"type": "LoadBalancer"}), READY),
}

CUSTOM = {
    "no status": (of("x.io/v1", "X"), READY),
    "no conditions": (of("x.io/v1", "X", {"phase": "odd"}), READY),
    "ready": (of("x.io/v1", "X", {"conditions": [condition("Ready", "True")]}), READY),
    "not ready": (
        of("x.io/v1", "X", {"conditions": [condition("Ready", "False", "no disk\nleft")]}),
        Readiness("waiting", "no disk left"),
    ),
    "unknown": (
        of("x.io/v1", "X", {"conditions": [condition("Ready", "Unknown", reason="Probing")]}),
        Readiness("waiting", "Probing"),
    ),
    "ready, before the last change": (
        of("x.io/v1", "X", {"conditions": [condition("Ready", "True", observedGeneration=1)]}),
        Readiness("waiting", "its controller has not seen the last change yet"),
    ),
    "seen before the last change": (
        of("x.io/v1", "X", {"observedGeneration": 1, "conditions": [condition("Ready", "True")]}),
        Readiness("waiting", "its controller has not seen the last change yet"),
    ),
    "reconciling": (
        of("x.io/v1", "X", {"conditions": [condition("Ready", "True"), condition("Reconciling", "True", "rolling")]}),
        Readiness("waiting", "rolling"),
    ),
    "stalled": (
        of("x.io/v1", "X", {"conditions": [condition("Stalled", "True", "bad spec")]}),
        Readiness("failed", "bad spec"),
    ),
    "conditions of another form": (of("x.io/v1", "X", {"conditions": {"Ready": "False"}}), READY),
    "status of another form": (of("x.io/v1", "X", "fine"), READY),
    "conditions that are no objects": (of("x.io/v1", "X", {"conditions": ["Ready"]}), READY),
}

CASES = {
    f"{group}: {name}": case
    for group, cases in {
        "workload": WORKLOADS,
        "job": JOBS,
        "pod": PODS,
        "other": OTHERS,
        "custom": CUSTOM,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize(("found", "expected"), CASES.values(), ids=CASES)
def test_readiness(found: Readiness, expected: Readiness) -> None:
    assert found == expected


def test_a_long_reason_is_cut() -> None:
    assert len(of("x.io/v1", "X", {"conditions": [condition("Ready", "False", "x" * 900)]}).reason) == 200


def test_pods_that_are_refused_are_waited_for_a_while_only() -> None:
    refused = of("apps/v1", "ReplicaSet", seen(conditions=[condition("ReplicaFailure", "True", "exceeded quota")]))
    assert refused == Readiness("waiting", "0 of 1 replicas available: exceeded quota")
    assert refused.patience == 30.0
    assert of("apps/v1", "ReplicaSet", seen()).patience == math.inf


@pytest.mark.parametrize(
    ("group_kind", "stored"),
    [
        (("", "Secret"), True),
        (("", "ConfigMap"), True),
        (("rbac.authorization.k8s.io", "Role"), True),
        (("x.io", "Secret"), False),
        (("", "Service"), False),
        (("", "Pod"), False),
    ],
)
def test_kinds_without_a_state_of_their_own(group_kind: tuple[str, str], stored: bool) -> None:
    assert is_ready_once_stored(group_kind) == stored


def by(manifest: dict[str, Any], *rules: dict[str, Any]) -> Readiness:
    return assess_by([ReadyRule.of({"kind": "X", **rule}) for rule in rules], manifest)


def test_rules_of_a_definition() -> None:
    live: dict[str, Any] = {
        "apiVersion": "x.io/v1",
        "kind": "X",
        "metadata": {"name": "a", "generation": 2},
        "status": {"phase": "Up", "conditions": [condition("Stalled", "True"), condition("Synced", "True")]},
    }
    up, down = {"jsonPath": "{.status.phase}", "value": "Up"}, {"jsonPath": "{.status.phase}", "value": "Down"}

    assert by(live, {"condition": "Synced"}) == READY
    assert by(live, up) == READY
    assert by(live, {"condition": "Synced"}, up) == READY
    assert by(live, {"condition": "Synced"}, down) == Readiness("waiting", "{.status.phase} is Up, not Down")
    assert by(live, {"condition": "Ready"}) == Readiness("waiting", "it has no condition Ready yet")

    going = {**live, "metadata": {"name": "a", "deletionTimestamp": "…"}}
    assert by(going, up) == Readiness("waiting", "is being deleted")
    assert by(going, {"wait": False}) == READY
    late = {**live, "status": {**live["status"], "observedGeneration": 1}}
    assert by(late, up) == Readiness("waiting", "its controller has not seen the last change yet")
