"""The schemas that the API server publishes for what it serves, one document per group and version (OpenAPI v3).

Any authenticated account may read them (``system:discovery``). A document is large (1.6 MB for the core group, of which
the schemas are 0.5 MB), so it is read only when it is needed, and once.
"""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import quote

from ..model.shapes import mapping_of
from .client import ApiError, Client


class OpenApi:
    """The documents of one API server, as far as they were asked for; may be used by many threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._documents: dict[str, dict[str, Any] | None] = {}
        self._lock = threading.Lock()

    def document(self, api_version: str) -> dict[str, Any] | None:
        """With the schemas of a group and version (``apps/v1``) in ``components.schemas``, and without the paths.

        ``None`` when the server refuses it or has none.

        :raises ClusterError: as ``Client.request``, but for a refusal.
        """
        with self._lock:
            if api_version not in self._documents:
                self._documents[api_version] = self._read(api_version)
            return self._documents[api_version]

    def _read(self, api_version: str) -> dict[str, Any] | None:
        root = "apis" if "/" in api_version else "api"
        try:
            body = self._client.get(f"/openapi/v3/{root}/{quote(api_version)}").body
        except ApiError:
            return None
        schemas = mapping_of(mapping_of(body).get("components")).get("schemas")
        return {"components": {"schemas": schemas}} if isinstance(schemas, dict) else None
