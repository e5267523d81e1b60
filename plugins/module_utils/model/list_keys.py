"""Which items of two lists are the same one: by fields that tell items apart, as server-side apply goes by keys."""

from __future__ import annotations

import json
from typing import Any

LIST_KEYS: tuple[tuple[str, ...], ...] = (
    ("mountPath",),
    ("devicePath",),
    ("containerPort", "protocol"),
    ("name",),
    ("port", "protocol"),
    ("type",),
    ("key",),
    ("key", "effect"),
    ("uid",),
    ("ip",),
    ("topologyKey", "whenUnsatisfiable"),
)
"""Fields by which items may be told apart, the first that does. Source: ``x-kubernetes-list-map-keys`` of the built-in
kinds. What only some lists have comes before ``name``, which mounts and ports have as well, and not always their own.
"""

_DEFAULTS = {"protocol": "TCP"}

Key = tuple[str, ...]


def key_fields(*lists: list[Any]) -> tuple[str, ...] | None:
    """The first fields that tell the items of each of these lists apart; ``None`` when none do."""
    if not all(isinstance(item, dict) for items in lists for item in items):
        return None
    return next((fields for fields in LIST_KEYS if all(_tell_apart(fields, items) for items in lists)), None)


def key_of(fields: tuple[str, ...], item: dict[str, Any]) -> Key:
    return tuple(str(item.get(name) or _DEFAULTS.get(name, "")) for name in fields)


def title_of(fields: tuple[str, ...], item: dict[str, Any]) -> str:
    """An item as a step of a path that people read: ``[name="web"]``."""
    given = (f"{name}={json.dumps(item[name])}" for name in fields if name in item)
    return f"[{','.join(given)}]"


def counterparts(items: list[Any], others: list[Any]) -> list[int | None]:
    """For each item its index in the other list, ``None`` when it isn't there, or when that can't be told.

    Items that no fields tell apart go by their index, while both lists are equally long.
    """
    fields = key_fields(items, others)
    if fields is None:
        return list(range(len(items))) if len(items) == len(others) else [None] * len(items)
    places = {key_of(fields, other): index for index, other in enumerate(others)}
    return [places.get(key_of(fields, item)) for item in items]


def _tell_apart(fields: tuple[str, ...], items: list[dict[str, Any]]) -> bool:
    if not all(isinstance(item.get(fields[0]), str | int) for item in items):
        return False
    return len({key_of(fields, item) for item in items}) == len(items)
