"""A chart repository on loopback: charts packaged and indexed by helm itself, served by a thread that can misbehave."""

from __future__ import annotations

import base64
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path

from tests.loopback import Exchange, Loopback


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


class ChartRepository(Loopback):
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
        super().__init__(self._answer)
        self.other_url = f"http://localhost:{self.port}"

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

    def _answer(self, exchange: Exchange) -> None:
        path = exchange.path.partition("?")[0]
        self.requests.append(Request(path, exchange.headers["Host"].partition(":")[0], exchange.headers))
        answer, file = self.answers.get(path, Answer()), self.folder / path.lstrip("/")
        time.sleep(answer.seconds)
        if not self._allowed(exchange):
            exchange.reply(401)
        elif answer.redirect:
            exchange.reply(302, headers={"Location": answer.redirect})
        elif answer.content is not None or answer.status != 200:
            self._send(exchange, answer, answer.content or b"")
        elif file.is_file():
            self._send(exchange, answer, file.read_bytes())
        else:
            exchange.reply(404)

    def _allowed(self, exchange: Exchange) -> bool:
        if self.login is None:
            return True
        wanted = base64.b64encode(":".join(self.login).encode()).decode()
        return exchange.headers["Authorization"] == f"Basic {wanted}"

    def _send(self, exchange: Exchange, answer: Answer, content: bytes) -> None:
        sent = content[: len(content) // 2] if answer.half else content
        exchange.reply(answer.status, sent, headers={"Content-Length": str(len(content))})
        if answer.half:
            exchange.close_connection = True
