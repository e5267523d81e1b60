"""Plans what left the source: objects that the inventory has and the bundle has not are pruned, or kept and why.

When the record was lost, the label on the objects tells what the inventory would: they are kept, and remembered again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ..cluster.discovery import Resource, path_of
from ..cluster.snapshot import ObjectMetadata, Snapshot
from ..model.bundle import Bundle
from ..model.definition import Definition
from ..model.errors import ClusterError
from ..model.inventory import InventoryEntry
from ..model.keep_policies import keep_reason
from ..model.names import OWNER_LABEL
from ..model.objects import Manifest, ObjectKey
from ..model.ownership import fingerprint, own_entry
from ..model.plan import PlanItem
from .deletion_obstacles import cascade_of, obstacle_in_itself
from .session import Session
from .shown_states import States
from .taken_along import TakenAlong, may_take_along

# A mass deletion is refused unless the definition allows it: more than this many, and more than half of the inventory.
_MASS_DELETION = 10


@dataclass
class Left:
    """What one add-on does not have in its source any more.

    ``gone`` are the inventory entries whose object does not exist, or is not this add-on's, any more; ``notes`` say why
    where that is no matter of course. ``unknown`` tells, after the record was lost, of which kinds there may be objects
    of it that could not be looked for, and why.
    """

    items: list[PlanItem] = field(default_factory=list)
    gone: list[ObjectKey] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


@dataclass
class LeftPlanner:
    """Plans what one add-on does not have in its source any more.

    :param states: gets what is to be deleted.
    :param open_render: why what the bundle lacks may be in the source all the same, empty when it is not.
    :param fresh: whether the cluster is looked at anew.
    :param left_out: an object of the bundle that this run can't apply, if there is one: nothing is pruned then.
    """

    session: Session
    bundle: Bundle
    states: States
    open_render: str
    fresh: bool
    left_out: ObjectKey | None = None
    _deleting: dict[ObjectKey, str] = field(default_factory=dict)

    @cached_property
    def definition(self) -> Definition:
        return self.session.directory.definition(self.bundle.name).definition

    @cached_property
    def snapshot(self) -> Snapshot:
        kinds = {key.group_kind for key in self.session.record(self.bundle.name).inventory.entries}
        return self.session.fresh_snapshot(kinds) if self.fresh else self.session.snapshot(kinds)

    def left(self, present: set[str]) -> Left:
        """Items for what the inventory has and the source has not.

        :param present: uids of objects that the source has. One object can be served in two API groups (observed), so
            that an entry of the old group is no object of its own.
        """
        record = self.session.record(self.bundle.name)
        if record.fresh:
            return self._forgotten(present)
        left, found = record.inventory.left_source(self.bundle.keys()), Left()
        if not left:
            return found
        snapshot = self.snapshot
        judged = self.session.each(lambda entry: self._left(entry, snapshot, present), left)
        for entry, item in zip(left, judged, strict=True):
            if isinstance(item, PlanItem):
                found.items.append(item)
                continue
            found.gone.append(entry.key)
            if item:
                found.notes.append(f"{entry.key}: {item}")
        self._keep_owners(found.items)
        self._guard(found.items, len(record.inventory.entries))
        for item in found.items:
            item.action = "keep" if item.reason else "prune"
            if item.action == "prune":
                item.cascade = cascade_of(item.key)
                item.reason = self._deleting.get(item.key, "")
        # What is kept shows nothing; but what a kept Secret holds may stand in another object's difference.
        shown = (item for item in found.items if item.action == "prune" or item.key.group_kind == ("", "Secret"))
        self.session.each(self._look_at, shown)
        return found

    def _forgotten(self, present: set[str]) -> Left:
        """Objects that carry the add-on's label, were applied by it, and are in no record and not in the source."""
        snapshot = self._everything()
        rendered, seen = set(self.bundle.keys()), set(present)
        items = []
        for key, metadata in sorted(snapshot.objects.items()):
            # Controllers copy labels to what they make, and one object may be found in two API groups.
            if (
                metadata.labels.get(OWNER_LABEL) != self.bundle.name
                or own_entry({"managedFields": metadata.managed_fields}) is None
                or key in rendered
                or metadata.uid in seen
            ):
                continue
            seen.add(metadata.uid)
            made = PlanItem(key, self._version(key), "keep", "verified", uid=metadata.uid, owner=self.bundle.name)
            made.reason = keep_reason(key, metadata.labels, metadata.annotations, metadata.owner_references)
            made.kept_as = "retained" if made.reason else "stale"
            made.reason = made.reason or "is not in the source, and the record that knew it is lost: kept in this run"
            items.append(made)
        return Left(items, unknown=self._unknown(snapshot))

    def _everything(self) -> Snapshot:
        """What is labelled, of all kinds that can be applied: a list per kind, once for all add-ons of the run.

        Only where there is something to find it is read again for a plan that is made anew.
        """
        kinds = {(one.group, one.kind) for one in self.session.discovery.resources if {"list", "patch"} <= {*one.verbs}}
        shared = self.session.snapshot(kinds)
        labelled = any(one.labels.get(OWNER_LABEL) == self.bundle.name for one in shared.objects.values())
        return self.session.fresh_snapshot(kinds) if self.fresh and (labelled or shared.incomplete) else shared

    def _unknown(self, snapshot: Snapshot) -> list[str]:
        """Of which kinds there may be more objects, and why."""
        groups = sorted({one.rpartition("/")[0] for one in self.session.discovery.stale})
        kinds = sorted(
            (f"{kind}.{group}" if group else kind, reason)
            for (group, _, kind), reason in ((key.rpartition("/"), why) for key, why in snapshot.incomplete.items())
            # A kind that can't be listed at all is none of those that were asked for, and of a stale group all are.
            if group not in groups and (group, kind) not in snapshot.complete and "list" in self._verbs(group, kind)
        )
        return [f"API group {group} (does not answer)" for group in groups] + [f"{kind} ({why})" for kind, why in kinds]

    def _verbs(self, group: str, kind: str) -> tuple[str, ...]:
        resource = self.session.discovery.preferred(group, kind)
        return resource.verbs if resource else ()

    def _version(self, key: ObjectKey) -> str:
        resource = self.session.discovery.preferred(key.group, key.kind)
        return resource.version if resource else ""

    def _keep_owners(self, items: list[PlanItem]) -> None:
        """Keep what data would go with."""
        leaving = [item for item in items if not item.reason]
        try:
            taken_along = TakenAlong(self.session)
            reasons = taken_along.by_uid([(item.key, item.uid) for item in leaving])
        except ClusterError as error:
            for item in leaving:
                if may_take_along(item.key):
                    item.verdict = "unknown"
                    item.reason = f"it is not known whether data would go with it: {error.message}"
            return
        for item in leaving[:1]:
            item.warnings += taken_along.warnings
        for item in leaving:
            if reason := reasons.get(item.uid):
                item.reason, item.kept_as = reason, "retained"

    def _left(self, entry: InventoryEntry, snapshot: Snapshot, present: set[str]) -> PlanItem | str:
        """The item of an object that left the source, with a reason when it stays.

        What is gone, or is not this add-on's any more, has none: then a note on it, empty for a matter of course.
        """
        made = PlanItem(entry.key, entry.version, "keep", "verified", uid=entry.uid)
        try:
            metadata = self._metadata(entry, snapshot)
        except ClusterError as error:
            made.verdict, made.reason = "unknown", error.message
            return made
        if metadata is None:
            return "" if self._resource(entry.key, entry.version) else "its kind is not served any more"
        if metadata.uid in present:
            return ""
        if (owner := metadata.labels.get(OWNER_LABEL)) != self.bundle.name:
            made_again = entry.uid and entry.uid != metadata.uid
            lost = "was made again by somebody else" if made_again else "is no longer labelled as this add-on's"
            return f"belongs to add-on {owner} now" if owner else lost
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
        elif self.left_out:
            made.reason = f"left the source; stays until {self.left_out} can be applied"
        made.uid = metadata.uid
        if metadata.deletion_timestamp:
            finalizers = ", ".join(metadata.finalizers) or "none"
            self._deleting[made.key] = f"is being deleted already (finalizers: {finalizers})"
        return made

    def _keep_reason(self, entry: InventoryEntry, metadata: ObjectMetadata) -> str:
        def read() -> Manifest | None:
            resource = self._resource(entry.key, entry.version)
            if resource is None:
                return None
            return self.session.acting.find(path_of(resource, entry.key.namespace, entry.key.name))

        return obstacle_in_itself(entry.key, metadata, cascade_of(entry.key), read)

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
        leaving = [item for item in items if not item.reason and item.key not in self._deleting]
        reason = ""
        limit = self.definition.max_delete
        if leaving and limit is None and all(item.generated for item in self.bundle.objects):
            reason = (
                "the source renders nothing, and an empty render never prunes by itself. "
                f"Set maxDelete to at least {len(leaving)} to delete what it had"
            )
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
