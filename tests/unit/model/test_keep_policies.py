"""What is never pruned: protected kinds, keep policies of several tools, objects that a controller owns."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.keep_policies import (
    keep_reason,
    may_take_volumes,
    volume_reason,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey

CONFIG = ObjectKey("", "ConfigMap", "web", "a")


@pytest.mark.parametrize(
    ("group", "kind", "kept"),
    [
        ("", "Namespace", True),
        ("", "PersistentVolumeClaim", True),
        ("", "PersistentVolume", True),
        ("storage.k8s.io", "StorageClass", True),
        ("apiextensions.k8s.io", "CustomResourceDefinition", True),
        ("tenants.example.com", "Namespace", False),
        ("example.com", "StorageClass", False),
        ("", "Secret", False),
    ],
)
def test_kinds_are_protected_by_group_and_kind(group: str, kind: str, kept: bool) -> None:
    assert bool(keep_reason(ObjectKey(group, kind, "", "a"), {}, {}, [])) is kept


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ({}, ""),
        ({"rendimiento.ai/keep": "true"}, "annotation rendimiento.ai/keep: true"),
        ({"rendimiento.ai/keep": "false"}, ""),
        ({"helm.sh/resource-policy": "keep"}, "annotation helm.sh/resource-policy: keep"),
        ({"helm.sh/resource-policy": " Keep "}, "annotation helm.sh/resource-policy: Keep"),
        ({"helm.sh/resource-policy": "delete"}, ""),
        ({"argocd.argoproj.io/sync-options": "Validate=false, Prune=false"},
         "annotation argocd.argoproj.io/sync-options: Prune=false"),
        ({"argocd.argoproj.io/sync-options": "Delete=confirm"},
         "annotation argocd.argoproj.io/sync-options: Delete=confirm"),
        ({"argocd.argoproj.io/sync-options": "Prune=true"}, ""),
        ({"kustomize.toolkit.fluxcd.io/prune": "Disabled"}, "annotation kustomize.toolkit.fluxcd.io/prune: Disabled"),
        ({"kustomize.toolkit.fluxcd.io/reconcile": "disabled"},
         "annotation kustomize.toolkit.fluxcd.io/reconcile: disabled"),
        ({"kustomize.toolkit.fluxcd.io/ssa": "Ignore"}, "annotation kustomize.toolkit.fluxcd.io/ssa: Ignore"),
        ({"kustomize.toolkit.fluxcd.io/ssa": "Merge"}, ""),
        ({"cli-utils.sigs.k8s.io/on-remove": "keep"}, "annotation cli-utils.sigs.k8s.io/on-remove: keep"),
        ({"client.lifecycle.config.k8s.io/deletion": "detach"},
         "annotation client.lifecycle.config.k8s.io/deletion: detach"),
        ({"kapp.k14s.io/delete-strategy": "orphan"}, "annotation kapp.k14s.io/delete-strategy: orphan"),
        ({"kluctl.io/skip-delete": "true"}, "annotation kluctl.io/skip-delete: true"),
        ({"werf.io/ownership": "anyone"}, "annotation werf.io/ownership: anyone"),
        ({"werf.io/ownership": "release"}, ""),
        ({"example.com/keep": "true"}, ""),
    ],
)  # fmt: skip
def test_annotations(annotations: dict[str, str], reason: str) -> None:
    assert keep_reason(CONFIG, {}, annotations, []) == reason


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({}, ""),
        ({"objectset.rio.cattle.io/prune": "false"}, "label objectset.rio.cattle.io/prune: false"),
        ({"objectset.rio.cattle.io/prune": "true"}, ""),
    ],
)
def test_labels(labels: dict[str, str], reason: str) -> None:
    assert keep_reason(CONFIG, labels, {}, []) == reason


@pytest.mark.parametrize(
    ("references", "reason"),
    [
        ([{"kind": "Certificate", "name": "c", "controller": True}], "belongs to Certificate c, which controls it"),
        ([{"kind": "Certificate", "name": "c", "controller": False}], ""),
        ([{"kind": "Certificate", "name": "c"}], ""),
    ],
)
def test_owners(references: list[dict[str, Any]], reason: str) -> None:
    assert keep_reason(CONFIG, {}, {}, references) == reason


@pytest.mark.parametrize(
    ("policy", "stays"),
    [
        ({"whenDeleted": "Delete", "whenScaled": "Retain"}, True),
        ({"whenDeleted": "Retain", "whenScaled": "Delete"}, False),
        (None, False),
        ("odd", False),
    ],
)
def test_a_stateful_set_that_takes_its_claims_along_stays(policy: Any, stays: bool) -> None:
    live = {"spec": {"persistentVolumeClaimRetentionPolicy": policy}}
    assert bool(volume_reason(live)) is stays
    assert may_take_volumes(ObjectKey("apps", "StatefulSet", "web", "a"))
    assert not may_take_volumes(ObjectKey("apps", "Deployment", "web", "a"))
