"""An operator's upgrade in one commit: its kind gains a field, then a version, and custom resources use it at once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.kubectl import Object
from tests.integration.objects import custom, custom_kind
from tests.integration.scene import Observed, Scene

GROUP = "upgrades.test"
ADDONS = ("operator", "resources")
RESOURCES = ("Thing operator/one", "Thing resources/two")


@dataclass(frozen=True)
class Story:
    """Installed; the kind gains a field; the kind gains a version."""

    first: Observed
    preview: Observed
    new_field: Observed
    new_version: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("upgrades")

    def write(kind: Object, version: str = "v1", **spec: str) -> None:
        one, two = (custom(GROUP, "Thing", name, None, size=1, **spec) for name in ("one", "two"))
        for each in (one, two):
            each["apiVersion"] = f"{GROUP}/{version}"
        scene.repository.addon("operator", kind, one, createNamespace=True)
        scene.repository.addon("resources", two, createNamespace=True, dependsOn=["operator"])
        scene.repository.commit()

    kind = custom_kind(GROUP, "Thing")
    write(kind)
    first = scene.observe(kinds=[f"things.{GROUP}"])

    with_field = copy.deepcopy(kind)
    schema = with_field["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["shape"] = {"type": "string"}
    write(with_field, shape="round")
    preview = scene.observe(kinds=[f"things.{GROUP}"], check=True, diff=True)
    new_field = scene.observe(kinds=[f"things.{GROUP}"])

    with_version = copy.deepcopy(with_field)
    with_version["spec"]["versions"].append({**with_field["spec"]["versions"][0], "name": "v2", "storage": False})
    write(with_version, version="v2", shape="square")
    return Story(first, preview, new_field, scene.observe(kinds=["things.v2.upgrades.test"]))


def test_a_preview_does_not_mistake_a_new_field_for_an_error(story: Story) -> None:
    """The server knows the old schema only, so this can't be checked: it is simulated, as with a new kind."""
    preview = story.preview.result.succeeded()
    for title in RESOURCES:
        assert f"+++ after: {title} (update, simulated)" in preview.output
    assert "+  shape: round" in preview.output


def test_a_field_and_its_first_use_can_come_together(story: Story) -> None:
    assert story.new_field.result.succeeded().phases == dict.fromkeys(ADDONS, "Synced")
    for title in RESOURCES:
        assert story.new_field.objects[title]["spec"] == {"size": 1, "shape": "round"}


def test_a_version_and_its_first_use_can_come_together(story: Story) -> None:
    assert story.new_version.result.succeeded().phases == dict.fromkeys(ADDONS, "Synced")
    for title in RESOURCES:
        before, after = story.first.objects[title], story.new_version.objects[title]
        assert after["spec"] == {"size": 1, "shape": "square"}
        assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_an_object_in_a_new_version_is_the_same_object(story: Story) -> None:
    assert story.new_version.result.counts("operator") == {"updated": 2, "unchanged": 1}
    assert story.new_version.result.counts("resources") == {"updated": 1, "unchanged": 1}
