"""Fields that are left as they are in the cluster: what is sent for them, and what is told."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.fields import without_fields
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import YieldedField
from ansible_collections.rendimiento.addons.plugins.module_utils.model.yielding import (
    placeholders_of,
    yielded,
)

OURS = {"manager": "rendimiento-addons", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
SCALER = {"manager": "hpa", "operation": "Update", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
KUBECTL = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
REPLICAS = ("spec", "replicas")


def live(replicas: int | None, *entries: dict[str, Any]) -> dict[str, Any]:
    spec = {} if replicas is None else {"replicas": replicas}
    return {"metadata": {"managedFields": list(entries)}, "spec": {**spec, "other": 1}}


@pytest.mark.parametrize(
    ("there", "sent", "told"),
    [
        pytest.param(live(7, OURS), 7, [YieldedField(".spec.replicas", "", "why")], id="ours alone: its live value"),
        pytest.param(live(7), 7, [YieldedField(".spec.replicas", "", "why")], id="nobody's: its live value"),
        pytest.param(live(7, SCALER), None, [YieldedField(".spec.replicas", "hpa", "why")], id="another's: left out"),
        pytest.param(live(3, SCALER), None, [], id="another's and equal: left out, nothing to tell"),
        pytest.param(live(3, OURS), 3, [], id="equal"),
        pytest.param(live(None), None, [YieldedField(".spec.replicas", "", "why")], id="gone: stays gone"),
        pytest.param(live(7, KUBECTL), 7, [YieldedField(".spec.replicas", "", "why")], id="absorbed: its live value"),
    ],
)
def test_a_field_that_is_left_alone(there: dict[str, Any], sent: int | None, told: list[YieldedField]) -> None:
    body = {"spec": {"replicas": 3, "other": 2}}
    made, found = yielded(body, there, [(REPLICAS, "why")], {"kubectl"})
    assert made == {"spec": {"other": 2} if sent is None else {"replicas": sent, "other": 2}}
    assert found == told
    assert body == {"spec": {"replicas": 3, "other": 2}}


def test_paths_into_nothing_are_passed_over() -> None:
    body = {"spec": {"replicas": 3}}
    for path in (("spec", "none"), ("spec", "replicas", "0"), ("x", "y"), ()):
        assert yielded(body, live(7), [(path, "why")]) == (body, [])


def test_items_of_a_list_are_found_by_their_name() -> None:
    body = {"spec": {"containers": [{"name": "b", "image": "new"}, {"name": "c", "image": "new"}]}}
    there = {
        "metadata": {},
        "spec": {"containers": [{"name": "a", "image": "old a"}, {"name": "b", "image": "old b"}]},
    }
    paths = [(("spec", "containers", str(number), "image"), "why") for number in range(2)]
    made, told = yielded(body, there, paths)
    assert made["spec"]["containers"] == [{"name": "b", "image": "old b"}, {"name": "c"}]
    assert [one.field for one in told] == [".spec.containers[0].image", ".spec.containers[1].image"]


def test_false_is_not_zero() -> None:
    there = {"metadata": {}, "spec": {"on": 0}}
    made, told = yielded({"spec": {"on": False}}, there, [(("spec", "on"), "why")])
    assert made == {"spec": {"on": 0}}
    assert len(told) == 1


def webhooks(*bundles: Any) -> dict[str, Any]:
    configs = [{"name": str(number), "clientConfig": {"caBundle": bundle}} for number, bundle in enumerate(bundles)]
    kind = "ValidatingWebhookConfiguration"
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "webhooks": configs}


def test_b20_a_ca_bundle_that_is_none_is_a_placeholder() -> None:
    real = base64.b64encode(b"-----BEGIN").decode()
    manifest = webhooks("", "Cg==", "\n", None, real)
    manifest["webhooks"].append({"name": "none", "clientConfig": {}})
    found = placeholders_of(manifest)
    assert found == [("webhooks", str(number), "clientConfig", "caBundle") for number in range(4)]
    left = without_fields(manifest, found)["webhooks"]
    assert [one["clientConfig"] for one in left] == [{}, {}, {}, {}, {"caBundle": real}, {}]


@pytest.mark.parametrize(
    ("api_version", "kind", "spec"),
    [
        ("apiregistration.k8s.io/v1", "APIService", {"caBundle": ""}),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            {"conversion": {"webhook": {"clientConfig": {"caBundle": "Cg=="}}}},
        ),
    ],
)
def test_placeholders_of_other_kinds(api_version: str, kind: str, spec: dict[str, Any]) -> None:
    assert len(placeholders_of({"apiVersion": api_version, "kind": kind, "spec": spec})) == 1
    assert placeholders_of({"apiVersion": "v1", "kind": kind, "spec": spec}) == []
