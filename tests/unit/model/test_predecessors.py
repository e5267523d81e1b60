"""Which managers are former tools, and which marks of theirs go with them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.predecessors import absorbable, without_marks


def owned_by(manager: str, **fields: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": manager, "operation": "Update", "apiVersion": "v1"}
    entry |= {"fieldsV1": {"f:data": {"f:a": {}}}, **fields}
    return {"metadata": {"managedFields": [entry]}, "data": {"a": "1"}}


@pytest.mark.parametrize(
    ("manager", "absorbed"),
    [
        ("kubectl-client-side-apply", True),
        ("kubectl", True),
        ("kubectl-create", True),
        ("helm", True),
        ("argocd-controller", True),
        ("kustomize-controller", True),
        ("OpenAPI-Generator", False),
        ("kubectl-edit", False),
        ("kubectl-rollout", False),
        ("pulumi-kubernetes-1a2b", True),
        ("before-first-apply", False),
        ("kube-controller-manager", False),
        ("horizontal-pod-autoscaler", False),
        ("cert-manager-cainjector", False),
        ("rendimiento-addons", False),
        ("helm-something", False),
        ("", False),
    ],
)
def test_former_tools(manager: str, absorbed: bool) -> None:
    assert bool(absorbable(owned_by(manager))) is absorbed


def test_subresources_stay() -> None:
    assert absorbable(owned_by("kubectl", subresource="scale")) == []


@pytest.mark.parametrize("data", [{}, {"a": {}}, {"a": []}])
def test_what_owns_only_empty_fields_stays(data: dict[str, Any]) -> None:
    manifest = owned_by("kubectl", fieldsV1={"f:data": {"f:a": {}}})
    assert absorbable({**manifest, "data": data}) == []


@pytest.mark.parametrize("manager", ["OpenAPI-Generator", "Go-http-client"])
def test_a_client_without_a_name_was_an_apply_if_it_left_a_copy(manager: str) -> None:
    manifest = owned_by(manager)
    manifest["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert [entry.manager for entry in absorbable(manifest)] == [manager]


def test_marks_are_no_change_once_their_tool_is_absorbed() -> None:
    manifest = {
        "metadata": {
            "name": "a",
            "annotations": {"meta.helm.sh/release-name": "old", "mine": "x"},
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
        }
    }
    assert without_marks(manifest, False) is manifest
    assert without_marks(manifest, True) == {"metadata": {"name": "a", "annotations": {"mine": "x"}}}
