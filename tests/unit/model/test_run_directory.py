"""The run directory: private, atomic, swept, and clear about what it can't read."""

from __future__ import annotations

import json
import os
import platform
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import Bundle, BundleObject
from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition import Definition
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import RunDirectoryError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import Outcome
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Plan
from ansible_collections.rendimiento.addons.plugins.module_utils.model.record import Record
from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_directory import (
    InvalidDefinition,
    RunDirectory,
    RunInfo,
    RunOptions,
    SourcedDefinition,
    process_lives,
    write_private,
)


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def info(**fields: Any) -> RunInfo:
    values: dict[str, Any] = {
        "run_id": "r", "host": "h", "user": "u", "pid": os.getpid(), "started": 1.5, "repository": "/repo",
        "remote": "",
        "commit": "c", "path": "addons", "server": "https://s", "server_version": "v1.37.2", "check": False,
        "comparable": True, "record_kind_served": True, "options": RunOptions("rendimiento-system"),
    }  # fmt: skip
    return RunInfo(**{**values, **fields})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_everything_is_private_whatever_the_umask(parent: Path) -> None:
    umask = os.umask(0)
    try:
        directory = RunDirectory.create()
        directory.save_info(info())
        directory.save_plan(Plan("web", "", "", True))
        directory.save_outcome(Outcome("web"))
        directory.write_json("credential.json", {"token": "t"})
        folder = directory.folder("credential")
    finally:
        os.umask(umask)
    assert directory.path.parent == parent
    folders = [directory.path, directory.path / "plan", directory.path / "outcome", folder]
    assert [mode(path) for path in folders] == [0o700] * 4
    files = [path for path in directory.path.rglob("*") if path.is_file()]
    assert len(files) == 5
    assert {mode(path) for path in files} == {0o600}


def test_typed_files_there_and_back(parent: Path) -> None:
    directory = RunDirectory.create()
    definition = Definition.from_json({"name": "web", "namespace": "w", "git": {"path": "x"}, "values": {"a": None}})
    sourced = SourcedDefinition("addons/web.yaml", "blob", definition)
    written = info(options=RunOptions("s", "account", ["web"], 3), invalid=[InvalidDefinition("f", "web", "why")])
    bundle = Bundle("web", "plain", "c", "v", "d", "r", [BundleObject({"kind": "A"}, "f")])
    directory.save_info(written)
    directory.save_definition(sourced)
    directory.save_bundle(bundle)
    directory.save_records({"web": Record("web", status={"x": 1})})
    opened = RunDirectory.open(str(directory.path))
    assert (opened.info, opened.definition("web")) == (written, sourced)
    assert (opened.bundle("web"), list(opened.bundles())) == (bundle, [bundle])
    assert opened.records() == {"web": Record("web", status={"x": 1})}
    opened.save_record(Record("web", status={"x": 2}))
    opened.save_record(Record("new"))
    assert opened.records() == {"web": Record("web", status={"x": 2}), "new": Record("new")}


def test_what_is_not_there(parent: Path) -> None:
    directory = RunDirectory.create()
    assert (directory.bundle("web"), directory.plan("web"), directory.read_json("snapshot.json")) == (None, None, None)
    assert (directory.outcome("web"), list(directory.bundles())) == (Outcome("web"), [])
    with pytest.raises(RunDirectoryError, match=r"web: is no add-on of this run"):
        directory.definition("web")
    with pytest.raises(
        RunDirectoryError, match=r"is not the folder of a run on this host. Call addon_definitions first"
    ):
        RunDirectory.open(str(directory.path))


@pytest.mark.parametrize("content", ["", "{", "[]", "5", "{}", '{"run_id": "r"}', "\udc80"])
def test_what_can_not_be_read_is_one_error(parent: Path, content: str) -> None:
    directory = RunDirectory.create()
    for name in ("run.json", "plan/web.json", "outcome/web.json", "snapshot.json"):
        write_private(directory.path / name, content.encode("utf-8", "surrogateescape"))
    with pytest.raises(RunDirectoryError, match=r"run.json: can't be read"):
        _ = directory.info
    with pytest.raises(RunDirectoryError, match=r"web.json: can't be read"):
        directory.plan("web")
    with pytest.raises(RunDirectoryError, match=r"web.json: can't be read"):
        directory.outcome("web")


def test_broken_files_of_other_layers_are_one_error(parent: Path) -> None:
    directory = RunDirectory.create()
    write_private(directory.path / "snapshot.json", b"{")
    with pytest.raises(RunDirectoryError, match=r"snapshot.json: can't be read"):
        directory.read_json("snapshot.json")


def test_another_schema_is_named(parent: Path) -> None:
    directory = RunDirectory.create()
    directory.save_info(info(schema=99))
    with pytest.raises(RunDirectoryError, match=r"another version of the collection"):
        _ = directory.info


def test_a_removed_run_can_not_be_written_to(parent: Path) -> None:
    directory = RunDirectory.create()
    directory.remove()
    directory.remove()
    with pytest.raises(RunDirectoryError, match=r"can't be written: No such file or directory"):
        directory.save_outcome(Outcome("web"))


def test_no_place_for_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    with pytest.raises(RunDirectoryError, match=r"no run directory can be made here: Not a directory. Set TMPDIR."):
        RunDirectory.create()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_private(path, b"old")
    with pytest.raises(TypeError):
        write_private(path, None)  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_invalid_definitions_protect_their_add_ons() -> None:
    invalid = [
        InvalidDefinition("a", "web", "one"),
        InvalidDefinition("b", "", "two"),
        InvalidDefinition("c", "web", "three"),
    ]
    assert info(invalid=invalid).protected == {"web": "one; three"}


@pytest.mark.parametrize(
    ("content", "old", "stays"),
    [
        (None, True, False),
        (None, False, True),
        ("dead", True, False),
        ("dead", False, False),
        ("dead elsewhere", False, True),
        ("dead elsewhere", True, False),
        ("shipped", False, True),
        ("shipped", True, False),
        ("alive", True, True),
        ("{}", True, False),
        ("{}", False, True),
        ("[]", True, False),
        ("{", True, False),
        ('{"host": "h", "pid": null}', True, False),
        ('{"host": "h", "pid": "x"}', True, False),
        ("absurd", True, True),
    ],
)
def test_abandoned_runs_are_swept_and_strange_ones_stop_nobody(
    parent: Path, content: str | None, old: bool, stays: bool
) -> None:
    folder = parent / "rendimiento-addons-old"
    folder.mkdir()
    here = platform.node()
    runs = {
        "dead": {"host": here, "pid": dead_pid()},
        "alive": {"host": here, "pid": os.getpid()},
        "dead elsewhere": {"host": f"not-{here}", "pid": dead_pid()},
        "shipped": {"host": here, "pid": 0},
        "absurd": {"host": here, "pid": 10**30},
    }
    if content:
        text = json.dumps(runs[content]) if content in runs else content
        (folder / "owner.json").write_text(text)
    if old:
        two_days_ago = time.time() - 2 * 24 * 3600
        os.utime(folder, (two_days_ago, two_days_ago))
    RunDirectory.create()
    assert folder.exists() is stays


def test_sweeping_does_not_follow_links(parent: Path) -> None:
    target = parent / "precious"
    target.mkdir()
    (target / "file").touch()
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(target, (two_days_ago, two_days_ago))
    (parent / "rendimiento-addons-link").symlink_to(target)
    RunDirectory.create()
    assert (target / "file").exists()


def test_processes() -> None:
    assert process_lives(os.getpid())
    assert process_lives(1)
    assert not process_lives(dead_pid())
