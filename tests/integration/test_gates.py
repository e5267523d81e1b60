"""What holds an add-on back although its plan could be carried out: pause, suspension, manual sync, adoption, hooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, Object
from tests.integration.objects import config_map, deployment, job, namespace
from tests.integration.scene import Observed, Scene

ADOPTING = ("unasked", "differs", "equal", "allowed")


@dataclass(frozen=True)
class Story:
    """Version 1; then version 2 with some held; then nothing new; then everybody is let go."""

    existing: dict[str, Object]
    first: Observed
    held: Observed
    quiet: Observed
    freed: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> Story:
    scene = new_scene("gates")
    for name in ADOPTING:
        kubectl.create(namespace(f"adopt-{name}"), deployment("app", f"adopt-{name}", replicas=1))
        kubectl.run("--namespace", f"adopt-{name}", "apply", "-f", "-", text=json.dumps(config_map("settings")))
    existing = kubectl.everything("deployments", "configmaps")

    write_version(scene.repository, "1")
    first = scene.observe(diff=True)

    kubectl.annotate("paused", paused="true", **{"paused-reason": "storm"})
    kubectl.merge("radd", "manual", {"spec": {"syncRequest": 1}})
    write_version(scene.repository, "2", suspend=True)
    held = scene.observe(diff=True)
    quiet = scene.observe(fail_on=["Error", "changes"])

    kubectl.annotate("paused", paused=None, **{"paused-reason": None})
    kubectl.merge("radd", "manual", {"spec": {"syncRequest": 2}})
    write_version(scene.repository, "3")
    return Story(existing, first, held, quiet, scene.observe())


def write_version(repository: Repository, version: str, *, suspend: bool = False) -> None:
    settings = config_map("settings", data={"version": version})
    repository.addon("running", settings, createNamespace=True)
    repository.addon("paused", settings, createNamespace=True)
    repository.addon("suspended", settings, createNamespace=True, suspend=suspend)
    # Version 2 is let through by a request while it has not been seen yet; version 3 by a second one.
    repository.addon("manual", settings, createNamespace=True, manualSync=True)
    repository.addon("waiting", settings, createNamespace=True, manualSync=True)

    installed = [deployment("app", replicas=1), config_map("settings")]
    changed = [deployment("app", replicas=3), config_map("settings")]
    repository.addon("adopt-unasked", *installed)
    repository.addon("adopt-differs", *changed, adopt=True)
    repository.addon("adopt-equal", *installed, adopt=True)
    repository.addon("adopt-allowed", *changed, adopt=True, allowAdoptChanges=True)

    hook = job("migrate", annotations={"helm.sh/hook": "pre-install"})
    smoke_test = job("smoke", annotations={"helm.sh/hook": "test"})
    repository.addon("hooked", config_map("fine"), hook, createNamespace=True)
    repository.addon("unhooked", config_map("fine"), hook, createNamespace=True, skipHooks=True)
    repository.addon("tested", config_map("fine"), smoke_test, createNamespace=True)
    repository.commit()


def version(run: Observed, addon: str) -> str:
    found: str = run.objects[f"ConfigMap {addon}/settings"]["data"]["version"]
    return found


# Pause and suspension


def test_an_addon_that_is_paused_in_the_cluster_is_left_alone(story: Story) -> None:
    assert story.held.result.phases["paused"] == "Suspended" == story.held.status("paused")["phase"]
    assert "paused by annotation: storm" in story.held.result.why("paused")
    assert version(story.held, "paused") == "1"
    assert not [each for each in story.held.requests.on_objects.writes if each.namespace == "paused"]


def test_an_addon_that_is_suspended_in_git_is_left_alone(story: Story) -> None:
    assert story.held.result.phases["suspended"] == "Suspended" == story.held.status("suspended")["phase"]
    assert "suspend: true in git" in story.held.result.why("suspended")
    assert version(story.held, "suspended") == "1"


def test_others_go_on_meanwhile(story: Story) -> None:
    assert story.held.result.succeeded().phases["running"] == "Synced"
    assert version(story.held, "running") == "2"


def test_both_resume_where_git_is_now(story: Story) -> None:
    for name in ("paused", "suspended"):
        assert story.freed.result.phases[name] == "Synced" == story.freed.status(name)["phase"]
        assert version(story.freed, name) == "3"


# Manual sync


def test_manual_changes_wait_and_are_shown(story: Story) -> None:
    assert story.first.result.succeeded().phases["manual"] == "OutOfSync"
    assert "Namespace manual" not in story.first.objects
    assert "ConfigMap manual/settings (create, simulated)" in story.first.result.output
    status = story.first.status("manual")
    assert status["phase"] == "OutOfSync"
    assert "syncRequest" in status["message"]
    assert status["preview"]["counts"] == {"create": 2}
    diffs = {item["object"]: item["diff"] for item in status["preview"]["items"]}
    assert "+  version: '1'" in diffs["ConfigMap manual/settings"]


def test_a_sync_request_lets_them_go(story: Story) -> None:
    assert story.held.result.phases["manual"] == "Synced"
    assert version(story.held, "manual") == "2"
    assert story.held.records["manual"]["spec"]["syncRequest"] == 1
    assert story.held.status("manual")["appliedSyncRequest"] == 1
    assert story.freed.status("manual")["appliedSyncRequest"] == 2


def test_the_preview_is_gone_once_the_changes_are_made(story: Story) -> None:
    preview = story.held.status("manual").get("preview") or {}
    assert not preview.get("items")
    assert not preview.get("counts")


def test_without_a_request_they_go_on_waiting(story: Story) -> None:
    for run in (story.first, story.held, story.quiet, story.freed):
        assert run.result.phases["waiting"] == "OutOfSync"
    assert "Namespace waiting" not in story.freed.objects


# Adoption


def test_nothing_is_taken_over_unasked(story: Story) -> None:
    assert story.first.result.phases["adopt-unasked"] == "Blocked"
    assert "Set adopt: true" in story.first.result.why("adopt-unasked")


def test_a_takeover_that_would_change_something_is_blocked_and_shown(story: Story) -> None:
    assert story.first.result.phases["adopt-differs"] == "Blocked" == story.first.status("adopt-differs")["phase"]
    why = story.first.result.why("adopt-differs")
    assert "Deployment adopt-differs/app" in why and "allowAdoptChanges" in why
    assert "Deployment adopt-differs/app (update, verified)" in story.first.result.output
    preview = story.first.status("adopt-differs")["preview"]
    diffs = {item["object"]: item.get("diff", "") for item in preview["items"]}
    assert "+  replicas: 3" in diffs["Deployment adopt-differs/app"]


def test_what_is_blocked_is_not_touched(story: Story) -> None:
    for name in ("adopt-unasked", "adopt-differs"):
        assert not [each for each in story.first.requests.on_objects.writes if each.namespace == name]
        for title in (f"Deployment {name}/app", f"ConfigMap {name}/settings"):
            before, after = story.existing[title], story.freed.objects[title]
            assert before["metadata"].get("labels") == after["metadata"].get("labels")
            assert before["metadata"].get("generation") == after["metadata"].get("generation")


def test_a_takeover_moves_the_label_and_the_ownership_and_nothing_else(story: Story, kubectl: Kubectl) -> None:
    assert story.first.result.phases["adopt-equal"] == "Synced"
    assert story.first.result.counts("adopt-equal") == {"adopted": 2}
    before, after = (each["Deployment adopt-equal/app"] for each in (story.existing, story.first.objects))
    assert after["spec"] == before["spec"]
    for field in ("uid", "generation", "creationTimestamp"):
        assert after["metadata"][field] == before["metadata"][field]
    assert after["metadata"]["labels"] == {"rendimiento.ai/addon": "adopt-equal"}
    fields = kubectl.get("deployment", "app", "adopt-equal")["metadata"]["managedFields"]
    ours = [each for each in fields if (each["manager"], each["operation"]) == ("rendimiento-addons", "Apply")]
    assert "f:replicas" in ours[0]["fieldsV1"]["f:spec"]
    assert story.first.status("adopt-equal")["adopted"] is True


def test_a_takeover_may_be_allowed_to_change_things(story: Story) -> None:
    assert story.first.result.phases["adopt-allowed"] == "Synced"
    assert story.first.result.counts("adopt-allowed") == {"updated": 1, "adopted": 1}
    assert story.first.objects["Deployment adopt-allowed/app"]["spec"]["replicas"] == 3


# Hooks


def test_hooks_block_an_addon(story: Story) -> None:
    assert story.first.result.phases["hooked"] == "Blocked"
    why = story.first.result.why("hooked")
    assert "Job hooked/migrate" in why and "skipHooks: true" in why
    assert "Namespace hooked" not in story.first.objects


@pytest.mark.parametrize("name", ["unhooked", "tested"])
def test_hooks_that_are_left_out_block_nothing(story: Story, name: str) -> None:
    assert story.first.result.phases[name] == "Synced"
    assert f"ConfigMap {name}/fine" in story.first.objects
    assert not [title for title in story.first.objects if title.startswith(f"Job {name}/")]


# All gates


def test_what_is_held_is_written_down_once(story: Story) -> None:
    assert story.quiet.result.changed == 0
    assert not story.quiet.requests.writes, story.quiet.requests.writes
    assert story.quiet.records == story.held.records


def test_waiting_changes_fail_the_play_where_that_is_wanted(story: Story) -> None:
    story.quiet.result.failed()
    for name in ("waiting", "adopt-differs", "hooked"):
        assert f"{name} has changes pending" in story.quiet.result.error
