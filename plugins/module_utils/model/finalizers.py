"""What holds an object that is being deleted, in words."""

from __future__ import annotations

from .objects import Manifest
from .shapes import mapping_of, mappings_of

_HOLDING = frozenset({"NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionDiscoveryFailure"})
"""Conditions in which a namespace says what of its content does not go."""


def what_holds(live: Manifest) -> str:
    """The finalizers of an object that is being deleted, and what a namespace says of its content."""
    finalizers = list(live["metadata"].get("finalizers") or [])
    texts = [f"finalizers: {', '.join(finalizers)}"] if finalizers else []
    conditions = mappings_of(mapping_of(live.get("status")).get("conditions"))
    texts += [
        str(condition.get("message") or condition["type"])
        for condition in conditions
        if condition.get("type") in _HOLDING and condition.get("status") == "True"
    ]
    return "; ".join(texts)
