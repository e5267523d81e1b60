"""The example repository's story on a cluster that only bootstrap has seen: previewed, synced, and then left alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml

from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl
from tests.integration.playbooks import ROOT, PlaybookResult, Playbooks, Sync

EXAMPLE = ROOT / "examples" / "gitops"
ADDONS = ("dashboard", "postgres-clusters", "postgres-operator", "registry")
CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Namespace", "PersistentVolume"}
# A cluster has these nowhere before the example is synced.
NEW_KINDS = {"Backup", "PostgresCluster"}


@dataclass
class Story:
    """Three runs in a row, each with what was asked of the API server meanwhile."""

    preview: PlaybookResult
    previewing: Requests
    first: PlaybookResult
    second: PlaybookResult
    resyncing: Requests


@pytest.fixture(scope="module")
def story(bootstrapped: Cluster, audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("example")
    repository = Repository(folder / "gitops")
    shutil.copytree(EXAMPLE, repository.path, dirs_exist_ok=True)
    repository.commit()
    sync = Sync(Playbooks(folder / "runs"), repository, bootstrapped)

    start = audit.mark()
    preview = sync(check=True, diff=True).succeeded()
    previewing = audit.since(start)
    first = sync().succeeded()
    start = audit.mark()
    second = sync().succeeded()
    return Story(preview, previewing, first, second, audit.since(start))


def example_objects() -> Iterator[tuple[str, str]]:
    """Kind and title of every object in the example, and of the namespaces that its add-ons create."""
    for addon in ADDONS:
        namespace = yaml.safe_load((EXAMPLE / "addons" / f"{addon}.yaml").read_text())["namespace"]
        yield "Namespace", f"Namespace {namespace}"
        for file in (EXAMPLE / addon).rglob("*.*"):
            for manifest in yaml.safe_load_all(file.read_text()):
                kind, metadata = manifest["kind"], manifest["metadata"]
                place = "" if kind in CLUSTER_SCOPED else f"{metadata.get('namespace', namespace)}/"
                yield kind, f"{kind} {place}{metadata['name']}"


def test_a_preview_writes_nothing_at_all(story: Story) -> None:
    assert not story.previewing.writes, story.previewing.writes
    assert not story.previewing.on_records.writes
    assert any(request.dry_run for request in story.previewing), "nothing was dry-run"


def test_a_preview_shows_every_object(story: Story) -> None:
    shown = {line[len("+++ after: ") :] for line in story.preview.output.splitlines() if line.startswith("+++ after: ")}
    expected = dict(reversed(pair) for pair in example_objects())
    missing = [title for title in expected if not any(header.startswith(f"{title} (create, ") for header in shown)]
    assert not missing, f"not shown: {missing}\n{story.preview.output}"
    assert len(shown) == len(expected)


def test_a_preview_says_what_it_could_only_simulate(story: Story) -> None:
    for kind, title in example_objects():
        # Namespaces and kinds are new, so nothing that needs one can be checked by the server.
        verdict = "verified" if kind in CLUSTER_SCOPED else "simulated"
        assert f"+++ after: {title} (create, {verdict})" in story.preview.output


def test_a_preview_counts_what_a_sync_then_does(story: Story) -> None:
    assert set(story.preview.addons) == set(ADDONS)
    for addon in ADDONS:
        assert story.preview.counts(addon) == story.first.counts(addon)
        assert story.preview.addons[addon]["pending"]
        assert not story.first.addons[addon]["pending"]


def test_a_sync_makes_every_addon_synced_and_ready(story: Story, kubectl: Kubectl) -> None:
    assert story.first.phases == dict.fromkeys(ADDONS, "Synced")
    listed = kubectl.run("get", "radd", *ADDONS)
    assert listed.splitlines()[0].split() == ["NAME", "PHASE", "HEALTHY", "NAMESPACE", "REVISION", "AGE"]
    for line in listed.splitlines()[1:]:
        assert line.split()[1:3] == ["Synced", "True"]
    kubectl.run("wait", "--for=condition=Ready", "--timeout=1s", *(f"radd/{addon}" for addon in ADDONS))


def test_workloads_are_ready_when_the_sync_ends(story: Story, kubectl: Kubectl) -> None:
    for kind in ("deployments", "statefulsets"):
        workloads = [each for addon in ADDONS for each in kubectl.list(kind, f"rendimiento.ai/addon={addon}")]
        assert workloads
        for workload in workloads:
            assert workload["status"].get("readyReplicas") == workload["spec"]["replicas"], workload["metadata"]["name"]
    for job in kubectl.list("jobs", "rendimiento.ai/addon=registry"):
        assert job["status"].get("succeeded") == 1


def test_the_inventory_names_every_object(story: Story, kubectl: Kubectl) -> None:
    recorded = set()
    for addon in ADDONS:
        for entry in kubectl.record(addon)["status"]["objects"]:
            place = f"{entry['namespace']}/" if entry.get("namespace") else ""
            recorded.add(f"{entry['kind']} {place}{entry['name']}")
            assert entry["state"] == "applied"
            assert entry["uid"] and entry["resourceVersion"] and entry["own"] and entry["body"]
    assert recorded == {title for _kind, title in example_objects()}


def test_a_second_sync_changes_nothing(story: Story) -> None:
    assert story.second.changed == 0, story.second.output
    assert not story.resyncing.writes, f"written in a run without changes:\n{story.resyncing.writes}"
    for addon in ADDONS:
        assert set(story.second.counts(addon)) == {"unchanged"}
