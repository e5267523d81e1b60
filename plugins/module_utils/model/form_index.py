"""Where any of very many texts stands in another one, at a cost that hardly depends on how many there are.

Many secrets begin alike (``aws-key-…``), or have a word in common with everything around them. So a place that could be
one of theirs is looked up once among all of them, not compared with each.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

LONG_FORM = 12
"""From this length on a text is found within words, too."""

# Of such a text at least one block of this length starts at a multiple of it, wherever the text stands.
_BLOCK = LONG_FORM // 2
_WORD = re.compile(r"[^\W_]+")
_PUNCTUATION = re.compile(r"[\W_]+")
_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\[a-z]|%[0-9a-fA-F]{2}")

Span = tuple[int, int, str]
"""Start and end in the text that was looked through, and what to put there."""


class LongForms:
    """Finds texts of ``LONG_FORM`` characters and more, at each place the longest one."""

    def __init__(self) -> None:
        self._stand_ins: dict[str, str] = {}
        self._blocks: dict[str, dict[int, int]] = {}

    def note(self, form: str, stand_in: str) -> None:
        """All of them before the first search."""
        self._stand_ins[form] = stand_in
        for offset in range(_BLOCK):
            longest = self._blocks.setdefault(form[offset : offset + _BLOCK], {})
            longest[offset] = max(longest.get(offset, 0), len(form))

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._stand_ins)

    @cached_property
    def _within(self) -> list[int]:
        """The number of the longest other one that each one begins with, -1 for none."""
        within: list[int] = []
        for number, form in enumerate(self._sorted):
            shorter = number - 1
            while shorter >= 0 and not form.startswith(self._sorted[shorter]):
                shorter = within[shorter]
            within.append(shorter)
        return within

    def spans(self, text: str) -> Iterator[Span]:
        if len(text) < LONG_FORM:
            return
        blocks = self._blocks
        hits = [at for at in range(0, len(text), _BLOCK) if text[at : at + _BLOCK] in blocks] if blocks else []
        for at in hits:
            for offset, longest in blocks[text[at : at + _BLOCK]].items():
                start = at - offset
                if start >= 0 and (form := self._beginning_of(text[start : start + longest])):
                    yield start, start + len(form), self._stand_ins[form]

    def _beginning_of(self, text: str) -> str | None:
        """The longest one with which the text begins: the last one sorted before the text, or one within that."""
        number = bisect_right(self._sorted, text) - 1
        while number >= 0 and not text.startswith(self._sorted[number]):
            number = self._within[number]
        return self._sorted[number] if number >= 0 else None


class ShortForms:
    """Finds shorter texts as whole words, without a letter or digit beside them."""

    def __init__(self) -> None:
        self._stand_ins: dict[str, str] = {}
        self._words: dict[str, set[tuple[int, int]]] = {}
        self._punctuation: set[int] = set()

    def note(self, form: str, stand_in: str) -> None:
        """:param form: of less than ``LONG_FORM`` characters."""
        self._stand_ins[form] = stand_in
        anchors = [max(_WORD.finditer(plain), key=_length, default=None) for plain in {form, _blanked(form)}]
        for match in filter(None, anchors):
            self._words.setdefault(match[0], set()).add((match.start(), len(form)))
        if None in anchors:
            self._punctuation.add(len(form))

    def spans(self, text: str) -> Iterator[Span]:
        words, stand_ins = self._words, self._stand_ins
        for plain in {text, _blanked(text)} if words else ():
            if words.keys().isdisjoint(_WORD.findall(plain)):
                continue
            for match in _WORD.finditer(plain):
                for offset, length in words.get(match[0], ()):
                    start = match.start() - offset
                    form = text[max(start, 0) : start + length]
                    if start >= 0 and form in stand_ins and _stands_alone(form, plain, start):
                        yield start, start + len(form), stand_ins[form]
        for run in _PUNCTUATION.finditer(_blanked(text)) if self._punctuation else ():
            for length in self._punctuation:
                for start in range(run.start(), run.end() - length + 1):
                    form = text[start : start + length]
                    if form in stand_ins:
                        yield start, start + len(form), stand_ins[form]


def _length(match: re.Match[str]) -> int:
    return match.end() - match.start()


def _blanked(text: str) -> str:
    """The text with blanks for escapes: the ``n`` of ``\\n`` and the ``3D`` of ``%3D`` are no part of a word."""
    if "\\" not in text and "%" not in text:
        return text
    return _ESCAPE.sub(lambda match: " " * len(match[0]), text)


def _stands_alone(form: str, text: str, start: int) -> bool:
    end = start + len(form)
    joined_before = start > 0 and form[0].isalnum() and text[start - 1].isalnum()
    joined_after = end < len(text) and form[-1].isalnum() and text[end].isalnum()
    return not (joined_before or joined_after)
