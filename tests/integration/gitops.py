"""A gitops repository of one test: add-ons are written down as objects and committed as YAML files."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.integration.secrecy import SECRET_VALUES

Object = dict[str, Any]

_ISOLATED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
_IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main")


class Repository:
    """:param folder: where the definition files are (``addon_path``); a folder per test, as all share one cluster."""

    def __init__(self, path: Path, folder: str = "addons") -> None:
        self.path = path
        self.folder = folder
        self.path.mkdir(parents=True)
        self.git("init", "--quiet")
        (self.path / folder).mkdir(parents=True)

    def git(self, *arguments: str) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        result = subprocess.run(
            ["git", *_IDENTITY, "-C", str(self.path), *arguments],
            env=environment | _ISOLATED,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"git {' '.join(arguments)}: {result.stderr}"
        return result.stdout.strip()

    def write(self, path: str, content: str | Sequence[Object]) -> None:
        """Write a file: text as it is, objects as YAML documents."""
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump_all(content, sort_keys=False)
        file.write_text(text)
        if "Secret" in text:
            self._keep(text)

    def remove(self, path: str) -> None:
        """Remove a file or a folder."""
        target = self.path / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()

    def addon(self, name: str, *objects: Object, **fields: Any) -> None:
        """Write down all of an add-on: its definition file and, in a folder of its name, these objects and no others.

        Fields are those of a definition file; ``namespace`` is the add-on's name, and pruning is on, unless they say
        otherwise.
        """
        self.define(name, **fields)
        self.write(f"{name}/objects.yaml", objects)

    def define(self, name: str, **fields: Any) -> None:
        """Write the definition file alone; a field given as ``None`` is left out."""
        definition = {"name": name, "namespace": name, "git": {"path": name}, "prune": True, **fields}
        present = {field: value for field, value in definition.items() if value is not None}
        self.write(self.file_of(name), [present])

    def file_of(self, name: str) -> str:
        return f"{self.folder}/{name}.yaml"

    def commit(self, message: str = "change") -> str:
        """Commit everything and return the commit's id."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def _keep(self, text: str) -> None:
        """Keep what a file contained, for the search for secret values: a later one may take its place."""
        kept = self.path.with_name(SECRET_VALUES)
        kept.mkdir(exist_ok=True)
        with (kept / f"{self.path.name}.yaml").open("a") as file:
            file.write(f"\n---\n{text}\n")

    def fingerprint(self) -> dict[str, str]:
        """Every file of the checkout, ``.git`` included, with its time and content: equal means untouched."""
        files = [file for file in sorted(self.path.rglob("*")) if file.is_file()]
        digests = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
        return {str(file.relative_to(self.path)): f"{file.stat().st_mtime_ns} {digests[file]}" for file in files}
