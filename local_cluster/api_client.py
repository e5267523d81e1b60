"""The few requests that this package sends to the API server itself."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

from .errors import RequestError

SECONDS_PER_REQUEST = 10
MERGE_PATCH = "application/merge-patch+json"
SERVER_SIDE_APPLY = "application/apply-patch+yaml"


class ApiClient:
    """Requests as one identity; with `certificate` None as nobody in particular (for health checks)."""

    def __init__(self, port: int, authority: Path, certificate: Path | None, key: Path | None) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(authority))
        if certificate is not None:
            self._tls.load_cert_chain(certificate, key)

    def is_ready(self) -> bool:
        """Whether something answers there and says that it is ready."""
        try:
            return self._send("GET", "/readyz", None, None)[0] == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False

    def get(self, path: str) -> Any:
        return self._request("GET", path, None, None)

    def find(self, path: str) -> Any | None:
        """Like `get`, but None where there is nothing."""
        return self._request("GET", path, None, None, absent_is_fine=True)

    def create(self, path: str, body: dict[str, Any]) -> None:
        self._request("POST", path, body, "application/json")

    def patch(self, path: str, body: dict[str, Any]) -> None:
        self._request("PATCH", path, body, MERGE_PATCH)

    def apply(self, path: str, body: dict[str, Any]) -> None:
        """Creates the object or makes it what `body` says."""
        self._request("PATCH", f"{path}?fieldManager=local-cluster&force=true", body, SERVER_SIDE_APPLY)

    def delete(self, path: str) -> None:
        self._request("DELETE", path, None, None)

    def _request(
        self,
        verb: str,
        path: str,
        body: dict[str, Any] | None,
        content_type: str | None,
        *,
        absent_is_fine: bool = False,
    ) -> Any:
        try:
            status, answer = self._send(verb, path, body, content_type)
        except (OSError, http.client.HTTPException) as error:
            raise RequestError(f"{verb} {path}: {error}") from error
        if status == http.HTTPStatus.NOT_FOUND and absent_is_fine:
            return None
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise RequestError(f"{verb} {path}: {status} {answer.decode(errors='replace')}")
        return json.loads(answer)

    def _send(self, verb: str, path: str, body: dict[str, Any] | None, content_type: str | None) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=self._tls, timeout=SECONDS_PER_REQUEST
        )
        try:
            headers = {"Accept": "application/json", "User-Agent": "local-cluster"}
            if content_type is not None:
                headers["Content-Type"] = content_type
            connection.request(verb, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
