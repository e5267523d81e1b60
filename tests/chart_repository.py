"""A chart repository on loopback: charts packaged and indexed by helm itself, served by a thread that can misbehave."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self


def write_chart(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """A chart folder ``folder/name``; ``Chart.yaml`` in ``files`` is appended to the one with name and version."""
    for path, text in {"Chart.yaml": "", **files}.items():
        start = f"apiVersion: v2\nname: {name}\nversion: {version}\n" if path == "Chart.yaml" else ""
        target = folder / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(start + text)
    return folder / name


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path is answered instead of its file.

    :param half: the connection is closed in the middle of the content.
    :param seconds: to wait before the answer.
    :param redirect: the URL that is answered with status 302.
    """

    status: int = 200
    content: bytes | None = None
    half: bool = False
    seconds: float = 0
    redirect: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for; ``host`` is the name by which the server was called."""

    path: str
    host: str
    headers: Message = field(repr=False)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no fault of the test."""


class ChartRepository:
    """Serves ``folder`` while the ``with`` block runs. ``url`` and ``other_url`` are the same under two host names.

    :param answers: misbehaviour by path, such as ``/index.yaml``.
    :param login: name and password that every request must bring.
    """

    def __init__(self, folder: Path, helm: Path) -> None:
        self.folder = folder
        self.requests: list[Request] = []
        self.answers: dict[str, Answer] = {}
        self.login: tuple[str, str] | None = None
        self._helm = helm
        self._work = folder.with_name(f"{folder.name}-helm")
        folder.mkdir(parents=True, exist_ok=True)
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.other_url = f"http://localhost:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, name: str, version: str, files: Mapping[str, str]) -> Path:
        """Write and package a chart, and index all charts with relative URLs; the archive."""
        chart = write_chart(self._work / f"{name}-{version}", name, version, files)
        self.helm("package", str(chart), "--destination", str(self.folder))
        self.index()
        return self.folder / f"{name}-{version}.tgz"

    def index(self, base: str = "") -> None:
        """Write ``index.yaml``; with ``base``, the URLs of charts are absolute."""
        self.helm("repo", "index", str(self.folder), *(["--url", base] if base else []))

    def helm(self, *arguments: str) -> None:
        """Run helm with a home of its own."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self._work)}
        subprocess.run([self._helm, *arguments], env=environment, check=True, capture_output=True, timeout=60)

    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [request.path for request in self.requests]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                repository.requests.append(Request(path, self.headers["Host"].partition(":")[0], self.headers))
                answer = repository.answers.get(path, Answer())
                time.sleep(answer.seconds)
                if not self._allowed():
                    self._send(Answer(401), b"")
                elif answer.redirect:
                    self._send(Answer(302), b"", {"Location": answer.redirect})
                elif answer.content is not None or answer.status != 200:
                    self._send(answer, answer.content or b"")
                else:
                    file = repository.folder / path.lstrip("/")
                    self._send(answer, file.read_bytes()) if file.is_file() else self._send(Answer(404), b"")

            def _allowed(self) -> bool:
                if repository.login is None:
                    return True
                wanted = base64.b64encode(":".join(repository.login).encode()).decode()
                return self.headers["Authorization"] == f"Basic {wanted}"

            def _send(self, answer: Answer, content: bytes, headers: Mapping[str, str] | None = None) -> None:
                self.send_response(answer.status)
                for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if answer.half else content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
