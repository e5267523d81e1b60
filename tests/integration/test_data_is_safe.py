"""What keeps data, and the memory of what belongs to an add-on, in situations that no single rule is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.kubectl import Kubectl, Object, inventory
from tests.integration.objects import config_map, deployment
from tests.integration.scene import Observed, Scene

GREEDY = "StatefulSet safe/greedy"


def greedy_stateful_set() -> Object:
    """A StatefulSet that takes its claims along when it is deleted; without replicas it makes none."""
    labels = {"app": "greedy"}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "greedy"},
        "spec": {
            "replicas": 0,
            "serviceName": "greedy",
            "selector": {"matchLabels": labels},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
        },
    }


@dataclass(frozen=True)
class Story:
    """Two add-ons lose objects; one leaves, comes back while what it needs is broken, and leaves again."""

    left: Observed
    skipped: Observed
    gone_again: Observed
    back: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("safe")
    repository = scene.repository
    repository.addon("safe", greedy_stateful_set(), config_map("stays"), createNamespace=True)
    repository.addon("emptied-out", config_map("data"), createNamespace=True)
    repository.addon("needed", config_map("needed"), createNamespace=True)
    repository.addon("traveller", config_map("luggage"), createNamespace=True, dependsOn=["needed"])
    repository.commit()
    scene.sync().succeeded()

    travelling = (repository.path / repository.file_of("traveller")).read_text()
    repository.addon("safe", config_map("stays"), createNamespace=True)
    repository.write("emptied-out/objects.yaml", "# all of it is commented out\n")
    repository.remove(repository.file_of("traveller"))
    repository.commit()
    left = scene.observe(kinds=["statefulsets"])

    repository.write(repository.file_of("traveller"), travelling)
    repository.write("needed/objects.yaml", "kind: [broken\n")
    repository.commit()
    skipped = scene.observe()

    repository.remove(repository.file_of("traveller"))
    repository.commit()
    gone_again = scene.observe()

    repository.write(repository.file_of("traveller"), travelling)
    repository.addon("needed", config_map("needed"), createNamespace=True)
    repository.commit()
    return Story(left, skipped, gone_again, scene.observe())


def test_a_stateful_set_that_takes_its_claims_along_stays(story: Story) -> None:
    assert GREEDY in story.left.objects
    (kept,) = story.left.result.addons["safe"]["kept_objects"]
    assert kept.startswith(f"{GREEDY}: its PersistentVolumeClaims would go with it")
    assert inventory(story.left.records["safe"])[GREEDY] == "retained"


def test_a_source_that_renders_nothing_but_its_namespace_prunes_nothing(story: Story) -> None:
    assert "ConfigMap emptied-out/data" in story.left.objects
    (kept,) = story.left.result.addons["emptied-out"]["kept_objects"]
    assert "an empty render never prunes" in kept


def test_a_tombstone_outlives_a_return_that_came_to_nothing(story: Story) -> None:
    assert "depends on needed" in story.skipped.result.why("traveller")
    assert "traveller" not in story.gone_again.records
    assert story.back.result.phases["traveller"] == "Synced"
    assert "ConfigMap traveller/luggage" in inventory(story.back.records["traveller"])
    assert story.back.result.counts("traveller")["unchanged"] == 2


@pytest.fixture(scope="module")
def stuck(new_scene: Callable[[str], Scene]) -> tuple[Observed, Observed]:
    """The runs after a change that does not become ready, together with a removal."""
    scene = new_scene("stuck")
    scene.repository.addon("stuck", deployment("app"), config_map("goes"), createNamespace=True, wait=20)
    scene.repository.commit()
    scene.sync().succeeded()
    scene.repository.addon("stuck", deployment("app", outcome="unready"), createNamespace=True, wait=2)
    scene.repository.commit()
    return scene.observe(), scene.observe()


def test_what_left_the_source_goes_although_the_rest_never_becomes_ready(stuck: tuple[Observed, Observed]) -> None:
    first, second = stuck
    for run in (first, second):
        assert run.result.phases["stuck"] == "Error"
        assert "not ready after 2 s: Deployment stuck/app" in run.result.why("stuck")
    # The first run waits before it deletes anything, the second one does not wait for ever.
    assert "ConfigMap stuck/goes" in first.objects
    assert "ConfigMap stuck/goes" not in second.objects


def test_a_forgotten_record_is_an_adoption(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> None:
    scene = new_scene("forgotten")
    scene.repository.addon("forgotten", config_map("a"), createNamespace=True)
    scene.repository.commit()
    scene.sync().succeeded()
    kubectl.run("delete", "addon", "forgotten")
    scene.repository.addon("forgotten", config_map("a", data={"key": "other"}), createNamespace=True)
    scene.repository.commit()

    blocked = scene.observe()
    scene.repository.addon("forgotten", config_map("a"), createNamespace=True, adopt=True)
    scene.repository.commit()
    equal = scene.observe()

    assert blocked.result.phases == {"forgotten": "Blocked"}
    assert "labelled as this add-on's, but in no record" in blocked.result.why("forgotten")
    assert blocked.objects["ConfigMap forgotten/a"]["data"] == {"key": "value"}
    assert equal.result.phases == {"forgotten": "Synced"}
    assert "ConfigMap forgotten/a" in inventory(equal.records["forgotten"])


def test_an_add_on_that_is_paused_gives_nothing_away(new_scene: Callable[[str], Scene]) -> None:
    scene = new_scene("paused-owner")
    repository = scene.repository
    repository.addon("sleeper", config_map("mine"), config_map("stays"), createNamespace=True)
    repository.addon("grabber", config_map("own"), namespace="sleeper", dependsOn=["sleeper"])
    repository.commit()
    scene.sync().succeeded()
    repository.addon("sleeper", config_map("stays"), createNamespace=True, suspend=True)
    other = config_map("mine", data={"key": "other"})
    repository.addon("grabber", config_map("own"), other, namespace="sleeper", dependsOn=["sleeper"])
    repository.commit()

    run = scene.observe()

    assert run.result.phases == {"sleeper": "Suspended", "grabber": "Error"}
    assert "belongs to add-on sleeper, which is suspended or paused" in run.result.why("grabber")
    assert run.objects["ConfigMap sleeper/mine"]["data"] == {"key": "value"}
