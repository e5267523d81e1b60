"""Files as locks between processes: one build at a time, one `up` or `down` per cluster at a time."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .progress import SECONDS_BETWEEN_LINES


@contextmanager
def exclusive(path: Path, on_wait: Callable[[], None]) -> Iterator[int]:
    """Holds the lock, and gives its descriptor: a process that inherits it holds the lock too, until it closes it.

    The system releases the lock when its holders end, however they end. `on_wait` is called again and again while
    somebody else holds it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        told = -SECONDS_BETWEEN_LINES
        while not _take(descriptor):
            if time.monotonic() - told >= SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                on_wait()
            time.sleep(0.02)
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
