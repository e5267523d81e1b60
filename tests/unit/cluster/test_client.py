"""Requests over a small HTTP server: what is repeated and how often, logging in again, and who is impersonated."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster import client as client_module
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import ApiError, Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import discover
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import (
    ClusterError,
    CredentialError,
    UnreachableError,
)
from tests.loopback import Exchange, Loopback


@dataclass
class Answer:
    """``RESET`` as the status breaks the connection off instead of answering."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


RESET = 0


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Server(Loopback):
    """Answers as it was told, then always with the last answer; remembers the requests."""

    def __init__(self) -> None:
        self.answers: list[Answer | Callable[[Request], Answer]] = [Answer()]
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        super().__init__(self._answer)

    def _answer(self, exchange: Exchange) -> None:
        request = Request(exchange.command, exchange.path, dict(exchange.headers), exchange.content())
        with self._lock:
            self.requests.append(request)
            answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if callable(answer):
            answer = answer(request)
        if answer.status == RESET:
            exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            exchange.connection.close()
            exchange.close_connection = True
        elif isinstance(answer.body, str):
            exchange.reply(answer.status, answer.body.encode(), headers=answer.headers)
        else:
            exchange.reply(answer.status, json.dumps(answer.body).encode(), "application/json", answer.headers)

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.requests]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which are not slept through."""
    naps: list[float] = []
    monkeypatch.setattr(time, "sleep", naps.append)
    return naps


@pytest.fixture
def client(server: Server) -> Client:
    return Client(Credential(server.url, token="Bearer t", source="the test"))


def refused(status: int, message: str = "no", **headers: str) -> Answer:
    body = {"kind": "Status", "message": message, "code": status}
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


OK = Answer(body={"fine": True})
DOWN = refused(503)
BUSY = refused(429, Retry_After="1")
NO_WEBHOOK = refused(500, 'failed calling webhook "w"')


def test_a_request_as_it_is_sent(server: Server, client: Client) -> None:
    client.apply("/api/v1/namespaces/d/configmaps/a", {"data": {"a": "é\u0085\ufeff😀"}}, dry_run=True, force=True)

    request = server.requests[0]
    assert request.method == "PATCH"
    assert request.path == (
        "/api/v1/namespaces/d/configmaps/a?fieldManager=rendimiento-addons&fieldValidation=Strict&force=true&dryRun=All"
    )
    assert request.headers["Authorization"] == "Bearer t"
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert request.headers["User-Agent"] == "rendimiento-addons"
    assert "Impersonate-User" not in request.headers
    # The reader of an apply takes JSON for YAML, where these would be a line break and an error.
    assert request.body.decode() == '{"data":{"a":"é\\u0085\\ufeff😀"}}'


def test_acting_as_an_account(server: Server) -> None:
    Client(Credential(server.url), impersonate="system:serviceaccount:a:b").get("/api")

    assert server.requests[0].headers["Impersonate-User"] == "system:serviceaccount:a:b"
    assert "Impersonate-Group" not in server.requests[0].headers


def test_an_account_that_may_not_be_acted_as(server: Server) -> None:
    server.answers = [
        refused(403, 'pods is forbidden: User "runner" cannot impersonate resource "serviceaccounts" in API group ""')
    ]

    with pytest.raises(ClusterError, match='user "runner" may not act as system:serviceaccount:a:b') as caught:
        Client(Credential(server.url), impersonate="system:serviceaccount:a:b").get("/api")
    assert not isinstance(caught.value, ApiError)


def test_warnings_are_collected(server: Server, client: Client) -> None:
    server.answers = [Answer(headers={"Warning": '299 - "unknown field \\"a\\""'})]

    assert client.get("/api").warnings == ['unknown field "a"']


def test_text_stays_text(server: Server, client: Client) -> None:
    server.answers = [Answer(body='{"a": 1}')]

    assert client.get("/log").body == '{"a": 1}'


CUT_OFF = Answer(body='{"fine": tr', headers={"Content-Type": "application/json"})
CRASHED = refused(500, "Internal error occurred: an error on the server")


@pytest.mark.parametrize(
    "failure", [DOWN, BUSY, NO_WEBHOOK, CRASHED, refused(500, "etcdserver: leader changed"), Answer(RESET), CUT_OFF]
)
@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
def test_what_may_pass_is_repeated(server: Server, client: Client, failure: Answer, method: str) -> None:
    server.answers = [failure, failure, OK]

    assert client.request(method, "/x").body == {"fine": True}
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("failure", "tries"),
    [
        (DOWN, 1),
        (Answer(RESET), 1),
        (CUT_OFF, 1),
        (CRASHED, 1),
        (BUSY, 2),
        (NO_WEBHOOK, 2),
        (refused(503, Retry_After="1"), 2),
    ],
)
def test_a_create_is_repeated_only_when_nothing_was_done(
    server: Server, client: Client, failure: Answer, tries: int
) -> None:
    server.answers = [failure, OK]

    if tries == 1:
        with pytest.raises(ClusterError):
            client.post("/x", {})
    else:
        client.post("/x", {})
    assert len(server.requests) == tries


def test_a_create_with_unknown_outcome_says_so(server: Server, client: Client) -> None:
    server.answers = [Answer(RESET)]

    with pytest.raises(UnreachableError, match="POST was under way, so it may or may not have been done"):
        client.post("/x", {})


def test_a_question_that_is_posted_may_be_repeated(server: Server, client: Client) -> None:
    server.answers = [Answer(RESET), DOWN, OK]

    assert client.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {}).status == 200


THING = {"metadata": {"name": "a"}, "by": "us"}
OTHERS = Answer(body={"metadata": {"name": "a"}, "by": "others"})
OURS = Answer(body=THING)
MISSING = Answer(404, {"kind": "Status", "code": 404, "details": {"name": "a"}})
EXISTS = Answer(409, {"kind": "Status", "code": 409, "reason": "AlreadyExists", "details": {"name": "a"}})


@pytest.mark.parametrize("failure", [DOWN, Answer(RESET), CUT_OFF, CRASHED])
@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([OURS], "POST GET"),
        ([MISSING, OURS], "POST GET POST"),
        # The first one was on its way all the time.
        ([MISSING, EXISTS, OURS], "POST GET POST GET"),
        ([BUSY, OURS], "POST GET GET"),
    ],
)
def test_a_create_with_unknown_outcome_is_looked_for(
    server: Server, client: Client, failure: Answer, answers: list[Answer], asked: str
) -> None:
    server.answers = [failure, *answers, OK]

    assert client.create("/x", THING, lambda found: found["by"] == "us") == THING
    assert " ".join(server.methods) == asked


@pytest.mark.parametrize("answers", [[EXISTS], [Answer(RESET), OTHERS, EXISTS, OTHERS]])
def test_what_somebody_else_created_is_not_ours(server: Server, client: Client, answers: list[Answer]) -> None:
    server.answers = [*answers, OK]

    with pytest.raises(ApiError) as caught:
        client.create("/x", THING, lambda found: found["by"] == "us")
    assert caught.value.already_exists
    assert len(server.requests) == len(answers)


@pytest.mark.parametrize(("failure", "tries"), [(Answer(RESET), 2), (DOWN, 2), (BUSY, 2), (OK, 1)])
def test_a_deletion_that_finds_nothing_after_a_try_without_answer_is_done(
    server: Server, client: Client, failure: Answer, tries: int
) -> None:
    server.answers = [failure, MISSING]

    if failure is BUSY:
        # It was not even begun, so that somebody else deleted the object.
        with pytest.raises(ApiError):
            client.delete("/x/a")
    else:
        client.delete("/x/a")
    assert len(server.requests) == tries


def test_a_dry_run_of_a_create_may_be_repeated(server: Server, client: Client) -> None:
    server.answers = [Answer(RESET), OK]

    assert client.post("/x", {}, query={"dryRun": "All"}).status == 200


@pytest.mark.parametrize(
    "failure", [refused(500, "failed to create typed patch object (a)"), refused(422), refused(404), refused(409)]
)
def test_a_refusal_is_not_repeated(server: Server, client: Client, failure: Answer) -> None:
    server.answers = [failure, OK]

    with pytest.raises(ApiError):
        client.request("PATCH", "/x")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [200, 403, 404, 409, 422, 500])
def test_an_answer_that_is_cut_off_is_none(server: Server, client: Client, status: int) -> None:
    """Of a missing object, half the answer says that its kind is not served, and then it counts as gone."""
    cut_off = Answer(status, '{"kind": "Status", "details": {"na', {"Content-Type": "application/json"})
    server.answers = [cut_off, cut_off, OK]

    assert client.get("/x").body == {"fine": True}

    server.answers = [cut_off]
    with pytest.raises(UnreachableError, match="its answer is cut off"):
        Client(Credential(server.url), retry_window=0).get("/x")


def test_retry_after_is_kept_to(server: Server, client: Client, naps: list[float]) -> None:
    server.answers = [refused(429, Retry_After="7"), OK]

    client.get("/x")

    assert 6.3 <= naps[0] <= 9.1


@pytest.mark.parametrize(
    "failure", [NO_WEBHOOK, Answer(503, "service unavailable\n"), refused(429, "storage is (re)initializing")]
)
def test_what_seldom_mends_gets_a_few_tries(server: Server, client: Client, failure: Answer) -> None:
    server.answers = [failure]

    with pytest.raises(ApiError):
        client.get("/x")
    assert len(server.requests) == client_module.FEW_TRIES


@pytest.mark.parametrize("failure", [BUSY, DOWN, Answer(RESET)])
def test_what_never_passes_ends(
    server: Server, client: Client, failure: Answer, naps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: start + sum(naps))
    server.answers = [OK, failure]
    client.get("/x")

    with pytest.raises(ClusterError):
        client.get("/x")

    assert 20 < sum(naps) <= client_module.RETRY_WINDOW


def test_a_server_that_was_given_up_is_not_waited_for_again_until_it_answers(
    server: Server, naps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: start + sum(naps))
    given_up: list[float] = []
    client = Client(Credential(server.url), answered=True, on_given_up=lambda: given_up.append(sum(naps)))
    waited = []
    for answer in (Answer(RESET), Answer(RESET), OK, Answer(RESET)):
        server.answers = [answer]
        before = sum(naps)
        if answer is OK:
            client.get("/x")
            continue
        with pytest.raises(UnreachableError):
            client.get("/x")
        waited.append(sum(naps) - before)

    long, short, long_again = waited
    assert min(long, long_again) > 20 > 5 > short
    assert len(given_up) == 2


def test_a_failure_that_is_not_explained_gets_three_tries(server: Server, client: Client) -> None:
    server.answers = [CRASHED]

    with pytest.raises(ApiError):
        client.get("/x")
    assert len(server.requests) == client_module.UNEXPLAINED_TRIES


def test_a_wait_beyond_the_window_is_not_begun(server: Server, naps: list[float]) -> None:
    server.answers = [refused(429, Retry_After="100")]

    with pytest.raises(ApiError):
        Client(Credential(server.url)).get("/x")
    assert (len(server.requests), naps) == (1, [])


def test_a_redirection_is_no_answer(server: Server, client: Client) -> None:
    server.answers = [Answer(302, "", {"Location": "/login"})]

    with pytest.raises(ClusterError, match="redirects to another address"):
        client.get("/version")
    assert len(server.requests) == 1


def test_a_web_page_is_no_api_server(server: Server, client: Client) -> None:
    server.answers = [Answer(200, "<html>")]

    with pytest.raises(ClusterError, match="does not answer as an API server"):
        discover(client)


def test_a_server_without_aggregated_discovery(server: Server, client: Client) -> None:
    server.answers = [Answer(body={"gitVersion": "v1.25.0"}), refused(406)]

    with pytest.raises(ClusterError, match=r"\(v1.25.0\) has no aggregated discovery. Use Kubernetes 1.27 or newer"):
        discover(client)


def test_no_retry_on_request(server: Server, client: Client) -> None:
    server.answers = [DOWN]

    with pytest.raises(ApiError):
        client.request("GET", "/x", retry=False)
    assert len(server.requests) == 1


def test_a_server_that_never_answered_is_given_up_soon(naps: list[float]) -> None:
    start = time.monotonic()
    with pytest.raises(UnreachableError) as caught:
        Client(Credential("https://127.0.0.1:1")).get("/version")

    assert str(caught.value) == (
        "https://127.0.0.1:1 can't be reached: connection refused."
        " Check addon_kubeconfig / K8S_AUTH_KUBECONFIG and that the API server is up."
    )
    assert len(naps) == 2
    assert time.monotonic() - start + sum(naps) < 5


@pytest.mark.parametrize(
    ("credential", "message"),
    [
        (Credential("https://no-such-host.invalid"), "its name can't be resolved"),
        (Credential("https://a b"), "that is no address"),
        (
            Credential("https://10.0.0.1", proxy="http://user:pw@127.0.0.1:1"),
            "through the proxy http://127.0.0.1:1: connection refused",
        ),
    ],
)
def test_reasons_why_there_is_no_answer(credential: Credential, message: str) -> None:
    with pytest.raises(UnreachableError) as caught:
        Client(credential).get("/version")
    assert caught.value.message == f"{credential.host} can't be reached: {message}"


def test_no_answer_in_time(server: Server) -> None:
    wait = threading.Event()

    def slow(_request: Request) -> Answer:
        wait.wait(5)
        return OK

    server.answers = [slow]
    with pytest.raises(UnreachableError, match="no answer in time"):
        Client(Credential(server.url), retry_window=0).request("GET", "/x", timeout=0.1)
    wait.set()


def test_a_server_without_tls(server: Server) -> None:
    with pytest.raises(UnreachableError, match="it does not speak TLS"):
        Client(Credential(server.url.replace("http:", "https:"))).get("/x")


def by_token(request: Request) -> Answer:
    return OK if request.headers["Authorization"] == "Bearer new" else refused(401, "Unauthorized")


@pytest.mark.parametrize("broken", [{"ca": "CA"}, {"client_certificate": "CERT", "client_key": "KEY"}])
def test_certificates_that_are_none(server: Server, tmp_path: Path, broken: dict[str, str]) -> None:
    credential = Credential(server.url.replace("http:", "https:"), **broken)  # type: ignore[arg-type]
    with pytest.raises(UnreachableError, match="a certificate or a key of the login is not PEM"):
        Client(credential, files=tmp_path).get("/x")


def test_a_refused_login_is_renewed_once_for_all_threads(server: Server) -> None:
    server.answers = [by_token]
    logins: list[Credential] = []

    def log_in(_refused: Credential) -> Credential:
        logins.append(Credential(server.url, token="Bearer new"))
        return logins[-1]

    client = Client(Credential(server.url, token="Bearer old"), on_unauthorized=log_in)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _number: client.get("/x").status, range(24)))

    assert answers == [200] * 24
    assert len(logins) == 1


@pytest.mark.parametrize("renew", [True, False])
def test_a_login_that_stays_refused(server: Server, renew: bool) -> None:
    server.answers = [refused(401, "Unauthorized")]
    credential = Credential(server.url, token="Bearer s3cret", source='user "me" of /k')

    with pytest.raises(CredentialError) as caught:
        Client(credential, on_unauthorized=(lambda _refused: credential) if renew else None).get("/x")

    assert str(caught.value) == (
        f'the API server {server.url} does not accept the credentials of user "me" of /k.'
        " Log in again or renew the token."
    )
    assert len(server.requests) == (2 if renew else 1)


def test_certificate_and_key_are_written_for_nobody_else(tmp_path: Path) -> None:
    credential = Credential("https://127.0.0.1:1", client_certificate="CERT", client_key="KEY")
    for _time in range(2):
        Client(credential, files=tmp_path)

    (path,) = tmp_path.iterdir()
    assert path.read_text() == "CERT\nKEY\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_certificate_is_never_written_to_a_folder_that_nobody_removes() -> None:
    with pytest.raises(ValueError, match="needs a folder"):
        Client(Credential("https://127.0.0.1:1", client_certificate="CERT", client_key="KEY"))


def page(names: str, token: str = "", version: str = "7") -> Answer:
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return Answer(body={"metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]})


def names(found: tuple[list[dict[str, Any]], str]) -> tuple[str, str]:
    return "".join(item["metadata"]["name"] for item in found[0]), found[1]


def test_all_pages_of_a_list(server: Server, client: Client) -> None:
    server.answers = [page("ab", "t1"), page("cd", "t2"), page("e", version="9")]

    assert names(client.list_all("/x", "a=b", limit=2)) == ("abcde", "9")
    assert [request.path for request in server.requests] == [
        "/x?labelSelector=a%3Db&limit=2",
        "/x?labelSelector=a%3Db&limit=2&continue=t1",
        "/x?labelSelector=a%3Db&limit=2&continue=t2",
    ]


def test_a_list_that_expired_is_read_again(server: Server, client: Client) -> None:
    expired = refused(410, "The provided continue parameter is too old")
    server.answers = [page("ab", "t1"), expired, page("ab", "t1"), expired, page("abc")]

    assert names(client.list_all("/x", limit=2)) == ("abc", "7")
    assert server.requests[-1].path == "/x"
