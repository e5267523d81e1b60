"""Follows objects until they are ready: one LIST and one WATCH per kind, version and namespace, in a few threads.

What is ready is not asked about any more. A watch that ends, for whatever reason, is no failure: the objects are listed
again and watched from there. What no watch tells (an object that lost its label, a kind that may only be listed, more
places than a client watches at a time) is looked at again and again, with pauses that grow.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Self

from ..model.errors import ClusterError, UnreachableError
from ..model.jobs import JOB, has_completed, has_ended
from ..model.names import OWNER_LABEL
from ..model.objects import GroupKind, Manifest, ObjectKey, join_api_version, key_of, resource_version_of
from .api_error import ApiError
from .client import MOST_WATCHES, Client, Watch
from .discovery import Discovery, Resource, path_of
from .last_states import last_state
from .live_rules import LiveRules
from .readiness_progress import Lines
from .readiness_rules import Readiness, is_ready_once_stored

_LOOKERS = 4
"""Threads that list and read, at most; each watch has one of its own."""

_WATCH_SECONDS = 30
"""After so long, a watch is begun anew: a connection that went dead without a word is noticed by then."""

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 2.0
_IDLE = 0.2
"""Seconds in which a stop is noticed."""

_PATIENCE_AT_END = 2.0
"""Seconds for the threads to end. One that still waits for a server that does not answer ends with its request."""

_UNSEEN = Readiness("waiting", "not looked at yet")


class _Place(NamedTuple):
    """Where one LIST finds objects."""

    group: str
    kind: str
    version: str
    namespace: str


@dataclass(slots=True)
class _Followed:
    """What is known of one object since it was asked for last; asking anew makes another one.

    :ivar due: when to look at it next, on the monotonic clock. :ivar newest: resourceVersion of the newest state seen.
    :ivar judged: what it was called last, and ``since`` when; ``readiness`` is what becomes of that with time.
    :ivar again: see ``Readiness``.
    """

    place: _Place
    readiness: Readiness = _UNSEEN
    seen: bool = False
    due: float = 0.0
    pause: float = _FIRST_PAUSE
    newest: int = 0
    judged: Readiness = _UNSEEN
    since: float = 0.0
    again: float = math.inf

    @property
    def settled(self) -> bool:
        return self.readiness.state == "ready"

    def is_news(self, manifest: Manifest) -> bool:
        return _number(manifest) >= self.newest

    def take(self, readiness: Readiness) -> None:
        """The last word; ``due`` is left as it is."""
        now = time.monotonic()
        if readiness != self.judged:
            self.judged, self.since = readiness, now
        left = self.since + readiness.patience - now
        self.readiness = readiness if left > 0 else Readiness("failed", readiness.reason)
        self.again = min(readiness.again, left) if left > 0 else math.inf


@dataclass(slots=True)
class _Look:
    """What one look at a place found; ``version`` is that of the LIST, if there was one.

    :ivar ended: last states of Jobs that had ended and are gone.
    """

    path: str = ""
    version: str = ""
    live: dict[ObjectKey, Manifest | None] = field(default_factory=dict)
    ended: dict[ObjectKey, Manifest] = field(default_factory=dict)
    problem: Readiness | None = None
    pause: float = 0.0


class ReadinessWatch:
    """What is known of the objects of an add-on, kept fresh in the background while the ``with`` block lasts.

    :param discovery: gives the kinds that are served, at any time; asked again for a kind that was not served before.
    :param addon: value of the owner label that the objects carry.
    :param judge: says of a live object whether it is ready; by default the built-in rules. It may ask the cluster.
    :param unasked: kinds that are ready as soon as they are stored: nothing is asked about them.
    :param stop: ends everything when it is set.
    """

    def __init__(
        self,
        client: Client,
        discovery: Callable[[], Discovery],
        *,
        addon: str,
        judge: Callable[[Manifest], Readiness] | None = None,
        unasked: Callable[[GroupKind], bool] = is_ready_once_stored,
        stop: threading.Event | None = None,
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._addon = addon
        self._judge = judge or LiveRules(client)
        self._unasked = unasked
        self._stop = stop or threading.Event()
        # Guards everything below; notified when something there changed.
        self._changed = threading.Condition()
        self._followed: dict[ObjectKey, _Followed] = {}
        self._completed: set[ObjectKey] = set()
        self._looked_at: set[_Place] = set()
        self._watches: dict[_Place, Watch | None] = {}
        self._unwatchable: set[_Place] = set()
        self._threads: list[threading.Thread] = []
        self._lookers = 0
        self._closed = False
        self._broken: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            threads = self._threads.copy()
        self._end_watches()
        deadline = time.monotonic() + _PATIENCE_AT_END
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))

    def follow(self, key: ObjectKey, version: str, since: str = "") -> None:
        """Look at an object from now on; what was known of it from before counts no more.

        :param version: the API version in which it was applied.
        :param since: its resourceVersion when it was; a Job that is gone is told by what happened to it after that.
        """
        place = _Place(key.group, key.kind, version, key.namespace)
        followed = _Followed(place, newest=int(since) if since.isdecimal() else 0)
        if self._unasked(key.group_kind):
            followed.readiness, followed.seen, followed.due = Readiness("ready"), True, math.inf
        with self._changed:
            self._followed[key] = followed
            self._completed.discard(key)
            places = {one.place for one in self._followed.values() if not one.settled}
            if self._lookers < min(_LOOKERS, len(places)):
                self._lookers += 1
                self._start(self._look_around)
            self._changed.notify_all()

    def state(self, key: ObjectKey) -> Readiness:
        """The last word on an object that is followed; one that can't be read counts as failed."""
        with self._changed:
            self._raise_what_broke()
            followed = self._followed.get(key)
            return followed.readiness if followed else _UNSEEN

    def completed(self) -> set[ObjectKey]:
        """Those Jobs that were seen to have done their work since they are followed."""
        with self._changed:
            return self._completed.copy()

    def wait(
        self, keys: Iterable[ObjectKey], timeout: float, progress: Callable[[str], None]
    ) -> dict[ObjectKey, Readiness]:
        """Until all of these, which are followed, are ready, one has failed, or ``timeout`` seconds have passed.

        With a timeout of 0 everything is looked at once.

        :param progress: gets a line when something has been waited for for 2 s, then with news at most every 2 s, and
            every 5 s without.
        :returns: the last word on every object.
        """
        keys = sorted(set(keys))
        lines = Lines(progress)
        with self._changed:
            while True:
                self._raise_what_broke()
                states = {key: self.state(key) for key in keys}
                open_states = {one.state for one in states.values()} - {"ready"}
                seen = all(self._followed[key].seen for key in keys if key in self._followed)
                left = timeout - lines.elapsed
                if seen and (not open_states or "failed" in open_states or left <= 0):
                    return states
                if self._is_over():
                    return states
                lines.tell(states)
                self._changed.wait(min(_IDLE, left) if left > 0 else _IDLE)

    # Looking: LIST and GET

    def _look_around(self) -> None:
        while (due := self._next_due()) is not None:
            place, followed = due
            look = self._look_at(place, followed)
            judged = {key: self._judged(manifest or look.ended.get(key)) for key, manifest in look.live.items()}
            self._take_in(place, followed, look, judged)
        self._end_watches()

    def _next_due(self) -> tuple[_Place, dict[ObjectKey, _Followed]] | None:
        """The next place to look at, waited for, with the objects that are due there; ``None`` when all is over."""
        with self._changed:
            while not self._is_over():
                now = time.monotonic()
                free = {key: one for key, one in self._followed.items() if one.place not in self._looked_at}
                first = min(free.values(), key=lambda one: one.due, default=None)
                if first is not None and first.due <= now:
                    self._looked_at.add(first.place)
                    return first.place, {
                        key: one for key, one in free.items() if one.place == first.place and one.due <= now
                    }
                self._changed.wait(min(_IDLE, first.due - now) if first else _IDLE)
        return None

    def _look_at(self, place: _Place, followed: dict[ObjectKey, _Followed]) -> _Look:
        look = _Look()
        try:
            resource = self._discovery().find(place.group, place.version, place.kind)
            if resource is None:
                served = join_api_version(place.group, place.version)
                look.problem = Readiness("waiting", f"the API server does not serve {place.kind} in {served}")
            else:
                self._read(resource, place, followed, look)
        except UnreachableError as error:
            look.problem = Readiness("waiting", error.message)
        except ApiError as error:
            look.pause = error.retry_after or 0.0
            if error.retryable:
                look.problem = Readiness("waiting", error.message)
            else:
                look.problem = Readiness("failed", f"it can't be read: {error.message}")
        return look

    def _read(self, resource: Resource, place: _Place, followed: dict[ObjectKey, _Followed], look: _Look) -> None:
        with self._changed:
            watched = place in self._watches
        if len(followed) > 1 or not watched:
            path = path_of(resource, place.namespace)
            try:
                items, version = self._client.list_all(path, self._selector, retry=False)
            except ApiError as error:
                # Whoever may not list may still read.
                if not error.forbidden:
                    raise
            else:
                look.path, look.version = path, version
                for item in items:
                    item["apiVersion"], item["kind"] = resource.api_version, resource.kind
                    look.live[key_of(item)] = item
        for key, one in followed.items():
            # What the LIST lacks may only have lost its label.
            if key not in look.live:
                look.live[key] = self._get(path_of(resource, key.namespace, key.name))
            if look.live[key] is None and key.group_kind == JOB and one.newest:
                path = path_of(resource, key.namespace)
                last = last_state(self._client, path, key.name, str(one.newest), self._addon)
                if last and has_ended(last):
                    look.ended[key] = last
        look.live = {key: look.live[key] for key in followed}

    def _get(self, path: str) -> Manifest | None:
        try:
            found: Manifest = self._client.get(path, retry=False).body
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return found

    def _judged(self, manifest: Manifest | None) -> Readiness:
        if manifest is None:
            return Readiness("waiting", "it is missing")
        if has_completed(manifest):
            with self._changed:
                self._completed.add(key_of(manifest))
        return self._judge(manifest)

    def _take_in(
        self, place: _Place, looked: dict[ObjectKey, _Followed], look: _Look, judged: dict[ObjectKey, Readiness]
    ) -> None:
        with self._changed:
            self._looked_at.discard(place)
            for key, followed in looked.items():
                manifest = look.live.get(key)
                if manifest is None or followed.is_news(manifest):
                    followed.take(judged.get(key) or look.problem or _UNSEEN)
                    followed.newest = _number(manifest) if manifest else followed.newest
                followed.seen = True
            current = {key: one for key, one in looked.items() if self._followed.get(key) is one and not one.settled}
            labelled = {key for key in current if self._is_labelled(look.live.get(key))}
            if labelled and look.version and self._may_watch(place):
                self._watches[place] = None
                self._start(self._watch, place, look.path, look.version)
            now = time.monotonic()
            for key, followed in looked.items():
                if followed.settled:
                    followed.due = math.inf
                    continue
                watched = key in labelled and place in self._watches
                pause = _WATCH_SECONDS if watched else max(followed.pause, look.pause)
                followed.due = now + min(pause, followed.again)
                followed.pause = min(followed.pause * 1.5, _LONGEST_PAUSE)
            self._changed.notify_all()

    def _is_labelled(self, manifest: Manifest | None) -> bool:
        labels = (manifest["metadata"].get("labels") if manifest else None) or {}
        return bool(labels.get(OWNER_LABEL) == self._addon)

    @property
    def _selector(self) -> str:
        return f"{OWNER_LABEL}={self._addon}"

    # Watching

    def _may_watch(self, place: _Place) -> bool:
        taken = place in self._watches or place in self._unwatchable or len(self._watches) >= MOST_WATCHES
        return not taken and not self._is_over()

    def _watch(self, place: _Place, path: str, version: str) -> None:
        began = time.monotonic()
        try:
            watch = self._client.watch(path, version, self._selector, _WATCH_SECONDS)
            with self._changed:
                self._watches[place] = watch
                if self._is_over():
                    watch.end()
            for event in watch:
                if event.get("type") == "ERROR" or not self._hear(place, event):
                    break
        except ApiError as error:
            if not error.retryable and error.status != 410:
                with self._changed:
                    self._unwatchable.add(place)
        except UnreachableError:
            # The look that follows says so.
            pass
        finally:
            with self._changed:
                del self._watches[place]
                now = time.monotonic()
                lasted = now - began > _LONGEST_PAUSE
                for followed in self._followed.values():
                    if followed.place == place and not followed.settled:
                        followed.due = min(followed.due, now + (0.0 if lasted else followed.pause))
                self._changed.notify_all()

    def _hear(self, place: _Place, event: Manifest) -> bool:
        """Take in one event; whether anything is still waited for there."""
        manifest: Manifest = event["object"]
        key = key_of(manifest)
        with self._changed:
            followed = self._followed.get(key)
            relevant = followed is not None and followed.place == place and followed.seen and not followed.settled
            if followed is None or not relevant:
                # Also what happened before it was looked at: that may be from before it was applied.
                return self._awaits(place)
            if event.get("type") == "DELETED":
                # It is gone, or has only lost its label.
                followed.due = 0.0
                self._changed.notify_all()
                return True
        readiness = self._judged(manifest)
        with self._changed:
            if followed.is_news(manifest):
                followed.take(readiness)
                followed.newest = _number(manifest)
                followed.due = math.inf if followed.settled else min(followed.due, time.monotonic() + followed.again)
                self._changed.notify_all()
            return self._awaits(place)

    def _awaits(self, place: _Place) -> bool:
        return any(one.place == place and not one.settled for one in self._followed.values())

    def _end_watches(self) -> None:
        with self._changed:
            watches = [watch for watch in self._watches.values() if watch]
        for watch in watches:
            watch.end()

    # Threads

    def _is_over(self) -> bool:
        return self._closed or self._stop.is_set() or self._broken is not None

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        """In a thread that may outlive a process in no way: it hangs for as long as a request may."""
        thread = threading.Thread(target=self._guarded, args=(work, *arguments), name="readiness", daemon=True)
        self._threads = [one for one in self._threads if one.is_alive() or one.ident is None] + [thread]
        thread.start()

    def _guarded(self, work: Callable[..., None], *arguments: object) -> None:
        try:
            work(*arguments)
        except Exception as error:
            with self._changed:
                self._broken = self._broken or error
                self._changed.notify_all()
            self._end_watches()

    def _raise_what_broke(self) -> None:
        if isinstance(self._broken, ClusterError):
            # Such as a login that is no longer accepted.
            raise self._broken
        if self._broken is not None:
            raise RuntimeError("readiness can't be told") from self._broken


def _number(manifest: Manifest) -> int:
    """How new a state is, compared to others of the same object: a larger number is newer.

    Kubernetes 1.35 says that resourceVersions of one kind compare like that; what does not is always news.
    """
    version = resource_version_of(manifest)
    return int(version) if version.isdecimal() else 0
