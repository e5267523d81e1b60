"""A definition file leaves the repository and comes back: the software runs on, a tombstone remembers its objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.kubectl import inventory
from tests.integration.objects import config_map, custom, custom_kind, deployment
from tests.integration.scene import Observed, Scene

GROUP = "removal.test"


@dataclass(frozen=True)
class Story:
    """``leaver`` and ``returner`` lose their files and get them back, one with changes; then most files go."""

    first: Observed
    preview: Observed
    left: Observed
    back: Observed
    most_gone: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("removal")
    repository = scene.repository
    software = [custom_kind(GROUP, "Till"), deployment("app"), custom(GROUP, "Till", "one", size=1)]
    repository.addon("leaver", *software, createNamespace=True)
    repository.addon("returner", config_map("one"), deployment("two"), createNamespace=True)
    repository.addon("stayer", config_map("stays"), createNamespace=True)
    for name in ("asleep-a", "asleep-b"):
        repository.addon(name, suspend=True)
    repository.commit()
    first = scene.observe()

    files = [repository.file_of(name) for name in ("leaver", "returner")]
    definitions = {file: (repository.path / file).read_text() for file in files}
    for file in files:
        repository.remove(file)
    repository.commit()
    preview = scene.observe(check=True)
    left = scene.observe(kinds=["tills"])

    for file, text in definitions.items():
        repository.write(file, text)
    repository.write("leaver/objects.yaml", [*software[:2], config_map("new")])
    repository.commit()
    back = scene.observe()

    for name in ("leaver", "returner", "asleep-a"):
        repository.remove(repository.file_of(name))
    repository.commit()
    return Story(first, preview, left, back, scene.observe())


def test_a_preview_tells_of_the_removal_and_leaves_the_record(story: Story) -> None:
    assert story.preview.result.succeeded().addons["leaver"]["pending"]
    assert "its definition left git" in story.preview.result.why("leaver")
    assert not story.preview.requests.writes
    assert {"leaver", "returner"} <= story.preview.records.keys()


def test_a_removed_definition_leaves_the_software_running(story: Story) -> None:
    assert "its definition left git: 4 objects keep running" in story.left.result.succeeded().why("leaver")
    assert not story.left.requests.on_objects.writes, story.left.requests.on_objects.writes
    assert "Till leaver/one" in story.left.objects
    for title in inventory(story.first.records["leaver"]).keys() - {"Till leaver/one"}:
        assert story.left.objects[title]["metadata"]["uid"] == story.first.objects[title]["metadata"]["uid"]


def test_the_record_goes_and_a_tombstone_stays(story: Story) -> None:
    assert not {"leaver", "returner"} & story.left.records.keys()
    for name in ("leaver", "returner"):
        tombstone = story.left.objects[f"Secret rendimiento-system/addon-{name}-tombstone"]
        assert tombstone["type"] == "rendimiento.ai/state"
        assert tombstone["metadata"]["labels"] == {"rendimiento.ai/state-of": name}
    assert story.left.result.phases["stayer"] == "Synced"


def test_a_definition_that_returns_changes_nothing(story: Story) -> None:
    assert story.back.result.succeeded().counts("returner") == {"unchanged": 3}
    assert not [each for each in story.back.requests.on_objects.writes if each.namespace == "returner"]
    before, after = story.first.status("returner"), story.back.status("returner")
    for field in ("objects", "appliedHash", "renderKey", "history"):
        assert after[field] == before[field], f"{field} was not taken over from the tombstone"
    assert after["phase"] == "Synced"


def test_a_definition_that_returns_goes_on_where_it_stopped(story: Story) -> None:
    """It knows its objects, so that it updates, creates and prunes as if it had never been away."""
    assert story.back.result.phases["leaver"] == "Synced"
    assert story.back.result.counts("leaver") == {"created": 1, "unchanged": 3, "pruned": 1}
    expected = inventory(story.first.records["leaver"]).keys() - {"Till leaver/one"} | {"ConfigMap leaver/new"}
    assert inventory(story.back.records["leaver"]).keys() == expected


def test_the_tombstone_goes_when_the_definition_returns(story: Story) -> None:
    assert not [title for title in story.back.objects if "tombstone" in title and "leaver" in title]
    assert not [title for title in story.back.objects if "tombstone" in title and "returner" in title]


def test_a_run_that_would_let_go_of_most_addons_is_refused(story: Story) -> None:
    """A wrong branch or folder looks just like that."""
    error = story.most_gone.result.failed().error
    assert "3 of the 5 add-ons recorded from it have no definition file" in error
    assert "(asleep-a, leaver, returner)" in error
    assert "addon_only" in error
    assert not story.most_gone.requests.writes
    assert story.most_gone.records == story.back.records
