"""Runs one of the official programs (helm, kustomize): found once, bounded, ended with all its children."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..cache.folder import CacheFolder
from ..model.errors import AddonError, RenderError
from .limits import MIB, Limits, NotStartedError, TooMuchError, ended

_VERSION = re.compile(r"v\d+\.\d+\S*")
_NATIVE = frozenset(
    bytes.fromhex(magic) for magic in ("7f454c46", "feedface", "feedfacf", "cefaedfe", "cffaedfe", "cafebabe")
)
"""How ELF and Mach-O files begin."""

_MEMORY = 4096 * MIB
_OUTPUT = 128 * MIB


class ProgramError(AddonError):
    """The program ended with an error. What it wrote to standard output and to standard error may quote values."""

    def __init__(self, message: str, text: str, errors: str) -> None:
        super().__init__(message)
        self.text = text
        self.errors = errors


class TimeLimitError(RenderError):
    """The program did not end in time."""


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
        found = None
        # There may be no such user.
        with contextlib.suppress(RuntimeError):
            found = shutil.which(str(Path(wanted).expanduser()) if wanted.startswith("~") else wanted or name)
        if found is None:
            raise RenderError(
                f"{wanted or name} is not installed on this host",
                hint=f"install {name}, or give the path of the program as addon_{name}",
            )
        # Links stay: what is behind one (snap, mise, busybox) may go by the name that it is called by.
        return cls(name, Path(found).absolute(), seconds, started)

    def identity(self) -> str:
        """Names this very build of the program without starting it: another one has another place, size or time."""
        file = self.path.resolve()
        facts = file.stat()
        return hashlib.sha256(f"{self.name} {file} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()

    def version(self, cache: CacheFolder, *arguments: str, environment: Mapping[str, str], folder: Path) -> str:
        """Such as ``v4.3.1``, which these arguments make it tell; a native binary is asked once.

        :raises RenderError: it tells none.
        """
        key = self.identity() if self._changes_with_its_file() else ""
        if key and (known := cache.read("programs", key)):
            return known.decode()
        try:
            found = _VERSION.search(self.run(*arguments, environment=environment, folder=folder).text)
        except ProgramError:
            found = None
        if found is None:
            raise RenderError(
                f"{self.path} does not tell its version",
                hint=f"give the path of {self.name} itself as addon_{self.name}",
            )
        if key:
            cache.write("programs", key, found[0].encode())
        return found[0]

    def run(self, *arguments: str, environment: Mapping[str, str], folder: Path) -> Output:
        """Run it to its end with exactly this environment, in this folder, without input.

        :raises ProgramError: it ended with an error. :raises TimeLimitError: it did not end in time.
        :raises RenderError: it does not run, or writes what is no text or too much.
        """
        call = f"{self.name} {arguments[0]}"
        self.started(call)
        limits = Limits(self.seconds, memory=_MEMORY)
        try:
            with ended([str(self.path), *arguments], limits, environment=environment, folder=folder) as process:
                output = process.read(_OUTPUT)
        except NotStartedError as error:
            raise RenderError(f"{self.path} can't be started: {error}") from error
        except subprocess.TimeoutExpired:
            raise TimeLimitError(
                f"{call} did not end within {self.seconds} s", hint="see addon_program_seconds"
            ) from None
        except TooMuchError:
            raise RenderError(
                f"{call} writes more than {_OUTPUT // MIB} MiB", hint="look for what repeats itself in the source"
            ) from None
        if process.code == -signal.SIGKILL:
            raise RenderError(
                f"{call} was ended by the system",
                hint="it ran out of memory, or used too much processor time (see addon_program_seconds)",
            )
        if process.code != 0:
            raise ProgramError(f"{call} ended with {process.code}", output.decode("utf-8", "replace"), process.errors)
        try:
            return Output(output.decode(), process.errors)
        except UnicodeDecodeError:
            raise RenderError(f"{call} writes what is no UTF-8 text", hint="save the source's files as UTF-8") from None

    def _changes_with_its_file(self) -> bool:
        """Not so a script or a link to another program, which start what is set up elsewhere (asdf, mise, snap)."""
        file = self.path.resolve()
        try:
            with file.open("rb") as content:
                return content.read(4) in _NATIVE and self.name in file.name
        except OSError:
            return False
