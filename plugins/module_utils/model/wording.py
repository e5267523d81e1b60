"""How messages are worded: what a terminal may get, and several things in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .invisible import with_stand_ins

_LONGEST = 2000


def listed(texts: Sequence[str], most: int) -> str:
    """``a, b and 3 more``."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def dotted(parts: Iterable[str | int]) -> str:
    """The way to a field: ``spec.ports[0].name``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def printable(text: str) -> str:
    """One line that does nothing to a terminal and has an end, whatever people or programs wrote into it."""
    line = " ".join(part.strip() for part in text.replace("\t", " ").splitlines())
    return with_stand_ins(shortened(line, _LONGEST), lambda _one: "\ufffd")


def shortened(text: str, most: int) -> str:
    """At most so many characters; one that was longer ends with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def cut(line: str, most: int) -> str:
    """The line with at most so many of its characters, and how many more there were."""
    more = len(line) - most
    return f"{line[:most]}… {more} more characters" if more > 0 else line


def counted(count: int, noun: str) -> str:
    """``1 object``, ``2 objects``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def lines_of(text: str) -> list[str]:
    """Its lines; ``splitlines`` would also split at the line separators of Unicode, which may stand within a value."""
    return text.removesuffix("\n").split("\n") if text else []
