"""helm and kustomize as a run of a test calls them: the real programs, with a note of each call and what was rendered.

Charts make up passwords anew in each render. Most of them reach no cluster, and still nobody may see them.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.integration.secrecy import SECRET_VALUES

_SCRIPT = """#!/bin/sh
echo "{name} $1" >> {log}
case $1 in template | build) ;; *) exec {program} "$@" ;; esac
{program} "$@" > {printed}-$$.yaml
ended=$?
{cat} {printed}-$$.yaml
exit $ended
"""

NAMES = ("helm", "kustomize")


class LoggedPrograms:
    """:param folder: gets a small script for each program, and the log."""

    def __init__(self, folder: Path, programs: Mapping[str, Path]) -> None:
        # By its path, since a kustomization is built with an empty PATH.
        cat = shutil.which("cat")
        values = folder / SECRET_VALUES
        values.mkdir(parents=True)
        self._log = folder / "calls"
        self._log.touch()
        self.paths = {name: folder / name for name in NAMES}
        for name, path in self.paths.items():
            log, program = shlex.quote(str(self._log)), shlex.quote(str(programs[name]))
            printed = shlex.quote(str(values / name))
            # One short write per call, so that two runs at once can share the log.
            path.write_text(_SCRIPT.format(name=name, log=log, program=program, printed=printed, cat=cat))
            path.chmod(0o755)

    def calls(self) -> list[str]:
        """``helm template`` and the like, since the last time that this was asked."""
        calls = self._log.read_text().splitlines()
        self._log.write_text("")
        # A script is asked for its version by every run, since what it starts may be another one each time.
        return [call for call in calls if not call.endswith(" version")]
