"""Why an object that left its source stays in the cluster: protected kinds and keep policies, ours and other tools'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .names import KEEP_ANNOTATION, PROTECTED_KINDS
from .objects import Manifest, ObjectKey
from .shapes import mapping_of

# Annotation, and the values of it that mean "do not delete", in lower case since Helm and Flux do not look at the case:
# Helm, Argo CD, Flux, cli-utils, kapp, kluctl and werf as documented.
_POLICIES: tuple[tuple[str, frozenset[str]], ...] = (
    (KEEP_ANNOTATION, frozenset({"true"})),
    ("helm.sh/resource-policy", frozenset({"keep"})),
    ("argocd.argoproj.io/sync-options", frozenset({"prune=false", "prune=confirm", "delete=false", "delete=confirm"})),
    ("kustomize.toolkit.fluxcd.io/prune", frozenset({"disabled"})),
    ("kustomize.toolkit.fluxcd.io/reconcile", frozenset({"disabled"})),
    ("kustomize.toolkit.fluxcd.io/ssa", frozenset({"ignore"})),
    ("cli-utils.sigs.k8s.io/on-remove", frozenset({"keep"})),
    ("client.lifecycle.config.k8s.io/deletion", frozenset({"detach"})),
    ("kapp.k14s.io/delete-strategy", frozenset({"orphan"})),
    ("kluctl.io/skip-delete", frozenset({"true"})),
    ("werf.io/ownership", frozenset({"anyone"})),
)
_LABELS: tuple[tuple[str, str], ...] = (
    # Rancher Fleet and k3s, by the library that both apply with (rancher/wrangler, pkg/apply).
    ("objectset.rio.cattle.io/prune", "false"),
)


def keep_reason(
    key: ObjectKey,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    owner_references: list[dict[str, Any]],
) -> str:
    """Why this live object is never pruned, empty when it may be."""
    if key.group_kind in PROTECTED_KINDS:
        return "protected kind, never deleted automatically"
    for annotation, values in _POLICIES:
        for value in annotations.get(annotation, "").split(","):
            if value.strip().lower() in values:
                return f"annotation {annotation}: {value.strip()}"
    for label, value in _LABELS:
        if labels.get(label) == value:
            return f"label {label}: {value}"
    for reference in owner_references:
        if reference.get("controller"):
            return f"belongs to {reference.get('kind')} {reference.get('name')}, which controls it"
    return ""


def may_take_volumes(key: ObjectKey) -> bool:
    """Whether deleting an object of this kind can take PersistentVolumeClaims with it."""
    return key.group_kind == ("apps", "StatefulSet")


def volume_reason(live: Manifest) -> str:
    """Why a live StatefulSet is never pruned: Kubernetes deletes its claims with it when it says so itself."""
    policy = mapping_of(mapping_of(live.get("spec")).get("persistentVolumeClaimRetentionPolicy"))
    if policy.get("whenDeleted") == "Delete":
        return "its PersistentVolumeClaims would go with it (persistentVolumeClaimRetentionPolicy.whenDeleted)"
    return ""
