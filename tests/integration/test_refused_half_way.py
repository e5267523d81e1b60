"""What the dry run lets through and the real request does not, and marks that are set on the live object alone.

Admission may answer the two differently: the server's own policies see which of them they look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster import Cluster
from tests.integration.kubectl import Kubectl, Object, wait_until
from tests.integration.objects import config_map
from tests.integration.stage import Runs, Stage, all_synced, kept, planned, pruned

POLICY = "refuses-half-way"
PLACES = ("b45-create", "b45-update", "b45-stack")


def policy() -> list[Object]:
    """Refuses to write the ConfigMap ``s``, but not its dry run."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    where = {"matchLabels": {POLICY: "yes"}}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": where},
        "validations": [{"expression": "request.dryRun == true || object.metadata.name != 's'", "message": "not this"}],
    }
    api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": POLICY}}
    binding = {"policyName": POLICY, "validationActions": ["Deny"]}
    return [
        {**api, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**api, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]


def needing(name: str, place: str, blocker: str) -> Object:
    return config_map(name, annotations={"rendimiento.ai/depends-on": f"/ConfigMap/{place}/{blocker}"})


@dataclass(frozen=True)
class Story:
    """Refused half-way; what was refused leaves the source; nothing refuses any more."""

    stage: Stage
    uid: str
    refused: Runs
    states: dict[str, dict[str, str]]
    entry: dict[str, Any]
    live: dict[str, Object]
    left: Runs
    free: Runs


@pytest.fixture(scope="module")
def story(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    stage = Stage.of(tmp_path_factory.mktemp("half-way"), "half-way", bootstrapped, kubectl)
    for place in (*PLACES, POLICY):
        kubectl.run("create", "namespace", place)
        kubectl.run("label", "namespace", place, f"{POLICY}=yes")

    def addon(name: str, *objects: Object) -> None:
        stage.addon(name, *objects, createNamespace=False)

    changed = {"key": "other"}
    addon("b45-update", config_map("s"), config_map("a"))
    addon("b45-stack", config_map("base"), config_map("leaves"))
    all_synced(stage.sync())
    uid = str(kubectl.get("configmap", "s", "b45-update")["metadata"]["uid"])
    kubectl.create(*policy())
    try:
        wait_until(lambda: refuses(kubectl), "the policy is in force")
        addon("b45-create", *(config_map(name) for name in ("a", "other", "s")))
        addon("b45-update", config_map("s", data=changed), config_map("a", data=changed))
        parts = [needing("s", "b45-stack", "base"), needing("child", "b45-stack", "s")]
        parts += [needing("grandchild", "b45-stack", "child"), needing("beside", "b45-stack", "base")]
        addon("b45-stack", config_map("base", data=changed), *parts)
        refused = stage.sync()
        states = {name: stage.inventory(name) for name in refused}
        (entry,) = (one for one in kubectl.record("b45-update")["status"]["objects"] if one["name"] == "s")
        live = kubectl.everything("configmaps")

        addon("b45-create", config_map("a"))
        addon("b45-update", config_map("a", data=changed))
        left = stage.sync()
    finally:
        kubectl.run("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", POLICY)
    wait_until(lambda: not refuses(kubectl), "the policy is gone")
    yield Story(stage, uid, refused, states, entry, live, left, stage.sync())


def refuses(kubectl: Kubectl) -> bool:
    """Whether the policy is in force."""
    kubectl.run("--namespace", POLICY, "delete", "configmap", "s", "--ignore-not-found")
    try:
        kubectl.run("--namespace", POLICY, "create", "configmap", "s")
    except AssertionError as error:
        assert POLICY in str(error)
        return True
    return False


def test_b45_what_only_the_real_request_refuses_is_an_error_with_the_name_of_the_policy(story: Story) -> None:
    run = story.refused["b45-create"]
    assert (
        planned(run)["ConfigMap b45-create/s"] == "create" and run.item("ConfigMap b45-create/s").verdict != "unknown"
    )
    assert run.outcome.phase == "Error"
    assert "ConfigMap b45-create/s" in run.failure and POLICY in run.failure and "not this" in run.failure


def test_b45_all_others_are_applied_and_remembered(story: Story) -> None:
    for name in ("a", "other"):
        assert f"ConfigMap b45-create/{name}" in story.live
        assert story.states["b45-create"][f"ConfigMap b45-create/{name}"] == "applied"
    assert "ConfigMap b45-create/s" not in story.live
    assert story.states["b45-create"].get("ConfigMap b45-create/s") != "applied"


def test_b45_what_was_refused_can_leave_the_source_like_anything_else(story: Story) -> None:
    all_synced(story.left, ["b45-create"])
    assert pruned(story.left["b45-create"]) == ["ConfigMap b45-create/other"]
    assert story.stage.inventory("b45-create") == {"ConfigMap b45-create/a": "applied"}


def test_b45_an_update_that_is_refused_keeps_entry_and_uid(story: Story) -> None:
    run = story.refused["b45-update"]
    assert run.outcome.phase == "Error" and POLICY in run.failure
    assert planned(run)["ConfigMap b45-update/s"] == "update"
    assert story.live["ConfigMap b45-update/s"]["data"] == {"key": "value"}
    assert story.live["ConfigMap b45-update/a"]["data"] == {"key": "other"}
    assert story.entry["uid"] == story.uid
    all_synced(story.left, ["b45-update"])
    assert pruned(story.left["b45-update"]) == ["ConfigMap b45-update/s"]


def test_a_part_that_is_refused_half_way_holds_back_what_needs_it_and_nothing_else(story: Story) -> None:
    run = story.refused["b45-stack"]
    assert run.outcome.phase == "Error" and POLICY in run.failure
    held_back = {str(one.key): one.reason for one in run.outcome.held_back}
    waits = "waits for ConfigMap b45-stack/s"
    assert held_back == {"ConfigMap b45-stack/child": waits, "ConfigMap b45-stack/grandchild": waits}
    assert all(f"{title} ({waits})" in run.outcome.error for title in held_back)
    there = {title.rpartition("/")[2] for title in story.live if title.startswith("ConfigMap b45-stack/")}
    assert there - {"kube-root-ca.crt"} == {"base", "beside", "leaves"}
    assert story.live["ConfigMap b45-stack/base"]["data"] == {"key": "other"}


def test_nothing_is_pruned_while_a_part_is_refused(story: Story) -> None:
    for runs in (story.refused, story.left):
        assert planned(runs["b45-stack"])["ConfigMap b45-stack/leaves"] == "prune"
        assert pruned(runs["b45-stack"]) == []
    assert story.states["b45-stack"]["ConfigMap b45-stack/leaves"] == "applied"


def test_when_nothing_refuses_any_more_the_next_run_completes(story: Story, kubectl: Kubectl) -> None:
    all_synced(story.free)
    assert pruned(story.free["b45-stack"]) == ["ConfigMap b45-stack/leaves"]
    names = ("base", "s", "child", "grandchild", "beside")
    assert story.stage.inventory("b45-stack") == {f"ConfigMap b45-stack/{name}": "applied" for name in names}
    assert kubectl.find("configmap", "leaves", "b45-stack") is None


# Marks on the live object

MARKS = {
    "argocd": ("annotate", "argocd.argoproj.io/sync-options", "Prune=false"),
    "cli-utils": ("annotate", "cli-utils.sigs.k8s.io/on-remove", "keep"),
    "kapp": ("annotate", "kapp.k14s.io/delete-strategy", "orphan"),
    "fleet": ("label", "objectset.rio.cattle.io/prune", "false"),
}
MARKED, MEANWHILE = "marked-live", "marked-meanwhile"


def mark(kubectl: Kubectl, place: str) -> None:
    for name, (verb, what, value) in MARKS.items():
        kubectl.run("--namespace", place, verb, "configmap", name, f"{what}={value}")


@pytest.fixture(scope="module")
def marked(
    bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Stage, list[Runs]]:
    """People mark objects that leave the source: of one add-on before the plan, of the other after it; again."""
    stage = Stage.of(tmp_path_factory.mktemp("marked"), "marked", bootstrapped, kubectl)
    for name in (MARKED, MEANWHILE):
        stage.addon(name, config_map("stays"), config_map("goes"), *map(config_map, MARKS))
    all_synced(stage.sync())
    mark(kubectl, MARKED)
    for name in (MARKED, MEANWHILE):
        stage.addon(name, config_map("stays"))
    preview = stage.preview()
    run = stage.engine.run(check=False, meanwhile=lambda: mark(kubectl, MEANWHILE))
    return stage, [preview, run, stage.sync()]


def reasons(place: str) -> dict[str, str]:
    return {
        f"ConfigMap {place}/{name}": f"{'annotation' if verb == 'annotate' else verb} {what}: {value}"
        for name, (verb, what, value) in MARKS.items()
    }


def test_what_other_tools_are_told_to_keep_on_the_live_object_is_kept(
    marked: tuple[Stage, list[Runs]], kubectl: Kubectl
) -> None:
    stage, (preview, run, again) = marked
    for runs in (preview, run, again):
        assert kept(runs[MARKED]) == reasons(MARKED)
    all_synced(run, [MARKED])
    assert pruned(run[MARKED]) == [f"ConfigMap {MARKED}/goes"]
    states = stage.inventory(MARKED)
    for name in MARKS:
        assert states[f"ConfigMap {MARKED}/{name}"] == "retained"
        assert kubectl.find("configmap", name, MARKED)


def test_so_is_what_is_marked_after_the_plan_was_made(marked: tuple[Stage, list[Runs]], kubectl: Kubectl) -> None:
    stage, (preview, run, again) = marked
    assert all(planned(preview[MEANWHILE])[title] == "prune" for title in reasons(MEANWHILE))
    assert pruned(run[MEANWHILE]) == [f"ConfigMap {MEANWHILE}/goes"]
    assert kept(again[MEANWHILE]) == reasons(MEANWHILE)
    all_synced(again, [MEANWHILE])
    states = stage.inventory(MEANWHILE)
    for name in MARKS:
        assert states[f"ConfigMap {MEANWHILE}/{name}"] == "retained"
        assert kubectl.find("configmap", name, MEANWHILE)
