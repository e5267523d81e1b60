"""Reading a gitops repository through git: always the tree of one commit, never the working tree.

Only reading commands are used, with ``GIT_OPTIONAL_LOCKS=0``, so that not even the index is refreshed on disk.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..model.errors import RepositoryError
from ..programs.git_variables import OF_ANOTHER_REPOSITORY

SYMBOLIC_LINK = "120000"
SUBMODULE = "160000"

_RESOLVE = ("rev-parse", "--verify", "--quiet", "--end-of-options")


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
    ending in a slash), ``commit`` the full commit id. A ``bare`` repository has no working tree and no prefix.
    """

    root: Path
    prefix: str
    commit: str
    bare: bool = False

    @classmethod
    def open(cls, folder: str, revision: str = "") -> Checkout:
        """:raises RepositoryError: when the folder is no checkout, or the revision is not in it."""
        path = Path(folder).expanduser()
        if not path.is_dir():
            raise RepositoryError("there is no such folder", subject=folder, hint="give a git checkout as addon_repo")
        try:
            root, prefix = _text(run_git(path, "rev-parse", "--show-toplevel", "--show-prefix")).split("\n", 1)
        except RepositoryError as error:
            if "work tree" in error.message or "bare repository" in error.message:
                return cls(_bare_root(path, folder), "", _commit(path, folder, revision, bare=True), bare=True)
            if "dubious ownership" in error.message:
                error.hint = f"if you trust it: git config --global --add safe.directory {folder}"
            if "not a git repository" in error.message:
                raise RepositoryError(
                    "is not a git checkout",
                    subject=folder,
                    hint="add-ons are read at a commit: run git init and commit the files, or give the right folder",
                ) from error
            raise
        return cls(Path(root), prefix, _commit(path, folder, revision, bare=False))

    @property
    def shallow(self) -> bool:
        """Whether the clone lacks older commits."""
        return _text(self._git("rev-parse", "--is-shallow-repository")) == "true"

    def has_commit(self, commit: str) -> bool:
        try:
            self._git(*_RESOLVE, f"{commit}^{{commit}}")
        except RepositoryError:
            return False
        return True

    def tree_id(self, path: str) -> str | None:
        """Id of the tree or blob at ``path``, ``None`` when the commit has nothing there."""
        return self.object_id(self.commit, path)

    def object_id(self, commit: str, path: str) -> str | None:
        """The same at another commit; ``None`` also when that commit is not in this checkout."""
        try:
            return _text(self._git(*_RESOLVE, f"{commit}:{self._full(path)}"))
        except RepositoryError:
            return None

    def entries(self, path: str, *, recursive: bool, exact_names: bool = False) -> list[TreeEntry]:
        """What the commit has below a folder, sorted by path.

        Names are for people and for JSON, neither of which take bytes that are no text. With ``exact_names`` they are
        for the file system: such bytes are kept as Python keeps them in names of files.
        :raises RepositoryError: when there is no such folder in the commit.
        """
        full = self._full(path)
        identity = self.tree_id(path)
        if identity is None:
            raise RepositoryError(f"commit {self.commit[:12]} has no such folder", subject=path or ".")
        if _text(self._git("cat-file", "-t", identity)) != "tree":
            raise RepositoryError("is a file, a folder is needed", subject=path)
        output = self._git("ls-tree", "-z", *(["-r"] if recursive else []), identity)
        entries = []
        for line in output.decode("utf-8", "surrogateescape" if exact_names else "backslashreplace").split("\0"):
            if line:
                facts, _, name = line.partition("\t")
                mode, kind, blob = facts.split()
                entries.append(TreeEntry(str(PurePosixPath(path or ".") / name), mode, kind, blob))
        if not full and not entries:
            raise RepositoryError(f"commit {self.commit[:12]} is empty", subject=str(self.root))
        return sorted(entries, key=lambda entry: entry.path)

    def read(self, entries: Iterable[TreeEntry]) -> dict[str, bytes]:
        """Content of files by path, through one ``git cat-file``."""
        return {entry.path: content for entry, content in self.contents(entries)}

    def contents(self, entries: Iterable[TreeEntry]) -> Iterator[tuple[TreeEntry, bytes]]:
        """The same one after the other, of which only one is in memory."""
        wanted = list(entries)
        if not wanted:
            return
        with tempfile.TemporaryFile() as request:
            request.write("".join(f"{entry.blob}\n" for entry in wanted).encode())
            request.seek(0)
            process = subprocess.Popen(
                git_command(self.root, "cat-file", "--batch", bare=self.bare),
                env=git_environment(),
                stdin=request,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        with process:
            assert process.stdout is not None
            for entry in wanted:
                header = process.stdout.readline().split()
                size = int(header[2]) if len(header) == 3 else 0
                content = process.stdout.read(size + 1)[:-1]
                if len(header) != 3 or len(content) != size:
                    of_cache = f"if {self.root} is a clone of the cache, remove it"
                    hint = of_cache if self.bare else "is the clone complete?"
                    raise RepositoryError("git can't read this file", subject=entry.path, hint=hint)
                yield entry, content

    def uncommitted(self) -> list[str]:
        """Files below the checkout's folder whose changes are not in any commit, relative to it."""
        if self.bare:
            return []
        options = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
        output = self._git("--literal-pathspecs", "status", *options, "--", self.prefix or ".")
        files = [line[3:] for line in output.decode("utf-8", "replace").split("\0") if line]
        return sorted(file.removeprefix(self.prefix) for file in files)

    def _full(self, path: str) -> str:
        inside = str(PurePosixPath(path))
        return f"{self.prefix}{inside}" if inside != "." else self.prefix.rstrip("/")

    def _git(self, *arguments: str) -> bytes:
        return run_git(self.root, *arguments, bare=self.bare)


def git_environment() -> dict[str, str]:
    """The environment for git: it asks nobody, takes no locks to read, and means the repository that it is told."""
    inherited = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_REPOSITORY}
    return inherited | {
        # A replacement is another content under the same id, and the caches go by ids.
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def run_git(folder: Path, *arguments: str, bare: bool = False) -> bytes:
    """What git writes to standard output.

    :param bare: the folder is itself the repository; git does not look for one above it.
    :raises RepositoryError: git ended with an error; the message is the first line of what it says.
    """
    try:
        result = subprocess.run(
            git_command(folder, *arguments, bare=bare), env=git_environment(), capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise git_is_missing() from error
    if result.returncode != 0:
        text = result.stderr.decode("utf-8", "replace").strip().splitlines()
        message = text[0].removeprefix("fatal: ") if text else f"git {arguments[0]} ended with {result.returncode}"
        raise RepositoryError(message, subject=str(folder))
    return result.stdout


def git_command(folder: Path, *arguments: str, bare: bool) -> list[str]:
    """The command line; a user's ``safe.bareRepository`` is about repositories that nobody named."""
    return ["git", "-C", str(folder), *(["--git-dir=."] if bare else []), *arguments]


def git_is_missing() -> RepositoryError:
    return RepositoryError("git is not installed on this host", hint="install git")


def _bare_root(path: Path, folder: str) -> Path:
    """:raises RepositoryError: when the folder is no bare repository, but inside of one or of a ``.git`` folder."""
    options = ("-c", "safe.bareRepository=all", "rev-parse", "--is-bare-repository", "--absolute-git-dir")
    answer, root = _text(run_git(path, *options)).split("\n", 1)
    if answer != "true" or Path(root) != path.resolve():
        raise RepositoryError(
            "is a folder of git's own", subject=folder, hint="give the checkout or the bare repository itself"
        )
    return Path(root)


def _commit(path: Path, folder: str, revision: str, *, bare: bool) -> str:
    try:
        return _text(run_git(path, *_RESOLVE, f"{revision or 'HEAD'}^{{commit}}", bare=bare))
    except RepositoryError as error:
        if revision:
            raise RepositoryError(
                f"has no revision {revision}", subject=folder, hint="fetch it, or correct the revision"
            ) from error
        raise RepositoryError("has no commit yet", subject=folder, hint="commit the add-on files first") from error


def _text(output: bytes) -> str:
    """What git says, without the last line break; names of folders may be any bytes."""
    return os.fsdecode(output).removesuffix("\n")
