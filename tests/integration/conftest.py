"""What the integration tests share: one real cluster, prepared once, and per test a gitops repository to sync to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cluster import Cluster
from tests.integration.audit import Audit
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl
from tests.integration.playbooks import Playbooks, Sync


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that all tests share: each uses add-ons and namespaces of its own."""
    made = Cluster(tmp_path_factory.mktemp("integration") / "cluster")
    made.up()
    yield made
    made.down()


@pytest.fixture(scope="session")
def bootstrapped(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The same cluster after the bootstrap playbook."""
    playbooks = Playbooks(tmp_path_factory.mktemp("bootstrap"))
    playbooks.run("bootstrap", {"addon_kubeconfig": str(cluster.kubeconfig)}).succeeded()
    # The viewer's role lists what the server has; now it has records.
    cluster.up()
    return cluster


@pytest.fixture(scope="session")
def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster.programs["kubectl"], cluster.kubeconfig)


@pytest.fixture(scope="session")
def audit(cluster: Cluster, kubectl: Kubectl) -> Audit:
    return Audit(cluster.audit_log, kubectl)


@pytest.fixture
def playbooks(tmp_path: Path) -> Playbooks:
    return Playbooks(tmp_path)


@pytest.fixture
def repository(tmp_path: Path, request: pytest.FixtureRequest) -> Repository:
    """An empty gitops repository; its definition files are in a folder that no other test uses."""
    folder = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
    return Repository(tmp_path / "gitops", f"addons/{folder}")


@pytest.fixture
def sync(playbooks: Playbooks, repository: Repository, bootstrapped: Cluster) -> Sync:
    return Sync(playbooks, repository, bootstrapped)
