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
