"""The example repository on a cluster that only bootstrap has seen: previewed, synced, and then left alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import yaml

from tests.integration.kubectl import Kubectl, inventory
from tests.integration.playbooks import ROOT
from tests.integration.scene import Observed, Scene

EXAMPLE = ROOT / "examples" / "gitops"
ADDONS = ("dashboard", "postgres-clusters", "postgres-operator", "registry")
CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Namespace", "PersistentVolume"}


@dataclass(frozen=True)
class Story:
    preview: Observed
    first: Observed
    second: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("example")
    shutil.copytree(EXAMPLE, scene.repository.path, dirs_exist_ok=True)
    scene.repository.commit()
    return Story(
        preview=scene.observe(path="addons", check=True, diff=True),
        first=scene.observe(path="addons"),
        second=scene.observe(path="addons"),
    )


def example_objects() -> Iterator[tuple[str, str]]:
    """Title and kind of every object in the example, and of the namespaces that its add-ons create."""
    for addon in ADDONS:
        namespace = yaml.safe_load((EXAMPLE / "addons" / f"{addon}.yaml").read_text())["namespace"]
        yield f"Namespace {namespace}", "Namespace"
        for file in (EXAMPLE / addon).rglob("*.*"):
            for manifest in yaml.safe_load_all(file.read_text()):
                kind, metadata = manifest["kind"], manifest["metadata"]
                place = "" if kind in CLUSTER_SCOPED else f"{metadata.get('namespace', namespace)}/"
                yield f"{kind} {place}{metadata['name']}", kind


def test_a_preview_writes_nothing_at_all(story: Story) -> None:
    story.preview.result.succeeded()
    assert not story.preview.requests.writes, story.preview.requests.writes
    assert any(request.dry_run for request in story.preview.requests), "nothing was dry-run"


def test_a_preview_shows_every_object(story: Story) -> None:
    mark = "+++ after: "
    shown = [line.removeprefix(mark) for line in story.preview.result.output.splitlines() if line.startswith(mark)]
    # Namespaces and kinds are new, so the server can check nothing that needs one of them.
    verdicts = {title: "verified" if kind in CLUSTER_SCOPED else "simulated" for title, kind in example_objects()}
    assert sorted(shown) == sorted(f"{title} (create, {verdict})" for title, verdict in verdicts.items())


def test_a_preview_counts_what_a_sync_then_does(story: Story) -> None:
    preview, first = story.preview.result, story.first.result
    assert set(preview.addons) == set(ADDONS)
    for addon in ADDONS:
        assert preview.counts(addon) == first.counts(addon)
        assert (preview.addons[addon]["pending"], first.addons[addon]["pending"]) == (True, False)


def test_a_sync_ends_with_every_addon_synced_and_ready(story: Story, kubectl: Kubectl) -> None:
    assert story.first.result.succeeded().phases == dict.fromkeys(ADDONS, "Synced")
    header, *lines = kubectl.run("get", "radd", *ADDONS).splitlines()
    assert header.split() == ["NAME", "PHASE", "HEALTHY", "NAMESPACE", "REVISION", "AGE"]
    assert [line.split()[:3] for line in lines] == [[addon, "Synced", "True"] for addon in ADDONS]
    kubectl.run("wait", "--for=condition=Ready", "--timeout=1s", *(f"radd/{addon}" for addon in ADDONS))


def test_a_sync_ends_when_the_workloads_are_ready(story: Story) -> None:
    deployments = {
        title: workload
        for title, workload in story.first.objects.items()
        if workload["kind"] == "Deployment" and workload["metadata"]["labels"].get("rendimiento.ai/addon") in ADDONS
    }
    assert len(deployments) == sum(kind == "Deployment" for _title, kind in example_objects())
    for title, workload in deployments.items():
        assert workload["status"].get("readyReplicas") == workload["spec"]["replicas"], title
    assert story.first.objects["Job registry/migrations"]["status"]["succeeded"] == 1


def test_the_inventory_names_every_object(story: Story) -> None:
    recorded: dict[str, str] = {}
    for addon in ADDONS:
        recorded |= inventory(story.first.records[addon])
        for entry in story.first.status(addon)["objects"]:
            assert entry["uid"] and entry["resourceVersion"] and entry["own"] and entry["body"], entry
    assert recorded == {title: "applied" for title, _kind in example_objects()}


def test_a_second_sync_changes_nothing(story: Story) -> None:
    assert story.second.result.succeeded().changed == 0, story.second.result.output
    assert not story.second.requests.writes, f"written in a run without changes:\n{story.second.requests.writes}"
    for addon in ADDONS:
        assert set(story.second.result.counts(addon)) == {"unchanged"}
    assert story.second.records == story.first.records
