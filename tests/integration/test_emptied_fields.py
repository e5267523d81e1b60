"""Fields whose content leaves the source while the fields stay as empty ones, of objects that are ours already.

One request does not do: the first apply removes them, and of custom resources the server refuses it for good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.objects import Object, custom, custom_kind, deployment
from tests.integration.scene import Observed, Scene

GROUP = "emptying.test"
KINDS = (f"shelves.{GROUP}",)
DROPPED = {"capabilities": {"drop": ["ALL"]}}


@dataclass(frozen=True)
class Story:
    """Full fields are applied; emptied ones are previewed, applied, and previewed again."""

    first: Observed
    preview: Observed
    second: Observed
    again: Observed


def shelf_kind() -> Object:
    made = custom_kind(GROUP, "Shelve")
    [version] = made["spec"]["versions"]
    numbers = {"type": "object", "additionalProperties": {"type": "integer"}}
    texts = {"type": "array", "items": {"type": "string"}}
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] |= {"limits": numbers, "parts": texts}
    return made


def secured(context: Object) -> Object:
    made = deployment("secured")
    made["spec"]["template"]["spec"]["containers"][0]["securityContext"] = context
    return made


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("emptying")
    full = custom(GROUP, "Shelve", "a", size=1, limits={"low": 1}, parts=["x"])
    scene.repository.addon("emptying", shelf_kind(), full, secured(DROPPED), createNamespace=True)
    scene.repository.commit()
    first = scene.observe(kinds=KINDS)
    empty = custom(GROUP, "Shelve", "a", size=1, limits={}, parts=[])
    scene.repository.addon("emptying", shelf_kind(), empty, secured({}), createNamespace=True)
    scene.repository.commit()
    preview = scene.observe(check=True, diff=True, kinds=KINDS)
    second = scene.observe(kinds=KINDS)
    return Story(first, preview, second, scene.observe(check=True, kinds=KINDS))


def test_they_are_there_before(story: Story) -> None:
    assert story.first.result.succeeded().phases == {"emptying": "Synced"}
    assert story.first.objects["Shelve emptying/a"]["spec"] == {"size": 1, "limits": {"low": 1}, "parts": ["x"]}


def test_the_preview_tells_that_they_become_empty(story: Story) -> None:
    assert story.preview.result.counts("emptying") == {"updated": 2, "unchanged": 2}
    lines = {line.strip() for line in story.preview.result.output.splitlines()}
    assert {"-    low: 1", "+  limits: {}", "-  - x", "+  parts: []"} <= lines
    assert not story.preview.requests.writes


def test_they_stay_as_empty_ones(story: Story) -> None:
    assert story.second.result.succeeded().counts("emptying") == {"updated": 2, "unchanged": 2}
    assert story.second.objects["Shelve emptying/a"]["spec"] == {"size": 1, "limits": {}, "parts": []}
    [container] = story.second.objects["Deployment emptying/secured"]["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"] == {}


def test_nothing_is_left_to_do(story: Story) -> None:
    assert story.again.result.succeeded().counts("emptying") == {"unchanged": 4}
