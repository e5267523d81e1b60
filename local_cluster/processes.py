"""Starts, recognises and ends the processes of one cluster.

The processes outlive the command that starts them, so everything needed to find them again stands in files:
`NAME.json`, the arguments, written before the start, and `NAME.pid`, written by the new process itself before it
becomes the program. There is thus no moment at which killing us leaves a process without a record.
A process is ours if it runs with exactly the recorded arguments; they name files of this cluster, so a stranger that
got the same number later is never taken for it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import StartError, StopError

LOG_LINES = 15
SECONDS_TO_TERMINATE = 20.0
SECONDS_TO_KILL = 5.0
SECONDS_TO_BECOME = 5.0

# Standard input is the cluster's lock. It is given up only when the shell becomes the program, at which moment the
# record is complete: a `down` that gets the lock sees every process.
RECORD_AND_BECOME = 'cd / && printf %s "$$" > "$0" && exec "$@" < /dev/null'

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# The processes that this one has started: it must take their exit status when they end, and nobody else's.
_children: set[int] = set()


@dataclass(frozen=True)
class Component:
    """A server of the cluster: the program it is, and its command line."""

    name: str
    program: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Processes:
    """The processes whose records lie in one folder."""

    records: Path
    logs: Path

    def start(self, component: Component, program: Path, lock: int) -> None:
        """Starts it detached from us, its output going to its log, and returns once its record is complete.

        `lock` is the descriptor of the cluster's lock, which must be held.
        """
        pid_file = self._pid_file(component.name)
        pid_file.unlink(missing_ok=True)
        self._arguments_file(component.name).write_text(json.dumps(component.arguments))
        # An interrupt before the record is complete would leave a process that the clean-up does not see.
        allowed = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
        try:
            child = os.posix_spawn(
                "/bin/sh",
                ["sh", "-c", RECORD_AND_BECOME, str(pid_file), str(program), *component.arguments],
                self._environment(),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, lock, 0),
                    (os.POSIX_SPAWN_OPEN, 1, self.log(component.name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                    *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inheritable()),
                ],
                # Out of reach of the terminal's Ctrl-C, and with all signals as programs expect them.
                setsid=True,
                setsigmask=[],
                setsigdef=[*INTERRUPTS, signal.SIGPIPE],
            )
            _children.add(child)
            while self._recorded(component.name) != child:
                if _has_ended(child):
                    raise self.failure(component.name, "ended at once")
                time.sleep(0.002)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, allowed)

    def running(self, name: str) -> int | None:
        """The process id if the component runs."""
        pid = self._recorded(name)
        if pid is None or _has_ended(pid):
            return None
        try:
            arguments: list[str] = json.loads(self._arguments_file(name).read_text())
        except (OSError, ValueError):
            return None
        return pid if _runs_with(pid, arguments) else None

    def check(self, names: Sequence[str]) -> None:
        """Raises if one of them does not run."""
        for name in names:
            if self.running(name) is None:
                raise self.failure(name, "has ended")

    def failure(self, name: str, what: str) -> StartError:
        """An error that shows the end of the component's log."""
        try:
            lines = self.log(name).read_text(errors="replace").splitlines()[-LOG_LINES:]
        except OSError:
            lines = []
        return StartError("\n".join([f"{name} {what}; the end of {self.log(name)}:", *(lines or ["(it is empty)"])]))

    def stop(self, names: Sequence[str]) -> list[str]:
        """Ends them together; returns the names of those that ran."""
        running = {name: pid for name in names if (pid := self.running(name)) is not None}
        for number, patience in ((signal.SIGTERM, SECONDS_TO_TERMINATE), (signal.SIGKILL, SECONDS_TO_KILL)):
            for name, pid in running.items():
                if self.running(name) == pid:
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and any(map(self.running, running)):
                time.sleep(0.02)
        for name, pid in running.items():
            if self.running(name) is not None:
                raise StopError(f"{name} (process {pid}) does not end, not even by SIGKILL")
        for name in names:
            self._pid_file(name).unlink(missing_ok=True)
        return list(running)

    def kill(self, name: str) -> None:
        """Ends it as a crash would; returns once nothing holds its port, so that `start` may start it again."""
        pid = self.running(name)
        if pid is None:
            return
        os.kill(pid, signal.SIGKILL)
        while _exists(pid):
            time.sleep(0.002)

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def _environment(self) -> dict[str, str]:
        """Nothing of the caller's: etcd takes options from the environment, kwok from a file in the home folder."""
        return {"PATH": os.defpath, "HOME": str(self.records)}

    def _recorded(self, name: str) -> int | None:
        try:
            return int(self._pid_file(name).read_text())
        except (OSError, ValueError):
            return None

    def _pid_file(self, name: str) -> Path:
        return self.records / f"{name}.pid"

    def _arguments_file(self, name: str) -> Path:
        return self.records / f"{name}.json"


def _inheritable() -> list[int]:
    """Descriptors that we got from our caller. A server that kept them would let the caller wait for their end."""
    found = []
    for entry in Path("/dev/fd").iterdir():
        descriptor = int(entry.name)
        # The one that lists the folder is gone by now.
        with suppress(OSError):
            if descriptor > 2 and os.get_inheritable(descriptor):
                found.append(descriptor)
    return found


def _exists(pid: int) -> bool:
    """Also while it is ending: it has lost its command line by then, and still holds its port."""
    if pid in _children:
        return not _has_ended(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _has_ended(pid: int) -> bool:
    """Whether it is a child of ours that has ended; takes its exit status, so that no zombie stays."""
    if pid in _children and os.waitpid(pid, os.WNOHANG)[0] == pid:
        _children.remove(pid)
        return True
    return False


def _runs_with(pid: int, arguments: list[str]) -> bool:
    """Compares the end of the command line: a program that is a script has its interpreter in front."""
    if Path("/proc/self/cmdline").exists():
        command = _command_line(pid)
        return command[-len(arguments) :] == [os.fsencode(argument) for argument in arguments]
    listing = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listing.stdout.rstrip("\n").endswith(" " + " ".join(arguments))


def _command_line(pid: int) -> list[bytes]:
    """Empty if there is no such process, or only its zombie."""
    deadline = time.monotonic() + SECONDS_TO_BECOME
    while True:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
        except OSError:
            return []
        # It is also empty for the moment in which a process becomes another program.
        if command or state in (b"Z", b"X") or time.monotonic() > deadline:
            return command.split(b"\0")[:-1]
        time.sleep(0.001)
