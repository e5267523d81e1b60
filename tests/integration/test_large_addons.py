"""An add-on of 2,000 objects and 5 MB: memory that hardly grows with it, and results that people can read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.kubectl import Kubectl, Object
from tests.integration.objects import config_map, deployment, secret
from tests.integration.scene import Scene

MANY, FEW = 2000, 100
TEXT = "".join(f"line {number} of a file that is not small\n" for number in range(75))
MEASURED = (
    "import json, resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
    "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
)

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Run:
    """``peak`` is the memory of the largest process, in MB."""

    output: str
    peak: float
    preview: str
    plan: dict[str, Any]
    addon: dict[str, Any]


@dataclass(frozen=True)
class Story:
    few: Run
    preview: Run
    sync: Run
    again: Run
    changed: Run
    record: Object


def objects(count: int, text: str) -> list[Object]:
    made = [config_map(f"file-{number}", data={"text": f"{text}{number}\n"}) for number in range(count * 17 // 20)]
    made += [secret(f"login-{number}", data={"password": f"swordfish-{number}"}) for number in range(count // 10)]
    return made + [deployment(f"app-{number}", replicas=0) for number in range(count // 20)]


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> Story:
    scene = new_scene("large")
    scene.repository.addon("few", *objects(FEW, TEXT), createNamespace=True, wait=0)
    scene.repository.addon("many", *objects(MANY, TEXT), createNamespace=True, wait=0)
    scene.repository.commit()
    assert (scene.repository.path / "many/objects.yaml").stat().st_size > 5_000_000
    few = run(scene, "few", "--check", "--diff")
    preview, sync = run(scene, "many", "--check", "--diff"), run(scene, "many", "--diff")
    again = run(scene, "many", "--check", "--diff")
    scene.repository.addon("many", *objects(MANY, TEXT + "one more line\n"), createNamespace=True, wait=0)
    scene.repository.commit()
    return Story(few, preview, sync, again, run(scene, "many", "--check", "--diff"), kubectl.record("many"))


def run(scene: Scene, addon: str, *arguments: str) -> Run:
    folder = scene.playbooks.scratch
    files = {name: folder / f"{name}.out" for name in ("preview_file", "plan_file", "summary_file")}
    options = scene.variables(only=[addon], **{name: str(path) for name, path in files.items()})
    command = [*scene.playbooks.command("sync", options), *arguments]
    result = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        cwd=scene.playbooks.directory,
        env=scene.playbooks.environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
    output, _, peak = result.stdout.rpartition("peak ")
    scene.playbooks.keep(result.stdout + result.stderr, options)
    return Run(
        output,
        int(peak) / 1024,
        files["preview_file"].read_text(),
        json.loads(files["plan_file"].read_text()),
        json.loads(files["summary_file"].read_text())["addons"][addon],
    )


def test_memory_hardly_grows_with_the_add_on(story: Story) -> None:
    for large in (story.preview, story.sync, story.again, story.changed):
        assert large.peak < story.few.peak + 250, [one.peak for one in (story.few, large)]


def test_counts_are_right(story: Story) -> None:
    assert story.preview.addon["created"] == MANY + 1 == story.sync.addon["created"]
    assert story.again.addon["unchanged"] == MANY + 1
    assert not story.again.addon["pending"]
    assert story.changed.addon["updated"] == MANY * 17 // 20


def test_results_are_bounded_and_say_what_was_cut(story: Story) -> None:
    for large in (story.preview, story.sync, story.changed):
        assert len(large.output) < 2_000_000
        assert "more objects" in large.output
        assert len(large.preview.encode()) <= 60_000
    assert "**Cut" in story.preview.preview
    assert len(story.again.output.splitlines()) < 60


def test_the_plan_for_programs_has_everything(story: Story) -> None:
    addon = story.changed.plan["addons"]["many"]
    assert len(addon["items"]) == MANY + 1
    assert sum(1 for item in addon["items"] if item.get("patch")) == MANY * 17 // 20


def test_the_record_stays_small(story: Story) -> None:
    assert len(json.dumps(story.record)) < 1_000_000
