"""Regular expressions that somebody else wrote, for the API server: tried here only where that can't take long.

The server's engine (RE2) needs time in proportion to the text; Python's may need for ever on the same pattern. What a
match could cost is estimated from the pattern's quantifiers, and a pattern that is too dear, or that the two engines
read differently, is not tried at all.
"""

from __future__ import annotations

import functools
import re

_MOST_STEPS = 200_000
"""About 10 ms for the worst text. Real values are names and versions, of which a match takes microseconds."""

_LONGEST_PATTERN = 1000

# An escape, a set of characters, the start of a group, a quantifier, or a single character.
_TOKEN = re.compile(
    r"""(?P<plain>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:)
    |(?P<many>[*+]\??|\{\d+(?:,\d*)?\}\??)
    |(?P<choice>\?\??|\|)
    |(?P<end>\))
    |.""",
    re.DOTALL | re.VERBOSE,
)
# Look-around and references back, which RE2 does not have; flags, sets and counts that the two read differently.
_NOT_ALIKE = re.compile(r"\(\?(?!:)|\\[1-9]|\[:|\{,|\\[zZ]")

# What controller-gen writes into the definition of every kind with a quantity. Its many parts can't be mistaken for
# each other, so it is quick, though it does not look so.
_QUICK = frozenset(
    {
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    }
)


def mismatches(pattern: str, text: str) -> bool:
    """Whether the text surely has no match of the pattern; false also when that is not tried."""
    if not text.isascii() or text.endswith("\n"):
        return False  # Classes, case and `$` differ there.
    estimate = _estimate(pattern)
    if estimate is None:
        return False
    many, choices = estimate
    if (len(text) + 1) ** many * 2**choices > _MOST_STEPS:
        return False
    compiled = _compiled(pattern)
    return compiled is not None and not compiled.search(text)


@functools.lru_cache(maxsize=4096)
def _estimate(pattern: str) -> tuple[int, int] | None:
    """A match takes at most ``length ** first * 2 ** second`` steps; ``None`` when there is no such limit."""
    if len(pattern) > _LONGEST_PATTERN or _NOT_ALIKE.search(pattern):
        return None
    if pattern in _QUICK:
        return 2, 0
    # Without an anchor, the search begins anew at each character.
    many = 0 if pattern.startswith("^") and "|" not in pattern else 1
    choices = 0
    after_group = False
    for token in _TOKEN.finditer(pattern):
        match token.lastgroup:
            case "many" if after_group:
                return None
            case "many":
                many += 1
            case "choice":
                choices += 1
        after_group = token.lastgroup == "end"
    return many, choices


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None
