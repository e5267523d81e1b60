"""Programs made up here: how they are found, told apart, asked for their version, and ended."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import RenderError
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.program import (
    Output,
    Program,
    ProgramError,
    TimeLimitError,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs")


def quiet(call: str) -> None:
    """A call that nobody looks at."""


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def run(path: Path, *arguments: str, seconds: int = 20, **environment: str) -> Output:
    program = Program("helm", path, seconds, quiet)
    return program.run(*(arguments or ("template",)), environment=environment, folder=path.parent)


# -- where it is -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("", "bin/helm"),
        ("helm-4", "bin/helm-4"),
        ("here/helm", "here/helm"),
        ("./helm-4", "helm-4"),
        ("{tmp}/here/helm", "here/helm"),
        ("~/here/helm", "here/helm"),
        ("{tmp}/link", "link"),
        ("here/../here/helm", "here/../here/helm"),
    ],
)
def test_a_program_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, found: str) -> None:
    for place in ("bin/helm", "bin/helm-4", "here/helm", "helm-4"):
        script(tmp_path / place, "")
    # What such a link leads to goes by the name that it is called by.
    (tmp_path / "link").symlink_to("here/helm")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    program = Program.find("helm", wanted.format(tmp=tmp_path), 5, quiet)
    assert (str(program.path), program.name) == (f"{tmp_path}/{found}", "helm")


@pytest.mark.parametrize("wanted", ["", "no-such-helm", "/nowhere/helm", "~nobody-of-this-name/helm"])
def test_a_program_that_is_not_there(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RenderError) as caught:
        Program.find("helm", wanted, 5, quiet)
    assert str(caught.value) == (
        f"{wanted or 'helm'} is not installed on this host. "
        "Install helm, or give the path of the program as addon_helm."
    )


def test_a_link_is_called_by_its_own_name(tmp_path: Path) -> None:
    script(tmp_path / "shims", 'echo "$0"')
    (tmp_path / "helm").symlink_to("shims")
    program = Program.find("helm", str(tmp_path / "helm"), 5, quiet)
    assert program.run("version", environment={}, folder=tmp_path).text == f"{tmp_path}/helm\n"


# -- which one it is ---------------------------------------------------------------------------------------------------


def test_another_build_is_told_apart(tmp_path: Path) -> None:
    path = script(tmp_path / "helm-1", "echo v1.0.0")
    os.utime(path, (1, 1))
    other = script(tmp_path / "helm-2", "echo v2.0.0")
    os.utime(other, (1, 1))
    link = tmp_path / "helm"
    link.symlink_to(path)
    seen = [Program(name, link, 5, quiet).identity() for name in ("helm", "kustomize", "helm")]
    assert seen[0] == seen[2] != seen[1]
    link.unlink()
    link.symlink_to(other)
    seen.append(Program("helm", link, 5, quiet).identity())
    os.utime(other, (2, 2))
    seen.append(Program("helm", link, 5, quiet).identity())
    assert len(set(seen)) == len(seen) - 1


def versions(program: Path, cache: CacheFolder, name: str = "helm") -> tuple[str, int]:
    """The version that is told twice, and how often the program was started for it."""
    started: list[str] = []
    found = [
        Program(name, program, 20, started.append).version(
            cache, "version", environment={"PATH": os.environ["PATH"]}, folder=Path("/")
        )
        for _ in range(2)
    ]
    assert len(set(found)) == 1
    return found[0], len(started)


def test_a_native_binary_is_asked_once(tmp_path: Path, programs: Mapping[str, Path]) -> None:
    cache = CacheFolder.open(str(tmp_path / "cache"))
    for name in ("kustomize", "kustomize-5"):
        shutil.copy(programs["kustomize"], tmp_path / name)
    (tmp_path / "link").symlink_to("kustomize-5")
    assert versions(tmp_path / "kustomize", cache, "kustomize") == ("v5.8.1", 1)
    assert versions(tmp_path / "kustomize", cache, "kustomize") == ("v5.8.1", 0)
    assert versions(tmp_path / "link", cache, "kustomize") == ("v5.8.1", 1)


def test_what_starts_another_program_is_asked_each_time(tmp_path: Path, programs: Mapping[str, Path]) -> None:
    """Neither the shim nor its link changes when the version does that is set up elsewhere."""
    cache = CacheFolder.open(str(tmp_path / "cache"))
    shim = script(tmp_path / "helm", f"cat {tmp_path}/set-up")
    for version in ("v1.0.0", "v2.0.0-rc.1"):
        (tmp_path / "set-up").write_text(f"helm {version}\n")
        assert versions(shim, cache) == (version, 2)
    shutil.copy(programs["kustomize"], tmp_path / "mise")
    (tmp_path / "kustomize").symlink_to("mise")
    assert versions(tmp_path / "kustomize", cache, "kustomize") == ("v5.8.1", 2)
    assert not (cache.path / "programs").exists()


@pytest.mark.parametrize("text", ["echo hello", "echo v1.2.3; exit 1"])
def test_a_program_that_tells_no_version(tmp_path: Path, text: str) -> None:
    cache = CacheFolder.open(str(tmp_path / "cache"))
    with pytest.raises(RenderError) as caught:
        versions(script(tmp_path / "helm", text), cache)
    assert str(caught.value) == (
        f"{tmp_path}/helm does not tell its version. Give the path of helm itself as addon_helm."
    )  # fmt: skip


# -- a call ------------------------------------------------------------------------------------------------------------


def test_a_call_gets_exactly_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN", "x")
    path = script(tmp_path / "helm", 'cat; echo "$1 $2 $GIVEN ${OWN-unset}"; pwd; echo said >&2; printf "\\377" >&2')
    started: list[str] = []
    program = Program("helm", path, 5, started.append)
    output = program.run("template", "a b", environment={"GIVEN": "é"}, folder=tmp_path)
    assert output == Output(f"template a b é unset\n{tmp_path}\n", "said\n\ufffd")
    assert started == ["helm template"]


def test_a_call_that_fails(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"^helm template ended with 3$") as caught:
        run(script(tmp_path / "helm", 'echo out; printf "\\377" ; echo err >&2; exit 3'))
    assert (caught.value.text, caught.value.errors) == ("out\n\ufffd", "err\n")


def test_output_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match=r"^helm template writes what is no UTF-8 text\. Save the source's files as"):
        run(script(tmp_path / "helm", 'printf "a: caf\\351"'))


def test_a_program_that_can_not_be_started(tmp_path: Path) -> None:
    path = script(tmp_path / "helm", "")
    path.write_text("no program")
    with pytest.raises(RenderError, match=rf"^{path} can't be started: Exec format error$"):
        run(path)


@pytest.mark.parametrize(
    "text",
    [
        "sleep 60 & echo $! > child; wait",
        "trap '' TERM; sleep 60 & echo $! > child; wait",
    ],
    ids=["waits", "does not listen"],
)
def test_the_time_limit_ends_all_that_was_started(tmp_path: Path, text: str) -> None:
    path, begin = script(tmp_path / "helm", text), time.monotonic()
    with pytest.raises(TimeLimitError, match=r"^helm template did not end within 1 s\. See addon_program_seconds\.$"):
        run(path, seconds=1, PATH=os.environ["PATH"])
    assert time.monotonic() - begin < 10
    assert ends((tmp_path / "child").read_text(), seconds=10)


def ends(process: str, seconds: int) -> bool:
    """Whether a process, which may be another one's child, ends in that time."""
    facts, begin = Path("/proc", process.strip(), "stat"), time.monotonic()
    while time.monotonic() - begin < seconds:
        try:
            if facts.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    path, begin = script(tmp_path / "helm", "sleep 60 & echo $! > child; echo done"), time.monotonic()
    assert run(path, PATH=os.environ["PATH"]).text == "done\n"
    assert time.monotonic() - begin < 10, "it holds the output open, and is waited for"
    assert ends((tmp_path / "child").read_text(), seconds=10)


@linux
def test_the_system_holds_the_limits(tmp_path: Path) -> None:
    """Of processor time in seconds, of memory in KiB, of a file in blocks of 512 bytes."""
    path = script(tmp_path / "helm", "sleep 0.5; for which in t v f; do ulimit -S$which; ulimit -H$which; done")
    output = run(path, seconds=30, PATH=os.environ["PATH"]).text.split()
    assert output == ["60", "60", str(4 << 20), str(4 << 20), str(1 << 20), str(1 << 20)]


@linux
def test_a_stricter_limit_of_the_user_stays(tmp_path: Path) -> None:
    path = script(tmp_path / "helm", "sleep 0.5; ulimit -Sv; ulimit -Hf")
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, former[1]))
    try:
        assert run(path, PATH=os.environ["PATH"]).text.split() == [str(4 << 20), "2048"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)


@linux
def test_a_program_whose_run_was_killed_ends_by_itself(tmp_path: Path) -> None:
    path = script(tmp_path / "helm", "echo $$ > child.new; mv child.new child; while :; do :; done")
    code = (
        "import sys; from pathlib import Path\n"
        "from ansible_collections.rendimiento.addons.plugins.module_utils.programs.program import Program\n"
        "path = Path(sys.argv[1])\n"
        "Program('helm', path, 1, print).run('x', environment={'PATH': sys.argv[2]}, folder=path.parent)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3] / "collections")}
    runs = subprocess.Popen([sys.executable, "-c", code, str(path), os.environ["PATH"]], env=environment)
    while not (tmp_path / "child").exists():
        time.sleep(0.01)
    # Its limits are set right after its start.
    time.sleep(0.2)
    runs.kill()
    runs.wait()
    assert ends((tmp_path / "child").read_text(), seconds=20)


@linux
def test_a_program_that_computes_without_end(tmp_path: Path) -> None:
    """More than one processor at work is more than its time; so is what the system ends for want of memory."""
    path = script(tmp_path / "helm", "ulimit -t 1; while :; do :; done")
    with pytest.raises(
        RenderError, match=r"^helm template was ended by the system\. It ran out of memory, or used too"
    ):
        run(path)


@pytest.mark.parametrize("ending", ["", "; exit 1"])
def test_a_program_that_writes_too_much(tmp_path: Path, ending: str) -> None:
    path = script(tmp_path / "helm", f"head -c {128 * 1024 * 1024 + 1} /dev/zero{ending}")
    with pytest.raises(RenderError, match=r"^helm template writes more than 128 MiB\. Look for what repeats itself in"):
        run(path, PATH=os.environ["PATH"])


@linux
def test_a_program_that_writes_without_end(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match=r"^helm template writes more than 128 MiB"):
        run(script(tmp_path / "helm", "exec cat /dev/zero"), PATH=os.environ["PATH"])


def test_of_errors_only_the_beginning_is_read(tmp_path: Path) -> None:
    path = script(tmp_path / "helm", "head -c 1000000 /dev/zero >&2; exit 1")
    with pytest.raises(ProgramError) as caught:
        run(path, PATH=os.environ["PATH"])
    assert caught.value.errors == "\0" * 64 * 1024
