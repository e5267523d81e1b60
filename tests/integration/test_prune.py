"""What leaves the source: objects are pruned with proof, data stays and is reported, a mass deletion is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.kubectl import Kubectl, inventory
from tests.integration.objects import config_map, custom_kind, deployment, namespace, volume, volume_claim
from tests.integration.scene import Observed, Scene

GROUP = "prune.test"
MANY = [config_map(f"number-{number}") for number in range(12)]


@dataclass(frozen=True)
class Story:
    """Everything is there; much leaves; what was refused or off is allowed."""

    first: Observed
    preview: Observed
    second: Observed
    third: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> Story:
    scene = new_scene("prune")
    repository = scene.repository
    stays = config_map("stays")
    data = [volume("disk"), custom_kind(GROUP, "Basket"), namespace("prune-data"), volume_claim("disk", volume="disk")]
    policy = config_map("policy", annotations={"helm.sh/resource-policy": "keep"})
    repository.addon("pruned", stays, *data, policy, config_map("goes"), deployment("goes"), createNamespace=True)
    repository.addon("hoarder", stays, config_map("old"), createNamespace=True, prune=False)
    repository.addon(
        "proof", stays, *map(config_map, ("relabelled", "remade", "foreign", "gone")), createNamespace=True
    )
    repository.addon("mass", stays, *MANY, createNamespace=True)
    repository.addon("modest", stays, *MANY[:3], createNamespace=True, maxDelete=2)
    repository.addon("emptied", config_map("data"), namespace="sources", createNamespace=True)
    repository.addon("blank", config_map("data-of-blank"), namespace="sources", dependsOn=["emptied"])
    repository.addon("vanished", config_map("data-of-vanished"), namespace="sources", dependsOn=["emptied"])
    repository.commit()
    first = scene.observe()

    kubectl.run("--namespace", "proof", "label", "configmap", "relabelled", "rendimiento.ai/addon-")
    kubectl.run("--namespace", "proof", "delete", "configmap", "remade", "foreign", "gone")
    kubectl.create(
        config_map("remade", "proof", labels={"rendimiento.ai/addon": "proof"}),
        config_map("foreign", "proof"),
    )
    for name in ("pruned", "proof", "mass"):
        repository.addon(name, stays, createNamespace=True)
    repository.addon("hoarder", stays, createNamespace=True, prune=False)
    repository.addon("modest", stays, createNamespace=True, maxDelete=2)
    repository.define("emptied", namespace="sources")
    repository.write("emptied/objects.yaml", "# nothing left\n")
    repository.define("blank", namespace="sources")
    repository.remove("blank/objects.yaml")
    repository.write("blank/README.md", "Nothing here yet.\n")
    repository.define("vanished", namespace="sources")
    repository.remove("vanished")
    repository.commit()
    preview = scene.observe(check=True, diff=True)
    second = scene.observe()

    repository.define("hoarder", createNamespace=True, prune=True)
    repository.define("mass", createNamespace=True, maxDelete=12)
    for name in ("emptied", "blank", "vanished"):
        repository.define(name, namespace="sources", suspend=True)
    repository.commit()
    return Story(first, preview, second, scene.observe())


def test_everything_is_installed_first(story: Story) -> None:
    assert set(story.first.result.succeeded().phases.values()) == {"Synced"}
    assert story.first.objects["PersistentVolumeClaim pruned/disk"]["status"]["phase"] == "Bound"


def test_a_preview_shows_what_would_be_pruned_and_prunes_nothing(story: Story) -> None:
    assert "+++ after: ConfigMap pruned/goes (prune, verified)" in story.preview.result.output
    assert "+++ after: Deployment pruned/goes (prune, verified)" in story.preview.result.output
    assert not story.preview.requests.writes, story.preview.requests.writes
    assert story.preview.result.counts("pruned") == story.second.result.counts("pruned")


def test_objects_that_left_are_pruned(story: Story) -> None:
    assert story.second.result.phases["pruned"] == "Synced"
    assert story.second.result.counts("pruned") == {"unchanged": 2, "pruned": 2, "kept": 5}
    deleted = {(each.resource, each.name) for each in story.second.requests.on_objects if each.verb == "delete"}
    assert deleted == {("configmaps", "goes"), ("deployments", "goes")}
    assert not {"ConfigMap pruned/goes", "Deployment pruned/goes"} & story.second.objects.keys()


def test_data_is_kept_and_reported(story: Story) -> None:
    protected = {
        f"CustomResourceDefinition baskets.{GROUP}",
        "Namespace prune-data",
        "PersistentVolume disk",
        "PersistentVolumeClaim pruned/disk",
    }
    kept = dict(text.split(": ", 1) for text in story.second.result.addons["pruned"]["kept_objects"])
    assert kept.keys() == protected | {"ConfigMap pruned/policy"}
    assert all("protected kind" in kept[title] for title in protected), kept
    assert kept["ConfigMap pruned/policy"] == "annotation helm.sh/resource-policy: keep"
    for title in kept:
        before, after = story.first.objects[title], story.second.objects[title]
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert "deletionTimestamp" not in after["metadata"]
    retained = {title for title, state in inventory(story.second.records["pruned"]).items() if state == "retained"}
    assert retained == kept.keys()


def test_kept_objects_are_reported_again_but_nothing_is_done(story: Story) -> None:
    assert story.third.result.counts("pruned") == {"unchanged": 2, "kept": 5}
    assert story.third.records["pruned"] == story.second.records["pruned"]


def test_without_prune_nothing_is_deleted_and_nothing_forgotten(story: Story) -> None:
    assert story.second.result.counts("hoarder") == {"unchanged": 2, "kept": 1}
    kept = story.second.result.addons["hoarder"]["kept_objects"]
    assert kept == ["ConfigMap hoarder/old: left the source; prune is off"]
    assert "ConfigMap hoarder/old" in story.second.objects
    # Switched on later, pruning knows what left before.
    assert story.third.result.counts("hoarder") == {"unchanged": 2, "pruned": 1}
    assert "ConfigMap hoarder/old" not in story.third.objects


def test_only_the_very_object_that_was_applied_is_deleted(story: Story) -> None:
    assert "pruned" not in story.second.result.counts("proof")
    for name in ("relabelled", "remade", "foreign"):
        assert f"ConfigMap proof/{name}" in story.third.objects, f"{name} was deleted"
    assert story.second.result.phases["proof"] == "Synced"


def test_a_mass_deletion_has_to_be_allowed(story: Story) -> None:
    assert story.second.result.counts("mass") == {"unchanged": 2, "kept": 12}
    assert "12 of 14 objects would be pruned. Set maxDelete to allow that" in story.second.result.why("mass")
    assert "ConfigMap mass/number-0" in story.second.objects
    assert story.third.result.counts("mass") == {"unchanged": 2, "pruned": 12}
    assert "ConfigMap mass/number-0" not in story.third.objects


def test_max_delete_is_a_limit_also_for_few(story: Story) -> None:
    for run in (story.second, story.third):
        assert run.result.counts("modest") == {"unchanged": 2, "kept": 3}
        assert "3 objects would be pruned, maxDelete is 2" in run.result.why("modest")


@pytest.mark.parametrize(
    ("name", "left", "why"),
    [
        ("emptied", "data", "an empty render never prunes"),
        ("blank", "data-of-blank", "git.path: blank holds no .yaml, .yml or .json file"),
        ("vanished", "data-of-vanished", "has no such folder"),
    ],
)
def test_a_source_that_is_empty_or_gone_prunes_nothing(story: Story, name: str, left: str, why: str) -> None:
    story.second.result.failed()
    assert why in story.second.result.why(name)
    assert f"ConfigMap sources/{left}" in story.third.objects
    assert f"ConfigMap sources/{left}" in inventory(story.third.records[name])
