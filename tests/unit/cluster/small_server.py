"""An API server that answers GET from a table and remembers what it was asked."""

from __future__ import annotations

import json
from typing import Any

from tests.loopback import Exchange, Loopback


class SmallServer(Loopback):
    """``answers`` holds bodies by path, or a status to refuse with; what is not in it is a 404.

    A body of kind ``Status`` is a refusal, too, with its ``code``.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        super().__init__(self._answer)

    def _answer(self, request: Exchange) -> None:
        path = request.path.partition("?")[0]
        self.asked.append(path)
        body = self.answers.get(path, 404)
        if isinstance(body, int):
            body = {"kind": "Status", "code": body}
        status = body["code"] if isinstance(body, dict) and body.get("kind") == "Status" else 200
        request.reply(status, json.dumps(body).encode(), "application/json")


def forbidden(user: str, resource: str) -> dict[str, Any]:
    """The refusal of a server with RBAC to list something."""
    group = resource.partition(".")[2]
    name = resource.partition(".")[0]
    message = (
        f'{resource} is forbidden: User "{user}" cannot list resource "{name}" in API group "{group}" at the cluster '
        "scope"
    )
    return {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
