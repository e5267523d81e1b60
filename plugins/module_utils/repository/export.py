"""Writing the files of a commit to a folder, for programs that read folders: exactly what git has, and nothing else.

Neither attributes nor filters nor line endings of a checkout take part. Nothing in a repository, however it was made,
is written outside of the folder, and no link in it leads out of it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ..model.errors import RepositoryError
from .git import SUBMODULE, SYMBOLIC_LINK, Checkout

_EXECUTABLE = "100755"
_MOST_LINKS = 40
"""How many links may follow each other, as for Linux."""


def export(checkout: Checkout, path: str, folder: Path) -> list[tuple[str, str]]:
    """Write the commit's tree below ``path`` (``.``: all of it), so that ``folder/<path>`` holds it.

    Submodules are left out.

    :param folder: exists, and nothing else writes to it; files are for its owner only.
    :return: symbolic links that were left out since they lead out of what is written, or nowhere, with their targets.
    :raises RepositoryError: there is no such folder in the commit, or a name in it can't be that of a file.
    """
    entries = [entry for entry in checkout.entries(path, recursive=True, exact_names=True) if entry.mode != SUBMODULE]
    for entry in entries:
        _check_name(entry.path)
    linked = [entry for entry in entries if entry.mode == SYMBOLIC_LINK]
    files = [entry for entry in entries if entry.mode != SYMBOLIC_LINK]
    try:
        (folder / path).mkdir(mode=0o700, parents=True, exist_ok=True)
        for parent in sorted({posixpath.dirname(entry.path) for entry in entries}):
            (folder / parent).mkdir(mode=0o700, parents=True, exist_ok=True)
        # Links come last: until then, there is none that a file could be written through.
        for entry, content in checkout.contents(files):
            mode = 0o700 if entry.mode == _EXECUTABLE else 0o600
            descriptor = os.open(folder / entry.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        targets = {entry.path: os.fsdecode(content) for entry, content in checkout.contents(linked)}
        inside = _Written(posixpath.normpath(path), {entry.path for entry in files}, targets)
        left_out = []
        for link, target in targets.items():
            if inside.leads_to_something(link):
                (folder / link).symlink_to(target)
            else:
                left_out.append((_readable(link), _readable(target)))
    except OSError as error:
        subject = _readable(os.fspath(error.filename2 or error.filename or folder)).removeprefix(f"{folder}/")
        if isinstance(error, FileExistsError | NotADirectoryError):
            problem = "stands in the commit twice, for this file system at least"
        else:
            problem = f"can't be written: {error.strerror}"
        raise RepositoryError(problem, subject=subject) from error
    return left_out


def common_folder(paths: Iterable[str]) -> str:
    """The smallest folder that holds all of these folders, and files in them; ``.`` at worst."""
    return posixpath.commonpath([posixpath.normpath(path) for path in paths]) or "."


class _Written:
    """What an export writes, as far as links go: where one leads is told without following it."""

    def __init__(self, top: str, files: Collection[str], links: Mapping[str, str]) -> None:
        self._top = () if top == "." else tuple(top.split("/"))
        self._files = {tuple(file.split("/")) for file in files}
        self._links = {tuple(link.split("/")): target for link, target in links.items()}
        self._folders = {
            name[:end] for name in {*self._files, *self._links} for end in range(len(self._top), len(name))
        }

    def leads_to_something(self, link: str) -> bool:
        """Whether a link leads to a file or folder that is written, and on its way never leaves what is written."""
        here = tuple(link.split("/"))[:-1]
        rest = self._parts(self._links[tuple(link.split("/"))])
        followed = 1
        while rest:
            part = rest.pop()
            if here not in self._folders:
                return False
            if part == "..":
                if here == self._top:
                    return False
                here = here[:-1]
            elif part != ".":
                here = (*here, part)
            target = self._links.get(here)
            if target is not None:
                followed += 1
                if followed > _MOST_LINKS:
                    return False
                here = here[:-1]
                rest += self._parts(target)
        return here in self._folders or here in self._files

    @staticmethod
    def _parts(target: str) -> list[str]:
        """The words of a path, last one first; of an absolute path and an empty one a word that is no file's name."""
        words = target.split("/")
        return [word or "." for word in reversed(words)] if words[0] else ["\0"]


def _check_name(name: str) -> None:
    words = name.split("/")
    if any(word in ("", ".", "..") or word.lower() == ".git" for word in words):
        raise RepositoryError(
            "is no name that a file of a repository may have", subject=_readable(name), hint="remove it from git"
        )


def _readable(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")
