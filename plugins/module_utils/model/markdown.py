"""Texts of others within Markdown, so that they stay texts: no markup, no link, nobody who is mentioned.

What comes from a repository or a cluster is put into code, which no renderer looks into for markup, ``@names`` or
``#numbers`` (escaping alone is not enough: GitHub looks for mentions after it has decoded what was escaped).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .invisible import with_stand_ins
from .wording import cut, printable, shortened

_LONGEST_LINE = 1000
"""Characters of a line in a fence; a value on one line may have a megabyte."""

_BACKTICKS = re.compile("`+")


def code(text: str, most: int = 2000) -> str:
    """One line as inline code.

    :param most: characters of the text; a longer one ends with an ellipsis.
    """
    line = shortened(printable(text), most)
    if not line.strip():
        return "`(empty)`"
    ticks = "`" * (_longest_run(line) + 1)
    # A delimiter must not touch a backtick of the text, and one space on both sides is taken away again.
    space = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def cell(text: str, most: int) -> str:
    """One line as inline code within a table.

    Renderers do not agree on how a bar in code is escaped, so that it becomes a broken bar.
    """
    return code(text, most).replace("|", "¦")


def fenced(lines: Iterable[str], language: str) -> str:
    """A block of code, whatever the lines hold; long lines are shortened and say so."""
    text = "\n".join(_plain(line) for line in lines)
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _plain(line: str) -> str:
    return with_stand_ins(cut(line, _LONGEST_LINE), lambda one: one if one == "\t" else "\ufffd")


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
