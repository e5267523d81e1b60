"""YAML for people, not to be read back: what ``kubectl get -o yaml`` shows, with all that is invisible made visible.

- Text of several lines is a block of lines, whatever stands in it.
- In it, a tab is ``␉``, a carriage return ``␍``, blanks at the end of a line are ``·``, other control characters their
  pictures (``␛``), and what nobody sees or changes the direction of text is its code (``\\u200b``). Text of one line
  with such characters is quoted, with escapes. No control character gets out as itself: a terminal would obey it.
- Base64 of more than 100 characters is its beginning, its length and a digest: what differs still differs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from .invisible import code_of, is_visible, with_stand_ins
from .yaml_documents import dump_yaml

_LONGEST_BASE64 = 100
_SHOWN_BASE64 = 20
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{100}[A-Za-z0-9+/]+={0,2}")
_ALL_KINDS = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])", re.DOTALL)

_MAY_BE_NUMBERS = frozenset("0123456789+-.")
_INDICATORS = frozenset("#,[]{}&*!|>'\"%@` ")
_WORDS = frozenset({"y", "yes", "n", "no", "true", "false", "on", "off", "null", "~", "", "=", "<<"})
_CONSTANTS = {True: "true", False: "false", None: "null"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", "\x1b": "\\e"}
_MARK = re.compile("[\u2400-\u2421]")
_LONGEST_NUMBER = 64
_END_OF_LINE = re.compile(r"[ ·]+$")
_DELETE = "\x7f"


def display(value: Any) -> str:
    """Block style with sorted keys, lists not indented, one line break at the end."""
    lines: list[str] = []
    if isinstance(value, dict) and value:
        _mapping(value, "", "", lines)
    elif isinstance(value, list) and value:
        _sequence(value, "", "", lines)
    else:
        lines += _scalar_lines("", value, "")
    lines.append("")
    return "\n".join(lines)


def digest(text: str) -> str:
    """By which two texts that look alike can be told apart; nothing that guards a secret."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _mapping(mapping: dict[str, Any], lead: str, indent: str, lines: list[str]) -> None:
    """:param lead: what the first line begins with, in place of the indentation (the ``- `` of a list)."""
    for key in sorted(mapping):
        value = mapping[key]
        head = f"{lead}{_key(key)}:"
        if isinstance(value, dict) and value:
            lines.append(head)
            _mapping(value, f"{indent}  ", f"{indent}  ", lines)
        elif isinstance(value, list) and value:
            lines.append(head)
            _sequence(value, indent, indent, lines)
        else:
            lines += _scalar_lines(f"{head} ", value, indent)
        lead = indent


def _sequence(items: list[Any], lead: str, indent: str, lines: list[str]) -> None:
    for item in items:
        head, below = f"{lead}- ", f"{indent}  "
        if isinstance(item, dict) and item:
            _mapping(item, head, below, lines)
        elif isinstance(item, list) and item:
            _sequence(item, head, below, lines)
        else:
            lines += _scalar_lines(head, item, indent)
        lead = indent


def _scalar_lines(head: str, value: Any, indent: str) -> Iterator[str]:
    """:param indent: of what the scalar is in; the lines of a block stand two blanks further right."""
    if not isinstance(value, str):
        yield head + _constant(value)
    elif "\n" in value:
        yield head + _block_header(value)
        for line in value.removesuffix("\n").split("\n"):
            yield f"{indent}  {_visible(line)}" if line else ""
    else:
        yield head + _line(value)


def _constant(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    return "{}" if isinstance(value, dict) else "[]" if isinstance(value, list) else repr(value)


def _block_header(text: str) -> str:
    """As YAML writes it: ``-`` says that no line break ends the text, ``+`` that several do."""
    indentation = "2" if text[0] in " \n" else ""
    if not text.endswith("\n"):
        return f"|{indentation}-"
    return f"|{indentation}+" if text.endswith("\n\n") or text == "\n" else f"|{indentation}"


def _visible(line: str) -> str:
    line = _without_noise(line)
    if is_visible(line) and line[-1] not in " ·" and not _MARK.search(line):
        return line
    # What looks like one of our own marks is told from it.
    line = _MARK.sub(lambda match: code_of(match[0]), line)
    line = _END_OF_LINE.sub(lambda match: "".join("·" if one == " " else code_of(one) for one in match[0]), line)
    return with_stand_ins(line, _picture)


def _picture(character: str) -> str:
    if character < " ":
        return chr(0x2400 + ord(character))
    return "␡" if character == _DELETE else code_of(character)


def _key(key: Any) -> str:
    text = str(key)
    return _line(text) if "\n" not in text else _quoted(text)


def _line(text: str) -> str:
    if not is_visible(text):
        return _quoted(_without_noise(text))
    text = _without_noise(text)
    first = text[:1]
    if first in _MAY_BE_NUMBERS and len(text) <= _LONGEST_NUMBER:
        return _as_yaml(text)
    if (
        first in _INDICATORS
        or text[-1:] in (" ", ":")
        or (first in "-?:" and text[1:2] in ("", " "))
        or ": " in text
        or " #" in text
        or (len(text) <= len("false") and text.lower() in _WORDS)
    ):
        return "'" + text.replace("'", "''") + "'"
    return text


@lru_cache(maxsize=10_000)
def _as_yaml(text: str) -> str:
    """What may be a number, a date or a time for some reader of YAML."""
    return dump_yaml([text]).removeprefix("- ").removesuffix("\n")


def _quoted(text: str) -> str:
    """In double quotes, with escapes."""
    escaped = "".join(
        _ESCAPES.get(character) or (character if is_visible(character) else code_of(character)) for character in text
    )
    return f'"{escaped}"'


def _without_noise(text: str) -> str:
    return _BASE64.sub(_shortened, text) if len(text) > _LONGEST_BASE64 else text


def _shortened(match: re.Match[str]) -> str:
    text = match[0]
    if not _ALL_KINDS.match(text):
        # A path, a row of digits, a word repeated.
        return text
    return f"{text[:_SHOWN_BASE64]}… ({len(text)} characters of base64, {digest(text)})"
