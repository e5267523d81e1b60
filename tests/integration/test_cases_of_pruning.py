"""Deletions that other tools got wrong; each test is one report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster import Cluster
from tests.integration.kubectl import Kubectl, Object, wait_until
from tests.integration.objects import config_map, custom, custom_kind, secret
from tests.integration.stage import Runs, Stage, all_synced, kept, planned, pruned

GROUP = "b41.example.com"
BOTH = "b41-both.example.com"
NEVER = "b41-never.example.com"
ACCOUNT = "system:serviceaccount:b45-accounts:b45"


def core_event(name: str, namespace: str) -> Object:
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "stays", "namespace": namespace}
    return {"apiVersion": "v1", **_event(name), "involvedObject": about, "reportingComponent": "tests"}


def new_event(name: str, namespace: str) -> Object:
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "stays", "namespace": namespace}
    return {"apiVersion": "events.k8s.io/v1", **_event(name), "regarding": about, "reportingController": "tests"}


def _event(name: str) -> Object:
    return {
        "kind": "Event",
        "metadata": {"name": name},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingInstance": "one",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
    }


def reader(name: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [],
    }


@dataclass(frozen=True)
class Story:
    """Everything is installed; much leaves; what needs a permission gets it; nothing changes any more."""

    stage: Stage
    uids: dict[str, str]
    preview: Runs
    second: Runs
    after_second: dict[str, dict[str, str]]
    allowed: Runs
    third: Runs
    fourth: Runs


def event_uid(kubectl: Kubectl, namespace: str) -> str:
    return str(kubectl.get("event", "moves", namespace)["metadata"]["uid"])


@pytest.fixture(scope="module")
def story(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Story:
    stage = Stage.of(tmp_path_factory.mktemp("pruning"), "cases-of-pruning", bootstrapped, kubectl)
    stays = config_map("stays")
    for name in ("b42-a", "b42-b", "b42-c"):
        kubectl.run("create", "namespace", name)
    stage.addon("b39-core", stays, core_event("moves", "b39-core"))
    stage.addon("b39-new", stays, new_event("moves", "b39-new"))
    stage.addon("b39-giver", stays, core_event("moves", "b39-giver"))
    stage.addon("b39-taker", config_map("own"), namespace="b39-giver", createNamespace=False, dependsOn=["b39-giver"])
    for name in ("b40", "b40-broken", "b40-missing", "b40-few"):
        stage.addon(name, config_map("a"), *([config_map("b")] if name == "b40-few" else []))
    stage.addon("b41", custom_kind(GROUP, "Widget"), custom(GROUP, "Widget", "w", size=1), config_map("a"))
    stage.addon("b41-both", custom_kind(BOTH, "Gadget"), custom(BOTH, "Gadget", "g", size=1), config_map("a"))
    stage.addon("b41-never", config_map("a"))
    stage.addon("b42", config_map("one", "b42-a"), config_map("two", "b42-b"), namespace="b42-a", createNamespace=False)
    all_synced(stage.sync())
    known = kubectl.record("b41-never")["status"]["objects"]
    never = {"group": NEVER, "version": "v1", "kind": "Nothing", "namespace": "b41-never", "name": "n", "uid": "1"}
    patch = json.dumps({"status": {"objects": [*known, {**never, "state": "applied"}]}})
    kubectl.run("patch", "radd", "b41-never", "--subresource=status", "--type=merge", f"--patch={patch}")
    uids = {name: event_uid(kubectl, name) for name in ("b39-core", "b39-new", "b39-giver")}

    stage.addon("b39-core", stays, new_event("moves", "b39-core"))
    stage.addon("b39-new", stays, core_event("moves", "b39-new"))
    stage.addon("b39-giver", stays)
    taken = [config_map("own"), new_event("moves", "b39-giver")]
    stage.addon("b39-taker", *taken, namespace="b39-giver", createNamespace=False, dependsOn=["b39-giver"])
    for name in ("b40", "b40-few"):
        stage.repository.write(f"{name}/objects.yaml", "# nothing left\n")
    stage.repository.define("b40-few", createNamespace=True, maxDelete=1)
    stage.repository.write("b40-broken/objects.yaml", "kind: [broken\n")
    stage.repository.remove("b40-missing")
    kubectl.run("delete", "crd", f"widgets.{GROUP}")
    for name in ("b41", "b41-both"):
        stage.addon(name, config_map("a"))
    stage.addon("b42", config_map("one", "b42-a"), namespace="b42-a", createNamespace=False)
    preview = stage.preview()
    second = stage.sync()
    after_second = {name: stage.inventory(name) for name in second}

    stage.repository.define("b40", createNamespace=True, maxDelete=1)
    allowed = stage.preview()
    third = stage.sync()
    return Story(stage, uids, preview, second, after_second, allowed, third, stage.sync())


@pytest.mark.parametrize("name", ["b39-core", "b39-new"])
def test_b39_an_object_that_moves_to_another_api_group_is_the_same_object(
    story: Story, kubectl: Kubectl, name: str
) -> None:
    all_synced(story.second, [name])
    assert event_uid(kubectl, name) == story.uids[name]
    assert pruned(story.second[name]) == []
    (event,) = [
        entry.get("group", "") for entry in kubectl.record(name)["status"]["objects"] if entry["kind"] == "Event"
    ]
    assert event == ("events.k8s.io" if name == "b39-core" else "")
    assert story.fourth[name].outcome.phase == "", "there is nothing left to do"


def test_b39_nor_is_it_deleted_when_it_moves_to_another_add_on_as_well(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.second, ["b39-giver", "b39-taker"])
    assert kept(story.second["b39-giver"]) == {"Event b39-giver/moves": "moves to add-on b39-taker"}
    assert event_uid(kubectl, "b39-giver") == story.uids["b39-giver"]
    assert kubectl.get("event", "moves", "b39-giver")["metadata"]["labels"]["rendimiento.ai/addon"] == "b39-taker"
    assert "Event b39-giver/moves" not in story.stage.inventory("b39-giver")
    assert "Event b39-giver/moves" in story.stage.inventory("b39-taker")


def test_b40_an_empty_source_asks_for_a_permission(story: Story) -> None:
    for runs in (story.preview, story.second):
        (reason,) = [text for title, text in kept(runs["b40"]).items() if title == "ConfigMap b40/a"]
        assert "an empty render never prunes by itself. Set maxDelete to at least 1 to delete what it had" in reason
    all_synced(story.second, ["b40"])
    assert story.after_second["b40"]["ConfigMap b40/a"] == "stale"


def test_b40_with_the_permission_the_last_object_goes(story: Story, kubectl: Kubectl) -> None:
    assert planned(story.allowed["b40"])["ConfigMap b40/a"] == "prune"
    assert kept(story.allowed["b40"]) == {}
    all_synced(story.third, ["b40"])
    assert pruned(story.third["b40"]) == ["ConfigMap b40/a"]
    assert kubectl.find("configmap", "a", "b40") is None
    assert story.stage.inventory("b40").keys() == {"Namespace b40"}


def test_b40_a_permission_for_fewer_is_none(story: Story, kubectl: Kubectl) -> None:
    for runs in (story.second, story.third):
        assert "2 objects would be pruned, maxDelete is 1" in kept(runs["b40-few"])["ConfigMap b40-few/a"]
    assert kubectl.find("configmap", "a", "b40-few") and kubectl.find("configmap", "b", "b40-few")


@pytest.mark.parametrize("name", ["b40-broken", "b40-missing"])
def test_b40_a_render_that_fails_and_a_path_that_is_missing_delete_nothing(
    story: Story, kubectl: Kubectl, name: str
) -> None:
    for runs in (story.preview, story.second, story.third):
        assert runs[name].outcome.phase == "Error"
        assert runs[name].outcome.pruned == []
    assert kubectl.find("configmap", "a", name)
    assert story.stage.inventory(name)[f"ConfigMap {name}/a"] == "applied"


def test_b41_instances_of_a_kind_that_is_gone_are_gone(story: Story) -> None:
    all_synced(story.second, ["b41"])
    assert story.second["b41"].outcome.notes == ["Widget b41/w: its kind is not served any more"]
    assert story.after_second["b41"].keys() == {"Namespace b41", "ConfigMap b41/a"}
    assert story.third["b41"].outcome.phase == "", "the second run has nothing to do"


def test_b41_so_is_what_is_of_a_kind_that_there_never_was(story: Story) -> None:
    all_synced(story.second, ["b41-never"])
    assert story.second["b41-never"].outcome.notes == ["Nothing b41-never/n: its kind is not served any more"]
    assert story.after_second["b41-never"].keys() == {"Namespace b41-never", "ConfigMap b41-never/a"}
    assert story.third["b41-never"].outcome.phase == ""


def test_b41_of_a_kind_and_its_instances_the_instances_go_and_the_kind_stays(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.second, ["b41-both"])
    assert pruned(story.second["b41-both"]) == ["Gadget b41-both/g"]
    assert "protected kind" in kept(story.second["b41-both"])[f"CustomResourceDefinition gadgets.{BOTH}"]
    assert kubectl.find("crd", f"gadgets.{BOTH}")
    assert story.after_second["b41-both"][f"CustomResourceDefinition gadgets.{BOTH}"] == "retained"


def test_b42_only_what_the_inventory_has_is_deleted_wherever_it_is(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.second, ["b42"])
    assert planned(story.preview["b42"]) == {"ConfigMap b42-a/one": "unchanged", "ConfigMap b42-b/two": "prune"}
    assert pruned(story.second["b42"]) == ["ConfigMap b42-b/two"]
    assert kubectl.find("configmap", "one", "b42-a")
    assert kubectl.find("configmap", "two", "b42-b") is None
    for name in ("b42-a", "b42-b", "b42-c"):
        assert "deletionTimestamp" not in kubectl.get("namespace", name)["metadata"]


@pytest.fixture(scope="module")
def account(kubectl: Kubectl) -> Iterator[str]:
    """An account that may do everything but make Secrets."""
    kubectl.run("create", "namespace", "b45-accounts")
    kubectl.run("create", "serviceaccount", "b45", "--namespace", "b45-accounts")
    everything = {"apiGroups": ["*"], "verbs": ["get", "list", "watch"], "resources": ["*"]}
    some = {
        "apiGroups": ["", "rbac.authorization.k8s.io"],
        "resources": ["configmaps", "clusterroles", "namespaces"],
        "verbs": ["create", "patch", "delete"],
    }
    role: dict[str, Any] = {**reader("b45-account"), "rules": [everything, some]}
    kubectl.create(role)
    kubectl.run("create", "clusterrolebinding", "b45", "--clusterrole=b45-account", "--serviceaccount=b45-accounts:b45")
    yield ACCOUNT


@pytest.fixture(scope="module")
def refused(
    bootstrapped: Cluster, kubectl: Kubectl, account: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Stage, list[Runs]]:
    """Runs with an object that may not be made, without it, and without one whose name has a colon."""
    stage = Stage.of(tmp_path_factory.mktemp("refused"), "refused-objects", bootstrapped, kubectl)
    rights = [config_map("a"), reader("demo:reader")]
    stage.addon("b45", *rights, secret("s", data={"key": "swordfish-b45"}))
    first = stage.sync(impersonate=account)
    assert "Secret b45/s" not in stage.inventory("b45")
    stage.addon("b45", *rights)
    second = stage.sync(impersonate=account)
    assert stage.inventory("b45")["ClusterRole demo:reader"] == "applied"
    stage.addon("b45", config_map("a"))
    return stage, [first, second, stage.sync(impersonate=account)]


def test_b45_what_was_refused_never_counts_as_ours(refused: tuple[Stage, list[Runs]]) -> None:
    stage, (first, second, _third) = refused
    assert first["b45"].outcome.phase == "Error"
    assert "secrets" in first["b45"].failure.lower()
    all_synced(second)
    assert "Secret b45/s" not in stage.inventory("b45")


def test_b45_a_name_with_a_colon_is_tracked_and_pruned(refused: tuple[Stage, list[Runs]], kubectl: Kubectl) -> None:
    stage, (_first, _second, third) = refused
    all_synced(third)
    assert pruned(third["b45"]) == ["ClusterRole demo:reader"]
    assert kubectl.find("clusterrole", "demo:reader") is None
    assert stage.inventory("b45").keys() == {"ConfigMap b45/a", "Namespace b45"}


def test_b45_what_a_killed_run_applied_is_found_and_pruned(
    bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stage = Stage.of(tmp_path_factory.mktemp("killed"), "killed-before-its-record", bootstrapped, kubectl)
    stage.addon("b45-killed", config_map("a"), config_map("stays"))
    stage.repository.commit()
    stage.engine.run_until_applied("b45-killed")
    assert stage.inventory("b45-killed")["ConfigMap b45-killed/a"] == "pending"
    stage.addon("b45-killed", config_map("stays"))
    run = stage.sync()
    all_synced(run)
    assert pruned(run["b45-killed"]) == ["ConfigMap b45-killed/a"]
    wait_until(lambda: kubectl.find("configmap", "a", "b45-killed") is None, "it is gone")


def test_b45_pruning_that_was_skipped_is_reported_as_skipped(story: Story) -> None:
    for name, title in (("b40", "ConfigMap b40/a"), ("b40-few", "ConfigMap b40-few/a")):
        assert title in kept(story.second[name])
        assert pruned(story.second[name]) == []
