"""Reading a gitops repository through git: always the tree of one commit, never the working tree.

Only reading commands are used, with ``GIT_OPTIONAL_LOCKS=0``, so that not even the index is refreshed on disk.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..model.errors import RepositoryError

SYMBOLIC_LINK = "120000"
SUBMODULE = "160000"

_RESOLVE = ("rev-parse", "--verify", "--quiet", "--end-of-options")

# Set where git itself starts this, in a hook: they mean the repository of the hook.
_OF_ANOTHER_REPOSITORY = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_WORK_TREE",
)


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a commit's tree; ``path`` is relative to the checkout's folder, ``mode`` is git's octal text."""

    path: str
    mode: str
    kind: str
    blob: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """A git checkout, or a folder inside one, at a commit.

    ``root`` is the top of the checkout, ``prefix`` the folder inside it that all paths are relative to (empty, or
    ending in a slash), ``commit`` the full commit id.
    """

    root: Path
    prefix: str
    commit: str

    @classmethod
    def open(cls, folder: str, revision: str = "") -> Checkout:
        """:raises RepositoryError: when the folder is no checkout, or the revision is not in it."""
        path = Path(folder).expanduser()
        if not path.is_dir():
            raise RepositoryError("there is no such folder", subject=folder, hint="give a git checkout as addon_repo")
        try:
            root, prefix = _text(_git(path, "rev-parse", "--show-toplevel", "--show-prefix")).split("\n", 1)
        except RepositoryError as error:
            if "dubious ownership" in error.message:
                error.hint = f"if you trust it: git config --global --add safe.directory {folder}"
            if "not a git repository" in error.message:
                raise RepositoryError(
                    "is not a git checkout",
                    subject=folder,
                    hint="add-ons are read at a commit: run git init and commit the files, or give the right folder",
                ) from error
            raise
        return cls(Path(root), prefix, _commit(path, folder, revision))

    @property
    def shallow(self) -> bool:
        """Whether the clone lacks older commits."""
        return _text(_git(self.root, "rev-parse", "--is-shallow-repository")) == "true"

    def has_commit(self, commit: str) -> bool:
        try:
            _git(self.root, *_RESOLVE, f"{commit}^{{commit}}")
        except RepositoryError:
            return False
        return True

    def tree_id(self, path: str) -> str | None:
        """Id of the tree or blob at ``path``, ``None`` when the commit has nothing there."""
        return self.object_id(self.commit, path)

    def object_id(self, commit: str, path: str) -> str | None:
        """The same at another commit; ``None`` also when that commit is not in this checkout."""
        try:
            return _text(_git(self.root, *_RESOLVE, f"{commit}:{self._full(path)}"))
        except RepositoryError:
            return None

    def entries(self, path: str, *, recursive: bool) -> list[TreeEntry]:
        """What the commit has below a folder, sorted by path.

        :raises RepositoryError: when there is no such folder in the commit.
        """
        full = self._full(path)
        identity = self.tree_id(path)
        if identity is None:
            raise RepositoryError(f"commit {self.commit[:12]} has no such folder", subject=path or ".")
        if _text(_git(self.root, "cat-file", "-t", identity)) != "tree":
            raise RepositoryError("is a file, a folder is needed", subject=path)
        output = _git(self.root, "ls-tree", "-z", *(["-r"] if recursive else []), identity)
        entries = []
        # Names are for people and for JSON, neither of which take bytes that are no text; content is read by its id.
        for line in output.decode("utf-8", "backslashreplace").split("\0"):
            if line:
                facts, _, name = line.partition("\t")
                mode, kind, blob = facts.split()
                entries.append(TreeEntry(str(PurePosixPath(path or ".") / name), mode, kind, blob))
        if not full and not entries:
            raise RepositoryError(f"commit {self.commit[:12]} is empty", subject=str(self.root))
        return sorted(entries, key=lambda entry: entry.path)

    def read(self, entries: Iterable[TreeEntry]) -> dict[str, bytes]:
        """Content of files by path, through one ``git cat-file``."""
        wanted = list(entries)
        request = "".join(f"{entry.blob}\n" for entry in wanted).encode()
        output = _git(self.root, "cat-file", "--batch", stdin=request)
        contents, position = {}, 0
        for entry in wanted:
            header_end = output.index(b"\n", position)
            header = output[position:header_end].split()
            if len(header) != 3:
                raise RepositoryError("git can't read this file", subject=entry.path, hint="is the clone complete?")
            start, size = header_end + 1, int(header[2])
            contents[entry.path] = output[start : start + size]
            position = start + size + 1
        return contents

    def uncommitted(self) -> list[str]:
        """Files below the checkout's folder whose changes are not in any commit, relative to it."""
        options = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
        output = _git(self.root, "--literal-pathspecs", "status", *options, "--", self.prefix or ".")
        files = [line[3:] for line in output.decode("utf-8", "replace").split("\0") if line]
        return sorted(file.removeprefix(self.prefix) for file in files)

    def _full(self, path: str) -> str:
        inside = str(PurePosixPath(path))
        return f"{self.prefix}{inside}" if inside != "." else self.prefix.rstrip("/")


def _commit(path: Path, folder: str, revision: str) -> str:
    try:
        return _text(_git(path, *_RESOLVE, f"{revision or 'HEAD'}^{{commit}}"))
    except RepositoryError as error:
        if revision:
            raise RepositoryError(
                f"has no revision {revision}", subject=folder, hint="fetch it, or correct addon_revision"
            ) from error
        raise RepositoryError("has no commit yet", subject=folder, hint="commit the add-on files first") from error


def _text(output: bytes) -> str:
    """What git says, without the last line break; names of folders may be any bytes."""
    return os.fsdecode(output).removesuffix("\n")


def _git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    for inherited in _OF_ANOTHER_REPOSITORY:
        environment.pop(inherited, None)
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), *arguments], input=stdin, env=environment, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise RepositoryError("git is not installed on this host", hint="install git") from error
    if result.returncode != 0:
        text = result.stderr.decode("utf-8", "replace").strip().splitlines()
        message = text[0].removeprefix("fatal: ") if text else f"git {arguments[0]} ended with {result.returncode}"
        raise RepositoryError(message, subject=str(folder))
    return result.stdout
