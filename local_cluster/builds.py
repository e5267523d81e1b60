"""Builds programs from this folder's Go module, one after another, telling how it goes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from . import go_module, go_toolchain, programs
from .errors import BuildError
from .locks import exclusive
from .programs import Program
from .progress import SECONDS_BETWEEN_LINES, Progress

GIGABYTE = 10**9
LOG_LINES = 20


def build(wanted: Sequence[Program], folder: Path, progress: Progress) -> None:
    """Puts the programs into the folder, each at once and complete; safe against others who do the same."""
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder / "lock", lambda: progress("waiting for another build of the same programs")):
        for leftover in folder.glob("*.unfinished"):
            leftover.unlink()
        missing = [program for program in wanted if not (folder / program.name).exists()]
        if not missing:
            return
        go = go_toolchain.find(progress)
        gigabytes = sum(program.gigabytes for program in missing)
        minutes = sum(program.seconds for program in missing) / 60
        progress(
            f"building {len(missing)} programs, once: about {max(minutes, 1):.0f} min on two cores with cold caches, "
            f"{max(gigabytes, 1):.0f} GB of disk (Go's caches, most of it, may be deleted afterwards)"
        )
        _require_disk(gigabytes, [folder, *_go_caches(go)])
        for number, program in enumerate(missing, start=1):
            _build_one(go, program, folder, f"{number}/{len(missing)} {program.name}", progress)


def _build_one(go: Path, program: Program, folder: Path, label: str, progress: Progress) -> None:
    progress(f"{label}: building")
    started = time.monotonic()
    unfinished = folder / f"{program.name}.unfinished"
    log = folder / f"{program.name}.log"
    command = [
        str(go),
        "build",
        "-trimpath",
        f"-ldflags={programs.LINKER_FLAGS}",
        "-o",
        str(unfinished),
        program.package,
    ]
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=go_module.FOLDER,
            env=go_toolchain.environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # A group of its own, so that an interrupt ends the compilers that go has started, too.
            start_new_session=True,
        )
        try:
            while True:
                try:
                    status = process.wait(SECONDS_BETWEEN_LINES)
                    break
                except subprocess.TimeoutExpired:
                    progress(f"{label}: still building, {time.monotonic() - started:.0f} s")
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if status != 0:
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        raise BuildError("\n".join([f"{program.name} could not be built; the end of {log}:", *lines]))
    unfinished.rename(folder / program.name)
    progress(f"{label}: built in {time.monotonic() - started:.0f} s")


def _go_caches(go: Path) -> list[Path]:
    names = ["GOCACHE", "GOMODCACHE"]
    outcome = subprocess.run(
        [go, "env", "-json", *names], capture_output=True, text=True, check=False, env=go_toolchain.environment()
    )
    if outcome.returncode != 0:
        raise BuildError(f"{go} env: {outcome.stderr.strip()}")
    answer = json.loads(outcome.stdout)
    return [Path(answer[name]) for name in names]


def _require_disk(gigabytes: float, folders: Sequence[Path]) -> None:
    """Before, not after minutes of work."""
    for folder in folders:
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(existing).free / GIGABYTE
        if free < gigabytes:
            raise BuildError(
                f"{folder} has {free:.1f} GB of disk free; building takes up to {gigabytes:.1f} GB. "
                "Make room, or let GOCACHE, GOMODCACHE and XDG_CACHE_HOME name folders with room."
            )
