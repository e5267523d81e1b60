"""Finds secret values in texts, in the forms in which programs write them, however many values and texts there are.

A value counts when it is long enough to be one and could not as well be something else:

- at least 4 characters, which are more than punctuation (at least 8 of 4 kinds, if they are only that);
- no word for true, false or nothing, and no number of up to 5 digits, which is a port more often;
- no name or namespace of an object of the add-on, since names are public;
- not kept under a key such as ``username`` or ``host`` (unless another key has the same value).

Values of 12 characters and more are found anywhere, shorter ones as whole words, without a letter or digit beside them:
``admin`` in ``user=admin;``, not in ``administrator``. Parts of a value are looked for on their own: its longer lines
(a key file with other indentation), the longer texts in JSON, and what it calls a password, token or the like itself
(a file of settings, a URL); of each of these the first 2,000, which is more than any key or account file has. All are
found as they are, as base64 (also within a longer base64 text, such as
``user:password``), as part of a URL, and within quotes.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any
from urllib.parse import quote, quote_plus

from .form_index import LONG_FORM, LongForms, ShortForms, Span

SHORTEST = 4
"""Shorter values are left in texts: replacing every ``a`` would make the text unreadable and tell the value."""

_SHORTEST_LINE = 20
_SHORTEST_NUMBER = 6
_SHORTEST_PUNCTUATION = 8
_FEWEST_KINDS = 4
_LONGEST_ESCAPED = 16_384
_MOST_PARTS = 2000
_LONGEST_REST = 700
# Manifests repeat themselves, and each is looked at before and after.
_LONGEST_REMEMBERED = 200
_MOST_REMEMBERED = 50_000

_WORDS = frozenset({"true", "false", "null", "none", "nil", "yes", "no", "on", "off", "enabled", "disabled", "default"})
_OPEN_KEYS = frozenset(
    {"user", "username", "login", "host", "hostname", "port", "database", "dbname", "namespace", "region", "project"}
    | {"type", "engine", "sslmode"}
)
_KEY_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_WORD = re.compile(r"[^\W_]+")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_NAMED = re.compile(
    r"""://[^\s/:@]*:([^\s/@]+)@
    |(?:password|passwd|passphrase|pwd|token|secret|credentials?|(?:api|secret|access|private|encryption)[_-]?key)
        ["']?\s*[:=]\s*["']?([^\s"',;]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'")
_CUT = re.compile(r"([|\"]*)(?:…|\.\.\.)([|\"]*)")
# `Invalid value: 48213` of validations, `expected string, got &value.valueUnstructured{Value:48213}` of a typed merge.
_NUMBER = re.compile(
    r"((?:Invalid value: |\bgot )(?:&?[\w.]*\{(?:Value:)?)?)"
    r"(-?[0-9]++(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+)(?![\w.]*\w)"
)


@dataclass(frozen=True, slots=True)
class Secret:
    """A value, and whether the key that it is kept under says that it is none; binary ones are found as base64 only."""

    content: bytes
    open: bool = False

    @classmethod
    def of(cls, content: bytes, key: str) -> Secret:
        words = _KEY_WORD.findall(key)
        return cls(content, bool(words) and words[-1].lower() in _OPEN_KEYS)


class KnownSecrets:
    """:param names: what is no secret, although a value equals it.
    :param stand_in: what to put in the place of a value.
    """

    def __init__(self, secrets: Iterable[Secret], names: Iterable[str], stand_in: Callable[[bytes], str]) -> None:
        self.secrets = frozenset(secrets)
        self.names = frozenset(names)
        self._stand_in = stand_in
        self._forms: dict[str, str] = {}
        self._quoted: dict[str, str] = {}
        self._long = LongForms()
        self._short = ShortForms()
        self._short_in_messages = ShortForms()
        self._remembered: dict[str, str] = {}
        ordered = sorted(self.secrets, key=lambda secret: secret.content)
        for secret in ordered:
            self._note_quoted(secret.content)
        parts = sorted({part for secret in ordered if not secret.open for part in _parts(secret.content)})
        parts = [part for part in parts if _counts(part, self.names)]
        # A value as it is comes before what is another one's base64.
        for part in parts:
            if (text := _text(part)) is not None:
                self._note(text, stand_in(part))
        for part in parts:
            for form in _forms(part):
                self._note(form, stand_in(part))

    def extended(self, secrets: Collection[Secret], names: Collection[str]) -> KnownSecrets:
        """These and more; itself when they are known."""
        if self.secrets.issuperset(secrets) and self.names.issuperset(names):
            return self
        return KnownSecrets(self.secrets.union(secrets), self.names.union(names), self._stand_in)

    def replaced(self, text: str) -> str:
        """The text with what stands in for the values that are in it."""
        if len(text) > _LONGEST_REMEMBERED:
            return _replaced(text, self._spans(text))
        if text not in self._remembered:
            if len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[text] = _replaced(text, self._spans(text))
        return self._remembered[text]

    def replaced_key(self, key: str) -> str:
        """The same for a key of a mapping: a short value there is the name of a field more often."""
        return _replaced(key, list(self._long.spans(key)))

    def replaced_number(self, number: float) -> float | str:
        text = json.dumps(number)
        return self._forms.get(text, number) if len(text) >= _SHORTEST_NUMBER else number

    def replaced_in_message(self, text: str) -> str:
        """The same for a message of the server, which quotes values, whole (then of any length) or cut.

        Found are also numbers of any length where a message names the value that is wrong, and values of any length as
        base64 of at least ``SHORTEST`` characters.
        """
        text = _NUMBER.sub(lambda match: f"{match[1]}{self._quoted.get(match[2], match[2])}", text)
        text = _QUOTED.sub(self._requoted, text)
        spans = [*self._spans(text), *self._short_in_messages.spans(text), *self._cut_spans(text)]
        return _replaced(text, spans)

    def _requoted(self, match: re.Match[str]) -> str:
        inner = match[1] if match[1] is not None else match[2]
        found = self._quoted.get(inner)
        return match[0] if found is None else f"{match[0][0]}{found}{match[0][0]}"

    def _note_quoted(self, content: bytes) -> None:
        text = _text(content)
        stand_in = self._stand_in(content)
        if text is not None and text not in self.names:
            for form in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
                if form:
                    self._quoted.setdefault(form, stand_in)
        encoded = base64.b64encode(content).decode()
        if content:
            self._quoted.setdefault(encoded, stand_in)
        if text not in self.names:
            for form in (encoded, encoded.rstrip("=")):
                if SHORTEST <= len(form) < LONG_FORM:
                    self._short_in_messages.note(form, stand_in)

    def _note(self, form: str, stand_in: str) -> None:
        if len(form) >= SHORTEST and form not in self._forms:
            self._forms[form] = stand_in
            (self._long if len(form) >= LONG_FORM else self._short).note(form, stand_in)

    def _spans(self, text: str) -> list[Span]:
        return [*self._long.spans(text), *self._short.spans(text)]

    @cached_property
    def _beginnings(self) -> tuple[list[str], dict[str, str]]:
        """What values begin with, as much as is looked for where a text was cut: sorted, and with the stand-ins."""
        found = {form[:_LONGEST_REST]: stand_in for form, stand_in in self._forms.items()}
        return sorted(found), found

    @cached_property
    def _ends(self) -> tuple[list[str], dict[str, str]]:
        """The same of what they end with, reversed."""
        found = {form[: -_LONGEST_REST - 1 : -1]: stand_in for form, stand_in in self._forms.items()}
        return sorted(found), found

    def _cut_spans(self, text: str) -> list[Span]:
        """What is left of values where a text was cut."""
        spans = []
        for cut in _CUT.finditer(text):
            before = text[max(0, cut.start() - _LONGEST_REST) : cut.start()]
            if found := _rest(before, *self._beginnings):
                length, stand_in = found
                spans.append((cut.start() - length, cut.start(), stand_in))
            after = text[cut.end() : cut.end() + _LONGEST_REST]
            if found := _rest(after[::-1], *self._ends):
                length, stand_in = found
                spans.append((cut.end(), cut.end() + length, stand_in))
        return spans


def _rest(text: str, forms: list[str], stand_ins: dict[str, str]) -> tuple[int, str] | None:
    """The longest end of the text with which one of the forms (sorted) begins: its length, and what stands in."""
    for length in range(len(text), SHORTEST - 1, -1):
        end = text[-length:]
        at = bisect_left(forms, end)
        if at < len(forms) and forms[at].startswith(end):
            return length, stand_ins[forms[at]]
    return None


def _replaced(text: str, spans: list[Span]) -> str:
    """Of values that overlap each leaves its stand-in, and nothing of any of them stays."""
    if not spans:
        return text
    parts, at = [], 0
    for start, end, stand_in in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > at:
            parts += [text[at:start], stand_in] if start >= at else [stand_in]
            at = end
    return "".join((*parts, text[at:]))


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _counts(content: bytes, names: frozenset[str]) -> bool:
    text = _text(content)
    if text is None:
        return len(content) >= SHORTEST
    if len(text) < SHORTEST or text.lower() in _WORDS or text in names:
        return False
    if text.lstrip("+-").isdecimal():
        return len(text.lstrip("+-")) >= _SHORTEST_NUMBER
    if _WORD.search(text):
        return True
    return len(text) >= _SHORTEST_PUNCTUATION and len(set(text)) >= _FEWEST_KINDS


def _parts(content: bytes) -> Iterator[bytes]:
    """A value, and what of it may stand elsewhere on its own, ``_MOST_PARTS`` of each sort."""
    yield content
    text = _text(content)
    if text is None:
        return
    yield text.strip().encode()
    lines = text.splitlines()
    if len(lines) > 1:
        yield from islice(_long_lines(lines), _MOST_PARTS)
    if text.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            yield from islice(_long_texts_in(json.loads(text), ""), _MOST_PARTS)
    for match in islice(_NAMED.finditer(text), _MOST_PARTS):
        yield (match[1] or match[2]).encode()


def _long_lines(lines: list[str]) -> Iterator[bytes]:
    for line in map(str.strip, lines):
        # The frame of a PEM file is in every one.
        if len(line) >= _SHORTEST_LINE and not line.startswith("-----"):
            yield line.encode()


def _long_texts_in(value: Any, key: str) -> Iterator[bytes]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _long_texts_in(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _long_texts_in(item, key)
    elif isinstance(value, str) and len(value) >= LONG_FORM:
        secret = Secret.of(value.encode("utf-8", "replace"), key)
        if not secret.open:
            yield secret.content


def _forms(content: bytes) -> Iterator[str]:
    """How programs write a value, other than as it is."""
    text = _text(content)
    if text is not None and len(text) <= _LONGEST_ESCAPED:
        in_json = json.dumps(text, ensure_ascii=False)[1:-1]
        yield in_json
        yield json.dumps(text)[1:-1]
        # Go's writer of JSON.
        yield in_json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        for in_url in (quote(text, ""), quote(text), quote_plus(text), quote(text, "$&+,;=")):
            yield in_url
            yield _PERCENT.sub(lambda match: match[0].lower(), in_url)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(content).decode()
        yield encoded
        yield encoded.rstrip("=")
        # Within a longer text it may start at any of three places; what its neighbours have a part in is left out.
        for before in range(3):
            shifted = encode(bytes(before) + content + b"\0\0").decode()
            form = shifted[-(-before * 8 // 6) : (before + len(content)) * 8 // 6]
            if len(form) >= LONG_FORM:
                yield form
