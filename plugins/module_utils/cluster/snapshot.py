"""What the cluster holds of all add-ons: the metadata of every labelled object, one LIST per kind.

Only metadata travels, so that the values of Secrets never enter this process. A kind that could not be listed is
*incomplete*: that an object of it is missing here proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ..model.names import OWNER_LABEL
from ..model.objects import GroupKind, Manifest, ObjectKey
from .api_error import ApiError
from .client import Client
from .discovery import Discovery, Resource, path_of


@dataclass(frozen=True, slots=True)
class ObjectMetadata:
    """The metadata of a live object.

    :ivar generation: None for kinds that do not count changes of their spec.
    :ivar deletion_timestamp: empty unless the object is being deleted.
    :ivar managed_fields: the ownership entries as the server gives them.
    """

    key: ObjectKey
    uid: str
    resource_version: str
    generation: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: list[dict[str, Any]] = field(default_factory=list)
    finalizers: list[str] = field(default_factory=list)
    deletion_timestamp: str = ""
    managed_fields: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, group: str, kind: str, manifest: Manifest) -> ObjectMetadata:
        """From an object, or a ``PartialObjectMetadata``, whose own apiVersion and kind are not looked at."""
        metadata = manifest["metadata"]
        return cls(
            ObjectKey(group, kind, metadata.get("namespace") or "", metadata["name"]),
            metadata.get("uid") or "",
            metadata.get("resourceVersion") or "",
            metadata.get("generation"),
            metadata.get("labels") or {},
            metadata.get("annotations") or {},
            metadata.get("ownerReferences") or [],
            metadata.get("finalizers") or [],
            metadata.get("deletionTimestamp") or "",
            metadata.get("managedFields") or [],
        )

    def to_json(self) -> list[Any]:
        """A row in the order of the fields: there are many of these, and most of each is passed on as it is."""
        return [self.key.to_json(), *(getattr(self, name) for name in self.__slots__[1:])]

    @classmethod
    def from_json(cls, value: list[Any]) -> ObjectMetadata:
        key, *others = value
        return cls(ObjectKey.from_json(key), *others)


@dataclass
class Snapshot:
    """All labelled objects of some kinds.

    :ivar complete: the kinds of which ``objects`` has every object, a kind that the server does not serve included.
    :ivar incomplete: ``group/kind`` to the reason why it could not be listed.
    """

    objects: dict[ObjectKey, ObjectMetadata] = field(default_factory=dict)
    complete: set[GroupKind] = field(default_factory=set)
    incomplete: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "objects": [one.to_json() for one in self.objects.values()],
            "complete": sorted(map(list, self.complete)),
            "incomplete": self.incomplete,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Snapshot:
        objects = map(ObjectMetadata.from_json, value["objects"])
        complete = {(group, kind) for group, kind in value["complete"]}
        return cls({one.key: one for one in objects}, complete, value["incomplete"])


def take(
    client: Client,
    discovery: Discovery,
    group_kinds: Iterable[GroupKind],
    workers: int = 8,
) -> Snapshot:
    """Lists the objects of these kinds that carry our label, whatever its value, in all namespaces.

    :raises UnreachableError, CredentialError, ClusterError: as ``Client.request``, for what concerns every kind.
    """
    snapshot = Snapshot()
    wanted: list[tuple[GroupKind, Resource]] = []
    for group, kind in sorted(set(group_kinds)):
        resource = discovery.preferred(group, kind)
        if resource is None and discovery.group_is_stale(group):
            snapshot.incomplete[f"{group}/{kind}"] = f"the server of API group {group} does not answer"
        elif resource is None:
            snapshot.complete.add((group, kind))
        elif "list" not in resource.verbs:
            snapshot.incomplete[f"{group}/{kind}"] = "this kind can't be listed"
        else:
            wanted.append(((group, kind), resource))

    def read(resource: Resource) -> list[Manifest] | str:
        """The items, or why there are none."""
        try:
            items, _version = client.list_all(path_of(resource), label_selector=OWNER_LABEL, metadata_only=True)
        except ApiError as error:
            # Not served any more since discovery: then there are no such objects either.
            return [] if error.kind_not_served else error.message
        return items

    with ThreadPoolExecutor(max_workers=max(1, min(workers, len(wanted)))) as pool:
        results = list(pool.map(read, [resource for _group_kind, resource in wanted]))
    for (group_kind, _resource), result in zip(wanted, results, strict=True):
        if isinstance(result, str):
            snapshot.incomplete["/".join(group_kind)] = result
            continue
        snapshot.complete.add(group_kind)
        for item in result:
            found = ObjectMetadata.of(*group_kind, item)
            # Some aggregated APIs ignore label selectors.
            if OWNER_LABEL in found.labels:
                snapshot.objects[found.key] = found
    return snapshot
