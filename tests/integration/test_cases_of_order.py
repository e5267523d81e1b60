"""The order of applying: webhooks and APIs wait for who answers them, and what a webhook refuses is no dead end."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster import Cluster
from tests.integration.admission import certificate_of_loopback
from tests.integration.audit import Audit, Requests
from tests.integration.engine import AddonRun
from tests.integration.kubectl import Kubectl, Object, wait_until
from tests.integration.objects import config_map, custom, custom_kind, deployment, namespace, secret, service
from tests.integration.stage import Runs, Stage, all_synced, item_of

GROUP = "order.example.com"
VALIDATING = "ValidatingWebhookConfiguration"
KINDS = ("configmaps", "deployments", "pods", "validatingwebhookconfigurations", "apiservices", "orderguardeds")


def webhooks(name: str, group: str, resource: str, selector: dict[str, str], **fields: Any) -> Object:
    """A webhook that has to answer for what is in namespaces of these labels; the Service ``hook`` there is asked."""
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    one: Object = {
        "name": f"{name}.{GROUP}",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 2,
        "clientConfig": {"service": {"name": "hook", "namespace": name}},
        "namespaceSelector": {"matchLabels": selector},
        "rules": [rule],
        **fields,
    }
    api_version = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api_version, "kind": VALIDATING, "metadata": {"name": name}, "webhooks": [one]}


# B36


@dataclass(frozen=True)
class Refused:
    """B36: the first sync; one with changed objects; one with one webhook removed in the source, the other mended."""

    first: AddonRun
    first_requests: Requests
    second: AddonRun
    second_requests: Requests
    meanwhile: dict[str, Object]
    third: AddonRun
    after: dict[str, Object]
    inventory: dict[str, str]


NAME, LEAVES, CHANGES = "b36", "b36-leaves", "b36-changes"
GUARDED = {"ConfigMap/a": LEAVES, "Secret/c": CHANGES}


def b36(value: str, *, mended: bool = False) -> list[Object]:
    """What the webhooks guard stands behind them; their Service has nothing that answers."""
    inside = {"wh": "1"}
    configurations = [webhooks(CHANGES, "", "secrets", inside, failurePolicy="Ignore" if mended else "Fail")]
    if not mended:
        configurations.insert(0, webhooks(LEAVES, "", "configmaps", inside))
        configurations[0]["webhooks"][0]["clientConfig"]["caBundle"] = ""
    for each in configurations:
        each["webhooks"][0]["clientConfig"]["service"]["namespace"] = NAME
    place = namespace(NAME)
    place["metadata"]["labels"] = inside
    answers = service("hook")
    # Without an address, which would have to be tried until the time is up.
    answers["spec"]["clusterIP"] = "None"
    changing = [config_map("a", data={"key": value}), secret("c", data={"key": f"swordfish-{value}"})]
    return [*configurations, place, *changing, answers]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, bootstrapped: Cluster, kubectl: Kubectl) -> Stage:
    return Stage.of(tmp_path_factory.mktemp("order"), "refused", bootstrapped, kubectl)


@pytest.fixture(scope="module")
def refused(stage: Stage, kubectl: Kubectl, audit: Audit) -> Iterator[Refused]:
    try:
        stage.addon(NAME, *b36("old"))
        mark = audit.mark()
        first = stage.sync()[NAME]
        first_requests = audit.since(mark)
        for kind in ("configmap", "secret generic"):
            wait_until(lambda kind=kind: is_refused(kubectl, kind), "the webhook is called")  # type: ignore[misc]
        # What a controller fills in is no change that the sync makes, so it puts nothing right.
        certificate, _key = certificate_of_loopback(stage.repository.path.parent)
        bundle = base64.b64encode(certificate.read_bytes()).decode()
        patch = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]
        kubectl.run("patch", "validatingwebhookconfigurations", LEAVES, "--type=json", "--field-manager=injector",
                    f"--patch={json.dumps(patch)}")  # fmt: skip
        stage.addon(NAME, *b36("new"))
        mark = audit.mark()
        second = stage.sync()[NAME]
        second_requests = audit.since(mark)
        meanwhile = kubectl.everything("secrets", *KINDS[:4])
        stage.addon(NAME, *b36("new", mended=True))
        third = stage.sync()[NAME]
        after = kubectl.everything("secrets", *KINDS[:4])
        yield Refused(first, first_requests, second, second_requests, meanwhile, third, after, stage.inventory(NAME))
    finally:
        kubectl.run("delete", "validatingwebhookconfigurations", LEAVES, CHANGES, "--ignore-not-found")


def is_refused(kubectl: Kubectl, kind: str) -> bool:
    return calls_webhook(kubectl, "create", *kind.split(), "probe", f"--namespace={NAME}")


def is_guarded(kubectl: Kubectl, name: str) -> bool:
    patch = '--patch={"status":{"message":"probe"}}'
    return calls_webhook(kubectl, "patch", "radd", name, "--subresource=status", "--type=merge", patch)


def calls_webhook(kubectl: Kubectl, *arguments: str) -> bool:
    try:
        kubectl.run(*arguments, "--dry-run=server")
    except AssertionError as error:
        assert "failed calling webhook" in str(error)
        return True
    return False


def test_b36_webhook_configurations_are_applied_last(refused: Refused) -> None:
    all_synced({NAME: refused.first})
    mine = [
        each
        for each in refused.first_requests.writes.on_objects
        if each.name.startswith(NAME) or each.namespace == NAME
    ]
    assert {each.name for each in mine[-2:]} == {LEAVES, CHANGES}


def test_b36_what_a_webhook_refuses_could_not_be_checked_and_nothing_else(refused: Refused) -> None:
    assert refused.second.planned is not None
    found = {f"{item.key.kind}/{item.key.name}": item for item in refused.second.planned.items}
    for title, webhook in GUARDED.items():
        item = found.pop(title)
        assert (item.action, item.verdict) == ("blocked", "unknown")
        assert f'failed calling webhook "{webhook}.{GROUP}"' in item.reason
    assert {item.action for item in found.values()} == {"unchanged"}


def test_b36_the_error_names_the_webhook_after_a_bounded_number_of_tries(refused: Refused) -> None:
    assert refused.second.outcome.phase == "Error"
    assert f'failed calling webhook "{LEAVES}.{GROUP}"' in refused.second.outcome.error
    tries = [each for each in refused.second_requests if (each.namespace, each.name, each.verb) == (NAME, "a", "patch")]
    assert 2 <= len(tries) <= 20
    assert refused.meanwhile[f"ConfigMap {NAME}/a"]["data"] == {"key": "old"}
    assert f"{VALIDATING} {LEAVES}" in refused.meanwhile


def test_b36_a_webhook_can_be_removed_or_mended_with_what_it_refuses(refused: Refused) -> None:
    all_synced({NAME: refused.third})
    assert refused.third.planned is not None
    found = {f"{item.key.kind}/{item.key.name}": item for item in refused.third.planned.items}
    for (title, webhook), what in zip(GUARDED.items(), ("leaves", "changes"), strict=True):
        item = found[title]
        assert (item.action, item.verdict) == ("update", "simulated")
        assert item.reason == f"{VALIDATING} {webhook} refuses it while nobody answers, and {what} with this run"
    assert refused.after[f"ConfigMap {NAME}/a"]["data"] == {"key": "new"}
    assert refused.after[f"Secret {NAME}/c"]["data"] != refused.meanwhile[f"Secret {NAME}/c"]["data"]


def test_b36_the_state_is_recorded(refused: Refused) -> None:
    assert f"{VALIDATING} {LEAVES}" not in refused.after
    assert refused.after[f"{VALIDATING} {CHANGES}"]["webhooks"][0]["failurePolicy"] == "Ignore"
    assert f"{VALIDATING} {LEAVES}" not in refused.inventory
    assert set(refused.inventory.values()) == {"applied"}


@pytest.mark.long
def test_b36_a_refused_write_of_the_inventory_is_told_and_nothing_is_pruned(stage: Stage, kubectl: Kubectl) -> None:
    name = "b36-record"
    stage.addon(name, config_map("stays", data={"key": "old"}), config_map("leaves"))
    all_synced({name: stage.sync()[name]})
    of_record = {"name": "record", "expression": f"object.metadata.name == '{name}'"}
    guard = webhooks(name, "rendimiento.ai", "addons/status", {}, matchConditions=[of_record])
    guard["webhooks"][0].pop("namespaceSelector")
    before = stage.inventory(name)
    kubectl.create(guard)
    try:
        wait_until(lambda: is_guarded(kubectl, name), "the webhook is called")
        stage.addon(name, config_map("stays", data={"key": "new"}), config_map("comes"))
        run = stage.sync()[name]
        assert run.outcome.phase == "Error"
        assert f'failed calling webhook "{name}.{GROUP}"' in run.failure
        assert f'failed calling webhook "{name}.{GROUP}"' in run.outcome.unrecorded
        assert not run.outcome.applied
        assert not run.outcome.pruned
        assert kubectl.get("configmap", "stays", name)["data"] == {"key": "old"}
        assert kubectl.find("configmap", "leaves", name)
        assert not kubectl.find("configmap", "comes", name)
        assert stage.inventory(name) == before
    finally:
        kubectl.run("delete", "validatingwebhookconfigurations", name)
    wait_until(lambda: not is_guarded(kubectl, name), "the webhook is gone")
    all_synced({name: stage.sync()[name]})
    assert kubectl.get("configmap", "stays", name)["data"] == {"key": "new"}
    assert not kubectl.find("configmap", "leaves", name)


# Traps


@dataclass(frozen=True)
class Ordered:
    runs: Runs
    requests: Requests
    objects: dict[str, Object]


def answering(name: str, *objects: Object, outcome: str = "", seconds: int = 0) -> list[Object]:
    """An operator as charts render one: its object first, then the webhook that guards it, and who answers last."""
    pods = deployment("hook", outcome=outcome)
    if seconds:
        pods["spec"]["template"]["metadata"]["annotations"] = {"test.io/ready-after": f"{seconds}s"}
    return [
        custom(GROUP, "OrderGuarded", "first", size=1),
        webhooks(name, GROUP, "orderguardeds", {"kubernetes.io/metadata.name": name}),
        *objects,
        service("hook"),
        pods,
    ]


def aggregated(name: str) -> Object:
    spec = {
        "group": f"{name}.{GROUP}",
        "version": "v1",
        "service": {"name": "hook", "namespace": name},
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 1000,
        "versionPriority": 100,
    }
    metadata = {"name": f"v1.{name}.{GROUP}"}
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}


SOUND, BROKEN, WISHED = "trap-14-sound", "trap-14-broken", "trap-14-wished"


@pytest.fixture(scope="module")
def ordered(
    tmp_path_factory: pytest.TempPathFactory, bootstrapped: Cluster, kubectl: Kubectl, audit: Audit
) -> Iterator[Ordered]:
    stage = Stage.of(tmp_path_factory.mktemp("ordered"), "ordered", bootstrapped, kubectl)
    stage.addon(SOUND, *answering(SOUND, custom_kind(GROUP, "OrderGuarded"), seconds=2))
    stage.addon(BROKEN, *answering(BROKEN, aggregated(BROKEN), outcome="unready"), dependsOn=[SOUND], wait=4)
    wished = answering(WISHED)
    on_webhook = f"admissionregistration.k8s.io/{VALIDATING}//{WISHED}"
    wished[-1] = copy.deepcopy(wished[-1])
    wished[-1]["metadata"]["annotations"] = {"rendimiento.ai/depends-on": on_webhook}
    stage.addon(WISHED, *wished, dependsOn=[SOUND])
    stage.addon("trap-15-next", config_map("one"), dependsOn=[SOUND])
    stage.addon("trap-15-behind", config_map("one"), dependsOn=[BROKEN])
    try:
        mark = audit.mark()
        runs = stage.sync()
        requests = audit.since(mark)
        yield Ordered(runs, requests, kubectl.everything(*KINDS))
    finally:
        kubectl.run("delete", "validatingwebhookconfigurations", SOUND, BROKEN, WISHED, "--ignore-not-found")


def ready_at(objects: dict[str, Object], namespace: str) -> str:
    (pod,) = (each for title, each in objects.items() if title.startswith(f"Pod {namespace}/hook-"))
    (ready,) = (each for each in pod["status"]["conditions"] if each["type"] == "Ready")
    assert ready["status"] == "True"
    return str(ready["lastTransitionTime"])


def created_at(objects: dict[str, Object], title: str) -> str:
    return str(objects[title]["metadata"]["creationTimestamp"])


def test_trap_14_a_webhook_comes_when_its_pods_answer(ordered: Ordered) -> None:
    all_synced(ordered.runs, [SOUND])
    ready = ready_at(ordered.objects, SOUND)
    assert created_at(ordered.objects, f"Deployment {SOUND}/hook") < ready
    assert ready <= created_at(ordered.objects, f"{VALIDATING} {SOUND}")
    guarded = created_at(ordered.objects, f"OrderGuarded {SOUND}/first")
    assert guarded < created_at(ordered.objects, f"{VALIDATING} {SOUND}")


def test_trap_14_a_webhook_that_nobody_can_answer_is_not_made(ordered: Ordered) -> None:
    """It would refuse its own add-on's objects, and those of others, from then on."""
    run = ordered.runs[BROKEN]
    assert run.outcome.phase == "Error"
    assert f"{VALIDATING} {BROKEN}" not in ordered.objects
    assert f"OrderGuarded {BROKEN}/first" in ordered.objects
    reasons = {str(one.key): one.reason for one in run.outcome.held_back}
    assert reasons[f"{VALIDATING} {BROKEN}"] == f"waits for Deployment {BROKEN}/hook"
    assert f"{VALIDATING} {BROKEN} (waits for Deployment {BROKEN}/hook)" in run.outcome.error


def test_trap_16_an_api_that_nobody_can_answer_is_not_made(ordered: Ordered) -> None:
    """While it is there and nobody answers, no namespace in the cluster can be deleted."""
    title = f"APIService v1.{BROKEN}.{GROUP}"
    assert title not in ordered.objects
    reasons = {str(one.key): one.reason for one in ordered.runs[BROKEN].outcome.held_back}
    assert reasons[title] == f"waits for Deployment {BROKEN}/hook"


def test_trap_14_pods_that_need_the_webhook_first_say_so(ordered: Ordered) -> None:
    all_synced(ordered.runs, [WISHED])
    names = [
        (each.resource, each.name)
        for each in ordered.requests.writes
        if each.user == "admin" and (each.namespace == WISHED or each.name == WISHED)
    ]
    assert names.index(("validatingwebhookconfigurations", WISHED)) < names.index(("deployments", "hook"))
    warnings = item_of(ordered.runs[WISHED], VALIDATING, WISHED).warnings
    assert warnings == [
        f"does not wait for Deployment {WISHED}/hook (answers it): "
        f"rendimiento.ai/depends-on of Deployment {WISHED}/hook asks for the opposite"
    ]


def test_trap_13_a_kind_is_served_before_its_objects_are_applied(ordered: Ordered) -> None:
    item = item_of(ordered.runs[SOUND], "OrderGuarded", "first")
    layers = {each.key.kind: each.layer for each in ordered.runs[SOUND].carried.items}  # type: ignore[union-attr]
    assert (layers["Namespace"], layers["CustomResourceDefinition"]) == (1, 1)
    assert item.layer == 2
    assert layers[VALIDATING] == max(layers.values()) == 3


def test_trap_15_the_next_add_on_starts_when_the_former_is_ready(ordered: Ordered) -> None:
    all_synced(ordered.runs, ["trap-15-next"])
    assert ready_at(ordered.objects, SOUND) <= created_at(ordered.objects, "ConfigMap trap-15-next/one")


def test_trap_15_behind_one_that_is_not_ready_nothing_is_applied(ordered: Ordered) -> None:
    assert "ConfigMap trap-15-behind/one" not in ordered.objects
    assert BROKEN in ordered.runs["trap-15-behind"].outcome.skipped
