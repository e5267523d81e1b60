"""One broken add-on among others: its error is its own, what depends on it waits, everything else goes on."""

from __future__ import annotations

from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, identities
from tests.integration.objects import config_map, custom, deployment
from tests.integration.playbooks import Sync


def test_one_broken_addon_among_four(repository: Repository, sync: Sync, kubectl: Kubectl) -> None:
    repository.addon("sound-a", config_map("fine"), createNamespace=True)
    repository.addon("sound-b", deployment("fine"), createNamespace=True)
    repository.addon("sound-c", config_map("fine"), createNamespace=True, dependsOn=["sound-b"])
    repository.addon("broken", {**deployment("bad"), "spec": {"replicas": 1}}, config_map("fine"), createNamespace=True)
    repository.addon("needs-broken", config_map("waits"), createNamespace=True, dependsOn=["broken"])
    repository.addon("needs-it-too", config_map("waits"), createNamespace=True, dependsOn=["needs-broken"])
    repository.commit()
    result = sync().failed()

    assert [result.phases[name] for name in ("sound-a", "sound-b", "sound-c")] == ["Synced"] * 3
    assert result.phases["broken"] == "Error"
    assert "Deployment broken/bad" in result.why("broken")
    assert "spec.selector" in result.why("broken")
    assert "skipped: depends on broken, which failed" in result.why("needs-broken")
    assert "skipped: depends on needs-broken, which was skipped" in result.why("needs-it-too")
    assert "broken is Error" in result.error
    for name in ("sound-a", "sound-b", "sound-c"):
        assert name not in result.error
    assert kubectl.phase("broken") == "Error"
    assert "spec.selector" in kubectl.record("broken")["status"]["message"]
    assert not kubectl.list("configmaps", "rendimiento.ai/addon=needs-broken")

    # Mended, everything catches up.
    repository.addon("broken", deployment("bad"), config_map("fine"), createNamespace=True)
    repository.commit()
    assert set(sync().succeeded().phases.values()) == {"Synced"}


def test_a_refusal_comes_before_the_first_write(repository: Repository, sync: Sync, kubectl: Kubectl) -> None:
    """The namespace exists, so every object can be checked: none is applied when one is refused."""
    repository.addon("careful", config_map("old"), createNamespace=True)
    repository.commit()
    sync().succeeded()
    bad = {**deployment("bad"), "spec": {"replicas": "three"}}
    repository.addon("careful", config_map("old", data={"key": "new value"}), config_map("new"), bad, createNamespace=True)
    repository.commit()
    result = sync().failed()
    assert "Deployment careful/bad" in result.why("careful")
    assert "spec.replicas" in result.why("careful")
    assert kubectl.get("configmap", "old", "careful")["data"] == {"key": "value"}
    assert kubectl.find("configmap", "new", "careful") is None


def test_objects_of_a_kind_that_is_not_served(repository: Repository, sync: Sync, kubectl: Kubectl) -> None:
    repository.addon("early", custom("nobody.test", "Widget", "one", size=1), config_map("fine"), createNamespace=True)
    repository.addon("sound", config_map("fine"), namespace="sound-neighbour", createNamespace=True)
    repository.commit()
    result = sync().failed()
    assert result.phases == {"early": "Error", "sound": "Synced"}
    assert "Widget early/one" in result.why("early") or "Widget" in result.why("early")
    assert "not served" in result.why("early")
    assert "dependsOn" in result.why("early"), "the message has to say what to do"


def test_what_does_not_become_ready_is_an_error_that_the_next_run_waits_for_again(
    repository: Repository, sync: Sync, kubectl: Kubectl
) -> None:
    repository.addon("unready", deployment("stuck", outcome="unready"), createNamespace=True, wait=2)
    repository.addon("patient", deployment("stuck", outcome="unready"), createNamespace=True, wait=0)
    repository.commit()
    result = sync().failed()
    assert result.phases == {"patient": "Synced", "unready": "Error"}
    assert "not ready after 2 s: Deployment unready/stuck" in result.why("unready")
    record = kubectl.record("unready")
    conditions = {each["type"]: each["status"] for each in record["status"]["conditions"]}
    assert conditions == {"Synced": "True", "Healthy": "False", "Ready": "False"}
    assert ("Deployment", "unready", "stuck") in identities(record)

    kubectl.run("--namespace", "unready", "delete", "pods", "--all", "--wait=false")
    repository.addon("unready", deployment("stuck"), createNamespace=True, wait=60)
    repository.commit()
    assert sync().succeeded().phases["unready"] == "Synced"


def test_drift_is_repaired(repository: Repository, sync: Sync, kubectl: Kubectl) -> None:
    objects = [deployment("app", replicas=2), config_map("edited"), config_map("deleted")]
    repository.addon("drifting", *objects, createNamespace=True)
    repository.commit()
    sync().succeeded()
    uid = kubectl.get("deployment", "app", "drifting")["metadata"]["uid"]

    kubectl.run("--namespace", "drifting", "scale", "deployment", "app", "--replicas=1")
    kubectl.merge("configmap", "edited", {"data": {"key": "edited", "extra": "not ours"}}, "drifting")
    kubectl.run("--namespace", "drifting", "delete", "configmap", "deleted")
    preview = sync(check=True, diff=True).succeeded()
    for header in ("Deployment drifting/app (update", "ConfigMap drifting/edited (update", "ConfigMap drifting/deleted (create"):
        assert f"+++ after: {header}, verified)" in preview.output
    repaired = sync().succeeded()
    assert repaired.counts("drifting") == {"created": 1, "updated": 2, "unchanged": 1} == preview.counts("drifting")
    app = kubectl.get("deployment", "app", "drifting")
    assert (app["spec"]["replicas"], app["metadata"]["uid"]) == (2, uid)
    # What somebody added beside ours is theirs.
    assert kubectl.get("configmap", "edited", "drifting")["data"] == {"key": "value", "extra": "not ours"}
    assert sync().succeeded().changed == 0
