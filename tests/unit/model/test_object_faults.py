"""What is told of an object before anything is sent."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.normalise import SourceObject, normalise
from ansible_collections.rendimiento.addons.plugins.module_utils.model.object_faults import (
    MOST_ANNOTATIONS,
    MOST_DATA,
    MOST_SENT,
    MOST_STORED,
    bundle_faults,
    object_faults,
)

KIB = 1024


def made(kind: str = "ConfigMap", api_version: str = "v1", name: str = "a", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "web", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def custom(size: int) -> dict[str, Any]:
    """A custom resource that is so many bytes long as JSON."""
    manifest = made("Thing", "x.io/v1", spec={"text": ""})
    manifest["spec"]["text"] = "x" * (size - len(json.dumps(manifest, separators=(",", ":"))))
    return manifest


def definition(size: int) -> dict[str, Any]:
    schema = {"type": "object", "description": "x" * size}
    return made("CustomResourceDefinition", "apiextensions.k8s.io/v1", spec={"versions": [{"schema": schema}]})


def coded(size: int) -> str:
    return base64.b64encode(b"x" * size).decode()


# Sizes


@pytest.mark.parametrize(
    ("manifest", "faults"),
    [
        (custom(MOST_STORED), []),
        (custom(MOST_STORED + 1), ["is too large: 1537 KiB of at most 1536 KiB for an object"]),
        (custom(MOST_SENT), ["is too large: 3072 KiB of at most 1536 KiB for an object"]),
        (custom(MOST_SENT + 1), ["is too large: 3073 KiB of at most 3072 KiB in a request"]),
        (made(data={"a": "x" * MOST_DATA}), []),
        (made(data={"a": "x" * MOST_DATA, "b": "x"}),
         ["its data is too large: 1025 KiB of at most 1024 KiB for a ConfigMap"]),
        # Counted as it is stored: é has two bytes.
        (made(data={"a": "é" * (MOST_DATA // 2)}), []),
        (made(data={"a": "é" * (MOST_DATA // 2), "b": "x"}),
         ["its data is too large: 1025 KiB of at most 1024 KiB for a ConfigMap"]),
        (made(data={"a": "x" * (MOST_DATA - 10)}, binaryData={"b": coded(10)}), []),
        (made(data={"a": "x" * (MOST_DATA - 10)}, binaryData={"b": coded(11)}),
         ["its data is too large: 1025 KiB of at most 1024 KiB for a ConfigMap"]),
        # Not as it is sent: base64 is a third longer.
        (made("Secret", data={"a": coded(MOST_DATA)}), []),
        (made("Secret", data={"a": coded(MOST_DATA + 1)}),
         ["its data is too large: 1025 KiB of at most 1024 KiB for a Secret"]),
        (made("Secret", "x.io/v1", data={"a": coded(MOST_DATA + 1)}), []),
        (made(metadata={"annotations": {"a": "x" * (MOST_ANNOTATIONS - 1)}}), []),
        (made(metadata={"annotations": {"a": "x" * MOST_ANNOTATIONS}}),
         ["metadata.annotations are too large: 257 KiB of at most 256 KiB"]),
        (made(data=None, binaryData=["x"], metadata={"annotations": None}), []),
    ],
)  # fmt: skip
def test_trap_17_sizes_that_the_server_refuses(manifest: dict[str, Any], faults: list[str]) -> None:
    assert object_faults(manifest) == faults


@pytest.mark.parametrize("size", [300 * KIB, 600 * KIB, 1400 * KIB])
def test_trap_17_large_definitions_pass_and_get_no_annotation(size: int) -> None:
    manifest = definition(size)
    assert object_faults(manifest) == []
    (sent,) = normalise(
        [SourceObject(manifest, "f")],
        addon="web",
        namespace="web",
        create_namespace=False,
        namespaced=lambda group, version, kind: False,
        state_namespace="state",
    ).objects
    assert "annotations" not in sent.manifest["metadata"]
    assert len(json.dumps(sent.manifest)) < len(json.dumps(manifest)) + 100


@pytest.mark.parametrize(
    ("manifest", "fits"),
    [
        (made(name="big", data={"a": "x" * 300 * KIB}), True),
        (definition(600 * KIB), True),
        (made(name="toobig", data={"a": "x" * int(1.2 * 1024 * KIB)}), False),
    ],
)
def test_b32_what_is_too_big_is_told_with_its_size(manifest: dict[str, Any], fits: bool) -> None:
    expected = [] if fits else ["its data is too large: 1229 KiB of at most 1024 KiB for a ConfigMap"]
    assert object_faults(manifest) == expected


# Entries that stand twice


def deployment(**pod: Any) -> dict[str, Any]:
    return made("Deployment", "apps/v1", spec={"template": {"spec": pod}})


def container(**fields: Any) -> dict[str, Any]:
    return deployment(containers=[{"name": "main", **fields}])


POD = "spec.template.spec"
MAIN = f"{POD}.containers[main]"


@pytest.mark.parametrize(
    ("manifest", "fault"),
    [
        (container(env=[{"name": "A", "value": "s3cret"}, {"name": "A", "value": "other"}]), f"{MAIN}.env: A"),
        (container(env=[{"name": "A"}, {"name": "A"}, {"name": "B"}, {"name": "A"}]), f"{MAIN}.env: A stands 3 times"),
        (container(ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]), f"{MAIN}.ports: 80/TCP"),
        (container(volumeMounts=[{"mountPath": "/a", "name": "x"}, {"mountPath": "/a", "name": "y"}]),
         f"{MAIN}.volumeMounts: /a"),
        (container(volumeDevices=[{"devicePath": "/a"}, {"devicePath": "/a"}]), f"{MAIN}.volumeDevices: /a"),
        (container(resources={"claims": [{"name": "g"}, {"name": "g"}]}), f"{MAIN}.resources.claims: g"),
        (deployment(containers=[{"name": "a"}, {"name": "a"}]), f"{POD}.containers: a"),
        (deployment(initContainers=[{"name": "a"}, {"name": "a"}]), f"{POD}.initContainers: a"),
        (deployment(initContainers=[{"env": [{"name": "A"}, {"name": "A"}]}]), f"{POD}.initContainers[0].env: A"),
        (deployment(volumes=[{"name": "v"}, {"name": "v", "emptyDir": {}}]), f"{POD}.volumes: v"),
        (deployment(imagePullSecrets=[{"name": "r"}, {"name": "r"}]), f"{POD}.imagePullSecrets: r"),
        (deployment(hostAliases=[{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]), f"{POD}.hostAliases: 10.0.0.1"),
        (deployment(topologySpreadConstraints=[{"topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}] * 2),
         f"{POD}.topologySpreadConstraints: z/ScheduleAnyway"),
        (made("Pod", spec={"volumes": [{"name": "v"}, {"name": "v"}]}), "spec.volumes: v"),
        (made("CronJob", "batch/v1", spec={"jobTemplate": {"spec": {"template": {"spec": {
            "volumes": [{"name": "v"}, {"name": "v"}]}}}}}), "spec.jobTemplate.spec.template.spec.volumes: v"),
        (made("Service", spec={"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "TCP"}]}),
         "spec.ports: 80/TCP"),
        (made("ServiceAccount", secrets=[{"name": "s"}, {"name": "s"}]), "secrets: s"),
        (made("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1",
              webhooks=[{"name": "w.x.io"}, {"name": "w.x.io"}]), "webhooks: w.x.io"),
        (made("MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1",
              webhooks=[{"name": "w.x.io", "matchConditions": [{"name": "c"}, {"name": "c"}]}]),
         "webhooks[w.x.io].matchConditions: c"),
        (made("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1",
              spec={"variables": [{"name": "v"}, {"name": "v"}]}), "spec.variables: v"),
        (made("Thing", "x.io/v1", metadata={"finalizers": ["x.io/a", "x.io/a"]}), "metadata.finalizers: x.io/a"),
    ],
)  # fmt: skip
def test_entries_that_stand_twice_are_told_with_their_place(manifest: dict[str, Any], fault: str) -> None:
    fault = fault if "stands" in fault else f"{fault} stands twice"
    assert object_faults(manifest) == [f"{fault}, remove one"]


@pytest.mark.parametrize(
    "manifest",
    [
        container(ports=[{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]),
        container(ports=[{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]),
        made("Service", spec={"ports": [{"port": 53, "name": "a"}, {"port": 53, "name": "b", "protocol": "UDP"}]}),
    ],
)
def test_trap_37_one_port_with_two_protocols_is_no_fault(manifest: dict[str, Any]) -> None:
    assert object_faults(manifest) == []


@pytest.mark.parametrize(
    "manifest",
    [
        deployment(containers=[{"name": "a", "env": [{"name": "A"}]}, {"name": "b", "env": [{"name": "A"}]}]),
        container(args=["x", "x"], command=["x", "x"], envFrom=[{"secretRef": {"name": "a"}}] * 2),
        deployment(tolerations=[{"key": "a"}, {"key": "a"}]),
        made("Role", "rbac.authorization.k8s.io/v1", rules=[{"verbs": ["get"]}, {"verbs": ["get"]}]),
        made("ServiceAccount", imagePullSecrets=[{"name": "a"}, {"name": "a"}]),
        made("Service", "serving.knative.dev/v1", spec={"ports": [{"port": 80}, {"port": 80}]}),
    ],
)
def test_lists_that_are_taken_whole_may_hold_an_entry_twice(manifest: dict[str, Any]) -> None:
    assert object_faults(manifest) == []


@pytest.mark.parametrize("odd", [None, "text", 5, {}, {"a": "b"}, [None, "text", 5, [], {}], [[{"name": "a"}] * 2]])
def test_odd_shapes_are_left_to_the_server(odd: Any) -> None:
    for manifest in (
        made("Service", spec=odd),
        made("Service", spec={"ports": odd}),
        made("ServiceAccount", secrets=odd),
        made("MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1", webhooks=odd),
        deployment(containers=odd, volumes=odd),
        container(env=odd, ports=odd, resources=odd),
        made(metadata={"finalizers": odd}),
    ):
        assert object_faults(manifest) == []
        assert bundle_faults([manifest]) == {}


# Between objects


def service(name: str, kind: str = "NodePort", **spec: Any) -> dict[str, Any]:
    return made("Service", name=name, spec={"type": kind, **spec})


def told(*manifests: dict[str, Any]) -> dict[str, list[str]]:
    return {str(key): faults for key, faults in bundle_faults(manifests).items()}


def test_a_fixed_node_port_of_two_services_is_told_of_both() -> None:
    faults = told(
        service("a", ports=[{"name": "http", "port": 80, "nodePort": 30080}]),
        service("b", "LoadBalancer", ports=[{"port": 53, "protocol": "UDP", "nodePort": 30080}]),
        service("c", ports=[{"port": 80, "nodePort": 30081}]),
    )
    assert faults == {
        "Service web/a": ["spec.ports[http].nodePort: node port 30080 is also that of Service web/b, change one"],
        "Service web/b": ["spec.ports[0].nodePort: node port 30080 is also that of Service web/a, change one"],
    }


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        ({"clusterIP": "10.0.0.5"}, {"clusterIP": "10.0.0.5"}, True),
        ({"clusterIP": "10.0.0.5"}, {"clusterIPs": ["10.0.0.5"]}, True),
        ({"clusterIP": "None"}, {"clusterIP": "None"}, False),
        ({"clusterIP": ""}, {"clusterIP": ""}, False),
        ({"ports": [{"port": 80, "nodePort": 30080}]}, {"healthCheckNodePort": 30080}, True),
        ({"ports": [{"port": 80}]}, {"ports": [{"port": 80}]}, False),
        ({"ports": [{"nodePort": 0}]}, {"ports": [{"nodePort": 0}]}, False),
        ({"ports": [{"nodePort": [1]}]}, {"ports": 5, "clusterIPs": 5, "clusterIP": [5]}, False),
    ],
)
def test_what_two_services_may_share(first: dict[str, Any], second: dict[str, Any], clash: bool) -> None:
    assert bool(told(service("a", **first), service("b", **second))) is clash


def test_one_service_may_use_a_node_port_for_two_protocols() -> None:
    ports = [{"port": 53, "nodePort": 30053}, {"port": 53, "protocol": "UDP", "nodePort": 30053}]
    assert told(service("a", ports=ports, clusterIP="10.0.0.5", clusterIPs=["10.0.0.5"])) == {}


def test_a_port_that_is_not_used_is_not_taken() -> None:
    ports = [{"port": 80, "nodePort": 30080}]
    assert told(service("a", ports=ports), service("b", "ClusterIP", ports=ports)) == {}


# Many faults


def test_a_node_port_of_many_services_is_one_fault_for_each() -> None:
    services = [service(f"s{number}", ports=[{"port": 80, "nodePort": 30080}]) for number in range(3000)]
    faults = told(*services)
    assert faults["Service web/s0"] == [
        "spec.ports[0].nodePort: node port 30080 is also that of Service web/s1 and 2998 more, change one"
    ]
    assert faults["Service web/s7"] == [
        "spec.ports[0].nodePort: node port 30080 is also that of Service web/s0 and 2998 more, change one"
    ]
    assert {len(each) for each in faults.values()} == {1}


LONG = "a" * 5000


@pytest.mark.parametrize(
    "manifest",
    [
        container(volumeMounts=[{"mountPath": LONG}] * 2),
        container(name=LONG, env=[{"name": LONG}] * 9),
        made("Thing", "x.io/v1", metadata={"finalizers": [LONG, LONG]}),
        made("MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1",
             webhooks=[{"name": {"a": LONG}, "matchConditions": [{"name": LONG}] * 2}]),
        service("a", ports=[{"name": LONG, "port": 80, "protocol": LONG}] * 2),
    ],
)  # fmt: skip
def test_a_message_stays_short_whatever_an_entry_is_called(manifest: dict[str, Any]) -> None:
    (fault,) = object_faults(manifest)
    assert len(fault) < 400


def test_many_entries_that_stand_twice_are_counted_quickly() -> None:
    finalizers = [f"x.io/{number}" for number in range(20000)] * 2
    start = time.thread_time()
    assert len(object_faults(made("Thing", "x.io/v1", metadata={"finalizers": finalizers}))) == 20000
    assert time.thread_time() - start < 2
