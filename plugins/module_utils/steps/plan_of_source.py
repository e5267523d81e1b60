"""Plans the objects that the source has: each is dry-run, and compared with the live object it was computed from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ..cluster.client import ApiError
from ..cluster.discovery import Resource, path_of
from ..model.bundle import Bundle, BundleObject
from ..model.errors import AddonError
from ..model.masking import Mask, mask_text, secret_values
from ..model.names import FIELD_MANAGER, OWNER_LABEL, RECORD_GROUP
from ..model.normalise import describe_kind, is_definition, kinds_of_definition
from ..model.objects import GroupKind, Manifest, ObjectKey
from ..model.ownership import facts_of, fingerprint, own_entry
from ..model.plan import CHANGES, PlanItem, Takeover
from ..model.prediction import overlaid
from .custom_resources import definition_facts
from .dependencies import bundles_of_dependencies, dependencies
from .session import Session

_READ_ATTEMPTS = 4


@dataclass
class SourcePlanner:
    """Plans one bundle against the cluster, its CustomResourceDefinitions before everything else."""

    session: Session
    bundle: Bundle
    _changing_kinds: set[GroupKind] = field(default_factory=set)

    def items(self) -> list[PlanItem]:
        """One item per object, in the order of the bundle."""
        definitions = [item for item in self.bundle.objects if is_definition(item.manifest)]
        others = [item for item in self.bundle.objects if not is_definition(item.manifest)]
        planned = {item.key: item for item in self.session.each(self._item, definitions)}
        self._changing_kinds = self._kinds_of_changing_definitions(list(planned.values()))
        planned |= {item.key: item for item in self.session.each(self._item, others)}
        return [planned[item.key] for item in self.bundle.objects]

    def _kinds_of_changing_definitions(self, own: list[PlanItem]) -> set[GroupKind]:
        """Kinds whose schema this run changes, in this add-on or in one that it depends on."""
        changing = {item.key for item in own if item.action in CHANGES}
        for name in dependencies(self.session, self.bundle.name):
            plan = self.session.directory.plan(name)
            changing |= {item.key for item in plan.changes} if plan else set()
        definitions = (manifest for key, manifest in self._bringing if key in changing and is_definition(manifest))
        return {(group, kind) for item in definitions for group, _version, kind, _ in kinds_of_definition(item)}

    @cached_property
    def _mask(self) -> Mask:
        return self.session.mask(self.bundle.name)

    @cached_property
    def _bringing(self) -> list[tuple[ObjectKey, Manifest]]:
        bundles = [self.bundle, *bundles_of_dependencies(self.session, self.bundle.name)]
        return [(item.key, item.manifest) for bundle in bundles for item in bundle.objects]

    @cached_property
    def _coming_namespaces(self) -> set[str]:
        """Namespaces that this add-on, or one that it depends on, creates."""
        return {key.name for key, _manifest in self._bringing if key.group_kind == ("", "Namespace")}

    @cached_property
    def _coming_kinds(self) -> set[tuple[str, str, str]]:
        """Kinds in the versions that the CustomResourceDefinitions of this add-on and its dependencies serve."""
        definitions = (manifest for _key, manifest in self._bringing if is_definition(manifest))
        return {(group, version, kind) for item in definitions for group, version, kind, _ in kinds_of_definition(item)}

    def _item(self, item: BundleObject) -> PlanItem:
        key, group = item.key, item.key.group
        made = PlanItem(key, item.version, "blocked", "unknown", source=item.source, generated=item.generated)
        resource = self.session.discovery.find(group, item.version, key.kind)
        try:
            if resource is None:
                self._unserved(made, item)
            elif group == RECORD_GROUP:
                made.verdict, made.reason = "verified", "records of this product are not installed by an add-on"
            elif resource.namespaced and not key.namespace:
                made.reason = "its kind is served only since it was rendered, which left its namespace open: run again"
            else:
                self._check(made, item, resource)
        except AddonError as error:
            self._failed(made, item, error)
        return made

    def _unserved(self, made: PlanItem, item: BundleObject) -> None:
        key, discovery = item.key, self.session.discovery
        kind = describe_kind(key.group, item.version, key.kind)
        if (key.group, item.version, key.kind) in self._coming_kinds:
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
        """Plan without the server's word; an object that lives already, in an older version of its kind, is updated."""
        key = item.key
        older = self.session.discovery.preferred(key.group, key.kind)
        live = self.session.acting.find(path_of(older, key.namespace, key.name)) if older else None
        if live:
            self._compare(made, item, live, overlaid(live, item.manifest))
            made.facts = None
            if made.action == "unchanged":
                made.action = "adopt"
        else:
            made.action = "create"
            made.show(None, item.manifest, self._mask)
        if made.action != "blocked":
            made.verdict, made.reason = "simulated", reason

    def _check(self, made: PlanItem, item: BundleObject, resource: Resource) -> None:
        """Dry-run the object and compare the reply with the live object it was computed from."""
        path = path_of(resource, item.key.namespace, item.key.name)
        for _attempt in range(_READ_ATTEMPTS):
            predicted, created = self._dry_run(made, path, item.manifest)
            live = None if created else self.session.acting.find(path)
            if created or (live and _version(live) == _version(predicted)):
                break
        else:
            made.reason = "the live object changed each time it was read"
            return
        made.verdict = "verified"
        if live is None:
            made.action = "create"
            made.show(None, _presentable(predicted, item.manifest), self._mask)
        else:
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
        if made.show(live, predicted, self._mask):
            made.action = "update"
        elif made.owner != self.bundle.name or _fields(live) != _fields(predicted):
            made.action = "adopt"
        else:
            made.action = "unchanged"
            made.facts = facts_of(self.session.key, predicted, item.manifest, definition_facts(self.session, item.key))

    def _failed(self, made: PlanItem, item: BundleObject, error: AddonError) -> None:
        """A dry run that did not work is this object's result, told apart by what it says of the object."""
        message = mask_text(error.message, secret_values(item.manifest))
        made.action, made.verdict, made.reason = "blocked", "unknown", message
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
            made.reason = f"no right to dry-run it: {message}. {self._right_hint}"
        elif not error.retryable and key.group_kind in self._changing_kinds:
            # The schema that refuses it is not the one that it will meet.
            self._simulate(made, item, f"the definition of {key.kind} changes with this run")
        elif not error.retryable:
            made.verdict, made.reason = "verified", f"the API server refuses it: {message}"

    @property
    def _right_hint(self) -> str:
        if self.session.info.options.impersonate:
            return "Grant that right to the account in addon_impersonate"
        return "Grant that right, or act as an account that has it with addon_impersonate"


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
