"""Which marks of processes are called gone, with processes that really live and end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_directory import RunDirectory
from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_process import is_gone, mark_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a mark needs")

BOOT, PROCESSES, USER, PID, STARTED, FOLDER = range(6)


def started() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def test_a_process_that_lives_is_not_gone(tmp_path: Path) -> None:
    assert not is_gone(mark_of(os.getpid(), tmp_path))


@pytest.mark.parametrize("asked_for_its_end", [True, False])
def test_a_process_that_ended_is_gone(tmp_path: Path, asked_for_its_end: bool) -> None:
    process = started()
    mark = mark_of(process.pid, tmp_path)
    if asked_for_its_end:
        ended(process)
    else:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert is_gone(mark)
    finally:
        process.wait()


def test_it_is_not_gone_while_a_step_outlives_it(tmp_path: Path) -> None:
    process = started()
    mark = mark_of(process.pid, tmp_path)
    ended(process)

    with RunDirectory(tmp_path).in_use():
        assert not is_gone(mark)
    assert is_gone(mark)


def test_its_run_directory_may_be_gone_as_well(tmp_path: Path) -> None:
    process = started()
    mark = mark_of(process.pid, tmp_path / "removed")
    ended(process)

    assert is_gone(mark)


Change = Callable[[list[object]], object]


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        (lambda mark: mark.__setitem__(STARTED, "1"), True),
        (lambda mark: mark.__setitem__(BOOT, "another boot, or another machine"), False),
        (lambda mark: mark.__setitem__(PROCESSES, "another container"), False),
        (lambda mark: mark.__setitem__(USER, -1), False),
        (lambda mark: mark.__setitem__(PID, "1"), False),
        (lambda mark: mark.pop(), False),
    ],
)
def test_a_mark_from_elsewhere_is_never_gone(tmp_path: Path, change: Change, gone: bool) -> None:
    """Only an id that is used again, by a process that was started later, proves that the first one ended."""
    mark = json.loads(mark_of(os.getpid(), tmp_path))
    change(mark)

    assert is_gone(json.dumps(mark)) is gone


@pytest.mark.parametrize("text", ["", "no mark", "{}", "[]", "null", "7"])
def test_another_text_is_no_mark(text: str) -> None:
    assert not is_gone(text)


@pytest.mark.parametrize("pid", [0, -1, 2**31 - 1])
def test_no_process_has_no_mark(tmp_path: Path, pid: int) -> None:
    assert mark_of(pid, tmp_path) == ""
