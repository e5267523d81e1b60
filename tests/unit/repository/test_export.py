"""Writing a commit's files to a folder, with real git: exact content, and nothing outside of the folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import RepositoryError
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.export import common_folder, export
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from tests.unit.gitops import Repository


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Inside of another one, to see what would leave it."""
    path = tmp_path / "around/export"
    path.mkdir(parents=True)
    return path


def exported(repository: Repository, folder: Path, path: str = ".") -> list[tuple[str, str]]:
    return export(Checkout.open(str(repository.path)), path, folder)


def contents(folder: Path) -> dict[str, bytes | str]:
    """Files with their content, links with their target."""
    found: dict[str, bytes | str] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def commit_objects(repository: Repository, entries: list[tuple[str, str, str]]) -> None:
    """A commit with a tree that no honest git would write: entries of mode, name and content, or id of a tree."""
    lines = b""
    for mode, name, content in entries:
        identity = content
        if mode != "40000":
            (repository.path / "blob").write_text(content)
            identity = repository.git("hash-object", "-w", "blob")
        lines += f"{mode} {name}".encode() + b"\0" + bytes.fromhex(identity)
    (repository.path / "tree").write_bytes(lines)
    tree = repository.git("hash-object", "-w", "-t", "tree", "--literally", "tree")
    commit = repository.git("commit-tree", "-m", "hostile", tree)
    repository.git("update-ref", "refs/heads/main", commit)


FILES: dict[str, str | bytes] = {
    "app/crlf.txt": b"a\r\nb\r\n",
    "app/lf.txt": b"a\nb\n",
    "app/binary": bytes(range(256)) * 300,
    "app/empty": b"",
    "app/version.txt": b"$Format:%H$ $Id$\n",
    "app/kept-out.txt": b"kept out of archives",
    "app/pointer.bin": b"version https://git-lfs.github.com/spec/v1\n",
    "app/deep/er/x.yaml": b"x",
    "app/with space.yaml": b"space",
    "app/é ü 日本.yaml": "é".encode(),
    "app/a\tb\nc.yaml": b"odd",
    'app/"quoted" \\.yaml': b"q",
    "app/-n": b"option",
    "app/.gitignore": b"*.tmp\n",
    "other/y.yaml": b"y",
}


def test_exactly_what_git_has(repository: Repository, folder: Path) -> None:
    repository.commit(FILES)
    attributes = "* text eol=crlf ident\n*.txt export-subst\nkept-out.txt export-ignore\n*.bin filter=lfs\n"
    repository.git("config", "filter.lfs.smudge", "echo smudged")
    repository.git("config", "core.autocrlf", "true")
    repository.write({".gitattributes": attributes})
    repository.git("add", ".gitattributes")
    repository.git("commit", "--quiet", "--message", "attributes")
    assert exported(repository, folder) == []
    assert contents(folder) == {**FILES, ".gitattributes": attributes.encode()}


@pytest.mark.parametrize("path", ["app", "app/", "./app", ".//app/."])
def test_only_what_is_below_the_path(path: str, repository: Repository, folder: Path) -> None:
    repository.commit({**FILES, "application/x": "not below app"})
    assert exported(repository, folder, path) == []
    assert contents(folder) == {name: content for name, content in FILES.items() if name.startswith("app/")}


def test_a_folder_inside_the_checkout_is_the_root_of_all_paths(repository: Repository, folder: Path) -> None:
    repository.commit({"clusters/prod/app/x": "x", "clusters/dev/app/y": "y"})
    export(Checkout.open(str(repository.path / "clusters/prod")), ".", folder)
    assert contents(folder) == {"app/x": b"x"}


def test_of_a_bare_repository_at_another_commit(repository: Repository, folder: Path, tmp_path: Path) -> None:
    first = repository.commit({"app/x": "first"})
    repository.commit({"app/x": "second"})
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(tmp_path / "bare"))
    export(Checkout.open(str(tmp_path / "bare"), first), "app", folder)
    assert contents(folder) == {"app/x": b"first"}


def test_executable_files_and_nothing_for_others(repository: Repository, folder: Path) -> None:
    repository.write({"app/run": "#!/bin/sh\n", "app/text": ""})
    (repository.path / "app/run").chmod(0o755)
    repository.commit({})
    before = os.umask(0)
    try:
        exported(repository, folder)
    finally:
        os.umask(before)
    modes = {name: (folder / name).stat().st_mode & 0o7777 for name in ("app", "app/run", "app/text")}
    assert modes == {"app": 0o700, "app/run": 0o700, "app/text": 0o600}


def test_names_that_are_no_text(repository: Repository, folder: Path) -> None:
    repository.path.joinpath("f").mkdir()
    Path(os.fsdecode(os.fsencode(repository.path) + b"/f/caf\xe9")).write_bytes(b"content")
    Path(os.fsdecode(os.fsencode(repository.path) + b"/f/l\xe9")).symlink_to("nowh\udce9re")
    repository.commit({})
    assert exported(repository, folder) == [("f/l\\xe9", "nowh\\xe9re")]
    assert [(os.fsencode(path.name), path.read_bytes()) for path in (folder / "f").iterdir()] == [
        (b"caf\xe9", b"content")
    ]


def test_submodules_are_left_out(repository: Repository, folder: Path) -> None:
    commit = repository.commit({"app/x": "x"})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},app/module")
    repository.git("commit", "--quiet", "--message", "module")
    assert exported(repository, folder, "app") == []
    assert contents(folder) == {"app/x": b"x"}


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("x", True),
        ("./x", True),
        ("sub", True),
        ("sub/", True),
        ("sub/y", True),
        ("sub/../x", True),
        ("../app/x", True),
        ("../app/sub//y", True),
        (".", True),
        ("to-sub/y", True),
        ("to-sub/../x", True),
        ("chain", True),
        ("sub/up/x", True),
        ("..", True),
        ("../other/z", True),
        ("../..", False),
        ("../../app/x", False),
        ("../../around-it", False),
        ("/etc/passwd", False),
        ("/", False),
        ("nowhere", False),
        ("x/", False),
        ("x/.", False),
        ("x/../x", False),
        ("nowhere/../x", False),
        ("sub/y/../x", False),
        ("link", False),
        ("loop-a", False),
        ("to-outside", False),
        ("to-outside/app/x", False),
        ("to-nowhere", False),
        ("to-sub/../../x", False),
    ],
)
def test_links_are_written_if_they_stay_inside(
    target: str, written: bool, repository: Repository, folder: Path
) -> None:
    repository.write({"app/x": "x", "app/sub/y": "y", "other/z": "z"})
    app = repository.path / "app"
    for name, leads_to in {
        "link": target, "to-sub": "sub", "chain": "chained", "chained": "to-sub/y", "sub/up": "..", "loop-a": "loop-b",
        "loop-b": "loop-a", "to-outside": "../../export", "to-nowhere": "to-nothing",
    }.items():  # fmt: skip
        (app / name).symlink_to(leads_to)
    repository.commit({})
    (folder.parent / "x").write_text("outside")
    left_out = dict(exported(repository, folder))
    assert (left_out.get("app/link") is None) is written
    assert left_out.get("app/link", target) == target
    assert {name: left_out[name] for name in left_out if name != "app/link"} == {
        "app/loop-a": "loop-b", "app/loop-b": "loop-a", "app/to-outside": "../../export",
        "app/to-nowhere": "to-nothing",
    }  # fmt: skip
    assert (folder / "app/link").is_symlink() is written
    if written:
        # Path takes the slash at the end off.
        assert os.readlink(folder / "app/link") == target  # noqa: PTH115
    for path in folder.rglob("*"):
        assert path.resolve(strict=True).is_relative_to(folder)


def test_what_is_outside_of_the_path_is_outside(repository: Repository, folder: Path) -> None:
    repository.write({"app/base/x": "x", "app/prod/y": "y", "app/prod/charts/c": "c"})
    for name, target in {
        "base": "../base", "x": "../base/x", "self": "../prod/y", "all": "..", "inner": "charts/../y",
    }.items():  # fmt: skip
        (repository.path / "app/prod" / name).symlink_to(target)
    repository.commit({})
    assert exported(repository, folder, "app/prod") == [
        ("app/prod/all", ".."), ("app/prod/base", "../base"), ("app/prod/self", "../prod/y"),
        ("app/prod/x", "../base/x"),
    ]  # fmt: skip
    assert contents(folder) == {
        "app/prod/y": b"y", "app/prod/charts/c": b"c", "app/prod/inner": "charts/../y",
    }  # fmt: skip


def test_long_chains_of_links(repository: Repository, folder: Path) -> None:
    repository.write({"x": "x"})
    for number in range(60):
        (repository.path / f"l{number}").symlink_to(f"l{number - 1}" if number else "x")
    repository.commit({})
    left_out = exported(repository, folder)
    assert sorted(int(link[1:]) for link, _ in left_out) == list(range(40, 60))
    assert (folder / "l39").read_text() == "x"


@pytest.mark.parametrize("name", ["..", ".git", ".GIT", "../x", "a/../../x", "/absolute", "a/.git", ".git/hooks"])
def test_names_that_no_file_may_have(name: str, repository: Repository, folder: Path) -> None:
    repository.commit({})
    target = str(folder.parent / "absolute") if name == "/absolute" else name
    commit_objects(repository, [("100644", target, "hostile")])
    with pytest.raises(RepositoryError) as caught:
        exported(repository, folder)
    assert str(caught.value).endswith("is no name that a file of a repository may have. Remove it from git.")
    assert contents(folder.parent) == {}


def test_the_same_for_folders(repository: Repository, folder: Path) -> None:
    repository.commit({"x": "hostile"})
    tree = repository.git("rev-parse", "HEAD^{tree}")
    for name in ("..", ".git"):
        commit_objects(repository, [("40000", name, tree)])
        with pytest.raises(RepositoryError, match=f"{name}/x: is no name"):
            exported(repository, folder)
        assert contents(folder.parent) == {}


def test_nothing_is_written_through_a_link(repository: Repository, folder: Path) -> None:
    repository.commit({"x": "hostile"})
    tree = repository.git("rev-parse", "HEAD^{tree}")
    outside = folder.parent / "outside"
    outside.mkdir()
    for target in (str(outside), "../outside", "b"):
        for entries in (
            [("120000", "a", target), ("40000", "a", tree), ("100644", "b", "")],
            [("100644", "a", "first"), ("120000", "a", f"{target}/x")],
            [("100644", "a", "first"), ("100644", "a", "second")],
            [("100644", "a", "first"), ("40000", "a", tree)],
        ):
            commit_objects(repository, entries)
            inside = folder / f"{len(list(folder.iterdir()))}"
            inside.mkdir()
            try:
                exported(repository, inside)
            except RepositoryError as error:
                assert "stands in the commit twice" in error.message
            assert list(outside.iterdir()) == []
            assert not [path for path in inside.rglob("*") if path.is_symlink()]


def test_errors_name_the_path(repository: Repository, folder: Path) -> None:
    commit = repository.commit({"app/x": "x", f"long/{'n' * 200}/x": "x"})
    for path, message in (
        ("nowhere", f"nowhere: commit {commit[:12]} has no such folder"),
        ("../gitops", f"../gitops: commit {commit[:12]} has no such folder"),
        ("/etc", f"/etc: commit {commit[:12]} has no such folder"),
        ("app/x", "app/x: is a file, a folder is needed"),
    ):
        with pytest.raises(RepositoryError) as caught:
            exported(repository, folder, path)
        assert str(caught.value) == message
    commit_objects(repository, [("100644", "n" * 300, "")])
    with pytest.raises(RepositoryError, match=r"^nnn.*: can't be written: File name too long$"):
        exported(repository, folder)


def test_a_large_tree_takes_as_few_processes_as_a_small_one(
    repository: Repository, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"d{number % 20}/{number}.yaml": f"{number}\n" * 20 for number in range(1000)}
    repository.commit(files)
    checkout = Checkout.open(str(repository.path))
    program, calls = tmp_path / "bin/git", tmp_path / "calls"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    export(checkout, ".", folder)
    assert contents(folder) == {name: text.encode() for name, text in files.items()}
    assert [line.endswith("cat-file --batch") for line in calls.read_text().splitlines()].count(True) == 1
    assert len(calls.read_text().splitlines()) < 6


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["a"], "a"),
        (["a/b", "a/c"], "a"),
        (["a/b", "a/b/c/d"], "a/b"),
        (["a/b", "a/b/x.yaml"], "a/b"),
        (["a/b", "a/bc"], "a"),
        (["a", "b"], "."),
        (["a/", "./a/b"], "a"),
        (["a", "."], "."),
        (["."], "."),
        ([""], "."),
    ],
)
def test_the_smallest_folder_that_holds_all(paths: list[str], folder: str) -> None:
    assert common_folder(paths) == folder
