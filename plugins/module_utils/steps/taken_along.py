"""What a deletion would take along: Kubernetes deletes an object with its owner, and no data may go that way.

A database operator makes its cluster the owner of the claims, say; a package manager makes a package the owner of the
kinds that it brought.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..cluster.client import ApiError
from ..cluster.discovery import path_of
from ..model.names import PROTECTED_KINDS, RBAC_GROUP
from ..model.objects import Manifest, ObjectKey, split_api_version
from .session import Session

# Kinds of these groups own nothing that is protected but claims, and those seldom: StatefulSets do, what somebody made
# the owner by hand, and pods, with which a claim is meant to end.
_HARMLESS_GROUPS = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "autoscaling",
        "batch",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "networking.k8s.io",
        "policy",
        RBAC_GROUP,
        "scheduling.k8s.io",
    }
)
_MOST_OWNERS = 5


def may_take_along(key: ObjectKey) -> bool:
    """Whether objects of this kind are known to own what is protected."""
    return key.group not in _HARMLESS_GROUPS or key.group_kind == ("apps", "StatefulSet")


@dataclass
class TakenAlong:
    """Looks at protected objects and their owners, and the owners of those, as the acting account.

    :ivar warnings: where it may not look for what objects seldom own; set by ``by_uid``.
    """

    session: Session
    warnings: list[str] = field(default_factory=list)
    _owners: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def by_uid(self, candidates: Collection[tuple[ObjectKey, str]]) -> dict[str, str]:
        """Why objects may not be deleted, by their uid: what would go with them.

        :param candidates: identity and uid of what is to be deleted.
        :raises ClusterError: when the protected objects or their owners may not be read, so that nobody knows.
        """
        wanted = {uid for _key, uid in candidates if uid}
        likely = {key.namespace for key, _uid in candidates if may_take_along(key)}
        others = {key.namespace for key, _uid in candidates if key.namespace} - likely
        found: dict[str, str] = {}
        for kind, owned in self._protected(likely):
            self._note(kind, owned, wanted, found)
        for namespace in sorted(others) if "" not in likely else ():
            try:
                for kind, owned in self._claims(namespace):
                    self._note(kind, owned, wanted, found)
            except ApiError as error:
                if not error.forbidden:
                    raise
                self.warnings.append(
                    f"a claim in namespace {namespace} would go with it, should it own one: {error.message}"
                )
        return found

    def _note(self, kind: str, owned: Manifest, wanted: set[str], found: dict[str, str]) -> None:
        metadata = owned["metadata"]
        for uid in self._above(metadata.get("ownerReferences"), metadata.get("namespace") or ""):
            if uid in wanted:
                place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
                found.setdefault(uid, f"{kind} {place}{metadata['name']} would go with it: it is its owner")

    def _claims(self, namespace: str) -> Iterator[tuple[str, Manifest]]:
        """Metadata of the claims in a namespace."""
        kind = "PersistentVolumeClaim"
        if resource := self.session.discovery.preferred("", kind):
            items, _version = self.session.acting.list_all(path_of(resource, namespace), metadata_only=True)
            yield from ((kind, item) for item in items)

    def _protected(self, namespaces: set[str]) -> Iterator[tuple[str, Manifest]]:
        """Metadata of the protected objects that something in these namespaces (or, if empty, in none) may own."""
        for group, kind in sorted(PROTECTED_KINDS) if namespaces else ():
            resource = self.session.discovery.preferred(group, kind)
            if resource is None or not (resource.namespaced or "" in namespaces):
                continue
            for namespace in [""] if "" in namespaces else sorted(namespaces):
                items, _version = self.session.acting.list_all(path_of(resource, namespace), metadata_only=True)
                yield from ((kind, item) for item in items)

    def _above(self, references: list[dict[str, Any]] | None, namespace: str, depth: int = 0) -> Iterator[str]:
        """The uids of all owners of an object, direct or not.

        :param references: of the object, which is in that namespace.
        """
        for reference in references or []:
            # A claim of a pod is one that its pod template asks to end with the pod.
            if depth > _MOST_OWNERS or reference.get("kind") == "Pod":
                continue
            yield reference["uid"]
            yield from self._above(self._owners_of(reference, namespace), namespace, depth + 1)

    def _owners_of(self, reference: dict[str, Any], namespace: str) -> list[dict[str, Any]]:
        group, version = split_api_version(str(reference.get("apiVersion")))
        resource = self.session.discovery.find(group, version, str(reference.get("kind")))
        if resource is None:
            return []
        path = path_of(resource, namespace, str(reference.get("name")))
        if path not in self._owners:
            live = self.session.acting.find(path)
            self._owners[path] = (live or {"metadata": {}})["metadata"].get("ownerReferences") or []
        return self._owners[path]
