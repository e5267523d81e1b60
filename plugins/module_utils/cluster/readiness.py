"""Waiting until all objects of an add-on are ready, with a line of progress for those who watch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from ..model.objects import Manifest, ObjectKey
from .client import Client
from .discovery import Discovery
from .readiness_progress import PROGRESS_SECONDS
from .readiness_rules import Readiness, assess
from .readiness_watch import ReadinessWatch

__all__ = ["PROGRESS_SECONDS", "Readiness", "assess", "wait_until_ready"]


def wait_until_ready(
    client: Client,
    discovery: Discovery,
    keys: Iterable[tuple[ObjectKey, str]],
    *,
    addon: str,
    timeout: float,
    progress: Callable[[str], None],
    stop: threading.Event | None = None,
    judge: Callable[[Manifest], Readiness] | None = None,
) -> dict[ObjectKey, Readiness]:
    """Waits for objects, each with the version in which it was applied; the rest as ``ReadinessWatch``."""
    versions = dict(keys)
    with ReadinessWatch(client, lambda: discovery, addon=addon, judge=judge, stop=stop) as watch:
        for key, version in versions.items():
            watch.follow(key, version)
        return watch.wait(versions, timeout, progress)
