"""What a server may answer to a watch that no healthy one answers on demand."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Discovery, Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.readiness_rules import Readiness
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.readiness_watch import ReadinessWatch
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import CredentialError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from tests.loopback import Exchange, Loopback

KEY = ObjectKey("x.io", "Thing", "space", "a")
DISCOVERY = Discovery("v1.37.2", [Resource("x.io", "v1", "Thing", "things", True, ("get", "list", "watch"), ())])
READY = Readiness("ready")


def thing(version: int, ready: str) -> dict[str, Any]:
    return {
        "apiVersion": "x.io/v1",
        "kind": "Thing",
        "metadata": {
            "name": "a",
            "namespace": "space",
            "resourceVersion": str(version),
            "labels": {"rendimiento.ai/addon": "n"},
        },
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def event(kind: str, what: Any) -> bytes:
    return json.dumps({"type": kind, "object": what}).encode() + b"\n"


class Server:
    """Answers each LIST with the next state of the thing (the last one again and again), each WATCH as told."""

    def __init__(self, lists: list[tuple[int, str]], watch: Callable[[Exchange], None]) -> None:
        self._lists, self._watch = lists, watch
        self.asked: list[str] = []

    def __call__(self, request: Exchange) -> None:
        if "watch=true" in request.path:
            self.asked.append("watch")
            self._watch(request)
            return
        self.asked.append("list")
        state = self._lists.pop(0) if len(self._lists) > 1 else self._lists[0]
        body = {"metadata": {"resourceVersion": "100"}, "items": [thing(*state)]}
        request.reply(200, json.dumps(body).encode(), "application/json")


def wait(
    server: Callable[[Exchange], None],
    timeout: float = 10.0,
    judge: Callable[[dict[str, Any]], Readiness] | None = None,
) -> Readiness:
    with (
        Loopback(server) as loopback,
        ReadinessWatch(Client(Credential(loopback.url)), lambda: DISCOVERY, addon="n", judge=judge) as watch,
    ):
        watch.follow(KEY, "v1")
        return watch.wait([KEY], timeout, lambda _line: None)[KEY]


def test_a_version_that_is_too_old_is_listed_again() -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    server = Server(
        [(1, "False"), (1, "False"), (2, "True")],
        lambda request: request.reply(200, event("ERROR", gone), "application/json"),
    )
    assert wait(server) == READY
    assert server.asked == ["list", "watch", "list", "watch", "list"]


def test_a_watch_that_ends_in_the_middle_of_an_event_is_listed_again() -> None:
    server = Server(
        [(1, "False"), (2, "True")],
        lambda request: request.reply(200, event("MODIFIED", thing(2, "True"))[:-9], "application/json"),
    )
    assert wait(server) == READY
    assert server.asked == ["list", "watch", "list"]


def test_a_server_that_ends_every_watch_at_once_is_not_pestered() -> None:
    server = Server([(1, "False")], lambda request: request.reply(200, b"", "application/json"))
    assert wait(server, 2.0).state == "waiting"
    assert len(server.asked) < 20


def test_what_a_watch_tells_late_is_no_news() -> None:
    """It may have been on its way before the object was applied."""

    def late(request: Exchange) -> None:
        request.reply(200, event("MODIFIED", thing(4, "True")), "application/json")

    server = Server([(5, "False")], late)
    assert wait(server, 1.0).state == "waiting"


def quiet(request: Exchange) -> None:
    """A watch that tells nothing, for long."""
    request.reply(200, b"", "application/json", {"Content-Length": "1000"})
    time.sleep(10)


def test_patience_has_an_end_though_nothing_happens() -> None:
    server = Server([(1, "False")], quiet)
    began = time.monotonic()
    assert wait(server, judge=lambda _live: Readiness("waiting", "refused", patience=1.0)) == Readiness(
        "failed", "refused"
    )
    assert 0.9 < time.monotonic() - began < 5.0


def test_patience_begins_anew_with_news() -> None:
    words = iter("abcdefghijklmnopqrstuvwxyz")
    server = Server([(1, "False")], quiet)
    found = wait(server, 2.0, lambda _live: Readiness("waiting", next(words), again=0.3, patience=1.0))
    assert found.state == "waiting"


def test_an_object_is_judged_again_when_the_judge_says_so() -> None:
    verdicts = iter([Readiness("waiting", "soon", again=0.1), Readiness("waiting", "soon", again=0.1), READY])
    assert wait(Server([(1, "False")], quiet), judge=lambda _live: next(verdicts)) == READY


def test_a_refused_watch_is_asked_for_once() -> None:
    server = Server([(1, "False")] * 3 + [(2, "True")], lambda request: request.reply(405, b"", "text/plain"))
    assert wait(server) == READY
    assert server.asked == ["list", "watch", "list", "list", "list"]


def test_a_busy_server_is_asked_when_it_said() -> None:
    asked: list[float] = []

    def busy(request: Exchange) -> None:
        asked.append(time.monotonic())
        if len(asked) == 1:
            request.reply(429, b"{}", "application/json", {"Retry-After": "1"})
        else:
            Server([(2, "True")], lambda _request: None)(request)

    assert wait(busy) == READY
    assert asked[1] - asked[0] > 0.9


def test_a_login_that_counts_no_more_ends_the_wait() -> None:
    with pytest.raises(CredentialError, match="does not accept the credentials"):
        wait(lambda request: request.reply(401, b"{}", "application/json"))
