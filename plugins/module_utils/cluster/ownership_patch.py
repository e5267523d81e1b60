"""Rewrites who owns which fields of an object, and nothing else: guarded, and safe to repeat."""

from __future__ import annotations

import json
from typing import Any

from ..model.names import FIELD_MANAGER
from ..model.objects import Manifest
from .client import JSON_PATCH, ApiError, Client


def patch_ownership(client: Client, path: str, live: Manifest, entries: list[dict[str, Any]]) -> Manifest:
    """Give an object these ``managedFields``; the object as it is then.

    :param live: the object as it was read; one that moved since then is left alone.
    :raises ApiError: it moved (``precondition_failed``), or the server refuses.
    """
    patch = [
        {"op": "add", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
    ]
    try:
        reply: Manifest = client.patch(path, patch, content_type=JSON_PATCH, query={"fieldManager": FIELD_MANAGER}).body
    except ApiError as error:
        wanted = {**live, "metadata": {**live["metadata"], "managedFields": entries}}
        found = client.find(path) if error.precondition_failed else None
        if found is None or _content(found) != _content(wanted):
            raise
        # A patch that was repeated, as its answer was lost, finds its own work done.
        return found
    return reply


def _content(manifest: Manifest) -> list[Any]:
    """An object without what moves when it is written."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "resourceVersion"}
    entries = [
        json.dumps({name: value for name, value in one.items() if name != "time"}, sort_keys=True)
        for one in metadata.pop("managedFields", None) or []
        if not one.get("subresource")
    ]
    rest = {name: value for name, value in manifest.items() if name not in ("metadata", "status")}
    return [metadata, rest, sorted(entries)]
