"""HTTP servers on loopback that tests make: silent, each request in a thread, and gone at once when they are closed."""

from __future__ import annotations

import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Exchange(BaseHTTPRequestHandler):
    """A request, and the way to answer it."""

    protocol_version = "HTTP/1.1"
    # Head and content are written one after the other; the second would wait for the first to be acknowledged.
    disable_nagle_algorithm = True

    def content(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def reply(
        self, status: int, content: bytes = b"", type: str = "text/plain", headers: Mapping[str, str] | None = None
    ) -> None:
        """``headers`` may differ from what the content is: some servers lie."""
        self.send_response(status)
        for name, value in {"Content-Type": type, "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Loopback:
    """Has ``answer`` called for each request, until it is closed or the ``with`` block ends.

    :param tls: spoken when it is given.
    """

    def __init__(self, answer: Callable[[Exchange], None], tls: ssl.SSLContext | None = None) -> None:
        class Handler(Exchange):
            def do_GET(self) -> None:
                answer(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

        self._http = _Server(("127.0.0.1", 0), Handler)
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self.port = self._http.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        # Whoever closes it waits for as long as this, at most.
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that was killed is no fault of the test.
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)
