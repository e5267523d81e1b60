"""How messages name several things: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence


def listed(texts: Sequence[str], most: int) -> str:
    """``a, b and 3 more``."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
