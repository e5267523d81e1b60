"""Managed fields that lost their meaning, those in other versions, and those that grow between plan and apply.

An API server refuses every apply of an object whose fields somebody owns in a version that its kind lost, and whoever
restores a cluster from a backup may find that nobody owns anything any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.engine import AddonRun, Bench
from tests.integration.kubectl import Kubectl, Object, wait_until
from tests.integration.objects import config_map, custom, custom_kind, deployment, namespace

OWNER = "rendimiento.ai/addon"
OURS = ("rendimiento-addons", "Apply")
LOST = "repairs lost ownership: what the source states becomes the add-on's, what it does not have stays nobody's"


def kind_in(group: str, kind: str, *versions: str) -> Object:
    """The first version is the stored one; all have the same schema."""
    made = custom_kind(group, kind)
    [one] = made["spec"]["versions"]
    made["spec"]["versions"] = [{**one, "name": name, "storage": name == versions[0]} for name in versions]
    return made


def in_version(manifest: Object, version: str) -> Object:
    group = manifest["apiVersion"].partition("/")[0]
    return {**manifest, "apiVersion": f"{group}/{version}"}


def serve(kubectl: Kubectl, definition: Object) -> None:
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", text=json.dumps(definition))
    kubectl.run("wait", "--for=condition=Established", "crd", definition["metadata"]["name"], "--timeout=20s")
    spec = definition["spec"]
    wanted = {f"{spec['group']}/{version['name']}" for version in spec["versions"]}

    def served() -> bool:
        found = set(kubectl.run("api-versions").split())
        return {name for name in found if name.startswith(f"{spec['group']}/")} == wanted

    wait_until(served, f"{wanted} are served")


def applied(kubectl: Kubectl, manager: str, manifest: Object) -> None:
    kubectl.run("apply", "--server-side", f"--field-manager={manager}", "-f", "-", text=json.dumps(manifest))


def owners(live: Object) -> dict[tuple[str, str], str]:
    """The API version in which each manager owns fields, by name and operation."""
    return {(each["manager"], each["operation"]): each["apiVersion"] for each in live["metadata"]["managedFields"]}


def pending(runs: dict[str, AddonRun]) -> list[str]:
    return [name for name, run in runs.items() if run.planned is None or run.planned.pending]


def strip(kubectl: Kubectl, kind: str, name: str, place: str) -> None:
    """As a restore leaves it that drops managed fields."""
    patch = '[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]'
    kubectl.run("--namespace", place, "patch", kind, name, "--type=json", "-p", patch)
    assert not kubectl.get(kind, name, place)["metadata"].get("managedFields")


# Versions that are gone


def test_fields_owned_in_a_version_that_the_kind_lost_are_repaired(
    new_bench: Callable[[str], Bench], kubectl: Kubectl
) -> None:
    group, place = "lost.repairs.test", "lost-version"
    kubectl.create(namespace(place))
    serve(kubectl, kind_in(group, "Relic", "v1", "v1beta1"))
    bench = new_bench(place)

    def relics(version: str, **spec: Any) -> list[Object]:
        equal, changed = custom(group, "Relic", "equal", size=1, color="x"), custom(group, "Relic", "changed", **spec)
        return [in_version(one, version) for one in (equal, changed)]

    bench.repository.addon(place, *relics("v1beta1", size=1, color="x"))
    bench.repository.commit()
    assert bench.sync()[place].outcome.phase == "Synced"
    # What other tools own there stays theirs, in the version that is left.
    applied(kubectl, "other", in_version(custom(group, "Relic", "changed", place, color="x"), "v1beta1"))
    former = custom(group, "Relic", "former", place, size=1, color="x")
    applied(kubectl, "helm", in_version(former, "v1beta1"))

    serve(kubectl, kind_in(group, "Relic", "v1"))
    bench.repository.addon(place, *relics("v1", size=2))
    adopted = custom(group, "Relic", "former", size=1)
    bench.repository.addon("lost-adopting", adopted, namespace=place, adopt=True, allowAdoptChanges=True)
    bench.repository.commit()
    preview = bench.preview()
    why = f"its kind has no version {group}/v1beta1 any more"
    equal, changed = (preview[place].item(f"Relic {place}/{name}") for name in ("equal", "changed"))
    assert (equal.action, equal.verdict, changed.action, changed.verdict) == (
        "adopt", "simulated", "update", "simulated",
    )  # fmt: skip
    assert equal.reason == "its ownership has to be repaired before an apply can be dry-run"
    assert preview[place].lines(f"Relic {place}/equal") == [f"repairs the ownership of rendimiento-addons: {why}"]
    assert {f"repairs the ownership of other: {why}", f"repairs the ownership of rendimiento-addons: {why}"} == set(
        preview[place].lines(f"Relic {place}/changed")
    )
    shown = changed.unified().splitlines()
    assert {"-  size: 1", "+  size: 2"} <= set(shown)
    assert not any("color" in line for line in shown if line[0] in "+-"), "another manager holds it"
    former_lines = preview["lost-adopting"].lines(f"Relic {place}/former")
    assert former_lines == [
        "absorbs the fields of helm", "removes .spec.color", f"repairs the ownership of helm: {why}",
    ]  # fmt: skip

    runs = bench.sync()
    for name in (place, "lost-adopting"):
        assert runs[name].outcome.phase == "Synced", runs[name].failure
    live = kubectl.get("relic", "changed", place)
    assert live["spec"] == {"size": 2, "color": "x"}
    assert owners(live) == {OURS: f"{group}/v1", ("other", "Apply"): f"{group}/v1"}
    assert kubectl.get("relic", "former", place)["spec"] == {"size": 1}
    assert owners(kubectl.get("relic", "former", place)) == {OURS: f"{group}/v1"}
    assert pending(bench.preview()) == []


def test_a_version_that_goes_with_the_same_run_is_foreseen(new_bench: Callable[[str], Bench], kubectl: Kubectl) -> None:
    group, place = "going.repairs.test", "going-version"
    kubectl.create(namespace(place))
    bench = new_bench(place)
    relic = custom(group, "Artefact", "a", size=1)
    bench.repository.addon(place, kind_in(group, "Artefact", "v1", "v1beta1"), in_version(relic, "v1beta1"))
    bench.repository.commit()
    assert bench.sync()[place].outcome.phase == "Synced"
    bench.repository.addon(place, kind_in(group, "Artefact", "v1"), relic)
    bench.repository.commit()
    preview = bench.preview()[place]
    why = f"its kind has no version {group}/v1beta1 any more"
    assert preview.lines(f"Artefact {place}/a") == [f"repairs the ownership of rendimiento-addons: {why}"]
    run = bench.sync()[place]
    assert run.outcome.phase == "Synced", run.failure
    assert owners(kubectl.get("artefact", "a", place)) == {OURS: f"{group}/v1"}
    assert pending(bench.preview()) == []


# Versions that are others


def test_what_a_former_tool_set_in_another_version_is_absorbed_if_it_is_the_same_there(
    new_bench: Callable[[str], Bench], kubectl: Kubectl
) -> None:
    group, place = "other.repairs.test", "other-version"
    kubectl.create(namespace(place))
    serve(kubectl, kind_in(group, "Twin", "v1", "v1alpha1"))
    applied(kubectl, "helm", in_version(custom(group, "Twin", "same", place, size=1, color="x"), "v1alpha1"))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nobody"}
    common: dict[str, Any] = {"scaleTargetRef": target, "maxReplicas": 9}

    def scaler(name: str, version: str, **spec: Any) -> Object:
        metadata = {"name": name, "namespace": place, "labels": {"old": "yes"}}
        api_version = f"autoscaling/{version}"
        kind = "HorizontalPodAutoscaler"
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": common | spec}

    applied(kubectl, "helm", scaler("same", "v1"))
    # In the newer version the same thing stands elsewhere, as one of the metrics.
    applied(kubectl, "helm", scaler("moved", "v1", targetCPUUtilizationPercentage=70))
    bench = new_bench(place)
    sources = [scaler(name, "v2") for name in ("same", "moved")]
    for each in sources:
        del each["metadata"]["labels"]
    bench.repository.addon(place, custom(group, "Twin", "same", size=1), *sources, adopt=True, allowAdoptChanges=True)
    bench.repository.commit()
    preview = bench.preview()[place]
    assert preview.lines(f"Twin {place}/same") == ["absorbs the fields of helm", "removes .spec.color"]
    removed = ["absorbs the fields of helm", "removes .metadata.labels.old"]
    assert preview.lines(f"HorizontalPodAutoscaler {place}/same") == removed
    moved = preview.item(f"HorizontalPodAutoscaler {place}/moved")
    assert moved.absorbs == []
    told = "what helm set in autoscaling/v1 stays its own: it can't be told what it is in autoscaling/v2"
    assert moved.warnings == [told]
    run = bench.sync()[place]
    assert run.outcome.phase == "Synced", run.failure
    assert kubectl.get("twin", "same", place)["spec"] == {"size": 1}
    labels = {name: kubectl.get("hpa", name, place)["metadata"]["labels"] for name in ("same", "moved")}
    assert labels == {"same": {OWNER: place}, "moved": {"old": "yes", OWNER: place}}
    assert pending(bench.preview()) == []


# Managed fields that are lost


def test_lost_ownership_of_what_is_ours_is_found_again(new_bench: Callable[[str], Bench], kubectl: Kubectl) -> None:
    place = "lost-ownership"
    bench = new_bench(place)

    def define(*names: str, data: dict[str, str]) -> None:
        scaled = deployment("scaled", replicas=0)
        scaled["spec"]["template"]["spec"]["containers"] = [{"name": name, "image": "none"} for name in names]
        del scaled["spec"]["replicas"]
        objects = [config_map("equal", data={"a": "1", "b": "1"}), config_map("changed", data=data), scaled]
        bench.repository.addon(place, *objects, createNamespace=True, wait=0)
        bench.repository.commit()

    define("main", "side", data={"a": "1", "b": "1"})
    assert bench.sync()[place].outcome.phase == "Synced"
    kubectl.run("--namespace", place, "scale", "deployment", "scaled", "--replicas=3")
    kubectl.run("--namespace", place, "annotate", "configmap", "equal", "seen=yes")
    for kind, name in (("configmap", "equal"), ("configmap", "changed"), ("deployment", "scaled")):
        strip(kubectl, kind, name, place)

    # At the same time one field changes, and one leaves the source.
    define("main", "side", data={"a": "2"})
    preview = bench.preview()[place]
    for title, action in (("ConfigMap lost-ownership/equal", "adopt"), ("ConfigMap lost-ownership/changed", "update"),
                          ("Deployment lost-ownership/scaled", "adopt")):  # fmt: skip
        assert (preview.item(title).action, preview.lines(title)) == (action, [LOST])
    run = bench.sync()[place]
    assert run.outcome.phase == "Synced", run.failure
    live = {name: kubectl.get("configmap", name, place) for name in ("equal", "changed")}
    assert live["changed"]["data"] == {"a": "2", "b": "1"}, "nobody knows whether it was the add-on's"
    assert live["equal"]["metadata"]["annotations"] == {"seen": "yes"}
    for each in live.values():
        assert set(owners(each)) == {OURS}
    assert kubectl.get("deployment", "scaled", place)["spec"]["replicas"] == 3
    assert pending(bench.preview()) == []

    # From here on, what leaves the source goes as ever, whole items of lists included.
    define("main", data={"a": "2"})
    assert bench.sync()[place].outcome.phase == "Synced"
    containers = kubectl.get("deployment", "scaled", place)["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["main"]
    assert pending(bench.preview()) == []


def test_what_somebody_applied_after_the_loss_is_repaired_as_well(
    new_bench: Callable[[str], Bench], kubectl: Kubectl
) -> None:
    place = "lost-before"
    kubectl.create(namespace(place), config_map("foreign", place, {"a": "1", "theirs": "1", "beside": "1"}))
    strip(kubectl, "configmap", "foreign", place)
    applied(kubectl, "lambda", config_map("foreign", place, {"theirs": "1"}))
    assert ("before-first-apply", "Update") in owners(kubectl.get("configmap", "foreign", place))
    bench = new_bench(place)
    bench.repository.addon(place, config_map("foreign", data={"a": "1"}), adopt=True)
    bench.repository.commit()
    assert bench.preview()[place].lines("ConfigMap lost-before/foreign") == [LOST]
    assert bench.sync()[place].outcome.phase == "Synced"
    assert set(owners(kubectl.get("configmap", "foreign", place))) == {OURS, ("lambda", "Apply")}
    bench.repository.addon(place, config_map("foreign", data={"b": "1"}), adopt=True)
    bench.repository.commit()
    assert bench.sync()[place].outcome.phase == "Synced"
    assert kubectl.get("configmap", "foreign", place)["data"] == {"b": "1", "theirs": "1", "beside": "1"}
    assert pending(bench.preview()) == []


# What nobody reviewed


@pytest.mark.parametrize("former", ["helm", "kubectl"])
def test_what_a_former_tool_adds_after_the_plan_is_not_removed(
    new_bench: Callable[[str], Bench], kubectl: Kubectl, former: str
) -> None:
    place = f"grown-{former}"
    kubectl.create(namespace(place))
    planned = {"kept": "1", "reviewed": "1"}
    applied(kubectl, former, config_map("grown", place, planned))
    bench = new_bench(place)
    bench.repository.addon(place, config_map("grown", data={"kept": "1"}), adopt=True, allowAdoptChanges=True)
    bench.repository.commit()
    run = bench.sync(meanwhile=lambda: applied(kubectl, former, config_map("grown", place, {**planned, "new": "1"})))
    assert run[place].lines(f"ConfigMap {place}/grown") == ["absorbs the fields of " + former, "removes .data.reviewed"]
    assert run[place].outcome.phase == "Error"
    assert f"ConfigMap {place}/grown: it was changed since the plan was made" in run[place].failure
    live = kubectl.get("configmap", "grown", place)
    assert live["data"] == {**planned, "new": "1"}
    assert set(owners(live)) == {(former, "Apply")}
    # The next plan shows the new field; then it goes with the others.
    again = bench.sync()[place]
    assert again.lines(f"ConfigMap {place}/grown")[1:] == ["removes .data.new", "removes .data.reviewed"]
    assert again.outcome.phase == "Synced"
    assert kubectl.get("configmap", "grown", place)["data"] == {"kept": "1"}
