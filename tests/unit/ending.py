"""For inputs on which code must not work for ever."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SECONDS = 60
"""Far more than what ends takes anywhere, far less than what does not."""


@contextmanager
def that_ends() -> Iterator[None]:
    """:raises TimeoutError: the work inside does not end."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("does not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
