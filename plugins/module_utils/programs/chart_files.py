"""Reads the text files of a chart: a folder or an archive, with the archives of subcharts in it."""

from __future__ import annotations

import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..model.errors import RenderError

_MOST_BYTES = 100 * 1024 * 1024
"""Helm's own limit for what an archive unpacks to."""

_ARCHIVES = (".tgz", ".tar.gz")


def chart_texts(chart: Path) -> Iterator[tuple[str, str]]:
    """Name and content of every file; bytes that are no text come out as replacement characters.

    Documentation is among them: a chart can make a template of any file.

    :raises RenderError: an archive is broken, or unpacks to more than Helm accepts.
    """
    if chart.is_file():
        yield from _of_archive(chart.read_bytes(), chart.name)
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
                yield from _texts(str(path.relative_to(chart)), path.read_bytes())


def _of_archive(content: bytes, name: str) -> Iterator[tuple[str, str]]:
    left = _MOST_BYTES
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is None:
                    continue
                left -= member.size
                if left < 0:
                    raise RenderError("unpacks to more than 100 MiB", subject=name)
                yield from _texts(member.name, stream.read())
    except (tarfile.TarError, zlib.error, OSError, EOFError) as error:
        raise RenderError("is no whole chart archive", subject=name) from error


def _texts(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    if name.endswith(_ARCHIVES):
        yield from _of_archive(content, name)
    else:
        yield name, content.decode("utf-8", "replace")
