"""Ownership that is put in order just before the apply: that of former tools, in removed versions, or lost.

As long as a former tool owns a field, the field outlives its removal from the source. So at adoption its entries in
``managedFields`` are united with ours, and the apply then removes what the source does not have. An entry in an API
version that the kind does not have any more makes every apply fail, until it is rewritten. And where nobody knows any
more who set what, only what the source states becomes ours.

All this is one guarded patch. What it takes was in the object when it was planned: it is refused when the object's
fingerprint moved, and that covers who owns what.
"""

from __future__ import annotations

from typing import Any

from ..cluster.client import Client
from ..cluster.discovery import path_of
from ..cluster.ownership_patch import patch_ownership
from ..model.errors import ClusterError
from ..model.managed_fields import (
    Entry,
    entries_of,
    in_version,
    union_of,
    values_in_both,
    values_of,
    without,
    without_empty,
)
from ..model.names import FIELD_MANAGER
from ..model.objects import Manifest, ObjectKey, split_api_version
from ..model.ownership import own_entry
from ..model.plan import PlanItem, Repair, SharedField, Takeover
from ..model.predecessors import UNKNOWN_OWNER, absorbable
from .session import Session


def absorbed_at_adoption(session: Session, key: ObjectKey, live: Manifest, api_version: str) -> list[Entry]:
    """The entries of former tools that can become ours; none once we own fields of the object ourselves.

    An entry in another API version is among them if what it owns is the same, at the same place, in ours.
    """
    if own_entry(live["metadata"]):
        return []
    return [entry for entry in absorbable(live) if _is_same_in(session, key, live, entry, api_version)]


def _is_same_in(session: Session, key: ObjectKey, live: Manifest, entry: Entry, api_version: str) -> bool:
    if entry.api_version == api_version:
        return True
    group, version = split_api_version(entry.api_version)
    resource = session.discovery.find(group, version, key.kind) if group == key.group else None
    try:
        there = session.acting.find(path_of(resource, key.namespace, key.name)) if resource else None
    except ClusterError:
        # A conversion that fails, say: what can't be compared stays as it is.
        return False
    return there is not None and values_of(entry.fields, there) == values_of(entry.fields, live)


def kept_by_former_tools(live: Manifest, absorbed: list[Entry], api_version: str) -> list[str]:
    """What to tell of the entries of former tools that stay theirs at adoption."""
    if own_entry(live["metadata"]):
        return []
    return [
        f"what {entry.manager} set in {entry.api_version} stays its own: it can't be told what it is in {api_version}"
        for entry in absorbable(live)
        if entry not in absorbed
    ]


def removed_versions(session: Session, key: ObjectKey, live: Manifest, named: str) -> set[str]:
    """API versions in which somebody owns fields of the object, and that its kind does not have any more.

    :param named: the one that the server refused to apply for.
    """
    served = set(session.discovery.versions_of(key.group, key.kind))
    owned = {entry.api_version for entry in entries_of(live)}
    return {named, *(version for version in owned if split_api_version(version)[1] not in served)}


def repairs_of(live: Manifest, body: Manifest, removed: set[str]) -> list[Repair]:
    """:param removed: the API versions that the object's kind does not have any more."""
    entries = entries_of(live)
    repairs = {Repair(entry.manager, entry.api_version): None for entry in entries if entry.api_version in removed}
    if not entries or any(_is_unknown(entry) and values_of(entry.fields, body) for entry in entries):
        repairs[Repair(UNKNOWN_OWNER)] = None
    return list(repairs)


def _is_unknown(entry: Entry) -> bool:
    return (entry.manager, entry.operation) == (UNKNOWN_OWNER, "Update")


def taken_over_halfway(live: Manifest, owner: str) -> bool:
    """Whether a take-over ended between the patch and the apply: our fields, and nobody's label yet."""
    return not owner and own_entry(live["metadata"]) is not None


def shared_fields(predicted: Manifest, body: Manifest, absorbed: list[Entry]) -> list[SharedField]:
    """What the source states and others own as well once it is applied; they had the same value."""
    return [
        SharedField(entry.manager, name)
        for entry in entries_of(predicted)
        if entry.manager not in (FIELD_MANAGER, UNKNOWN_OWNER) and not any(map(entry.same_owner, absorbed))
        for name, _value in values_of(entry.fields, body)
    ]


def contested_fields(
    live: Manifest, predicted: Manifest, taken: list[Takeover], absorbed: list[Entry]
) -> list[Takeover]:
    """Of what is taken from others: the values of other programs that change.

    The server tells of more: a mapping that is owned as a whole is a conflict already when its defaults are missing in
    the source (observed). And what people did with kubectl is a change like any other.
    """
    managers = {one.manager for one in taken if not one.manager.startswith("kubectl")}
    return [
        Takeover(entry.manager, name)
        for entry in entries_of(live)
        if entry.manager in managers and not _is_unknown(entry) and not any(map(entry.same_owner, absorbed))
        for (name, value), after in values_in_both(entry.fields, live, predicted)
        if value != after
    ]


def without_absorbed(applied: Manifest, body: Manifest, absorbed: list[Entry]) -> tuple[Manifest, list[str]]:
    """What is left of an object once the absorbed entries are ours and the source lacks some of their fields.

    The patch and the apply can't be dry-run in one request, so the fields that go are taken out here.

    :param applied: the reply to the dry-run apply without the absorption.
    :returns: the object, and the fields that went.
    """
    staying = [
        entry.fields
        for entry in entries_of(applied)
        if not any(map(entry.same_owner, absorbed)) and not (_is_unknown(entry) and values_of(entry.fields, body))
    ]
    return without(applied, [entry.fields for entry in absorbed], staying)


def put_in_order(session: Session, path: str, live: Manifest, body: Manifest, item: PlanItem) -> Manifest:
    """Do what the plan says of the object's ownership; the object as it is then.

    :param live: as it was planned.
    :raises ApiError: it moved meanwhile (``precondition_failed``), or the server refuses.
    :raises ClusterError: the server took the patch and did not do it, as it does with entries that it can't read.
    """
    api_version = body["apiVersion"]
    mended = in_version(live, {one.api_version for one in item.repairs if one.api_version}, api_version)
    absorbed = [
        entry for entry in absorbed_at_adoption(session, item.key, mended, api_version) if entry.manager in item.absorbs
    ]
    own = own_entry(mended["metadata"])
    lost = Repair(UNKNOWN_OWNER) in item.repairs
    others = [
        value
        for value in mended["metadata"]["managedFields"]
        if value != own and Entry.of(value) not in absorbed and not (lost and _is_unknown(Entry.of(value)))
    ]
    if absorbed:
        taken = (without_empty(entry.fields, live) for entry in absorbed)
        own = _entry(api_version, union_of([*([own.get("fieldsV1") or {}] if own else []), *taken]))
    elif lost and not own and not others:
        # An object without any entry gets the one of the unknown owner again, with everything in it.
        own = _entry(api_version, _fields_applied(session.acting, path, body, live))
    wanted = _united([*others, *([own] if own else [])])
    reply = patch_ownership(session.acting, path, live, wanted)
    if _owners(reply["metadata"]["managedFields"]) != _owners(wanted):
        told = sorted({*item.absorbs, *(one.manager for one in item.repairs)})
        raise ClusterError(
            f"the API server did not let the ownership of {', '.join(told)} be put in order",
            hint="remove the object's managedFields by hand, or delete the object",
        )
    return reply


def _entry(api_version: str, fields: dict[str, Any]) -> dict[str, Any]:
    common = {"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": api_version}
    return {**common, "fieldsType": "FieldsV1", "fieldsV1": fields}


def _fields_applied(client: Client, path: str, body: Manifest, live: Manifest) -> dict[str, Any]:
    """What the server says that we own once the body is applied."""
    own = own_entry(client.apply(path, body, dry_run=True, force=True).body["metadata"])
    return without_empty((own or {}).get("fieldsV1") or {}, live)


def _united(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries that differ in nothing but their fields as one: of two such the server keeps the last (its code)."""
    united: dict[str, dict[str, Any]] = {}
    for value in values:
        name = str({field: value[field] for field in sorted(value) if field != "fieldsV1"})
        known = united.get(name)
        fields = [one.get("fieldsV1") or {} for one in (known, value) if one]
        united[name] = {**value, "fieldsV1": union_of(fields)} if known else value
    return list(united.values())


def _owners(values: list[dict[str, Any]] | None) -> set[tuple[str, str, str, str]]:
    entries = map(Entry.of, values or [])
    return {(one.manager, one.operation, one.subresource, one.api_version) for one in entries}
