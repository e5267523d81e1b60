"""Applying: large objects, misspelt fields, and objects that two add-ons have in their sources.

Each test with an id is one report of what other tools did.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.invocation import diff_of
from ansible_collections.rendimiento.addons.plugins.module_utils.model.review import warning_lines
from tests.integration.audit import Audit
from tests.integration.engine import AddonRun, Bench
from tests.integration.kubectl import Kubectl, Object
from tests.integration.objects import config_map, custom, custom_kind, deployment, namespace

KIB = 1024
LARGEST_RESULT = 200_000
MOST_ANNOTATION_BYTES = 1000


def size_of_annotations(live: Object) -> int:
    return len(json.dumps(live["metadata"].get("annotations", {})))


def pending(runs: dict[str, AddonRun]) -> list[str]:
    return [name for name, run in runs.items() if run.planned is None or run.planned.pending]


# Large objects


def described_kind(group: str, kind: str, size: int) -> Object:
    """A definition with so many bytes of descriptions."""
    made = custom_kind(group, kind)
    [version] = made["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields |= {f"field{number}": {"type": "string", "description": "x" * 500} for number in range(size // 500)}
    return made


def test_b32_large_objects_are_applied_once_and_keep_no_copy(
    new_bench: Callable[[str], Bench], kubectl: Kubectl
) -> None:
    place, group = "large-objects", "large.applying.test"
    bench = new_bench(place)
    big = config_map("big", data={"dashboard": "line\n" * (300 * KIB // 5)})
    bench.repository.addon(place, big, described_kind(group, "Tome", 600 * KIB), createNamespace=True)
    bench.repository.commit()
    preview = bench.preview()[place]
    assert preview.planned is not None
    assert len(json.dumps(diff_of(preview.planned.items))) < LARGEST_RESULT
    assert bench.sync()[place].outcome.phase == "Synced"
    live = [kubectl.get("configmap", "big", place), kubectl.get("crd", f"tomes.{group}")]
    assert live[0]["data"] == big["data"]
    assert max(map(size_of_annotations, live)) < MOST_ANNOTATION_BYTES
    assert len(json.dumps(kubectl.record(place))) < LARGEST_RESULT
    versions = [each["metadata"]["resourceVersion"] for each in live]
    again = bench.sync()[place]
    assert again.planned is not None
    assert again.planned.counts() == {"unchanged": 3}
    live = [kubectl.get("configmap", "big", place), kubectl.get("crd", f"tomes.{group}")]
    assert [each["metadata"]["resourceVersion"] for each in live] == versions


def test_b32_what_is_too_large_is_told_in_the_preview(new_bench: Callable[[str], Bench], kubectl: Kubectl) -> None:
    place = "too-large"
    kubectl.create(namespace(place))
    bench = new_bench(place)
    bench.repository.addon(place, config_map("toobig", data={"text": "x" * (1200 * KIB)}), config_map("beside"))
    bench.repository.commit()
    for run in (bench.preview()[place], bench.sync()[place]):
        item = run.item(f"ConfigMap {place}/toobig")
        assert (item.action, item.verdict) == ("blocked", "verified")
        assert item.reason.startswith("its data is too large: 1200 KiB of at most 1024 KiB"), item.reason
        assert run.planned is not None
        assert len(json.dumps(diff_of(run.planned.items))) < LARGEST_RESULT
    assert kubectl.find("configmap", "beside", place) is None


# Misspelt fields


def strict_kind(group: str, kind: str, **spec: Any) -> Object:
    made = custom_kind(group, kind)
    [version] = made["spec"]["versions"]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = {"type": "object", **spec}
    return made


@pytest.mark.parametrize("kinds", ["are there", "come with the run"])
def test_b38_misspelt_fields_are_refused_with_their_path(
    new_bench: Callable[[str], Bench], kubectl: Kubectl, audit: Audit, kinds: str
) -> None:
    there = kinds == "are there"
    place, group = f"misspelt-{len(kinds)}", f"misspelt{len(kinds)}.applying.test"
    strict = strict_kind(group, "Issuer", properties={"secretName": {"type": "string"}})
    free = strict_kind(group, "Freeform", **{"x-kubernetes-preserve-unknown-fields": True})
    kubectl.create(namespace(place))
    if there:
        kubectl.create(strict, free)
        for definition in (strict, free):
            kubectl.run("wait", "--for=condition=Established", "crd", definition["metadata"]["name"], "--timeout=20s")
    misspelt = deployment("app", replicas=0)
    misspelt["spec"]["template"]["spec"]["containers"][0]["imagePullpolicy"] = "Always"
    wrong = [custom(group, "Issuer", "wrong", secretName="x", invalid="key"), misspelt]
    right = custom(group, "Freeform", "right", secretName="x", invalid="key")
    bench = new_bench(place)
    bench.repository.addon(place, *([] if there else [strict, free]), *wrong, right)
    bench.repository.commit()
    mark = audit.mark()
    for run in (bench.preview()[place], bench.sync()[place]):
        issuer, app = run.item(f"Issuer {place}/wrong"), run.item(f"Deployment {place}/app")
        assert (issuer.action, app.action) == ("blocked", "blocked")
        assert "spec.invalid" in issuer.reason, issuer.reason
        assert "spec.template.spec.containers[" in app.reason and "imagePullpolicy" in app.reason, app.reason
        assert run.item(f"Freeform {place}/right").action == "create"
    assert not audit.since(mark).writes.on_objects
    bench.repository.addon(place, *([] if there else [strict, free]), right)
    bench.repository.commit()
    assert bench.sync()[place].outcome.phase == "Synced"
    assert kubectl.get(f"freeforms.{group}", "right", place)["spec"] == {"secretName": "x", "invalid": "key"}


def test_b38_warnings_of_the_server_name_the_object(new_bench: Callable[[str], Bench], kubectl: Kubectl) -> None:
    place, group = "warned", "warned.applying.test"
    old = custom_kind(group, "Relict")
    [version] = old["spec"]["versions"]
    warning = "warned.applying.test/v1 Relict is old: use v2"
    old["spec"]["versions"] = [
        {**version, "deprecated": True, "deprecationWarning": warning},
        {**version, "name": "v2", "storage": False},
    ]
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    kubectl.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place, "labels": labels}}, old)
    kubectl.run("wait", "--for=condition=Established", "crd", old["metadata"]["name"], "--timeout=20s")
    bench = new_bench(place)
    bench.repository.addon(place, custom(group, "Relict", "a", size=1), deployment("app", replicas=0))
    bench.repository.commit()
    for run in (bench.preview()[place], bench.sync()[place]):
        assert run.planned is not None
        lines = warning_lines(run.planned.items, 20)
        assert f"Relict {place}/a: {warning}" in lines
        assert any(line.startswith(f"Deployment {place}/app: would violate PodSecurity") for line in lines), lines


# Objects that two add-ons have


def clashing(bench: Bench, place: str, **fields: Any) -> None:
    for name in (f"{place}-a", f"{place}-b"):
        more = fields if name.endswith("-b") else {}
        bench.repository.addon(name, config_map("disputed"), config_map(f"of-{name}"), namespace=place, **more)
    bench.repository.commit()


@pytest.mark.parametrize("fields", [{}, {"suspend": True}, {"manualSync": True}])
def test_trap_19_both_add_ons_stop_before_the_first_write(
    new_bench: Callable[[str], Bench], kubectl: Kubectl, audit: Audit, fields: dict[str, Any]
) -> None:
    place = "disputed" + "-".join(["", *fields]).lower()
    kubectl.create(namespace(place))
    bench = new_bench(place)
    clashing(bench, place, **fields)
    a, b = f"{place}-a", f"{place}-b"
    mark = audit.mark()
    for runs in (bench.preview(), bench.sync()):
        for here, there in ((a, b), (b, a)):
            item = runs[here].item(f"ConfigMap {place}/disputed")
            assert item.action == "blocked"
            where = f"here ({here}/objects.yaml, document 1) and in {there} ({there}/objects.yaml, document 1)"
            assert item.reason == f"is in two add-ons: {where}"
        assert runs[a].outcome.phase == "Error"
        assert runs[b].outcome.phase == ("Suspended" if "suspend" in fields else "Error")
    assert not audit.since(mark).writes.on_objects


def test_trap_19_what_an_add_on_outside_of_the_run_has_is_not_created_anew(
    new_bench: Callable[[str], Bench], kubectl: Kubectl
) -> None:
    place = "disputed-only"
    bench = new_bench(place)
    bench.repository.addon("only-first", config_map("disputed"), namespace=place, createNamespace=True)
    bench.repository.commit()
    assert bench.sync()["only-first"].outcome.phase == "Synced"
    kubectl.run("--namespace", place, "delete", "configmap", "disputed")
    bench.repository.addon("only-second", config_map("disputed"), config_map("own"), namespace=place)
    bench.repository.commit()
    for run in (bench.preview(only=["only-second"]), bench.sync(only=["only-second"])):
        item = run["only-second"].item(f"ConfigMap {place}/disputed")
        assert item.action == "blocked"
        assert item.reason.startswith("belongs to add-on only-first, which is not part of this run")
    assert kubectl.find("configmap", "own", place) is None
