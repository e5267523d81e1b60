"""helm and kustomize as a run of a test calls them: the real programs, with a note of each call."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

NAMES = ("helm", "kustomize")


class LoggedPrograms:
    """:param folder: gets a small script for each program, and the log."""

    def __init__(self, folder: Path, programs: Mapping[str, Path]) -> None:
        folder.mkdir()
        self._log = folder / "calls"
        self._log.touch()
        self.paths = {name: folder / name for name in NAMES}
        for name, path in self.paths.items():
            log, program = shlex.quote(str(self._log)), shlex.quote(str(programs[name]))
            # One short write per call, so that two runs at once can share the log.
            path.write_text(f'#!/bin/sh\necho "{name} $1" >> {log}\nexec {program} "$@"\n')
            path.chmod(0o755)

    def calls(self) -> list[str]:
        """``helm template`` and the like, since the last time that this was asked."""
        calls = self._log.read_text().splitlines()
        self._log.write_text("")
        # A script is asked for its version by every run, since what it starts may be another one each time.
        return [call for call in calls if not call.endswith(" version")]
