"""Reading a gitops repository through git: always the tree of one commit, never the working tree.

Only reading commands are used, with ``GIT_OPTIONAL_LOCKS=0``, so that not even the index is refreshed on disk. Whoever
may commit could commit a bare repository, whose configuration names programs: none is ever found by looking for one.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from ..model.errors import RepositoryError
from ..programs.git_variables import OF_ANOTHER_REPOSITORY
from ..programs.limits import MIB, Ended, Limits, NotStartedError, TooMuchError, ended

SYMBOLIC_LINK = "120000"
SUBMODULE = "160000"

COMMIT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

# Of main~1, main^, main@{1}.
_BEFORE_A_STEP = re.compile(r"[^~^@:]+")
_RESOLVE = ("rev-parse", "--verify", "--quiet", "--end-of-options")
_SECONDS = 120
_OUTPUT = 64 * MIB
_CONTENTS = 256 * MIB


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
    ending in a slash), ``commit`` the full commit id. A ``bare`` repository has no working tree and no prefix. ``news``
    is a sentence for people when the revision is not what it was before: a branch whose history was rewritten, a moved
    tag.
    """

    root: Path
    prefix: str
    commit: str
    bare: bool = False
    news: str = field(default="", compare=False)

    @classmethod
    def open(cls, folder: str, revision: str = "", *, bare: bool = False) -> Checkout:
        """:param bare: the folder is known to be a bare repository (a clone of the cache), wherever it is.

        :raises RepositoryError: when the folder is no checkout, or the revision is not in it, or means two things.
        """
        path = Path(folder).expanduser()
        if not path.is_dir():
            raise RepositoryError("there is no such folder", subject=folder, hint="give a git checkout as addon_repo")
        if bare:
            return cls(path.resolve(), "", _commit(path, folder, revision, bare=True), bare=True)
        bare = _names_bare_repository(path, folder)
        # Once more with git, which checks whose it is.
        options = ("-c", "safe.bareRepository=all", "rev-parse", "--absolute-git-dir")
        where = options if bare else ("rev-parse", "--show-toplevel", "--show-prefix")
        try:
            root, _, prefix = _text(run_git(path, *where)).partition("\n")
        except RepositoryError as error:
            if "work tree" in error.message or "bare repository" in error.message:
                raise _git_s_own(folder) from error
            if "dubious ownership" in error.message:
                error.hint = f"if you trust it: git config --global --add safe.directory {folder}"
            if "not a git repository" in error.message:
                raise RepositoryError(
                    "is not a git checkout",
                    subject=folder,
                    hint="add-ons are read at a commit: run git init and commit the files, or give the right folder",
                ) from error
            raise
        if bare and Path(root) != path.resolve():
            raise _git_s_own(folder)
        return cls(Path(root), prefix, _commit(path, folder, revision, bare=bare), bare)

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
            with _git(self.root, "cat-file", "--batch", bare=self.bare, given=request) as process:
                yield from _contents(process.output, wanted, self._incomplete)

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

    @property
    def _incomplete(self) -> str:
        return f"if {self.root} is a clone of the cache, remove it" if self.bare else "is the clone complete?"

    def _git(self, *arguments: str) -> bytes:
        return run_git(self.root, *arguments, bare=self.bare)


def git_environment() -> dict[str, str]:
    """The environment for git: it asks nobody, takes no locks, fetches nothing, and means the repository it is told."""
    inherited = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_REPOSITORY}
    return inherited | {
        # A replacement is another content under the same id, and the caches go by ids.
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        # What a partial clone lacks would be fetched by whatever its configuration names; older versions of git know
        # the second variable only.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def run_git(folder: Path, *arguments: str, bare: bool = False) -> bytes:
    """What git writes to standard output.

    :param bare: the folder is itself the repository; git does not look for one above it.
    :raises RepositoryError: git ended with an error; the message is the first line of what it says.
    """
    with _git(folder, *arguments, bare=bare) as process:
        try:
            output = process.read(_OUTPUT)
        except TooMuchError:
            raise RepositoryError(
                f"git tells more than {_OUTPUT // MIB} MiB of names", subject=str(folder), hint="give a smaller folder"
            ) from None
        if process.code != 0:
            text = process.errors.strip().splitlines()
            message = text[0].removeprefix("fatal: ") if text else f"git {arguments[0]} ended with {process.code}"
            raise RepositoryError(message, subject=str(folder))
        return output


def git_command(folder: Path, *arguments: str, bare: bool) -> list[str]:
    """The command line, with which git runs nothing of what a repository or a user set up for checkouts.

    A bare repository is only taken when it is named, whatever the user's ``safe.bareRepository``.
    """
    settings = ("safe.bareRepository=explicit", "core.fsmonitor=false", f"core.hooksPath={os.devnull}")
    options = [word for setting in settings for word in ("-c", setting)]
    return ["git", "-C", str(folder), *(["--git-dir=."] if bare else []), *options, *arguments]


@contextmanager
def _git(folder: Path, *arguments: str, bare: bool, given: IO[bytes] | None = None) -> Iterator[Ended]:
    command = git_command(folder, *arguments, bare=bare)
    try:
        with ended(command, Limits(_SECONDS), environment=git_environment(), given=given) as process:
            yield process
    except NotStartedError as error:
        raise git_not_started(error) from error
    except subprocess.TimeoutExpired:
        raise RepositoryError(
            f"git did not end within {_SECONDS} s", subject=str(folder), hint="see that the disk it is on answers"
        ) from None


def _contents(output: IO[bytes], entries: list[TreeEntry], hint: str) -> Iterator[tuple[TreeEntry, bytes]]:
    """What ``git cat-file --batch`` wrote, one file after the other."""
    total = 0
    for entry in entries:
        header = output.readline().split()
        size = int(header[2]) if len(header) == 3 else 0
        total += size
        if total > _CONTENTS:
            raise RepositoryError(
                f"with this file, more than {_CONTENTS // MIB} MiB are to be read at once",
                subject=entry.path,
                hint="give a smaller folder, or remove large files from it",
            )
        content = output.read(size + 1)[:-1]
        if len(header) != 3 or len(content) != size:
            raise RepositoryError("git can't read this file", subject=entry.path, hint=hint)
        yield entry, content


def git_not_started(error: NotStartedError) -> RepositoryError:
    if isinstance(error.__cause__, FileNotFoundError):
        return RepositoryError("git is not installed on this host", hint="install git")
    return RepositoryError(f"git can't be started: {error}")


def _names_bare_repository(path: Path, folder: str) -> bool:
    """Whether the folder is a bare repository of its own, and not one that somebody put into a checkout.

    :raises RepositoryError: a git that does not know ``safe.bareRepository`` would take such a one, or it is git's own.
    """
    here = path.resolve()
    places = [here, *here.parents]
    top = next((place for place in places if os.path.lexists(place / ".git")), None)
    below = places[: places.index(top)] if top else places
    found = next((place for place in below if _looks_bare(place)), None)
    if top and ".git" in here.relative_to(top).parts:
        raise _git_s_own(folder)
    if found and top:
        raise RepositoryError(
            f"{found} is a bare repository inside of the checkout {top}",
            subject=folder,
            hint="remove it; a bare repository that you trust can be given as file:// URL",
        )
    if found and found != here:
        raise _git_s_own(folder)
    return found is not None


def _looks_bare(folder: Path) -> bool:
    """As git tells it, without a look into the files."""
    names = ("commondir",) if os.path.lexists(folder / "commondir") else ("objects", "refs")
    return all(os.path.lexists(folder / name) for name in ("HEAD", *names))


def _git_s_own(folder: str) -> RepositoryError:
    return RepositoryError(
        "is a folder of git's own", subject=folder, hint="give the checkout or the bare repository itself"
    )


def two_meanings(subject: str, revision: str, names: Iterable[str]) -> RepositoryError:
    """The refusal to choose between refs of the same short name, as git would without a word."""
    return RepositoryError(
        f"{revision} is a branch and a tag", subject=subject, hint=f"write {' or '.join(names)} as revision"
    )


def _commit(path: Path, folder: str, revision: str, *, bare: bool) -> str:
    if revision and not COMMIT_ID.fullmatch(revision):
        name = _BEFORE_A_STEP.match(revision)
        wanted = [f"{kind}/{name[0] if name else revision}" for kind in ("refs/heads", "refs/tags")]
        there = _text(run_git(path, "for-each-ref", "--format=%(refname)", *wanted, bare=bare)).splitlines()
        if set(wanted) <= set(there):
            raise two_meanings(folder, revision, wanted)
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
