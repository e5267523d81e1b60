"""Whether a Job has ended, and how: a Job that its time to live removes is told by its last state."""

from __future__ import annotations

from .objects import GroupKind, Manifest, key_of
from .shapes import mapping_of, mappings_of

JOB: GroupKind = ("batch", "Job")


def has_completed(manifest: Manifest) -> bool:
    """Whether this is a Job that did its work."""
    return _is(manifest, "Complete")


def has_ended(manifest: Manifest) -> bool:
    """Whether this is a Job that did its work or failed. Other conditions come before the pods have ended."""
    return has_completed(manifest) or _is(manifest, "Failed")


def _is(manifest: Manifest, condition: str) -> bool:
    conditions = mappings_of(mapping_of(manifest.get("status")).get("conditions"))
    true = any((one.get("type"), one.get("status")) == (condition, "True") for one in conditions)
    return true and key_of(manifest).group_kind == JOB
