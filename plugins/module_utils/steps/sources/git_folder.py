"""Folders and files of a commit as sources: what is in them, and what no source can be made of."""

from __future__ import annotations

import posixpath
import re

from ...model.definition import Definition
from ...model.errors import RenderError, RepositoryError
from ...repository.git import SUBMODULE, SYMBOLIC_LINK, Checkout, TreeEntry

_LFS_HEADER = "version https://git-lfs.github.com/spec/"
_SOPS_CODE = re.compile(rb"""\b(?:sops_)?mac["']?\s*[:=]\s*["']?ENC\[AES256_GCM,""")
"""The code by which SOPS tells that nothing was changed: in YAML, JSON, settings, and in what it takes for binary."""


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


def committed_file(checkout: Checkout, path: str, field: str) -> bytes:
    """The content of a file of the commit, by its normalised path from the root of the repository.

    :param field: the definition's field that names it.
    :raises RenderError: it is missing, something else than a file, a Git LFS pointer, or encrypted.
    """
    try:
        entries = checkout.entries(posixpath.dirname(path) or ".", recursive=False)
    except RepositoryError:
        entries = []
    found = [entry for entry in entries if entry.path == path]
    if not found or found[0].kind != "blob" or found[0].mode == SYMBOLIC_LINK:
        what = "is a symbolic link" if found and found[0].mode == SYMBOLIC_LINK else "is no file"
        raise RenderError(f"{field}: {path} {what} of commit {checkout.commit[:12]}", hint="correct the path")
    content = checkout.read(found)[path]
    refuse_lfs_pointer(content, f"{field}: {path}")
    refuse_encrypted(content, f"{field}: {path}")
    return content


def refuse_lfs_pointer(content: bytes | str, path: str) -> None:
    """:raises RenderError: when git has a pointer in the place of the file."""
    text = content if isinstance(content, str) else content[: len(_LFS_HEADER)].decode("utf-8", "replace")
    if text.startswith(_LFS_HEADER):
        raise RenderError("is a Git LFS pointer, not the file", subject=path, hint="commit the file itself")


def refuse_encrypted(content: bytes, path: str) -> None:
    """:raises RenderError: when the file was encrypted with SOPS and is not decrypted by anything before it is used."""
    if _SOPS_CODE.search(content):
        raise RenderError("is encrypted with sops", subject=path, hint="it can't be used as it is")


def refuse_values(definition: Definition, reason: str) -> None:
    """:raises RenderError: when values are given to a source that has no use for them."""
    if definition.values or definition.values_from or definition.source.values_files:
        raise RenderError(f"values, valuesFrom, valuesFiles: {reason}", hint="remove them, or use a chart")
