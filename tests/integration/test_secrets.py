"""What a Secret contains appears nowhere: not in diffs, not at the highest verbosity, not in records, not in errors."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.integration.kubectl import Object
from tests.integration.objects import config_map, secret
from tests.integration.scene import Observed, Scene

OLD, NEW, KEPT, BROKEN, NUMBER = "swordfish-old", "swordfish-new", "swordfish-kept", "swordfish-in-clear!", 7391846205
NAMED, RENAMED = "swordfish-in-settings", "swordfish-in-other-settings"
MASKED = {"createNamespace": True, "mask": [{"kind": "ConfigMap", "name": "settings", "pointers": ["/data/login"]}]}


@dataclass(frozen=True)
class Story:
    """Previewed on a cluster without it, installed, and changed while other Secrets are wrong."""

    preview: Observed
    first: Observed
    changing: Observed
    changed: Observed
    left_behind: list[str]


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("secrets")
    repository = scene.repository
    repository.addon("vault", secret("login", data={"password": OLD, "kept": KEPT}), createNamespace=True)
    repository.addon("refused", config_map("fine"), createNamespace=True)
    repository.addon("mistyped", config_map("fine"), createNamespace=True)
    # Beside Secrets: one that will be refused, one that is kept when it leaves the source.
    fixed = {**secret("fixed", data={"password": OLD}), "immutable": True}
    repository.addon("copied", fixed, config_map("copy", data={"from": "elsewhere"}), createNamespace=True)
    left = secret("left", data={"password": KEPT})
    repository.addon("leaving", left, config_map("copy", data={"from": "elsewhere"}), createNamespace=True, prune=False)
    repository.addon("named", config_map("settings", data={"login": NAMED, "url": f"x://{NAMED}@y"}), **MASKED)
    repository.commit()
    preview = scene.observe(check=True, diff=True, verbosity=3)
    first = scene.observe(diff=True, verbosity=3)

    repository.addon("vault", secret("login", data={"password": NEW, "kept": KEPT}), createNamespace=True)
    not_encoded = {**secret("login"), "data": {"password": BROKEN}}
    not_text: Object = {**secret("login"), "data": {"password": NUMBER}}
    repository.addon("refused", config_map("fine"), not_encoded, createNamespace=True)
    repository.addon("mistyped", config_map("fine"), not_text, createNamespace=True)
    other = {**secret("fixed", data={"password": NEW}), "immutable": True}
    repository.addon("copied", other, config_map("copy", data={"from": f"a:{OLD}@b"}), createNamespace=True)
    repository.addon("leaving", config_map("copy", data={"from": KEPT}), createNamespace=True, prune=False)
    renamed = config_map("settings", data={"login": RENAMED, "url": f"x://{RENAMED}@y"})
    repository.addon("named", renamed, **MASKED)
    repository.commit()
    changing = scene.observe(check=True, diff=True, verbosity=3)
    changed = scene.observe(diff=True, verbosity=3)
    return Story(preview, first, changing, changed, scene.playbooks.left_behind())


def traces(observed: Observed) -> Iterator[str]:
    """Every secret that a run left in what people and other programs can read."""
    seen = observed.result.output + json.dumps(observed.result.summary) + json.dumps(observed.records)
    for value in (OLD, NEW, KEPT, BROKEN, str(NUMBER), NAMED, RENAMED):
        for form in (value, base64.b64encode(value.encode()).decode()):
            if form in seen:
                yield f"{form} in …{seen[max(0, seen.index(form) - 200) : seen.index(form) + 100]}…"


@pytest.mark.parametrize("run", ["preview", "first", "changing", "changed"])
def test_secret_values_appear_nowhere(story: Story, run: str) -> None:
    assert not list(traces(getattr(story, run)))


def test_copies_of_secrets_are_hidden_whatever_becomes_of_the_secret(story: Story) -> None:
    output = story.changing.result.output
    assert "Secret copied/fixed (blocked, verified)" in output
    for title in ("ConfigMap copied/copy (update, verified)", "ConfigMap leaving/copy (update, verified)"):
        diff = output.split(f"+++ after: {title}")[1].split("\n\n")[0]
        assert "-  from: elsewhere" in diff
        assert "<secret " in diff


def test_fields_that_the_definition_names_are_hidden_wherever_their_value_stands(story: Story) -> None:
    diff = story.changing.result.output.split("+++ after: ConfigMap named/settings (update, verified)")[1]
    changed = [line for line in diff.split("\n\n")[0].splitlines() if line.startswith(("-  ", "+  "))]
    assert [(line[0], line[1:].split(":")[0].strip()) for line in changed] == [
        ("-", "login"), ("-", "url"), ("+", "login"), ("+", "url")
    ]  # fmt: skip
    assert all("<secret " in line for line in changed)
    assert story.changed.result.phases["named"] == "Synced"
    assert story.changed.objects["ConfigMap named/settings"]["data"]["login"] == RENAMED


def test_that_something_changes_is_visible(story: Story) -> None:
    assert "Secret vault/login (create, simulated)" in story.preview.result.output
    assert "Secret vault/login (update, verified)" in story.changing.result.output
    diff = story.changing.result.output.split("+++ after: Secret vault/login (update, verified)")[1].split("\n\n")[0]
    removed, added = ([line[1:] for line in diff.splitlines() if line.startswith(sign)] for sign in "-+")
    assert [line.split(":")[0].strip() for line in removed] == ["password"]
    assert [line.split(":")[0].strip() for line in added] == ["password"]
    assert removed != added


def test_the_secret_arrives(story: Story) -> None:
    assert story.first.result.succeeded().phases["vault"] == "Synced"
    data = story.changed.objects["Secret vault/login"]["data"]
    assert {key: base64.b64decode(value).decode() for key, value in data.items()} == {"password": NEW, "kept": KEPT}


@pytest.mark.parametrize("name", ["refused", "mistyped"])
def test_a_wrong_secret_is_an_error_that_names_it(story: Story, name: str) -> None:
    assert story.changed.result.failed().phases[name] == "Error"
    assert "login" in story.changed.result.why(name)


def test_nothing_is_left_on_disk(story: Story) -> None:
    assert not story.left_behind
