"""An API server that answers GET from a table and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class SmallServer:
    """``answers`` holds bodies by path, or a status to refuse with; what is not in it is a 404.

    A body of kind ``Status`` is a refusal, too, with its ``code``.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                server.asked.append(path)
                body = server.answers.get(path, 404)
                if isinstance(body, int):
                    body = {"kind": "Status", "code": body}
                status = body["code"] if isinstance(body, dict) and body.get("kind") == "Status" else 200
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_arguments: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def forbidden(user: str, resource: str) -> dict[str, Any]:
    """The refusal of a server with RBAC to list something."""
    group = resource.partition(".")[2]
    name = resource.partition(".")[0]
    message = (
        f'{resource} is forbidden: User "{user}" cannot list resource "{name}" in API group "{group}" at the cluster '
        "scope"
    )
    return {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
