"""What the API server serves: kinds, versions, scopes and verbs, from aggregated discovery in two requests.

An API whose server is down is listed as *stale*, without its resources. That means unknown, never absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from ..model.errors import ClusterError
from ..model.objects import GroupKind, join_api_version
from .api_error import ApiError
from .client import Client

_DISCOVERY_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_DISCOVERY_V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""Path of the CustomResourceDefinitions, whose kind every server has."""


_BUILT_IN = frozenset(
    {
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "settings",
        "storage",
        "storagemigration",
    }
)
"""Groups of Kubernetes itself that have a dot, without their common ending ``.k8s.io``."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version, and where its objects are found: ``plural`` is the word in the path."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: tuple[str, ...]
    subresources: tuple[str, ...]

    @property
    def api_version(self) -> str:
        return join_api_version(self.group, self.version)


@dataclass
class Discovery:
    """The kinds of one API server, in the order in which it prefers their versions.

    :ivar server_version: as the server says it, ``v1.37.2``.
    :ivar resources: without subresources.
    :ivar stale: every ``group/version`` of which the server can't say what it serves.
    :ivar group_versions: every other ``group/version``, also those without any resource at the moment.
    """

    server_version: str
    resources: list[Resource]
    stale: list[str] = field(default_factory=list)
    group_versions: list[str] = field(default_factory=list)
    _by_kind: dict[GroupKind, dict[str, Resource]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.group_versions = list(dict.fromkeys([*self.group_versions, *(one.api_version for one in self.resources)]))
        for resource in self.resources:
            versions = self._by_kind.setdefault((resource.group, resource.kind), {})
            # Some APIs return one kind from several resources; the one that holds objects can be read by name.
            if resource.version not in versions or "get" not in versions[resource.version].verbs:
                versions[resource.version] = resource

    def find(self, group: str, version: str, kind: str) -> Resource | None:
        return self._by_kind.get((group, kind), {}).get(version)

    def preferred(self, group: str, kind: str) -> Resource | None:
        """The kind in the version that the server prefers, among those that have it."""
        return next(iter(self._by_kind.get((group, kind), {}).values()), None)

    def versions_of(self, group: str, kind: str) -> list[str]:
        return list(self._by_kind.get((group, kind), {}))

    def group_is_stale(self, group: str) -> bool:
        """Whether a kind of that group that is not found may exist all the same."""
        return any(one.rpartition("/")[0] == group for one in self.stale)

    def api_versions(self) -> list[str]:
        """``apps/v1`` and ``apps/v1/Deployment``: the API list that Helm wants, in which neither implies the other."""
        kinds = (f"{one.api_version}/{one.kind}" for one in self.resources)
        return [*self.group_versions, *dict.fromkeys(kinds)]

    def to_json(self) -> dict[str, Any]:
        # Rows instead of objects: every step of a run reads this again.
        rows = [
            [one.group, one.version, one.kind, one.plural, one.namespaced, list(one.verbs), list(one.subresources)]
            for one in self.resources
        ]
        return {
            "server_version": self.server_version,
            "resources": rows,
            "stale": self.stale,
            "group_versions": self.group_versions,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Discovery:
        resources = [
            Resource(group, version, kind, plural, namespaced, tuple(verbs), tuple(subresources))
            for group, version, kind, plural, namespaced, verbs, subresources in value["resources"]
        ]
        return cls(value["server_version"], resources, value["stale"], value["group_versions"])


def discover(client: Client) -> Discovery:
    """Asks the server, with three requests in all.

    :raises ClusterError: it is older than Kubernetes 1.27 and has no aggregated discovery; or as ``Client.request``.
    """
    version = client.get("/version").body
    if not isinstance(version, dict) or "gitVersion" not in version:
        raise ClusterError(f"{client.host} does not answer as an API server", hint="check the server of the kubeconfig")
    server_version = version["gitVersion"]
    lists: list[dict[str, Any]] = []
    for path in ("/api", "/apis"):
        try:
            body = client.get(path, accept=f"{_DISCOVERY_V2},{_DISCOVERY_V2BETA1}").body
        except ApiError as error:
            if error.status != 406:
                raise
            body = {}
        if body.get("kind") != "APIGroupDiscoveryList":
            raise ClusterError(
                f"the API server {client.host} ({server_version}) has no aggregated discovery",
                hint="use Kubernetes 1.27 or newer",
            )
        lists += body.get("items") or []
    return read_discovery(server_version, lists)


def read_discovery(server_version: str, groups: Iterable[dict[str, Any]]) -> Discovery:
    """From the items of ``APIGroupDiscoveryList`` (apidiscovery.k8s.io, v2 and v2beta1 look the same)."""
    resources: list[Resource] = []
    current: list[str] = []
    stale: list[str] = []
    for item in groups:
        group = item["metadata"].get("name") or ""
        for entry in item.get("versions") or []:
            version = entry["version"]
            kept = stale if entry.get("freshness") == "Stale" else current
            kept.append(join_api_version(group, version))
            resources += (_resource(group, version, one) for one in entry.get("resources") or [])
    return Discovery(server_version, resources, stale, current)


def _resource(group: str, version: str, entry: dict[str, Any]) -> Resource:
    return Resource(
        group,
        version,
        (entry.get("responseKind") or {}).get("kind") or "",
        entry["resource"],
        entry.get("scope") == "Namespaced",
        tuple(entry.get("verbs") or ()),
        tuple(one["subresource"] for one in entry.get("subresources") or ()),
    )


def path_of(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Path of an object; without ``name`` that of the collection, and without ``namespace`` of all namespaces.

    A namespace is left out for a kind that has none, as the server does with what a manifest says there.
    :raises ClusterError: for an object without the namespace that its kind needs.
    """
    start = f"/apis/{resource.group}" if resource.group else "/api"
    parts = [start, resource.version]
    if resource.namespaced and namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    elif resource.namespaced and name:
        raise ClusterError("has no namespace, and its kind needs one", subject=f"{resource.kind} {name}")
    parts.append(resource.plural)
    if name:
        # RBAC names may hold colons and more (system:node-reader).
        parts.append(quote(name, safe=":"))
        if subresource:
            parts.append(subresource)
    return "/".join(parts)


def is_built_in(group: str) -> bool:
    """Whether a group is one of Kubernetes itself, whatever of it this server has; add-ons use ``k8s.io``, too."""
    return "." not in group or group.removesuffix(".k8s.io") in _BUILT_IN
