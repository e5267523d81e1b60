"""Fields that the source does not have and that the server does not take together with what the source says.

A Deployment gets ``rollingUpdate`` by default; one that becomes ``Recreate`` must not have it. Client-side tools take
it away with the change. Server-side apply does not: nobody owns a default. So such a field becomes ours before the
apply, by a patch that changes nothing else, and the apply removes it together with the change (both observed).
"""

from __future__ import annotations

from typing import Any

from ..cluster.client import ApiError, Client
from ..cluster.ownership_patch import patch_ownership
from ..model.errors import ClusterError
from ..model.field_rules import Path
from ..model.fields import NOTHING, value_at, with_value
from ..model.managed_fields import FieldTree, owners_of, union_of
from ..model.names import FIELD_MANAGER
from ..model.objects import Manifest
from ..model.ownership import own_entry
from ..model.plan import Takeover
from ..model.prediction import overlaid

_REASONS = frozenset({"FieldValueForbidden", "FieldValueInvalid"})


def leftovers_of(refusal: ApiError, body: Manifest, live: Manifest) -> list[Path]:
    """The fields, if the server refuses the body for nothing else; each next to one that the body has."""
    if refusal.status != 422 or refusal.immutable_fields:
        return []
    paths = [tuple(cause.field.split(".")) for cause in refusal.causes]
    reasons = {cause.reason for cause in refusal.causes}
    left = all(len(path) > 1 and _is_left(body, live, path) for path in paths)
    return list(dict.fromkeys(paths)) if left and reasons <= _REASONS else []


def _is_left(body: Manifest, live: Manifest, path: Path) -> bool:
    absent = value_at(body, path) in (NOTHING, None)
    return absent and bool(value_at(body, path[:-1]) or None) and value_at(live, path) not in (NOTHING, None)


def with_leftovers(body: Manifest, live: Manifest, paths: list[Path]) -> Manifest:
    """A body that the server takes: what is around these fields is as it is live."""
    for path in paths:
        body = with_value(body, path[:-1], value_at(live, path[:-1]))
    return body


def without_leftovers(predicted: Manifest, body: Manifest, paths: list[Path]) -> Manifest:
    """What the apply of the body makes of an object once these fields are ours."""
    for path in paths:
        around = {name: value for name, value in value_at(predicted, path[:-1]).items() if name != path[-1]}
        wanted = {name: value for name, value in value_at(body, path[:-1]).items() if value is not None}
        predicted = with_value(predicted, path[:-1], overlaid(around, wanted))
    return predicted


def owners_of_leftovers(live: Manifest, paths: list[Path]) -> list[Takeover]:
    """Whose fields these are, if they are anybody's but ours."""
    return [
        Takeover(entry.manager, f".{'.'.join(path)}")
        for path in paths
        for entry in owners_of(live, path)
        if entry.manager != FIELD_MANAGER
    ]


def claim_leftovers(client: Client, path: str, live: Manifest, api_version: str, fields: list[Path]) -> Manifest:
    """Make these fields ours alone; the object as it is then.

    :raises ApiError: it moved meanwhile (``precondition_failed``), or the server refuses.
    :raises ClusterError: the server took the patch and did not do it.
    """
    own = own_entry(live["metadata"])
    fresh = {"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": api_version, "fieldsType": "FieldsV1"}
    trees = [*([own.get("fieldsV1") or {}] if own else []), *(_tree(live, field) for field in fields)]
    entry = {**(own or fresh), "fieldsV1": union_of(trees)}
    others = [value for value in live["metadata"].get("managedFields") or [] if value != own]
    reply = patch_ownership(client, path, live, [*_without(others, fields), entry])
    if any(not owners_of(reply, field) or owners_of_leftovers(reply, [field]) for field in fields):
        names = ", ".join(".".join(field) for field in fields)
        raise ClusterError(
            f"the API server did not let the ownership of {names} be taken over", hint="remove it by hand"
        )
    return reply


def _tree(live: Manifest, path: Path) -> FieldTree:
    """All that is in a field, part by part: it has to go as well when the source names it, as null."""
    tree = _parts(value_at(live, path))
    for step in reversed(path):
        tree = {f"f:{step}": tree}
    return tree


def _parts(value: Any) -> FieldTree:
    if not (isinstance(value, dict) and value):
        return {}
    return {".": {}, **{f"f:{name}": _parts(below) for name, below in value.items()}}


def _without(entries: list[dict[str, Any]], fields: list[Path]) -> list[dict[str, Any]]:
    """Entries of others without these fields; one that is left without any goes."""
    kept = []
    for entry in entries:
        tree = entry.get("fieldsV1") or {}
        for path in () if entry.get("subresource") else fields:
            tree = _cut(tree, path)
        if tree:
            kept.append({**entry, "fieldsV1": tree})
    return kept


def _cut(tree: FieldTree, path: Path) -> FieldTree:
    name, rest = f"f:{path[0]}", path[1:]
    if name not in tree:
        return tree
    below = _cut(tree[name], rest) if rest else {}
    others = {key: value for key, value in tree.items() if key != name}
    return {**others, name: below} if below else others
