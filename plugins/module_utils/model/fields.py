"""Single fields of an object by path: what stands there, the same field in another state, a copy that differs in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .field_rules import Path
from .list_keys import counterparts
from .objects import Manifest

NOTHING: Any = object()
"""Stands for a field that is not there, where ``None`` is a value."""


def value_at(value: Any, path: Path) -> Any:
    """What stands at a path, ``NOTHING`` when nothing does."""
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _is_index(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return NOTHING
    return value


def value_in(live: Any, body: Any, path: Path) -> Any:
    """What stands in the live object at the place of a path of the body, ``NOTHING`` also without such a place."""
    place = place_in(live, body, path)
    return NOTHING if place is None else value_at(live, place)


def place_in(live: Any, body: Any, path: Path) -> Path | None:
    """The path in the live object of what stands at a path of the body; lists may have another order.

    ``None`` when there is no such place; a field that is missing in a mapping that is there has one.
    """
    found: list[str] = []
    for step in path:
        if isinstance(body, list) and isinstance(live, list):
            index = counterparts(body, live)[int(step)] if _is_index(step) and int(step) < len(body) else None
            if index is None:
                return None
            found.append(str(index))
            body, live = body[int(step)], live[index]
        elif isinstance(body, dict) and isinstance(live, dict) and step in body:
            found.append(step)
            body, live = body[step], live.get(step)
        else:
            return None
    return tuple(found)


def _is_index(step: str) -> bool:
    # RFC 6901 knows no other way to write one, so that one item has one path.
    return step == "0" or (step.isascii() and step.isdecimal() and step[0] != "0")


def with_value(value: Any, path: Path, new: Any) -> Any:
    """A copy in which the field at a path is ``new``, or is gone for ``NOTHING``; all above it must be there."""
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        at = int(step)
        if not rest and new is NOTHING:
            return [*value[:at], *value[at + 1 :]]
        return [*value[:at], with_value(value[at], rest, new) if rest else new, *value[at + 1 :]]
    if not rest and new is NOTHING:
        return {key: one for key, one in value.items() if key != step}
    return {**value, step: with_value(value[step], rest, new) if rest else new}


def without_fields(manifest: Manifest, paths: Iterable[Path]) -> Manifest:
    """:param paths: of fields that are there; of items of one list the last first."""
    for path in paths:
        manifest = with_value(manifest, path, NOTHING)
    return manifest


def emptied_in(body: Any, live: Any, above: Path = ()) -> Iterator[Path]:
    """Paths of the body with an empty mapping or list, where the live object has one that is not."""
    if isinstance(body, dict) and isinstance(live, dict):
        for name, value in body.items():
            other, path = live.get(name), (*above, name)
            if isinstance(value, dict | list) and not value and other and type(other) is type(value):
                yield path
            else:
                yield from emptied_in(value, other, path)
    elif isinstance(body, list) and isinstance(live, list):
        for index, there in enumerate(counterparts(body, live)):
            if there is not None:
                yield from emptied_in(body[index], live[there], (*above, str(index)))
