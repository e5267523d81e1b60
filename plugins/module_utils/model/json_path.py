"""A path to one field of an object, in the form that ``kubectl wait --for=jsonpath=…`` takes.

Understood is what leads to a single field: names, ``['…']``, indexes and a filter for an item of a list. What kubectl
reads besides that may lead to many fields (``*``, ``..``, slices, unions) or makes text (``range``); it refuses these
when an object comes along, we do before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_NAME = r"(?:[^.\s\\\[\](){}'\"*?@$,:|=!<>]|\\.)+"
_STEP = re.compile(
    rf"""\.(?P<name>{_NAME})
       | \[(?P<index>-?[0-9]+)\]
       | \[(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\]
       | \[\?\(\s*@(?P<field>(?:\.{_NAME})+)\s*(?P<relation>==|!=)\s*
         (?:'(?P<quoted>[^']*)'|"(?P<twice>[^"]*)"|(?P<bare>true|false|-?[0-9]+(?:\.[0-9]+)?))\s*\)\]""",
    re.VERBOSE,
)

UNDERSTOOD = "names, [0], ['a.b/c'] and [?(@.type==\"Ready\")] are understood, and it has to lead to one field"


@dataclass(frozen=True, slots=True)
class _Filter:
    """Items of a list whose field is (or is not) a text."""

    field: tuple[str, ...]
    equal: bool
    value: str


_Step = str | int | _Filter


@dataclass(frozen=True, slots=True)
class JsonPath:
    """``written`` is for people."""

    written: str
    _steps: tuple[_Step, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """As kubectl has it, the braces and the first dot may be missing.

        :raises ValueError: it is none, or none that leads to one field.
        """
        path = text.strip()
        if path.startswith("{") != path.endswith("}"):
            raise ValueError("a brace is missing")
        path = path.removeprefix("{").removesuffix("}").strip().removeprefix("$")
        if path and path[0] not in ".[":
            path = f".{path}"
        steps: list[_Step] = []
        position = 0
        while position < len(path):
            match = _STEP.match(path, position)
            if match is None:
                raise ValueError(f"{path[position:]} is not understood")
            steps.append(_step(match))
            position = match.end()
        if not steps:
            raise ValueError("it is empty")
        return cls(text.strip(), tuple(steps))

    def values(self, manifest: Any) -> list[Any]:
        """What is there: nothing, one value, or several when a filter lets several items pass."""
        found = [manifest]
        for step in self._steps:
            found = [one for value in found for one in _follow(value, step) if one is not None]
        return found


def as_text(value: Any) -> str | None:
    """A scalar as kubectl compares it with the text that is wanted; ``None`` for mappings and lists."""
    match value:
        case dict() | list():
            return None
        case bool():
            return "true" if value else "false"
    return str(value)


def _step(match: re.Match[str]) -> _Step:
    if match["name"]:
        return _plain(match["name"])
    if match["index"]:
        return int(match["index"])
    if match["field"]:
        value = next(text for text in (match["quoted"], match["twice"], match["bare"]) if text is not None)
        names = re.findall(rf"\.({_NAME})", match["field"])
        return _Filter(tuple(map(_plain, names)), match["relation"] == "==", value)
    return match["single"] if match["single"] is not None else str(match["double"])


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _follow(value: Any, step: _Step) -> Iterator[Any]:
    match step, value:
        case str(), dict():
            yield value.get(step)
        case int(), list():
            if -len(value) <= step < len(value):
                yield value[step]
        case _Filter(), list():
            for item in value:
                field = item
                for name in step.field:
                    field = field.get(name) if isinstance(field, dict) else None
                if field is not None and (as_text(field) == step.value) == step.equal:
                    yield item
