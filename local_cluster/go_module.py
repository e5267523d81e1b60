"""What the `go.mod` of this folder pins: the versions of all programs, and the Go version they need."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# Everything that decides what a build yields; part of the name of the folder that keeps the programs.
SOURCES = (FOLDER / "go.mod", FOLDER / "go.sum", *sorted((FOLDER / "pki").glob("*.go")))


@cache
def version(module: str) -> str:
    """The pinned version of a module, such as `v1.37.2`."""
    found = re.search(rf"^\t{re.escape(module)} (v\S+)", _text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"go.mod does not name {module}")
    return found[1]


@cache
def go_version() -> tuple[int, int]:
    """The oldest Go that builds this."""
    found = re.search(r"^go (\d+)\.(\d+)", _text(), re.MULTILINE)
    if found is None:
        raise ValueError("go.mod does not name a Go version")
    return int(found[1]), int(found[2])


@cache
def _text() -> str:
    return (FOLDER / "go.mod").read_text()
