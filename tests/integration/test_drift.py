"""What somebody changed in the cluster is shown and repaired, what somebody added stays, and nothing is templated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map, deployment
from tests.integration.scene import Observed, Scene

# Ansible would fill in the first two, and fail on the others.
TEMPLATES = {
    "known": "{{ inventory_hostname }}",
    "lookup": "{{ lookup('pipe', 'echo executed') }}",
    "unknown": "{{ no_such_variable }}",
    "other": "{{- range .Values -}} {% raw %} {# comment #}",
}


@dataclass(frozen=True)
class Story:
    first: Observed
    preview: Observed
    checkout_before: dict[str, str]
    checkout_after: dict[str, str]
    repaired: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> Story:
    scene = new_scene("drift")
    repository = scene.repository
    objects = [deployment("app", replicas=2), config_map("edited"), config_map("deleted"), config_map("same")]
    repository.addon("drifting", *objects, createNamespace=True)
    templates: dict[str, Any] = {"title": "{{ title }}", "description": "{{ lookup('pipe', 'false') }}"}
    repository.addon("templates", config_map("texts", data=TEMPLATES), createNamespace=True, **templates)
    repository.commit()
    first = scene.observe()

    kubectl.run("--namespace", "drifting", "scale", "deployment", "app", "--replicas=1")
    kubectl.merge("configmap", "edited", {"data": {"key": "edited", "extra": "not ours"}}, "drifting")
    kubectl.run("--namespace", "drifting", "delete", "configmap", "deleted")
    # Something that is not committed, too: a preview has to read past it and leave it alone.
    repository.write("drifting/objects.yaml", "not: committed\n")
    before = repository.fingerprint()
    preview = scene.observe(check=True, diff=True)
    return Story(first, preview, before, repository.fingerprint(), scene.observe())


def test_drift_is_shown(story: Story) -> None:
    for header in (
        "Deployment drifting/app (update, verified)",
        "ConfigMap drifting/edited (update, verified)",
        "ConfigMap drifting/deleted (create, verified)",
    ):
        assert f"+++ after: {header}" in story.preview.result.succeeded().output
    assert "drifting/same" not in story.preview.result.output
    assert "-  key: edited\n+  key: value\n" in story.preview.result.output


def test_drift_is_repaired(story: Story) -> None:
    counts = story.repaired.result.succeeded().counts("drifting")
    assert counts == {"created": 1, "updated": 2, "unchanged": 2} == story.preview.result.counts("drifting")
    app = "Deployment drifting/app"
    assert story.repaired.objects[app]["spec"]["replicas"] == 2
    assert story.repaired.objects[app]["metadata"]["uid"] == story.first.objects[app]["metadata"]["uid"]
    assert "ConfigMap drifting/deleted" in story.repaired.objects


def test_what_somebody_added_stays(story: Story) -> None:
    assert story.repaired.objects["ConfigMap drifting/edited"]["data"] == {"key": "value", "extra": "not ours"}


def test_a_run_reads_the_commit_and_leaves_the_checkout_alone(story: Story) -> None:
    assert story.checkout_after == story.checkout_before
    assert "uncommitted changes are not part of this run: drifting/objects.yaml" in story.preview.result.output


def test_nothing_is_templated(story: Story) -> None:
    assert story.first.objects["ConfigMap templates/texts"]["data"] == TEMPLATES
    assert story.first.records["templates"]["spec"]["title"] == "{{ title }}"
    assert story.first.records["templates"]["spec"]["description"] == "{{ lookup('pipe', 'false') }}"
