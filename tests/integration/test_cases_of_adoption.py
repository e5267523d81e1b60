"""Taking over what runs: what belongs to somebody else, what others own in part, and what tools left behind.

Each test with an id is one report of what other tools did to objects that they were to adopt.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.audit import Audit, Requests
from tests.integration.engine import AddonRun, Bench
from tests.integration.kubectl import Kubectl, Object, inventory
from tests.integration.objects import config_map, deployment, namespace, secret

ASK = {"rendimiento.ai/adopt": "true"}
HINT = 'annotate it in the source with rendimiento.ai/adopt: "true"'
OWNER = "rendimiento.ai/addon"


def of_release(name: str, place: str, release: str, release_place: str, **fields: Any) -> Object:
    annotations = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": release_place}
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    return config_map(name, place, annotations=annotations, labels=labels, **fields)


def asked(manifest: Object) -> Object:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": ASK}}


def applied(kubectl: Kubectl, manager: str, manifest: Object, *options: str) -> None:
    text = json.dumps(manifest)
    kubectl.run("apply", "--server-side", f"--field-manager={manager}", *options, "-f", "-", text=text)


# What belongs to somebody else


@dataclass(frozen=True)
class Belongings:
    """What others have is to be adopted; then with the source asking for it."""

    preview: dict[str, AddonRun]
    run: dict[str, AddonRun]
    writes: Requests
    before: dict[str, Object]
    refused: dict[str, Object]
    asked: dict[str, AddonRun]
    after: dict[str, Object]
    record: Object
    let_go: dict[str, AddonRun]
    at_last: dict[str, AddonRun]
    in_the_end: dict[str, Object]
    landlord: Object


@pytest.fixture(scope="module")
def belongings(new_bench: Callable[[str], Bench], kubectl: Kubectl, audit: Audit) -> Belongings:
    bench = new_bench("belongings")
    place = "belongings"
    kubectl.create(namespace(place))
    # An add-on that is left out of the later runs has one object, of which somebody took the label off.
    bench.repository.addon("landlord", config_map("unlabelled", place), config_map("labelled", place), namespace=place)
    bench.repository.commit()
    assert bench.sync()["landlord"].outcome.phase == "Synced"
    kubectl.run("--namespace", place, "label", "configmap", "unlabelled", f"{OWNER}-")

    kubectl.create(deployment("master", place, replicas=0))
    uid = kubectl.get("deployment", "master", place)["metadata"]["uid"]
    master = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "master", "uid": uid, "controller": True}
    # Made by helm, so that its ownership would be absorbed, and by somebody else.
    text = json.dumps(of_release("released", place, "old", place))
    kubectl.run("create", "-f", "-", "--field-manager=helm", text=text)
    text = json.dumps(of_release("own", place, "belonging", place))
    kubectl.run("create", "-f", "-", "--field-manager=helm", text=text)
    elsewhere = of_release("elsewhere", place, "belonging", "another-namespace")
    kubectl.create(elsewhere, config_map("controlled", place, ownerReferences=[master]))

    names = ("released", "elsewhere", "own", "controlled", "unlabelled", "labelled")
    bench.repository.addon("belonging", *(config_map(name, place) for name in names), namespace=place, adopt=True,
                           allowAdoptChanges=True)  # fmt: skip
    bench.repository.commit()
    before = kubectl.everything("configmaps")
    preview = bench.preview(only=["belonging"])
    mark = audit.mark()
    run = bench.sync(only=["belonging"])
    writes = audit.since(mark).writes.on_objects
    refused = kubectl.everything("configmaps")
    kept = [asked(config_map(name, place)) for name in names if name not in ("controlled", "released")]
    # By a patch of the definition, as one does where the source is somebody else's.
    patch = {"patch": json.dumps(asked(config_map("released", place))), "target": {"name": "released"}}
    bench.repository.addon("belonging", config_map("released", place), *kept, namespace=place, adopt=True,
                           patches=[patch])  # fmt: skip
    bench.repository.commit()
    asking = bench.sync(only=["belonging"])
    record = kubectl.record("belonging")
    after = kubectl.everything("configmaps")
    # The former owner gives them up in its source, too; it comes alone, then both.
    bench.repository.addon("landlord", config_map("stays", place), namespace=place)
    bench.repository.commit()
    let_go = bench.sync(only=["landlord"])
    at_last = bench.sync()
    return Belongings(
        preview, run, writes, before, refused, asking, after, record, let_go, at_last,
        kubectl.everything("configmaps"), kubectl.record("landlord"),
    )  # fmt: skip


FOREIGN = [
    ("released", f"belongs to Helm release old in namespace belongings. To take it from there, {HINT}"),
    ("elsewhere", f"belongs to Helm release belonging in namespace another-namespace. To take it from there, {HINT}"),
    (
        "controlled",
        "belongs to Deployment master, whose controller made it and goes on writing it: remove it from the source",
    ),
    ("unlabelled", f"belongs to add-on landlord, which is not part of this run. To take it from there, {HINT}"),
    ("labelled", f"belongs to add-on landlord, which is not part of this run. To take it from there, {HINT}"),
]


@pytest.mark.parametrize(("name", "why"), FOREIGN)
def test_b27_what_others_have_is_not_adopted_though_equal_and_its_owner_is_named(
    belongings: Belongings, name: str, why: str
) -> None:
    for run in (belongings.preview, belongings.run):
        item = run["belonging"].item(f"ConfigMap belongings/{name}")
        assert (item.action, item.verdict, item.reason) == ("blocked", "verified", why)
    title = f"ConfigMap belongings/{name}"
    assert belongings.refused[title] == belongings.before[title]


def test_b27_nothing_of_the_add_on_is_written_then(belongings: Belongings) -> None:
    assert belongings.run["belonging"].outcome.phase == "Error"
    assert not belongings.writes


def test_b27_the_add_ons_own_former_release_is_adopted(belongings: Belongings) -> None:
    for run in (belongings.preview, belongings.run):
        assert run["belonging"].item("ConfigMap belongings/own").action == "adopt"


@pytest.mark.parametrize("name", ["released", "elsewhere", "unlabelled", "labelled"])
def test_b27_the_source_can_ask_for_single_objects(belongings: Belongings, name: str) -> None:
    assert belongings.asked["belonging"].outcome.phase == "Synced", belongings.asked["belonging"].failure
    live = belongings.after[f"ConfigMap belongings/{name}"]
    assert live["metadata"]["labels"][OWNER] == "belonging"
    assert live["metadata"]["uid"] == belongings.before[f"ConfigMap belongings/{name}"]["metadata"]["uid"]
    assert f"ConfigMap belongings/{name}" in inventory(belongings.record)


@pytest.mark.parametrize("name", ["released", "elsewhere"])
def test_b27_the_marks_of_another_release_go_with_that_and_are_shown(belongings: Belongings, name: str) -> None:
    metadata = belongings.after[f"ConfigMap belongings/{name}"]["metadata"]
    assert (metadata["annotations"], metadata["labels"]) == (ASK, {OWNER: "belonging"})
    was = belongings.before[f"ConfigMap belongings/{name}"]["metadata"]["annotations"]
    shown = belongings.asked["belonging"].item(f"ConfigMap belongings/{name}").unified().splitlines()
    assert {f"-    {mark}: {value}" for mark, value in was.items()} <= set(shown), shown


def test_b27_the_add_on_that_had_it_lets_go_of_it_and_leaves_it_alone(belongings: Belongings) -> None:
    for run in (belongings.let_go["landlord"], *belongings.at_last.values()):
        assert (run.outcome.phase in ("Synced", ""), run.failure, run.outcome.pruned) == (True, "", []), run.name
    titles = [f"ConfigMap belongings/{name}" for name in ("labelled", "unlabelled")]
    assert sorted(belongings.let_go["landlord"].outcome.notes) == [
        f"{title}: belongs to add-on belonging now" for title in titles
    ]
    assert not set(titles) & inventory(belongings.landlord).keys()
    for title in titles:
        assert belongings.in_the_end[title] == belongings.after[title]


def test_b27_there_is_no_asking_for_what_a_controller_has(new_bench: Callable[[str], Bench], kubectl: Kubectl) -> None:
    place = "controlled"
    kubectl.create(namespace(place), deployment("master", place, replicas=0))
    uid = kubectl.get("deployment", "master", place)["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "master", "uid": uid}
    # An owner that is no controller is nobody to ask.
    kubectl.create(
        config_map("controlled", place, ownerReferences=[{**owner, "controller": True}]),
        config_map("owned", place, ownerReferences=[owner]),
    )
    bench = new_bench(place)
    bench.repository.addon(place, asked(config_map("controlled")), asked(config_map("owned")))
    bench.repository.commit()
    run = bench.sync()[place]
    assert (run.item("ConfigMap controlled/controlled").action, run.outcome.phase) == ("blocked", "Error")
    assert run.item("ConfigMap controlled/owned").action == "update"


# What others own in part


@dataclass(frozen=True)
class Conflicts:
    """Objects that a program called lambda applied are to be adopted, equal ones and others; then asked for by name."""

    preview: dict[str, AddonRun]
    run: dict[str, AddonRun]
    refused: dict[str, Object]
    asked: dict[str, AddonRun]
    after: dict[str, Object]
    allowed: dict[str, AddonRun]
    taken: dict[str, Object]
    taken_back: dict[str, AddonRun]
    again: dict[str, AddonRun]


@pytest.fixture(scope="module")
def conflicts(new_bench: Callable[[str], Bench], kubectl: Kubectl) -> Conflicts:
    bench = new_bench("conflicts")
    place = "conflicts"
    kubectl.create(namespace(place))
    for name in ("equal", "other", "by-hand"):
        applied(kubectl, "lambda", config_map(name, place, {"mapRoles": "A", "other": "x"}))
    applied(kubectl, "lambda", secret("hidden", place, {"password": "swordfish-of-lambda"}))
    applied(kubectl, "lambda", config_map("equal-beside", place))
    # What a person changed is a change like any other.
    kubectl.run("--namespace", place, "patch", "configmap", "by-hand", "--type=merge", "-p", '{"data":{"hand":"1"}}',
                "--field-manager=kubectl-edit")  # fmt: skip

    def define(*, ask: bool = False, allow: bool = False) -> None:
        make = asked if ask else dict
        fields: dict[str, Any] = {"namespace": place, "adopt": True}
        bench.repository.addon("equal", config_map("equal", data={"mapRoles": "A"}), **fields)
        other = make(config_map("other", data={"mapRoles": "B"}))
        bench.repository.addon(
            "contested", other, make(secret("hidden", data={"password": "swordfish-of-ours"})),
            config_map("equal-beside"), config_map("new"), **fields, allowAdoptChanges=allow,
        )  # fmt: skip
        bench.repository.addon(
            "by-hand", config_map("by-hand", data={"hand": "2"}), **fields, allowAdoptChanges=True
        )  # fmt: skip
        bench.repository.commit()

    define(allow=True)
    preview = bench.preview()
    run = bench.sync()
    refused = kubectl.everything("configmaps", "secrets")
    define(ask=True)
    asking = bench.sync()
    after = kubectl.everything("configmaps", "secrets")
    define(ask=True, allow=True)
    allowed = bench.sync()
    taken = kubectl.everything("configmaps", "secrets")
    # Once the object is the add-on's, git says what is in it: another program's value is taken back, and told.
    applied(kubectl, "lambda", config_map("equal", place, {"mapRoles": "C", "other": "x"}), "--force-conflicts")
    taken_back = bench.sync()
    return Conflicts(preview, run, refused, asking, after, allowed, taken, taken_back, bench.preview())


def test_b28_the_same_value_is_shared_and_adopted(conflicts: Conflicts) -> None:
    for run in (conflicts.preview, conflicts.run):
        assert run["equal"].item("ConfigMap conflicts/equal").action == "adopt"
        assert run["equal"].lines("ConfigMap conflicts/equal") == ["shares .data.mapRoles with lambda"]
    assert conflicts.run["equal"].outcome.phase == "Synced"
    assert conflicts.refused["ConfigMap conflicts/equal"]["data"] == {"mapRoles": "A", "other": "x"}


def test_b28_another_value_is_a_conflict_with_path_both_values_and_manager(conflicts: Conflicts) -> None:
    for run in (conflicts.preview, conflicts.run):
        item = run["contested"].item("ConfigMap conflicts/other")
        assert (item.action, item.verdict) == ("update", "verified")
        assert {"-  mapRoles: A", "+  mapRoles: B"} <= set(item.unified().splitlines())
        assert run["contested"].lines("ConfigMap conflicts/other") == ["takes .data.mapRoles from lambda"]
        gate, reason = run["contested"].gate
        assert gate == "adoption"
        assert "ConfigMap conflicts/other (.data.mapRoles from lambda)" in reason
        assert "Secret conflicts/hidden (.data.password from lambda)" in reason
        assert 'rendimiento.ai/adopt: "true"' in reason


def test_b28_the_values_of_a_secret_are_hidden(conflicts: Conflicts) -> None:
    shown = conflicts.preview["contested"].item("Secret conflicts/hidden").unified()
    assert shown.count("password: <secret ") == 2
    assert "swordfish" not in shown


def test_b28_nothing_is_written_even_if_changes_are_allowed(conflicts: Conflicts) -> None:
    assert conflicts.run["contested"].outcome.phase == "Blocked"
    assert conflicts.refused["ConfigMap conflicts/other"]["data"] == {"mapRoles": "A", "other": "x"}
    assert "ConfigMap conflicts/new" not in conflicts.refused
    assert OWNER not in conflicts.refused["ConfigMap conflicts/equal-beside"]["metadata"].get("labels", {})


def test_b28_what_is_asked_for_needs_no_leave_and_what_is_new_beside_it_does(conflicts: Conflicts) -> None:
    gate, reason = conflicts.asked["contested"].gate
    assert gate == "adoption"
    assert "ConfigMap conflicts/new" in reason
    assert "conflicts/other" not in reason
    assert "conflicts/hidden" not in reason
    for title in ("ConfigMap conflicts/other", "Secret conflicts/hidden"):
        assert conflicts.after[title] == conflicts.refused[title]


def test_b28_with_leave_what_is_asked_for_is_taken_and_nothing_beside_it(conflicts: Conflicts) -> None:
    run = conflicts.allowed["contested"]
    assert run.outcome.phase == "Synced", run.gate
    assert run.lines("ConfigMap conflicts/other") == ["takes .data.mapRoles from lambda"]
    assert conflicts.taken["ConfigMap conflicts/other"]["data"] == {"mapRoles": "B", "other": "x"}
    password = conflicts.taken["Secret conflicts/hidden"]["data"]["password"]
    assert base64.b64decode(password).decode() == "swordfish-of-ours"
    assert "ConfigMap conflicts/new" in conflicts.taken


def test_b28_what_a_person_changed_needs_no_more_than_leave_for_changes(conflicts: Conflicts) -> None:
    assert conflicts.run["by-hand"].lines("ConfigMap conflicts/by-hand") == ["takes .data.hand from kubectl-edit"]
    assert conflicts.run["by-hand"].outcome.phase == "Synced"
    assert conflicts.refused["ConfigMap conflicts/by-hand"]["data"] == {"hand": "2", "mapRoles": "A", "other": "x"}


def test_b28_of_an_object_that_is_ours_the_field_is_taken_back_and_told(conflicts: Conflicts) -> None:
    assert conflicts.taken_back["equal"].lines("ConfigMap conflicts/equal") == ["takes .data.mapRoles from lambda"]
    assert conflicts.taken_back["equal"].outcome.phase == "Synced"
    assert not conflicts.again["equal"].planned.pending  # type: ignore[union-attr]


def test_b28_only_what_is_asked_for_is_forced(new_bench: Callable[[str], Bench], kubectl: Kubectl) -> None:
    place = "forced"
    kubectl.create(namespace(place))
    for name in ("wanted", "unwanted"):
        applied(kubectl, "lambda", config_map(name, place, {"mapRoles": "A", "other": "x"}))
    bench = new_bench(place)

    def define(*objects: Object) -> None:
        bench.repository.addon(place, *objects)
        bench.repository.commit()

    wanted, unwanted = (config_map(name, data={"mapRoles": "B"}) for name in ("wanted", "unwanted"))
    define(asked(wanted), unwanted)
    assert "ConfigMap forced/wanted" not in bench.sync()[place].gate[1]
    define(asked(wanted))
    # Neither `adopt` nor `allowAdoptChanges` is set: what the source asks for by name needs neither.
    run = bench.sync()[place]
    assert run.outcome.phase == "Synced", run.gate
    assert run.lines("ConfigMap forced/wanted") == ["takes .data.mapRoles from lambda"]
    assert kubectl.get("configmap", "wanted", place)["data"] == {"mapRoles": "B", "other": "x"}
    assert kubectl.get("configmap", "unwanted", place)["data"] == {"mapRoles": "A", "other": "x"}
    assert not bench.preview()[place].planned.pending  # type: ignore[union-attr]


def test_b28_a_conflict_over_what_the_server_fills_in_changes_nothing_and_holds_nothing(
    new_bench: Callable[[str], Bench], kubectl: Kubectl
) -> None:
    # The live reference has its default `apiVersion: v1`, and is owned as a whole.
    reference = {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    place = "filled-in"
    kubectl.create(namespace(place))
    made = deployment("app", place, replicas=0)
    made["spec"]["template"]["spec"]["containers"][0]["env"] = [reference]
    applied(kubectl, "lambda", made)
    bench = new_bench(place)
    bench.repository.addon(place, made, adopt=True)
    bench.repository.commit()
    run = bench.sync()[place]
    field = '.spec.template.spec.containers[name="main"].env[name="NAME"].valueFrom.fieldRef'
    assert f"takes {field} from lambda" in run.lines("Deployment filled-in/app")
    assert run.item("Deployment filled-in/app").action == "adopt"
    assert run.outcome.phase == "Synced", run.gate
