"""Prepares a cluster once: the record kind, the state namespace, the acting account and the hash key.

Everything but the key is applied again each time, so that an upgrade of the collection is one more bootstrap. The key
is created when there is none and never touched again: every digest in every record hangs on it.
"""

from __future__ import annotations

import base64
import secrets
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ..cluster.access import AccessOptions, resolve
from ..cluster.client import ApiError, Client
from ..cluster.discovery import DEFINITIONS, discover
from ..model.difference import Difference, difference
from ..model.errors import ReadinessError
from ..model.masking import Mask, Placeholders
from ..model.names import (
    ACTING_ACCOUNT,
    KEY_FIELD,
    KEY_SECRET,
    RECORD_CRD,
    RECORD_GROUP,
    RECORD_KIND,
    RECORD_VERSION,
    STATE_SECRET_TYPE,
)
from ..model.objects import Manifest, key_of
from ..model.record_crd import record_crd
from ..model.run_directory import PREFIX

_SERVED_WITHIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """One object of the bootstrap and how it differed; ``created`` when it was not there."""

    title: str
    created: bool
    difference: Difference

    @property
    def changed(self) -> bool:
        return self.created or self.difference.changed


def bootstrap(access: AccessOptions, namespace: str, *, check: bool) -> list[Prepared]:
    """Apply what is missing or differs; with ``check`` only say so.

    :raises ClusterError: when the cluster can't be used or the caller lacks a right.
    """
    credential = resolve(access)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        client = Client(credential, files=Path(folder))
        mask = Mask(Placeholders(secrets.token_bytes(32)))
        prepared = []
        for path, manifest in _objects(namespace):
            prepared.append(_apply(client, path, manifest, mask, check=check))
            if manifest["kind"] == "CustomResourceDefinition" and not check:
                _wait_until_served(client)
        return [*prepared, _key(client, namespace, mask, check=check)]


def _objects(namespace: str) -> list[tuple[str, Manifest]]:
    account = {"kind": "ServiceAccount", "name": ACTING_ACCOUNT, "namespace": namespace}
    return [
        (f"{DEFINITIONS}/{RECORD_CRD}", record_crd()),
        (
            f"/api/v1/namespaces/{namespace}",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        ),
        (
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{ACTING_ACCOUNT}",
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": ACTING_ACCOUNT, "namespace": namespace},
                # No pod runs with this account: it is only ever acted as.
                "automountServiceAccountToken": False,
            },
        ),
        (
            f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{ACTING_ACCOUNT}",
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": ACTING_ACCOUNT},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [account],
            },
        ),
    ]


def _apply(client: Client, path: str, manifest: Manifest, mask: Mask, *, check: bool) -> Prepared:
    title = str(key_of(manifest))
    live = client.find(path)
    try:
        response = client.apply(path, manifest, dry_run=True, force=True)
    except ApiError as error:
        if not (check and error.not_found_namespace):
            raise error.about(subject=title) from error
        # The namespace comes with the same bootstrap.
        return Prepared(title, created=True, difference=difference(None, manifest, mask))
    shown = difference(live, response.body, mask)
    if not check and (live is None or shown.changed):
        client.apply(path, manifest, force=True)
    return Prepared(title, created=live is None, difference=shown)


def _key(client: Client, namespace: str, mask: Mask, *, check: bool) -> Prepared:
    collection = f"/api/v1/namespaces/{namespace}/secrets"
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
        return Prepared(title, created=False, difference=difference(existing, existing, mask))
    if not check:
        client.post(collection, manifest)
    return Prepared(title, created=True, difference=difference(None, manifest, mask))


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
