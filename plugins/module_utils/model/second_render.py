"""Two renders of one input, object by object: whose fields are made up, and whose very name is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from .bundle import BundleObject
from .made_up import stable
from .objects import Manifest


def paired(objects: Sequence[BundleObject], again: Sequence[BundleObject]) -> list[BundleObject]:
    """The objects, with ``second`` where the other render made the same one differently."""
    others = {item.key: item.manifest for item in again}
    return [
        item if others.get(item.key, item.manifest) == item.manifest else replace(item, second=others[item.key])
        for item in objects
    ]


def renamed(objects: Sequence[BundleObject], again: Sequence[BundleObject]) -> list[BundleObject]:
    """Those that the other render has not, or by another name."""
    known = {item.key for item in again}
    return [item for item in objects if item.key not in known]


def stable_forms(objects: Sequence[BundleObject], again: Sequence[BundleObject]) -> list[Manifest]:
    """What any two renders of this input yield alike, those with made-up names included."""
    others = {item.key: item.manifest for item in again}
    left: dict[tuple[str, str, str], list[Manifest]] = defaultdict(list)
    for other in renamed(again, objects):
        left[other.key.group, other.key.kind, other.key.namespace].append(other.manifest)
    forms = []
    for item in objects:
        second = others.get(item.key)
        namesakes = left[item.key.group, item.key.kind, item.key.namespace]
        if second is None and namesakes:
            second = namesakes.pop(0)
        forms.append(stable(item.manifest, second))
    return forms
