"""Whose an object is: handed over in one commit, claimed twice, or held by an add-on that is not part of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.kubectl import Kubectl, Object, inventory
from tests.integration.objects import config_map, deployment, namespace
from tests.integration.scene import Observed, Scene

NAMESPACE = "claims"
LABEL = "rendimiento.ai/addon"


@dataclass(frozen=True)
class Story:
    """Everybody has something; things move and two add-ons want one; that is settled; then only some are run."""

    first: Observed
    moved: Observed
    settled: Observed
    only: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> Story:
    scene = new_scene("claims")
    kubectl.create(namespace(NAMESPACE))

    def addon(name: str, *objects: Object) -> None:
        scene.repository.addon(name, *objects, namespace=NAMESPACE)

    def settings(name: str, version: str) -> Object:
        return config_map(f"settings-of-{name}", data={"version": version})

    addon("early", deployment("moves-down"), config_map("early"))
    addon("late", deployment("moves-up"), config_map("late"))
    for name in ("rival-a", "rival-b", "chosen", "unchosen", "thief"):
        addon(name, settings(name, "1"))
    scene.repository.commit()
    first = scene.observe()

    # One commit moves an object each way, so that one of the two add-ons gives before, the other after it takes.
    addon("early", deployment("moves-up"), config_map("early"))
    addon("late", deployment("moves-down", replicas=2), config_map("late"))
    for name in ("rival-a", "rival-b"):
        addon(name, settings(name, "2"), config_map("disputed"))
    scene.repository.commit()
    moved = scene.observe()

    addon("rival-b", settings("rival-b", "2"))
    scene.repository.commit()
    settled = scene.observe()

    for name in ("chosen", "unchosen"):
        addon(name, settings(name, "2"))
    addon("thief", settings("thief", "2"), settings("unchosen", "stolen"))
    scene.repository.remove(scene.repository.file_of("late"))
    scene.repository.commit()
    return Story(first, moved, settled, scene.observe(only=["chosen", "thief"]))


@pytest.mark.parametrize(
    ("name", "giver", "taker", "changes"),
    [("moves-up", "late", "early", "adopted"), ("moves-down", "early", "late", "updated")],
)
def test_an_object_that_changes_hands_is_not_deleted(
    story: Story, name: str, giver: str, taker: str, changes: str
) -> None:
    title = f"Deployment claims/{name}"
    before, after = story.first.objects[title], story.moved.objects[title]
    assert before["metadata"]["labels"][LABEL] == giver
    assert after["metadata"]["labels"][LABEL] == taker
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert (story.moved.result.phases[giver], story.moved.result.phases[taker]) == ("Synced", "Synced")
    assert story.moved.result.counts(taker)[changes] == 1
    assert f"{title}: moves to add-on {taker}" in story.moved.result.addons[giver]["kept_objects"]
    assert title in inventory(story.moved.records[taker])


@pytest.mark.parametrize(("name", "giver"), [("moves-up", "late"), ("moves-down", "early")])
def test_the_giver_forgets_it(story: Story, name: str, giver: str) -> None:
    assert f"Deployment claims/{name}" not in inventory(story.settled.records[giver])
    assert f"Deployment claims/{name}" in story.settled.objects


def test_two_addons_that_claim_one_object_both_stop_before_any_write(story: Story) -> None:
    story.moved.result.failed()
    for name in ("rival-a", "rival-b"):
        assert story.moved.result.phases[name] == "Error"
        why = story.moved.result.why(name)
        assert "ConfigMap claims/disputed" in why
        assert "rival-a/objects.yaml" in why and "rival-b/objects.yaml" in why
        assert story.moved.objects[f"ConfigMap claims/settings-of-{name}"]["data"] == {"version": "1"}
    assert "ConfigMap claims/disputed" not in story.moved.objects


def test_a_settled_claim_goes_on(story: Story) -> None:
    assert story.settled.result.succeeded().phases["rival-a"] == "Synced"
    assert story.settled.objects["ConfigMap claims/disputed"]["metadata"]["labels"][LABEL] == "rival-a"
    assert story.settled.objects["ConfigMap claims/settings-of-rival-b"]["data"] == {"version": "2"}


def test_a_run_can_be_about_some_addons_only(story: Story) -> None:
    assert set(story.only.result.phases) == {"chosen", "thief"}
    assert story.only.result.phases["chosen"] == "Synced"
    assert story.only.objects["ConfigMap claims/settings-of-chosen"]["data"] == {"version": "2"}
    assert story.only.objects["ConfigMap claims/settings-of-unchosen"]["data"] == {"version": "1"}
    for name in ("unchosen", "early", "late"):
        assert story.only.records[name] == story.settled.records[name], f"the record of {name} was touched"


def test_what_an_addon_outside_of_the_run_holds_is_not_taken(story: Story) -> None:
    assert story.only.result.failed().phases["thief"] == "Error"
    why = story.only.result.why("thief")
    assert "ConfigMap claims/settings-of-unchosen" in why
    assert "belongs to add-on unchosen, which is not part of this run" in why
    assert story.only.objects["ConfigMap claims/settings-of-thief"]["data"] == {"version": "1"}
