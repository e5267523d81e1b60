"""Takes back what bootstrap made. What add-ons installed stays, and so do records, unless they are to go as well."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

from ..cluster.access import AccessOptions, resolve
from ..cluster.client import ApiError, Client
from ..cluster.discovery import discover, path_of
from ..model.difference import difference
from ..model.errors import BootstrapError, ReadinessError
from ..model.masking import Mask, Placeholders
from ..model.names import (
    ACTING_ACCOUNT,
    PLATFORM_ROLE,
    PREVIEWER_ROLE,
    RECORD_CRD,
    RECORD_GROUP,
    RECORD_KIND,
    STATE_SECRET_TYPE,
    VIEWER_ROLE,
)
from ..model.objects import Manifest, ObjectKey, key_of
from ..model.record_crd import record_crd
from ..model.roles import account_binding, role_bindings, role_objects
from ..model.run_directory import private_folder
from ..model.wording import counted, listed
from .bootstrap import Prepared, path_of_own, remove
from .records import list_records

_GONE_WITHIN_SECONDS = 60.0
_POLL_SECONDS = 0.2
_OF_EVERY_NAMESPACE = frozenset({("", "ServiceAccount", "default"), ("", "ConfigMap", "kube-root-ca.crt")})
_EVENTS = frozenset({("", "Event"), ("events.k8s.io", "Event")})
_PURGE_HINT = "purge: true removes them as well, and what their add-ons installed stays in the cluster, with no record"
_NEVER_REMOVED = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


def remove_bootstrap(access: AccessOptions, namespace: str, *, purge: bool, check: bool) -> list[Prepared]:
    """Delete roles, bindings, locks and the account; without records, or with ``purge``, everything.

    :raises BootstrapError: a record was made meanwhile. :raises ReadinessError: what was deleted does not go.
    :raises ClusterError: when the cluster can't be used or the caller lacks a right.
    """
    credential = resolve(access)
    with private_folder() as folder:
        client = Client(credential, files=folder)
        return _Removal(client, namespace, purge=purge, check=check).run()


class _Removal:
    def __init__(self, client: Client, namespace: str, *, purge: bool, check: bool) -> None:
        self.client = client
        self.namespace = namespace
        self.purge = purge
        self.check = check
        self.mask = Mask(Placeholders(secrets.token_bytes(32)))

    def run(self) -> list[Prepared]:
        records = list_records(self.client) or {}
        roles = (PLATFORM_ROLE, PREVIEWER_ROLE, VIEWER_ROLE)
        bindings = [binding for role in roles for binding in role_bindings(role, self.namespace, [])]
        account = _named("v1", "ServiceAccount", ACTING_ACCOUNT, self.namespace)
        # Whoever works on an add-on at this moment loses the right to before the lock.
        parts = [*bindings, account_binding(self.namespace), *role_objects(self.namespace), *self._locks(), account]
        state = [record_crd(), *self._secrets()]
        if records and not self.purge:
            reason = (
                f"there {'is' if len(records) == 1 else 'are'} {counted(len(records), 'Addon record')}"
                f" ({listed(sorted(records), 5)}). {_PURGE_HINT}"
            )
            removed = self._remove(parts)
            kept = [Prepared(str(key_of(one)), "kept", difference(None, None, self.mask), reason) for one in state]
            return [*removed, *kept, *self._namespace(parts, reason)]
        if not self.check and not self.purge and list_records(self.client):
            raise BootstrapError("a record was made meanwhile", subject=RECORD_CRD, hint="run again")
        going = [
            Prepared(f"{RECORD_KIND} {name}", "removed", difference(None, None, self.mask)) for name in sorted(records)
        ]
        removed = self._remove([*parts, *state])
        self._wait_until_gone(record_crd())
        return [*going, *removed, *self._namespace([*parts, *state], "")]

    def _remove(self, manifests: Iterable[Manifest]) -> list[Prepared]:
        removed = (remove(self.client, manifest, self.mask, check=self.check) for manifest in manifests)
        return [one for one in removed if one]

    def _locks(self) -> list[Manifest]:
        leases, _version = self.client.list_all(f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases")
        names = [lease["metadata"]["name"] for lease in leases]
        return [
            _named("coordination.k8s.io/v1", "Lease", name, self.namespace)
            for name in names
            if name.startswith("addon-")
        ]

    def _secrets(self) -> list[Manifest]:
        """The key, and what is remembered of add-ons."""
        found, _version = self.client.list_all(f"/api/v1/namespaces/{self.namespace}/secrets")
        own = [secret["metadata"]["name"] for secret in found if secret.get("type") == STATE_SECRET_TYPE]
        return [_named("v1", "Secret", name, self.namespace) for name in own]

    def _namespace(self, going: list[Manifest], reason: str) -> list[Prepared]:
        """The state namespace goes with what was in it, unless something else is."""
        manifest = _named("v1", "Namespace", self.namespace)
        if self.client.find(path_of_own(manifest)) is None:
            return []
        if self.namespace in _NEVER_REMOVED:
            reason = "it is the cluster's own"
        reason = reason or self._others({key_of(one) for one in going})
        if reason:
            return [Prepared(str(key_of(manifest)), "kept", difference(None, None, self.mask), reason)]
        removed = self._remove([manifest])
        self._wait_until_gone(manifest)
        return removed

    def _others(self, own: set[ObjectKey]) -> str:
        """What else is in the namespace, as a reason to keep it; empty for nothing."""
        discovery = discover(self.client)
        if discovery.stale:
            return f"what it holds of {listed(discovery.stale, 3)} is not known, since that API does not answer"
        others = []
        for resource in discovery.resources:
            kind = resource.group, resource.kind
            if not resource.namespaced or "list" not in resource.verbs or kind in _EVENTS:
                continue
            try:
                items, _version = self.client.list_all(path_of(resource, self.namespace), metadata_only=True)
            except ApiError as error:
                # Its definition may have gone just now.
                if error.kind_not_served and resource.group == RECORD_GROUP:
                    continue
                return f"what it holds of {resource.plural} is not known: {error.message}"
            names = (item["metadata"]["name"] for item in items)
            keys = (
                ObjectKey(*kind, self.namespace, name) for name in names if (*kind, name) not in _OF_EVERY_NAMESPACE
            )
            others += [str(key) for key in keys if key not in own]
        return f"others are in it: {listed(sorted(set(others)), 3)}" if others else ""

    def _wait_until_gone(self, manifest: Manifest) -> None:
        path, deadline = path_of_own(manifest), time.monotonic() + _GONE_WITHIN_SECONDS
        while not self.check:
            live = self.client.find(path)
            if live is None:
                return
            if time.monotonic() > deadline:
                raise ReadinessError(
                    f"is being deleted for {_GONE_WITHIN_SECONDS:.0f} s",
                    subject=str(key_of(manifest)),
                    hint="look at its conditions and finalizers, then run again",
                )
            time.sleep(_POLL_SECONDS)


def _named(api_version: str, kind: str, name: str, namespace: str = "") -> Manifest:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place}}
