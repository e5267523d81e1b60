"""Definition files of a commit, and what their absence means; the parts that need no cluster."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import AccessOptions
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import CacheError, RepositoryError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.record import Record
from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_directory import RunDirectory, RunOptions
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from ansible_collections.rendimiento.addons.plugins.module_utils.steps import definitions
from tests.unit.gitops import Repository


def text(name: str, **fields: str) -> str:
    lines = {"name": name, "namespace": "web", "git": "{path: x}", **fields}
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def record(name: str, file: str = "", *, from_git: bool = True) -> Record:
    labels = {"rendimiento.ai/gitops": "true"} if from_git else {}
    annotations = {"rendimiento.ai/source": f"{file or f'addons/{name}.yaml'}@abc"}
    return Record(name, "u", "1", 1, labels, annotations)


Files = definitions._Files


def read(repository: Repository, files: dict[str, str | bytes], path: str = "addons") -> Files:
    repository.commit({f"addons/{name}": content for name, content in files.items()})
    return definitions._read_files(Checkout.open(str(repository.path)), path)


@pytest.mark.parametrize(
    ("files", "valid", "invalid"),
    [
        ({"a.yaml": text("a"), "b.yml": text("b"), "c.txt": "x", "sub/d.yaml": text("d")}, ["a", "b"], {}),
        ({"a.yaml": text("a"), "b.yaml": text("b", bad="1")}, ["a"],
         {"addons/b.yaml": ("b", "addons/b.yaml: bad: unknown field")}),
        ({"a.yaml": text("a"), "b.yaml": text("a")}, [],
         {"addons/a.yaml": ("a", "addons/a.yaml, addons/b.yaml: name: a is defined more than once")}),
        # One of the two can't be read: it may be the right one.
        ({"a.yaml": text("a"), "b.yaml": text("a", bad="1")}, [],
         {"addons/a.yaml": ("a", "addons/a.yaml, addons/b.yaml: name: a is defined more than once"),
          "addons/b.yaml": ("a", "addons/b.yaml: bad: unknown field")}),
        ({"a.yaml": "{"}, [], {"addons/a.yaml": ("", "addons/a.yaml:2: not valid YAML: *")}),
        ({"a.yaml": b"name: a\ntitle: \xff\n"}, [],
         {"addons/a.yaml": ("a", "addons/a.yaml: not UTF-8 text. Save it as UTF-8.")}),
        ({"a.yaml": text("a", title="\ufffd")}, ["a"], {}),
        ({"a.yaml": ""}, [], {"addons/a.yaml": ("", "addons/a.yaml: nothing in it")}),
    ],
)  # fmt: skip
def test_valid_and_invalid_files(
    repository: Repository, files: dict[str, str | bytes], valid: list[str], invalid: dict[str, tuple[str, str]]
) -> None:
    found = read(repository, files)
    assert sorted(found.valid) == valid
    seen = {item.file: (item.name, item.reason) for item in found.invalid}
    assert seen.keys() == invalid.keys()
    for file, (name, reason) in invalid.items():
        assert seen[file][0] == name
        assert seen[file][1].startswith(reason.removesuffix("*"))


def test_b54_the_extensions_of_definition_files_and_what_is_ignored(repository: Repository) -> None:
    found = read(
        repository,
        {
            "a.yaml": text("a"),
            "b.yml": text("b"),
            "C.YAML": text("c"),
            ".hidden.yaml": text("hidden"),
            "d.yaml~": text("d"),
            "e.json": '{"name": "e"}',
            "README.md": "# Add-ons",
            "sub/f.yaml": text("f"),
            ".gitkeep": "",
        },
    )
    assert (sorted(found.valid), found.invalid) == (["a", "b", "c"], [])
    assert found.ignored == [".hidden.yaml", "README.md", "d.yaml~", "e.json", "sub/"]


def test_b54_two_files_of_one_name_are_both_named(repository: Repository) -> None:
    found = read(repository, {"a.yaml": text("a"), "a.yml": text("a"), "b.yml": text("b")})
    assert sorted(found.valid) == ["b"]
    assert [(item.name, item.reason) for item in found.invalid] == [
        ("a", "addons/a.yaml, addons/a.yml: name: a is defined more than once")
    ]


def test_b56_a_definition_declares_no_variables(repository: Repository) -> None:
    found = read(
        repository, {"a.yaml": text("a", variables="{CLUSTER: c1}"), "b.yaml": text("b", title="'${CLUSTER}'")}
    )
    assert [item.reason for item in found.invalid] == ["addons/a.yaml: variables: unknown field. Did you mean values?"]
    assert found.valid["b"].definition.title == "${CLUSTER}"


def test_links_are_refused(repository: Repository) -> None:
    repository.write({"real.yaml": text("a")})
    (repository.path / "addons").mkdir()
    (repository.path / "addons/a.yaml").symlink_to("../real.yaml")
    found = read(repository, {})
    assert [(item.file, item.name, item.reason) for item in found.invalid] == [
        ("addons/a.yaml", "", "addons/a.yaml: is a symbolic link. Give a file.")
    ]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "nowhere",
            "has no such folder. Give the folder with the definition files as addon_path; nothing was removed.",
        ),
        ("addons/a.yaml", "is a file, a folder is needed"),
        ("../other", "addon_path is a folder inside addon_repo"),
        ("/etc", "addon_path is a folder inside addon_repo"),
        ("addons/../../etc", "addon_path is a folder inside addon_repo"),
    ],
)
def test_folders_that_can_not_be_read(repository: Repository, path: str, message: str) -> None:
    with pytest.raises(RepositoryError) as caught:
        read(repository, {"a.yaml": text("a")}, path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("depends_on", "refused"),
    [
        ({"a": "[b]", "b": "[]"}, {}),
        ({"a": "[nobody]", "b": "[a]"}, {"a": "addons/a.yaml: dependsOn: no file defines nobody"}),
        ({"a": "[x, z]"}, {"a": "addons/a.yaml: dependsOn: no file defines x, z"}),
    ],
)
def test_dependencies_on_nobody(repository: Repository, depends_on: dict[str, str], refused: dict[str, str]) -> None:
    found = read(repository, {f"{name}.yaml": text(name, dependsOn=names) for name, names in depends_on.items()})
    definitions._check_dependencies(found)
    assert {item.name: item.reason for item in found.invalid} == refused
    assert found.valid.keys() == depends_on.keys() - refused.keys()


def test_a_dependency_on_a_broken_file_is_no_error_of_its_own(repository: Repository) -> None:
    found = read(repository, {"a.yaml": text("a", dependsOn="[b]"), "b.yaml": text("b", bad="1")})
    definitions._check_dependencies(found)
    assert list(found.valid) == ["a"]


def test_an_account_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers of OpenShift and AWX run with a number that no passwd file knows."""
    assert definitions._user() == getpass.getuser()
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 1234567890)
    assert definitions._user() == "uid 1234567890"


def test_the_commit_at_which_a_blob_was_first_seen(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit({"addons/a.yaml": text("a")})
    checkout = Checkout.open(str(repository.path))
    (sourced,) = definitions._read_files(checkout, "addons").valid.values()
    assert definitions._source(checkout, sourced, None) == f"addons/a.yaml@{first}"
    seen = record("a")
    seen.annotations["rendimiento.ai/source"] = f"addons/a.yaml@{first}"
    repository.commit({"other.yaml": ""})
    later = Checkout.open(str(repository.path))
    assert definitions._source(later, sourced, seen) == f"addons/a.yaml@{first}"
    changed = repository.commit({"addons/a.yaml": text("a", title="new")})
    latest = Checkout.open(str(repository.path))
    (sourced,) = definitions._read_files(latest, "addons").valid.values()
    assert definitions._source(latest, sourced, seen) == f"addons/a.yaml@{changed}"
    # A shallow clone lacks the commit: an equal spec is all that can be known.
    seen.annotations["rendimiento.ai/source"] = f"addons/a.yaml@{'0' * 40}"
    assert definitions._source(latest, sourced, seen) == f"addons/a.yaml@{changed}"
    seen.spec = {**sourced.definition.to_spec(), "syncRequest": 3}
    assert definitions._source(latest, sourced, seen) == f"addons/a.yaml@{'0' * 40}"


def test_whether_a_repository_has_a_commit(repository: Repository, tmp_path: Path) -> None:
    first, second = repository.commit({"x": "1"}), repository.commit({"x": "2"})
    shallow = tmp_path / "shallow"
    repository.git("clone", "--quiet", "--depth", "1", f"file://{repository.path}", str(shallow))
    known = {}
    for repo in (str(repository.path), str(shallow), f"file://{repository.path}"):
        request = made_request(repo, tmp_path / "cache")
        checkout = definitions._checkout(request, CacheFolder.open(str(tmp_path / "cache")))
        has_commit = definitions._has_commit(request, checkout)
        known[repo] = [has_commit(commit) for commit in (first, second, "1" * 40)]
    assert list(known.values()) == [
        [True, True, False],
        # A clone without its history can't tell; what is given by URL is asked.
        [True, True, True],
        [True, True, False],
    ]
    (tmp_path / "cache").chmod(0o777)
    with pytest.raises(CacheError, match="is open to other users"):
        has_commit(first)


def test_a_bare_repository_that_was_committed_is_not_read(repository: Repository) -> None:
    repository.commit({"x": "1"})
    place = repository.path / "clusters/prod"
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(place))
    cache = repository.path.parent / "cache"
    with pytest.raises(RepositoryError, match="is a bare repository inside of the checkout"):
        definitions._checkout(made_request(str(place), cache), CacheFolder(cache))


def made_request(repo: str, cache: Path) -> definitions.DefinitionsRequest:
    options = RunOptions("rendimiento-system", cache=str(cache))
    return definitions.DefinitionsRequest(repo, "", "addons", AccessOptions(), options, False, 0, print)


@pytest.mark.parametrize("repo", ["$GITOPS", "${GITOPS}", "~/gitops"])
def test_a_folder_may_be_given_by_variable(repository: Repository, monkeypatch: pytest.MonkeyPatch, repo: str) -> None:
    commit = repository.commit({"x": "1"})
    monkeypatch.setenv("GITOPS", str(repository.path))
    monkeypatch.setenv("HOME", str(repository.path.parent))
    cache = repository.path.parent / "cache"
    assert definitions._checkout(made_request(repo, cache), CacheFolder(cache)).commit == commit


def test_without_a_place_for_the_cache_it_ends_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").write_text("no folder")
    warnings: list[str] = []
    assert definitions._cache("", run, warnings).path == tmp_path / "run" / "cache"
    (warning,) = warnings
    assert warning.startswith("nothing is kept for the next run: ")
    with pytest.raises(CacheError):
        definitions._cache(str(tmp_path / "home" / "x"), run, warnings)
