"""Who owns what in an object, read from its ``managedFields``; and the hashes that prove an object unchanged.

The obvious rule (our entry's fields alone) calls changed objects unchanged, as a real API server shows. So our entry's
time counts, and the values of the labels and annotations that it owns.
"""

from __future__ import annotations

from typing import Any

from .inventory import AppliedFacts
from .jobs import has_completed
from .keyed_hash import keyed_hash
from .names import FIELD_MANAGER
from .objects import Manifest

_AGGREGATOR = "clusterrole-aggregation-controller"


def own_entry(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Our server-side apply entry; entries of subresources and of plain updates in our name are others."""
    for entry in metadata.get("managedFields") or []:
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply" and not entry.get("subresource"):
            return dict(entry)
    return None


def ownership_hash(key: bytes, metadata: dict[str, Any]) -> str:
    """Keyed hash of our entry, the metadata values that it owns, finalizers and owner references; empty without one."""
    entry = own_entry(metadata)
    if entry is None:
        return ""
    fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    values = {
        part: {name: (metadata.get(part) or {}).get(name) for name in _names(fields.get(f"f:{part}"))}
        for part in ("labels", "annotations")
    }
    return keyed_hash(
        key,
        [
            entry.get("apiVersion"),
            entry.get("fieldsV1"),
            entry.get("time"),
            values,
            metadata.get("finalizers") or [],
            metadata.get("ownerReferences") or [],
        ],
    )


def _names(fields: dict[str, Any] | None) -> list[str]:
    return sorted(name.removeprefix("f:") for name in fields or {} if name.startswith("f:"))


def fingerprint(key: bytes, manifest: Manifest) -> str:
    """Keyed hash of a live object without what moves by itself: status, resourceVersion, generation, entry times.

    The rules of an aggregated ClusterRole do, too: a controller writes them whenever a role that it gathers changes,
    and those come with the same add-on.
    """
    gathered = manifest.get("kind") == "ClusterRole" and bool(manifest.get("aggregationRule"))
    metadata = {
        name: value for name, value in manifest["metadata"].items() if name not in ("resourceVersion", "generation")
    }
    entries = [entry for entry in metadata.get("managedFields") or [] if not entry.get("subresource")]
    if gathered:
        entries = [entry for entry in entries if entry.get("manager") != _AGGREGATOR]
    metadata["managedFields"] = [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
    moving = ("status", "metadata", "rules") if gathered else ("status", "metadata")
    rest = {name: value for name, value in manifest.items() if name not in moving}
    return keyed_hash(key, [metadata, rest])


def body_hash(key: bytes, manifest: Manifest) -> str:
    """Keyed hash of the request that applies an object: the body, and the options it is always sent with."""
    return keyed_hash(key, [FIELD_MANAGER, "force", "Strict", manifest])


def facts_of(key: bytes, live: Manifest, body: Manifest, custom_definition: str = "") -> AppliedFacts:
    """What the inventory keeps of an object, from the server's reply to the apply (or the dry run) of ``body``."""
    metadata = live["metadata"]
    return AppliedFacts(
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
        generation=metadata.get("generation"),
        own=ownership_hash(key, metadata),
        body=body_hash(key, body),
        crd=custom_definition,
        completed=has_completed(live),
    )
