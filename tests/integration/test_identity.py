"""Who does what: the platform user keeps the records and acts through one account; a viewer can only preview."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.objects import config_map, deployment
from tests.integration.scene import Observed, Scene

ACTING = "system:serviceaccount:rendimiento-system:rendimiento-addons"


@dataclass(frozen=True)
class Story:
    """Installed by ``platform`` acting as the account; a change previewed by ``viewer``; then synced without acting."""

    acting: Observed
    viewed: Observed
    bare: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("identity")
    repository = scene.repository
    settings = config_map("settings", data={"version": "1"})
    repository.addon("served", deployment("app"), settings, config_map("goes"), createNamespace=True)
    repository.commit()
    acting = scene.observe(user="platform", impersonate=ACTING)

    settings = config_map("settings", data={"version": "2"})
    repository.addon("served", deployment("app"), settings, createNamespace=True)
    repository.commit()
    viewed = scene.observe(user="viewer", check=True, diff=True, fail_on=["Error", "unknown"])
    return Story(acting, viewed, scene.observe(user="platform"))


def test_addons_are_installed_as_the_acting_account_only(story: Story) -> None:
    assert story.acting.result.succeeded().phases == {"served": "Synced"}
    writes = story.acting.requests.on_objects.writes
    assert {(request.caller, request.user) for request in writes} == {("platform", ACTING)}
    assert {request.resource for request in writes} == {"namespaces", "deployments", "configmaps"}


def test_addons_are_read_as_the_acting_account_only(story: Story) -> None:
    looked_at = [request for request in story.acting.requests.on_objects if request.resource]
    assert {request.user for request in looked_at} == {ACTING}


def test_records_and_locks_are_the_callers(story: Story) -> None:
    requests = story.acting.requests
    assert {request.user for request in requests.on_records.writes} == {"platform"}
    assert {request.user for request in requests if request.on_lock} == {"platform"}


def test_nothing_is_refused_on_the_way(story: Story) -> None:
    assert not [str(request) for request in story.acting.requests if request.code in (401, 403)]


def test_a_viewer_can_preview_and_writes_nothing(story: Story) -> None:
    assert not story.viewed.requests.writes, story.viewed.requests.writes
    assert story.viewed.requests.users() == {"viewer"}


def test_what_a_viewer_can_not_check_is_unknown(story: Story) -> None:
    counts = story.viewed.result.counts("served")
    assert counts["unknown"] >= 3
    assert "unchanged" not in counts and "updated" not in counts
    assert "ConfigMap served/settings (blocked, unknown): no right to dry-run it" in story.viewed.result.output
    assert "could not be checked" in story.viewed.result.failed().error
    assert story.viewed.result.phases["served"] != "Error"


def test_missing_rights_are_named_and_nothing_is_lost(story: Story) -> None:
    """The platform user may not touch what add-ons install; forgetting addon_impersonate has to be obvious."""
    assert story.bare.result.failed().phases["served"] == "Error"
    why = story.bare.result.why("served")
    assert 'Namespace served: no right to read it: user "platform" may not get namespaces' in why
    assert "addon_impersonate" in why, "the message has to say what to do"
    assert not story.bare.requests.on_objects.writes
    assert "ConfigMap served/goes" in story.bare.objects
    assert story.bare.objects["ConfigMap served/settings"]["data"] == {"version": "1"}
