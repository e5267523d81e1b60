"""A git server on loopback: ``git http-backend``, the one that git brings, behind a small HTTP server."""

from __future__ import annotations

import base64
import gzip
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.loopback import Exchange, Loopback
from tests.unit.gitops import IDENTITY


class GitServer(Loopback):
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
        super().__init__(self._answer)

    def _answer(self, request: Exchange) -> None:
        body = request.content()
        path, _, query = request.path.partition("?")
        authorization = request.headers.get("Authorization", "")
        self.authorizations.append(authorization)
        if self.redirect:
            request.reply(302, headers={"Location": f"{self.redirect}{request.path}"})
            return
        if self.login and authorization != f"Basic {base64.b64encode(self.login.encode()).decode()}":
            # Servers do say such things.
            told = f"you sent Authorization: {authorization}".encode()
            request.reply(401, told, headers={"WWW-Authenticate": 'Basic realm="git"'})
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
        request.reply(int(headers.pop("Status", "200").split()[0]), content, headers=headers)
