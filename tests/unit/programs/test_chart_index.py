"""Lookups in index files of chart repositories."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import DocumentError, RenderError
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.chart_index import ChartIndex

URL = "https://charts.example.com/stable"
ARCHIVE = gzip.compress(b"chart")
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()


def index_of(*versions: dict[str, Any]) -> ChartIndex:
    return ChartIndex.read(json.dumps({"apiVersion": "v1", "entries": {"web": versions}}).encode(), URL)


def test_the_entry_of_exactly_one_version() -> None:
    text = f"""
        apiVersion: v1
        entries:
          web:
          - {{version: 1.2.3+b.1, urls: [web-1.2.3%2Bb.1.tgz, other], digest: "sha256:{DIGEST.upper()}"}}
          - {{version: 1.2.3, urls: [other]}}
        """
    entry = ChartIndex.read(text.encode(), URL).find("web", "1.2.3+b.1")
    assert (entry.address, entry.digest) == ("web-1.2.3%2Bb.1.tgz", DIGEST)
    entry.check(ARCHIVE)


@pytest.mark.parametrize(
    ("version", "near"),
    [
        ("1.2", "1.1.0, 1.2.0-rc.1, 1.2.0, 1.10.0"),
        ("1.2.1", "1.2.0-rc.1, 1.2.0, 1.10.0, 2.0.0"),
        ("9.0.0", "1.2.0-rc.1, 1.2.0, 1.10.0, 2.0.0"),
        ("0.1.0", "1.1.0, 1.2.0-rc.1, 1.2.0, 1.10.0"),
        ("v1.10.0", "1.2.0-rc.1, 1.2.0, 1.10.0, 2.0.0"),
        ("^1.2.0", "1.1.0, 1.2.0-rc.1, 1.2.0, 1.10.0"),
    ],
)
def test_a_version_that_is_not_there_is_not_replaced(version: str, near: str) -> None:
    index = index_of(*({"version": known} for known in ("2.0.0", "1.10.0", "1.2.0", "1.2.0-rc.1", "1.1.0")))
    with pytest.raises(RenderError) as caught:
        index.find("web", version)
    assert str(caught.value) == (f"{URL}: there is no version {version} of the chart web. The nearest are {near}.")


@pytest.mark.parametrize(
    ("chart", "hint"), [("wbe", "Did you mean web?"), ("nix", "Correct the name of the chart, or the URL.")]
)
def test_a_chart_that_is_not_there(chart: str, hint: str) -> None:
    with pytest.raises(RenderError) as caught:
        index_of({"version": "1.0.0"}).find(chart, "1.0.0")
    assert str(caught.value) == f"{URL}: there is no chart {chart}. {hint}"


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("web-1.0.0.tgz", True),
        ("../web-1.0.0.tgz?token=x", True),
        ("https://elsewhere.example.com/web-1.0.0.tgz", True),
        ("http://127.0.0.1:8080/web-1.0.0.tgz", False),
        ("http://localhost/web-1.0.0.tgz", False),
        ("http://elsewhere.example.com/web-1.0.0.tgz", False),
        ("oci://elsewhere.example.com/web:1.0.0", False),
        ("file:///etc/web-1.0.0.tgz", False),
        ("https://user:word@elsewhere.example.com/web-1.0.0.tgz", False),
        ("http://[::1", False),
    ],
)
def test_where_an_archive_may_be(address: str, allowed: bool) -> None:
    index = index_of({"version": "1.0.0", "urls": [address]})
    if allowed:
        assert index.find("web", "1.0.0").address == address
        return
    with pytest.raises(RenderError) as caught:
        index.find("web", "1.0.0")
    assert str(caught.value) == (
        f"{URL}: its index names no archive of web 1.0.0 at an https:// URL. "
        "Use a repository that has the archive itself."
    )


def test_a_repository_on_this_host_may_have_its_archives_there() -> None:
    address = "http://localhost:8080/web-1.0.0.tgz"
    index = index_of({"version": "1.0.0", "urls": [address]})
    assert ChartIndex("http://127.0.0.1:8080", index.entries).find("web", "1.0.0").address == address


@pytest.mark.parametrize("digests", [(DIGEST, "ab" * 32), (DIGEST, None), (None, DIGEST), (DIGEST, "ab" * 32, DIGEST)])
def test_one_version_with_two_digests(digests: tuple[str | None, ...]) -> None:
    entries = [{"version": "1.0.0", "urls": ["web.tgz"]} | ({"digest": one} if one else {}) for one in digests]
    with pytest.raises(RenderError) as caught:
        index_of(*entries, {"version": "1.1.0"}).find("web", "1.0.0")
    assert str(caught.value) == (
        f"{URL}: its index has two archives of web 1.0.0. Ask who runs the repository which one it is."
    )
    others = index_of(*entries, {"version": "1.1.0", "urls": ["other.tgz"], "digest": DIGEST})
    assert others.find("web", "1.1.0").digest == DIGEST


def test_one_version_twice_with_one_digest() -> None:
    entry = {"version": "1.0.0", "urls": ["web.tgz"], "digest": DIGEST}
    assert index_of(entry, entry).find("web", "1.0.0").digest == DIGEST


@pytest.mark.parametrize("urls", [None, [], [5], "x"])
def test_an_entry_without_an_archive(urls: Any) -> None:
    with pytest.raises(RenderError, match="names no archive of web"):
        index_of({"version": "1.0.0", "urls": urls}).find("web", "1.0.0")


def test_the_digest_is_compared() -> None:
    entry = index_of({"version": "1.0.0", "urls": ["web.tgz"], "digest": DIGEST}).find("web", "1.0.0")
    with pytest.raises(RenderError, match=r"the archive of web 1\.0\.0 has another digest than its index says"):
        entry.check(ARCHIVE + b"x")
    with pytest.raises(RenderError, match="is no sha256"):
        index_of({"version": "1.0.0", "urls": ["web.tgz"], "digest": "md5"}).find("web", "1.0.0")


def test_without_a_digest_the_archive_has_to_be_whole() -> None:
    entry = index_of({"version": "1.0.0", "urls": ["web.tgz"]}).find("web", "1.0.0")
    entry.check(ARCHIVE)
    for broken in (ARCHIVE[:-4], b"<html>", b"", ARCHIVE[:12] + b"x" + ARCHIVE[13:]):
        with pytest.raises(RenderError, match=r"the archive of web 1\.0\.0 is broken"):
            entry.check(broken)


@pytest.mark.parametrize("text", ["entries: []", "- a", "apiVersion: v1"])
def test_an_index_without_charts(text: str) -> None:
    with pytest.raises(RenderError, match="there is no chart web"):
        ChartIndex.read(text.encode(), URL).find("web", "1.0.0")


def test_an_index_that_can_not_be_read() -> None:
    with pytest.raises(DocumentError) as caught:
        ChartIndex.read(b"entries: {}\nentries: {}\n", URL)
    assert str(caught.value) == f"{URL}/index.yaml:2: the key entries stands twice in one mapping"
