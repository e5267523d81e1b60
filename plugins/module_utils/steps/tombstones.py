"""Tombstones: what is kept of a record that is dropped, so that a definition that returns resumes where it stopped."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

from ..cluster.client import ApiError, Client
from ..model.errors import DocumentError
from ..model.names import STATE_LABEL, STATE_SECRET_TYPE
from ..model.record import Record

_FIELD = "status"
# What a returning add-on needs: its inventory and what was applied. Phase and message belong to the past.
_KEPT = (
    "cluster",
    "objects",
    "appliedHash",
    "renderKey",
    "adopted",
    "appliedSyncRequest",
    "history",
    "hookRuns",
    "world",
    "revision",
)


def tombstone_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/secrets/addon-{name}-tombstone"


def bury(client: Client, namespace: str, record: Record) -> None:
    """Write the tombstone of a record, over an older one."""
    kept = {field: record.status[field] for field in _KEPT if field in record.status}
    content = base64.b64encode(gzip.compress(json.dumps(kept).encode(), mtime=0)).decode()
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"addon-{record.name}-tombstone",
            "namespace": namespace,
            "labels": {STATE_LABEL: record.name},
        },
        "type": STATE_SECRET_TYPE,
        "data": {_FIELD: content},
    }
    client.apply(tombstone_path(namespace, record.name), manifest, force=True)


def read_tombstone(client: Client, namespace: str, name: str) -> dict[str, Any] | None:
    """The kept part of the status, ``None`` when there is no tombstone.

    :raises DocumentError: when it is not what ``bury`` wrote.
    """
    try:
        data = client.get(tombstone_path(namespace, name)).body.get("data") or {}
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    try:
        status: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(data[_FIELD])))
    except (KeyError, ValueError, OSError, EOFError, zlib.error) as error:
        raise DocumentError(
            "this tombstone can't be read",
            addon=name,
            subject=f"Secret {namespace}/addon-{name}-tombstone",
            hint="delete it to start without it: what it remembered is then an adoption",
        ) from error
    return status


def clear_tombstone(client: Client, namespace: str, name: str) -> None:
    try:
        client.delete(tombstone_path(namespace, name))
    except ApiError as error:
        if error.status != 404:
            raise
