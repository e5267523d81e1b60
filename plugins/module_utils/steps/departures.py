"""Follows objects that are being deleted until they are gone, in a thread, so that nobody who works has to wait."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ..cluster.client import Client
from ..model.objects import ObjectKey

_POLL_SECONDS = 0.3


@dataclass(slots=True)
class _Leaving:
    path: str
    uid: str
    finalizers: list[str]


@dataclass
class Departures:
    """A context manager; ``follow`` and ``gone`` may be called from any thread while it is open."""

    client: Client
    _leaving: dict[ObjectKey, _Leaving] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _failure: BaseException | None = None

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._look, daemon=True, name="departures")

    def __enter__(self) -> Departures:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def follow(self, key: ObjectKey, path: str, metadata: dict[str, Any]) -> None:
        """:param metadata: of the object as it was seen last."""
        self._leaving[key] = _Leaving(path, metadata["uid"], list(metadata.get("finalizers") or []))

    def gone(self, key: ObjectKey) -> bool:
        """Whether that very object is gone, as it was seen last; one that was made again since counts as gone.

        :raises ClusterError: the server can't be asked any more.
        """
        if self._failure is not None:
            raise self._failure
        return self.left(key)

    def left(self, key: ObjectKey) -> bool:
        """The same without the question whether that is up to date."""
        return key not in self._leaving

    def finalizers(self, key: ObjectKey) -> list[str]:
        """What holds an object that is not gone."""
        leaving = self._leaving.get(key)
        return leaving.finalizers if leaving else []

    def remaining(self) -> list[ObjectKey]:
        """What is not gone yet, sorted."""
        return sorted(self._leaving)

    def _look(self) -> None:
        try:
            while not self._ended.wait(_POLL_SECONDS):
                for key, leaving in list(self._leaving.items()):
                    if self._ended.is_set():
                        return
                    live = self.client.find(leaving.path)
                    if live is None or live["metadata"]["uid"] != leaving.uid:
                        del self._leaving[key]
                    else:
                        leaving.finalizers = list(live["metadata"].get("finalizers") or [])
        except BaseException as error:  # Whatever it is, it is raised where somebody waits.
            self._failure = error
