"""The object graph inside an add-on: what has to be applied, or ready, before what, read from the objects themselves.

The edges say what one object needs of another. Webhook configurations come after everything else: theirs would refuse
the add-on's own objects until the pods that answer are there.
"""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..model.errors import GraphError
from ..model.graph import Edge, Graph, Need, Node
from ..model.kinds import ANSWERS_SERVICES, API_SERVICE, WEBHOOK_CONFIGURATIONS
from ..model.names import DEPENDS_ON_ANNOTATION, RBAC_GROUP
from ..model.normalise import is_definition, kinds_of_definition, pod_labels, pod_spec
from ..model.objects import GroupKind, Manifest, ObjectKey, key_of, split_api_version
from ..model.shapes import mapping_of, mappings_of
from ..model.wording import listed

PREREQUISITES: frozenset[GroupKind] = frozenset(
    {("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")}
)
"""What is applied, and waited for, before everything else of an add-on."""

_ACCOUNT: GroupKind = ("", "ServiceAccount")
_CONFIG_MAP: GroupKind = ("", "ConfigMap")
_SECRET: GroupKind = ("", "Secret")
_PRIORITY: GroupKind = ("scheduling.k8s.io", "PriorityClass")
_RUNTIME: GroupKind = ("node.k8s.io", "RuntimeClass")
_STORAGE: GroupKind = ("storage.k8s.io", "StorageClass")
_CLUSTER_SCOPED = (_PRIORITY, _RUNTIME)

# Only a tie-break between objects that no edge orders: what others read comes first, what intercepts them last.
_RANKS: dict[GroupKind, int] = {
    **dict.fromkeys(PREREQUISITES, 0),
    _PRIORITY: 1,
    _STORAGE: 1,
    _ACCOUNT: 2,
    (RBAC_GROUP, "ClusterRole"): 2,
    (RBAC_GROUP, "Role"): 2,
    (RBAC_GROUP, "ClusterRoleBinding"): 3,
    (RBAC_GROUP, "RoleBinding"): 3,
    _SECRET: 3,
    _CONFIG_MAP: 3,
    ("", "PersistentVolume"): 2,
    ("", "PersistentVolumeClaim"): 3,
    ("", "Service"): 4,
    **dict.fromkeys(WEBHOOK_CONFIGURATIONS, 9),
}
_DEFAULT_RANK = 5

_MOST_NAMED = 10

BY_USER = "depends-on"
"""The reason of edges that people asked for."""

Edges = dict[ObjectKey, dict[ObjectKey, Edge[ObjectKey]]]
"""Of each object, by what it comes after, strongest first: the last ones are given up first."""


def rank_of(key: ObjectKey) -> int:
    return _RANKS.get(key.group_kind, _DEFAULT_RANK)


@dataclass(frozen=True, slots=True)
class ObjectOrder:
    """What each of some objects comes after, without a cycle.

    ``warnings`` tell, of an object, where a ``depends-on`` annotation overruled what the objects themselves say.
    """

    edges: dict[ObjectKey, list[Edge[ObjectKey]]]
    warnings: dict[ObjectKey, list[str]]

    @classmethod
    def of(cls, manifests: Iterable[Manifest]) -> ObjectOrder:
        """The order of these objects; what they name beyond them is left out.

        :raises GraphError: for ``depends-on`` annotations that can't be read, form a cycle, or can't be followed.
        """
        objects = {key_of(manifest): manifest for manifest in manifests}
        links = _Links(objects)
        edges = {key: links.of(key) for key in objects}
        warnings = _without_cycles(edges)
        later = _after_webhooks(edges)
        others = [key for key in edges if key not in later]
        for key in [key for key in later if key.group_kind in WEBHOOK_CONFIGURATIONS]:
            need: Need = "ended" if links.answered(key) else "applied"
            edges[key] = {other: Edge(other, "webhooks come last", need) for other in others} | edges[key]
        return cls({key: list(after.values()) for key, after in edges.items()}, warnings)

    def among(self, key: ObjectKey, present: Collection[ObjectKey]) -> list[Edge[ObjectKey]]:
        """What an object comes after, of these."""
        return [edge for edge in self.edges[key] if edge.key in present]

    def layers(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, int]:
        """In which layer, from 1, each of these objects is applied, if all of them are."""
        wanted = set(keys)
        first = {key for key in wanted if key.group_kind in PREREQUISITES}
        layers: list[list[ObjectKey]] = []
        for part in (first, wanted - first):
            graph: Graph[ObjectKey, None] = Graph()
            for key in part:
                graph.add(Node(key, lambda: None, self.among(key, part), rank_of(key)))
            layers += graph.order()
        return {key: number for number, layer in enumerate(layers, 1) for key in layer}


def check_order(manifests: Collection[Manifest]) -> None:
    """Find out before anything is written whether all objects of an add-on can be put in order.

    :raises GraphError: as ``ObjectOrder.of``, and for a ``depends-on`` annotation that names nothing of the add-on.
    """
    everything = {key_of(manifest) for manifest in manifests}
    unknown: list[str] = []
    for manifest in manifests:
        key = key_of(manifest)
        named = [blocker for blocker in _depends_on(manifest, key) if blocker not in everything or blocker == key]
        unknown += [f"{key} -> {blocker}" for blocker in named]
    if unknown:
        raise GraphError(
            f"annotation {DEPENDS_ON_ANNOTATION} names what is no other object of this add-on: "
            f"{listed(unknown, _MOST_NAMED)}",
            hint="correct it; between add-ons use dependsOn of the definition",
        )
    ObjectOrder.of(manifests)


class _Links:
    """Finds what each object of an add-on names of the others."""

    def __init__(self, objects: Mapping[ObjectKey, Manifest]) -> None:
        self._objects = objects
        self._definitions: dict[GroupKind, ObjectKey] = {}
        self._apis: dict[tuple[str, str], ObjectKey] = {}
        self._bindings: dict[tuple[str, str], list[ObjectKey]] = {}
        self._answering: dict[str, list[tuple[ObjectKey, dict[str, Any]]]] = {}
        for key, manifest in objects.items():
            if is_definition(manifest):
                self._definitions |= {(group, kind): key for group, _, kind, _ in kinds_of_definition(manifest)}
            elif key.group_kind == API_SERVICE:
                spec = mapping_of(manifest.get("spec"))
                # One without a service is answered by the API server itself.
                if spec.get("service"):
                    self._apis[str(spec.get("group")), str(spec.get("version"))] = key
            elif key.group == RBAC_GROUP:
                for account in _accounts(manifest, key):
                    self._bindings.setdefault(account, []).append(key)
            elif key.group_kind in ANSWERS_SERVICES and (labels := pod_labels(manifest)):
                self._answering.setdefault(key.namespace, []).append((key, labels))

    def of(self, key: ObjectKey) -> dict[ObjectKey, Edge[ObjectKey]]:
        """The edges to other objects of the add-on, one to each."""
        found: dict[ObjectKey, Edge[ObjectKey]] = {}
        for edge in (*self._wished(key), *self._derived(key)):
            if edge.key in self._objects and edge.key != key:
                found.setdefault(edge.key, edge)
        return found

    def answered(self, key: ObjectKey) -> bool:
        """Whether it is known who answers each webhook of a configuration."""
        services = _services_of(self._objects[key])
        return all(service and any(self._workloads(service)) for service in services)

    def _wished(self, key: ObjectKey) -> Iterator[Edge[ObjectKey]]:
        for blocker in _depends_on(self._objects[key], key):
            if key.group_kind in PREREQUISITES and blocker.group_kind not in PREREQUISITES:
                raise GraphError(
                    f"annotation {DEPENDS_ON_ANNOTATION} names {blocker}, but namespaces and "
                    "CustomResourceDefinitions are applied before everything else",
                    subject=str(key),
                    hint="remove it",
                )
            yield Edge(blocker, BY_USER, "ready")

    def _derived(self, key: ObjectKey) -> Iterator[Edge[ObjectKey]]:
        manifest = self._objects[key]
        group, version = split_api_version(manifest["apiVersion"])
        spec = mapping_of(manifest.get("spec"))
        if key.namespace:
            yield Edge(ObjectKey("", "Namespace", "", key.namespace), "its namespace")
        if definition := self._definitions.get(key.group_kind):
            yield Edge(definition, "its kind")
        pods = pod_spec(manifest)
        if pods is not None:
            for group_kind, name in _references(pods):
                namespace = "" if group_kind in _CLUSTER_SCOPED else key.namespace
                yield Edge(ObjectKey(*group_kind, namespace, name), "used by its pods")
        if key.group == RBAC_GROUP:
            role = mapping_of(manifest.get("roleRef"))
            kind, namespace = str(role.get("kind")), key.namespace if role.get("kind") == "Role" else ""
            yield Edge(ObjectKey(key.group, kind, namespace, str(role.get("name"))), "its role")
        if pods is not None:
            account = str(pods.get("serviceAccountName") or "default")
            for binding in self._bindings.get((key.namespace, account), []):
                yield Edge(binding, "grants its account rights")
        if key.group_kind == ("autoscaling", "HorizontalPodAutoscaler"):
            target = mapping_of(spec.get("scaleTargetRef"))
            target_group, _version = split_api_version(str(target.get("apiVersion") or ""))
            yield Edge(
                ObjectKey(target_group, str(target.get("kind")), key.namespace, str(target.get("name"))), "scaled"
            )
        if key.group_kind == ("", "PersistentVolumeClaim"):
            yield Edge(ObjectKey(*_STORAGE, "", str(spec.get("storageClassName"))), "its class")
        if api := self._apis.get((group, version)):
            yield Edge(api, "serves its kind", "ready")
        if definition and (service := _service_of(_conversion(self._objects[definition]))):
            yield from self._answers(service, "converts its kind")
        if key.group_kind in WEBHOOK_CONFIGURATIONS:
            for service in filter(None, _services_of(manifest)):
                yield from self._answers(service, "answers it")
        if key.group_kind == API_SERVICE and (service := _service_key(spec.get("service"))):
            yield from self._answers(service, "answers it")

    def _answers(self, service: ObjectKey, reason: str) -> Iterator[Edge[ObjectKey]]:
        yield Edge(service, reason)
        for workload in self._workloads(service):
            yield Edge(workload, reason, "ready")

    def _workloads(self, service: ObjectKey) -> Iterator[ObjectKey]:
        """The workloads of the add-on whose pods a Service of the add-on selects."""
        selector = mapping_of(mapping_of(self._objects.get(service, {}).get("spec")).get("selector"))
        for key, labels in self._answering.get(service.namespace, []):
            if selector and selector.items() <= labels.items():
                yield key


def _without_cycles(edges: Edges) -> dict[ObjectKey, list[str]]:
    """Give up what the objects say where a ``depends-on`` annotation says the opposite; warnings by object.

    :raises GraphError: a cycle of annotations alone.
    """
    warnings: dict[ObjectKey, list[str]] = {}
    while True:
        try:
            graphlib.TopologicalSorter({key: sorted(edges[key]) for key in sorted(edges)}).prepare()
        except graphlib.CycleError as error:
            path: list[ObjectKey] = error.args[1]
        else:
            return warnings
        # Each comes before the next.
        steps = [(key, edges[key][blocker]) for blocker, key in pairwise(path)]
        derived = [(key, edge) for key, edge in steps if edge.reason != BY_USER]
        if not derived:
            graph: Graph[ObjectKey, None] = Graph()
            for key in set(path):
                graph.add(Node(key, lambda: None, [edge for one, edge in steps if one == key]))
            graph.order()
        key, given_up = max(derived, key=lambda step: (list(edges[step[0]]).index(step[1].key), step[0]))
        wishes = sorted(str(one) for one, edge in steps if edge.reason == BY_USER)
        why = f"{DEPENDS_ON_ANNOTATION} of {wishes[0]} asks for the opposite" if wishes else "they need each other"
        warnings.setdefault(key, []).append(f"does not wait for {given_up.key} ({given_up.reason}): {why}")
        del edges[key][given_up.key]


def _after_webhooks(edges: Edges) -> set[ObjectKey]:
    """The webhook configurations, and what depends on one of them, directly or through others.

    It is left out for every one of them, not only for that one, so that coming last closes no cycle.
    """
    dependents: dict[ObjectKey, list[ObjectKey]] = {}
    for key, after in edges.items():
        for blocker in after:
            dependents.setdefault(blocker, []).append(key)
    found: set[ObjectKey] = set()
    waiting = [key for key in edges if key.group_kind in WEBHOOK_CONFIGURATIONS]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += dependents.get(key, [])
    return found


def _depends_on(manifest: Manifest, key: ObjectKey) -> list[ObjectKey]:
    text = (manifest["metadata"].get("annotations") or {}).get(DEPENDS_ON_ANNOTATION, "")
    blockers = []
    for part in filter(None, map(str.strip, text.split(","))):
        words = part.split("/")
        if len(words) != 4 or not words[1] or not words[3]:
            raise GraphError(
                f"annotation {DEPENDS_ON_ANNOTATION}: {part!r} is not <group>/<kind>/<namespace>/<name>",
                subject=str(key),
                hint="the core group and the namespace of cluster-scoped kinds are empty: /Service/web/api",
            )
        blockers.append(ObjectKey(*words))
    return blockers


def _references(pod: dict[str, Any]) -> Iterator[tuple[GroupKind, str]]:
    """Kind and name of the objects that pods can't start without, most of them in their own namespace."""
    found: list[tuple[GroupKind, Any]] = [(_ACCOUNT, pod.get("serviceAccountName"))]
    found += [(_PRIORITY, pod.get("priorityClassName")), (_RUNTIME, pod.get("runtimeClassName"))]
    found += [(_SECRET, secret.get("name")) for secret in mappings_of(pod.get("imagePullSecrets"))]
    for volume in mappings_of(pod.get("volumes")):
        found.append((_CONFIG_MAP, _get(volume, "configMap", "name")))
        found.append((_SECRET, _get(volume, "secret", "secretName")))
        found.append((("", "PersistentVolumeClaim"), _get(volume, "persistentVolumeClaim", "claimName")))
        for source in mappings_of(_get(volume, "projected", "sources")):
            found.append((_CONFIG_MAP, _get(source, "configMap", "name")))
            found.append((_SECRET, _get(source, "secret", "name")))
    for container in [*mappings_of(pod.get("initContainers")), *mappings_of(pod.get("containers"))]:
        for source in mappings_of(container.get("envFrom")):
            found.append((_CONFIG_MAP, _get(source, "configMapRef", "name")))
            found.append((_SECRET, _get(source, "secretRef", "name")))
        for variable in mappings_of(container.get("env")):
            found.append((_CONFIG_MAP, _get(variable, "valueFrom", "configMapKeyRef", "name")))
            found.append((_SECRET, _get(variable, "valueFrom", "secretKeyRef", "name")))
    return ((kind, name) for kind, name in found if isinstance(name, str) and name)


def _accounts(binding: Manifest, key: ObjectKey) -> Iterator[tuple[str, str]]:
    """Namespace and name of the ServiceAccounts that a binding gives its role to."""
    for subject in mappings_of(binding.get("subjects")):
        if subject.get("kind") == "ServiceAccount":
            yield str(subject.get("namespace") or key.namespace), str(subject.get("name"))


def _services_of(configuration: Manifest) -> list[ObjectKey | None]:
    """The Service of each webhook; ``None`` where a URL outside answers."""
    return [_service_of(webhook) for webhook in mappings_of(configuration.get("webhooks"))]


def _conversion(definition: Manifest) -> dict[str, Any]:
    conversion = mapping_of(mapping_of(definition.get("spec")).get("conversion"))
    return mapping_of(conversion.get("webhook")) if conversion.get("strategy") == "Webhook" else {}


def _service_of(webhook: Mapping[str, Any]) -> ObjectKey | None:
    return _service_key(mapping_of(webhook.get("clientConfig")).get("service"))


def _service_key(reference: Any) -> ObjectKey | None:
    service = mapping_of(reference)
    namespace, name = service.get("namespace"), service.get("name")
    return ObjectKey("", "Service", str(namespace), str(name)) if namespace and name else None


def _get(value: Any, *path: str) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
