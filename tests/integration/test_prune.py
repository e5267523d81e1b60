"""What leaves the repository: objects are pruned, data stays, and a removed definition leaves everything running."""

from __future__ import annotations

from tests.integration.audit import Audit
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, identities
from tests.integration.objects import (
    config_map,
    custom,
    custom_kind,
    deployment,
    namespace,
    volume,
    volume_claim,
)
from tests.integration.playbooks import Sync

GROUP = "shop.prune.test"


def test_objects_are_pruned_and_data_is_kept(repository: Repository, sync: Sync, kubectl: Kubectl, audit: Audit) -> None:
    stays = [config_map("stays"), volume("prune-disk"), custom_kind(GROUP, "Basket")]
    data = [namespace("prune-data"), volume_claim("disk", volume="prune-disk")]
    handed_out = config_map("policy", annotations={"helm.sh/resource-policy": "keep"})
    repository.addon("pruned", *stays, *data, handed_out, config_map("goes"), deployment("goes"), createNamespace=True)
    repository.commit()
    assert sync().succeeded().phases == {"pruned": "Synced"}
    claim = kubectl.get("pvc", "disk", "pruned")
    assert claim["status"]["phase"] == "Bound"

    repository.addon("pruned", config_map("stays"), createNamespace=True)
    repository.commit()
    preview = sync(check=True, diff=True).succeeded()
    assert "+++ after: ConfigMap pruned/goes (prune, verified)" in preview.output
    assert kubectl.find("configmap", "goes", "pruned")

    start = audit.mark()
    pruned = sync().succeeded()
    assert pruned.phases == {"pruned": "Synced"}
    assert pruned.counts("pruned") == {"unchanged": 2, "pruned": 2, "kept": 5} == preview.counts("pruned")
    deleted = {(request.resource, request.name) for request in audit.since(start).on_objects if request.verb == "delete"}
    assert deleted == {("configmaps", "goes"), ("deployments", "goes")}
    assert kubectl.find("configmap", "goes", "pruned") is None
    assert kubectl.find("deployment", "goes", "pruned") is None

    kept = "\n".join(pruned.addons["pruned"]["kept_objects"])
    for protected in (
        f"CustomResourceDefinition baskets.{GROUP}",
        "Namespace prune-data",
        "PersistentVolume prune-disk",
        "PersistentVolumeClaim pruned/disk",
    ):
        assert f"{protected}: {protected.split()[0]} is a protected kind" in kept
    assert "ConfigMap pruned/policy: annotation helm.sh/resource-policy: keep" in kept
    assert kubectl.get("pvc", "disk", "pruned")["metadata"]["uid"] == claim["metadata"]["uid"]
    assert kubectl.get("crd", f"baskets.{GROUP}")
    assert kubectl.get("namespace", "prune-data")
    states = {entry["name"]: entry["state"] for entry in kubectl.record("pruned")["status"]["objects"]}
    assert states == {
        "pruned": "applied",
        "stays": "applied",
        "policy": "retained",
        "disk": "retained",
        "prune-disk": "retained",
        "prune-data": "retained",
        f"baskets.{GROUP}": "retained",
    }

    # Kept objects are still reported afterwards, but they are no reason to do anything.
    start = audit.mark()
    again = sync().succeeded()
    assert (again.changed, again.counts("pruned")) == (0, {"unchanged": 2, "kept": 5})
    assert not audit.since(start).writes


def test_without_prune_nothing_is_deleted_and_nothing_forgotten(
    repository: Repository, sync: Sync, kubectl: Kubectl
) -> None:
    repository.addon("hoarder", config_map("new"), config_map("old"), createNamespace=True, prune=False)
    repository.commit()
    sync().succeeded()
    repository.addon("hoarder", config_map("new"), createNamespace=True, prune=False)
    repository.commit()
    left = sync().succeeded()
    assert left.counts("hoarder") == {"unchanged": 2, "kept": 1}
    assert "ConfigMap hoarder/old: left the source; prune is off" in left.addons["hoarder"]["kept_objects"]
    assert kubectl.find("configmap", "old", "hoarder")

    # Switched on later, pruning still knows what left before.
    repository.addon("hoarder", config_map("new"), createNamespace=True, prune=True)
    repository.commit()
    assert sync().succeeded().counts("hoarder") == {"unchanged": 2, "pruned": 1}
    assert kubectl.find("configmap", "old", "hoarder") is None


def test_only_the_very_object_that_was_applied_is_deleted(repository: Repository, sync: Sync, kubectl: Kubectl) -> None:
    names = ("relabelled", "remade", "foreign")
    repository.addon("proof", config_map("stays"), *map(config_map, names), createNamespace=True)
    repository.commit()
    sync().succeeded()

    kubectl.run("--namespace", "proof", "label", "configmap", "relabelled", "rendimiento.ai/addon-")
    kubectl.run("--namespace", "proof", "delete", "configmap", "remade", "foreign")
    kubectl.create(config_map("remade", "proof", labels={"rendimiento.ai/addon": "proof"}), config_map("foreign", "proof"))
    repository.addon("proof", config_map("stays"), createNamespace=True)
    repository.commit()
    result = sync().succeeded()
    assert result.counts("proof").get("pruned") is None, result.output
    for name in names:
        assert kubectl.find("configmap", name, "proof"), f"{name} was deleted"


def test_a_mass_deletion_has_to_be_allowed(repository: Repository, sync: Sync, kubectl: Kubectl) -> None:
    many = [config_map(f"number-{number}") for number in range(12)]
    repository.addon("mass", config_map("stays"), *many, createNamespace=True)
    repository.addon("modest", config_map("stays"), *many[:3], createNamespace=True, maxDelete=2)
    repository.commit()
    sync().succeeded()

    repository.addon("mass", config_map("stays"), createNamespace=True)
    repository.addon("modest", config_map("stays"), createNamespace=True, maxDelete=2)
    repository.commit()
    refused = sync().succeeded()
    assert refused.counts("mass") == {"unchanged": 2, "kept": 12}
    assert refused.counts("modest") == {"unchanged": 2, "kept": 3}
    assert "12 of 14 objects would be pruned. Set maxDelete to allow that" in refused.why("mass")
    assert "3 objects would be pruned, maxDelete is 2" in refused.why("modest")
    assert len(kubectl.list("configmaps", "rendimiento.ai/addon=mass")) == 13

    repository.addon("mass", config_map("stays"), createNamespace=True, maxDelete=12)
    repository.commit()
    assert sync().succeeded().counts("mass") == {"unchanged": 2, "pruned": 12}


def test_a_source_that_is_empty_or_gone_prunes_nothing(repository: Repository, sync: Sync, kubectl: Kubectl) -> None:
    repository.addon("emptied", config_map("data"), namespace="sources", createNamespace=True)
    repository.addon("blank", config_map("also-data"), namespace="sources")
    repository.addon("vanished", config_map("more-data"), namespace="sources")
    # Plain add-ons without a namespace of their own come after the one that makes it.
    repository.define("blank", namespace="sources", dependsOn=["emptied"])
    repository.define("vanished", namespace="sources", dependsOn=["emptied"])
    repository.commit()
    assert set(sync().succeeded().phases.values()) == {"Synced"}

    repository.define("blank", namespace="sources")
    repository.define("vanished", namespace="sources")
    repository.write("emptied/objects.yaml", "# nothing left\n")
    repository.define("emptied", namespace="sources")
    repository.remove("blank/objects.yaml")
    repository.write("blank/README.md", "Nothing here yet.\n")
    repository.remove("vanished")
    repository.commit()
    result = sync().failed()
    assert "an empty render never prunes" in result.why("emptied")
    assert "git.path: blank holds no .yaml, .yml or .json file" in result.why("blank")
    assert "vanished: commit" in result.why("vanished") and "no such folder" in result.why("vanished")
    for name in ("data", "also-data", "more-data"):
        assert kubectl.find("configmap", name, "sources"), f"{name} was deleted"


def test_a_removed_definition_leaves_the_software_running(
    repository: Repository, sync: Sync, kubectl: Kubectl, audit: Audit
) -> None:
    software = [custom_kind(GROUP, "Till"), deployment("app"), custom(GROUP, "Till", "one", size=1)]
    repository.addon("leaver", *software, createNamespace=True)
    repository.addon("stayer", config_map("stays"), createNamespace=True)
    repository.commit()
    sync().succeeded()
    inventory = identities(kubectl.record("leaver"))
    app = kubectl.get("deployment", "app", "leaver")

    repository.remove(repository.file_of("leaver"))
    repository.commit()
    preview = sync(check=True).succeeded()
    assert preview.addons["leaver"]["pending"]
    assert kubectl.record("leaver")

    start = audit.mark()
    left = sync().succeeded()
    assert "its definition left git: 4 objects keep running" in left.why("leaver")
    assert not audit.since(start).on_objects.writes
    assert kubectl.find("radd", "leaver") is None
    assert kubectl.get("deployment", "app", "leaver")["metadata"]["uid"] == app["metadata"]["uid"]
    tombstone = kubectl.get("secret", "addon-leaver-tombstone", "rendimiento-system")
    assert tombstone["type"] == "rendimiento.ai/state"
    assert tombstone["metadata"]["labels"] == {"rendimiento.ai/state-of": "leaver"}
    assert set(sync().succeeded().phases) == {"stayer"}

    # The definition returns, with a new version of one object and without another one.
    repository.addon("leaver", custom_kind(GROUP, "Till"), deployment("app"), createNamespace=True)
    repository.commit()
    start = audit.mark()
    back = sync().succeeded()
    assert back.phases == {"leaver": "Synced", "stayer": "Synced"}
    assert back.counts("leaver") == {"unchanged": 3, "pruned": 1}, "it has to know its objects again, and prune as before"
    assert {str(request.verb) for request in audit.since(start).on_objects.writes} == {"delete"}
    assert identities(kubectl.record("leaver")) == inventory - {("Till", "leaver", "one")}
    assert kubectl.find("secret", "addon-leaver-tombstone", "rendimiento-system") is None


def test_a_definition_that_returns_unchanged_changes_nothing(
    repository: Repository, sync: Sync, kubectl: Kubectl, audit: Audit
) -> None:
    repository.addon("returner", config_map("one"), deployment("two"), createNamespace=True)
    repository.commit()
    sync().succeeded()
    before = kubectl.record("returner")["status"]
    definition = (repository.path / repository.file_of("returner")).read_text()
    repository.remove(repository.file_of("returner"))
    repository.write(f"{repository.folder}/.gitkeep", "")
    repository.commit()
    assert sync().succeeded().addons["returner"]["phase"] == "-"

    repository.write(repository.file_of("returner"), definition)
    repository.commit()
    start = audit.mark()
    back = sync().succeeded()
    assert back.counts("returner") == {"unchanged": 3}
    requests = audit.since(start)
    assert not requests.on_objects.writes, requests.on_objects.writes
    after = kubectl.record("returner")["status"]
    for field in ("objects", "appliedHash", "renderKey", "history"):
        assert after[field] == before[field], f"{field} was not taken over from the tombstone"
    assert after["phase"] == "Synced"
