"""Signals while a step works: it ends what it is at, and gives back the lock that it works under."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..steps.interruption import end_interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible(run: str | None) -> Iterator[None]:
    """Ends the run in an orderly way when a signal says so, or when the process that started this one is gone.

    :param run: the run directory, if there is one yet.
    :raises KeyboardInterrupt: after a signal, once everything is given back; the process is to end as it would have.
    """
    parent = os.getppid()
    handlers = _listen()
    try:
        yield
    except KeyboardInterrupt:
        if run:
            end_interrupted(run, "the run was interrupted")
        raise
    finally:
        if run and os.getppid() != parent:
            end_interrupted(run, "the process that started this run is gone")
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _listen() -> dict[int, Any]:
    """Turn signals into an exception, once; the handlers that were there before."""
    if threading.current_thread() is not threading.main_thread():
        return {}

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        # What follows is the clean-up, which a second one would only end half-way.
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    return {number: signal.signal(number, interrupt) for number in _SIGNALS}
