"""Reading and writing Addon records, always as the caller; status writes are guarded by resourceVersion."""

from __future__ import annotations

import json
from typing import Any

from ..cluster.client import MERGE_PATCH, ApiError, Client
from ..model.errors import BootstrapError, ClusterError
from ..model.names import FIELD_MANAGER, RECORD_CRD, RECORD_GROUP, RECORD_PLURAL, RECORD_VERSION
from ..model.objects import Manifest
from ..model.record import Record
from .session import Session

COLLECTION = f"/apis/{RECORD_GROUP}/{RECORD_VERSION}/{RECORD_PLURAL}"
BOOTSTRAP_HINT = "run ansible-playbook rendimiento.addons.bootstrap once with an administrator's kubeconfig"
LARGEST_STATUS_BYTES = 900_000
"""A record must stay well below the 1.5 MiB that etcd takes, of which a dry run tells nothing (observed)."""
FACTS_BYTES = 220
"""What an inventory entry grows by once its object is applied: uid, versions and two hashes."""


def list_records(client: Client) -> dict[str, Record] | None:
    """All records by name; ``None`` when the cluster does not know the kind."""
    try:
        items, _version = client.list_all(COLLECTION)
    except ApiError as error:
        if error.kind_not_served:
            return None
        raise
    return {record.name: record for record in map(Record.from_manifest, items)}


def bootstrap_error(what: str) -> BootstrapError:
    return BootstrapError(f"the cluster has no {what}", hint=BOOTSTRAP_HINT)


def apply_record(client: Client, manifest: Manifest) -> Record:
    """Create or update the part of a record that git owns; the counter and people's annotations stay theirs."""
    path = f"{COLLECTION}/{manifest['metadata']['name']}"
    response = client.apply(path, manifest, force=True)
    return Record.from_manifest(response.body)


def read_record(session: Session, name: str) -> Record | None:
    """The record as it is now, kept in the run directory; ``None`` when it does not exist."""
    if not session.info.record_kind_served:
        return None
    try:
        record = Record.from_manifest(session.caller.get(f"{COLLECTION}/{name}").body)
    except ApiError as error:
        if error.not_found:
            return None
        if error.kind_not_served:
            raise bootstrap_error(f"kind {RECORD_CRD}") from error
        raise
    session.keep_record(record)
    return record


def write_status(session: Session, name: str, changes: dict[str, Any]) -> Record:
    """Merge ``changes`` into a record's status; a field set to ``None`` goes.

    The add-on's lock is held, so nobody else writes its status: when the record moved (an annotation, a spec), the
    same changes go onto the new version. With the first of them the record says which cluster it is about.
    :raises ClusterError: when it is gone, or would become too large.
    """
    if session.info.cluster and not session.record(name).cluster:
        changes = {"cluster": session.info.cluster, **changes}
    _check_size(name, len(json.dumps(changes)))
    for attempt in range(5):
        record = session.record(name)
        body = {
            "metadata": {"resourceVersion": record.resource_version},
            "status": {field: _replacing(record.status.get(field), value) for field, value in changes.items()},
        }
        try:
            response = session.caller.patch(
                f"{COLLECTION}/{name}/status",
                body=body,
                query={"fieldManager": FIELD_MANAGER},
                content_type=MERGE_PATCH,
            )
        except ApiError as error:
            if error.status == 409 and attempt < 4 and read_record(session, name):
                continue
            raise error.about(addon=name) from error
        record = Record.from_manifest(response.body)
        session.keep_record(record)
        return record
    raise AssertionError("unreachable")


def _check_size(name: str, size: int) -> None:
    if size > LARGEST_STATUS_BYTES:
        raise ClusterError(
            f"its status would be {size // 1000} kB, more than a record can hold",
            addon=name,
            hint="split the add-on into smaller ones",
        )


def _replacing(old: Any, new: Any) -> Any:
    """The merge patch that makes ``old`` equal ``new``: what left a mapping has to be named as null."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    gone = {field: None for field in old if field not in new}
    return {**gone, **{field: _replacing(old.get(field), value) for field, value in new.items()}}


def write_ahead(session: Session, name: str) -> None:
    """Put old and new together into the inventory, before the first change of this add-on in this run."""
    outcome = session.directory.outcome(name)
    bundle = session.directory.bundle(name)
    plan = session.directory.plan(name)
    if outcome.inventory_ahead or bundle is None or plan is None:
        return
    record = session.record(name)
    managed = [(item.key, item.version) for item in plan.items if item.managed]
    inventory = record.inventory.ahead(managed)
    for item in plan.with_action("keep"):
        if item.key not in inventory:
            inventory.remember(item.key, item.version, item.kept_as, item.uid)
    ahead = inventory.to_status()
    unknown = sum(1 for entry in inventory.entries.values() if entry.facts is None)
    _check_size(name, len(json.dumps(ahead)) + unknown * FACTS_BYTES)
    if ahead != record.status.get("objects"):
        write_status(session, name, {"objects": ahead})
    outcome.inventory_ahead = True
    session.directory.save_outcome(outcome)
