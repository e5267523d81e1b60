"""Reads the text files of a chart: a folder or an archive, with the archives of subcharts in it.

Archives are anybody's. They are read here as Helm reads them or not at all, so that nothing is in one that only Helm
sees: what is rare in a tar file, and what readers of tar files disagree on, is refused.
"""

from __future__ import annotations

import os
import posixpath
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..model.errors import RenderError

MOST_BYTES = 100 * 1024 * 1024
"""Helm's own limit for what an archive unpacks to; here for all archives of a chart together."""

_DEEPEST = 5
_ARCHIVES = (".tgz", ".tar.gz")
_BLOCK = 512
_FILE, _LINK, _FOLDER, _LONG_NAME, _PAX, _GLOBAL_PAX = b"0\0", b"12", b"5", b"L", b"x", b"g"
_LONGEST_EXTENSION = 1024 * 1024
"""Go's limit for a long name, and a PAX header."""


def chart_texts(chart: Path) -> Iterator[tuple[str, str]]:
    """Name and content of every file; bytes that are no text come out as replacement characters.

    Documentation is among them: a chart can make a template of any file.

    :raises RenderError: an archive is broken, or unpacks to more than Helm accepts.
    """
    budget = _Budget()
    if chart.is_file():
        yield from budget.of_archive(chart.read_bytes(), chart.name, 1)
        return
    seen = set()
    # Helm follows links to folders.
    for folder, folders, files in os.walk(chart, followlinks=True):
        place = Path(folder).resolve()
        if place in seen:
            folders.clear()
            continue
        seen.add(place)
        folders.sort()
        for path in (Path(folder, name) for name in sorted(files)):
            if path.is_file():
                yield from budget.texts(str(path.relative_to(chart)), path.read_bytes(), 0)


def unzipped(content: bytes, most: int) -> bytes:
    """What a gzip file holds.

    :raises EOFError, zlib.error: it is broken. :raises RenderError: it holds more than ``most`` bytes.
    """
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    found = stream.decompress(content, most + 1)
    if len(found) > most:
        raise RenderError("unpacks to more than 100 MiB")
    if not stream.eof or stream.unused_data:
        raise EOFError
    return found


class _Budget:
    """What the archives of one chart may still unpack to."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def texts(self, name: str, content: bytes, depth: int) -> Iterator[tuple[str, str]]:
        if name.endswith(_ARCHIVES):
            yield from self.of_archive(content, name, depth + 1)
        else:
            yield name, content.decode("utf-8", "replace")

    def of_archive(self, content: bytes, name: str, depth: int) -> Iterator[tuple[str, str]]:
        if depth > _DEEPEST:
            raise RenderError(f"is an archive in more than {_DEEPEST} others", subject=name)
        try:
            tar = unzipped(content, self._left)
            self._left -= len(tar)
            members = list(_members(tar))
        except (zlib.error, EOFError, ValueError) as error:
            raise RenderError("is no whole chart archive", subject=name) from error
        except RenderError as error:
            raise error.about(subject=name) from None
        for member, text in members:
            yield from self.texts(member, text, depth)


def _members(tar: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file.

    :raises ValueError: it is no tar file, or has what is rare in one.
    """
    position, name = 0, b""
    while any(header := tar[position : position + _BLOCK]):
        kind, extended = header[156:157], name
        # Helm finds no content in links and folders, whatever their size is said to be.
        size = 0 if kind in _LINK + _FOLDER else _octal(header[124:136])
        position += _BLOCK
        content = tar[position : position + size]
        position += -(-size // _BLOCK) * _BLOCK
        if len(header) < _BLOCK or len(content) < size or not _is_header(header):
            raise ValueError("broken")
        name = b""
        if kind in _LONG_NAME + _PAX + _GLOBAL_PAX:
            if extended or size > _LONGEST_EXTENSION:
                raise ValueError("a name is given twice, or has no end")
            if kind != _GLOBAL_PAX:
                name = _text(content) if kind == _LONG_NAME else _pax_path(content)
        elif kind in _FILE:
            prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else b""
            found = extended or posixpath.join(prefix, _text(header[:100]))
            if not found.endswith(b"/"):
                yield posixpath.normpath(found.decode("utf-8", "replace").replace("\\", "/")), content
            elif content:
                raise ValueError("a folder with content")
        elif kind not in _LINK + _FOLDER:
            raise ValueError("neither file nor folder nor link")
    if position > len(tar):
        raise ValueError("broken")


def _is_header(header: bytes) -> bool:
    return sum(header) - sum(header[148:156]) + 8 * ord(" ") == _octal(header[148:156])


def _octal(field: bytes) -> int:
    """:raises ValueError: also when it is a number below zero, or one of more than 8 GiB."""
    digits = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]*", digits):
        raise ValueError("no number")
    return int(digits or b"0", 8)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _pax_path(records: bytes) -> bytes:
    """The name in a PAX header, empty when there is none.

    :raises ValueError: it says where content is, too, or is no such header.
    """
    position, found = 0, {b"path": b""}
    while position < len(records):
        length = int(records[position : records.index(b" ", position)])
        key, _, value = records[position : position + max(length, 0)].partition(b" ")[2].partition(b"=")
        if (
            position + length > len(records)
            or not value.endswith(b"\n")
            or key == b"size"
            or key.startswith(b"GNU.sparse.")
        ):
            raise ValueError("not read here")
        found[key] = value[:-1]
        position += length
    return found[b"path"]
