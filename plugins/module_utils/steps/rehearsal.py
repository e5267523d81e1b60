"""Whether the server would take an object as a new one, asked while another object still has its name."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from ..cluster.client import ApiError, Client
from ..model.kinds import API_SERVICE
from ..model.objects import GroupKind, Manifest
from ..model.prediction import without_invented

_NAMED_BY_CONTENT: frozenset[GroupKind] = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        API_SERVICE,
    }
)
"""Kinds whose name follows from what is in them, so that there is no other one to ask with."""

_TAKEN = ("already allocated", "exceeded quota")
"""What the server says of something that only the old object takes up: an address, a port, a share of a quota."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What the object would be; ``unproven`` says why the server could not tell, empty when it could."""

    predicted: Manifest
    warnings: list[str] = field(default_factory=list)
    unproven: str = ""


def rehearse(client: Client, path: str, body: Manifest, kind: GroupKind) -> Rehearsal:
    """Create the object in a dry run under another name.

    :param path: where the server has the object itself.
    :raises ApiError: it refuses the object, under its own name in the message, or could not be asked.
    """
    if kind in _NAMED_BY_CONTENT:
        return Rehearsal(body, unproven="objects of its kind can't be checked under another name")
    collection, _, name = path.rpartition("/")
    other = f"{name[:40].rstrip('.-')}-{secrets.token_hex(4)}"
    renamed = {**body, "metadata": {**body["metadata"], "name": other}}
    try:
        response = client.apply(f"{collection}/{other}", renamed, dry_run=True)
    except ApiError as error:
        error.message = error.message.replace(other, name)
        if any(text in error.text for text in _TAKEN):
            return Rehearsal(body, unproven=f"the old object is in the way of a full check: {error.message}")
        raise
    predicted: Manifest = without_invented(_renamed(response.body, other, name), body, None)
    return Rehearsal(predicted, list(response.warnings))


def _renamed(value: Any, other: str, name: str) -> Any:
    """Some kinds repeat their name elsewhere, such as a Job in the labels of its pods."""
    if isinstance(value, dict):
        return {key: _renamed(one, other, name) for key, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, other, name) for one in value]
    return name if value == other else value
