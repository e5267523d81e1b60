"""Reading a repository at a commit, with real git."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import RepositoryError
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.limits import MIB
from ansible_collections.rendimiento.addons.plugins.module_utils.repository import git
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout, run_git
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


# -- what somebody who may commit could make git run ------------------------------------------------------------------


class Trap:
    """A repository whose configuration writes a marker file when git runs what it names."""

    def __init__(self, tmp_path: Path) -> None:
        self.marker = tmp_path / "marker"
        self.repository = Repository(tmp_path / "trap")
        self.repository.commit(FILES)
        self.folder = self.repository.path / ".git"
        self.runs = f"touch {self.marker};"

    def monitor(self) -> None:
        """At ``git status``."""
        self.repository.git("config", "core.worktree", ".")
        self.repository.git("config", "core.fsmonitor", f"{self.runs} false")

    def promise(self) -> None:
        """When an object is read that is not there."""
        blob = self.repository.git("rev-parse", "HEAD:addons/a.yaml")
        for name, value in {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.promisor": "true",
            "remote.origin.url": "/nowhere",
            "remote.origin.uploadpack": f"{self.runs} git-upload-pack",
        }.items():
            self.repository.git("config", name, value)
        (self.folder / "objects" / blob[:2] / blob[2:]).unlink()


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def use(folder: Path) -> str:
    """All that a run does with a checkout: the error, or nothing."""
    try:
        checkout = Checkout.open(str(folder))
        checkout.uncommitted()
        checkout.read(checkout.entries("", recursive=True))
    except RepositoryError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("attack", ["monitor", "promise"])
@pytest.mark.parametrize("folder", ["clusters/prod", "clusters/prod/addons", "linked"])
def test_a_committed_bare_repository_runs_nothing(repository: Repository, trap: Trap, attack: str, folder: str) -> None:
    place = repository.path / "clusters/prod"
    repository.commit({"clusters/README": ""})
    getattr(trap, attack)()
    trap.repository.git("config", "core.worktree", ".")
    trap.folder.rename(place)
    repository.commit({"clusters/prod/addons/a.yaml": "a", "clusters/prod/refs/x": ""})
    (repository.path / "linked").symlink_to("clusters/prod")
    # As others get it.
    clone = repository.path.parent / "clone"
    repository.git("clone", "--quiet", str(repository.path), str(clone))
    (clone / "linked").unlink(missing_ok=True)
    (clone / "linked").symlink_to("clusters/prod")
    message = use(clone / folder)
    assert not trap.marker.exists()
    assert message == (
        f"{clone / folder}: {clone}/clusters/prod is a bare repository inside of the checkout {clone}. "
        "Remove it; a bare repository that you trust can be given as file:// URL."
    )
    assert "is a bare repository" not in use(clone)


def test_a_bare_repository_that_keeps_its_objects_elsewhere_is_one(repository: Repository, trap: Trap) -> None:
    trap.monitor()
    trap.folder.rename(repository.path / "store")
    place = repository.path / "clusters/prod"
    repository.write({"clusters/prod/commondir": "../../store\n", "clusters/prod/HEAD": "ref: refs/heads/main\n"})
    assert "is a bare repository inside of the checkout" in use(place)
    assert not trap.marker.exists()


def test_git_itself_takes_no_bare_repository_that_it_finds(repository: Repository, trap: Trap) -> None:
    """The second line of defence, where git is new enough."""
    trap.monitor()
    trap.folder.rename(repository.path / "prod")
    with pytest.raises(RepositoryError, match=r"cannot use bare repository .*safe\.bareRepository is 'explicit'"):
        run_git(repository.path / "prod", "status")
    assert not trap.marker.exists()


@pytest.mark.parametrize("bare", [False, True], ids=["checkout", "bare"])
def test_what_a_partial_clone_lacks_is_not_fetched(trap: Trap, tmp_path: Path, bare: bool) -> None:
    trap.promise()
    folder = trap.repository.path
    if bare:
        folder = tmp_path / "named"
        trap.repository.git("config", "core.bare", "true")
        trap.folder.rename(folder)
    assert use(folder).startswith("addons/a.yaml: git can't read this file.")
    assert not trap.marker.exists()


def test_the_monitor_and_the_hooks_of_a_checkout_are_not_run(trap: Trap) -> None:
    trap.repository.git("config", "core.fsmonitor", f"{trap.runs} false")
    trap.repository.git("config", "core.hooksPath", str(trap.marker.parent))
    assert use(trap.repository.path) == ""
    assert not trap.marker.exists()


def test_a_clone_of_the_cache_may_lie_in_a_checkout(repository: Repository) -> None:
    first = repository.commit(FILES)
    repository.commit({"addons/a.yaml": "new\n"})
    clone = repository.path / ".cache/clone"
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(clone))
    assert "is a bare repository inside of the checkout" in error_of(clone)
    checkout = Checkout.open(str(clone), first, bare=True)
    assert checkout == Checkout(clone, "", first, bare=True)
    assert checkout.read(checkout.entries("addons", recursive=True))["addons/a.yaml"] == b"a\n"
    # Nothing is looked for above it.
    assert Checkout.open(str(clone), bare=True).commit != first
    with pytest.raises(RepositoryError, match="has no commit yet"):
        Checkout.open(str(repository.path / "addons"), bare=True)


# -- limits ------------------------------------------------------------------------------------------------------------


def test_more_than_may_be_read_at_once(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit({"f/a": b"a" * 600, "f/b": b"b" * 600, "g/c": b"c"})
    monkeypatch.setattr(git, "_CONTENTS", 1000)
    checkout = Checkout.open(str(repository.path))
    entries = checkout.entries("f", recursive=True)
    for entry in entries:
        assert len(checkout.read([entry])[entry.path]) == 600
    monkeypatch.setattr(git, "_CONTENTS", MIB)
    assert len(checkout.read(entries)) == 2
    repository.commit({"f/b": b"b" * MIB})
    checkout = Checkout.open(str(repository.path))
    with pytest.raises(RepositoryError) as caught:
        checkout.read(checkout.entries("f", recursive=True))
    assert str(caught.value) == (
        "f/b: with this file, more than 1 MiB are to be read at once. "
        "Give a smaller folder, or remove large files from it."
    )


def test_a_list_of_files_that_is_too_long(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit({f"f/{number:0200}": "" for number in range(20)} | {"g/a": ""})
    checkout = Checkout.open(str(repository.path))
    monkeypatch.setattr(git, "_OUTPUT", 1000)
    assert paths(checkout, "g") == ["g/a"]
    with pytest.raises(RepositoryError, match=r"git tells more than 0 MiB of names\. Give a smaller folder\.$"):
        checkout.entries("f", recursive=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs")
def test_a_file_that_is_small_in_git_only(repository: Repository) -> None:
    """Zeros: a thousandth of their size in a pack."""
    with (repository.path / "large").open("wb") as file:
        file.truncate(600 * MIB)
    repository.commit({"a": "a"})
    checkout = Checkout.open(str(repository.path))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RepositoryError, match=r"^large: with this file, more than 256 MiB are to be read at once"):
        checkout.read(checkout.entries("", recursive=True))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_a_git_that_does_not_end(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit(FILES)
    checkout = Checkout.open(str(repository.path))
    entries = checkout.entries("addons", recursive=True)
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(git, "_SECONDS", 1)
    for call in (checkout.uncommitted, lambda: checkout.read(entries)):
        with pytest.raises(
            RepositoryError, match=r"git did not end within 1 s\. See that the disk it is on answers\.$"
        ):
            call()


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
        shown = revision.replace("\n", " ")
        assert error_of(folder, revision) == f"{folder}: has no revision {shown}. Fetch it, or correct the revision."
    assert error_of(folder, path="nowhere") == f"nowhere: commit {commit[:12]} has no such folder"
    assert error_of(folder, path="addons/a.yaml") == "addons/a.yaml: is a file, a folder is needed"


def test_b51_a_name_of_a_branch_and_a_tag_is_an_error_that_asks_which(repository: Repository) -> None:
    first = repository.commit(FILES)
    repository.git("tag", "feat/x")
    second = repository.commit({"more": ""})
    repository.git("branch", "feat/x")
    folder = str(repository.path)
    for revision in ("feat/x", "feat/x~1", "feat/x@{0}"):
        assert error_of(repository.path, revision) == (
            f"{folder}: {revision} is a branch and a tag. Write refs/heads/feat/x or refs/tags/feat/x as revision."
        )
    assert Checkout.open(folder, "refs/heads/feat/x").commit == second
    assert Checkout.open(folder, "refs/tags/feat/x").commit == first
    # What begins with the name is another one.
    repository.git("tag", "main/old")
    assert Checkout.open(folder, "main").commit == second


@pytest.mark.parametrize("lock", ["index.lock", "shallow.lock", "HEAD.lock", "packed-refs.lock", "config.lock"])
def test_b52_a_lock_that_a_killed_git_left_in_a_checkout_is_neither_needed_nor_removed(
    lock: str, repository: Repository
) -> None:
    commit = repository.commit(FILES)
    left = repository.path / ".git" / lock
    left.write_text("")
    (repository.path / "addons/a.yaml").write_text("changed")
    checkout = Checkout.open(str(repository.path), "main")
    assert checkout.commit == commit
    assert checkout.entries("addons", recursive=True)
    assert checkout.uncommitted() == ["addons/a.yaml"]
    assert left.exists(), "only its owner knows whether something else works there"


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
