"""Former tools' ownership of an object: what making it ours will remove, and the guarded patch that makes it ours.

As long as a former tool owns a field, the field outlives its removal from the source. So at adoption its entries in
``managedFields`` are united with ours, just before the apply, which then removes what the source does not have.
"""

from __future__ import annotations

from ..cluster.client import JSON_PATCH, Client
from ..model.errors import ClusterError
from ..model.managed_fields import Entry, entries_of, union_of, without, without_empty
from ..model.names import FIELD_MANAGER
from ..model.objects import Manifest
from ..model.ownership import own_entry
from ..model.predecessors import absorbable


def absorbed_at_adoption(live: Manifest, api_version: str) -> list[Entry]:
    """The entries of former tools; none once we own fields of the object ourselves."""
    return [] if own_entry(live["metadata"]) else absorbable(live, api_version)


def taken_over_halfway(live: Manifest, owner: str) -> bool:
    """Whether a take-over ended between the patch and the apply: our fields, and nobody's label yet."""
    return not owner and own_entry(live["metadata"]) is not None


def without_absorbed(applied: Manifest, absorbed: list[Entry]) -> tuple[Manifest, list[str]]:
    """What is left of an object once the absorbed entries are ours and the source lacks some of their fields.

    The patch and the apply can't be dry-run in one request, so the fields that go are taken out here.

    :param applied: the reply to the dry-run apply without the absorption.
    :returns: the object, and the fields that went.
    """
    going = {(entry.manager, entry.operation, entry.api_version) for entry in absorbed}
    staying = [
        entry.fields
        for entry in entries_of(applied)
        if entry.subresource or (entry.manager, entry.operation, entry.api_version) not in going
    ]
    return without(applied, [entry.fields for entry in absorbed], staying)


def absorb(client: Client, path: str, live: Manifest, api_version: str, managers: list[str]) -> Manifest:
    """Unite the entries of these managers with ours; the object as it is then.

    :raises ApiError: it moved meanwhile (``precondition_failed``), or the server refuses.
    :raises ClusterError: the server took the patch and did not do it, as it does with entries that it can't read.
    """
    absorbed = [entry for entry in absorbable(live, api_version) if entry.manager in managers]
    if not absorbed:
        return live
    values = live["metadata"]["managedFields"]
    own = own_entry(live["metadata"])
    taken = (without_empty(entry.fields, live) for entry in absorbed)
    fields = union_of([*([own.get("fieldsV1") or {}] if own else []), *taken])
    kept = [value for value in values if Entry.of(value) not in absorbed and value != own]
    entry = {
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": [*kept, entry]},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
    ]
    reply: Manifest = client.patch(path, patch, content_type=JSON_PATCH, query={"fieldManager": FIELD_MANAGER}).body
    left = [one for one in absorbable(reply, api_version) if one.manager in managers]
    if left or own_entry(reply["metadata"]) is None:
        raise ClusterError(
            f"the API server did not let the ownership of {', '.join(managers)} be taken over",
            hint="remove the object's managedFields by hand, or delete the object",
        )
    return reply
