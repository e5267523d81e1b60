"""Where each program is found.

In this order: the folder that KUBEBUILDER_ASSETS names; PATH, for programs that need not match the cluster's version;
the user's cache folder; a build into that folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import builds, go_module, programs
from .programs import Program
from .progress import Progress

SECONDS_FOR_VERSION = 20


def collect(progress: Progress, wanted: Sequence[Program] = programs.ALL) -> dict[str, Path]:
    """The path of each program by its name; builds what is nowhere to be found."""
    found = {program.name: _outside_the_cache(program, progress) for program in wanted}
    folder = cache_folder()
    missing = [program for program in wanted if found[program.name] is None and not (folder / program.name).exists()]
    if missing:
        builds.build(missing, folder, progress)
    return {name: path or folder / name for name, path in found.items()}


def cache_folder() -> Path:
    """Where built programs are kept: one folder for everything that decides what a build yields."""
    digest = hashlib.sha256(programs.LINKER_FLAGS.encode())
    for source in go_module.SOURCES:
        digest.update(source.read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = f"kubernetes-{programs.KUBERNETES}-{sys.platform}-{platform.machine()}-{digest.hexdigest()[:12]}"
    return home / "rendimiento-addons" / "local-cluster" / key


def _outside_the_cache(program: Program, progress: Progress) -> Path | None:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (path := Path(assets).resolve() / program.name).exists():
        return path
    if program.majors_on_path and (on_path := shutil.which(program.name)):
        version = _version(Path(on_path))
        if version is not None and int(version[1]) in program.majors_on_path:
            progress(f"{program.name}: {on_path}, {version[0]}")
            return Path(on_path)
        majors = " or ".join(map(str, program.majors_on_path))
        progress(f"{program.name}: {on_path} is passed over, its `version` does not say {majors}")
    return None


def _version(program: Path) -> re.Match[str] | None:
    try:
        answer = subprocess.run(
            [program, "version"], capture_output=True, text=True, check=True, timeout=SECONDS_FOR_VERSION
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return re.search(r"v(\d+)\.[\w.+-]+", answer)
