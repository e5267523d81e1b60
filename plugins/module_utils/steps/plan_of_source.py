"""Plans the objects that the source has: each is dry-run, and compared with the live object it was computed from.

What can't be dry-run, since its namespace or its kind comes or changes with the same run, is checked offline.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

from ..cluster.client import ApiError
from ..cluster.discovery import Resource, is_built_in, path_of
from ..cluster.last_states import last_state
from ..model.bundle import Bundle, BundleObject
from ..model.difference import differs
from ..model.errors import AddonError, ClusterError
from ..model.finalizers import what_holds
from ..model.inventory import AppliedFacts
from ..model.jobs import JOB, has_completed
from ..model.managed_fields import entries_of, in_version
from ..model.names import OWNER_LABEL, RECORD_GROUP
from ..model.normalise import describe_kind, is_definition, kinds_brought
from ..model.object_faults import bundle_faults, object_faults
from ..model.objects import GroupKind, Manifest, ObjectKey, resource_version_of, split_api_version
from ..model.ownership import body_hash, facts_of, fingerprint, own_entry
from ..model.plan import CHANGES, PlanItem
from ..model.predecessors import without_marks
from ..model.prediction import overlaid
from ..model.shapes import mapping_of
from ..model.wording import listed
from .absorption import (
    absorbed_at_adoption,
    contested_fields,
    kept_by_former_tools,
    removed_versions,
    repairs_of,
    shared_fields,
    taken_over_halfway,
)
from .bodies import Bodies, Body
from .claims import adoption_asked, held_by_others
from .custom_resources import definition_facts
from .dependencies import bundles_of_dependencies, dependencies
from .dry_run import dry_run
from .rehearsal import rehearse
from .replacements import plan_change_in_place
from .schemas import Schemas
from .session import Progress, Session
from .shown_states import States
from .webhooks_in_the_way import WebhooksInTheWay

_READ_ATTEMPTS = 4


@dataclass
class SourcePlanner:
    """Plans one bundle against the cluster, its namespaces and CustomResourceDefinitions before everything else.

    :param states: gets what each object is and will be.
    :param open_render: why the render may not be what a sync will apply, empty when it is.
    """

    session: Session
    bundle: Bundle
    states: States
    open_render: str
    progress: Progress
    _changing_kinds: set[GroupKind] = field(default_factory=set)
    _ending_namespaces: set[str] = field(default_factory=set)
    _ending_kinds: set[GroupKind] = field(default_factory=set)

    def __post_init__(self) -> None:
        # Made once, before the threads start: two of them would each ask the server.
        bundles = [self.bundle, *bundles_of_dependencies(self.session, self.bundle.name)]
        self._bringing = [(item.key, item.manifest) for bundle in bundles for item in bundle.objects]
        brought = [manifest for _key, manifest in self._bringing]
        self._kinds = list(kinds_brought(brought))
        self._schemas = Schemas(self.session, brought)
        self._bodies = Bodies(self.session, self.bundle.name, self._schemas, brought)
        self._in_the_way = WebhooksInTheWay(self.session, self.bundle, self._bodies)
        self._clashes = bundle_faults(item.manifest for item in self.bundle.objects)
        self._hides_fields = bool(self.session.directory.definition(self.bundle.name).definition.mask)
        # Namespaces that this add-on, or one that it depends on, creates.
        self._coming_namespaces = {key.name for key, _ in self._bringing if key.group_kind == ("", "Namespace")}

    def items(self) -> list[PlanItem]:
        """One item per object, in the order of the bundle."""
        first = [item for item in self.bundle.objects if _holds_others(item)]
        others = [item for item in self.bundle.objects if not _holds_others(item)]
        planned = {item.key: item for item in self.session.each(self._item, first, self._far)}
        self._changing_kinds = self._kinds_of_changing_definitions(list(planned.values()))
        self._note_what_ends([item for item in planned.values() if item.action == "create" and item.uid])
        planned |= {item.key: item for item in self.session.each(self._item, others, self._far)}
        self._doubt_made_up([planned[item.key] for item in self.bundle.objects if item.second is not None])
        return [planned[item.key] for item in self.bundle.objects]

    def _note_what_ends(self, items: list[PlanItem]) -> None:
        """Namespaces and kinds that are being deleted, and what lives in them with them."""
        keys = {item.key for item in items}
        self._ending_namespaces = {key.name for key in keys if key.group_kind == ("", "Namespace")}
        brought = (item.manifest for item in self.bundle.objects if item.key in keys)
        self._ending_kinds = {(group, kind) for group, _version, kind, _ in kinds_brought(brought)}

    def _far(self, done: int, total: int) -> None:
        self.progress(f"{self.bundle.name}: compared {done} of {total} objects with the cluster")

    def _doubt_made_up(self, items: list[PlanItem]) -> None:
        """What a chart makes up fits together (a password and its hash), so one part that is made anew may not fit."""
        there = [item for item in items if item.uid and item.action != "create"]
        for item in items:
            if item.action == "create" and there:
                item.warnings.append(f"gets values made up anew, and {there[0].key} keeps its own: see if they fit")

    def _kinds_of_changing_definitions(self, own: list[PlanItem]) -> set[GroupKind]:
        """Kinds whose schema this run changes, in this add-on or in one that it depends on."""
        changing = {item.key for item in own if item.action in CHANGES and self._schema_moves(item)}
        for name in dependencies(self.session, self.bundle.name):
            plan = self.session.directory.plan(name)
            changing |= {item.key for item in plan.changes} if plan else set()
        changed = (manifest for key, manifest in self._bringing if key in changing)
        return {(group, kind) for group, _version, kind, _ in kinds_brought(changed)}

    def _schema_moves(self, item: PlanItem) -> bool:
        before, after = self.states.of(item.key)
        return before is None or after is None or before.get("spec") != after.get("spec")

    def _item(self, item: BundleObject) -> PlanItem:
        key, group = item.key, item.key.group
        made = _undecided(item)
        resource = self.session.discovery.find(group, item.version, key.kind)
        try:
            if faults := [*object_faults(item.manifest), *self._clashes.get(key, [])]:
                made.verdict, made.reason = "verified", listed(faults, 3)
            elif resource is None:
                self._unserved(made, item)
            elif group == RECORD_GROUP:
                made.verdict, made.reason = "verified", "records of this product are not installed by an add-on"
            elif resource.namespaced and not key.namespace:
                made.reason = "its kind is served only since it was rendered, which left its namespace open: run again"
            else:
                self._check(made, item, resource)
        except AddonError as error:
            uid, made = made.uid, _undecided(item)
            made.uid = uid
            try:
                self._failed(made, item, error)
            except AddonError as other:
                made.action, made.verdict, made.reason = "blocked", "unknown", other.message
        if made.verdict == "verified" and made.action != "blocked" and self.open_render:
            made.verdict, made.reason = "simulated", self.open_render
        return made

    def _unserved(self, made: PlanItem, item: BundleObject) -> None:
        key, discovery = item.key, self.session.discovery
        kind = describe_kind(key.group, item.version, key.kind)
        if discovery.group_is_stale(key.group):
            made.reason = f"API group {key.group} does not answer, so its kinds are not known"
        elif self._schemas.brings(item.manifest):
            self._simulate(made, item, f"{kind} comes with this run")
        elif versions := discovery.versions_of(key.group, key.kind):
            made.verdict = "verified"
            made.reason = f"{kind} is not served by this cluster. It serves {', '.join(versions)}: change apiVersion"
        elif is_built_in(key.group):
            made.verdict = "verified"
            made.reason = (
                f"{kind} is a kind of Kubernetes itself that {self.session.info.server_version} does not have. "
                "Leave it out of the source, or write what took its place"
            )
        else:
            made.verdict = "verified"
            made.reason = (
                f"{kind} is not served by this cluster. Install what brings it first, in an add-on named in dependsOn"
            )

    def _simulate(self, made: PlanItem, item: BundleObject, reason: str) -> None:
        """Plan without the server's word; an object that lives already, in an older version of its kind, is updated."""
        key = item.key
        older = self.session.discovery.preferred(key.group, key.kind)
        live = self.session.acting.find(path_of(older, key.namespace, key.name)) if older else None
        body = self._bodies.of(item, live, [])
        self._note(made, item, body)
        if live:
            self._compare(made, item, body.manifest, live, overlaid(live, body.manifest))
            made.facts = None
            if made.action == "unchanged":
                made.action = "adopt"
        else:
            made.action = "create"
            self.states.note(key, None, body.manifest)
        if made.action != "blocked":
            made.verdict, made.reason = "simulated", reason
            self._check_offline(made, body.manifest)

    def _check_offline(self, made: PlanItem, body: Manifest) -> None:
        faults = self._schemas.faults(body)
        if faults:
            made.action, made.reason = "blocked", f"{made.reason}, and its schema refuses it: {listed(faults, 3)}"
        elif not self._schemas.checked(body):
            made.reason += ", and no schema is known to check it with"

    def _check(self, made: PlanItem, item: BundleObject, resource: Resource) -> None:
        """Dry-run the object and compare the reply with the live object it was computed from."""
        path, api_version = path_of(resource, item.key.namespace, item.key.name), item.manifest["apiVersion"]
        removed: set[str] = set()
        for _attempt in range(_READ_ATTEMPTS):
            live = self.session.acting.find(path)
            made.uid = live["metadata"]["uid"] if live else ""
            if self.session.info.reads_only:
                self._look_at(made, item, live)
                return
            if live and (ending := self._ending(item, live)):
                self._anew(made, item, path, live, ending)
                return
            owned = in_version(live, removed, api_version) if live and removed else live
            absorbed = absorbed_at_adoption(self.session, item.key, owned, api_version) if owned else []
            body = self._bodies.of(item, owned, absorbed)
            if item.key.group_kind == ("", "Secret") or self._hides_fields:
                self.states.know(live, body.manifest)
            try:
                asked = dry_run(self.session.acting, path, body.manifest, owned, absorbed, unappliable=bool(removed))
            except ApiError as error:
                if live and error.immutable_fields and item.key.group_kind not in self._changing_kinds:
                    self._unchangeable(made, item, path, live, error)
                    return
                if live and error.removed_version and not removed:
                    removed = removed_versions(self.session, item.key, live, error.removed_version)
                elif not error.precondition_failed:
                    raise
                continue
            if live is None and asked.created:
                break
            if live is not None and resource_version_of(live) == resource_version_of(asked.predicted):
                break
        else:
            made.reason = "the live object changed each time it was read"
            return
        made.verdict = "verified"
        made.takes_over, made.removes = asked.takes_over, asked.removes
        made.first, made.clears = asked.first, asked.clears
        made.absorbs = sorted({entry.manager for entry in absorbed})
        made.warnings = asked.warnings
        self._note(made, item, body)
        if live is None:
            if facts := self._has_run(item, resource, body.manifest):
                made.action, made.facts, made.reason = "unchanged", facts, "has run, and is gone since its time ended"
                return
            made.action = "create"
            self.states.note(item.key, None, asked.predicted)
            return
        made.repairs = repairs_of(live, body.manifest, removed | self._versions_going(item.key, live))
        made.warnings += kept_by_former_tools(owned or live, absorbed, api_version)
        if asked.uncertain:
            made.verdict, made.reason = "simulated", asked.uncertain
        self._compare(made, item, body.manifest, live, asked.predicted, absorbing=bool(absorbed))
        if made.owner != self.bundle.name:
            made.shares = shared_fields(asked.predicted, body.manifest, absorbed)
            made.contested = contested_fields(live, asked.predicted, made.takes_over, absorbed)
        if made.action != "blocked" and item.key.group_kind in self._changing_kinds:
            made.verdict, made.reason = "simulated", f"the definition of {item.key.kind} changes with this run"
            self._check_offline(made, body.manifest)

    def _look_at(self, made: PlanItem, item: BundleObject, live: Manifest | None) -> None:
        """Plan with reads alone: whether the object is there, and what its schema says of it."""
        body = self._bodies.of(item, live, [])
        self.states.know(live, body.manifest)
        made.reason = "no right to dry-run it: this preview only reads"
        if live is None:
            made.action = "create"
            self.states.note(item.key, None, body.manifest)
        else:
            made.owner = (live["metadata"].get("labels") or {}).get(OWNER_LABEL, "")
            made.uid = live["metadata"]["uid"]
        self._check_offline(made, body.manifest)

    def _unchangeable(self, made: PlanItem, item: BundleObject, path: str, live: Manifest, refusal: ApiError) -> None:
        """Block the object that can't be changed in place, or plan to replace it where its source asks for that."""
        # What nobody owns keeps its value: of the new object nobody will own anything.
        metadata = {name: value for name, value in live["metadata"].items() if name != "managedFields"}
        body = self._bodies.of(item, {**live, "metadata": metadata}, [])
        self._see(made, live)
        if holder := held_by_others(self.session, self.bundle.name, made, live):
            made.verdict, made.reason = "verified", holder
            return
        predicted = plan_change_in_place(self.session, path, made, body.manifest, live, refusal)
        if predicted is not None:
            self._note(made, item, body)
            self.states.note(item.key, live, predicted)

    def _has_run(self, item: BundleObject, resource: Resource, body: Manifest) -> AppliedFacts | None:
        """What the inventory has of a Job that was applied just so, did its work, and that its time to live removed.

        One that failed, or was deleted before it ended, has not run.
        """
        entry = self.session.record(self.bundle.name).inventory.entries.get(item.key)
        lives_for = mapping_of(body.get("spec")).get("ttlSecondsAfterFinished")
        if item.key.group_kind != JOB or lives_for is None or entry is None or entry.facts is None:
            return None
        facts = entry.facts
        if facts.body != body_hash(self.session.key, body):
            return None
        if not facts.completed:
            # No run saw it end; the server may still know.
            last = None
            with suppress(ApiError):
                path = path_of(resource, item.key.namespace)
                last = last_state(self.session.acting, path, item.key.name, facts.resource_version, self.bundle.name)
            facts = replace(facts, completed=last is not None and has_completed(last))
        return facts if facts.completed else None

    def _ending(self, item: BundleObject, live: Manifest) -> str:
        """Why a live object will be gone soon, empty when it stays: what is applied onto it goes with it."""
        if live["metadata"].get("deletionTimestamp"):
            held = what_holds(live)
            return f"is being deleted{f' ({held})' if held else ''}"
        if item.key.namespace in self._ending_namespaces:
            return f"goes with namespace {item.key.namespace}, which is being deleted"
        if item.key.group_kind in self._ending_kinds:
            return "goes with the definition of its kind, which is being deleted"
        return ""

    def _anew(self, made: PlanItem, item: BundleObject, path: str, live: Manifest, ending: str) -> None:
        """Plan to make an object once the one of its name is gone: server-side apply would complete its deletion."""
        body = self._bodies.of(item, None, [])
        self.states.know(live, body.manifest)
        made.action, made.verdict, made.reason = "create", "simulated", f"{ending}: made anew when it is gone"
        made.uid = live["metadata"]["uid"]
        self._note(made, item, body)
        predicted = body.manifest
        if item.key.namespace in self._ending_namespaces or item.key.group_kind in self._ending_kinds:
            self._check_offline(made, body.manifest)
        else:
            rehearsal = rehearse(self.session.acting, path, body.manifest, item.key.group_kind)
            predicted, made.warnings = rehearsal.predicted, [*made.warnings, *rehearsal.warnings]
        self.states.note(item.key, None, predicted)

    def _see(self, made: PlanItem, live: Manifest) -> None:
        metadata = live["metadata"]
        made.owner = (metadata.get("labels") or {}).get(OWNER_LABEL, "")
        made.uid, made.resource_version = metadata["uid"], metadata["resourceVersion"]
        made.fingerprint = fingerprint(self.session.key, live)

    def _versions_going(self, key: ObjectKey, live: Manifest) -> set[str]:
        """API versions of the object's managed fields that the definition of its kind loses with this run."""
        if key.group_kind not in self._changing_kinds:
            return set()
        coming = {version for group, version, kind, _ in self._kinds if (group, kind) == key.group_kind}
        owned = {entry.api_version for entry in entries_of(live)}
        return {one for one in owned if split_api_version(one)[1] not in coming}

    def _note(self, made: PlanItem, item: BundleObject, body: Body) -> None:
        made.body = body.manifest if body.manifest != item.manifest else None
        made.yields = body.yields
        if body.doubt:
            made.warnings.append(body.doubt)

    def _compare(
        self,
        made: PlanItem,
        item: BundleObject,
        body: Manifest,
        live: Manifest,
        predicted: Manifest,
        *,
        absorbing: bool = False,
    ) -> None:
        self._see(made, live)
        if item.generated and made.owner != self.bundle.name:
            made.action, made.reason = "unchanged", "exists already and stays whose it is"
            made.absorbs, made.removes, made.takes_over, made.repairs = [], [], [], []
            return
        taking_over = absorbing or taken_over_halfway(live, made.owner or "")
        if differs(without_marks(live, taking_over), without_marks(predicted, taking_over)):
            made.action = "update"
        elif made.owner != self.bundle.name or absorbing or made.repairs or _fields(live) != _fields(predicted):
            made.action = "adopt"
        else:
            made.action = "unchanged"
            made.facts = facts_of(self.session.key, predicted, body, definition_facts(self.session, item.key))
        if made.action != "unchanged":
            self.states.note(item.key, live, predicted)
        if holder := held_by_others(self.session, self.bundle.name, made, live):
            made.action, made.verdict, made.reason, made.facts = "blocked", "verified", holder, None

    def _failed(self, made: PlanItem, item: BundleObject, error: AddonError) -> None:
        """A dry run that did not work is this object's result, told apart by what it says of the object."""
        made.action, made.verdict, made.reason = "blocked", "unknown", error.message
        if not isinstance(error, ApiError):
            return
        key = item.key
        if error.not_found_namespace:
            if key.namespace in self._coming_namespaces:
                self._simulate(made, item, f"namespace {key.namespace} comes with this run")
            else:
                made.verdict = "verified"
                made.reason = (
                    f"namespace {key.namespace} does not exist. Set createNamespace: true, or add it to the source"
                )
        elif error.forbidden:
            made.forbidden = True
            what = "read" if error.method == "GET" else "dry-run"
            made.reason = f"no right to {what} it: {error.message}. {self._right_hint}"
        elif error.terminating_namespace:
            if key.namespace in self._coming_namespaces:
                self._simulate(made, item, f"namespace {key.namespace} is being deleted, and made anew with this run")
            else:
                made.reason = f"namespace {key.namespace} is being deleted{self._held(key.namespace)}"
                made.reason += ". Nothing here makes it anew: wait until it is gone, then create it"
        elif webhooks := self._in_the_way.of(error):
            self._simulate(
                made, item, f"{webhooks.key} refuses it while nobody answers, and {webhooks.what} with this run"
            )
            made.in_the_way = webhooks.key
        elif not error.retryable and key.group_kind in self._changing_kinds:
            # The schema that refuses it is not the one that it will meet.
            self._simulate(made, item, f"the definition of {key.kind} changes with this run")
        elif error.is_final:
            made.verdict, made.reason = "verified", f"the API server refuses it: {error.message}"

    def _held(self, namespace: str) -> str:
        """What holds a namespace that is being deleted, in brackets, as far as it may be read."""
        with suppress(ClusterError):
            live = self.session.acting.find(f"/api/v1/namespaces/{namespace}")
            held = what_holds(live) if live else ""
            return f" ({held})" if held else ""
        return ""

    @property
    def _right_hint(self) -> str:
        if self.session.info.options.impersonate:
            return "Grant that right to the account in addon_impersonate"
        return "Grant that right, or act as an account that has it with addon_impersonate"


def _holds_others(item: BundleObject) -> bool:
    """Whether other objects live in it, or are of the kind that it defines."""
    return is_definition(item.manifest) or item.key.group_kind == ("", "Namespace")


def _undecided(item: BundleObject) -> PlanItem:
    asked = adoption_asked(item.manifest)
    return PlanItem(
        item.key, item.version, "blocked", "unknown", source=item.source, generated=item.generated, adoption_asked=asked
    )


def _fields(manifest: Manifest) -> object:
    entry = own_entry(manifest["metadata"])
    return entry and (entry.get("apiVersion"), entry.get("fieldsV1"))
