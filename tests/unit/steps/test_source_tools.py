"""The repositories that sources are in: each is asked once in a run, whatever it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError, CacheError
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.render import render
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.source_tools import source_checkout, tools_of
from tests.unit.gitops import Repository
from tests.unit.steps.made_run import MadeRun, config


@pytest.fixture
def other(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "other")


def checkout(run: MadeRun, repository: Repository, **source: Any) -> Checkout:
    run.info.repository, run.info.commit = str(repository.path), repository.git("rev-parse", "HEAD")
    (run.directory.path.parent / "cache").mkdir(mode=0o700, exist_ok=True)
    run.add("app", git={"path": "x", **source})
    session = run.session
    gitops = Checkout.open(session.info.repository, session.info.commit)
    definition = session.directory.definition("app").definition
    return source_checkout(session, definition, gitops, tools_of(session, [], print))


def test_the_gitops_repository_at_the_runs_commit(run: MadeRun, repository: Repository) -> None:
    commit = repository.commit({"x/a.yaml": "a: 1"})
    assert checkout(run, repository).commit == commit


def test_another_revision_of_it(run: MadeRun, repository: Repository) -> None:
    commit = repository.commit({"x/a.yaml": "a: 1"})
    repository.git("tag", "v1")
    repository.commit({"x/a.yaml": "a: 2"})
    assert checkout(run, repository, revision="v1").commit == commit
    with pytest.raises(AddonError, match="has no revision v2"):
        checkout(run, repository, revision="v2")


def test_a_branch_of_another_repository_moves_between_runs_only(
    run: MadeRun, repository: Repository, other: Repository
) -> None:
    repository.commit({"a": "1"})
    first = other.commit({"x/a.yaml": "a: 1"})
    url = f"file://{other.path}"
    assert checkout(run, repository, repo=url, revision="main").commit == first
    second = other.commit({"x/a.yaml": "a: 2"})
    assert checkout(run, repository, repo=url, revision="main").commit == first
    assert checkout(run, repository, repo=url).commit == second


def test_a_repository_that_can_not_be_reached_is_asked_once(
    run: MadeRun, repository: Repository, other: Repository
) -> None:
    repository.commit({"a": "1"})
    url = f"file://{other.path}"
    for _ in range(2):
        with pytest.raises(AddonError, match=r"^file://.*: has no commit at its HEAD"):
            checkout(run, repository, repo=url)
        # It is there now, too late for this run.
        other.commit({"x/a.yaml": "a: 1"})


def test_the_cache_is_looked_at_in_every_step(run: MadeRun) -> None:
    """Between two steps, somebody else may have put another folder there."""
    cache = Path(run.info.options.cache)
    cache.mkdir(mode=0o700)
    assert tools_of(run.session, [], print).cache.path == cache
    cache.chmod(0o777)
    with pytest.raises(CacheError, match="is open to other users"):
        tools_of(run.session, [], print)


def test_the_clone_of_a_remote_may_lie_in_a_checkout(run: MadeRun, repository: Repository, other: Repository) -> None:
    other.commit({"a": "1"})
    run.info.commit = repository.commit({"app/a.json": json.dumps(config("a"))})
    clone = other.path / "cache/clone"
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(clone))
    run.info.repository, run.info.remote = str(clone), f"file://{repository.path}"
    run.add("app", objects=None)
    run.serves(Resource("", "v1", "ConfigMap", "configmaps", True, ("get",), ()))
    assert [item.key.name for item in render(run.session, "app", print).objects] == ["a"]
    # Without a remote, somebody may have committed it.
    run.info.remote = ""
    run.add("web", objects=None, git={"path": "app"})
    with pytest.raises(AddonError, match="is a bare repository inside of the checkout"):
        render(run.session, "web", print)
