"""Characters that nobody sees, and that make two texts look alike or a text look like another one.

``str.isprintable`` finds those that control a terminal or the direction of text. It calls printable what a font shows
as nothing at all: variation selectors, fillers, joiners.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Default_Ignorable_Code_Point of Unicode, and two that are blank although they have a width (a pattern of Braille
# without dots, a note without head).
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def is_visible(text: str) -> bool:
    """Whether each character shows, and none does anything else; blanks count as visible."""
    return text.isprintable() and (text.isascii() or not _INVISIBLE.search(text))


def code_of(character: str) -> str:
    """Such as ``\\u200b``."""
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def with_codes(text: str) -> str:
    """The text with the code of each character that is not visible."""
    return with_stand_ins(text, code_of)


def with_stand_ins(text: str, stand_in: Callable[[str], str]) -> str:
    """The text with what stands in for each character that is not visible."""
    return text if is_visible(text) else "".join(one if is_visible(one) else stand_in(one) for one in text)
