"""Looks a chart up in the ``index.yaml`` of a chart repository: exactly the version asked for, where it is, its digest.

Helm falls back to what is near a version that is not there, and does not compare the digest; neither is wanted here.
"""

from __future__ import annotations

import bisect
import difflib
import hashlib
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from ..model.errors import RenderError
from ..model.urls import chart_repository_fault
from ..model.yaml_documents import read_one
from .chart_files import MOST_BYTES, unzipped

_SHOWN = 4
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One version of a chart.

    :param address: where the archive is: a URL, or a path below that of the repository.
    :param digest: sha256 of the archive in hex, empty when the index does not say it.
    """

    repository: str
    chart: str
    version: str
    address: str
    digest: str

    def to_json(self) -> dict[str, Any]:
        """The least that helm needs in an index."""
        return {"name": self.chart, "version": self.version, "urls": [self.address], "digest": self.digest}

    def check(self, archive: bytes) -> None:
        """:raises RenderError: the archive is not the one that the index is about, or not whole."""
        if self.digest and hashlib.sha256(archive).hexdigest() != self.digest:
            raise RenderError(
                f"the archive of {self.chart} {self.version} has another digest than its index says",
                subject=self.repository,
                hint="it is broken or was exchanged; ask who runs the repository",
            )
        if not self.digest and not _is_whole(archive):
            raise RenderError(f"the archive of {self.chart} {self.version} is broken", subject=self.repository)


@dataclass(frozen=True, slots=True)
class ChartIndex:
    """The index of the repository at ``url``."""

    url: str
    entries: dict[str, Any]

    @classmethod
    def read(cls, content: bytes, url: str) -> ChartIndex:
        """:raises DocumentError: what helm took for an index may still have a key twice."""
        index = read_one(content, f"{url}/index.yaml")
        entries = index.get("entries") if isinstance(index, dict) else None
        return cls(url, entries if isinstance(entries, dict) else {})

    def find(self, chart: str, version: str) -> IndexEntry:
        """The entry of exactly this version.

        :raises RenderError: there is none, or none that can be downloaded; what there is near it is named.
        """
        if chart not in self.entries:
            close = difflib.get_close_matches(chart, sorted(self.entries), n=1)
            raise RenderError(
                f"there is no chart {chart}",
                subject=self.url,
                hint=f"did you mean {close[0]}?" if close else "correct the name of the chart, or the URL",
            )
        versions: dict[str, dict[str, Any]] = {}
        for fields in self.entries[chart] or ():
            if isinstance(fields, dict):
                known = versions.setdefault(str(fields.get("version")), fields)
                if str(fields.get("version")) == version and known.get("digest") != fields.get("digest"):
                    raise RenderError(
                        f"its index has two archives of {chart} {version}",
                        subject=self.url,
                        hint="ask who runs the repository which one it is",
                    )
        if version not in versions:
            raise RenderError(
                f"there is no version {version} of the chart {chart}",
                subject=self.url,
                hint=f"the nearest are {', '.join(_nearest(version, versions))}" if versions else "",
            )
        return self._entry(chart, version, versions[version])

    def _entry(self, chart: str, version: str, fields: dict[str, Any]) -> IndexEntry:
        urls, digest = fields.get("urls"), fields.get("digest")
        address = urls[0] if isinstance(urls, list) and urls and isinstance(urls[0], str) else ""
        # Links to archives are signed at some, which URLs of repositories may not be.
        if not address or not may_be_asked(re.split("[?#]", _joined(self.url, address))[0], self.url):
            raise RenderError(
                f"its index names no archive of {chart} {version} at an https:// URL",
                subject=self.url,
                hint="use a repository that has the archive itself",
            )
        match = _DIGEST.fullmatch(str(digest))
        if digest not in (None, "") and not match:
            raise RenderError(f"the digest of {chart} {version} in its index is no sha256", subject=self.url)
        return IndexEntry(self.url, chart, version, address, match[1].lower() if match else "")


def may_be_asked(url: str, repository: str = "") -> bool:
    """Whether a chart may be downloaded from this URL: ``https://``, or ``http://`` on this host.

    :param repository: the one whose index says so; one that is elsewhere does not lead to this host.
    """
    if chart_repository_fault(url) is not None:
        return False
    scheme = urlsplit(url).scheme
    return scheme == "https" or (scheme == "http" and urlsplit(repository or url).scheme == "http")


def _joined(url: str, address: str) -> str:
    try:
        return urljoin(f"{url}/", address)
    except ValueError:
        return ""


def _is_whole(archive: bytes) -> bool:
    try:
        return bool(unzipped(archive, MOST_BYTES))
    except (RenderError, EOFError, zlib.error):
        return False


def _nearest(version: str, known: Iterable[str]) -> list[str]:
    """A few on both sides of it, in their order."""
    ordered = sorted(known, key=_order)
    position = bisect.bisect_left(ordered, _order(version), key=_order)
    start = max(0, min(position - _SHOWN // 2, len(ordered) - _SHOWN))
    return ordered[start : start + _SHOWN]


def _order(version: str) -> tuple[list[int], bool, str]:
    """Numbers count as such, and a pre-release comes before its release."""
    release, _, rest = version.partition("+")[0].partition("-")
    return [int(number) for number in re.findall(r"\d+", release)], not rest, rest
