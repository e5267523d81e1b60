"""Runs one of the official programs (helm, kustomize): found once, bounded in time, ended with all its children."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import AddonError, RenderError


class ProgramError(AddonError):
    """The program ended with an error. What it wrote to standard error and to standard output may quote values."""

    def __init__(self, message: str, output: str, text: str) -> None:
        super().__init__(message)
        self.output = output
        self.text = text


@dataclass(frozen=True, slots=True)
class Output:
    """What a program that ended well wrote to standard output and to standard error."""

    text: str
    errors: str


@dataclass(frozen=True, slots=True)
class Program:
    """An installed program.

    :param seconds: how long one call may take.
    :param started: is told ``helm template`` and the like before each call.
    """

    name: str
    path: Path
    seconds: int
    started: Callable[[str], None]

    @classmethod
    def find(cls, name: str, wanted: str, seconds: int, started: Callable[[str], None]) -> Program:
        """:param wanted: what the user gave: a path, a name to look for in ``PATH``, or nothing for the usual name.

        :raises RenderError: when it is not there.
        """
        found = shutil.which(str(Path(wanted).expanduser()) if wanted else name)
        if found is None:
            raise RenderError(
                f"{wanted or name} is not installed on this host",
                hint=f"install {name}, or give the path of the program as addon_{name}",
            )
        return cls(name, Path(found).resolve(), seconds, started)

    def identity(self) -> str:
        """Names this very build of the program without starting it: another one has another size or time."""
        facts = self.path.stat()
        return hashlib.sha256(f"{self.path} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()

    def run(self, *arguments: str, environment: Mapping[str, str], folder: Path, seconds: int = 0) -> Output:
        """Run it to its end with exactly this environment, in this folder, without input.

        :param seconds: another limit than the program's own.
        :raises ProgramError: it ended with an error. :raises RenderError: it did not end in time, or does not run.
        """
        self.started(f"{self.name} {arguments[0]}")
        limit = seconds or self.seconds
        try:
            process = subprocess.Popen(
                [str(self.path), *arguments],
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # A group of its own, so that what it started ends with it.
                start_new_session=True,
            )
        except OSError as error:
            raise RenderError(f"{self.path} can't be started: {error.strerror}") from error
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise RenderError(
                f"{self.name} {arguments[0]} did not end within {limit} s", hint="see addon_program_seconds"
            ) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        text, said = output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")
        if process.returncode != 0:
            raise ProgramError(f"{self.name} {arguments[0]} ended with {process.returncode}", said, text)
        return Output(text, said)
