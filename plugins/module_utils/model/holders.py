"""Who has a live object besides the add-ons of this product: a Helm release, or a controller that made it."""

from __future__ import annotations

from typing import Any

from .objects import Manifest
from .shapes import mapping_of, mappings_of

_RELEASE_NAME = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"


def helm_release_of(metadata: dict[str, Any]) -> tuple[str, str] | None:
    """Namespace and name of the Helm release that an object is part of.

    The annotations tell, by which Helm knows what is its own. The label ``app.kubernetes.io/managed-by: Helm`` does
    not: charts render it, so it stands on whatever was made from one.
    """
    annotations = mapping_of(metadata.get("annotations"))
    name = annotations.get(_RELEASE_NAME)
    return (annotations.get(_RELEASE_NAMESPACE) or metadata.get("namespace") or "", name) if name else None


def controller_of(manifest: Manifest) -> str:
    """Kind and name of the object whose controller made this one, empty for none: ``Deployment web``."""
    for owner in mappings_of(manifest["metadata"].get("ownerReferences")):
        if owner.get("controller"):
            return f"{owner.get('kind')} {owner.get('name')}"
    return ""
