"""Sources that can't be rendered: one line each that says what to do; the others go on, and nothing is removed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.chart_repository import Answer, ChartRepository
from tests.integration.kubectl import inventory
from tests.integration.objects import config_map
from tests.integration.scene import Observed, Scene

TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {size: {{ .Values.size | quote }}}
"""
SCHEMA = '{"properties": {"size": {"type": "integer"}}}'
BUILT = ("bad-patch", "missing-base", "remote-base")


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory, programs: dict[str, Path]) -> Iterator[ChartRepository]:
    with ChartRepository(tmp_path_factory.mktemp("charts") / "served", programs["helm"]) as repository:
        yield repository


@dataclass
class Story:
    """All is well and installed; then every source but one breaks in a way of its own."""

    expected: dict[str, str] = field(default_factory=dict)
    good: Observed | None = None
    bad: Observed | None = None


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], charts: ChartRepository) -> Story:
    scene = new_scene("source-failures")
    repository = scene.repository
    files = {"templates/config.yaml": TEMPLATE, "values.schema.json": SCHEMA, "values.yaml": "size: 1\n"}
    charts.add("app", "1.0.0", files)
    charts.add("app", "1.1.0", {**files, "templates/config.yaml": '{{ required "say which size" .Values.none }}'})
    charts.add("app", "1.2.0", {**files, "Chart.yaml": 'kubeVersion: ">=1.99.0"\n'})
    charts.add("altered", "1.0.0", files)
    charts.add("broken", "1.0.0", files)
    charts.add("absent", "1.0.0", files)
    charts.answers["/altered-1.0.0.tgz"] = Answer(content=(charts.folder / "app-1.0.0.tgz").read_bytes())
    charts.answers["/broken-1.0.0.tgz"] = Answer(half=True)
    charts.answers["/absent-1.0.0.tgz"] = Answer(status=404)

    def helm(chart: str = "app", version: str = "1.0.0", repo: str = charts.url) -> dict[str, Any]:
        return {"git": None, "helm": {"repo": repo, "chart": chart, "version": version}}

    broken: dict[str, tuple[dict[str, Any], str]] = {
        "no-such-version": (helm(version="1.0.9"),
            "<url>: there is no version 1.0.9 of the chart app. The nearest are 1.0.0, 1.1.0, 1.2.0."),
        "no-such-chart": (helm("ap"), "<url>: there is no chart ap. Did you mean app?"),
        "nobody-there": (helm(repo="http://127.0.0.1:9"),
            "http://127.0.0.1:9: can't be reached: connection refused. Check the URL, the network and the proxy."),
        "wrong-digest": (helm("altered"),
            "<url>: the archive of altered 1.0.0 has another digest than its index says. "
            "It is broken or was exchanged; ask who runs the repository."),
        "half-an-archive": (helm("broken"), "<url>: the connection ended in the middle of a download. Try again."),
        "archive-not-found": (helm("absent"),
            "<url>: the archive that the index names is not there (404 Not Found). Use another version of the chart."),
        "template-fails": (helm(version="1.1.0"),
            "app/templates/config.yaml:1: say which size. Correct the values."),
        "other-kubernetes": (helm(version="1.2.0"),
            "app-1.2.0: the chart is for Kubernetes >=1.99.0, and the cluster is <version>. "
            "Use another version of the chart."),
        "against-the-schema": ({**helm(), "values": {"size": "many"}},
            "app-1.0.0: the values do not fit the schema of app: size: got string, want integer. Correct the values."),
        "missing-base": ({"git": {"path": "missing-base"}},
            "missing-base/kustomization.yaml: resources[0]: ../base-that-is-not-there is not in commit <commit>. "
            "Correct the path, or commit it."),
        "bad-patch": ({"git": {"path": "bad-patch"}},
            "bad-patch: patches: remove of /data/none does not apply. Correct its path."),
        "remote-base": ({"git": {"path": "remote-base"}},
            "remote-base/kustomization.yaml: resources[0]: lies outside of the repository. Copy it into the "
            "repository, write ./ before the name of a folder, or add remote to addon_kustomize_allow."),
        "no-such-folder": ({"git": {"path": "nowhere"}}, "git.path: nowhere: commit <commit> has no such folder"),
    }  # fmt: skip
    common = {"namespace": "failing", "dependsOn": ["sound"]}
    repository.addon("sound", config_map("sound"), namespace="failing", createNamespace=True)
    for name in broken:
        repository.addon(name, config_map(name), **common)
    repository.commit("all is well")
    story = Story()
    story.good = scene.observe()

    for name, (fields, _message) in broken.items():
        repository.define(name, **{**common, **fields})
    for name in BUILT:
        repository.remove(name)
    repository.write("missing-base/kustomization.yaml", [{"resources": ["../base-that-is-not-there"]}])
    patch = {"patch": '[{"op": "remove", "path": "/data/none"}]', "target": {"kind": "ConfigMap"}}
    repository.write("bad-patch/kustomization.yaml", [{"resources": ["a.yaml"], "patches": [patch]}])
    repository.write("bad-patch/a.yaml", [config_map("bad-patch")])
    remote = {"resources": ["https://example.com/bases/of-somebody?ref=main"]}
    repository.write("remote-base/kustomization.yaml", [remote])
    repository.addon("sound", config_map("sound", data={"changed": "yes"}), namespace="failing", createNamespace=True)
    commit = repository.commit("all but one are broken")
    story.bad = scene.observe(program_seconds=20)
    facts = {"<url>": charts.url, "<commit>": commit[:12], "<version>": cluster_version(story.bad)}
    for name, (_fields, message) in broken.items():
        for word, fact in facts.items():
            message = message.replace(word, fact)
        story.expected[name] = message
    return story


def cluster_version(run: Observed) -> str:
    """As the first line of a run says it."""
    return run.result.output.partition(", cluster ")[2].partition("(")[2].partition(")")[0]


def test_each_is_one_line_that_names_place_and_cure(story: Story) -> None:
    assert story.good and story.bad
    story.good.result.succeeded()
    story.bad.result.failed()
    assert {name: story.bad.result.why(name) for name in story.expected} == story.expected
    assert {story.bad.result.phases[name] for name in story.expected} == {"Error"}


def test_the_others_go_on(story: Story) -> None:
    assert story.bad
    assert story.bad.result.phases["sound"] == "Synced"
    assert story.bad.objects["ConfigMap failing/sound"]["data"] == {"changed": "yes"}


def test_nothing_is_removed_or_changed(story: Story) -> None:
    assert story.good and story.bad
    for name in story.expected:
        title = f"ConfigMap failing/{name}"
        assert story.bad.objects[title] == story.good.objects[title]
        assert inventory(story.bad.records[name]) == inventory(story.good.records[name])


def test_a_slow_repository_is_given_up(scene: Scene, charts: ChartRepository) -> None:
    charts.add("slow", "1.0.0", {"templates/config.yaml": TEMPLATE})
    charts.answers["/slow-1.0.0.tgz"] = Answer(seconds=30)
    chart = {"repo": charts.url, "chart": "slow", "version": "1.0.0"}
    scene.repository.define("slow", git=None, createNamespace=True, helm=chart)
    scene.repository.commit()
    started = time.monotonic()
    result = scene.sync(check=True, program_seconds=2).failed()
    assert time.monotonic() - started < 25
    assert "did not end within 2 s" in result.why("slow")
    # Somebody who waits for it sees what for.
    assert f"slow: downloading the chart slow 1.0.0 from {charts.url}" in result.output


def test_a_run_killed_while_it_fills_the_cache_leaves_nothing_bad(scene: Scene, charts: ChartRepository) -> None:
    """Killed at many moments, between the first download and the last render; then one run ends well."""
    names = [f"killed-{number}" for number in range(3)]
    for name in names:
        charts.add(name, "1.0.0", {"templates/config.yaml": TEMPLATE, "values.yaml": f"size: {name}\n"})
        chart = {"repo": charts.url, "chart": name, "version": "1.0.0"}
        scene.repository.define(name, git=None, createNamespace=True, helm=chart)
    scene.repository.commit()
    for delay in (0.0, 0.05, 0.1, 0.2, 0.4):
        charts.requests.clear()
        run = scene.playbooks.start("sync", scene.variables(only=names) | {"ansible_check_mode": True})
        while run.poll() is None and not charts.requests and len(scene.programs.calls()) == 0:
            time.sleep(0.005)
        time.sleep(delay)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    run_well = scene.observe()
    assert run_well.result.succeeded().phases == dict.fromkeys(names, "Synced")
    for name in names:
        assert run_well.objects[f"ConfigMap {name}/{name}"]["data"] == {"size": name}
    scene.programs.calls()
    scene.sync().succeeded()
    assert scene.programs.calls() == []
