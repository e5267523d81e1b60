"""The collection's own labels and annotations on an object: always those of the source, whatever else is left alone."""

from __future__ import annotations

from typing import Any

from .names import OWN_PREFIX
from .objects import Manifest

_PARTS = ("labels", "annotations")


def without_own_marks(manifest: Manifest) -> Manifest:
    metadata = dict(manifest["metadata"])
    for part in _PARTS:
        if _own(metadata.get(part)):
            metadata[part] = {name: value for name, value in metadata[part].items() if not name.startswith(OWN_PREFIX)}
    return {**manifest, "metadata": metadata}


def with_own_marks_of(manifest: Manifest, source: Manifest) -> Manifest:
    metadata = dict(manifest["metadata"])
    for part in _PARTS:
        if own := _own(source["metadata"].get(part)):
            metadata[part] = {**(metadata.get(part) or {}), **own}
    return {**manifest, "metadata": metadata}


def _own(marks: Any) -> dict[str, Any]:
    return {name: value for name, value in (marks or {}).items() if name.startswith(OWN_PREFIX)}
