"""What is not deleted and made anew although its source asks for that: data would go with it, or it moved meanwhile."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import pytest

from local_cluster import Cluster
from tests.integration.kubectl import Kubectl, Object, wait_until
from tests.integration.objects import custom, custom_kind, volume, volume_claim
from tests.integration.stage import Runs, Stage, all_synced, item_of

GROUP = "staying.test"
BASES = f"bases.{GROUP}"
SCOPED, STORED = f"scopeds.{GROUP}", f"storeds.{GROUP}"
BASE_NAMES = {"staying": ("owner", "bare"), "staying-moved": ("late", "again", "edited")}
PROTECTED = [("crd", SCOPED), ("crd", STORED), ("persistentvolume", "staying")]


def base_kind() -> Object:
    """Of a database, say: its size can't be changed, its colour can."""
    made = custom_kind(GROUP, "Base")
    (version,) = made["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["size"]["x-kubernetes-validations"] = [{"rule": "self == oldSelf"}]
    return made


def replaceable(made: Object) -> Object:
    made = copy.deepcopy(made)
    made["metadata"]["annotations"] = {"rendimiento.ai/replace": "true"}
    return made


def base(name: str, size: int) -> Object:
    return replaceable(custom(GROUP, "Base", name, size=size, color="red"))


def stored_as(version: str) -> Object:
    made = custom_kind(GROUP, "Stored")
    made["spec"]["versions"][0]["name"] = version
    return replaceable(made)


def scoped(scope: str) -> Object:
    made = replaceable(custom_kind(GROUP, "Scoped"))
    made["spec"]["scope"] = scope
    return made


def volume_at(path: str) -> Object:
    made = replaceable(volume("staying"))
    made["spec"]["hostPath"]["path"] = path
    return made


def give_claim(kubectl: Kubectl, owner: str, namespace: str) -> None:
    """Make a claim that goes with its owner, as a database operator does."""
    live = kubectl.get(BASES, owner, namespace)
    reference = {"apiVersion": live["apiVersion"], "kind": live["kind"], "name": owner, "uid": live["metadata"]["uid"]}
    claim = volume_claim(f"data-{owner}", namespace, volume="nowhere")
    kubectl.create({**claim, "metadata": {**claim["metadata"], "ownerReferences": [reference]}})


@dataclass(frozen=True)
class Staying:
    """``meanwhile`` are the uids when everything was planned, and what was changed in between."""

    before: dict[str, str]
    preview: Runs
    meanwhile: dict[str, str]
    sync: Runs
    after: dict[str, str]


@pytest.fixture(scope="module")
def staying(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Staying:
    stage = Stage.of(tmp_path_factory.mktemp("staying"), "staying", bootstrapped, kubectl)

    def write(size: int, protected: list[Object]) -> None:
        for addon, names in BASE_NAMES.items():
            stage.addon(addon, *(base(name, size) for name in names), wait=0, dependsOn=["staying-base"])
        stage.repository.addon("staying-protected", *protected, wait=0)
        stage.repository.commit()

    def uids() -> dict[str, str]:
        places = [(BASES, name, namespace) for namespace, names in BASE_NAMES.items() for name in names]
        everything = [*places, *((kind, name, None) for kind, name in PROTECTED)]
        return {name: str(kubectl.get(kind, name, place)["metadata"]["uid"]) for kind, name, place in everything}

    meanwhile: dict[str, str] = {}

    def interfere() -> None:
        give_claim(kubectl, "late", "staying-moved")
        again = kubectl.get(BASES, "again", "staying-moved")
        kubectl.run("--namespace", "staying-moved", "delete", BASES, "again")
        metadata = {name: again["metadata"][name] for name in ("name", "namespace", "labels", "annotations")}
        kubectl.create({**again, "metadata": metadata})
        kubectl.merge(BASES, "edited", {"spec": {"color": "blue"}}, "staying-moved")
        meanwhile.update(uids())

    stage.repository.addon("staying-base", base_kind(), wait=30)
    write(1, [scoped("Namespaced"), stored_as("v1beta1"), volume_at("/a")])
    all_synced(stage.sync())
    wait_until(lambda: kubectl.get("crd", STORED)["status"]["storedVersions"] == ["v1beta1"], "its version is recorded")
    give_claim(kubectl, "owner", "staying")
    before = uids()
    write(2, [scoped("Cluster"), stored_as("v1"), volume_at("/b")])
    preview = stage.preview()
    sync = stage.engine.run(check=False, meanwhile=interfere)
    return Staying(before, preview, meanwhile, sync, uids())


def test_what_owns_a_claim_is_not_replaced_and_the_reason_is_named(staying: Staying, kubectl: Kubectl) -> None:
    for runs in (staying.preview, staying.sync):
        item = item_of(runs["staying"], "Base", "owner")
        assert (item.action, item.immutable) == ("blocked", ["spec.size"])
        assert "not replaced: PersistentVolumeClaim staying/data-owner would go with it: it is its owner" in item.reason
    assert staying.sync["staying"].outcome.phase == "Error"
    assert staying.after["owner"] == staying.before["owner"]
    assert "deletionTimestamp" not in kubectl.get("pvc", "data-owner", "staying")["metadata"]


def test_the_same_without_a_claim_is_replaced(staying: Staying, kubectl: Kubectl) -> None:
    assert item_of(staying.preview["staying"], "Base", "bare").action == "replace"
    assert staying.after["bare"] != staying.before["bare"]
    assert kubectl.get(BASES, "bare", "staying")["spec"]["size"] == 2


def test_what_became_the_owner_of_a_claim_since_the_plan_is_not_replaced(staying: Staying, kubectl: Kubectl) -> None:
    assert item_of(staying.sync["staying-moved"], "Base", "late").action == "replace"
    assert "Base staying-moved/late" in staying.sync["staying-moved"].failure
    assert staying.after["late"] == staying.before["late"]
    assert "deletionTimestamp" not in kubectl.get("pvc", "data-late", "staying-moved")["metadata"]


def test_what_was_deleted_and_made_again_since_the_plan_is_not_replaced(staying: Staying) -> None:
    assert item_of(staying.sync["staying-moved"], "Base", "again").action == "replace"
    assert staying.meanwhile["again"] != staying.before["again"]
    assert staying.after["again"] == staying.meanwhile["again"]
    run = staying.sync["staying-moved"]
    assert run.outcome.phase == "Error"
    assert "Base staying-moved/again: it was deleted and made again since the plan was made" in run.failure
    assert "Nothing was changed on it; run again" in run.failure


def test_what_was_edited_since_the_plan_is_not_replaced(staying: Staying, kubectl: Kubectl) -> None:
    assert item_of(staying.sync["staying-moved"], "Base", "edited").action == "replace"
    assert staying.after["edited"] == staying.before["edited"]
    assert kubectl.get(BASES, "edited", "staying-moved")["spec"] == {"size": 1, "color": "blue"}
    assert "Base staying-moved/edited" in staying.sync["staying-moved"].failure


@pytest.mark.parametrize(
    ("kind", "name", "field", "said"),
    [
        ("CustomResourceDefinition", SCOPED, "spec.scope", "A CustomResourceDefinition is never deleted automatically"),
        ("CustomResourceDefinition", STORED, "spec.versions", "Objects may be stored as v1beta1: migrate them"),
        ("PersistentVolume", "staying", "spec.persistentvolumesource", "A PersistentVolume is never deleted"),
    ],
)
def test_protected_kinds_are_never_replaced(staying: Staying, kind: str, name: str, field: str, said: str) -> None:
    for runs in (staying.preview, staying.sync):
        item = item_of(runs["staying-protected"], kind, name)
        assert (item.action, item.verdict, item.immutable) == ("blocked", "verified", [field])
        assert said in item.reason
    assert staying.after[name] == staying.before[name]
