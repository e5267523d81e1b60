"""The fields that managers own in an object, as its ``managedFields`` tell them, and what follows from them.

``fieldsV1`` is a tree: ``f:name`` is a field, ``k:{…}`` an item of a list by its keys, ``v:…`` one by its value,
``i:0`` one by its index, ``.`` the thing itself. A leaf owns all that is below it. Source: structured-merge-diff,
``fieldpath/serialize.go``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .field_rules import Path
from .objects import Manifest

FieldTree = dict[str, Any]
_Member = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of ``managedFields``; ``subresource`` is empty for the object itself."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    fields: FieldTree

    @classmethod
    def of(cls, value: dict[str, Any]) -> Entry:
        return cls(
            value.get("manager") or "",
            value.get("operation") or "",
            value.get("subresource") or "",
            value.get("apiVersion") or "",
            value.get("fieldsV1") or {},
        )

    def same_owner(self, other: Entry) -> bool:
        """Whether both are of one manager in one role, whatever it owns."""
        return replace(self, fields={}) == replace(other, fields={})


def entries_of(manifest: Manifest) -> list[Entry]:
    return [Entry.of(value) for value in manifest["metadata"].get("managedFields") or []]


def owners_of(manifest: Manifest, path: Path) -> list[Entry]:
    """The entries that own the field at a path of this object, or something below or around it."""
    return [entry for entry in entries_of(manifest) if _owns(entry.fields, manifest, path)]


def _owns(fields: FieldTree, value: Any, path: Path) -> bool:
    if not path:
        return True
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        inner = value.get(step)
    elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        inner = value[int(step)]
    else:
        return False
    below = tree_below(fields, value, step)
    # An empty tree below a field owns it as a whole.
    return below is not None and (not below or _owns(below, inner, rest))


def tree_below(fields: FieldTree, value: Any, step: str) -> FieldTree | None:
    """What a tree owns of one field or item of this value, ``None`` for nothing of it."""
    if isinstance(value, list):
        index = int(step)
        return next((below for name, below in fields.items() if _selects(name, value[index], index)), None)
    return fields.get(f"f:{step}")


def tree_at(fields: FieldTree, value: Any, path: Path) -> FieldTree | None:
    """What a tree owns of the field at a path of this value, empty for all of it.

    ``None`` when it owns nothing of it, or something around it as a whole.
    """
    found: FieldTree | None = fields
    for step in path:
        if not found:
            return None
        found = tree_below(found, value, step)
        value = value[int(step)] if isinstance(value, list) else value[step]
    return found


def item_keys(fields: FieldTree, item: Any) -> set[str]:
    """The fields by which a tree of a list tells this item apart; none unless it is a mapping."""
    found = (name for name in fields if name.startswith("k:") and _selects(name, item, 0))
    return {key for name in found for key in json.loads(name[2:])}


def _selects(name: str, item: Any, index: int) -> bool:
    """Whether a step of ``fieldsV1`` into a list means this item."""
    kind, _, text = name.partition(":")
    match kind:
        case "i":
            return text == str(index)
        case "v":
            return bool(item == json.loads(text))
        case "k":
            keys: dict[str, Any] = json.loads(text)
            return isinstance(item, dict) and all(item.get(key) == value for key, value in keys.items())
    return False


def members_of(fields: FieldTree) -> set[_Member]:
    """Everything that a tree owns: its leaves, and what is marked with ``.``."""
    return set(_members(fields, ()))


def _members(fields: FieldTree, above: _Member) -> Iterator[_Member]:
    for name, below in fields.items():
        if name == ".":
            yield above
        elif not below:
            yield (*above, name)
        else:
            yield from _members(below, (*above, name))


def union_of(trees: Iterable[FieldTree]) -> FieldTree:
    """The tree that owns what any of these owns."""
    united: FieldTree = {}
    for tree in trees:
        _unite(united, tree)
    return united


def _unite(into: FieldTree, tree: FieldTree) -> None:
    for name, below in tree.items():
        known = into.get(name)
        if known is None:
            into[name] = union_of([below])
        elif bool(known) != bool(below) and name != ".":
            # One owns all of it, the other a part: together both, as the server keeps such a pair.
            _unite(known, {".": {}, **below})
        else:
            _unite(known, below)


def _is_key(member: _Member) -> bool:
    """Whether it is one of the fields by which an item of a list is told apart: the item stays, so does its key."""
    if len(member) < 2 or not member[-2].startswith("k:"):
        return False
    return member[-1].removeprefix("f:") in json.loads(member[-2][2:])


def without(manifest: Manifest, absorbed: Iterable[FieldTree], kept: Iterable[FieldTree]) -> tuple[Manifest, list[str]]:
    """The object without what the absorbed trees own and the kept ones don't, as server-side apply removes it.

    A list item or a mapping of which somebody else owns a part stays, and what is empty before stays, too, see
    ``without_empty``. What becomes empty goes, unless somebody owns it (observed; structured-merge-diff,
    ``merge/update.go``). What is unchanged is shared with the original.

    :returns: the object, and the fields that really went, such as ``.data.key`` or ``.spec.ports[port=80]``; what is
        within something that goes is not told apart.
    """
    others = members_of(union_of(kept))
    held = {member[:length] for member in others for length in range(len(member) + 1)}
    lost = {member for member in members_of(union_of(absorbed)) if member not in held and not _is_key(member)}
    removal = _Removal(held)
    left: Manifest = manifest
    for member in sorted(lost):
        if not any(member[:length] in lost for length in range(len(member))):
            left = removal.of(left, member)
    return left, sorted(removal.removed)


def without_empty(fields: FieldTree, value: Any) -> FieldTree:
    """The tree without leaves that are empty mappings or lists of this object.

    To own such a field and to apply it as empty again is refused of custom resources, and without it in the source it
    goes or stays by its kind (both observed). Owned by nobody, it stays.
    """
    kept: FieldTree = {}
    for name, below in fields.items():
        inside = _inside(value, name)
        if inside in ({}, []) and name != ".":
            continue
        left = without_empty(below, inside) if below else {}
        # Without anything below it, a field would be owned as a whole.
        if left or not below:
            kept[name] = left
    return kept


def within(fields: FieldTree, value: Any) -> FieldTree:
    """The tree without leaves that this value does not have."""
    kept: FieldTree = {}
    for name, below in fields.items():
        inside = _inside(value, name)
        left = within(below, inside) if below else {}
        if name == "." or (inside is not None and (left or not below)):
            kept[name] = left
    return kept


def in_version(manifest: Manifest, removed: Collection[str], api_version: str) -> Manifest:
    """The object with what managers own in one of the removed API versions owned in this one."""
    metadata = manifest["metadata"]
    entries = [
        {**value, "apiVersion": api_version} if value.get("apiVersion") in removed else value
        for value in metadata.get("managedFields") or []
    ]
    return {**manifest, "metadata": {**metadata, "managedFields": entries}}


def values_of(fields: FieldTree, value: Any) -> list[tuple[str, Any]]:
    """What stands in this value where a tree's leaves are, by names such as ``.data.key`` or ``.spec.ports[port=80]``.

    Left out are leaves that it does not have, or that are null, and the keys by which items are told apart.
    """
    return list(_values(fields, value, (), ""))


def values_in_both(fields: FieldTree, one: Any, other: Any) -> list[tuple[tuple[str, Any], Any]]:
    """The same, each with what stands in another value, which is ``None`` where that has nothing."""
    there = dict(values_of(fields, other))
    return [(found, there.get(found[0])) for found in values_of(fields, one)]


def _values(fields: FieldTree, value: Any, above: _Member, shown: str) -> Iterator[tuple[str, Any]]:
    for name, below in fields.items():
        path = (*above, name)
        inside = _inside(value, name)
        if name == "." or inside is None or _is_key(path):
            continue
        title = f"{shown}.{name[2:]}" if name.startswith("f:") else f"{shown}[{_title(name)}]"
        if below:
            yield from _values(below, inside, path, title)
        else:
            yield title, inside


def _inside(value: Any, name: str) -> Any:
    if isinstance(value, dict) and name.startswith("f:"):
        return value.get(name[2:])
    if isinstance(value, list):
        return next((item for index, item in enumerate(value) if _selects(name, item, index)), None)
    return None


@dataclass
class _Removal:
    """Takes members out of an object and notes what went; ``held`` is what stays even when it becomes empty."""

    held: set[_Member]
    removed: list[str] = field(default_factory=list)

    def of(self, value: Any, steps: _Member, above: _Member = (), shown: str = "") -> Any:
        """The value without one member; ``above`` and ``shown`` are the way to it, as steps and in words."""
        name, rest = steps[0], steps[1:]
        path = (*above, name)
        if isinstance(value, dict) and name.startswith("f:") and name[2:] in value:
            key, inner = name[2:], value[name[2:]]
            title = f"{shown}.{key}"
            if rest:
                changed = self.of(inner, rest, path, title)
                if changed is inner:
                    return value
                # A list goes with its last item, whoever holds it.
                if changed or (isinstance(changed, dict) and path in self.held):
                    return {**value, key: changed}
            elif inner in ({}, []):
                return value
            else:
                self.removed.append(title)
            return {other: one for other, one in value.items() if other != key}
        if isinstance(value, list):
            for index, item in enumerate(value):
                if _selects(name, item, index):
                    title = f"{shown}[{_title(name)}]"
                    if not rest:
                        self.removed.append(title)
                        return [*value[:index], *value[index + 1 :]]
                    changed = self.of(item, rest, path, title)
                    return value if changed is item else [*value[:index], changed, *value[index + 1 :]]
        return value


def _title(name: str) -> str:
    kind, _, text = name.partition(":")
    if kind == "k":
        return ",".join(f"{key}={value}" for key, value in json.loads(text).items())
    return text
