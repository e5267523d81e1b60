"""What a chart makes up (passwords, certificates, checksums over them), told by rendering it twice, and kept.

Where two renders of the same input differ, neither is what somebody wants: what lives in the cluster is. Everything
else of the object is the author's, and is applied as rendered. So is what can't be told apart: kept as a whole, it
would hide what somebody changed in the cluster. Of lists whose length is random only texts are kept; whole rules,
subjects and containers never are.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .fields import NOTHING
from .keyed_hash import canonical_json
from .list_keys import key_fields, key_of, title_of
from .made_up_lines import MARKER, constant_lines, filled_lines, lines_of
from .objects import Manifest

T = TypeVar("T")

_Path = tuple[str, ...]
"""Steps as they are displayed: ``.data``, ``[0]``, ``[name="web"]``."""

_NEVER_WHOLE = frozenset(
    {".rules", ".subjects", ".roleRef", ".containers", ".initContainers", ".ephemeralContainers", ".webhooks"}
)
"""Mappings and lists that say who may do what, and what runs: nothing in them is kept but single values."""


def stable(manifest: Manifest, second: Manifest | None) -> Manifest:
    """The object with a marker for everything that is made up: equal for any two renders of one input.

    :param second: the same object as another render of the same input made it, ``None`` if no different.
    """
    if second is None:
        return manifest
    found: Manifest = _constant((), manifest, second, _is_secret(manifest))
    return found


def settled(manifest: Manifest, second: Manifest | None, live: Manifest) -> tuple[Manifest, list[str]]:
    """The object to send when ``live`` exists: what is made up has the live value, where live has one.

    :param second: as for ``stable``.
    :return: also the fields that keep their live value, such as ``.data.password``, where that is another than the
        rendered one. The inputs are left as they are; the result may share parts with them.
    """
    if second is None:
        return manifest, []
    settling = _Settling(_is_secret(manifest))
    body: Manifest = settling.value((), manifest, second, live)
    return body, settling.kept


def _is_secret(manifest: Manifest) -> bool:
    return (manifest.get("apiVersion"), manifest.get("kind")) == ("v1", "Secret")


def _constant(path: _Path, first: Any, second: Any, secret: bool) -> Any:
    if _same(first, second):
        return first
    match first, second:
        case dict(), dict():
            found = {
                key: _constant((*path, f".{key}"), first[key], second[key], secret) for key in first if key in second
            }
            # What only one render has may have another name next time.
            return found if first.keys() == second.keys() else {**found, MARKER: MARKER}
        case list(), list():
            if _all_texts(first, second):
                return constant_lines(first, second)
            if len(first) == len(second):
                pairs = enumerate(zip(first, second, strict=True))
                return [_constant((*path, f"[{number}]"), *both, secret) for number, both in pairs]
        case str(), str():
            if secret and _is_value(path):
                first, second = _decoded(first) or first, _decoded(second) or second
            if _has_lines(first, second):
                return "\n".join(constant_lines(lines_of(first), lines_of(second)))
    return MARKER


@dataclass(slots=True)
class _Settling:
    """:ivar kept: the fields that have their live value instead of the rendered one."""

    secret: bool
    kept: list[str] = field(default_factory=list)

    def value(self, path: _Path, first: Any, second: Any, live: Any) -> Any:
        if _same(first, second) or live is NOTHING:
            return first
        match first, second, live:
            case dict(), dict(), dict():
                return self._mapping(path, first, second, live)
            case list(), list(), list():
                return self._list(path, first, second, live)
            case str(), str(), str():
                return self._text(path, first, second, live)
        if _kind(live) in (_kind(first), _kind(second)):
            return self._whole(path, first, live)
        return first

    def _whole(self, path: _Path, first: Any, live: Any) -> Any:
        """The live value as a whole, or the rendered one where that would let too much pass."""
        if isinstance(live, (dict, list)) and (not _NEVER_WHOLE.isdisjoint(path) or _holds_never_whole(live)):
            return first
        return self._kept(path, first, live)

    def _kept(self, path: _Path, first: Any, live: T) -> T:
        if not _same(first, live):
            self.kept.append("".join(path))
        return live

    def _mapping(self, path: _Path, first: dict[str, Any], second: dict[str, Any], live: dict[str, Any]) -> Any:
        alone = [key for key in first if key not in second]
        opposite = [key for key in second if key not in first]
        named_anew = _named_anew(alone, opposite, first.keys() | second.keys(), live)
        found = {}
        for key in first | second:
            step = (*path, f".{key}")
            if key in first and key in second:
                found[key] = self.value(step, first[key], second[key], live.get(key, NOTHING))
            elif not named_anew and key in live:
                found[key] = self._whole(step, first.get(key, NOTHING), live[key])
            elif not named_anew and key in first and opposite:
                # Left out, nothing would be there in the end: no later render has it either.
                found[key] = first[key]
        if named_anew:
            partners = zip(
                _by_value(first, alone), _by_value(second, opposite), _by_value(live, named_anew), strict=True
            )
            for key, other, there in partners:
                step, before = (*path, f".{there}"), len(self.kept)
                found[there] = self.value(step, first[key], second[other], live[there])
                if "".join(step) not in self.kept[before:]:
                    self._kept(step, NOTHING, found[there])
        return {key: value for key, value in found.items() if value is not NOTHING}

    def _list(self, path: _Path, first: list[Any], second: list[Any], live: list[Any]) -> Any:
        if _all_texts(first, second, live):
            lines, kept = filled_lines(first, second, live)
            # What a rule allows is not made up; which objects it is about may be.
            may_be = ".rules" not in path or path[-1] == ".resourceNames"
            return (self._kept(path, first, lines) if may_be else first) if kept else lines
        fields = key_fields(first, second, live)
        if fields:
            partners = _by_key(fields, first, second, live)
            steps = [title_of(fields, element) for element in first]
        else:
            # Only one render has what is beyond the end of the other: it stays as it is rendered.
            partners = [
                (second[place] if place < len(second) else element, live[place] if place < len(live) else NOTHING)
                for place, element in enumerate(first)
            ]
            steps = [f"[{number}]" for number in range(len(first))]
        each = zip(steps, first, partners, strict=True)
        return [self.value((*path, step), element, *others) for step, element, others in each]

    def _text(self, path: _Path, first: str, second: str, live: str) -> str:
        if self.secret and _is_value(path):
            decoded = [_decoded(text) for text in (first, second, live)]
            contents = [text for text in decoded if text is not None]
            if len(contents) == len(decoded):
                content = self._content(path, *contents)
                return live if content == contents[-1] else base64.b64encode(content.encode()).decode()
        return self._content(path, first, second, live)

    def _content(self, path: _Path, first: str, second: str, live: str) -> str:
        if not _has_lines(first, second, live):
            return self._kept(path, first, live)
        lines, kept = filled_lines(lines_of(first), lines_of(second), lines_of(live))
        text = "\n".join(lines)
        return self._kept(path, first, text) if kept else text


def _same(first: Any, second: Any) -> bool:
    return _kind(first) == _kind(second) and first == second


def _kind(value: Any) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def _has_lines(*texts: str) -> bool:
    """Whether one of them has several; the line break at the end of the only line makes none."""
    return any("\n" in text.rstrip("\n") for text in texts)


def _all_texts(*lists: list[Any]) -> bool:
    return all(isinstance(element, str) for one in lists for element in one)


def _is_value(path: _Path) -> bool:
    """Of a Secret: its base64 form says nothing of where two values differ."""
    return len(path) == 2 and path[0] == ".data"


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _holds_never_whole(value: Any) -> bool:
    match value:
        case dict():
            named = (
                (f".{key}" in _NEVER_WHOLE and isinstance(item, (dict, list)), item) for key, item in value.items()
            )
            return any(never or _holds_never_whole(item) for never, item in named)
        case list():
            return any(_holds_never_whole(item) for item in value)
    return False


# -- entries and elements ----------------------------------------------------------------------------------------------


def _named_anew(alone: list[str], opposite: list[str], known: Collection[str], live: dict[str, Any]) -> list[str]:
    """The live entries that stand for those whose very keys are made up; none when that can't be told."""
    others = [key for key in live if key not in known]
    as_many = len(alone) == len(opposite) == len(others)
    return others if as_many and live.keys().isdisjoint({*alone, *opposite}) else []


def _by_value(mapping: dict[str, Any], keys: list[str]) -> list[str]:
    """In an order that does not depend on the keys, so that equal values meet."""
    return sorted(keys, key=lambda key: canonical_json(mapping[key]))


def _by_key(
    fields: tuple[str, ...], first: list[dict[str, Any]], second: list[dict[str, Any]], live: list[dict[str, Any]]
) -> list[tuple[Any, Any]]:
    """The element of the other render and the live one for each.

    Those whose key is made up take what is left, if it is as many; an element that only one render has takes none.
    """
    keys = [key_of(fields, element) for element in first]
    others = {key_of(fields, element): element for element in second}
    known = {key_of(fields, element): element for element in live}
    alone = [key for key in keys if key not in others]
    opposite = [element for key, element in others.items() if key not in set(keys)]
    left = [element for key, element in known.items() if key not in set(keys) & others.keys()]
    partners = iter(zip(opposite, left, strict=True) if len(alone) == len(opposite) == len(left) else [])
    return [
        (others[key], known.get(key, NOTHING)) if key in others else next(partners, (element, NOTHING))
        for key, element in zip(keys, first, strict=True)
    ]
