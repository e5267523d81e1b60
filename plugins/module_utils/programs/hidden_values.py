"""Hides the values that a chart was given in what helm writes of it: a template may quote any of them, in any form."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ..model.form_index import LONG_FORM
from ..model.known_secrets import SHORTEST, KnownSecrets, Secret

HIDDEN = "…"
"""Stands for what is hidden."""

_MOST_VALUES = 10_000
"""All forms of so many are found within a second. With more, no text is shown at all."""

_LONGEST_MESSAGE = 16_384
"""What stands in quotes is looked at in shorter texts only: quotes that never end cost the square of the length."""

_DIGITS = re.compile(r"(?<![\w.:])\d+(?![\w.])")


class HiddenValues:
    """Whole or in part, re-indented, quoted, as base64 or in a URL; see ``KnownSecrets``.

    :param values: those shorter than 4 characters are left in texts, and so are words such as ``true``.
    """

    def __init__(self, values: Collection[str]) -> None:
        self._too_many = len(values) > _MOST_VALUES
        self._digits = frozenset(value for value in values if value.isdecimal() and len(value) >= SHORTEST)
        parts = set() if self._too_many else {part for value in values for part in _parts(value)}
        secrets = [Secret(part.encode("utf-8", "replace")) for part in parts]
        self._known = KnownSecrets(secrets, (), lambda _content: HIDDEN)

    def replaced(self, text: str) -> str:
        """The text with ``…`` for each value."""
        if self._too_many:
            return "it may quote one of the values, which are too many to look for, and is not shown"
        known = self._known
        text = known.replaced_in_message(text) if len(text) <= _LONGEST_MESSAGE else known.replaced(text)
        return _DIGITS.sub(lambda match: HIDDEN if match[0] in self._digits else match[0], text)


def _parts(value: str) -> Iterator[str]:
    yield value
    lines = value.split("\n")
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= LONG_FORM)
    # As it stands in what was made one line, however it was indented.
    yield " ".join(value.split())
