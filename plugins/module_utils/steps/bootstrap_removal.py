"""Takes back what bootstrap made. What add-ons installed stays.

So does what only the cluster knows of them, unless that is to go as well: their records, the tombstones of those that
left git and keep running, and the key, on which every digest in them hangs.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from ..cluster.access import AccessOptions, resolve
from ..cluster.client import ApiError, Client
from ..cluster.discovery import discover, path_of
from ..cluster.gone import wait_until_gone
from ..model.difference import difference
from ..model.errors import BootstrapError, ReadinessError
from ..model.finalizers import what_holds
from ..model.masking import Mask, Placeholders
from ..model.names import (
    ACTING_ACCOUNT,
    KEY_SECRET,
    PLATFORM_ROLE,
    PREVIEWER_ROLE,
    RECORD_GROUP,
    RECORD_KIND,
    STATE_LABEL,
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
_OF_EVERY_NAMESPACE = frozenset({("", "ServiceAccount", "default"), ("", "ConfigMap", "kube-root-ca.crt")})
_EVENTS = frozenset({("", "Event"), ("events.k8s.io", "Event")})
_PURGE_HINT = "purge: true removes them as well, and what their add-ons installed stays in the cluster, with no record"
_NEVER_REMOVED = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


def remove_bootstrap(access: AccessOptions, namespace: str, *, purge: bool, check: bool) -> list[Prepared]:
    """Delete roles, bindings, locks and the account; without records and tombstones, or with ``purge``, everything.

    :raises BootstrapError: a record or a tombstone was made meanwhile.
    :raises ReadinessError: what was deleted does not go.
    :raises ClusterError: when the cluster can't be used or the caller lacks a right.
    """
    credential = resolve(access)
    with private_folder() as folder:
        client = Client(credential, files=folder)
        return _Removal(client, namespace, purge=purge, check=check).run()


@dataclass(frozen=True, slots=True)
class _Memory:
    """What is remembered of add-ons: names of those with a record and of those with a tombstone; and all Secrets of it,
    the key included."""

    records: list[str]
    tombstones: list[str]
    secrets: list[Manifest]

    @property
    def titles(self) -> set[str]:
        records = {f"the Addon record {name}" for name in self.records}
        return records | {f"the tombstone of {name}" for name in self.tombstones}

    @property
    def reason(self) -> str:
        """Why it is kept; empty when nothing is remembered."""
        found = [
            f"{counted(len(names), what)} ({listed(names, 5)})"
            for what, names in (("Addon record", self.records), ("tombstone", self.tombstones))
            if names
        ]
        first = self.records or self.tombstones
        known = ", the only inventory of what left git and keeps running" if self.tombstones else ""
        verb = "is" if len(first) == 1 else "are"
        return f"there {verb} {' and '.join(found)}{known}. {_PURGE_HINT}" if found else ""


class _Removal:
    def __init__(self, client: Client, namespace: str, *, purge: bool, check: bool) -> None:
        self.client = client
        self.namespace = namespace
        self.purge = purge
        self.check = check
        self.mask = Mask(Placeholders(secrets.token_bytes(32)))

    def run(self) -> list[Prepared]:
        roles = (PLATFORM_ROLE, PREVIEWER_ROLE, VIEWER_ROLE)
        bindings = [binding for role in roles for binding in role_bindings(role, self.namespace, [])]
        account = _named("v1", "ServiceAccount", ACTING_ACCOUNT, self.namespace)
        # Whoever works on an add-on at this moment loses the right to before the lock.
        parts = [*bindings, account_binding(self.namespace), *role_objects(self.namespace), *self._locks(), account]
        before = self._memory()
        removed = self._remove(parts)
        # Until their rights went, syncs wrote on.
        memory = self._memory()
        if (new := sorted(memory.titles - before.titles)) and not self.purge:
            raise BootstrapError(
                f"roles, bindings, locks and the account are removed, but meanwhile came {listed(new, 3)}",
                subject="bootstrap",
                hint="run again, which says what stays because of that",
            )
        reason = "" if self.purge else memory.reason
        kind = record_crd()
        staying = [*([kind] if memory.records else []), *memory.secrets] if reason else []
        if kind not in staying:
            removed += self._remove_wholly(kind)
        if not reason:
            removed += self._remove(memory.secrets)
        kept = [Prepared(str(key_of(one)), "kept", difference(None, None, self.mask), reason) for one in staying]
        records = [
            Prepared(f"{RECORD_KIND} {name}", "removed", difference(None, None, self.mask))
            for name in ([] if reason else memory.records)
        ]
        return [*records, *removed, *kept, *self._namespace([*parts, kind, *memory.secrets], reason)]

    def _remove(self, manifests: Iterable[Manifest]) -> list[Prepared]:
        removed = (remove(self.client, manifest, self.mask, check=self.check) for manifest in manifests)
        return [one for one in removed if one]

    def _remove_wholly(self, manifest: Manifest) -> list[Prepared]:
        """The same of one object, which is gone then.

        :raises ReadinessError: it does not go.
        """
        removed = self._remove([manifest])
        for one in removed if not self.check else []:
            left = wait_until_gone(
                self.client, path_of_own(manifest), one.uid, _GONE_WITHIN_SECONDS, lambda _line: None
            )
            if left is not None:
                holds = what_holds(left)
                raise ReadinessError(
                    f"is being deleted for {_GONE_WITHIN_SECONDS:.0f} s{f' ({holds})' if holds else ''}",
                    subject=one.title,
                    hint="look at its conditions and finalizers, then run again",
                )
        return removed

    def _locks(self) -> list[Manifest]:
        collection = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
        leases, _version = self.client.list_all(collection, metadata_only=True)
        names = [lease["metadata"]["name"] for lease in leases]
        return [
            _named("coordination.k8s.io/v1", "Lease", name, self.namespace)
            for name in names
            if name.startswith("addon-")
        ]

    def _memory(self) -> _Memory:
        """Without the content of any Secret, of which others may be there, too."""
        # Whoever drops a record writes its tombstone first, so that one of the two is seen.
        records = list_records(self.client) or {}
        found, _version = self.client.list_all(
            f"/api/v1/namespaces/{self.namespace}/secrets",
            metadata_only=True,
            field_selector=f"type={STATE_SECRET_TYPE}",
        )
        owners = {one["metadata"]["name"]: (one["metadata"].get("labels") or {}).get(STATE_LABEL) for one in found}
        return _Memory(
            sorted(records),
            sorted(owner or name for name, owner in owners.items() if name != KEY_SECRET),
            [_named("v1", "Secret", name, self.namespace) for name in owners],
        )

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
        return self._remove_wholly(manifest)

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


def _named(api_version: str, kind: str, name: str, namespace: str = "") -> Manifest:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place}}
