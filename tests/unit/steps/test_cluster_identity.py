"""Which records are about another cluster: only those that say so; and how a run knows which one it works with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import ApiError, Client
from ansible_collections.rendimiento.addons.plugins.module_utils.model.record import Record
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.cluster_identity import (
    from_elsewhere,
    read_cluster,
)
from tests.loopback import Exchange, Loopback

ACTING = "system:serviceaccount:addons:acting"


@contextmanager
def asked(statuses: dict[str, int]) -> Iterator[Callable[[str], Client]]:
    """Clients of accounts whom the server answers with these statuses, when they ask for the namespace."""

    def answer(request: Exchange) -> None:
        status = statuses[request.headers.get("Impersonate-User", "")]
        text = 'namespaces "kube-system" is forbidden: User "me" cannot get resource "namespaces" in API group ""'
        refusal = {"kind": "Status", "code": status, "message": text if status == 403 else "out of order"}
        body = {"metadata": {"uid": "one"}} if status == 200 else refusal
        request.reply(status, json.dumps(body).encode(), "application/json")

    with Loopback(answer) as server:
        yield lambda account: Client(Credential(server.url), impersonate=account, retry_window=0)


@pytest.mark.parametrize(
    ("acting", "caller", "uid", "warned"),
    [(200, 403, "one", False), (403, 200, "one", False), (403, 403, "", True)],
)
def test_who_may_read_the_namespace_tells_the_cluster(acting: int, caller: int, uid: str, warned: bool) -> None:
    with asked({ACTING: acting, "": caller}) as client:
        found, warning = read_cluster(client(ACTING), client(""))
    assert found == uid
    assert ("records that were restored from another cluster are not told" in warning) == warned


@pytest.mark.parametrize(("acting", "caller"), [(500, 200), (503, 200), (404, 200), (403, 500)])
def test_any_other_failure_is_no_answer(acting: int, caller: int) -> None:
    """Else a record of another cluster would be believed because the server had a bad moment."""
    with asked({ACTING: acting, "": caller}) as client, pytest.raises(ApiError):
        read_cluster(client(ACTING), client(""))


@pytest.mark.parametrize(
    ("recorded", "here", "refused"),
    [("one", "two", True), ("one", "one", False), ("", "one", False), ("one", "", False), ("", "", False)],
)
def test_from_elsewhere(recorded: str, here: str, refused: bool) -> None:
    found = from_elsewhere({"web": Record("web", status={"cluster": recorded})}, here)
    assert found.keys() == ({"web"} if refused else set())
    told = "about another cluster (uid of namespace kube-system: one, here it is two)"
    assert all(told in reason and reason.startswith("a sync may overwrite") for reason in found.values())
