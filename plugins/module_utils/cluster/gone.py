"""Waiting until a deleted object is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..model.finalizers import what_holds
from ..model.objects import Manifest
from .client import Client
from .readiness_progress import PROGRESS_SECONDS

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


def wait_until_gone(
    client: Client,
    path: str,
    uid: str,
    timeout: float,
    progress: Callable[[str], None],
    stop: threading.Event | None = None,
) -> Manifest | None:
    """Look until the object of that uid does not exist any more; another one of its name does not count.

    :param progress: gets a line every 5 s.
    :returns: ``None`` when it is gone; what it was last when ``timeout`` seconds are over, or ``stop`` is set.
    :raises ClusterError: as ``Client.request``.
    """
    start = told = time.monotonic()
    pause, stop = _FIRST_PAUSE, stop or threading.Event()
    while True:
        live = client.find(path)
        if live is None or live["metadata"]["uid"] != uid:
            return None
        now = time.monotonic()
        if now - start >= timeout or stop.wait(pause):
            return live
        if now - told >= PROGRESS_SECONDS:
            told = now
            progress(f"waiting until it is gone, {now - start:.0f} s: {what_holds(live) or 'nothing holds it'}")
        pause = min(pause * 1.5, _LONGEST_PAUSE)
