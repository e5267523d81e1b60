"""Fields that a definition names, for some of its objects or for all: those to leave alone, those to hide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .names import OWN_PREFIX
from .objects import ObjectKey

Path = tuple[str, ...]
"""The steps of a JSON pointer (RFC 6901), unescaped; a step into a list is its index."""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """``paths`` in the objects that match; what is ``None`` matches everything."""

    paths: tuple[Path, ...]
    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> FieldRule:
        """Of an entry of ``ignore`` or ``mask`` in a definition."""
        paths = tuple(path_of_pointer(pointer) for pointer in entry["pointers"])
        return cls(paths, entry.get("group"), entry.get("kind"), entry.get("namespace"), entry.get("name"))

    def matches(self, key: ObjectKey) -> bool:
        wanted = (self.group, self.kind, self.namespace, self.name)
        return all(rule in (None, value) for rule, value in zip(wanted, key.to_json(), strict=True))


def paths_for(rules: Iterable[FieldRule], key: ObjectKey) -> list[Path]:
    """All paths that the rules name for one object, in their order."""
    return [path for rule in rules if rule.matches(key) for path in rule.paths]


_IDENTITY = frozenset({("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")})
_MARKS = (("metadata", "labels"), ("metadata", "annotations"))


def why_never_ignored(path: Path) -> str:
    """Why a field can't be left to others, in a clause; empty if it can."""
    if path == ("metadata",):
        return "holds the name of the object, give fields in it such as /metadata/annotations"
    if path[:1] in _IDENTITY or path[:2] in _IDENTITY:
        return "tells which object it is, which can't be left to others"
    if path[0] == "status":
        return "is never sent, so it needs no entry"
    if path[:2] in _MARKS and len(path) > 2 and path[2].startswith(OWN_PREFIX):
        return f"is of this collection itself, as all of {OWN_PREFIX}"
    return ""


def path_of_pointer(pointer: str) -> Path:
    """``/metadata/annotations/a.io~1b`` to ``("metadata", "annotations", "a.io/b")``."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
