"""How messages are worded: what a terminal may get, and several things in one line."""

from __future__ import annotations

from collections.abc import Sequence

from .invisible import is_visible

_LONGEST = 2000


def listed(texts: Sequence[str], most: int) -> str:
    """``a, b and 3 more``."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def printable(text: str) -> str:
    """One line that does nothing to a terminal and has an end, whatever people or programs wrote into it."""
    line = " ".join(part.strip() for part in text.replace("\t", " ").splitlines())
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return line if is_visible(line) else "".join(one if is_visible(one) else "\ufffd" for one in line)
