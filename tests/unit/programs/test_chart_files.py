"""Reading the texts of charts: folders with links, archives, and archives in them."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import RenderError
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.chart_files import chart_texts


def archive(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as packed:
        for name, content in files.items():
            facts = tarfile.TarInfo(name)
            facts.size = len(content)
            packed.addfile(facts, io.BytesIO(content))
    return target.getvalue()


def folder(path: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def test_every_file_of_a_folder_and_of_archives_in_it(tmp_path: Path) -> None:
    files = {"Chart.yaml": b"name: c", "notes.md": b"{{ a }}", "data.bin": b"\xff", "templates/deep/a.yaml": b"a"}
    inner = archive({"sub/templates/b.yaml": b"b", "sub/README.md": b"{{ b }}"})
    assert dict(chart_texts(folder(tmp_path, {**files, "charts/sub.tgz": inner}))) == {
        "Chart.yaml": "name: c",
        "notes.md": "{{ a }}",
        "data.bin": "\ufffd",
        "templates/deep/a.yaml": "a",
        "sub/templates/b.yaml": "b",
        "sub/README.md": "{{ b }}",
    }


def test_an_archive(tmp_path: Path) -> None:
    packed = tmp_path / "c.tgz"
    packed.write_bytes(archive({"c/Chart.yaml": b"name: c", "c/charts/s.tar.gz": archive({"s/a.yaml": b"a"})}))
    assert dict(chart_texts(packed)) == {"c/Chart.yaml": "name: c", "s/a.yaml": "a"}


def test_links_are_followed_and_cycles_are_not(tmp_path: Path) -> None:
    chart = folder(tmp_path / "c", {"Chart.yaml": b"name: c", "templates/a.yaml": b"a"})
    folder(tmp_path / "shared", {"b.yaml": b"b", "deep/c.yaml": b"c"})
    (chart / "templates/shared").symlink_to("../../shared")
    (chart / "templates/d.yaml").symlink_to("../../shared/b.yaml")
    (tmp_path / "shared/deep/up").symlink_to("../../shared")
    (chart / "templates/again").symlink_to("..")
    (chart / "templates/itself").symlink_to("itself")
    (chart / "templates/nothing").symlink_to("nowhere")
    assert dict(chart_texts(chart)) == {
        "Chart.yaml": "name: c",
        "templates/a.yaml": "a",
        "templates/d.yaml": "b",
        "templates/shared/b.yaml": "b",
        "templates/shared/deep/c.yaml": "c",
    }


WHOLE = archive({"c/Chart.yaml": b"name: c\n", "c/data": random.Random(1).randbytes(50_000).hex().encode()})
BROKEN = {
    "nothing": b"",
    "no archive": b"<html>",
    "half": WHOLE[: len(WHOLE) // 2],
    "bad start": WHOLE[:10] + b"\xff" * 20 + WHOLE[30:],
    "bad block": bytes(byte ^ 0xFF if 20_000 < place < 30_000 else byte for place, byte in enumerate(WHOLE)),
    "no tar": gzip.compress(b"x" * 2000),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_archive(tmp_path: Path, content: bytes) -> None:
    chart = folder(tmp_path, {"charts/sub.tgz": content})
    with pytest.raises(RenderError, match=r"^charts/sub\.tgz: is no whole chart archive$"):
        list(chart_texts(chart))


def test_an_archive_that_unpacks_to_too_much(tmp_path: Path) -> None:
    packed = tmp_path / "c.tgz"
    packed.write_bytes(archive({f"c/{number}": b"\0" * 21 * 1024 * 1024 for number in range(5)}))
    with pytest.raises(RenderError, match=r"^c\.tgz: unpacks to more than 100 MiB$"):
        list(chart_texts(packed))


def test_archives_in_archives_share_one_limit(tmp_path: Path) -> None:
    zeros = archive({"data": b"\0" * 30 * 1024 * 1024})
    packed = tmp_path / "c.tgz"
    packed.write_bytes(archive({f"c/charts/{number}.tgz": zeros for number in range(4)}))
    with pytest.raises(RenderError, match=r"^c/charts/3\.tgz: unpacks to more than 100 MiB$"):
        list(chart_texts(packed))


@pytest.mark.parametrize(("depth", "refused"), [(5, False), (6, True), (500, True)])
def test_archives_in_archives_in_archives(tmp_path: Path, depth: int, refused: bool) -> None:
    content = archive({"a.yaml": b"a"})
    for _ in range(depth - 1):
        content = archive({"s/charts/s.tgz": content})
    packed = tmp_path / "c.tgz"
    packed.write_bytes(content)
    if not refused:
        assert dict(chart_texts(packed)) == {"a.yaml": "a"}
        return
    with pytest.raises(RenderError, match=r"^s/charts/s\.tgz: is an archive in more than 5 others$"):
        list(chart_texts(packed))


def header(name: str = "c/a.yaml", kind: bytes = b"0", size: bytes = b"00000000002\0", prefix: str = "") -> bytes:
    start = name.encode().ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + size + b"00000000000\0"
    rest = kind + b"\0" * 100 + b"ustar\x0000" + b"\0" * 80 + prefix.encode()
    whole = (start + b" " * 8 + rest).ljust(512, b"\0")
    return whole[:148] + b"%06o\0 " % sum(whole) + whole[156:]


def block(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 512)


def extended(content: bytes, kind: bytes = b"x") -> bytes:
    return header("pax", kind, b"%011o\0" % len(content)) + block(content)


def record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n".encode()
    return next(
        b"%d%s" % (size, rest) for size in range(len(rest), len(rest) + 9) if size == len(b"%d%s" % (size, rest))
    )


ENTRY, TEXT = header(), block(b"hi")
RARE = {
    "a size below zero": header(size=b"-0000000001\0") + TEXT,
    "a size in base 256 below zero": header(size=b"\xff" * 12) + TEXT,
    "a size in base 256": header(size=b"\x80" + b"\0" * 10 + b"\2") + TEXT,
    "a size in another base": header(size=b"0b10\0".ljust(12, b"\0")) + TEXT,
    "a size in a PAX header": extended(record("size", "2")) + ENTRY + TEXT,
    "a negative size in a PAX header": extended(record("size", "-512")) + ENTRY + TEXT,
    "a PAX header below zero": header("pax", b"x", b"-0000000777\0") + ENTRY + TEXT,
    "a PAX header without an end": header("pax", b"x", b"77777777777\0") + ENTRY + TEXT,
    "a PAX header of megabytes": extended(record("comment", "x" * 2**20)) + ENTRY + TEXT,
    "a PAX record of no length": extended(b"0 a=b\n") + ENTRY + TEXT,
    "a PAX record that goes back": extended(b"9 path=a\n-9 path=b\n") + ENTRY + TEXT,
    "a PAX record without a length": extended(b"path=a\n") + ENTRY + TEXT,
    "a PAX record that is too long": extended(b"99 path=a\n") + ENTRY + TEXT,
    "a sparse file": extended(record("GNU.sparse.map", "x")) + ENTRY + TEXT,
    "an old sparse file": header(kind=b"S") + TEXT,
    "two names": extended(record("path", "c/a")) + extended(b"c/values.schema.json\0", b"L") + ENTRY + TEXT,
    "a device": header(kind=b"3") + TEXT,
    "a folder with content": header("c/values.schema.json/") + TEXT,
    "a wrong checksum": ENTRY.replace(b"c/a", b"c/b") + TEXT,
    "half a header": ENTRY[:150],
    "half a file": ENTRY + b"h",
}


@pytest.mark.parametrize("tar", RARE.values(), ids=RARE)
def test_what_is_rare_in_a_tar_file_is_refused(tmp_path: Path, tar: bytes) -> None:
    chart = folder(tmp_path, {"charts/sub.tgz": gzip.compress(tar)})
    with pytest.raises(RenderError, match=r"^charts/sub\.tgz: is no whole chart archive$"):
        list(chart_texts(chart))


def test_two_gzip_files_in_one_are_refused(tmp_path: Path) -> None:
    chart = folder(tmp_path, {"charts/sub.tgz": gzip.compress(b"") * 2})
    with pytest.raises(RenderError, match="is no whole chart archive"):
        list(chart_texts(chart))


def forms() -> list[tuple[str, bytes]]:
    made = []
    long = "c/" + "folder/" * 40 + "values.schema.json"
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w:gz", format=form, pax_headers={"comment": "a commit"}) as packed:
            for name, kind in ((long, tarfile.REGTYPE), ("c/å", tarfile.REGTYPE), ("c/f", tarfile.DIRTYPE)):
                facts = tarfile.TarInfo(name)
                facts.type = kind
                facts.size = 2 if kind == tarfile.REGTYPE else 0
                packed.addfile(facts, io.BytesIO(b"hi"))
            link = tarfile.TarInfo("c/link")
            link.type, link.linkname = tarfile.SYMTYPE, "f"
            packed.addfile(link)
        made.append((long, target.getvalue()))
    return [*made, ("p/c/a.yaml", gzip.compress(header(prefix="p") + TEXT + b"\0" * 1024))]


@pytest.mark.parametrize(("name", "content"), forms(), ids=["pax", "gnu", "ustar"])
def test_names_in_all_their_forms(tmp_path: Path, name: str, content: bytes) -> None:
    packed = tmp_path / "c.tgz"
    packed.write_bytes(content)
    others = {} if name.startswith("p") else {"c/å": "hi"}
    assert dict(chart_texts(packed)) == {name: "hi", **others}


@pytest.mark.parametrize("name", ["c/./values.schema.json", "c\\values.schema.json", "c/x/../values.schema.json/."])
def test_names_are_as_helm_reads_them(tmp_path: Path, name: str) -> None:
    packed = tmp_path / "c.tgz"
    packed.write_bytes(archive({name: b"{}"}))
    assert dict(chart_texts(packed)) == {"c/values.schema.json": "{}"}
