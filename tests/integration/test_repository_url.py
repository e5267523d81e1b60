"""A gitops repository given by URL: fetched at a branch, tag or commit, and never mistaken for an empty one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.objects import config_map
from tests.integration.scene import Scene


@dataclass
class Remote:
    """A bare repository that the scene's checkout pushes to."""

    scene: Scene
    path: Path

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def push(self, *refspecs: str) -> None:
        self.scene.repository.git("push", "--quiet", "--force", str(self.path), *(refspecs or ("main",)))


@pytest.fixture
def remote(scene: Scene, tmp_path: Path) -> Remote:
    made = Remote(scene, tmp_path / "gitops.git")
    scene.repository.git("init", "--quiet", "--bare", "--initial-branch=main", str(made.path))
    return made


def test_branch_tag_and_commit(scene: Scene, remote: Remote) -> None:
    repository = scene.repository
    for word in ("first", "second"):
        repository.addon("by-url", config_map("c", data={"word": word}), createNamespace=True)
        repository.commit(word)
        repository.git("tag", "--annotate", "--message", word, word)
    remote.push("main", "--tags")
    commits = [repository.git("rev-parse", f"{word}^{{commit}}") for word in ("first", "second")]
    # What is only in the checkout beside it has no part in it.
    repository.addon("by-url", config_map("c", data={"word": "not pushed"}), createNamespace=True)
    repository.commit()

    for revision, word in (("first", "first"), ("main", "second"), (commits[0], "first"), ("", "second")):
        run = scene.observe(repo=remote.url, revision=revision)
        assert run.result.succeeded().phases == {"by-url": "Synced"}
        assert run.objects["ConfigMap by-url/c"]["data"]["word"] == word, revision
        commit = commits[["first", "second"].index(word)]
        assert f"{remote.url} at {commit[:12]}, cluster" in run.result.output
        assert run.status("by-url")["revision"] == commit[:12]
    assert scene.observe(repo=remote.url).result.changed == 0


def test_b51_a_repository_that_was_rewritten_is_followed_and_one_that_is_gone_removes_nothing(
    scene: Scene, remote: Remote
) -> None:
    scene.repository.addon("stays", config_map("c"), createNamespace=True)
    first = scene.repository.commit()
    remote.push()
    scene.sync(repo=remote.url).succeeded()
    scene.repository.addon("stays", config_map("c", data={"pushed": "by force"}), createNamespace=True)
    scene.repository.git("commit", "--quiet", "--all", "--amend", "--message", "rewritten")
    rewritten = scene.repository.git("rev-parse", "HEAD")
    remote.push()
    before = scene.observe(repo=remote.url)
    moved = f"it was at {first[:12]}, and is at {rewritten[:12]} now"
    told = f"warning: {remote.url}: the history of HEAD was rewritten: {moved}"
    assert told in before.result.succeeded().output
    assert before.objects["ConfigMap stays/c"]["data"] == {"pushed": "by force"}

    scene.repository.git("push", "--quiet", str(remote.path), "main:other")
    remote.scene.repository.git("--git-dir", str(remote.path), "update-ref", "-d", "refs/heads/main")

    def failure(**options: Any) -> str:
        return scene.sync(repo=remote.url, **options).failed().error.removeprefix(f"Action failed: {remote.url}: ")

    errors = {}
    for revision in ("", "main", "v1"):
        errors[revision] = failure(revision=revision)
    remote.path.rename(remote.path.with_name("moved.git"))
    errors["gone"] = failure()
    assert errors == {
        "": "has no commit at its HEAD. Push one, or name a branch as revision.",
        "main": "has no revision main. Correct the revision, or push it.",
        "v1": "has no revision v1. Correct the revision, or push it.",
        "gone": "there is no git repository. Correct the URL, or get the right to read it.",
    }
    after = scene.observe(check=True)
    assert after.records["stays"] == before.records["stays"]
    assert after.objects["ConfigMap stays/c"] == before.objects["ConfigMap stays/c"]


def test_a_definition_that_left_the_branch_is_let_go_of(scene: Scene, remote: Remote) -> None:
    scene.repository.addon("leaves", config_map("c"), createNamespace=True)
    scene.repository.addon("remains", config_map("c"), createNamespace=True)
    scene.repository.commit()
    remote.push()
    scene.sync(repo=remote.url).succeeded()
    scene.repository.remove(scene.repository.file_of("leaves"))
    scene.repository.commit()
    remote.push()
    run = scene.observe(repo=remote.url)
    assert "its definition left git: 2 objects keep running" in run.result.succeeded().why("leaves")
    assert "leaves" not in run.records
    assert "ConfigMap leaves/c" in run.objects


def test_another_repository_removes_nothing(scene: Scene, remote: Remote, tmp_path: Path) -> None:
    """Its history does not hold what the record was made from, so its silence about the add-on means nothing."""
    scene.repository.addon("mine", config_map("c"), createNamespace=True)
    scene.repository.commit()
    remote.push()
    scene.sync(repo=remote.url).succeeded()
    fork = Remote(scene, tmp_path / "fork.git")
    scene.repository.git("init", "--quiet", "--bare", "--initial-branch=main", str(fork.path))
    scene.repository.git("checkout", "--quiet", "--orphan", "other")
    scene.repository.remove(scene.repository.file_of("mine"))
    scene.repository.addon("theirs", config_map("c"), createNamespace=True)
    scene.repository.commit()
    fork.push("other:main")
    run = scene.observe(repo=fork.url)
    assert run.result.succeeded().phases == {"theirs": "Synced"}
    assert "add-on mine was recorded at commit" in run.result.output
    assert run.records["mine"]["status"]["phase"] == "Synced"


def test_credentials_in_a_url_are_refused_and_not_repeated(scene: Scene) -> None:
    for url in ("https://user:swordfish@git.example.com/r.git", "https://swordfish@git.example.com/r.git"):
        result = scene.sync(repo=url, verbosity=3).failed()
        assert "no credentials in a URL" in result.error
        assert "swordfish" not in result.output


def test_folders_of_other_repositories_and_revisions(scene: Scene, remote: Remote) -> None:
    repository = scene.repository
    repository.write("shared/objects.yaml", [config_map("of-main")])
    repository.commit()
    repository.git("tag", "v1")
    remote.push("main", "v1")
    repository.write("shared/objects.yaml", [config_map("of-checkout")])
    repository.define("same-run", git={"path": "shared"}, createNamespace=True)
    repository.define("tagged", git={"path": "shared", "revision": "v1"}, createNamespace=True)
    repository.define("elsewhere", git={"path": "shared", "repo": remote.url}, createNamespace=True)
    missing = {"path": "shared", "repo": remote.url, "revision": "v2"}
    repository.define("no-revision", git=missing, createNamespace=True)
    repository.define("no-repository", git={"path": "x", "repo": f"{remote.url}/none"}, createNamespace=True)
    repository.commit()
    run = scene.observe()
    result = run.result.failed()
    for addon, name in (("same-run", "of-checkout"), ("tagged", "of-main"), ("elsewhere", "of-main")):
        assert result.phases[addon] == "Synced"
        assert f"ConfigMap {addon}/{name}" in run.objects
    assert result.why("no-revision") == f"{remote.url}: has no revision v2. Correct the revision, or push it."
    assert result.why("no-repository").startswith(f"{remote.url}/none: there is no git repository")
