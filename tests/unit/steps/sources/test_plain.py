"""Folders of plain YAML, read from real git."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition import Definition
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError, RenderError
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.plain import PlainSource
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.registry import source_for
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.source import Rendered, SourceRequest
from tests.unit.gitops import Repository


def request(repository: Repository, path: str = "web", **source: Any) -> SourceRequest:
    definition = {"name": "web", "namespace": "w", "git": {"path": path, **source}}
    return SourceRequest(Definition.from_json(definition), Checkout.open(str(repository.path)))


def rendered(repository: Repository, path: str = "web", **source: Any) -> Rendered:
    return PlainSource().render(request(repository, path, **source))


@pytest.mark.parametrize("path", ["web", "web/", "./web", "web/.", "../web"[3:]])
def test_every_file_below_in_the_order_of_paths(repository: Repository, path: str) -> None:
    commit = repository.commit(
        {
            "web/b.yaml": "b: 1\n---\nb: 2\n",
            "web/a/z.yml": "z: 1\n",
            "web/c.json": '{"c": 1}',
            "web/empty.yaml": "# nothing\n---\n",
            "web/README.md": "a: b: c",
            "web/a/script.sh": "}{",
            "other/x.yaml": "x: 1",
        }
    )
    made = rendered(repository, path)
    assert [(document.manifest, document.source) for document in made.documents] == [
        ({"z": 1}, "web/a/z.yml"),
        ({"b": 1}, "web/b.yaml, document 1"),
        ({"b": 2}, "web/b.yaml, document 2"),
        ({"c": 1}, "web/c.json"),
    ]
    assert (made.commit, made.warnings) == (commit, [])


@pytest.mark.parametrize("path", [".", "./"])
def test_the_whole_repository_may_be_the_folder(repository: Repository, path: str) -> None:
    repository.commit({"a.yaml": "a: 1", "sub/b.yaml": "b: 1"})
    assert [document.source for document in rendered(repository, path).documents] == ["a.yaml", "sub/b.yaml"]


def test_inputs_move_with_the_folder_alone(repository: Repository) -> None:
    repository.commit({"web/a.yaml": "a: 1"})
    first = rendered(repository).inputs
    repository.commit({"other/a.yaml": "a: 1"})
    assert rendered(repository).inputs == first
    repository.commit({"web/a.yaml": "a: 2"})
    assert rendered(repository).inputs != first


def test_nothing_in_a_file_is_templated(repository: Repository) -> None:
    repository.commit({"web/a.yaml": "a: \"{{ lookup('file', '/etc/passwd') }} ${HOME} $(id)\"\n"})
    (document,) = rendered(repository).documents
    assert document.manifest == {"a": "{{ lookup('file', '/etc/passwd') }} ${HOME} $(id)"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"web/README.md": ""}, "git.path: web holds no .yaml, .yml or .json file"),
        ({"other/a.yaml": ""}, "git.path: web: commit * has no such folder"),
        ({"web": "a: 1"}, "git.path: web: is a file, a folder is needed"),
        ({"web/Chart.yaml": "", "web/a.yaml": ""}, "git.path: web is a Helm chart, which this version can't render"),
        ({"web/kustomization.yaml": ""}, "git.path: web is a kustomization, which this version can't render"),
        ({"web/Kustomization": ""}, "git.path: web is a kustomization, which this version can't render"),
        ({"web/a.yaml": "a: 1\na: 2"}, "web/a.yaml:2: the key a stands twice in one mapping"),
        ({"web/a.yaml": b"a: \xff"}, "web/a.yaml:1: not UTF-8 text"),
        ({"web/a.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:x\n"},
         "web/a.yaml: is a Git LFS pointer, not the file. Commit the file itself."),
    ],
)  # fmt: skip
def test_errors(repository: Repository, files: dict[str, str | bytes], message: str) -> None:
    commit = repository.commit(files)
    with pytest.raises(AddonError) as caught:
        rendered(repository)
    assert str(caught.value) == message.replace("*", commit[:12])


def test_a_chart_below_is_just_files(repository: Repository) -> None:
    repository.commit({"web/sub/Chart.yaml": "a: 1"})
    assert [document.source for document in rendered(repository).documents] == ["web/sub/Chart.yaml"]


def test_links_to_files_are_refused_and_other_links_told(repository: Repository) -> None:
    repository.write({"web/a.yaml": "a: 1", "base/b.yaml": "b: 1"})
    (repository.path / "web/base").symlink_to("../base")
    repository.commit({})
    assert rendered(repository).warnings == ["web/base is a symbolic link and not followed"]
    (repository.path / "web/c.yaml").symlink_to("/etc/passwd")
    repository.commit({})
    with pytest.raises(RenderError, match=r"^web/c.yaml: is a symbolic link. Give a file.$"):
        rendered(repository)


def test_submodules_are_refused(repository: Repository) -> None:
    commit = repository.commit({"web/a.yaml": "a: 1"})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},web/module")
    repository.git("commit", "--quiet", "--message", "module")
    with pytest.raises(RenderError, match=r"^web/module: is a git submodule, which is not fetched"):
        rendered(repository)


@pytest.mark.parametrize("source", [{"repo": "https://x.io/r.git"}, {"revision": "main"}])
def test_other_repositories_are_refused(repository: Repository, source: dict[str, str]) -> None:
    repository.commit({"web/a.yaml": "a: 1"})
    with pytest.raises(RenderError, match="this version reads folders of the gitops repository only"):
        rendered(repository, **source)


def test_the_registry_says_what_it_can_not_render(repository: Repository) -> None:
    repository.commit({"web/a.yaml": "a: 1"})
    assert source_for(request(repository)).kind == "plain"
    helm = {"repo": "https://x.io", "chart": "c", "version": "1.0.0"}
    definition = Definition.from_json({"name": "web", "namespace": "w", "helm": helm})
    with pytest.raises(RenderError, match="helm: this version renders folders of plain YAML only"):
        source_for(SourceRequest(definition, Checkout.open(str(repository.path))))
