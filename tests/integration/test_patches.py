"""Patches of a definition on a real cluster: for each kind of source, hooks included, rendered once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.objects import config_map, deployment
from tests.integration.scene import Observed, Scene

GOOD = ("chart", "kustomized", "plain")
HOOK = "helm.sh/hook"

IMAGE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "app"},
    "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "patched"}]}}},
}
REPLICAS = [{"op": "replace", "path": "/spec/replicas", "value": 3}]
"""In the file that the add-ons share."""


def inline(patch: Any, **fields: Any) -> dict[str, Any]:
    return {"patch": json.dumps(patch), **fields}


@dataclass(frozen=True)
class Story:
    """A preview, a sync, and one with nothing new; then a patch changes and another one is mistyped."""

    preview: Observed
    first: Observed
    second: Observed
    changed: Observed
    calls: dict[str, list[str]]


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("patches")
    repository = scene.repository
    repository.write("shared/replicas.json", json.dumps(REPLICAS))
    both = [inline(IMAGE), {"path": "shared/replicas.json", "target": {"kind": "Deployment"}}]
    app, untouched = deployment("app"), config_map("untouched", data={"mode": "0644", "text": "a \nb\n"})

    repository.addon("plain", app, untouched, createNamespace=True, patches=both)
    repository.write("kustomized/objects.yaml", [app, untouched])
    repository.write("kustomized/kustomization.yaml", [{"resources": ["objects.yaml"], "namePrefix": "a-"}])
    named = {**IMAGE, "metadata": {"name": "a-app"}}
    repository.define("kustomized", createNamespace=True, patches=[inline(named), both[1]])

    repository.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 0.0.1\n")
    repository.write("chart/templates/app.yaml", [app, untouched])
    hooks = [config_map(name, annotations={HOOK: "post-install"}) for name in ("ordinary", "left-out")]
    repository.write("chart/templates/hooks.yaml", hooks)
    no_hook = [{"op": "remove", "path": f"/metadata/annotations/{HOOK.replace('/', '~1')}"}]
    of_hooks = [
        inline([{"op": "add", "path": "/data/patched", "value": "yes"}], target={"annotationSelector": HOOK}),
        inline(no_hook, target={"kind": "ConfigMap", "name": "ordinary"}),
    ]
    repository.define("chart", createNamespace=True, skipHooks=True, patches=[*both, *of_hooks])
    repository.commit("the add-ons")

    calls = {}

    def observe(name: str, **options: Any) -> Observed:
        run = scene.observe(**options)
        calls[name] = scene.programs.calls()
        return run

    preview = observe("preview", check=True, diff=True)
    first = observe("first")
    second = observe("second")
    repository.addon(
        "plain", app, createNamespace=True, patches=[*both[:1], inline(REPLICAS, target={"kind": "Deploy"})]
    )
    repository.write("shared/replicas.json", json.dumps([{**REPLICAS[0], "value": 2}]))
    repository.commit("a file that others share, and a target that selects nothing")
    return Story(preview, first, second, observe("changed"), calls)


@pytest.mark.parametrize(("addon", "name"), [("plain", "app"), ("kustomized", "a-app"), ("chart", "app")])
def test_patches_of_both_forms_are_applied_whatever_the_source_is(story: Story, addon: str, name: str) -> None:
    assert story.first.result.succeeded().phases == dict.fromkeys(GOOD, "Synced")
    spec = story.first.objects[f"Deployment {addon}/{name}"]["spec"]
    assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"]) == (3, "patched")


@pytest.mark.parametrize(
    ("addon", "name"), [("plain", "untouched"), ("kustomized", "a-untouched"), ("chart", "untouched")]
)
def test_what_no_patch_selects_is_as_the_source_has_it(story: Story, addon: str, name: str) -> None:
    assert story.first.objects[f"ConfigMap {addon}/{name}"]["data"] == {"mode": "0644", "text": "a \nb\n"}


def test_hooks_are_patched_before_they_are_told_apart(story: Story) -> None:
    """One is a hook no longer; the other one stays one, and is left out."""
    assert story.first.objects["ConfigMap chart/ordinary"]["data"] == {"key": "value", "patched": "yes"}
    assert "ConfigMap chart/left-out" not in story.first.objects


def test_a_preview_shows_what_is_patched_and_writes_nothing(story: Story) -> None:
    assert not story.preview.requests.writes
    assert "image: patched" in story.preview.result.output


def test_what_was_patched_is_not_patched_again(story: Story) -> None:
    assert story.calls["preview"].count("helm template") == 1
    assert story.calls["first"] == []
    assert story.calls["second"] == []
    assert story.second.result.changed == 0
    assert not story.second.requests.writes


def test_a_changed_file_renders_those_that_use_it(story: Story) -> None:
    for addon, name in (("kustomized", "a-app"), ("chart", "app")):
        assert story.changed.status(addon)["phase"] == "Synced"
        assert story.changed.objects[f"Deployment {addon}/{name}"]["spec"]["replicas"] == 2


def test_a_target_that_selects_nothing_is_an_error_and_nothing_is_touched(story: Story) -> None:
    status = story.changed.status("plain")
    assert (status["phase"], status["message"]) == (
        "Error",
        "add-on plain: patches[1]: its target selects no object. "
        "Correct target: each of its fields has to match, as a regular expression, from end to end.",
    )
    assert story.changed.objects["Deployment plain/app"]["spec"]["replicas"] == 3
    assert "ConfigMap plain/untouched" in story.changed.objects
