"""When an add-on counts as ready on a real cluster, kind by kind and by rules, and what is said when it does not.

One run over most add-ons, and two over those that are looked at again: between them the object of ``rd-ruled`` gets
what its rules ask for.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster import Cluster
from tests.integration import objects
from tests.integration.engine import AddonRun, Engine
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, Object

GROUP = "readiness.example.com"
IN_LOG = "swordfish-that-a-program-logs"
LOG = f"2026-01-01T00:00:00Z stdout F starting\n2026-01-01T00:00:01Z stdout F no login with {IN_LOG}\n"

SHORT = 2
"""Seconds that is waited for what never becomes ready."""


def made(api_version: str, kind: str, name: str, spec: Any = None, **metadata: Any) -> Object:
    found: Object = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}
    return found if spec is None else {**found, "spec": spec}


def workload(kind: str, name: str, **spec: Any) -> Object:
    """With pods of its own, that become ready."""
    made_from = objects.deployment(name)["spec"]
    if kind == "DaemonSet":
        del made_from["replicas"]
    if kind == "ReplicationController":
        made_from["selector"] = {"app": name}
    return made("v1" if kind == "ReplicationController" else "apps/v1", kind, name, {**made_from, **spec})


def every_kind() -> list[Object]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    claim = objects.volume_claim("late", volume="")
    claim["spec"] = {**claim["spec"], "storageClassName": "rd-late"}
    del claim["spec"]["volumeName"]
    late = made("storage.k8s.io/v1", "StorageClass", "rd-late")
    late |= {"provisioner": "example.com/none", "volumeBindingMode": "WaitForFirstConsumer"}
    backend = {"service": {"name": "balanced", "port": {"number": 80}}}
    balanced = objects.service("balanced")
    balanced["spec"]["type"] = "LoadBalancer"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "deployment"}
    return [
        workload("Deployment", "deployment", replicas=2),
        workload("Deployment", "paused", paused=True),
        workload("StatefulSet", "stateful-set", replicas=2, serviceName="balanced"),
        workload("DaemonSet", "daemon-set"),
        workload("ReplicaSet", "replica-set"),
        workload("ReplicationController", "controller"),
        made("v1", "Pod", "pod", {"containers": [{"name": "main", "image": "none"}]}),
        made("v1", "Pod", "done", template["spec"]),
        made("batch/v1", "Job", "job", {"template": template}),
        made("batch/v1", "Job", "suspended", {"template": template, "suspend": True}),
        made("batch/v1", "CronJob", "cron", {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}}),
        objects.volume("rd-volume"),
        objects.volume_claim("bound", volume="rd-volume"),
        late,
        claim,
        balanced,
        made("networking.k8s.io/v1", "Ingress", "ingress", {"defaultBackend": backend}),
        made(
            "policy/v1", "PodDisruptionBudget", "budget", {"minAvailable": 9, "selector": {"matchLabels": {"a": "b"}}}
        ),
        made("autoscaling/v2", "HorizontalPodAutoscaler", "scaler", {"scaleTargetRef": target, "maxReplicas": 2}),
        short_named(),
        objects.custom(GROUP, "Whole", "custom", size=1),
        made(
            "apiregistration.k8s.io/v1",
            "APIService",
            "v1.local.readiness.example.com",
            {"group": "local.readiness.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1},
        ),
        objects.config_map("settings"),
        objects.secret("token", data={"token": "swordfish-of-every-kind"}),
    ]


def short_named() -> Object:
    found = objects.custom_kind(GROUP, "Whole")
    found["spec"]["names"]["shortNames"] = ["rdwhole"]
    return found


def gone_when_done() -> Object:
    found = objects.job("gone")
    found["spec"]["ttlSecondsAfterFinished"] = 0
    return found


def failing_job() -> Object:
    found = objects.job("broken")
    found["spec"]["backoffLimit"] = 0
    found["spec"]["template"]["metadata"] = {"labels": {"test.io/outcome": "fail"}}
    return found


def impossible() -> Object:
    """Its deadline passes long before the wait ends."""
    found = objects.deployment("app", outcome="unready")
    found["spec"] |= {"progressDeadlineSeconds": 1, "minReadySeconds": 0}
    return found


def unschedulable() -> Object:
    found = objects.deployment("app")
    found["spec"]["template"]["spec"]["nodeSelector"] = {"there": "is-none"}
    return found


def balancer() -> Object:
    found = objects.service("balanced")
    found["spec"]["type"] = "LoadBalancer"
    return found


def clashing_kind() -> Object:
    """Of which the short name is taken by another kind of its group."""
    found = objects.custom_kind(GROUP, "Clashing")
    found["spec"]["names"]["shortNames"] = ["rdwhole"]
    return found


def slowly(version: str) -> Object:
    """A Deployment of which a new pod takes some seconds to become ready."""
    found = objects.deployment("app")
    annotations = {"test.io/ready-after": "3s", "version": version}
    found["spec"]["template"]["metadata"]["annotations"] = annotations
    return found


def reporting_kind() -> Object:
    """A kind whose objects have a status that nobody fills."""
    found = objects.custom_kind(GROUP, "Reporting")
    version = found["spec"]["versions"][0]
    version["subresources"] = {"status": {}}
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    return found


LOGIN = objects.secret("login", data={"password": IN_LOG})
ADDRESS = {"kind": "Service", "jsonPath": "{.status.loadBalancer.ingress[0].ip}"}
READY_REPLICAS = {"group": "apps", "kind": "Deployment", "jsonPath": "{.status.readyReplicas}", "value": "1"}
DEPLOYMENTS_AT_ONCE = {"group": "apps", "kind": "Deployment", "wait": False}
UP = {"group": GROUP, "kind": "Reporting", "condition": "Up"}
PHASE = {"group": GROUP, "kind": "Reporting", "jsonPath": "{.status.phase}", "value": "Running"}


@dataclass(frozen=True)
class Story:
    first: dict[str, AddonRun]
    second: dict[str, AddonRun]
    first_records: dict[str, Object]
    second_records: dict[str, Object]
    told: list[str]
    updated: Object


@pytest.fixture(scope="module")
def story(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("readiness")
    told: list[str] = []

    def engine(repository: Repository) -> Engine:
        repository.commit()
        kubeconfig, cache = bootstrapped.kubeconfig, folder / "cache"
        return Engine(repository.path, repository.folder, kubeconfig, cache, progress=told.append)

    log = bootstrapped.pod_log
    usual = log.read_text()
    log.write_text(LOG)
    try:
        found = engine(seen_once(Repository(folder / "once/gitops", "readiness"))).run(check=False)
        twice_repository = seen_twice(Repository(folder / "twice/gitops", "readiness-twice"))
        twice = engine(twice_repository)
        found |= twice.run(check=False)
        records = {name: kubectl.record(name) for name in found}
        status = {"phase": "Running", "conditions": [{"type": "Up", "status": "True"}]}
        kubectl.run(
            *("patch", f"reportings.{GROUP}", "one", "--namespace=rd-ruled", "--subresource=status", "--type=merge"),
            *("--patch", json.dumps({"status": status})),
        )
        twice_repository.addon("rd-slow", slowly("2"), createNamespace=True)
        twice_repository.addon("rd-clash", clashing_kind(), createNamespace=True)
        twice = engine(twice_repository)
        again = twice.run(check=False)
        updated = kubectl.get("deployment", "app", "rd-slow")
    finally:
        log.write_text(usual)
    return Story(found, again, records, {name: kubectl.record(name) for name in again}, told, updated)


def seen_once(repository: Repository) -> Repository:
    addon = repository.addon
    addon("rd-gone", gone_when_done(), createNamespace=True)
    addon("rd-deadline", impossible(), LOGIN, createNamespace=True)
    addon("rd-unschedulable", unschedulable(), createNamespace=True, wait=SHORT)
    addon("rd-job", failing_job(), LOGIN, createNamespace=True)
    addon("rd-balanced", balancer(), createNamespace=True, wait=SHORT, ready=[ADDRESS])
    addon("rd-valued", objects.deployment("app"), createNamespace=True, ready=[READY_REPLICAS])
    unready = objects.deployment("app", outcome="unready")
    addon("rd-unwaited", unready, createNamespace=True, ready=[DEPLOYMENTS_AT_ONCE])
    addon("rd-not-waited", unready, createNamespace=True, wait=0)
    return repository


def seen_twice(repository: Repository) -> Repository:
    addon = repository.addon
    addon("rd-slow", slowly("1"), createNamespace=True)
    addon("rd-every-kind", *every_kind(), createNamespace=True)
    addon("rd-crashing", objects.deployment("app", outcome="unready"), LOGIN, createNamespace=True, wait=SHORT)
    reporting = objects.custom(GROUP, "Reporting", "one", size=1)
    addon("rd-ruled", reporting_kind(), reporting, createNamespace=True, wait=SHORT, ready=[UP, PHASE])
    return repository


def conditions(record: Object) -> dict[str, str]:
    return {one["type"]: one["status"] for one in record["status"]["conditions"]}


WELL = {"Synced": "True", "Healthy": "True", "Ready": "True"}
UNWELL = {"Synced": "True", "Healthy": "False", "Ready": "False"}
POD = r"pod app-[a-z0-9]+-[a-z0-9]+: "


def test_every_kind_becomes_ready(story: Story) -> None:
    """Also what never will be what it could: a load balancer, a claim that nobody uses, an autoscaler, a pause."""
    assert story.first["rd-every-kind"].failure == ""
    assert conditions(story.first_records["rd-every-kind"]) == WELL


def test_a_job_that_is_gone_has_ended(story: Story) -> None:
    assert story.first["rd-gone"].failure == ""
    assert conditions(story.first_records["rd-gone"]) == WELL


def test_what_is_ready_with_a_word_is_told(story: Story) -> None:
    told = [line for line in story.told if line.startswith("rd-every-kind: ready, but ")]
    assert told
    assert "Deployment rd-every-kind/paused: its rollout is paused" in told[0]


def test_a_deployment_that_never_gets_ready_says_what_its_pod_says_and_logged(story: Story) -> None:
    why = story.first["rd-crashing"].failure
    pattern = (
        r"not ready after 2 s: Deployment rd-crashing/app \(0 of 1 replicas available; "
        + POD
        + r"container main: CrashLoopBackOff, 1 restart, crashes as its label test.io/outcome asks; "
        r"its log ends: starting \| no login with "
    )
    assert re.search(pattern, why), why
    assert conditions(story.first_records["rd-crashing"]) == UNWELL


def test_secrets_are_hidden_in_logs(story: Story) -> None:
    for name in ("rd-crashing", "rd-deadline", "rd-job"):
        why = story.first[name].failure
        assert "its log ends: starting | no login with " in why
        assert IN_LOG not in why


def test_a_deployment_whose_deadline_passes_fails_at_once(story: Story) -> None:
    why = story.first["rd-deadline"].failure
    assert re.search(r"failed: Deployment rd-deadline/app \(.*has timed out progressing", why), why
    assert re.search(POD + "container main: CrashLoopBackOff", why), why


def test_a_pod_that_fits_nowhere_says_why(story: Story) -> None:
    why = story.first["rd-unschedulable"].failure
    assert "not ready after 2 s" in why
    assert re.search(POD + r"0/3 nodes are available: .*node affinity/selector", why), why
    assert "log" not in why


def test_a_job_that_fails_says_how(story: Story) -> None:
    why = story.first["rd-job"].failure
    assert "rd-job: failed: Job rd-job/broken (Job has reached the specified backoff limit; pod broken-" in why
    assert "container main: Error, exit code 3, failed as its label test.io/outcome asks; its log ends: " in why


def test_a_kind_whose_names_are_taken_fails_at_once(story: Story) -> None:
    why = story.second["rd-clash"].failure
    assert re.search(rf"failed: CustomResourceDefinition clashings.{GROUP} \(.*rdwhole.* is already in use", why), why


def test_an_update_of_what_was_ready_is_waited_for(story: Story) -> None:
    """The status from before it, which still says ready, does not count."""
    assert (story.second["rd-slow"].failure, story.second["rd-slow"].outcome.healthy) == ("", True)
    status = story.updated["status"]
    assert status["observedGeneration"] == story.updated["metadata"]["generation"] == 2
    assert (status["updatedReplicas"], status["availableReplicas"], status["replicas"]) == (1, 1, 1)


def test_a_load_balancer_is_waited_for_when_a_rule_asks_for_its_address(story: Story) -> None:
    why = story.first["rd-balanced"].failure
    assert "Service rd-balanced/balanced (it has no {.status.loadBalancer.ingress[0].ip} yet)" in why


def test_a_field_may_have_to_have_a_value(story: Story) -> None:
    assert story.first["rd-valued"].failure == ""
    assert conditions(story.first_records["rd-valued"]) == WELL


def test_what_is_not_to_be_waited_for_is_ready(story: Story) -> None:
    assert story.first["rd-unwaited"].failure == ""
    assert conditions(story.first_records["rd-unwaited"]) == WELL


def test_without_a_wait_health_is_only_looked_at(story: Story) -> None:
    assert story.first["rd-not-waited"].failure == ""
    assert story.first["rd-not-waited"].outcome.phase == "Synced"
    assert conditions(story.first_records["rd-not-waited"]) == UNWELL


def test_custom_resources_are_waited_for_by_the_rules(story: Story) -> None:
    assert "Reporting rd-ruled/one (it has no condition Up yet)" in story.first["rd-ruled"].failure
    assert conditions(story.first_records["rd-ruled"]) == UNWELL
    assert story.second["rd-ruled"].failure == ""
    assert conditions(story.second_records["rd-ruled"]) == WELL


def test_the_run_after_a_wait_that_ran_out_waits_once_more_and_goes_on(story: Story) -> None:
    """It is an Error all the same."""
    second = story.second["rd-crashing"]
    assert second.failure == ""
    assert second.outcome.phase == "Error"
    assert "not ready after 2 s: Deployment rd-crashing/app" in second.outcome.message
    assert conditions(story.second_records["rd-crashing"]) == UNWELL


def test_what_is_well_and_unchanged_is_not_looked_at_again(story: Story) -> None:
    assert story.second["rd-every-kind"].outcome.healthy is None
    assert conditions(story.second_records["rd-every-kind"]) == WELL
