"""Plans what left the source: objects that the inventory has and the bundle has not are pruned, or kept and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..cluster.discovery import Resource, path_of
from ..cluster.snapshot import ObjectMetadata, Snapshot
from ..model.bundle import Bundle
from ..model.definition import Definition
from ..model.errors import ClusterError
from ..model.inventory import InventoryEntry
from ..model.keep_policies import keep_reason, may_take_volumes, volume_reason
from ..model.names import OWNER_LABEL
from ..model.objects import ObjectKey
from ..model.ownership import fingerprint, own_entry
from ..model.plan import PlanItem
from .session import Session
from .shown_states import States

# A mass deletion is refused unless the definition allows it: more than this many, and more than half of the inventory.
_MASS_DELETION = 10


@dataclass
class LeftPlanner:
    """Plans what one add-on does not have in its source any more.

    :param states: gets what is to be deleted.
    :param open_render: why what the bundle lacks may be in the source all the same, empty when it is not.
    :param fresh: whether the cluster is looked at anew.
    """

    session: Session
    bundle: Bundle
    states: States
    open_render: str
    fresh: bool

    @cached_property
    def definition(self) -> Definition:
        return self.session.directory.definition(self.bundle.name).definition

    @cached_property
    def snapshot(self) -> Snapshot:
        kinds = {key.group_kind for key in self.session.record(self.bundle.name).inventory.entries}
        return self.session.fresh_snapshot(kinds) if self.fresh else self.session.snapshot(kinds)

    def items(self, present: set[str]) -> tuple[list[PlanItem], list[ObjectKey]]:
        """Items for what the inventory has and the source has not, and the keys of what is not there any more.

        :param present: uids of objects that the source has. One object can be served in two API groups (observed), so
            that an entry of the old group is no object of its own.
        """
        inventory = self.session.record(self.bundle.name).inventory
        left = inventory.left_source(self.bundle.keys())
        if not left:
            return [], []
        snapshot = self.snapshot
        judged = self.session.each(lambda entry: self._left(entry, snapshot, present), left)
        items = [item for item in judged if item]
        gone = [entry.key for entry, item in zip(left, judged, strict=True) if item is None]
        self._guard(items, len(inventory.entries))
        for item in items:
            item.action = "keep" if item.reason else "prune"
        # What is kept shows nothing; but what a kept Secret holds may stand in another object's difference.
        shown = (item for item in items if item.action == "prune" or item.key.group_kind == ("", "Secret"))
        self.session.each(self._look_at, shown)
        return items, gone

    def _left(self, entry: InventoryEntry, snapshot: Snapshot, present: set[str]) -> PlanItem | None:
        """The item of an object that left the source, with a reason when it stays; ``None`` when it is gone."""
        made = PlanItem(entry.key, entry.version, "keep", "verified", uid=entry.uid)
        try:
            metadata = self._metadata(entry, snapshot)
        except ClusterError as error:
            made.verdict, made.reason = "unknown", error.message
            return made
        if metadata is None or metadata.labels.get(OWNER_LABEL) != self.bundle.name or metadata.uid in present:
            return None
        made.owner = self.bundle.name
        made.resource_version = metadata.resource_version
        try:
            reason = self._keep_reason(entry, metadata)
        except ClusterError as error:
            made.verdict, made.reason = "unknown", error.message
            return made
        if reason:
            made.reason, made.kept_as = reason, "retained"
        elif entry.uid and entry.uid != metadata.uid:
            made.reason = "was deleted and made again by somebody else"
        elif not entry.uid and own_entry({"managedFields": metadata.managed_fields}) is None:
            # A run that was killed left no uid behind; then our own apply has to show in the object.
            made.reason = "was never applied by this add-on"
        elif self.open_render:
            made.reason = f"may be in the source all the same: {self.open_render}"
        elif not self.definition.prune:
            made.reason = "left the source; prune is off"
        made.uid = metadata.uid
        return made

    def _keep_reason(self, entry: InventoryEntry, metadata: ObjectMetadata) -> str:
        reason = keep_reason(entry.key, metadata.annotations, metadata.owner_references)
        resource = self._resource(entry.key, entry.version)
        if reason or resource is None or not may_take_volumes(entry.key):
            return reason
        live = self.session.acting.find(path_of(resource, entry.key.namespace, entry.key.name))
        return volume_reason(live) if live else ""

    def _metadata(self, entry: InventoryEntry, snapshot: Snapshot) -> ObjectMetadata | None:
        key = entry.key
        known = snapshot.objects.get(key)
        if known:
            return known
        resource = self._resource(key, entry.version)
        if resource is None:
            if self.session.discovery.group_is_stale(key.group):
                raise ClusterError(f"API group {key.group} does not answer, so it is not known whether this exists")
            return None
        live = self.session.acting.find(path_of(resource, key.namespace, key.name))
        return ObjectMetadata.of(key.group, key.kind, live) if live else None

    def _resource(self, key: ObjectKey, version: str) -> Resource | None:
        """The kind in the version that it was applied in, else in the one that the server prefers."""
        discovery = self.session.discovery
        return discovery.find(key.group, version, key.kind) or discovery.preferred(key.group, key.kind)

    def _guard(self, items: list[PlanItem], size: int) -> None:
        """Stop a mass deletion: an empty render, or more than the definition allows."""
        leaving = [item for item in items if not item.reason]
        reason = ""
        limit = self.definition.max_delete
        if leaving and all(item.generated for item in self.bundle.objects):
            reason = "the source renders nothing, and an empty render never prunes"
        elif limit is not None and len(leaving) > limit:
            reason = f"{len(leaving)} objects would be pruned, maxDelete is {limit}"
        elif limit is None and len(leaving) > _MASS_DELETION and len(leaving) * 2 > size:
            reason = f"{len(leaving)} of {size} objects would be pruned. Set maxDelete to allow that"
        for item in leaving:
            item.reason = reason

    def _look_at(self, made: PlanItem) -> None:
        resource = self._resource(made.key, made.version)
        try:
            live = resource and self.session.acting.find(path_of(resource, made.key.namespace, made.key.name))
        except ClusterError:
            # The deletion looks at it once more; here it would only have been shown.
            return
        if live and made.action == "prune":
            made.fingerprint = fingerprint(self.session.key, live)
            self.states.note(made.key, live, None)
        else:
            self.states.know(live or None)
