"""Which managers are former tools, and which marks of theirs go with them."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.managed_fields import Entry
from ansible_collections.rendimiento.addons.plugins.module_utils.model.predecessors import absorbable, without_marks


@pytest.mark.parametrize(
    ("manager", "absorbed"),
    [
        ("kubectl-client-side-apply", True),
        ("kubectl", True),
        ("kubectl-create", True),
        ("helm", True),
        ("argocd-controller", True),
        ("kustomize-controller", True),
        ("OpenAPI-Generator", True),
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
    assert bool(absorbable([Entry(manager, "Update", "", "v1", {})], "v1")) is absorbed


def test_subresources_and_other_versions_stay() -> None:
    entries = [Entry("kubectl", "Update", "scale", "apps/v1", {}), Entry("kubectl", "Update", "", "apps/v1beta1", {})]
    assert absorbable(entries, "apps/v1") == []


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
