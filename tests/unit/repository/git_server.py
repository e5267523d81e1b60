"""A git server on loopback: ``git http-backend``, the one that git brings, behind a small HTTP server."""

from __future__ import annotations

import base64
import gzip
import os
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.unit.gitops import IDENTITY


class GitServer:
    """Serves the repositories below ``folder`` while the ``with`` block runs; remembers what it was asked.

    :param login: ``name:password`` that every request must bring.
    :param redirect: a URL that all paths are redirected to.
    """

    def __init__(self, folder: Path, login: str = "", redirect: str = "") -> None:
        self.folder = folder
        self.login = login
        self.redirect = redirect
        self.before_fetch: Callable[[], None] = lambda: None
        self.fetches = 0
        self.authorizations: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server._answer(self)

            def do_POST(self) -> None:
                server._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        path, _, query = request.path.partition("?")
        authorization = request.headers.get("Authorization", "")
        self.authorizations.append(authorization)
        if self.redirect:
            request.send_response(302)
            request.send_header("Location", f"{self.redirect}{request.path}")
            request.end_headers()
            return
        if self.login and authorization != f"Basic {base64.b64encode(self.login.encode()).decode()}":
            request.send_response(401)
            request.send_header("WWW-Authenticate", 'Basic realm="git"')
            request.end_headers()
            # Servers do say such things.
            request.wfile.write(f"you sent Authorization: {authorization}".encode())
            return
        plain = gzip.decompress(body) if request.headers.get("Content-Encoding") == "gzip" else body
        # In the newer and in the older protocol; asking for the branches is a request, too.
        if b"command=fetch" in plain or b"want " in plain[:16]:
            self.fetches += 1
            self.before_fetch()
        environment = {
            **os.environ,
            **IDENTITY,
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": request.command,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        }
        result = subprocess.run(["git", "http-backend"], input=plain, env=environment, capture_output=True, check=False)
        head, _, content = result.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        request.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)
