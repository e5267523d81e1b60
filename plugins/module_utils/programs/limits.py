"""Starts a program within bounds: how long it may take, how much memory it may use, how much it may write.

What it writes goes to files, so that it is measured before any of it is in memory. Where the system has no limits for
a process that runs (all but Linux), only time and what is read are bounded.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MIB = 1024 * 1024
LARGEST_FILE = 512 * MIB

_ERRORS_READ = 64 * 1024
"""Of standard error: it is looked through with regular expressions, and nobody reads more."""


class NotStartedError(Exception):
    """The system can't start the program; the text says why."""


class TooMuchError(Exception):
    """The program wrote more than is read of it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``memory`` and ``largest_file`` are in bytes; ``None``: not bounded."""

    seconds: int
    memory: int | None = None
    largest_file: int | None = LARGEST_FILE


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that ended by itself: its exit code, and what it wrote."""

    code: int
    output: IO[bytes]
    errors: str

    def read(self, most: int) -> bytes:
        """:raises TooMuchError: the output is larger than that; none of it was read."""
        if os.fstat(self.output.fileno()).st_size > most:
            raise TooMuchError
        return self.output.read()


@contextmanager
def ended(
    command: Sequence[str],
    limits: Limits,
    *,
    environment: Mapping[str, str],
    folder: Path | None = None,
    given: IO[bytes] | None = None,
    leaves_others: bool = False,
) -> Iterator[Ended]:
    """Run a program to its end.

    :param given: its standard input. :param leaves_others: what it started may outlive it.
    :raises NotStartedError: it can't be started. :raises subprocess.TimeoutExpired: it was killed for its time.
    """
    # Not pipes: what it leaves running would hold them open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=given or subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                # A group of its own, to end all of it; and no terminal to ask for a password on.
                start_new_session=True,
            )
        except OSError as error:
            raise NotStartedError(error.strerror) from error
        try:
            _limit(process.pid, limits)
            process.wait(limits.seconds)
        finally:
            if process.poll() is None or not leaves_others:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        errors.seek(0)
        yield Ended(process.returncode, output, errors.read(_ERRORS_READ).decode("utf-8", "replace"))


def _limit(process: int, limits: Limits) -> None:
    if sys.platform == "linux":
        for kind, most in (
            # Also for a program whose parent was killed, and that nobody ends any more.
            (resource.RLIMIT_CPU, 2 * limits.seconds),
            (resource.RLIMIT_AS, limits.memory),
            (resource.RLIMIT_FSIZE, limits.largest_file),
        ):
            if most is not None:
                # It may have ended, or may be another user's by now (setuid).
                with contextlib.suppress(OSError):
                    former = resource.prlimit(process, kind)
                    bound = min([most, *(one for one in former if one != resource.RLIM_INFINITY)])
                    resource.prlimit(process, kind, (bound, bound))
