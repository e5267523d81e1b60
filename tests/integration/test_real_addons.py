"""What people really install: rendered manifests of well-known add-ons, each synced as a folder of a gitops repository.

The manifests are data from outside of this repository. Without them there is nothing to test here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.audit import Audit
from tests.integration.clusters import running_cluster
from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map
from tests.integration.playbooks import ROOT
from tests.integration.scene import Scene

MANIFESTS = ROOT.parent / "shared" / "real"
NAMESPACES = {
    "cert-manager": "cert-manager",
    "cloudnative-pg": "cnpg-system",
    "ingress-nginx": "ingress-nginx",
    "longhorn": "longhorn-system",
}

pytestmark = pytest.mark.skipif(not MANIFESTS.is_dir(), reason="the rendered manifests are not on this machine")


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Scene]:
    """A scene on a cluster for one test: what it installs (webhooks, a dead API) would be in the way of others."""
    with running_cluster(tmp_path) as cluster:
        kubectl = Kubectl(cluster.programs["kubectl"], cluster.kubeconfig)
        scene = Scene(tmp_path, "addons", cluster, kubectl, Audit(cluster.audit_log, kubectl))
        scene.playbooks.run("bootstrap", scene.variables(repo=None, path=None)).succeeded()
        yield scene


def test_four_of_them_become_synced_and_stay_as_they_are(alone: Scene) -> None:
    for name, namespace in NAMESPACES.items():
        _add(alone, name, namespace=namespace, createNamespace=True)
    alone.repository.commit()

    first = alone.observe()
    second = alone.observe()

    assert first.result.succeeded().phases == dict.fromkeys(NAMESPACES, "Synced")
    for name in NAMESPACES:
        assert set(first.result.counts(name)) == {"created"}, first.result.output
        ready = {condition["type"]: condition["status"] for condition in first.status(name)["conditions"]}
        assert ready == {"Synced": "True", "Healthy": "True", "Ready": "True"}
    assert second.result.succeeded().changed == 0
    assert second.result.phases == first.result.phases
    for name in NAMESPACES:
        created, unchanged = first.result.counts(name)["created"], second.result.counts(name)
        assert unchanged == {"unchanged": created}, second.result.output
    assert not second.requests.writes, f"the second run wrote\n{second.requests.writes}"


def test_an_api_that_nobody_answers_is_named_and_waited_for_each_time(alone: Scene) -> None:
    _add(alone, "metrics-server", namespace="kube-system", wait=10)
    alone.repository.addon("another", config_map("settings"), namespace="default")
    alone.repository.addon("dependent", config_map("more"), namespace="default", dependsOn=["metrics-server"])
    alone.repository.commit()

    first = alone.observe()
    second = alone.observe()

    for run in (first, second):
        assert run.result.failed().phases["metrics-server"] == "Error"
        assert "not ready after 10 s: APIService v1beta1.metrics.k8s.io" in run.result.why("metrics-server")
        assert run.result.phases["another"] == "Synced"
        assert "metrics-server" in run.result.why("dependent")
        assert run.status("metrics-server")["phase"] == "Error"
    assert first.result.why("metrics-server") == second.result.why("metrics-server")
    # Everything is there already: the second run only waits.
    assert second.result.changed == 0
    assert not second.requests.on_objects.writes, f"the second run wrote\n{second.requests.on_objects.writes}"
    # What the cluster has of it is what git says; only it does not run well.
    synced, healthy, ready = (condition["status"] for condition in second.status("metrics-server")["conditions"])
    assert (synced, healthy, ready) == ("True", "False", "False")


def _add(scene: Scene, name: str, **fields: object) -> None:
    """An add-on whose folder holds the rendered manifests, byte for byte."""
    scene.repository.define(name, **fields)
    scene.repository.write(f"{name}/manifests.yaml", (MANIFESTS / name / "manifests.yaml").read_text())
