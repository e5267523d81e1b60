"""A broken add-on among others: its error is its own, what depends on it waits, everything else goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.kubectl import conditions, inventory
from tests.integration.objects import config_map, custom, deployment
from tests.integration.scene import Observed, Scene

SOUND = ("sound-a", "sound-b", "sound-c")


@dataclass(frozen=True)
class Story:
    """First with faults, then mended, while ``careful`` goes the other way."""

    broken: Observed
    mended: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("failures")
    repository = scene.repository
    no_selector = {**deployment("bad"), "spec": {"replicas": 1}}
    wrong_type = {**deployment("bad"), "spec": {"replicas": "three"}}
    stuck = deployment("stuck", outcome="unready")

    repository.addon("sound-a", config_map("fine"), createNamespace=True)
    repository.addon("sound-b", deployment("fine"), createNamespace=True)
    repository.addon("sound-c", config_map("fine"), createNamespace=True, dependsOn=["sound-b"])
    repository.addon("broken", no_selector, config_map("fine"), createNamespace=True)
    repository.addon("needs-broken", config_map("waits"), createNamespace=True, dependsOn=["broken"])
    repository.addon("needs-both", config_map("waits"), createNamespace=True, dependsOn=["needs-broken"])
    repository.addon("early", custom("nobody.test", "Widget", "one", size=1), config_map("fine"), createNamespace=True)
    repository.addon("unready", stuck, createNamespace=True, wait=1)
    repository.addon("patient", stuck, createNamespace=True, wait=0)
    repository.addon("careful", config_map("old"), createNamespace=True)
    repository.commit()
    broken = scene.observe()

    repository.addon("broken", deployment("bad"), config_map("fine"), createNamespace=True)
    repository.addon("early", config_map("fine"), createNamespace=True)
    repository.addon("unready", deployment("stuck"), createNamespace=True, wait=60)
    changed = config_map("old", data={"key": "new value"})
    repository.addon("careful", changed, config_map("new"), wrong_type, createNamespace=True)
    repository.commit()
    return Story(broken, scene.observe())


def test_the_others_are_synced(story: Story) -> None:
    assert [story.broken.result.phases[name] for name in SOUND] == ["Synced"] * 3


def test_the_broken_one_says_which_object_and_why(story: Story) -> None:
    assert story.broken.result.phases["broken"] == "Error"
    for text in (story.broken.result.why("broken"), story.broken.status("broken")["message"]):
        assert "Deployment broken/bad" in text
        assert "spec.selector" in text
    assert story.broken.status("broken")["phase"] == "Error"


def test_dependents_say_why_they_were_skipped(story: Story) -> None:
    assert "skipped: depends on broken, which failed" in story.broken.result.why("needs-broken")
    assert "skipped: depends on needs-broken, which was skipped" in story.broken.result.why("needs-both")
    for name in ("needs-broken", "needs-both"):
        assert f"Namespace {name}" not in story.broken.objects


def test_the_play_fails_and_names_only_what_failed(story: Story) -> None:
    assert "broken is Error" in story.broken.result.failed().error
    assert not [name for name in SOUND if name in story.broken.result.error]


def test_mended_it_catches_up_with_its_dependents(story: Story) -> None:
    assert [story.mended.result.phases[name] for name in ("broken", "needs-broken", "needs-both")] == ["Synced"] * 3


def test_a_kind_that_is_not_served(story: Story) -> None:
    assert story.broken.result.phases["early"] == "Error"
    why = story.broken.result.why("early")
    # Nothing tells whether an unknown kind lives in namespaces, so the object is named without one.
    assert "Widget one: Widget of nobody.test/v1 is not served" in why
    assert "dependsOn" in why, "the message has to say what to do"
    assert story.mended.result.phases["early"] == "Synced"


def test_what_is_not_ready_in_time_is_an_error(story: Story) -> None:
    assert story.broken.result.phases["unready"] == "Error"
    assert "not ready after 1 s: Deployment unready/stuck" in story.broken.result.why("unready")
    record = story.broken.records["unready"]
    assert conditions(record) == {"Synced": "True", "Healthy": "False", "Ready": "False"}
    assert inventory(record)["Deployment unready/stuck"] == "applied"
    assert story.mended.result.phases["unready"] == "Synced"
    assert conditions(story.mended.records["unready"]) == {"Synced": "True", "Healthy": "True", "Ready": "True"}


def test_nobody_waits_where_waiting_is_off(story: Story) -> None:
    assert story.broken.result.phases["patient"] == "Synced"
    assert conditions(story.broken.records["patient"])["Healthy"] != "True"


def test_a_refusal_comes_before_the_first_write(story: Story) -> None:
    """The namespace exists, so every object can be checked: none is applied when one is refused."""
    assert story.mended.result.failed().phases["careful"] == "Error"
    assert "Deployment careful/bad" in story.mended.result.why("careful")
    assert "spec.replicas" in story.mended.result.why("careful")
    assert story.mended.objects["ConfigMap careful/old"]["data"] == {"key": "value"}
    assert "ConfigMap careful/new" not in story.mended.objects
    assert not [each for each in story.mended.requests.writes if each.namespace == "careful"]
