"""Fields of the source that are left to somebody else: ignored ones, autoscaled replicas, injected certificates.

Such a field is sent when the object, or the item of a list that it is in, is created. After that it stays as it is in
the cluster. A body that left it out would remove what only we own of it (observed), so that carries the live value;
what another manager owns is left out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable
from typing import Any

from .field_rules import Path
from .fields import NOTHING, place_in, value_at, value_in, with_value, without_fields
from .kinds import API_SERVICE, WEBHOOK_CONFIGURATIONS
from .list_keys import counterparts, key_fields
from .managed_fields import Entry, FieldTree, owners_of, tree_at, union_of
from .names import FIELD_MANAGER
from .objects import Manifest, split_api_version
from .own_parts import own_parts
from .plan import YieldedField

REPLICAS: Path = ("spec", "replicas")


def yielded(
    body: Manifest, live: Manifest, fields: Iterable[tuple[Path, str]], absorbed: Collection[Entry] = ()
) -> tuple[Manifest, list[YieldedField]]:
    """The body that leaves these fields as they are in the live object.

    :param fields: paths within ``body`` and why they are left; paths into nothing are passed over. Of two paths one
        within the other, the longer one says nothing more.
    :param absorbed: entries that become ours with this apply, so that they keep nothing.
    :returns: the body, and the fields whose live value is another than the source's.
    """
    reasons: dict[Path, str] = {}
    for path, reason in fields:
        if path and value_at(body, path) is not NOTHING:
            reasons.setdefault(path, reason)
    told: list[YieldedField] = []
    made, gone = body, []
    for path, reason in reasons.items():
        if any(path[:length] in reasons for length in range(1, len(path))) or _comes_with_new_item(path, body, live):
            continue
        place = place_in(live, body, path)
        value = value_at(live, place) if place is not None else NOTHING
        sent, manager = (NOTHING, "") if place is None or value is NOTHING else _sent(value, place, live, absorbed)
        if sent is NOTHING:
            gone.append(path)
        else:
            made = with_value(made, path, sent)
        wanted = value_at(body, path)
        if not _is_within(wanted, value) or (sent is not NOTHING and not _is_within(sent, wanted)):
            told.append(YieldedField(_title(path), manager, reason))
    return without_fields(made, sorted(gone, key=_order, reverse=True)), told


def _sent(value: Any, place: Path, live: Manifest, absorbed: Collection[Entry]) -> tuple[Any, str]:
    """What to send of a live value to have all of it stay, and who keeps it if we don't."""
    owners = owners_of(live, place)
    ours = [entry for entry in owners if _is_ours(entry) or entry in absorbed]
    others = [entry for entry in owners if entry not in ours]
    own, foreign = _owned_by(ours, live, place), _owned_by(others, live, place)
    keeper = others[0].manager if others else ""
    if own is not None:
        sent = own_parts(value, own, foreign)
        return sent, keeper if sent is NOTHING else ""
    if foreign is not None:
        return NOTHING, keeper
    # It is nobody's, or part of something that has one owner, like most lists: there it can't be left out.
    return value, keeper


def _owned_by(entries: Iterable[Entry], live: Manifest, place: Path) -> FieldTree | None:
    trees = (tree_at(entry.fields, live, place) for entry in entries)
    # Below a name, since a tree that owns all of a field is empty.
    return union_of({"": tree} for tree in trees if tree is not None).get("")


def _is_ours(entry: Entry) -> bool:
    return (entry.manager, entry.operation, entry.subresource) == (FIELD_MANAGER, "Apply", "")


def _comes_with_new_item(path: Path, body: Manifest, live: Manifest) -> bool:
    """Whether a field is in an item of a list that is not there yet, so that all of the item is sent.

    An item that is named itself stays away, as does any field that somebody removed, if one can tell that it is not
    there.
    """
    for length, step in enumerate(path):
        items = value_at(body, path[:length])
        if not isinstance(items, list):
            continue
        others = value_in(live, body, path[:length])
        if not isinstance(others, list):
            return True
        if counterparts(items, others)[int(step)] is None:
            return length + 1 < len(path) or key_fields(items, others) is None
    return False


def _is_within(part: Any, whole: Any) -> bool:
    """Whether a value has all of another one, and what more it has are fields of mappings and items with keys."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _is_within(value, whole[name]) for name, value in part.items())
    if isinstance(part, list) and isinstance(whole, list) and bool(part) == bool(whole):
        places = counterparts(part, whole)
        return all(at is not None and _is_within(item, whole[at]) for item, at in zip(part, places, strict=True))
    return type(part) is type(whole) and bool(part == whole)


def _order(path: Path) -> list[tuple[int, str]]:
    """Items of one list by their index."""
    return [(int(step), "") if step.isdecimal() else (-1, step) for step in path]


def _title(path: Path) -> str:
    return "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in path)


# Certificates that somebody injects


def _ca_bundle_paths(manifest: Manifest) -> list[Path]:
    """Where the ``caBundle`` of this object may stand: webhooks, APIServices and conversion webhooks of kinds."""
    group, _version = split_api_version(manifest["apiVersion"])
    match (group, manifest["kind"]):
        case group_kind if group_kind in WEBHOOK_CONFIGURATIONS:
            webhooks = manifest.get("webhooks")
            count = len(webhooks) if isinstance(webhooks, list) else 0
            return [("webhooks", str(number), "clientConfig", "caBundle") for number in range(count)]
        case group_kind if group_kind == API_SERVICE:
            return [("spec", "caBundle")]
        case ("apiextensions.k8s.io", "CustomResourceDefinition"):
            return [("spec", "conversion", "webhook", "clientConfig", "caBundle")]
    return []


def placeholders_of(manifest: Manifest) -> list[Path]:
    """Where a ``caBundle`` stands that is none: empty, or white space, to be filled in by a controller."""
    return [path for path in _ca_bundle_paths(manifest) if _is_placeholder(value_at(manifest, path))]


def _is_placeholder(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, str):
        return False
    try:
        return not base64.b64decode(value, validate=True).strip()
    except (binascii.Error, ValueError):
        return not value.strip()
