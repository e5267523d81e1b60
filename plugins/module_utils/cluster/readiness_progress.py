"""What those who watch a wait get to read: what is waited for, not too often and not too seldom."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ..model.objects import ObjectKey
from .readiness_rules import Readiness

PROGRESS_SECONDS = 5.0
"""Seconds between two lines of progress that say the same."""

NEWS_SECONDS = 2.0
"""The same when there is something new, and before the first one: a wait that is over by then needs no words."""

_NAMED = 3


class Lines:
    """The lines of one wait, which begins now."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._began = time.monotonic()
        self._shown, self._shown_at = "", 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the wait began."""
        return time.monotonic() - self._began

    def tell(self, states: Mapping[ObjectKey, Readiness], total: int = 0) -> None:
        """Say what is waited for, if it is time to.

        :param total: how many are waited for in all, if some of them have no state yet.
        """
        elapsed = self.elapsed
        if elapsed - self._shown_at < NEWS_SECONDS:
            return
        left = [f"{key} ({one.reason})" for key, one in sorted(states.items()) if one.state == "waiting"]
        more = [f"and {len(left) - _NAMED} more"] if len(left) > _NAMED else []
        text = ", ".join(left[:_NAMED] + more)
        if left and elapsed - self._shown_at >= (PROGRESS_SECONDS if text == self._shown else NEWS_SECONDS):
            self._shown, self._shown_at = text, elapsed
            self._progress(f"waiting for {len(left)} of {total or len(states)} objects, {elapsed:.0f} s: {text}")
