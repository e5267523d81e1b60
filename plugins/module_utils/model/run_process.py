"""Which process a run is, in a form in which another run on the same machine can tell that it is gone.

A process id alone proves nothing: ids are used again, and mean something else on another machine, after a boot and in
another container. Where the system does not tell all of that (Linux does, in ``/proc``), nothing is ever called gone.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from .run_directory import is_in_use, process_lives

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROCESSES = Path("/proc/self/ns/pid")
_STATE, _STARTED = 0, 19
"""Places in ``/proc/<pid>/stat``, counted from behind the name (proc(5), fields 3 and 22)."""


def mark_of(pid: int, run_directory: Path) -> str:
    """The mark of a process and of the folder that its steps work with; empty where none can be made."""
    system, state = _system(), _state_of(pid)
    if pid <= 0 or not system or not state:
        return ""
    return json.dumps([*system, os.getuid(), pid, state[_STARTED], str(run_directory)], separators=(",", ":"))


def is_gone(mark: str) -> bool:
    """Whether the process of a mark has ended, and every step that outlived it, too; never for a mark from elsewhere.

    :param mark: of ``mark_of``, or any other text.
    """
    try:
        boot, processes, user, pid, started, folder = json.loads(mark)
        if [boot, processes] != _system() or user != os.getuid() or not isinstance(pid, int):
            return False
        return not _lives(pid, started) and not is_in_use(Path(folder))
    except (ValueError, TypeError):
        return False


def _system() -> list[str]:
    """This boot of this machine, and the container; empty where that can't be told."""
    try:
        return [_BOOT.read_text().strip(), str(_PROCESSES.readlink())]
    except OSError:
        return []


def _lives(pid: int, started: str) -> bool:
    state = _state_of(pid)
    if not state:
        return process_lives(pid)
    # A zombie has ended, and is only not yet asked how.
    return state[_STARTED] == started and state[_STATE] not in ("Z", "X")


def _state_of(pid: int) -> list[str]:
    """What the system tells of a process; nothing of one that does not exist, or may not be looked at."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return state if len(state) > _STARTED else []
