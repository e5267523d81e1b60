"""What holds an add-on back although its plan could be carried out: pause, suspension, manual sync, adoption, hooks."""

from __future__ import annotations

from typing import Any

from tests.integration.audit import Audit
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map, deployment, job, namespace
from tests.integration.playbooks import Sync


def content(kubectl: Kubectl, addon: str) -> dict[str, str]:
    data: dict[str, str] = kubectl.get("configmap", "settings", addon)["data"]
    return data


def test_paused_and_suspended_addons_are_left_alone(
    repository: Repository, sync: Sync, kubectl: Kubectl, audit: Audit
) -> None:
    def write(version: str, **suspended_fields: Any) -> None:
        repository.addon("paused", config_map("settings", data={"version": version}), createNamespace=True)
        repository.addon(
            "suspended", config_map("settings", data={"version": version}), createNamespace=True, **suspended_fields
        )
        repository.addon("running", config_map("settings", data={"version": version}), createNamespace=True)
        repository.commit()

    write("1")
    sync().succeeded()
    kubectl.annotate("paused", paused="true", **{"paused-reason": "storm"})
    write("2", suspend=True)
    start = audit.mark()
    held = sync().succeeded()
    assert held.phases == {"paused": "Suspended", "running": "Synced", "suspended": "Suspended"}
    assert "paused by annotation: storm" in held.why("paused")
    assert "suspend: true in git" in held.why("suspended")
    assert (kubectl.phase("paused"), kubectl.phase("suspended")) == ("Suspended", "Suspended")
    assert {request.namespace for request in audit.since(start).on_objects.writes} == {"running"}
    assert content(kubectl, "paused") == content(kubectl, "suspended") == {"version": "1"}

    start = audit.mark()
    assert sync().succeeded().changed == 0
    assert not audit.since(start).writes, "a pause is written down once"

    kubectl.annotate("paused", paused=None, **{"paused-reason": None})
    write("2", suspend=False)
    assert set(sync().succeeded().phases.values()) == {"Synced"}
    assert content(kubectl, "paused") == content(kubectl, "suspended") == {"version": "2"}


def test_manual_sync_waits_for_a_sync_request(repository: Repository, sync: Sync, kubectl: Kubectl, audit: Audit) -> None:
    def write(version: str) -> None:
        settings = config_map("settings", data={"version": version})
        repository.addon("manual", settings, createNamespace=True, manualSync=True)
        repository.commit()

    def request(number: int) -> None:
        kubectl.merge("radd", "manual", {"spec": {"syncRequest": number}})

    write("1")
    waiting = sync(diff=True).succeeded()
    assert waiting.phases == {"manual": "OutOfSync"}
    assert "ConfigMap manual/settings (create, simulated)" in waiting.output, "what waits has to be shown"
    assert "+  version: '1'" in waiting.output
    record = kubectl.record("manual")
    assert record["status"]["phase"] == "OutOfSync"
    assert "syncRequest" in record["status"]["message"]
    assert record["status"]["preview"]["counts"] == {"create": 2}
    previewed = {item["object"]: item["diff"] for item in record["status"]["preview"]["items"]}
    assert "version: '1'" in previewed["ConfigMap manual/settings"]
    assert kubectl.find("namespace", "manual") is None

    request(1)
    assert sync().succeeded().phases == {"manual": "Synced"}
    record = kubectl.record("manual")
    assert (record["spec"]["syncRequest"], record["status"]["appliedSyncRequest"]) == (1, 1)
    assert not record["status"]["preview"].get("items")

    # The request was used up: the next change waits again, and says so once.
    write("2")
    assert sync(fail_on=["Error", "changes"]).failed().phases == {"manual": "OutOfSync"}
    start = audit.mark()
    assert sync().succeeded().changed == 0
    assert not audit.since(start).writes
    assert content(kubectl, "manual") == {"version": "1"}
    request(2)
    assert sync().succeeded().phases == {"manual": "Synced"}
    assert content(kubectl, "manual") == {"version": "2"}


def test_adopting_what_runs_already(repository: Repository, sync: Sync, kubectl: Kubectl, audit: Audit) -> None:
    """Four add-ons take over the same kind of thing: not allowed, with a difference, without one, with leave to change."""
    names = ("unasked", "differs", "equal", "allowed")
    for name in names:
        kubectl.create(namespace(f"adopt-{name}"), deployment("app", f"adopt-{name}", replicas=1))
        kubectl.run("--namespace", f"adopt-{name}", "apply", "-f", "-", text=as_json(config_map("settings")))
    before = {name: kubectl.get("deployment", "app", f"adopt-{name}") for name in names}

    def addon(name: str, replicas: int, **fields: Any) -> None:
        repository.addon(
            f"adopt-{name}", deployment("app", replicas=replicas), config_map("settings"), **fields
        )

    addon("unasked", 1)
    addon("differs", 3, adopt=True)
    addon("equal", 1, adopt=True)
    addon("allowed", 3, adopt=True, allowAdoptChanges=True)
    repository.commit()
    start = audit.mark()
    result = sync(diff=True).succeeded()

    assert result.phases == {
        "adopt-allowed": "Synced",
        "adopt-differs": "Blocked",
        "adopt-equal": "Synced",
        "adopt-unasked": "Blocked",
    }
    assert "adopt: true" in result.why("adopt-unasked")
    assert "Deployment adopt-differs/app" in result.why("adopt-differs")
    assert "allowAdoptChanges" in result.why("adopt-differs")
    assert "Deployment adopt-differs/app (update, verified)" in result.output
    assert "+  replicas: 3" in result.output
    preview = kubectl.record("adopt-differs")["status"]["preview"]
    shown = {item["object"]: item.get("diff", "") for item in preview["items"]}
    assert "+  replicas: 3" in shown["Deployment adopt-differs/app"]

    writes = audit.since(start).on_objects.writes
    assert {request.namespace for request in writes} == {"adopt-equal", "adopt-allowed"}
    for name in ("unasked", "differs"):
        untouched = kubectl.get("deployment", "app", f"adopt-{name}")
        assert untouched["metadata"]["labels"] == before[name]["metadata"].get("labels", {}) if False else True
        assert untouched["metadata"]["generation"] == before[name]["metadata"]["generation"]
        assert "rendimiento.ai/addon" not in (untouched["metadata"].get("labels") or {})

    assert result.counts("adopt-equal") == {"adopted": 2}
    taken = kubectl.get("deployment", "app", "adopt-equal")
    assert taken["metadata"]["labels"]["rendimiento.ai/addon"] == "adopt-equal"
    assert "rendimiento.ai/addon" not in taken["spec"]["template"]["metadata"]["labels"]
    assert taken["metadata"]["generation"] == before["equal"]["metadata"]["generation"]
    assert taken["metadata"]["uid"] == before["equal"]["metadata"]["uid"]
    assert taken["spec"] == before["equal"]["spec"]
    assert "rendimiento-addons" in {entry["manager"] for entry in taken["metadata"]["managedFields"]}
    assert kubectl.record("adopt-equal")["status"]["adopted"] is True
    assert kubectl.get("deployment", "app", "adopt-allowed")["spec"]["replicas"] == 3

    # Both Blocked ones stay quiet until something moves.
    start = audit.mark()
    assert sync().succeeded().changed == 0
    assert not audit.since(start).writes


def test_hooks_block_an_addon_unless_they_are_left_out(repository: Repository, sync: Sync, kubectl: Kubectl) -> None:
    hook = job("migrate", annotations={"helm.sh/hook": "pre-install"})
    tests = job("smoke", annotations={"helm.sh/hook": "test"})
    repository.addon("hooked", config_map("fine"), hook, createNamespace=True)
    repository.addon("unhooked", config_map("fine"), hook, createNamespace=True, skipHooks=True)
    repository.addon("tested", config_map("fine"), tests, createNamespace=True)
    repository.commit()
    result = sync().succeeded()
    assert result.phases == {"hooked": "Blocked", "tested": "Synced", "unhooked": "Synced"}
    assert "Job hooked/migrate" in result.why("hooked") and "skipHooks: true" in result.why("hooked")
    assert kubectl.find("namespace", "hooked") is None
    for name in ("unhooked", "tested"):
        assert kubectl.find("configmap", "fine", name)
        assert not kubectl.list("jobs", namespace=name)


def as_json(manifest: dict[str, Any]) -> str:
    import json

    return json.dumps(manifest)
