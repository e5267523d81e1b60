"""What else decides how an object comes out of an apply: the server's version and everything that mutates objects.

A mutator that is installed, changed or removed moves nothing on the objects that it would change at their next write,
so "provably unchanged" holds only while this hash is the same.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..model.keyed_hash import keyed_hash
from .api_error import ApiError
from .client import Client
from .discovery import Discovery, Resource, path_of

MUTATOR_KINDS = ("MutatingWebhookConfiguration", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
_GROUP = "admissionregistration.k8s.io"


def read_world(client: Client, discovery: Discovery, key: bytes) -> str | None:
    """A keyed hash that changes when a mutator or the server's version does; None when that can't be known.

    Per mutator it takes the uid and the generation, or the resourceVersion where there is none. A kind that this
    server does not serve (policies before 1.32) has no objects.

    :raises UnreachableError, CredentialError, ClusterError: as ``Client.request``.
    """
    if discovery.group_is_stale(_GROUP):
        return None
    resources = [found for kind in MUTATOR_KINDS if (found := discovery.preferred(_GROUP, kind))]

    def read(resource: Resource) -> list[Any] | None:
        try:
            items, _version = client.list_all(path_of(resource), metadata_only=True)
        except ApiError:
            return None
        return [resource.kind, sorted(map(_state, items))]

    with ThreadPoolExecutor(max_workers=len(MUTATOR_KINDS)) as pool:
        states = list(pool.map(read, resources))
    if None in states:
        return None
    return keyed_hash(key, [discovery.server_version, *states])


def _state(item: dict[str, Any]) -> list[str]:
    metadata = item["metadata"]
    moved = metadata.get("generation")
    return [metadata["uid"], str(moved) if moved is not None else f"resourceVersion {metadata['resourceVersion']}"]
