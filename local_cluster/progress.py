"""How work that takes a while tells that it goes on."""

from __future__ import annotations

from collections.abc import Callable

# Called with one short line at a time.
Progress = Callable[[str], None]

# Nobody should have to wonder for longer than this whether it hangs.
SECONDS_BETWEEN_LINES = 15.0


def say_nothing(line: str) -> None:
    """For callers who do not want to know."""
