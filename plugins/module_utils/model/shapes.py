"""What a value of any type is as a mapping or a list: empty when it is none, for fields that may hold anything."""

from __future__ import annotations

from typing import Any


def mapping_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def mappings_of(value: Any) -> list[dict[str, Any]]:
    """The mappings among the items of a list."""
    return [item for item in list_of(value) if isinstance(item, dict)]
