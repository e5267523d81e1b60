"""YAML and JSON text as Go's reader means it, and YAML for people to read.

kubectl and Helm read YAML through sigs.k8s.io/yaml, which is neither YAML 1.1 nor 1.2: ``y`` is a boolean, ``0o17``
an octal number, ``1e3`` a number, but ``22:22``, ``2024-01-01`` and ``=`` are text. PyYAML's own resolvers disagree on
each of these, so this reader takes only libyaml's events from PyYAML and gives them their meaning itself, in one pass.
The rules of scalars follow ``resolve.go`` of go.yaml.in/yaml/v2.

Stricter than Go where Go loses something silently: duplicate keys (as ``YAMLToJSONStrict``), unknown tags, keys that
32 bit floats can't hold, and text after a line ``...``. What a merge key (``<<``) brings over a key before it counts as
a duplicate too, since Go then takes the one that is merged, and kustomize the mapping's own.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .errors import DocumentError

try:
    import yaml
    from yaml.events import (
        DocumentStartEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
        StreamEndEvent,
    )
except ImportError:  # pragma: no cover  (the module's edge reports it)
    yaml = None  # type: ignore[assignment]

LARGEST_COPY = 400_000
"""Values that aliases may add to one stream; Go stops at about the same number ("excessive aliasing")."""

_CHARACTERS_OF_A_VALUE = 20
"""So much text counts as one more value: what is shared in memory is repeated wherever it is written."""

_LONGEST_KEY = 60

_WORDS: dict[str, bool | None] = {
    **{word: True for name in ("y", "yes", "true", "on") for word in (name, name.capitalize(), name.upper())},
    **{word: False for name in ("n", "no", "false", "off") for word in (name, name.capitalize(), name.upper())},
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_FINITE = frozenset(f"{sign}{word}" for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")) | {
    ".nan",
    ".NaN",
    ".NAN",
}
_MAY_BE_NUMBER = frozenset("0123456789+-.")
_INTEGER = re.compile(r"([-+]?)(?:0[bB]([01]+)|0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_SIGN_AFTER_BASE = re.compile(r"0b([-+][01]+)")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])_(?=[0-9])")
_LONGEST_INTEGER = len("-0b") + 64
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?"
)
_TYPES = {"int": int, "float": float, "bool": bool, "null": type(None)}
_TAG = "tag:yaml.org,2002:"
EXACT_INTEGERS = 2**53
_INTEGERS = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file.

    :param source: path of the file, for messages.
    :param index: number of the document in the file, from 1, counting the empty ones.
    :param line: line of its first content, from 1.
    :param value: plain JSON types, never None.
    :param repeated: keys that stand more than once in one mapping, such as ``spec.containers[0].image``.
    """

    source: str
    index: int
    line: int
    value: Any
    repeated: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it is, for messages: ``path:line``."""
        return f"{self.source}:{self.line}"


def read_documents(
    text: str | bytes, source: str, *, largest_copy: int = LARGEST_COPY, last_key_wins: bool = False
) -> list[Document]:
    """All documents of a YAML stream or a JSON text; those that hold nothing (comments, ``null``) are left out.

    A document may be any value: that an object was expected is for the caller to say.

    :param source: path for messages.
    :param largest_copy: how many values aliases may add.
    :param last_key_wins: of a key that stands more than once in one mapping, the last value counts, and the document
        says so; otherwise that is an error.
    :raises DocumentError: not UTF-8, not YAML, or a value without a JSON meaning; the subject is ``path:line``.
    """
    return list(_documents(text, source, largest_copy, last_key_wins))


def _documents(
    text: str | bytes, source: str, largest_copy: int = LARGEST_COPY, last_key_wins: bool = False
) -> Iterator[Document]:
    text = _decoded(text, source)
    if text.lstrip()[:1] in ("{", "["):
        found, value = _read_json(text, source)
        if found:
            first_line = 1 + text[: len(text) - len(text.lstrip())].count("\n")
            yield Document(source, 1, first_line, value)
            return
    try:
        yield from _Reader(text, source, largest_copy, last_key_wins).documents()
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, source) from error
    except UnicodeEncodeError:
        raise DocumentError("not UTF-8 text", subject=source) from None
    except RecursionError:
        raise DocumentError("nested too deeply", subject=source) from None


def read_one(text: str | bytes, source: str) -> Any:
    """The value of a text that has exactly one document.

    :raises DocumentError: as ``read_documents``, and when there is none or more than one.
    """
    # Not all of them: there may be a great many.
    documents = list(itertools.islice(_documents(text, source), 2))
    match documents:
        case [document]:
            return document.value
        case []:
            raise DocumentError("nothing in it", subject=source)
        case _:
            raise DocumentError(
                "a second document starts here, only one is expected", subject=documents[1].place, hint="remove the ---"
            )


def dump_yaml(value: Any, *, sort_keys: bool = False) -> str:
    """Block style YAML with keys in the order given, ``|`` for text of several lines, no anchors, no folding.

    Text that this reader, or one for YAML 1.1, would take for something else is quoted.
    """
    text: str = yaml.dump(
        value, Dumper=_PeopleDumper, sort_keys=sort_keys, allow_unicode=True, default_flow_style=False, width=2**30
    )
    return text


class _Reader:
    """Turns the events of one stream into values."""

    def __init__(self, text: str, source: str, largest_copy: int, last_key_wins: bool) -> None:
        self._source = source
        self._largest_copy = largest_copy
        self._last_key_wins = last_key_wins
        # Files with a byte order mark that were concatenated have one at the start of later documents too.
        plain = text.replace("\n\ufeff", "\n") if "\ufeff" in text else text
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(plain)
        # Half a million calls for a large render: ``yaml.parse`` would ask twice for each event.
        self._next = iter(loader.get_event, None).__next__
        self._anchors: dict[str, tuple[Any, Any]] = {}
        self._copied = 0
        self._repeated: dict[tuple[int, str], dict[str, Any]] = {}

    def documents(self) -> Iterator[Document]:
        index = 0
        while type(event := self._next()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                index += 1
                self._anchors = {}
                self._repeated = {}
                root = self._next()
                value = self._value(root)
                if value is not None:
                    repeated = _paths(value, self._repeated) if self._repeated else ()
                    yield Document(self._source, index, root.start_mark.line + 1, value, repeated)

    def _value(self, event: Any) -> Any:
        kind = type(event)
        value: Any
        if kind is ScalarEvent:
            value = event.value
            if event.tag is not None:
                value = self._json_value(self._tagged(event), event)
            elif event.implicit[0] and (value in _WORDS or value[0] in _MAY_BE_NUMBER):
                value = self._json_value(_resolve(value), event)
        elif kind is MappingStartEvent:
            value = self._mapping(event)
        elif kind is SequenceStartEvent:
            self._require_tag(event, "seq")
            value = []
            following = self._next
            while type(item := following()) is not SequenceEndEvent:
                value.append(self._value(item))
        else:
            return self._alias(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (event, value)
        return value

    def _mapping(self, start: Any) -> dict[str, Any]:
        self._require_tag(start, "map")
        mapping: dict[str, Any] = {}
        merged: set[str] | None = None
        following = self._next
        while type(event := following()) is not MappingEndEvent:
            key = event.value if type(event) is ScalarEvent else ""
            if key == "<<" and (event.implicit[0] or event.tag == _TAG + "merge"):
                if merged is None:
                    merged = set()
                else:
                    self._repeat(event, mapping, "<<", "stands twice in one mapping")
                self._merge(mapping, merged, event)
                continue
            if not key or event.anchor or event.tag or key in _WORDS or key[0] in _MAY_BE_NUMBER:
                key = self._key(event)
            if key in mapping:
                if merged is not None and key in merged:
                    merged.remove(key)
                else:
                    self._repeat(event, mapping, key, "stands twice in one mapping")
            mapping[key] = self._value(following())
        return mapping

    def _merge(self, mapping: dict[str, Any], merged: set[str], event: Any) -> None:
        brought: dict[str, Any] = {}
        for source in reversed(self._merge_sources(self._next())):
            brought |= source
        for key in brought:
            if key in mapping and key not in merged:
                self._repeat(event, mapping, key, "stands before a << that brings it too", "put the << first")
        mapping.update(brought)
        merged.update(brought)

    def _merge_sources(self, event: Any) -> list[dict[str, Any]]:
        value = self._value(event)
        sources = value if type(event) is SequenceStartEvent else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._error(event, "<< takes a mapping or a list of mappings")
        return sources

    def _repeat(self, event: Any, mapping: dict[str, Any], key: str, fault: str, hint: str = "") -> None:
        if not self._last_key_wins:
            raise self._error(event, f"the key {_shortened(key)} {fault}", hint=hint)
        self._repeated[id(mapping), key] = mapping

    def _key(self, event: Any) -> str:
        written = event
        if event.anchor is not None:
            self._value(event)
            written = self._anchors[event.anchor][0]
        if type(written) is not ScalarEvent:
            raise self._error(event, "a key is a mapping or a list", hint="quote text that starts with { or [")
        value = written.value
        if written.tag is not None:
            value = self._tagged(written)
        elif written.implicit[0]:
            value = _resolve(value)
        if value is None:
            raise self._error(event, "a key is null", hint="quote it if text is meant")
        key = _key_form(value)
        if key is None:
            raise self._error(event, "a key is a number too large to be kept", hint="quote it")
        return key

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            # Not its name: it may be a value that somebody forgot to quote.
            raise self._error(event, "this alias has no anchor before it", hint="quote the value if it is none")
        return self._copy(self._anchors[event.anchor][1], event)

    def _copy(self, value: Any, event: Any) -> Any:
        """A copy of its own, so that a later change in one place is none in the other."""
        texts = value if isinstance(value, dict) else [value] if isinstance(value, str) else []
        self._copied += 1 + sum(map(len, texts)) // _CHARACTERS_OF_A_VALUE
        if self._copied > self._largest_copy:
            raise self._error(event, "the aliases up to here expand to too many values")
        if isinstance(value, dict):
            return {key: self._copy(item, event) for key, item in value.items()}
        if isinstance(value, list):
            return [self._copy(item, event) for item in value]
        return value

    def _json_value(self, value: Any, event: Any) -> Any:
        if not isinstance(value, float):
            return value
        if not math.isfinite(value):
            raise self._error(event, f"{event.value} is no number in JSON", hint="quote it if text is meant")
        return _json_number(value)

    def _tagged(self, event: Any) -> Any:
        """What the scalar means before it becomes JSON, as ``_resolve``."""
        text = event.value
        tag = event.tag.removeprefix(_TAG)
        match tag:
            case "!" | "str":
                return text
            case "binary":
                try:
                    return base64.b64decode(text.replace("\n", ""), validate=True).decode()
                except ValueError:
                    raise self._error(event, "!!binary is not the base64 form of a text") from None
            case "timestamp" if _TIMESTAMP.fullmatch(text):
                return text
            case "timestamp" | "int" | "float" | "bool" | "null":
                value = _resolve(text)
            case _:
                raise self._unknown_tag(event)
        if tag == "float" and type(value) is int and value in _INTEGERS:
            return float(value)
        if type(value) is not _TYPES.get(tag):
            raise self._error(event, f"the value does not fit its tag {_short(event.tag)}")
        return value

    def _require_tag(self, event: Any, tag: str) -> None:
        if event.tag is not None and event.tag not in ("!", _TAG + tag):
            raise self._unknown_tag(event)

    def _unknown_tag(self, event: Any) -> DocumentError:
        # Not the tag itself: it may be a value that somebody forgot to quote.
        return self._error(event, "this tag has no meaning here", hint="quote the value, or drop the tag")

    def _error(self, event: Any, message: str, hint: str = "") -> DocumentError:
        return DocumentError(message, subject=f"{self._source}:{event.start_mark.line + 1}", hint=hint)


def reads_as_text(text: str) -> bool:
    """Whether this, written without quotes, is text and not a number, a truth value or nothing."""
    return isinstance(_resolve(text), str)


def _resolve(text: str) -> Any:
    """What a plain scalar means (``resolve.go``); what overflows stays text. Not yet JSON: see ``_json_number``."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if text in _NOT_FINITE:
        return float(text.replace(".", "", 1))
    digits = _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", "")
    if len(digits) <= _LONGEST_INTEGER and (integer := _INTEGER.fullmatch(digits)):
        value = _integer(integer)
        if -(2**63) <= value < 2**64:
            return value
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return number if math.isfinite(number) else text
    if len(digits) <= _LONGEST_INTEGER and (odd := _SIGN_AFTER_BASE.fullmatch(digits)):
        value = int(odd[1], 2)
        return value if value in _INTEGERS else text
    return text


def _integer(match: re.Match[str]) -> int:
    sign, binary, hexadecimal, octal, decimal = match.groups()
    if decimal is not None:
        value = int(decimal)
    elif octal is not None:
        value = int(octal, 8)
    else:
        value = int(binary, 2) if binary is not None else int(hexadecimal, 16)
    return -value if sign == "-" else value


def _json_number(value: float) -> int | float:
    """Go writes an integral float without a point, and whoever reads that takes it for an integer if it fits 64 bit."""
    if not value.is_integer():
        return value
    if abs(value) < EXACT_INTEGERS:
        return int(value)
    # The digits that Go writes, not the exact value.
    written = int(Decimal(repr(value)))
    return written if written in _INTEGERS else value


def _key_form(value: str | bool | int | float) -> str | None:
    """The text that sigs.k8s.io/yaml makes of a key; none for a number that would not be kept.

    Floats take the form of ``strconv.FormatFloat(value, 'g', -1, 32)``, also where they are integral.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value in _INTEGERS else None
    if not math.isfinite(value):
        return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
    packed = _narrow(value)
    if packed is None:
        return None
    (narrow,) = struct.unpack("<f", packed)
    shortest = next(digits for digits in range(9) if _narrow(float(f"{narrow:.{digits}e}")) == packed)
    text = f"{narrow:.{shortest}e}"
    exponent = int(text.partition("e")[2])
    return text if not -4 <= exponent < 6 else f"{float(text):.{max(shortest - exponent, 0)}f}"


def _narrow(value: float) -> bytes | None:
    """As a 32 bit float; none where that would be infinite."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return None


def _paths(value: Any, repeated: Mapping[tuple[int, str], dict[str, Any]]) -> tuple[str, ...]:
    """Where the repeated keys stand in a document; those of a mapping that was itself replaced do so no longer."""
    places: dict[int, str] = {}
    waiting = [(value, "")]
    while waiting:
        part, place = waiting.pop()
        places[id(part)] = place
        if isinstance(part, dict):
            waiting += ((item, f"{place}.{_shortened(key)}") for key, item in part.items())
        elif isinstance(part, list):
            waiting += ((item, f"{place}[{number}]") for number, item in enumerate(part))
    found = (f"{places[mapping]}.{_shortened(key)}" for mapping, key in repeated if mapping in places)
    return tuple(path.removeprefix(".") for path in found)


def _shortened(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"


def _short(tag: str) -> str:
    return tag.replace(_TAG, "!!", 1)


def _decoded(text: str | bytes, source: str) -> str:
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise DocumentError("not UTF-8 text", subject=f"{source}:{line}") from None


def _read_json(text: str, source: str) -> tuple[bool, Any]:
    """Whether the text is one JSON value, and which; what is not may still be YAML in flow style."""

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            raise ValueError("the YAML reader says where the duplicate key is")
        return values

    def number(digits: str) -> int | float:
        value = _resolve(digits)
        if isinstance(value, str):
            raise DocumentError(f"the number {digits:.60} is too large", subject=source)
        return _json_number(float(value)) if isinstance(value, float) else value

    def refuse(constant: str) -> None:
        raise DocumentError(f"{constant} is no number in JSON", subject=source)

    try:
        value = json.loads(text, object_pairs_hook=mapping, parse_int=number, parse_float=number, parse_constant=refuse)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DocumentError("a \\u escape is half a character (a lone surrogate)", subject=source) from None
    except (ValueError, RecursionError):
        return False, None
    return True, value


def _syntax_error(error: Exception, text: str, source: str) -> DocumentError:
    """PyYAML's errors with the line in the subject, and what to do about the common ones."""
    match error:
        case yaml.MarkedYAMLError(problem_mark=mark) if mark is not None:
            lines = text.split("\n")
            rest = lines[mark.line][mark.column :] if mark.line < len(lines) else ""
            hint = ""
            if rest.startswith("\t"):
                hint = "indent with blanks, not with a tab"
            elif rest[:1] in ("@", "`", "%"):
                hint = f"quote text that starts with {rest[0]}"
            elif "mapping values are not allowed" in str(error.problem):
                hint = "quote text that contains a colon, or check the indentation"
            context = error.context_mark
            since = f" {error.context}, which starts in line {context.line + 1}" if context and error.context else ""
            return DocumentError(
                f"not valid YAML: {error.problem}{since}", subject=f"{source}:{mark.line + 1}", hint=hint
            )
        case yaml.reader.ReaderError():
            before = text.encode("utf-8", "replace")[: error.position]
            line = before.count(b"\n") + 1
            return DocumentError("a control character is not allowed in YAML", subject=f"{source}:{line}")
    return DocumentError(f"not valid YAML: {error}", subject=source)  # pragma: no cover


if yaml is not None:

    class _PeopleDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """PyYAML's dumper for people: no anchors, literal blocks, and quotes where Go's reader needs them."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_text(self, text: str) -> Any:
            quoted = None if reads_as_text(text) else "'"
            return self.represent_scalar(_TAG + "str", text, style="|" if "\n" in text else quoted)

    _PeopleDumper.add_representer(str, _PeopleDumper.represent_text)
