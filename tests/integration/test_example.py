"""The example repository on a cluster that only bootstrap has seen: previewed, synced, and then left alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart_repository import ChartRepository
from tests.integration.kubectl import Kubectl, inventory
from tests.integration.playbooks import ROOT
from tests.integration.scene import Observed, Scene

EXAMPLE = ROOT / "examples" / "gitops"
CHART = ROOT / "examples" / "charts" / "certificates"
ADDONS = (
    "certificates",
    "dashboard",
    "mail-relay",
    "postgres-clusters",
    "postgres-operator",
    "registry",
    "search",
    "uptime",
)
WAITS = "certificates"
"""It has ``manualSync``."""

NEW_KIND = "Issuer"
CLUSTER_SCOPED = {
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    NEW_KIND,
    "Namespace",
    "PersistentVolume",
}


@dataclass(frozen=True)
class Story:
    """``objects`` are titles and kinds of everything in the example, by add-on."""

    preview: Observed
    first: Observed
    asked_for: Observed
    second: Observed
    calls: list[str]
    objects: Mapping[str, Mapping[str, str]]


@pytest.fixture(scope="module")
def story(
    new_scene: Callable[[str], Scene], programs: Mapping[str, Path], kubectl: Kubectl, tmp_path_factory: Any
) -> Iterator[Story]:
    scene = new_scene("example")
    shutil.copytree(EXAMPLE, scene.repository.path, dirs_exist_ok=True)
    with ChartRepository(tmp_path_factory.mktemp("charts") / "served", programs["helm"]) as charts:
        charts.helm("package", str(CHART), "--destination", str(charts.folder))
        charts.index()
        definition = scene.repository.path / "addons" / "certificates.yaml"
        definition.write_text(definition.read_text().replace("http://127.0.0.1:8879", charts.url))
        scene.repository.commit()
        preview = scene.observe(path="addons", check=True, diff=True)
        first = scene.observe(path="addons")
    # The chart repository is gone, and nobody misses it.
    kubectl.merge("radd", WAITS, {"spec": {"syncRequest": 1}})
    asked_for = scene.observe(path="addons")
    scene.programs.calls()
    second = scene.observe(path="addons")
    objects = {addon: dict(example_objects(addon, programs)) for addon in ADDONS}
    yield Story(preview, first, asked_for, second, scene.programs.calls(), objects)


def example_objects(addon: str, programs: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """Title and kind of every object of an add-on, as the official programs print them, and of its namespace."""
    definition = yaml.safe_load((EXAMPLE / "addons" / f"{addon}.yaml").read_text())
    namespace = definition["namespace"]
    yield f"Namespace {namespace}", "Namespace"
    for manifest in yaml.safe_load_all(printed(definition, programs)):
        if manifest:
            kind, metadata = manifest["kind"], manifest["metadata"]
            place = "" if kind in CLUSTER_SCOPED else f"{metadata.get('namespace', namespace)}/"
            yield f"{kind} {place}{metadata['name']}", kind


def printed(definition: dict[str, Any], programs: Mapping[str, Path]) -> str:
    folder = EXAMPLE / definition["git"]["path"] if "git" in definition else CHART
    match sorted(path.name for path in folder.glob("[Ck][hu]*")):
        case ["Chart.yaml", *_]:
            files = [EXAMPLE / file for file in definition.get("git", {}).get("valuesFiles", [])]
            given = [f"--values={file}" for file in files] + ["--values=-"]
            served = ["policy/v1/PodDisruptionBudget", "databases.example.com/v1/PostgresCluster"]
            command = [programs["helm"], "template", definition["name"], folder, "--include-crds", *given]
            command += [f"--namespace={definition['namespace']}", *(f"--api-versions={name}" for name in served)]
            text = yaml.safe_dump(definition.get("values", {}))
            return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        case ["kustomization.yaml"]:
            return subprocess.run(
                [programs["kustomize"], "build", folder], capture_output=True, text=True, check=True
            ).stdout
    return "\n---\n".join(file.read_text() for file in sorted(folder.rglob("*.*")))


def everything(story: Story) -> dict[str, str]:
    return {title: kind for objects in story.objects.values() for title, kind in objects.items()}


def test_a_preview_writes_nothing_at_all(story: Story) -> None:
    story.preview.result.succeeded()
    assert not story.preview.requests.writes, story.preview.requests.writes
    assert any(request.dry_run for request in story.preview.requests), "nothing was dry-run"


def test_a_preview_shows_every_object(story: Story) -> None:
    mark = "+++ after: "
    shown = [line.removeprefix(mark) for line in story.preview.result.output.splitlines() if line.startswith(mark)]
    # Namespaces and kinds are new, so the server can check nothing that needs one of them.
    new = everything(story).items()
    verdicts = {title: "verified" if kind in CLUSTER_SCOPED - {NEW_KIND} else "simulated" for title, kind in new}
    assert sorted(shown) == sorted(f"{title} (create, {verdict})" for title, verdict in verdicts.items())


def test_a_preview_counts_what_a_sync_then_does(story: Story) -> None:
    preview, first = story.preview.result, story.first.result
    assert set(preview.addons) == set(ADDONS)
    for addon in ADDONS:
        assert preview.counts(addon) == {"created": len(story.objects[addon])}
        done = story.asked_for.result if addon == WAITS else first
        assert done.counts(addon) == preview.counts(addon)
        assert (preview.addons[addon]["pending"], done.addons[addon]["pending"]) == (True, False)


def test_an_addon_with_manual_sync_waits_until_it_is_asked_for(story: Story) -> None:
    assert {run.result.phases[WAITS] for run in (story.preview, story.first)} == {"OutOfSync"}
    assert story.first.result.counts(WAITS) == {}
    assert not story.objects[WAITS].keys() & story.first.objects.keys()
    assert story.asked_for.result.phases[WAITS] == "Synced"


def test_a_sync_ends_with_every_addon_synced_and_ready(story: Story, kubectl: Kubectl) -> None:
    assert story.first.result.succeeded().phases == {**dict.fromkeys(ADDONS, "Synced"), WAITS: "OutOfSync"}
    assert story.asked_for.result.succeeded().phases == dict.fromkeys(ADDONS, "Synced")
    header, *lines = kubectl.run("get", "radd", *ADDONS).splitlines()
    assert header.split() == ["NAME", "PHASE", "HEALTHY", "NAMESPACE", "REVISION", "AGE"]
    assert [line.split()[:3] for line in lines] == [[addon, "Synced", "True"] for addon in ADDONS]
    kubectl.run("wait", "--for=condition=Ready", "--timeout=60s", *(f"radd/{addon}" for addon in ADDONS))


def test_a_sync_ends_when_the_workloads_are_ready(story: Story) -> None:
    deployments = {
        title: workload
        for title, workload in story.asked_for.objects.items()
        if workload["kind"] == "Deployment"
        and workload["metadata"].get("labels", {}).get("rendimiento.ai/addon") in ADDONS
    }
    assert len(deployments) == list(everything(story).values()).count("Deployment")
    for title, workload in deployments.items():
        assert workload["status"].get("readyReplicas") == workload["spec"]["replicas"], title
    assert story.first.objects["Job registry/migrations"]["status"]["succeeded"] == 1


def test_the_inventory_names_every_object(story: Story) -> None:
    recorded: dict[str, str] = {}
    for addon in ADDONS:
        recorded |= inventory(story.asked_for.records[addon])
        for entry in story.asked_for.status(addon)["objects"]:
            assert entry["uid"] and entry["resourceVersion"] and entry["own"] and entry["body"], entry
    assert recorded == dict.fromkeys(everything(story), "applied")


def test_a_second_sync_starts_no_program_and_changes_nothing(story: Story) -> None:
    assert story.calls == []
    assert story.second.result.succeeded().changed == 0, story.second.result.output
    assert not story.second.requests.writes, f"written in a run without changes:\n{story.second.requests.writes}"
    for addon in ADDONS:
        assert set(story.second.result.counts(addon)) == {"unchanged"}
    assert story.second.records == story.asked_for.records


def test_one_chart_serves_two_clusters(story: Story, new_scene: Callable[[str], Scene]) -> None:
    """On the cluster of production, the definitions for development are the difference of their values files."""
    scene = new_scene("example-dev")
    shutil.copytree(EXAMPLE, scene.repository.path, dirs_exist_ok=True)
    scene.repository.commit()
    lines = {line.strip() for line in scene.sync(path="addons-dev", check=True, diff=True).output.splitlines()}
    assert {"-  replicas: 2", "+  replicas: 1"} <= lines
    assert {"-    interval: 60s", "+    interval: 10m"} <= lines
    assert story.second.result.phases["uptime"] == "Synced"
