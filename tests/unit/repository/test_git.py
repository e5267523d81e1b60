"""Reading a repository at a commit, with real git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import RepositoryError
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from tests.unit.gitops import Repository

FILES = {"addons/b.yaml": "b\n", "addons/a.yaml": "a\n", "web/app/x.yaml": "x\n", "web/y.yaml": ""}


def paths(checkout: Checkout, folder: str, recursive: bool = True) -> list[str]:
    return [entry.path for entry in checkout.entries(folder, recursive=recursive)]


@pytest.mark.parametrize(
    ("folder", "recursive", "found"),
    [
        ("addons", True, ["addons/a.yaml", "addons/b.yaml"]),
        ("web", True, ["web/app/x.yaml", "web/y.yaml"]),
        ("web", False, ["web/app", "web/y.yaml"]),
        ("web//app/", True, ["web/app/x.yaml"]),
        ("./web/./app", True, ["web/app/x.yaml"]),
        (".", False, ["addons", "web"]),
        ("./", False, ["addons", "web"]),
        ("", True, sorted(FILES)),
    ],
)
def test_entries_of_a_folder(repository: Repository, folder: str, recursive: bool, found: list[str]) -> None:
    repository.commit(FILES)
    assert paths(Checkout.open(str(repository.path)), folder, recursive) == found


def test_a_folder_inside_the_checkout_is_the_root_of_all_paths(repository: Repository) -> None:
    commit = repository.commit({f"clusters/prod/{name}": text for name, text in FILES.items()})
    checkout = Checkout.open(str(repository.path / "clusters/prod"))
    assert (checkout.root, checkout.prefix, checkout.commit) == (repository.path, "clusters/prod/", commit)
    assert paths(checkout, "addons") == ["addons/a.yaml", "addons/b.yaml"]
    assert paths(checkout, "", recursive=False) == ["addons", "web"]
    assert checkout.tree_id("addons") == repository.git("rev-parse", "HEAD:clusters/prod/addons")
    repository.write({"clusters/prod/addons/new.yaml": "", "elsewhere.yaml": ""})
    assert checkout.uncommitted() == ["addons/new.yaml"]


def test_the_commit_counts_and_the_working_tree_does_not(repository: Repository) -> None:
    first = repository.commit(FILES)
    second = repository.commit({"addons/a.yaml": "new\n", "addons/b.yaml": None})
    repository.write({"addons/a.yaml": "uncommitted\n", "addons/c.yaml": ""})
    for revision, commit, expected in (
        ("", second, {"addons/a.yaml": b"new\n"}),
        (first[:10], first, {"addons/a.yaml": b"a\n", "addons/b.yaml": b"b\n"}),
        ("HEAD~1", first, {"addons/a.yaml": b"a\n", "addons/b.yaml": b"b\n"}),
        ("main", second, {"addons/a.yaml": b"new\n"}),
    ):
        checkout = Checkout.open(str(repository.path), revision)
        assert checkout.commit == commit
        assert checkout.read(checkout.entries("addons", recursive=True)) == expected
    assert Checkout.open(str(repository.path)).uncommitted() == ["addons/a.yaml", "addons/c.yaml"]


def test_content_is_read_byte_by_byte(repository: Repository) -> None:
    files: dict[str, bytes] = {
        "f/crlf.yaml": b"a: 1\r\nb: 2\r\n",
        "f/empty.yaml": b"",
        "f/binary.yaml": bytes(range(256)) * 40,
        "f/no-newline.yaml": b"x",
        "f/like a header.yaml": b"0123456789 blob 5\nmissing\n",
        "f/é ü.yaml": "é".encode(),
        "f/a\tb\nc.yaml": b"odd",
        'f/"quoted".yaml': b"q",
    }
    repository.git("config", "core.autocrlf", "true")
    repository.git("config", "core.safecrlf", "false")
    for name, content in files.items():
        # Past git's own conversion: blobs are what they are.
        (repository.path / "blob").write_bytes(content)
        blob = repository.git("hash-object", "-w", "--no-filters", "blob")
        repository.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    repository.git("commit", "--quiet", "--message", "files")
    checkout = Checkout.open(str(repository.path))
    assert checkout.read(checkout.entries("f", recursive=True)) == files
    assert checkout.read([]) == {}


def test_names_that_are_no_text_are_still_fit_for_messages(repository: Repository) -> None:
    repository.path.joinpath("f").mkdir()
    name = os.fsencode(repository.path) + b"/f/caf\xe9.yaml"
    Path(os.fsdecode(name)).write_bytes(b"content")
    repository.commit({})
    checkout = Checkout.open(str(repository.path))
    (entry,) = checkout.entries("f", recursive=True)
    assert entry.path == "f/caf\\xe9.yaml"
    assert checkout.read([entry]) == {entry.path: b"content"}
    (exact,) = checkout.entries("f", recursive=True, exact_names=True)
    assert os.fsencode(exact.path) == b"f/caf\xe9.yaml"


def test_ids_at_other_commits(repository: Repository) -> None:
    first = repository.commit(FILES)
    repository.commit({"addons/a.yaml": "new\n"})
    checkout = Checkout.open(str(repository.path))
    (entry, _other) = checkout.entries("addons", recursive=True)
    assert checkout.tree_id("addons/a.yaml") == entry.blob
    assert checkout.object_id(first, "addons/a.yaml") not in (None, entry.blob)
    assert checkout.object_id(first, "addons/b.yaml") == checkout.tree_id("addons/b.yaml")
    for commit, path in ((first, "nowhere"), ("0" * 40, "addons"), ("not a commit", "addons"), ("--help", "addons")):
        assert checkout.object_id(commit, path) is None
    assert checkout.tree_id("../outside") is None


def test_links_and_submodules_show_their_kind(repository: Repository) -> None:
    repository.write({"f/real.yaml": "x"})
    (repository.path / "f/link.yaml").symlink_to("real.yaml")
    commit = repository.commit({})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},f/module")
    repository.git("commit", "--quiet", "--message", "module")
    entries = Checkout.open(str(repository.path)).entries("f", recursive=True)
    assert [(entry.path, entry.mode, entry.kind) for entry in entries] == [
        ("f/link.yaml", "120000", "blob"),
        ("f/module", "160000", "commit"),
        ("f/real.yaml", "100644", "blob"),
    ]


def test_uncommitted_counts_every_kind_of_change(repository: Repository) -> None:
    repository.commit(FILES)
    checkout = Checkout.open(str(repository.path))
    assert checkout.uncommitted() == []
    repository.write({"addons/a.yaml": "staged", "new folder/é.yaml": "", "ignored.log": "", ".gitignore": "*.log\n"})
    repository.git("add", "addons/a.yaml")
    repository.git("mv", "web/y.yaml", "web/z.yaml")
    repository.write({"addons/b.yaml": None})
    assert checkout.uncommitted() == [
        ".gitignore", "addons/a.yaml", "addons/b.yaml", "new folder/é.yaml", "web/y.yaml", "web/z.yaml",
    ]  # fmt: skip


@pytest.mark.parametrize("folder", ["a[b]", "a*", ":(top)", "-n"])
def test_folders_with_names_that_git_could_take_for_patterns(repository: Repository, folder: str) -> None:
    repository.commit({f"{folder}/addons/a.yaml": "a", "ab/addons/other.yaml": ""})
    checkout = Checkout.open(str(repository.path / folder))
    assert paths(checkout, "addons") == ["addons/a.yaml"]
    repository.write({f"{folder}/addons/a.yaml": "changed", "ab/addons/other.yaml": "changed"})
    assert checkout.uncommitted() == ["addons/a.yaml"]


def test_nothing_is_written_and_not_even_the_index_refreshed(repository: Repository) -> None:
    repository.commit(FILES)
    os.utime(repository.path / "addons/a.yaml", (1, 1))
    before = {path: path.stat().st_mtime_ns for path in repository.path.rglob("*")}
    checkout = Checkout.open(str(repository.path))
    checkout.uncommitted()
    checkout.read(checkout.entries("", recursive=True))
    assert {path: path.stat().st_mtime_ns for path in repository.path.rglob("*")} == before


def test_a_hook_of_another_repository_does_not_lead_astray(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit(FILES)
    other = Repository(tmp_path / "other")
    other.commit({"addons/wrong.yaml": ""})
    for name, value in {
        "GIT_DIR": ".git",
        "GIT_INDEX_FILE": ".git/index",
        "GIT_OBJECT_DIRECTORY": ".git/objects",
        "GIT_COMMON_DIR": ".git",
    }.items():
        monkeypatch.setenv(name, str(other.path / value))
    checkout = Checkout.open(str(repository.path))
    assert (checkout.root, checkout.commit) == (repository.path, commit)
    assert paths(checkout, "addons") == ["addons/a.yaml", "addons/b.yaml"]
    assert checkout.uncommitted() == []


def test_a_bare_repository(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit(FILES)
    second = repository.commit({"addons/a.yaml": "new\n"})
    bare = tmp_path / "bare"
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(bare))
    checkout = Checkout.open(str(bare))
    assert checkout == Checkout(bare, "", second, bare=True)
    assert paths(checkout, "addons") == ["addons/a.yaml", "addons/b.yaml"]
    assert checkout.read(checkout.entries("addons", recursive=True))["addons/a.yaml"] == b"new\n"
    assert Checkout.open(str(bare), first).commit == first
    assert checkout.object_id(first, "addons/b.yaml") == checkout.tree_id("addons/b.yaml")
    assert checkout.has_commit(first)
    assert not checkout.shallow
    assert checkout.uncommitted() == []
    assert error_of(bare, "nope") == f"{bare}: has no revision nope. Fetch it, or correct the revision."
    hint = "Give the checkout or the bare repository itself."
    for inside in (bare / "refs", repository.path / ".git", repository.path / ".git/refs"):
        assert error_of(inside) == f"{inside}: is a folder of git's own. {hint}"


def error_of(folder: str | Path, revision: str = "", path: str | None = None) -> str:
    with pytest.raises(RepositoryError) as caught:
        checkout = Checkout.open(str(folder), revision)
        checkout.entries(path or "", recursive=True)
    return str(caught.value)


def test_errors_name_what_is_wrong(repository: Repository, tmp_path: Path) -> None:
    folder = repository.path
    assert error_of(tmp_path / "nowhere").endswith("there is no such folder. Give a git checkout as addon_repo.")
    (tmp_path / "plain").mkdir()
    assert "is not a git checkout. Add-ons are read at a commit" in error_of(tmp_path / "plain")
    assert error_of(folder) == f"{folder}: has no commit yet. Commit the add-on files first."
    commit = repository.commit({})
    assert error_of(folder) == f"{folder}: commit {commit[:12]} is empty"
    commit = repository.commit(FILES)
    for revision in ("nope", "0" * 40, "--help", "HEAD^2", "main:addons", "a\nb"):
        assert error_of(folder, revision) == f"{folder}: has no revision {revision}. Fetch it, or correct the revision."
    assert error_of(folder, path="nowhere") == f"nowhere: commit {commit[:12]} has no such folder"
    assert error_of(folder, path="addons/a.yaml") == "addons/a.yaml: is a file, a folder is needed"


def test_a_replaced_object_is_read_as_the_commit_has_it(repository: Repository) -> None:
    repository.commit({"f/a.yaml": "own", "other.yaml": "other"})
    repository.git("replace", "HEAD:f/a.yaml", "HEAD:other.yaml")
    repository.git("replace", "HEAD:f", "HEAD:")
    checkout = Checkout.open(str(repository.path))
    assert checkout.read(checkout.entries("f", recursive=True)) == {"f/a.yaml": b"own"}


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_INDEX_FILE"])
def test_variables_that_mean_another_repository_do_not_count(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    commit = repository.commit(FILES)
    second = repository.commit({"addons/a.yaml": "new\n"})
    # As a shallow file, it would cut the history off; as a graft, make up a parent.
    (tmp_path / "other").write_text(f"{second}\n")
    monkeypatch.setenv(name, str(tmp_path / "other"))
    checkout = Checkout.open(str(repository.path), "HEAD~1")
    assert (checkout.commit, checkout.shallow, checkout.uncommitted()) == (commit, False, [])


def test_a_blob_that_is_missing_is_named(repository: Repository) -> None:
    repository.commit({"f/a.yaml": "content of its own"})
    checkout = Checkout.open(str(repository.path))
    entries = checkout.entries("f", recursive=True)
    blob = entries[0].blob
    (repository.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(RepositoryError, match=r"f/a.yaml: git can't read this file. Is the clone complete"):
        checkout.read(entries)


def test_without_git_there_is_one_error(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit(FILES)
    monkeypatch.setenv("PATH", "/nowhere")
    assert error_of(repository.path) == "git is not installed on this host. Install git."


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_checkout_of_somebody_else_says_how_to_trust_it(repository: Repository) -> None:
    repository.commit(FILES)
    os.chown(repository.path, 12345, 12345)
    assert f"git config --global --add safe.directory {repository.path}" in error_of(repository.path)
