"""What the integration tests share: one real cluster, prepared once, and scenes to play on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local_cluster import Cluster
from tests.integration.audit import Audit
from tests.integration.child_run import ChildRuns, Undisturbed
from tests.integration.clusters import running_cluster
from tests.integration.engine import Bench
from tests.integration.fault_play import Play, Tally
from tests.integration.fault_proxy import FaultProxy
from tests.integration.kubectl import Kubectl
from tests.integration.playbooks import Playbooks
from tests.integration.scene import Scene
from tests.integration.secrecy import traces
from tests.integration.story import Story


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session", autouse=True)
def no_secret_is_told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """After all tests: no secret value of theirs stands in what was written, printed, recorded or logged."""
    yield
    found = list(traces(tmp_path_factory.getbasetemp()))
    assert not found, "secret values were told:\n" + "\n".join(found[:20])


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that all tests share: each uses add-ons and namespaces of its own."""
    with running_cluster(tmp_path_factory.mktemp("shared")) as made:
        yield made


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


@pytest.fixture(scope="session")
def new_scene(
    bootstrapped: Cluster, kubectl: Kubectl, audit: Audit, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Scene]:
    """Makes a scene; its name must not have been used before."""
    return lambda name: Scene(tmp_path_factory.mktemp("scene"), f"addons/{name}", bootstrapped, kubectl, audit)


@pytest.fixture(scope="session")
def new_bench(bootstrapped: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Bench]:
    """Makes a bench; its name must not have been used before."""
    return lambda name: Bench(tmp_path_factory.mktemp("bench"), f"addons/{name}", bootstrapped)


@pytest.fixture
def scene(new_scene: Callable[[str], Scene], request: pytest.FixtureRequest) -> Scene:
    """An empty scene for one test."""
    return new_scene(re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-"))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> ChildRuns:
    return ChildRuns(tmp_path_factory.mktemp("runtime"))


@pytest.fixture(scope="session")
def new_story(
    bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Story]:
    """Makes a story; its name must not have been used before."""
    return lambda name: Story(name, tmp_path_factory.mktemp("story"), kubectl)


@pytest.fixture(scope="session")
def undisturbed(new_story: Callable[[str], Story], bootstrapped: Cluster, runs: ChildRuns) -> Undisturbed:
    """What a story leaves when nothing disturbs it."""
    return Undisturbed(new_story("story-undisturbed"), bootstrapped.kubeconfig, runs)


@pytest.fixture(scope="module")
def proxy(bootstrapped: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultProxy]:
    """The cluster behind a proxy that fails as its plan says; without one it does not."""
    with FaultProxy(bootstrapped.kubeconfig, tmp_path_factory.mktemp("proxy")) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def play(proxy: FaultProxy, runs: ChildRuns, bootstrapped: Cluster, undisturbed: Undisturbed, audit: Audit) -> Play:
    """Plays stories through the proxy."""
    return Play(proxy, runs, bootstrapped.kubeconfig, undisturbed, audit, Tally())
