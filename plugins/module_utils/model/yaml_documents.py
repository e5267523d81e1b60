"""YAML and JSON text as Go's reader means it, and YAML for people to read.

kubectl and Helm read YAML through sigs.k8s.io/yaml, which is neither YAML 1.1 nor 1.2: ``y`` is a boolean, ``0o17``
an octal number, ``1e3`` a number, but ``22:22``, ``2024-01-01`` and ``=`` are text. PyYAML's own resolvers disagree on
each of these, so this reader takes only libyaml's events from PyYAML and gives them their meaning itself, in one pass.
The rules of scalars follow ``resolve.go`` of go.yaml.in/yaml/v2.

Stricter than Go where Go loses something silently: duplicate keys (as ``YAMLToJSONStrict``) and unknown tags. Where a
merge key (``<<``) and a key of the mapping itself meet, the mapping's own wins, wherever it stands, as YAML says.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import DocumentError

try:
    import yaml
    from yaml.events import (
        AliasEvent,
        DocumentStartEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
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
_MAY_NOT_BE_TEXT = frozenset("0123456789+-.yYnNtTfFoO~")
_INTEGER = re.compile(r"([-+]?)(?:0[bB]([01]+)|0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])_(?=[0-9])")
_LONGEST_INTEGER = len("-0b") + 64
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"
_EXACT_INTEGERS = 2**53


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file.

    :param source: path of the file, for messages.
    :param index: number of the document in the file, from 1, counting the empty ones.
    :param line: line of its first content, from 1.
    :param value: plain JSON types, never None.
    """

    source: str
    index: int
    line: int
    value: Any

    @property
    def place(self) -> str:
        """Where it is, for messages: ``path:line``."""
        return f"{self.source}:{self.line}"


def read_documents(text: str | bytes, source: str, *, largest_copy: int = LARGEST_COPY) -> list[Document]:
    """All documents of a YAML stream or a JSON text; those that hold nothing (comments, ``null``) are left out.

    A document may be any value: that an object was expected is for the caller to say.

    :param source: path for messages.
    :param largest_copy: how many values aliases may add.
    :raises DocumentError: not UTF-8, not YAML, or a value without a JSON meaning; the subject is ``path:line``.
    """
    return list(_documents(text, source, largest_copy))


def _documents(text: str | bytes, source: str, largest_copy: int) -> Iterator[Document]:
    text = _decoded(text, source)
    if text.lstrip()[:1] in ("{", "["):
        found, value = _read_json(text, source)
        if found:
            first_line = 1 + text[: len(text) - len(text.lstrip())].count("\n")
            yield Document(source, 1, first_line, value)
            return
    try:
        yield from _Reader(text, source, largest_copy).documents()
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
    documents = list(itertools.islice(_documents(text, source, LARGEST_COPY), 2))
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

    def __init__(self, text: str, source: str, largest_copy: int) -> None:
        self._source = source
        self._largest_copy = largest_copy
        # Files with a byte order mark that were concatenated have one at the start of later documents too.
        plain = text.replace("\n\ufeff", "\n") if "\ufeff" in text else text
        self._events: Iterator[Any] = yaml.parse(plain, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._anchors: dict[str, Any] = {}
        self._copied = 0

    def documents(self) -> Iterator[Document]:
        index = 0
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                index += 1
                self._anchors = {}
                root = next(self._events)
                value = self._value(root)
                if value is not None:
                    yield Document(self._source, index, root.start_mark.line + 1, value)

    def _value(self, event: Any) -> Any:
        kind = type(event)
        value: Any
        if kind is ScalarEvent:
            value = event.value
            if event.tag is not None:
                value = self._tagged(event)
            elif event.implicit[0] and (value[:1] in _MAY_NOT_BE_TEXT or not value):
                value = self._plain(event)
        elif kind is MappingStartEvent:
            value = self._mapping(event)
        elif kind is SequenceStartEvent:
            self._require_tag(event, "seq")
            value = []
            while type(item := next(self._events)) is not SequenceEndEvent:
                value.append(self._value(item))
        else:
            return self._alias(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _mapping(self, start: Any) -> dict[str, Any]:
        self._require_tag(start, "map")
        mapping: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        while type(event := next(self._events)) is not MappingEndEvent:
            if type(event) is ScalarEvent and event.value == "<<" and event.implicit[0]:
                merged += self._merge_sources(next(self._events))
                continue
            key = self._key(event)
            if key in mapping:
                shown = key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"
                raise self._error(event, f"the key {shown} stands twice in one mapping")
            mapping[key] = self._value(next(self._events))
        for source in merged:
            for key, value in source.items():
                mapping.setdefault(key, value)
        return mapping

    def _key(self, event: Any) -> str:
        if type(event) is ScalarEvent or type(event) is AliasEvent:
            value = self._value(event)
            if type(value) is str:
                return value
            if isinstance(value, bool):
                return "true" if value else "false"
            if isinstance(value, int):
                # 1000000.0 and 1e6 are 1000000 as values, but keys take the form that Go gives to floats.
                return str(value) if self._is_integer(event) else self._float_key(float(value), event)
            if isinstance(value, float):
                return self._float_key(value, event)
            if value is None:
                raise self._error(event, "a key is null", hint="quote it if text is meant")
        raise self._error(event, "a key is a mapping or a list", hint="quote text that starts with { or [")

    def _is_integer(self, event: Any) -> bool:
        return type(event) is AliasEvent or _INTEGER.fullmatch(event.value.replace("_", "")) is not None

    def _float_key(self, value: float, event: Any) -> str:
        try:
            return _float_key(value)
        except OverflowError:
            raise self._error(event, "a key is a number too large to be kept", hint="quote it") from None

    def _merge_sources(self, event: Any) -> list[dict[str, Any]]:
        value = self._value(event)
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._error(event, "<< takes a mapping or a list of mappings")
        return sources

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            # Not its name: it may be a value that somebody forgot to quote.
            raise self._error(event, "this alias has no anchor before it", hint="quote the value if it is none")
        return self._copy(self._anchors[event.anchor], event)

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

    def _plain(self, event: Any) -> Any:
        value = _resolve(event.value)
        if isinstance(value, float) and value - value != 0:
            raise self._error(event, f"{event.value} is no number in JSON", hint="quote it if text is meant")
        return value

    def _tagged(self, event: Any) -> Any:
        text = event.value
        wanted: type | tuple[type, ...]
        match event.tag.removeprefix(_TAG):
            case "!" | "str" | "timestamp":
                return text
            case "binary":
                try:
                    return base64.b64decode("".join(text.split()), validate=True).decode()
                except ValueError:
                    raise self._error(event, "!!binary is not the base64 form of a text") from None
            case "int":
                wanted = int
            case "float":
                wanted = (int, float)
            case "bool":
                wanted = bool
            case "null":
                wanted = type(None)
            case _:
                raise self._unknown_tag(event)
        value = self._plain(event)
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
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


def _resolve(text: str) -> Any:
    """What a plain scalar means (``resolve.go``); infinity and NaN come back as floats."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "0123456789+-.":
        return text
    if text in _NOT_FINITE:
        return float(text.replace(".", "", 1))
    digits = _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", "")
    if len(digits) <= _LONGEST_INTEGER and (integer := _INTEGER.fullmatch(digits)):
        value = _integer(integer)
        if -(2**63) <= value < 2**64:
            return value
    if _FLOAT.fullmatch(digits):
        return _number(float(digits), text)
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


def _number(value: float, text: str) -> int | float | str:
    """Go writes an integral float as an integer into JSON; what overflows stays text, as in Go."""
    if value - value != 0:
        return text
    return int(value) if value.is_integer() and abs(value) < _EXACT_INTEGERS else value


def _float_key(value: float) -> str:
    """``strconv.FormatFloat(value, 'g', -1, 32)``, by which sigs.k8s.io/yaml turns a number into a key.

    :raises OverflowError: the number is beyond 32 bit floats.
    """
    packed = struct.pack("<f", value)
    (narrow,) = struct.unpack("<f", packed)
    shortest = next(digits for digits in range(9) if struct.pack("<f", float(f"{narrow:.{digits}e}")) == packed)
    text = f"{narrow:.{shortest}e}"
    exponent = int(text.partition("e")[2])
    return text if not -4 <= exponent < 6 else f"{float(text):.{max(shortest - exponent, 0)}f}"


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
        return value  # type: ignore[no-any-return]

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
            quoted = "'" if not isinstance(_resolve(text), str) else None
            return self.represent_scalar(_TAG + "str", text, style="|" if "\n" in text else quoted)

    _PeopleDumper.add_representer(str, _PeopleDumper.represent_text)
