"""A proxy between client and API server that fails as networks, load balancers and busy servers do.

It speaks TLS with an authority of its own, so whoever uses it needs its kubeconfig. It forwards as the user of the
kubeconfig that it was made from: a client certificate does not get through a proxy that ends TLS.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import random
import socket
import ssl
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import yaml

from tests.integration.admission import certificate_of_loopback

Fault = Literal[
    "none",
    "refuse",
    "delay",
    "reset before",
    "reset after",
    "429",
    "500",
    "503",
    "503 later",
    "504 after",
    "slow",
    "truncate",
    "cut off",
]
FAULTS: tuple[Fault, ...] = (
    "refuse",
    "delay",
    "reset before",
    "reset after",
    "429",
    "500",
    "503",
    "503 later",
    "504 after",
    "slow",
    "truncate",
    "cut off",
)

_SECONDS_AWAY = 0.7
_SECONDS_OF_DELAY = 0.3
_SECONDS_OF_A_HALT = 60.0
_PIECES = 4
_REFUSALS: dict[str, tuple[int, str, str, dict[str, str]]] = {
    "429": (429, "TooManyRequests", "too many requests, please try again later", {"Retry-After": "1"}),
    "500": (500, "InternalError", "Internal error occurred: something broke", {}),
    "503": (503, "ServiceUnavailable", "the server is currently unable to handle the request", {}),
    "503 later": (503, "ServiceUnavailable", "apiserver is shutting down", {"Retry-After": "1"}),
    "504 after": (504, "Timeout", "request did not complete within the allotted timeout", {}),
}
_NOT_PASSED_ON = {"connection", "transfer-encoding", "content-length", "host", "authorization", "keep-alive"}


@dataclass(frozen=True)
class Asked:
    """A request as the plan of faults sees it; ``number`` counts from 1."""

    number: int
    method: str
    path: str

    @property
    def writes(self) -> bool:
        return self.method != "GET" and "dryRun" not in self.path

    @property
    def watches(self) -> bool:
        return "watch=true" in self.path or "watch=1" in self.path


Plan = Callable[[Asked], Fault]


def no_faults(_asked: Asked) -> Fault:
    return "none"


class RandomFaults:
    """The same faults for the same seed and the same order of requests.

    :param share: how many of the requests fail.
    :param hopeless: a fault that every write has, from the middle of the run on.
    """

    def __init__(self, seed: int, share: float, hopeless: Fault = "none") -> None:
        self._random = random.Random(seed)
        self._share = share
        self.hopeless = hopeless
        self._writes_left = self._random.randint(3, 25)
        self._mutex = threading.Lock()

    def __call__(self, asked: Asked) -> Fault:
        with self._mutex:
            self._writes_left -= asked.writes
            if self.hopeless != "none" and self._writes_left <= 0 and asked.method != "GET":
                return self.hopeless
            if asked.watches:
                return self._random.choice(("none", "cut off", "cut off", "refuse", "reset before", "429", "503"))
            return self._random.choice(FAULTS) if self._random.random() < self._share else "none"


class AnswersLost:
    """Every write is carried out, and its answer lost; when it is repeated, it gets through."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._written: Counter[tuple[str, str]] = Counter()
        self._mutex = threading.Lock()

    def __call__(self, asked: Asked) -> Fault:
        if not asked.writes:
            return "none"
        with self._mutex:
            self._written[asked.method, asked.path] += 1
            return self._fault if self._written[asked.method, asked.path] % 2 else "none"


class Milestone:
    """No faults; ``reached`` is set once so many writes were asked for."""

    def __init__(self, writes: int) -> None:
        self.reached = threading.Event()
        self._left = writes
        self._mutex = threading.Lock()

    def __call__(self, asked: Asked) -> Fault:
        with self._mutex:
            self._left -= asked.writes
            if self._left <= 0:
                self.reached.set()
        return "none"


class Halt(Milestone):
    """As a milestone, and the write that reaches it waits there until ``resume`` is set."""

    def __init__(self, writes: int) -> None:
        super().__init__(writes)
        self.resume = threading.Event()

    def __call__(self, asked: Asked) -> Fault:
        super().__call__(asked)
        if self.reached.is_set():
            self.resume.wait(_SECONDS_OF_A_HALT)
        return "none"


class FaultProxy:
    """Forwards while the ``with`` block runs.

    :param kubeconfig: of the user as whom it forwards, with an embedded client certificate.
    :ivar plan: what happens to each request; may be replaced at any time.
    :ivar happened: how often each fault did. :ivar cut_watches: how many watches were cut off.
    :ivar unreachable: how many requests could not be passed on, or got no answer.
    :ivar kubeconfig: how it is reached.
    """

    def __init__(self, kubeconfig: Path, folder: Path, plan: Plan = no_faults) -> None:
        self.plan = plan
        self.happened: Counter[str] = Counter()
        self.cut_watches = 0
        self.unreachable = 0
        self._asked = 0
        self._mutex = threading.Lock()
        self._ended = threading.Event()
        self._away_until = 0.0
        self._open: set[socket.socket] = set()
        content = yaml.safe_load(kubeconfig.read_text())
        self._upstream = urlsplit(content["clusters"][0]["cluster"]["server"])
        self._upstream_tls = _client_context(content, folder)
        certificate, key = certificate_of_loopback(folder)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate, key)
        self._listener: socket.socket | None = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.kubeconfig = folder / "proxied.kubeconfig"
        _write_kubeconfig(self.kubeconfig, f"https://127.0.0.1:{self.port}", certificate)
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._hang_up()

    def away(self, seconds: float) -> None:
        """Refuse connections for that long, and break those that there are."""
        self._away_until = time.monotonic() + seconds
        self._hang_up()

    def upstream(self) -> http.client.HTTPSConnection:
        assert self._upstream.hostname
        return http.client.HTTPSConnection(
            self._upstream.hostname, self._upstream.port, context=self._upstream_tls, timeout=70
        )

    def fault_of(self, method: str, path: str) -> Fault:
        with self._mutex:
            self._asked += 1
            asked = Asked(self._asked, method, path)
        fault = self.plan(asked)
        with self._mutex:
            self.happened[fault] += 1
            self.cut_watches += asked.watches and fault == "cut off"
        return fault

    def _accept(self) -> None:
        while not self._ended.is_set():
            if time.monotonic() < self._away_until:
                if self._listener:
                    self._listener.close()
                    self._listener = None
                self._ended.wait(0.02)
                continue
            if self._listener is None:
                self._listener = socket.create_server(("127.0.0.1", self.port))
            self._listener.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                connection, address = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection, address), daemon=True).start()
        if self._listener:
            self._listener.close()

    def _serve(self, connection: socket.socket, address: Any) -> None:
        # Whoever hangs up in the middle of anything is what this is for.
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            connection.settimeout(70)
            secured = self._tls.wrap_socket(connection, server_side=True)
            with self._mutex:
                self._open.add(secured)
            try:
                _Exchange(secured, address, self)
            finally:
                with self._mutex:
                    self._open.discard(secured)
                secured.close()

    def _hang_up(self) -> None:
        with self._mutex:
            connections = list(self._open)
        for each in connections:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class _Exchange(BaseHTTPRequestHandler):
    """One connection of a client; what it asks goes on over one connection to the server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, connection: socket.socket, address: Any, proxy: FaultProxy) -> None:
        self._proxy = proxy
        self._server: http.client.HTTPSConnection | None = None
        super().__init__(connection, address, None)  # type: ignore[arg-type]

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        if self._server:
            self._server.close()

    def do_GET(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self._proxy.fault_of(self.command, self.path)
        match fault:
            case "refuse":
                self._proxy.away(_SECONDS_AWAY)
                self._reset()
                return
            case "reset before":
                self._reset()
                return
            case "429" | "500" | "503" | "503 later":
                self._refuse(fault)
                return
            case "delay":
                time.sleep(_SECONDS_OF_DELAY)
        try:
            response = self._forward(content)
        except (OSError, http.client.HTTPException):
            self._proxy.unreachable += 1
            self._reset()
            return
        if fault == "reset after":
            response.read()
            self._reset()
        elif fault == "504 after":
            response.read()
            self._refuse(fault)
        elif response.chunked and "watch" in self.path:
            self._stream(response, cut=fault == "cut off")
        else:
            self._reply(response, fault)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _forward(self, content: bytes) -> http.client.HTTPResponse:
        if self._server is None:
            self._server = self._proxy.upstream()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
        self._server.request(self.command, self.path, content or None, headers)
        return self._server.getresponse()

    def _reply(self, response: http.client.HTTPResponse, fault: Fault) -> None:
        content = response.read()
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _NOT_PASSED_ON:
                self.send_header(name, value)
        if fault == "cut off":
            # As some load balancers do it: the answer seems to be complete.
            content = content[: len(content) // 2]
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if fault == "truncate":
            self.wfile.write(content[: len(content) // 2])
            self._reset()
        elif fault == "slow":
            size = len(content) // _PIECES + 1
            for start in range(0, len(content), size):
                self.wfile.write(content[start : start + size])
                time.sleep(_SECONDS_OF_DELAY / _PIECES)
        else:
            self.wfile.write(content)

    def _stream(self, response: http.client.HTTPResponse, *, cut: bool) -> None:
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _NOT_PASSED_ON:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while content := response.read1(1 << 16):
            if cut:
                self.wfile.write(f"{len(content):x}\r\n".encode() + content[: len(content) // 2])
                self._reset()
                return
            self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, fault: str) -> None:
        status, reason, message, headers = _REFUSALS[fault]
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status}
        content = json.dumps({**body, "reason": reason, "message": message}).encode()
        self.send_response_only(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _reset(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())


def _client_context(kubeconfig: dict[str, Any], folder: Path) -> ssl.SSLContext:
    def decoded(value: str) -> str:
        return base64.b64decode(value).decode()

    user = kubeconfig["users"][0]["user"]
    context = ssl.create_default_context(
        cadata=decoded(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"])
    )
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".pem") as file:
        file.write(decoded(user["client-certificate-data"]) + decoded(user["client-key-data"]))
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _write_kubeconfig(path: Path, server: str, authority: Path) -> None:
    encoded = base64.b64encode(authority.read_bytes()).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "proxied",
        "contexts": [{"name": "proxied", "context": {"cluster": "proxied", "user": "proxied"}}],
        "clusters": [{"name": "proxied", "cluster": {"server": server, "certificate-authority-data": encoded}}],
        "users": [{"name": "proxied", "user": {"token": "of-no-meaning"}}],
    }
    path.write_text(yaml.safe_dump(content))
