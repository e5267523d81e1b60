"""Objects of many kinds whose fields are drawn at random: per kind what always stands there, and choices for the rest.

The choices are what sources hold and servers rewrite: defaults left out or written down, quantities in odd units, empty
and null values, lists in another order, texts of many lines.
"""

from __future__ import annotations

import base64
import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.integration.objects import custom_kind

Object = dict[str, Any]
Path = tuple[str | int, ...]

GROUP = "pairs.test"
"""Group of the kind ``Gadget``, which the tests install beforehand, served as v1 and v1beta1."""


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()


@dataclass(frozen=True)
class Choice:
    """A field and what it may be; ``ABSENT`` leaves it out."""

    path: Path
    values: tuple[Any, ...]


@dataclass(frozen=True)
class ObjectKind:
    """One kind of object.

    ``api_versions`` are those it can be written in. ``fixed`` are choices that the server lets nobody change later, and
    ``claims`` tell those fields that it takes by itself, such as a port, so that nobody else may have them.
    """

    kind: str
    api_versions: tuple[str, ...]
    base: Object
    choices: tuple[Choice, ...]
    fixed: tuple[Choice, ...] = ()
    namespaced: bool = True


TEXTS = ("value", "first\nsecond\n\n  indented\n", "- a: b\n# no comment\n", "ä ß €", "", "yes", "tab\there", "1e3")

_METADATA = (
    Choice(("metadata", "labels", "team"), (ABSENT, ABSENT, "red", "blue", "")),
    Choice(("metadata", "annotations", "test.io/note"), (ABSENT, ABSENT, "plain", "two\nlines\n", "")),
)

_QUANTITIES: tuple[Any, ...] = (
    ABSENT,
    {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
    {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": "0.5e1"}},
    {"limits": {"memory": "128974848"}},
    {},
)
_ENVIRONMENTS: tuple[Any, ...] = (
    ABSENT,
    [{"name": "A", "value": "1"}],
    [{"name": "A", "value": ""}, {"name": "B", "value": "2"}],
    [{"name": "B", "value": "2"}, {"name": "A"}],
    [{"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "A", "value": "x\ny"}],
)
_CONTAINER_PORTS = (
    ABSENT,
    [{"containerPort": 80}],
    [{"containerPort": 80, "protocol": "TCP", "name": "web"}, {"containerPort": 53, "protocol": "UDP"}],
    [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}],
)
_PROBES = (ABSENT, {"httpGet": {"path": "/", "port": 80}}, {"tcpSocket": {"port": 80}, "initialDelaySeconds": 0})


def _pods(*path: str) -> tuple[Choice, ...]:
    """Choices of a pod template at that path; its first container is ``main``."""
    spec: Path = (*path, "spec")
    main: Path = (*spec, "containers", 0)
    return (
        Choice((*main, "image"), ("none", "none:1", "none:2")),
        Choice((*main, "env"), _ENVIRONMENTS),
        Choice((*main, "ports"), _CONTAINER_PORTS),
        Choice((*main, "resources"), _QUANTITIES),
        Choice((*main, "readinessProbe"), _PROBES),
        Choice((*main, "args"), (ABSENT, ["--a", "--b"], ["--b", "--a"], [])),
        Choice((*main, "securityContext"), (ABSENT, {"runAsNonRoot": True}, {"capabilities": {"drop": ["ALL"]}}, {})),
        Choice((*spec, "nodeSelector"), (ABSENT, {"disk": "fast"}, {})),
        Choice((*spec, "terminationGracePeriodSeconds"), (ABSENT, 30, 5)),
        Choice((*spec, "hostNetwork"), (ABSENT, False)),
        Choice((*path, "metadata", "annotations"), (ABSENT, {"checksum": "1"}, {"checksum": "2"}, {})),
        Choice((*spec, "volumes"), (ABSENT, [{"name": "tmp", "emptyDir": {}}], [])),
        Choice((*spec, "tolerations"), (ABSENT, [{"operator": "Exists"}], [{"key": "a"}, {"key": "b"}], [])),
    )


def _template(**spec: Any) -> Object:
    return {"metadata": {"labels": {"app": "it"}}, "spec": {**spec, "containers": [{"name": "main", "image": "none"}]}}


_SELECTED: Object = {"selector": {"matchLabels": {"app": "it"}}, "template": _template()}
_OTHER_SELECTOR = Choice(("spec", "selector", "matchLabels", "more"), (ABSENT, "than-before"))

_ROLES_RULES: tuple[Any, ...] = (
    [{"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list"]}],
    [{"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["get"]}],
)
_SUBJECTS = (
    [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
    [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
    [{"kind": "User", "name": "jane"}, {"kind": "Group", "name": "all"}],
)
_RBAC = ("rbac.authorization.k8s.io/v1",)
_SECRET_VALUES = ("swordfish", "sword\nswordfish", "", "ß-swordfish")
_SECRETS = tuple(base64.b64encode(text.encode()).decode() for text in _SECRET_VALUES)
_SECRET_TEXTS = ("swordfish-1", "swordfish\n2\n", "", "1e3-swordfish")
_SERVICE_PORTS = (
    [{"port": 80}],
    [{"port": 80, "targetPort": 8080}],
    [{"port": 80, "name": "web"}, {"port": 53, "name": "dns", "protocol": "UDP"}],
    [{"port": 53, "name": "dns", "protocol": "UDP"}, {"port": 53, "name": "dns-tcp"}, {"port": 80, "name": "web"}],
)

KINDS: dict[str, ObjectKind] = {
    "ConfigMap": ObjectKind(
        "ConfigMap",
        ("v1",),
        {"data": {"kept": "value"}},
        (
            *(Choice(("data", key), (ABSENT, *TEXTS)) for key in ("a", "b", "file.yaml")),
            Choice(("binaryData", "raw"), (ABSENT, ABSENT, "AAEC")),
        ),
    ),
    "frozen ConfigMap": ObjectKind(
        "ConfigMap", ("v1",), {"immutable": True}, (), fixed=(Choice(("data", "frozen"), ("1", "2")),)
    ),
    "Secret": ObjectKind(
        "Secret",
        ("v1",),
        {"data": {"kept": _SECRETS[0]}},
        (
            *(Choice(("data", key), (ABSENT, *_SECRETS)) for key in ("a", "b")),
            *(Choice(("stringData", key), (ABSENT, *_SECRET_TEXTS)) for key in ("a", "c")),
        ),
        fixed=(Choice(("type",), ("Opaque", "test.io/own")),),
    ),
    "Service": ObjectKind(
        "Service",
        ("v1",),
        {"spec": {"selector": {"app": "it"}, "ports": [{"port": 80}]}},
        (
            Choice(("spec", "ports"), _SERVICE_PORTS),
            Choice(("spec", "type"), (ABSENT, "ClusterIP")),
            Choice(("spec", "sessionAffinity"), (ABSENT, "ClientIP", "None")),
            Choice(("spec", "internalTrafficPolicy"), (ABSENT, "Local", "Cluster")),
            Choice(("spec", "publishNotReadyAddresses"), (ABSENT, True, False)),
        ),
        fixed=(Choice(("spec", "clusterIP"), (ABSENT, "None")),),
    ),
    "headless Service": ObjectKind(
        "Service",
        ("v1",),
        {"spec": {"clusterIP": "None", "selector": {"app": "it"}}},
        (Choice(("spec", "ports"), (ABSENT, *_SERVICE_PORTS)),),
    ),
    "NodePort Service": ObjectKind(
        "Service",
        ("v1",),
        {"spec": {"type": "NodePort", "selector": {"app": "it"}, "ports": [{"port": 80}]}},
        (
            Choice(("spec", "ports"), _SERVICE_PORTS),
            Choice(("spec", "type"), ("NodePort", "NodePort", "ClusterIP")),
            Choice(("spec", "sessionAffinity"), (ABSENT, "ClientIP", "None")),
        ),
    ),
    "Deployment": ObjectKind(
        "Deployment",
        ("apps/v1",),
        {"spec": _SELECTED},
        (
            *_pods("spec", "template"),
            Choice(("spec", "replicas"), (ABSENT, 0, 1, 2)),
            Choice(("spec", "strategy"), (ABSENT, {"type": "RollingUpdate"}, {"rollingUpdate": {"maxSurge": "50%"}})),
            Choice(("spec", "revisionHistoryLimit"), (ABSENT, 0, 10)),
        ),
        fixed=(_OTHER_SELECTOR,),
    ),
    "StatefulSet": ObjectKind(
        "StatefulSet",
        ("apps/v1",),
        {"spec": {**_SELECTED, "serviceName": "it"}},
        (
            *_pods("spec", "template"),
            Choice(("spec", "replicas"), (ABSENT, 0, 1)),
            Choice(("spec", "updateStrategy"), (ABSENT, {"type": "OnDelete"}, {"type": "RollingUpdate"})),
        ),
        fixed=(Choice(("spec", "serviceName"), ("it", "other")), _OTHER_SELECTOR),
    ),
    "DaemonSet": ObjectKind(
        "DaemonSet",
        ("apps/v1",),
        {"spec": _SELECTED},
        (*_pods("spec", "template"), Choice(("spec", "minReadySeconds"), (ABSENT, 0, 1))),
        fixed=(_OTHER_SELECTOR,),
    ),
    "Job": ObjectKind(
        "Job",
        ("batch/v1",),
        {"spec": {"template": _template(restartPolicy="Never")}},
        (
            Choice(("spec", "parallelism"), (ABSENT, 1, 2)),
            Choice(("spec", "backoffLimit"), (ABSENT, 6, 1)),
            Choice(("spec", "activeDeadlineSeconds"), (ABSENT, 600)),
        ),
        fixed=(Choice(("spec", "template", "spec", "containers", 0, "image"), ("none", "none:1")),),
    ),
    "CronJob": ObjectKind(
        "CronJob",
        ("batch/v1",),
        {
            "spec": {
                "schedule": "0 0 1 1 *",
                "suspend": True,
                "jobTemplate": {"spec": {"template": _template(restartPolicy="Never")}},
            }
        },
        (
            *_pods("spec", "jobTemplate", "spec", "template"),
            Choice(("spec", "schedule"), ("0 0 1 1 *", "5 4 2 1 *")),
            Choice(("spec", "concurrencyPolicy"), (ABSENT, "Allow", "Forbid")),
            Choice(("spec", "successfulJobsHistoryLimit"), (ABSENT, 0, 3)),
        ),
    ),
    "Ingress": ObjectKind(
        "Ingress",
        ("networking.k8s.io/v1",),
        {"spec": {"defaultBackend": {"service": {"name": "it", "port": {"number": 80}}}}},
        (
            Choice(("spec", "ingressClassName"), (ABSENT, "nginx")),
            Choice(("spec", "tls"), (ABSENT, [{"hosts": ["b.test", "a.test"], "secretName": "tls"}], [])),
            Choice(("spec", "rules"), (ABSENT, [{"host": "a.test"}], [{"host": "b.test"}, {"host": "a.test"}])),
        ),
    ),
    "NetworkPolicy": ObjectKind(
        "NetworkPolicy",
        ("networking.k8s.io/v1",),
        {"spec": {"podSelector": {}}},
        (
            Choice(("spec", "policyTypes"), (ABSENT, ["Ingress"], ["Ingress", "Egress"])),
            Choice(("spec", "ingress"), (ABSENT, [{}], [], [{"ports": [{"port": 80}, {"port": "web"}]}])),
        ),
    ),
    "PodDisruptionBudget": ObjectKind(
        "PodDisruptionBudget",
        ("policy/v1",),
        {"spec": {"selector": {"matchLabels": {"app": "it"}}}},
        (
            Choice(("spec", "minAvailable"), (1, "50%", 0)),
            Choice(("spec", "unhealthyPodEvictionPolicy"), (ABSENT, "AlwaysAllow")),
        ),
    ),
    "HorizontalPodAutoscaler": ObjectKind(
        "HorizontalPodAutoscaler",
        ("autoscaling/v2", "autoscaling/v1"),
        {
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "elsewhere"},
                "maxReplicas": 3,
            }
        },
        (Choice(("spec", "minReplicas"), (ABSENT, 1, 2)), Choice(("spec", "maxReplicas"), (3, 4, 5))),
    ),
    "PersistentVolumeClaim": ObjectKind(
        "PersistentVolumeClaim",
        ("v1",),
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "none-such",
                "resources": {"requests": {"storage": "1024Mi"}},
            }
        },
        (),
        fixed=(Choice(("spec", "storageClassName"), ("none-such", "another")),),
    ),
    "ServiceAccount": ObjectKind(
        "ServiceAccount",
        ("v1",),
        {},
        (
            Choice(("automountServiceAccountToken",), (ABSENT, True, False)),
            Choice(("imagePullSecrets",), (ABSENT, [{"name": "a"}], [{"name": "b"}, {"name": "a"}], [])),
        ),
    ),
    "Role": ObjectKind("Role", _RBAC, {"rules": []}, (Choice(("rules",), _ROLES_RULES),)),
    "RoleBinding": ObjectKind(
        "RoleBinding",
        _RBAC,
        {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "it"}},
        (Choice(("subjects",), (ABSENT, *_SUBJECTS, [])),),
        fixed=(Choice(("roleRef", "name"), ("it", "other")),),
    ),
    "ClusterRole": ObjectKind(
        "ClusterRole", _RBAC, {"rules": []}, (Choice(("rules",), (*_ROLES_RULES, [])),), namespaced=False
    ),
    "ClusterRoleBinding": ObjectKind(
        "ClusterRoleBinding",
        _RBAC,
        {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "it"}},
        (Choice(("subjects",), (ABSENT, *_SUBJECTS)),),
        fixed=(Choice(("roleRef", "name"), ("it", "other")),),
        namespaced=False,
    ),
    "PriorityClass": ObjectKind(
        "PriorityClass",
        ("scheduling.k8s.io/v1",),
        {"value": 5},
        (Choice(("description",), (ABSENT, "of no importance", "")), Choice(("globalDefault",), (ABSENT, False))),
        fixed=(Choice(("value",), (5, 6)),),
        namespaced=False,
    ),
    "LimitRange": ObjectKind(
        "LimitRange",
        ("v1",),
        {"spec": {"limits": []}},
        (
            Choice(
                ("spec", "limits"),
                (
                    [{"type": "PersistentVolumeClaim", "max": {"storage": "2048Gi"}}],
                    [{"type": "PersistentVolumeClaim", "max": {"storage": "2Ti"}, "min": {"storage": "1000Ki"}}],
                ),
            ),
        ),
    ),
    "ResourceQuota": ObjectKind(
        "ResourceQuota",
        ("v1",),
        {"spec": {}},
        (Choice(("spec", "hard"), ({"pods": "1000"}, {"pods": "1k"}, {"count/gadgets.pairs.test": "3000m"}, {})),),
    ),
    "Gadget": ObjectKind(
        "Gadget",
        (f"{GROUP}/v1", f"{GROUP}/v1beta1"),
        {"spec": {"size": 1}},
        (
            Choice(("spec", "size"), (1, 2, 3)),
            Choice(("spec", "color"), (ABSENT, "red", "", "two\nlines")),
            Choice(("spec", "parts"), (ABSENT, [{"name": "a"}, {"name": "b", "weight": 1}], [{"name": "b"}], [])),
            Choice(("spec", "tags"), (ABSENT, ["x", "y"], ["y", "x"], [])),
            Choice(("spec", "options"), (ABSENT, {}, {"free": {"form": [1, "2", None]}})),
            Choice(("spec", "limits"), (ABSENT, {}, {"low": 1}, {"low": 1, "high": 2})),
        ),
    ),
}

WORKLOADS = frozenset({"Deployment", "StatefulSet"})

WRONG: tuple[tuple[str, Path, Any], ...] = (
    ("Deployment", ("spec", "noSuchField"), 1),
    ("Deployment", ("spec", "replicas"), "two"),
    ("Deployment", ("spec", "template", "spec", "containers", 0, "imagePullPolicies"), "Always"),
    ("ConfigMap", ("metadata", "labels", "team"), "not a label!"),
    ("ConfigMap", ("data", "a"), {"a": "mapping"}),
    ("ConfigMap", ("datum",), {"a": "b"}),
    ("Service", ("spec", "ports", 0, "port"), 70000),
    ("Service", ("spec", "type"), "External"),
    ("Gadget", ("spec", "size"), "large"),
    ("Gadget", ("spec", "shape"), "round"),
    ("CronJob", ("spec", "schedule"), "every day"),
    ("Role", ("rules",), [{"apiGroups": [""], "resources": ["pods"], "verbs": []}]),
    ("Secret", ("type",), "kubernetes.io/tls"),
)
"""What no server takes: kind, field, value."""


def gadget_kind(group: str = GROUP, *, more: bool = False) -> Object:
    """The CustomResourceDefinition of gadgets, its list of parts keyed by name.

    :param more: with one more field, ``spec.extra``.
    """
    part = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "weight": _INTEGER}}
    parts = {"type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    limits = {"type": "object", "properties": {"low": _INTEGER, "high": {**_INTEGER, "default": 10}}}
    fields: Object = {
        "size": _INTEGER,
        "color": _STRING,
        "parts": parts,
        "tags": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "atomic"},
        "options": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "limits": limits,
        "mode": {"type": "string", "default": "auto"},
        **({"extra": _STRING} if more else {}),
    }
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": fields},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    versions: list[Object] = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        }
        for name in ("v1", "v1beta1")
    ]
    made = custom_kind(group, "Gadget")
    made["spec"]["versions"] = versions
    return made


_INTEGER: Object = {"type": "integer"}
_STRING: Object = {"type": "string"}


def draw(rng: random.Random, what: str, name: str) -> Object:
    """An object of one of ``KINDS``."""
    kind = KINDS[what]
    made: Object = {"apiVersion": kind.api_versions[0], "kind": kind.kind, "metadata": {"name": name}}
    made |= copy.deepcopy(kind.base)
    for choice in kind.fixed:
        put(made, choice.path, choice.values[0])
    for choice in (*kind.choices, *_METADATA):
        if not has(made, choice.path) or rng.random() < 0.7:
            put(made, choice.path, rng.choice(choice.values))
    return made


def redraw(rng: random.Random, what: str, manifest: Object, count: int) -> list[str]:
    """Give that many fields of an object other values; says which."""
    changed = []
    for _ in range(count):
        choice = rng.choice((*KINDS[what].choices, *_METADATA))
        value = rng.choice(choice.values)
        put(manifest, choice.path, value)
        changed.append(f"{dotted(choice.path)} := {value!r}")
    return changed


def choices_of(what: str) -> tuple[Choice, ...]:
    return (*KINDS[what].choices, *_METADATA)


def shuffle(rng: random.Random, manifest: Object) -> None:
    """Put the items of every list in another order."""
    for each in _lists(manifest):
        rng.shuffle(each)


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _lists(each)


def at(value: Any, path: Path) -> Any:
    """What stands there, or ``ABSENT``."""
    for step in path:
        known = step in value if isinstance(value, dict) else isinstance(value, list) and step in range(len(value))
        if not known:
            return ABSENT
        value = value[step]
    return value


def has(value: Any, path: Path) -> bool:
    return at(value, path) is not ABSENT


def put(manifest: Object, path: Path, value: Any) -> None:
    """Set a field, or remove it; mappings on the way are made."""
    here: Any = manifest
    for step in path[:-1]:
        if isinstance(here, dict):
            if value is ABSENT and step not in here:
                return
            if here.get(step) is None:
                here[step] = {}
        here = here[step]
    last = path[-1]
    if value is not ABSENT:
        here[last] = copy.deepcopy(value)
    elif isinstance(here, dict):
        here.pop(last, None)


def dotted(path: Path) -> str:
    return ".".join(map(str, path))


def pointer(path: Path) -> str:
    """RFC 6901."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
