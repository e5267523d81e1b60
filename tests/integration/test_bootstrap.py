"""A cluster that was not prepared: previews work, a sync says what is missing; bootstrap may be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.clusters import running_cluster
from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map
from tests.integration.playbooks import PlaybookResult
from tests.integration.scene import Scene

COMMAND = "ansible-playbook rendimiento.addons.bootstrap"
CRD = "addons.rendimiento.ai"


@dataclass(frozen=True)
class Fresh:
    """A cluster of its own, with the means to look at it."""

    cluster: Cluster
    kubectl: Kubectl
    audit: Audit
    scene: Scene

    def bootstrap(self, *, check: bool = False) -> tuple[PlaybookResult, Requests]:
        mark = self.audit.mark()
        options = {"addon_kubeconfig": str(self.cluster.kubeconfig)}
        result = self.scene.playbooks.run("bootstrap", options, check=check, diff=True)
        return result, self.audit.since(mark)

    def key(self) -> str:
        found: str = self.kubectl.get("secret", "addon-key", "rendimiento-system")["data"]["key"]
        return found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fresh]:
    folder = tmp_path_factory.mktemp("fresh")
    with running_cluster(folder) as cluster:
        kubectl = Kubectl(cluster.programs["kubectl"], cluster.kubeconfig)
        audit = Audit(cluster.audit_log, kubectl)
        scene = Scene(folder, "addons", cluster, kubectl, audit)
        scene.repository.addon("first", config_map("settings"), createNamespace=True)
        scene.repository.commit()
        yield Fresh(cluster, kubectl, audit, scene)


def test_the_way_from_a_fresh_cluster_to_a_sync(fresh: Fresh) -> None:
    kubectl, audit, scene = fresh.kubectl, fresh.audit, fresh.scene
    # Nothing was prepared: a sync says how to, and does nothing.
    mark = audit.mark()
    refused = scene.sync().failed()
    assert CRD in refused.error and COMMAND in refused.error
    assert refused.output.count("[ERROR]") == 1
    # A preview works all the same.
    preview = scene.sync(check=True, diff=True).succeeded()
    assert preview.counts("first") == {"created": 2}
    assert preview.phases == {"first": "Pending"}
    assert "+++ after: ConfigMap first/settings (create, simulated)" in preview.output
    assert not audit.since(mark).writes

    # The preview of bootstrap shows everything and hides the key.
    result, requests = fresh.bootstrap(check=True)
    assert result.succeeded().changed == 1
    for kind in ("CustomResourceDefinition", "ServiceAccount", "ClusterRoleBinding", "Secret"):
        assert f"+++ after: {kind} " in result.output
    assert not requests.writes, requests.writes
    assert kubectl.find("crd", CRD) is None

    result, _requests = fresh.bootstrap()
    assert result.succeeded().changed == 1
    key = fresh.key()
    assert key not in result.output
    assert not scene.playbooks.left_behind(), "the administrator's login stays on disk"
    assert scene.sync().succeeded().phases == {"first": "Synced"}

    # Again: nothing to do, and above all the same key.
    result, requests = fresh.bootstrap()
    assert result.succeeded().changed == 0
    assert not requests.writes, requests.writes
    assert fresh.key() == key

    # The key is gone: every digest would be worthless, so nothing is done until it is back.
    kubectl.run("--namespace", "rendimiento-system", "delete", "secret", "addon-key")
    refused = scene.sync().failed()
    assert "addon-key" in refused.error and COMMAND in refused.error
    assert scene.sync(check=True).succeeded().counts("first") == {"unchanged": 2}
