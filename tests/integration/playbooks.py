"""Running the collection's playbooks as a user does, and what is left to see afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

_FOREIGN = ("ANSIBLE_", "GIT_", "K8S_AUTH_", "KUBECONFIG", "PYTHONPATH", "XDG_RUNTIME_DIR")
_RECAP = re.compile(r"^(\S+)\s+: (ok=\d+.*)$", re.MULTILINE)


@dataclass
class PlaybookResult:
    """``summary`` is the file of ``addon_summary_file``, empty when the run did not get that far."""

    returncode: int
    output: str
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def stats(self) -> dict[str, int]:
        """Ansible's recap of localhost: ok, changed, failed and the others."""
        recap = dict(_RECAP.findall(self.output))
        assert "localhost" in recap, f"no recap in\n{self.output}"
        return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", recap["localhost"])}

    @property
    def changed(self) -> int:
        return self.stats["changed"]

    @property
    def addons(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.summary.get("addons", {})
        return found

    @property
    def phases(self) -> dict[str, str]:
        """Phase of every add-on in the run."""
        return {name: facts["phase"] for name, facts in self.addons.items()}

    def counts(self, addon: str) -> dict[str, int]:
        """The columns of an add-on in the summary that are not zero."""
        columns = ("created", "updated", "adopted", "unchanged", "pruned", "kept", "unknown")
        return {column: self.addons[addon][column] for column in columns if self.addons[addon][column]}

    def why(self, addon: str) -> str:
        return str(self.addons[addon]["why"])

    def succeeded(self) -> PlaybookResult:
        assert self.returncode == 0, self.output
        return self

    def failed(self) -> PlaybookResult:
        """It ended as a failed play does: not for a wrong command line, and not by a crash."""
        assert self.returncode == 2, f"exit code {self.returncode}\n{self.output}"
        return self

    @property
    def error(self) -> str:
        """The message of the last failed task that was not rescued or ignored, as the user reads it."""
        messages = re.findall(r"^\[ERROR\]: Task failed: (.*(?:\n(?!Origin|\n|TASK).+)*)", self.output, re.MULTILINE)
        return str(messages[-1]) if messages else ""


class Playbooks:
    """:param scratch: folder for what a run leaves; its run directories and temporary files are made there, too."""

    directory = ROOT
    seconds_at_most = 180

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self._runtime = scratch / "runtime"
        self._temporary = scratch / "temporary"
        self._outputs = scratch / "outputs"
        self._numbers = count()
        for folder in (self._runtime, self._temporary, self._outputs):
            folder.mkdir(mode=0o700, parents=True)

    def left_behind(self) -> list[str]:
        """What the runs should have removed: run directories, and temporary files of the collection."""
        return [str(path) for folder in (self._runtime, self._temporary) for path in folder.glob("rendimiento*/**/*")]

    def run(
        self,
        name: str,
        options: Mapping[str, Any],
        *,
        check: bool = False,
        diff: bool = False,
        verbosity: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> PlaybookResult:
        """Run a playbook of the collection to its end; no run may ever show a traceback."""
        summary = self.scratch / "summary.json"
        summary.unlink(missing_ok=True)
        options = {**options, "addon_summary_file": str(summary)}
        command = self.command(name, options)
        command += ["--check"] * check + ["--diff"] * diff + [f"-{'v' * verbosity}"] * bool(verbosity)
        result = subprocess.run(
            command,
            cwd=self.directory,
            env=self.environment(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=self.seconds_at_most,
        )
        self.keep(result.stdout, options)
        assert "Traceback" not in result.stdout, result.stdout
        content = json.loads(summary.read_text()) if summary.exists() else {}
        return PlaybookResult(result.returncode, result.stdout, content)

    def start(self, name: str, options: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """Start a playbook in a process group of its own, to be killed."""
        with self._output().open("wb") as output:
            return subprocess.Popen(
                self.command(name, options),
                cwd=self.directory,
                env=self.environment({}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def keep(self, output: str, options: Mapping[str, Any]) -> None:
        """Keep what a run said and wrote, which the next one overwrites: searched for secrets after all tests."""
        kept = self._output()
        kept.write_text(output)
        for name, value in options.items():
            if name.endswith("_file") and Path(value).is_file():
                shutil.copyfile(value, kept.with_name(f"{kept.stem}-{name}"))

    def _output(self) -> Path:
        return self._outputs / f"{next(self._numbers)}.txt"

    def command(self, name: str, options: Mapping[str, Any]) -> list[str]:
        program = Path(sys.executable).with_name("ansible-playbook")
        # Not on the command line, which Ansible shows: so every secret that it does show is one too many.
        variables = self._temporary / f"variables-{next(self._numbers)}.json"
        variables.write_text(json.dumps(options))
        return [str(program), f"rendimiento.addons.{name}", "--extra-vars", f"@{variables}"]

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """This process's environment without the user's own set-up of Ansible, git and Kubernetes."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        return {
            **own,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "true",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(self._temporary),
            "XDG_CACHE_HOME": str(self.scratch / "cache"),
            "XDG_RUNTIME_DIR": str(self._runtime),
            **more,
        }
