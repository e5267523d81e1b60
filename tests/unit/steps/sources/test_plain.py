"""Folders of plain YAML, read from real git."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.cluster_facts import Asked
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError, RenderError
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.plain import PlainSource
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.registry import source_for
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.source import Rendered
from tests.unit.gitops import Repository
from tests.unit.steps.sources.made_request import Workshop


def rendered(workshop: Workshop, path: str = "web", **source: Any) -> Rendered:
    return PlainSource().prepare(workshop.request(git={"path": path, **source})).render()


def inputs(workshop: Workshop) -> dict[str, Any]:
    return PlainSource().prepare(workshop.request(git={"path": "web"})).inputs


@pytest.mark.parametrize("path", ["web", "web/", "./web", "web/.", "../web"[3:]])
def test_every_file_below_in_the_order_of_paths(workshop: Workshop, path: str) -> None:
    workshop.repository.commit(
        {
            "web/b.yaml": "b: 1\n---\nb: 2\n",
            "web/a/z.yml": "z: 1\n",
            "web/D.YAML": "d: 1\n",
            "web/c.json": '{"c": 1}',
            "web/empty.yaml": "# nothing\n---\n",
            "web/README.md": "a: b: c",
            "web/a/script.sh": "}{",
            "other/x.yaml": "x: 1",
        }
    )
    made = rendered(workshop, path)
    assert [(document.manifest, document.source) for document in made.documents] == [
        ({"d": 1}, "web/D.YAML"),
        ({"z": 1}, "web/a/z.yml"),
        ({"b": 1}, "web/b.yaml, document 1"),
        ({"b": 2}, "web/b.yaml, document 2"),
        ({"c": 1}, "web/c.json"),
    ]
    assert (made.warnings, made.asked) == ([], Asked())


@pytest.mark.parametrize("path", [".", "./"])
def test_the_whole_repository_may_be_the_folder(workshop: Workshop, path: str) -> None:
    workshop.repository.commit({"a.yaml": "a: 1", "sub/b.yaml": "b: 1"})
    assert [document.source for document in rendered(workshop, path).documents] == ["a.yaml", "sub/b.yaml"]


def test_inputs_move_with_the_folder_alone(workshop: Workshop) -> None:
    workshop.repository.commit({"web/a.yaml": "a: 1"})
    first = inputs(workshop)
    workshop.repository.commit({"other/a.yaml": "a: 1"})
    assert inputs(workshop) == first
    workshop.repository.commit({"web/a.yaml": "a: 2"})
    assert inputs(workshop) != first


def test_nothing_in_a_file_is_templated(workshop: Workshop) -> None:
    workshop.repository.commit({"web/a.yaml": "a: \"{{ lookup('file', '/etc/passwd') }} ${HOME} $(id)\"\n"})
    (document,) = rendered(workshop).documents
    assert document.manifest == {"a": "{{ lookup('file', '/etc/passwd') }} ${HOME} $(id)"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"web/README.md": ""}, "git.path: web holds no .yaml, .yml or .json file"),
        ({"other/a.yaml": ""}, "git.path: web: commit * has no such folder"),
        ({"web": "a: 1"}, "git.path: web: is a file, a folder is needed"),
        ({"web/a.yaml": "a: 1\na: 2"}, "web/a.yaml:2: the key a stands twice in one mapping"),
        ({"web/a.yaml": b"a: \xff"}, "web/a.yaml:1: not UTF-8 text"),
        ({"web/a.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:x\n"},
         "web/a.yaml: is a Git LFS pointer, not the file. Commit the file itself."),
    ],
)  # fmt: skip
def test_errors(workshop: Workshop, files: dict[str, str | bytes], message: str) -> None:
    commit = workshop.repository.commit(files)
    with pytest.raises(AddonError) as caught:
        rendered(workshop)
    assert str(caught.value) == message.replace("*", commit[:12])


def test_a_chart_below_is_just_files(workshop: Workshop) -> None:
    workshop.repository.commit({"web/sub/Chart.yaml": "a: 1"})
    assert [document.source for document in rendered(workshop).documents] == ["web/sub/Chart.yaml"]


def test_links_to_files_are_refused_and_other_links_told(workshop: Workshop) -> None:
    workshop.repository.write({"web/a.yaml": "a: 1", "base/b.yaml": "b: 1"})
    (workshop.repository.path / "web/base").symlink_to("../base")
    workshop.repository.commit({})
    assert rendered(workshop).warnings == ["web/base is a symbolic link and not followed"]
    (workshop.repository.path / "web/c.yaml").symlink_to("/etc/passwd")
    workshop.repository.commit({})
    with pytest.raises(RenderError, match=r"^web/c.yaml: is a symbolic link. Give a file.$"):
        rendered(workshop)


def test_submodules_are_refused(workshop: Workshop) -> None:
    commit = workshop.repository.commit({"web/a.yaml": "a: 1"})
    workshop.repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},web/module")
    workshop.repository.git("commit", "--quiet", "--message", "module")
    with pytest.raises(RenderError, match=r"^web/module: is a git submodule, which is not fetched"):
        rendered(workshop)


@pytest.mark.parametrize("fields", [{"values": {"a": 1}}, {"valuesFrom": [{"secret": "s"}]}])
def test_values_are_refused(workshop: Workshop, fields: dict[str, Any]) -> None:
    workshop.repository.commit({"web/a.yaml": "a: 1"})
    with pytest.raises(RenderError, match=r"^values, valuesFrom, valuesFiles: plain YAML takes no values"):
        PlainSource().prepare(workshop.request(git={"path": "web"}, **fields))


def test_another_checkout_may_hold_the_folder(workshop: Workshop, tmp_path: Path) -> None:
    workshop.repository.commit({"web/a.yaml": "a: 1"})
    other = Repository(tmp_path / "other")
    other.commit({"web/a.yaml": "a: 2"})
    request = replace(workshop.request(git={"path": "web"}), source=Checkout.open(str(other.path)))
    (document,) = PlainSource().prepare(request).render().documents
    assert document.manifest == {"a": 2}


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("web/a.yaml", "plain"),
        ("web/Chart.yaml", "helm"),
        ("web/kustomization.yaml", "kustomize"),
        ("web/kustomization.yml", "kustomize"),
        ("web/Kustomization", "kustomize"),
        ("web/sub/Chart.yaml", "plain"),
        ("web/sub/kustomization.yaml", "plain"),
    ],
)
def test_what_a_folder_is(workshop: Workshop, file: str, kind: str) -> None:
    workshop.repository.commit({"web/a.yaml": "a: 1", file: "a: 1"})
    assert source_for(workshop.request(git={"path": "web"})).kind == kind


def test_a_chart_stays_one_with_a_kustomization_beside_it(workshop: Workshop) -> None:
    workshop.repository.commit({"web/Chart.yaml": "a: 1", "web/kustomization.yaml": "a: 1"})
    assert source_for(workshop.request(git={"path": "web"})).kind == "helm"
