"""Prepares a cluster once: the record kind, the state namespace, the acting account, the roles and the hash key.

Everything but the key is applied again each time, so that an upgrade of the collection is one more bootstrap. The key
is created when there is none and never touched again: every digest in every record hangs on it.
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..cluster.access import AccessOptions, resolve
from ..cluster.client import ApiError, Client, delete_options
from ..cluster.discovery import DEFINITIONS, discover
from ..model.difference import Difference, difference
from ..model.errors import BootstrapError, ReadinessError
from ..model.masking import Mask, Placeholders
from ..model.names import (
    ACTING_ACCOUNT,
    KEY_FIELD,
    KEY_SECRET,
    RBAC_GROUP,
    RECORD_CRD,
    RECORD_GROUP,
    RECORD_KIND,
    RECORD_VERSION,
    STATE_SECRET_TYPE,
)
from ..model.objects import Manifest, key_of
from ..model.record_crd import record_crd
from ..model.roles import Subject, account_binding, rbac_path, role_bindings, role_objects
from ..model.run_directory import private_folder

_SERVED_WITHIN_SECONDS = 30.0
_NAMESPACES = "/api/v1/namespaces"

State = Literal["unchanged", "created", "updated", "removed", "kept"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """One object of the bootstrap, what became of it, and how it differed.

    ``reason`` says why it is kept; ``uid`` is that of an object that was removed.
    """

    title: str
    state: State
    difference: Difference
    reason: str = ""
    uid: str = ""

    @property
    def changed(self) -> bool:
        return self.state in ("created", "updated", "removed")


def bootstrap(
    access: AccessOptions, namespace: str, subjects: Mapping[str, list[Subject] | None], *, check: bool
) -> list[Prepared]:
    """Apply what is missing or differs; with ``check`` only say so.

    :param subjects: by role, who it is bound to: exactly these, nobody for none. The bindings of a role without an
        entry, or with ``None``, stay as they are.
    :raises BootstrapError: when the cluster holds what this version can't prepare without losing records.
    :raises ClusterError: when the cluster can't be used or the caller lacks a right.
    """
    credential = resolve(access)
    with private_folder() as folder:
        client = Client(credential, files=folder)
        mask = Mask(Placeholders(secrets.token_bytes(32)))
        prepared = []
        for manifest in [record_crd(), *_own_place(namespace), account_binding(namespace), *role_objects(namespace)]:
            prepared.append(_apply(client, manifest, mask, check=check))
            if manifest["kind"] == "CustomResourceDefinition" and not check:
                _wait_until_served(client)
        for role, bound in subjects.items():
            for binding in role_bindings(role, namespace, bound or []) if bound is not None else []:
                if bound:
                    prepared.append(_apply(client, binding, mask, check=check))
                elif gone := remove(client, binding, mask, check=check):
                    prepared.append(gone)
        return [*prepared, _key(client, namespace, mask, check=check)]


def _own_place(namespace: str) -> list[Manifest]:
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": ACTING_ACCOUNT, "namespace": namespace},
            # No pod runs with this account: it is only ever acted as.
            "automountServiceAccountToken": False,
        },
    ]


def path_of_own(manifest: Manifest) -> str:
    """Where the server has one of the objects that bootstrap makes."""
    metadata = manifest["metadata"]
    match manifest["kind"]:
        case "CustomResourceDefinition":
            return f"{DEFINITIONS}/{metadata['name']}"
        case "Namespace":
            return f"{_NAMESPACES}/{metadata['name']}"
        case "ServiceAccount" | "Secret" as kind:
            return f"{_NAMESPACES}/{metadata['namespace']}/{kind.lower()}s/{metadata['name']}"
        case "Lease":
            return f"/apis/coordination.k8s.io/v1/namespaces/{metadata['namespace']}/leases/{metadata['name']}"
        case kind:
            assert manifest["apiVersion"].startswith(RBAC_GROUP), kind
            return rbac_path(manifest)


def _apply(client: Client, manifest: Manifest, mask: Mask, *, check: bool) -> Prepared:
    title, path = str(key_of(manifest)), path_of_own(manifest)
    live = client.find(path)
    if live is not None:
        _refuse_loss(title, live, manifest)
    try:
        response = client.apply(path, manifest, dry_run=True, force=True)
    except ApiError as error:
        if not (check and error.not_found_namespace):
            raise error.about(subject=title) from error
        # The namespace comes with the same bootstrap.
        return Prepared(title, "created", difference(None, manifest, mask))
    shown = difference(live, response.body, mask)
    if live is not None and not shown.changed:
        return Prepared(title, "unchanged", shown)
    if not check:
        client.apply(path, manifest, force=True)
    return Prepared(title, "created" if live is None else "updated", shown)


def _refuse_loss(title: str, live: Manifest, manifest: Manifest) -> None:
    """:raises BootstrapError: what lives is going away, or holds records in a version that the new one has not."""
    if live["metadata"].get("deletionTimestamp"):
        # The server accepts an apply onto it, and deletes it all the same (observed).
        raise BootstrapError("is being deleted", subject=title, hint="wait until it is gone, then bootstrap again")
    if manifest["kind"] != "CustomResourceDefinition":
        return
    known = {version["name"] for version in manifest["spec"]["versions"]}
    unknown = [version for version in (live.get("status") or {}).get("storedVersions") or [] if version not in known]
    if unknown:
        raise BootstrapError(
            f"holds records in version {', '.join(unknown)}, which this version of the collection does not have",
            subject=title,
            hint="bootstrap with the newer version of the collection that made them",
        )


def remove(client: Client, manifest: Manifest, mask: Mask, *, check: bool) -> Prepared | None:
    """Delete one object, exactly the one that is there now; ``None`` when there is none."""
    path = path_of_own(manifest)
    live = client.find(path)
    if live is None:
        return None
    if not check and not live["metadata"].get("deletionTimestamp"):
        try:
            client.delete(path, delete_options(live["metadata"]["uid"]))
        except ApiError as error:
            if not error.not_found:
                raise error.about(subject=str(key_of(manifest))) from error
    return Prepared(str(key_of(manifest)), "removed", difference(live, None, mask), uid=live["metadata"]["uid"])


def _key(client: Client, namespace: str, mask: Mask, *, check: bool) -> Prepared:
    collection = f"{_NAMESPACES}/{namespace}/secrets"
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": KEY_SECRET, "namespace": namespace},
        "type": STATE_SECRET_TYPE,
        "data": {KEY_FIELD: base64.b64encode(secrets.token_bytes(32)).decode()},
    }
    title = str(key_of(manifest))
    existing = client.find(f"{collection}/{KEY_SECRET}")
    if existing and (existing.get("data") or {}).get(KEY_FIELD):
        return Prepared(title, "unchanged", difference(existing, existing, mask))
    if not check:
        client.create(collection, manifest, lambda found: found.get("data") == manifest["data"])
    return Prepared(title, "created", difference(None, manifest, mask))


def _wait_until_served(client: Client) -> None:
    deadline = time.monotonic() + _SERVED_WITHIN_SECONDS
    while discover(client).find(RECORD_GROUP, RECORD_VERSION, RECORD_KIND) is None:
        if time.monotonic() > deadline:
            raise ReadinessError(
                f"was not served within {_SERVED_WITHIN_SECONDS:.0f} s",
                subject=RECORD_CRD,
                hint="look at its conditions",
            )
        time.sleep(0.1)
