"""The third step: what applying a bundle would do to the live cluster, object by object, without writing anything.

Every object is dry-run by the API server. What can't be, because its namespace or its kind comes with the same run, is
*simulated*; what could not be checked is *unknown* and says why. One object's failure is that object's result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from ..cluster.client import ApiError
from ..cluster.discovery import Resource, path_of
from ..cluster.snapshot import ObjectMetadata, Snapshot
from ..model.bundle import Bundle, BundleObject
from ..model.definition import Definition
from ..model.difference import difference
from ..model.errors import AddonError, ClusterError, PlanError
from ..model.inventory import InventoryEntry
from ..model.keep_policies import keep_reason
from ..model.keyed_hash import keyed_hash
from ..model.masking import mask_text, secret_values
from ..model.names import FIELD_MANAGER, OWNER_LABEL, RECORD_GROUP
from ..model.normalise import describe_kind, is_definition, kinds_of_definition
from ..model.objects import Manifest, ObjectKey
from ..model.ownership import facts_of, fingerprint, own_entry
from ..model.plan import Plan, PlanItem, Takeover
from .claims import settle_claims, sources_by_addon
from .custom_resources import definition_facts
from .dependencies import bundles_of_dependencies, changed_dependency
from .gates import judge
from .session import Session

T = TypeVar("T")
R = TypeVar("R")

# A mass deletion is refused unless the definition allows it: more than this many, and more than half of the inventory.
_MASS_DELETION = 10
_READ_ATTEMPTS = 4


def plan(session: Session, name: str) -> Plan:
    """The add-on's plan: PLAN's stored one, unless a new one is due.

    :raises AddonError: when there is no bundle to plan, or the cluster can't be used.
    """
    bundle = session.directory.bundle(name)
    if bundle is None:
        raise PlanError(session.directory.outcome(name).error or "was not rendered", addon=name)
    known = session.directory.plan(name)
    if known:
        known.replan_reason = _replan_reason(session, known)
        if not known.replan_reason:
            return known
    try:
        made = _plan(session, bundle, fresh=known is not None)
    except AddonError as error:
        error.about(addon=name)
        outcome = session.directory.outcome(name)
        outcome.phase, outcome.error = "Error", str(error)
        session.directory.save_outcome(outcome)
        raise
    if known:
        made.replan_reason = known.replan_reason
        settle_claims(session, made, sources_by_addon(session))
        judge(session, made, bundle)
        outcome = session.directory.outcome(name)
        outcome.note_plan(made)
        session.directory.save_outcome(outcome)
    session.directory.save_plan(made)
    return made


def _replan_reason(session: Session, known: Plan) -> str:
    """Why a stored plan may not be carried out as it stands; empty when it may."""
    if session.record(known.name).resource_version != known.record_version:
        return "its record moved"
    if any(item.verdict in ("simulated", "unknown") for item in known.items):
        return "some objects could not be checked before"
    changed = changed_dependency(session, known.name)
    return f"{changed}, which it depends on, changed in this run" if changed else ""


def _plan(session: Session, bundle: Bundle, *, fresh: bool) -> Plan:
    planner = _Planner(session, bundle, fresh)
    record = session.record(bundle.name)
    items = planner.items()
    prune, gone = planner.prune_items({item.uid for item in items if item.uid})
    made = Plan(
        name=bundle.name,
        bundle_digest=bundle.digest,
        record_version=record.resource_version,
        comparable=session.info.comparable,
        items=[*items, *prune],
        gone=gone,
    )
    for item in made.items:
        item.digest = keyed_hash(
            session.key,
            [item.key.to_json(), item.version, item.action, item.fingerprint, planner.body_digest(item.key)],
        )
    made.digest = keyed_hash(session.key, [bundle.digest, sorted(item.digest for item in made.items)])
    judge(session, made, bundle)
    return made


@dataclass
class _Planner:
    """Plans one bundle against the cluster."""

    session: Session
    bundle: Bundle
    fresh: bool
    _bodies: dict[ObjectKey, Manifest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._bodies = {item.key: item.manifest for item in self.bundle.objects}

    @cached_property
    def definition(self) -> Definition:
        return self.session.directory.definition(self.bundle.name).definition

    @cached_property
    def snapshot(self) -> Snapshot:
        inventory = self.session.record(self.bundle.name).inventory
        kinds = {key.group_kind for key in self._bodies} | {key.group_kind for key in inventory.entries}
        return self.session.fresh_snapshot(kinds) if self.fresh else self.session.snapshot(kinds)

    @cached_property
    def _bringing(self) -> list[Manifest]:
        bundles = [self.bundle, *bundles_of_dependencies(self.session, self.bundle.name)]
        return [item.manifest for bundle in bundles for item in bundle.objects]

    @cached_property
    def coming_namespaces(self) -> set[str]:
        """Namespaces that this add-on, or one that it depends on, creates."""
        return {
            manifest["metadata"]["name"]
            for manifest in self._bringing
            if (manifest["apiVersion"], manifest["kind"]) == ("v1", "Namespace")
        }

    @cached_property
    def coming_kinds(self) -> set[tuple[str, str, str]]:
        """Kinds in the versions that the CustomResourceDefinitions of this add-on and its dependencies serve."""
        definitions = filter(is_definition, self._bringing)
        return {(group, version, kind) for item in definitions for group, version, kind, _ in kinds_of_definition(item)}

    def body_digest(self, key: ObjectKey) -> str:
        body = self._bodies.get(key)
        return keyed_hash(self.session.key, body) if body else ""

    def items(self) -> list[PlanItem]:
        return self._each(self._item, self.bundle.objects)

    def _each(self, function: Callable[[T], R], values: Iterable[T]) -> list[R]:
        with ThreadPoolExecutor(self.session.info.options.workers) as pool:
            return list(pool.map(function, values))

    # Objects that the source has

    def _item(self, item: BundleObject) -> PlanItem:
        key, group = item.key, item.key.group
        made = PlanItem(key, item.version, "blocked", "unknown", source=item.source, generated=item.generated)
        resource = self.session.discovery.find(group, item.version, key.kind)
        if resource is None:
            self._unserved(made, item)
        elif group == RECORD_GROUP:
            made.verdict, made.reason = "verified", "records of this product are not installed by an add-on"
        elif resource.namespaced and not key.namespace:
            made.reason = "its kind is served only since it was rendered, which left its namespace open: run again"
        else:
            try:
                self._check(made, item, resource)
            except AddonError as error:
                self._failed(made, item, error)
        return made

    def _unserved(self, made: PlanItem, item: BundleObject) -> None:
        key, discovery = item.key, self.session.discovery
        kind = describe_kind(key.group, item.version, key.kind)
        if (key.group, item.version, key.kind) in self.coming_kinds:
            self._simulate(made, item, f"{kind} comes with this run")
        elif discovery.group_is_stale(key.group):
            made.reason = f"API group {key.group} does not answer, so its kinds are not known"
        elif versions := discovery.versions_of(key.group, key.kind):
            made.verdict = "verified"
            made.reason = f"{kind} is not served by this cluster. It serves {', '.join(versions)}: change apiVersion"
        else:
            made.verdict = "verified"
            made.reason = (
                f"{kind} is not served by this cluster. Install what brings it first, in an add-on named in dependsOn"
            )

    def _simulate(self, made: PlanItem, item: BundleObject, reason: str) -> None:
        made.action, made.verdict, made.reason = "create", "simulated", reason
        self._show(made, None, item.manifest)

    def _check(self, made: PlanItem, item: BundleObject, resource: Resource) -> None:
        """Dry-run the object and compare the reply with the live object it was computed from."""
        path = path_of(resource, item.key.namespace, item.key.name)
        for _attempt in range(_READ_ATTEMPTS):
            predicted, created = self._dry_run(made, path, item.manifest)
            live = None if created else self._live(path)
            if created or (live and _version(live) == _version(predicted)):
                break
        else:
            made.reason = "the live object changed each time it was read"
            return
        made.verdict = "verified"
        if live is None:
            made.action = "create"
            self._show(made, None, _presentable(predicted, item.manifest))
            return
        self._compare(made, item, live, predicted)

    def _dry_run(self, made: PlanItem, path: str, body: Manifest) -> tuple[Manifest, bool]:
        """The server's prediction and whether it would be created; fields of other managers are noted."""
        client = self.session.acting
        made.takes_over = []
        try:
            response = client.apply(path, body, dry_run=True, force=False, manager=FIELD_MANAGER)
        except ApiError as error:
            if not error.conflict_fields:
                raise
            made.takes_over = [Takeover(conflict.manager, conflict.field) for conflict in error.conflict_fields]
            response = client.apply(path, body, dry_run=True, force=True, manager=FIELD_MANAGER)
        made.warnings = list(response.warnings)
        return response.body, response.status == 201

    def _live(self, path: str) -> Manifest | None:
        try:
            live: Manifest = self.session.acting.get(path).body
        except ApiError as error:
            if error.not_found:
                return None
            raise
        return live

    def _compare(self, made: PlanItem, item: BundleObject, live: Manifest, predicted: Manifest) -> None:
        metadata = live["metadata"]
        made.owner = (metadata.get("labels") or {}).get(OWNER_LABEL, "")
        made.uid, made.resource_version = metadata["uid"], metadata["resourceVersion"]
        made.fingerprint = fingerprint(self.session.key, live)
        if item.generated and made.owner != self.bundle.name:
            made.action, made.reason = "unchanged", "exists already and stays whose it is"
            return
        if metadata.get("deletionTimestamp"):
            finalizers = ", ".join(metadata.get("finalizers") or []) or "none"
            made.verdict, made.reason = "unknown", f"is being deleted (finalizers: {finalizers})"
            return
        self._show(made, live, predicted)
        if made.before != made.after or made.patch:
            made.action = "update"
        elif made.owner != self.bundle.name or _fields(live) != _fields(predicted):
            made.action = "adopt"
        else:
            made.action = "unchanged"
            made.facts = facts_of(self.session.key, predicted, item.manifest, definition_facts(self.session, item.key))

    def _show(self, made: PlanItem, before: Manifest | None, after: Manifest | None) -> None:
        shown = difference(before, after, self.session.placeholders)
        if shown.changed:
            made.before, made.after, made.patch = shown.before, shown.after, shown.patch

    def _failed(self, made: PlanItem, item: BundleObject, error: AddonError) -> None:
        """A dry run that did not work is this object's result, told apart by what it says of the object."""
        message = mask_text(error.message, secret_values(item.manifest))
        made.action, made.verdict, made.reason = "blocked", "unknown", message
        if not isinstance(error, ApiError):
            return
        namespace = item.key.namespace
        if error.not_found_namespace:
            if namespace in self.coming_namespaces:
                self._simulate(made, item, f"namespace {namespace} comes with this run")
            else:
                made.verdict = "verified"
                made.reason = (
                    f"namespace {namespace} does not exist. Set createNamespace: true, or add it to the source"
                )
        elif error.forbidden and not error.causes:
            made.reason = f"no right to dry-run it: {message}"
        elif not error.retryable:
            made.verdict, made.reason = "verified", f"the API server refuses it: {message}"

    # Objects that left the source

    def prune_items(self, present: set[str]) -> tuple[list[PlanItem], list[ObjectKey]]:
        """Items for what the inventory has and the source has not, and the keys of what is not there any more.

        :param present: uids of objects that the source has. One object can be served in two API groups (observed), so
            that an entry of the old group is no object of its own.
        """
        inventory = self.session.record(self.bundle.name).inventory
        left = inventory.left_source(self._bodies)
        if not left:
            return [], []
        snapshot = self.snapshot
        judged = self._each(lambda entry: self._left(entry, snapshot, present), left)
        items = [item for item in judged if item]
        gone = [entry.key for entry, item in zip(left, judged, strict=True) if item is None]
        self._guard(items, len(inventory.entries))
        for item in items:
            item.action = "keep" if item.reason else "prune"
        self._each(self._show_deletion, [item for item in items if item.action == "prune"])
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
        if reason := keep_reason(entry.key, metadata.annotations, metadata.owner_references):
            made.reason, made.kept_as = reason, "retained"
        elif entry.uid and entry.uid != metadata.uid:
            made.reason = "was deleted and made again by somebody else"
        elif not self.definition.prune:
            made.reason = "left the source; prune is off"
        made.uid = metadata.uid
        return made

    def _metadata(self, entry: InventoryEntry, snapshot: Snapshot) -> ObjectMetadata | None:
        discovery, key = self.session.discovery, entry.key
        known = snapshot.objects.get(key)
        if known:
            return known
        resource = discovery.find(key.group, entry.version, key.kind) or discovery.preferred(key.group, key.kind)
        if resource is None:
            if discovery.group_is_stale(key.group):
                raise ClusterError(f"API group {key.group} does not answer, so it is not known whether this exists")
            return None
        live = self._live(path_of(resource, key.namespace, key.name))
        return ObjectMetadata.of(key.group, key.kind, live) if live else None

    def _guard(self, items: list[PlanItem], size: int) -> None:
        """Stop a mass deletion: an empty render, or more than the definition allows."""
        leaving = [item for item in items if not item.reason]
        reason = ""
        limit = self.definition.max_delete
        if leaving and not self.bundle.objects:
            reason = "the source renders nothing, and an empty render never prunes"
        elif limit is not None and len(leaving) > limit:
            reason = f"{len(leaving)} objects would be pruned, maxDelete is {limit}"
        elif limit is None and len(leaving) > _MASS_DELETION and len(leaving) * 2 > size:
            reason = f"{len(leaving)} of {size} objects would be pruned. Set maxDelete to allow that"
        for item in leaving:
            item.reason = reason

    def _show_deletion(self, made: PlanItem) -> None:
        discovery, key = self.session.discovery, made.key
        resource = discovery.find(key.group, made.version, key.kind) or discovery.preferred(key.group, key.kind)
        if resource is None:
            return
        try:
            live = self._live(path_of(resource, key.namespace, key.name))
        except ClusterError:
            return
        if live:
            made.fingerprint = fingerprint(self.session.key, live)
            self._show(made, live, None)


def _version(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("resourceVersion", ""))


def _fields(manifest: Manifest) -> object:
    entry = own_entry(manifest["metadata"])
    return entry and (entry.get("apiVersion"), entry.get("fieldsV1"))


def _presentable(predicted: Manifest, body: Manifest) -> Manifest:
    """A predicted new object without what the server only makes up for the dry run (a Service's address: observed)."""
    if (predicted["apiVersion"], predicted["kind"]) == ("v1", "Service"):
        spec, wanted = dict(predicted.get("spec") or {}), body.get("spec") or {}
        for made_up in ("clusterIP", "clusterIPs"):
            if made_up not in wanted:
                spec.pop(made_up, None)
        return {**predicted, "spec": spec}
    return predicted
