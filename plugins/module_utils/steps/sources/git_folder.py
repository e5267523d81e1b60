"""A folder of a commit as a source: what is in it, and what no source can be made of."""

from __future__ import annotations

from ...model.definition import Definition
from ...model.errors import RenderError, RepositoryError
from ...repository.git import SUBMODULE, Checkout, TreeEntry

_LFS_HEADER = "version https://git-lfs.github.com/spec/"


def folder_entries(checkout: Checkout, path: str) -> list[TreeEntry]:
    """Every file below ``git.path``, sorted by path.

    :raises RenderError: there is no such folder in the commit, or a submodule is in it.
    """
    try:
        entries = checkout.entries(path, recursive=True)
    except RepositoryError as error:
        raise RenderError(f"git.path: {path}: {error.message}", hint=error.hint) from error
    for entry in entries:
        if entry.mode == SUBMODULE:
            raise RenderError("is a git submodule, which is not fetched", subject=entry.path, hint="copy its files")
    return entries


def refuse_lfs_pointer(content: bytes | str, path: str) -> None:
    """:raises RenderError: when git has a pointer in the place of the file."""
    text = content if isinstance(content, str) else content[: len(_LFS_HEADER)].decode("utf-8", "replace")
    if text.startswith(_LFS_HEADER):
        raise RenderError("is a Git LFS pointer, not the file", subject=path, hint="commit the file itself")


def refuse_values(definition: Definition, reason: str) -> None:
    """:raises RenderError: when values are given to a source that has no use for them."""
    if definition.values or definition.values_from or definition.source.values_files:
        raise RenderError(f"values, valuesFrom, valuesFiles: {reason}", hint="remove them, or use a chart")
