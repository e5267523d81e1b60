"""Dataclasses to JSON and back, for everything that steps hand to each other and that is kept in records.

One dataclass is one JSON object whose keys are the field names; what a field's type says is rebuilt when it is read.
Values typed ``Any`` (manifests above all) pass through untouched and uncopied.
"""

from __future__ import annotations

import dataclasses
import types
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def encode(value: Any) -> Any:
    """Plain JSON types for a value built of dataclasses, lists, tuples, sets and dictionaries.

    Inside of it, a class with ``to_json`` and ``from_json`` of its own is asked for its form.
    """
    match value:
        case list() | tuple():
            return [_encode_inner(item) for item in value]
        case set() | frozenset():
            return sorted(_encode_inner(item) for item in value)
        case dict():
            return {key: _encode_inner(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {field.name: _encode_inner(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def _encode_inner(value: Any) -> Any:
    return value.to_json() if hasattr(value, "to_json") else encode(value)


def decode(kind: Any, value: Any) -> Any:
    """A value of type ``kind`` from what ``encode`` made of it.

    Unknown keys are ignored, so that an older reader survives a newer writer; a missing field takes its default.
    :raises TypeError, ValueError, KeyError: when the value can't be of that type.
    """
    if kind is Any or value is None:
        return value
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if not isinstance(value, dict):
            raise TypeError(f"{kind.__name__} is not made of {type(value).__name__}")
        hints = _hints(kind)
        return kind(**{name: _decode_inner(hints[name], item) for name, item in value.items() if name in hints})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        choices = [choice for choice in arguments if choice is not type(None)]
        return _decode_inner(choices[0], value) if len(choices) == 1 else value
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{value!r} is none of {arguments}")
        return value
    if origin in (list, set, frozenset):
        return origin(_decode_inner(arguments[0], item) for item in value)
    if origin is tuple:
        return tuple(_decode_inner(arguments[0], item) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise TypeError(f"a mapping is not made of {type(value).__name__}")
        return {key: _decode_inner(arguments[1], item) for key, item in value.items()}
    return value


def _decode_inner(kind: Any, value: Any) -> Any:
    return kind.from_json(value) if value is not None and hasattr(kind, "from_json") else decode(kind, value)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
