"""The cluster layer against a real API server: what unit tests take for granted about it is made sure of here."""

from __future__ import annotations

import base64
import json
import multiprocessing
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import (
    AccessOptions,
    Credential,
    resolve,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import MERGE_PATCH, ApiError, Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import (
    Discovery,
    discover,
    path_of,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.lease import LeaseLock, Renewal
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.readiness_rules import Readiness
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.readiness_watch import ReadinessWatch
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.snapshot import Snapshot, take
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.world import read_world
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import (
    ClusterError,
    CredentialError,
    LockError,
    UnreachableError,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.names import OWNER_LABEL
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import Manifest, ObjectKey, key_of
from local_cluster import Cluster

pytestmark = pytest.mark.integration

T = TypeVar("T")

ADDON = "layer"
OTHER_UID = "11111111-1111-1111-1111-111111111111"


@pytest.fixture(scope="session")
def credential(cluster: Cluster) -> Credential:
    return resolve(AccessOptions(kubeconfig=str(cluster.kubeconfig)))


@pytest.fixture(scope="session")
def client(credential: Credential, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return Client(credential, files=tmp_path_factory.mktemp("pem"))


@pytest.fixture(scope="session")
def discovery(client: Client) -> Discovery:
    return discover(client)


@pytest.fixture
def viewer(cluster: Cluster, tmp_path: Path) -> Client:
    return Client(resolve(AccessOptions(kubeconfig=str(cluster.kubeconfig_of("viewer")))), files=tmp_path)


@pytest.fixture
def namespace(client: Client) -> Iterator[str]:
    """A new namespace with a random name; what is in it goes with it, in the background."""
    name = f"test-{secrets.token_hex(4)}"
    client.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    client.delete(f"/api/v1/namespaces/{name}", query={"propagationPolicy": "Background"})


Apply = Callable[..., Manifest]


@pytest.fixture
def apply(client: Client, discovery: Discovery, namespace: str) -> Iterator[Apply]:
    """Applies an object of ``ADDON`` in the test's namespace and returns it; cluster-scoped ones are deleted again."""
    scoped: list[str] = []

    def apply(api_version: str, kind: str, name: str, **parts: Any) -> Manifest:
        group, _, version = api_version.rpartition("/")
        resource = discovery.find(group, version, kind)
        assert resource is not None
        labels = {OWNER_LABEL: ADDON, **parts.pop("labels", {})}
        metadata: dict[str, Any] = {"name": name, "labels": labels}
        if resource.namespaced:
            metadata["namespace"] = namespace
        path = path_of(resource, namespace, name)
        if not resource.namespaced:
            scoped.append(path)
        made = client.apply(path, {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts})
        return made.body  # type: ignore[no-any-return]

    yield apply
    for path in scoped:
        try:
            client.delete(path, query={"propagationPolicy": "Background"})
        except ApiError as error:
            assert error.not_found


def config_map(namespace: str, name: str = "a", data: Any = None, **metadata: Any) -> Manifest:
    metadata = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {}}


def path_in(namespace: str, name: str = "a") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


def refusal(action: Callable[[], Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        action()
    return caught.value


# Client


def test_apply_creates_and_then_changes_nothing(client: Client, namespace: str) -> None:
    manifest = config_map(namespace, data={"a": "1"})

    created = client.apply(path_in(namespace), manifest)
    again = client.apply(path_in(namespace), manifest)

    assert (created.status, again.status) == (201, 200)
    assert created.body["metadata"]["resourceVersion"] == again.body["metadata"]["resourceVersion"]


def test_a_dry_run_writes_nothing(client: Client, namespace: str) -> None:
    assert client.apply(path_in(namespace), config_map(namespace), dry_run=True).status == 201
    assert refusal(lambda: client.get(path_in(namespace))).not_found


def test_every_text_arrives_as_it_is(client: Client, namespace: str) -> None:
    odd = [0x1, 0x7F, 0x80, 0x85, 0x9F, 0xA0, 0x2028, 0x2029, 0xE000, 0xFEFF, 0xFFFE, 0xFFFF, 0x1F600]
    data = {"odd": "".join(map(chr, odd)), "lines": "a\tb\r\n # x: 'y'\n", "number": "1e3", "text": '{{ x }} \\ "'}

    assert client.apply(path_in(namespace), config_map(namespace, data=data)).body["data"] == data


def test_fields_of_other_managers_are_a_conflict(client: Client, namespace: str) -> None:
    client.apply(path_in(namespace), config_map(namespace, data={"a": "1"}))
    client.patch(
        path_in(namespace), {"data": {"a": "2"}}, content_type=MERGE_PATCH, query={"fieldManager": "kubectl-edit"}
    )

    error = refusal(lambda: client.apply(path_in(namespace), config_map(namespace, data={"a": "1"})))

    (conflict,) = error.conflict_fields
    assert (conflict.manager, conflict.field, conflict.version) == ("kubectl-edit", ".data.a", "v1")
    assert not error.precondition_failed
    assert client.apply(path_in(namespace), config_map(namespace, data={"a": "1"}), force=True).status == 200


def test_three_kinds_of_missing(client: Client, namespace: str) -> None:
    no_namespace = refusal(lambda: client.apply(path_in("nope"), config_map("nope")))
    no_object = refusal(lambda: client.get(path_in(namespace, "none")))
    no_kind = refusal(lambda: client.get("/apis/none.io/v1/nothings/a"))

    kinds = [
        (bool(one.not_found_namespace), one.not_found, one.kind_not_served)
        for one in (no_namespace, no_object, no_kind)
    ]
    assert kinds == [(True, False, False), (False, True, False), (False, False, True)]


def test_guards(client: Client, namespace: str) -> None:
    client.apply(path_in(namespace), config_map(namespace))
    other = config_map(namespace, uid=OTHER_UID)
    older = config_map(namespace, resourceVersion="1")

    assert refusal(lambda: client.apply(path_in(namespace), other)).precondition_failed
    assert refusal(lambda: client.apply(path_in(namespace), older)).precondition_failed
    assert refusal(lambda: client.delete(path_in(namespace), {"preconditions": {"uid": OTHER_UID}})).precondition_failed


def test_a_manifest_that_is_wrong(client: Client, namespace: str) -> None:
    unknown = {**config_map(namespace), "spec": {}}
    error = refusal(lambda: client.apply(path_in(namespace), unknown))

    assert (error.status, error.is_bad_manifest, error.retryable) == (500, True, False)


def test_immutable_fields(client: Client, namespace: str, apply: Apply) -> None:
    def job(image: str) -> dict[str, Any]:
        environment = [{"name": "PASSWORD", "value": "hunter2"}]
        container = {"name": "c", "image": image, "env": environment}
        return {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}

    apply("batch/v1", "Job", "a", spec=job("a"))
    error = refusal(lambda: apply("batch/v1", "Job", "a", spec=job("b")))

    assert error.immutable_fields == ["spec.template"]
    assert "hunter2" not in error.message


def test_rights(viewer: Client, namespace: str) -> None:
    error = refusal(lambda: viewer.apply(path_in(namespace), config_map(namespace), dry_run=True))

    assert error.forbidden
    assert error.message == f'user "viewer" may not patch configmaps in namespace {namespace}'


def test_acting_as_an_account(cluster: Cluster, credential: Credential, namespace: str, tmp_path: Path) -> None:
    account = f"system:serviceaccount:{namespace}:default"
    error = refusal(lambda: Client(credential, impersonate=account, files=tmp_path).get(path_in(namespace)))
    assert error.message == f'user "{account}" may not get configmaps in namespace {namespace}'

    viewer_as = resolve(AccessOptions(kubeconfig=str(cluster.kubeconfig_of("viewer"))))
    with pytest.raises(ClusterError, match=f'user "viewer" may not act as {account}') as caught:
        Client(viewer_as, impersonate=account, files=tmp_path).get(path_in(namespace))
    assert not isinstance(caught.value, ApiError)


def test_a_login_that_is_not_accepted(credential: Credential) -> None:
    with pytest.raises(CredentialError, match="does not accept the credentials"):
        Client(Credential(credential.host, ca=credential.ca, token="Bearer nonsense")).get("/api")


@pytest.mark.long
def test_a_token_that_ends_midway_is_renewed_by_its_login_program(
    client: Client, credential: Credential, apply: Apply, namespace: str, tmp_path: Path
) -> None:
    """A token that is bound to a Secret ends with it; the server notices within about ten seconds."""
    log, current = tmp_path / "logins", tmp_path / "current"

    def issue(name: str) -> str:
        secret = apply("v1", "Secret", name)
        bound = {"apiVersion": "v1", "kind": "Secret", "name": name, "uid": secret["metadata"]["uid"]}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": bound}}
        reply = client.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/robot/token", body).body
        answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
        current.write_text(json.dumps({**answer, "status": {"token": reply["status"]["token"]}}))
        return f"/api/v1/namespaces/{namespace}/secrets/{name}"

    account = {"kind": "ServiceAccount", "name": "robot", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    apply("v1", "ServiceAccount", "robot")
    apply("rbac.authorization.k8s.io/v1", "RoleBinding", "robot", roleRef=role, subjects=[account])
    first = issue("first")
    command = {"command": "sh", "args": ["-c", f"echo once >> {log}; cat {current}"], "interactiveMode": "Never"}
    encoded = base64.b64encode((credential.ca or "").encode()).decode()
    config = {
        "current-context": "robot",
        "contexts": [{"name": "robot", "context": {"cluster": "c", "user": "robot"}}],
        "clusters": [{"name": "c", "cluster": {"server": credential.host, "certificate-authority-data": encoded}}],
        "users": [{"name": "robot", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", **command}}}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    access = AccessOptions(kubeconfig=str(tmp_path / "kubeconfig"))
    robot = Client(resolve(access), on_unauthorized=lambda _refused: resolve(access))
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    eventually(lambda: robot.get(path).status, lambda status: status == 200)
    issue("second")
    client.delete(first, query={"propagationPolicy": "Background"})

    def ask(_number: int) -> int:
        deadline = time.monotonic() + 60
        asked = 0
        while log.read_text().count("once") < 2 or asked < 10:
            assert time.monotonic() < deadline, "the first token is still accepted"
            asked += 1
            robot.get(path)
        return asked

    with ThreadPoolExecutor(8) as pool:
        assert min(pool.map(ask, range(8))) >= 10
    assert log.read_text() == "once\nonce\n"


def test_a_certificate_that_is_not_trusted(credential: Credential) -> None:
    with pytest.raises(UnreachableError, match="its certificate is not trusted"):
        Client(Credential(credential.host)).get("/api")


def test_list_in_pages(client: Client, namespace: str) -> None:
    for number in range(5):
        client.apply(path_in(namespace, f"a{number}"), config_map(namespace, f"a{number}", labels={"x": "y"}))

    collection = path_in(namespace, "").rstrip("/")
    items, version = client.list_all(collection, "x=y", limit=2)
    partial, _version = client.list_all(collection, "x=y", metadata_only=True)

    assert [item["metadata"]["name"] for item in items] == [f"a{number}" for number in range(5)]
    assert version.isdigit()
    assert len(partial) == 5
    assert all("data" not in item for item in partial)


def test_a_webhook_that_is_down(credential: Credential, namespace: str, apply: Apply, tmp_path: Path) -> None:
    name = f"dead-{namespace}"
    hook = {
        "name": "dead.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
    }
    apply("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name, webhooks=[hook])
    hasty = Client(credential, retry_window=0, files=tmp_path)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            hasty.apply(path_in(namespace), config_map(namespace), dry_run=True)
        except ApiError as error:
            assert error.webhook_unavailable
            return
        time.sleep(0.1)
    pytest.fail("the webhook was never called")


# Discovery and snapshot


def custom_kind(group: str) -> tuple[str, dict[str, Any]]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    spec = {
        "group": group,
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [version],
    }
    return f"things.{group}", spec


@pytest.fixture
def group() -> str:
    return f"g{secrets.token_hex(4)}.example.com"


@pytest.fixture
def things(client: Client, apply: Apply, group: str) -> Discovery:
    """Discovery once it has the kind ``Thing`` of ``group``."""
    name, spec = custom_kind(group)
    apply("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, spec=spec)
    return eventually(lambda: discover(client), lambda found: found.find(group, "v1", "Thing") is not None)


def eventually(read: Callable[[], T], good: Callable[[T], bool], seconds: float = 15.0) -> T:
    deadline = time.monotonic() + seconds
    while not good(value := read()):
        assert time.monotonic() < deadline, value
        time.sleep(0.05)
    return value


def dead_api(apply: Apply, group: str, namespace: str) -> None:
    service = {"name": "none", "namespace": namespace}
    spec = {
        "group": group,
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": service,
    }
    apply("apiregistration.k8s.io/v1", "APIService", f"v1beta1.{group}", spec=spec)


def test_discovery_of_what_is_built_in(discovery: Discovery) -> None:
    deployments = discovery.find("apps", "v1", "Deployment")

    assert discovery.server_version.startswith("v1.")
    assert deployments is not None
    assert (deployments.plural, deployments.namespaced) == ("deployments", True)
    assert {"status", "scale"} <= set(deployments.subresources)
    assert discovery.versions_of("autoscaling", "HorizontalPodAutoscaler") == ["v2", "v1"]
    assert discovery.stale == []
    assert Discovery.from_json(json.loads(json.dumps(discovery.to_json()))) == discovery


def test_discovery_of_a_custom_kind(things: Discovery, group: str) -> None:
    found = things.preferred(group, "Thing")

    assert found is not None
    assert (found.plural, found.namespaced, found.subresources) == ("things", True, ("status",))
    assert f"{group}/v1/Thing" in things.api_versions()


def test_an_api_whose_server_is_down_is_unknown(client: Client, apply: Apply, group: str, namespace: str) -> None:
    dead_api(apply, group, namespace)

    found = eventually(lambda: discover(client), lambda found: bool(found.stale))

    assert found.stale == [f"{group}/v1beta1"]
    assert found.group_is_stale(group)
    assert found.find("apps", "v1", "Deployment") is not None
    snapshot = take(client, found, [(group, "Metric"), ("", "ConfigMap")])
    assert snapshot.complete == {("", "ConfigMap")}
    assert snapshot.incomplete == {f"{group}/Metric": f"the server of API group {group} does not answer"}
    assert refusal(lambda: client.request("GET", f"/apis/{group}/v1beta1/x", retry=False)).api_down


def test_snapshot(client: Client, viewer: Client, apply: Apply, things: Discovery, group: str, namespace: str) -> None:
    made = [
        apply("v1", "ConfigMap", "a", data={"a": "1"}),
        apply("v1", "Secret", "b", data={"password": "c3dvcmRmaXNo"}),
    ]
    client.apply(path_in(namespace, "not-ours"), config_map(namespace, "not-ours"))
    kinds = [("", "ConfigMap"), ("", "Secret"), (group, "Thing"), ("none.io", "Nothing"), ("", "Binding")]

    snapshot = take(client, things, kinds)

    in_namespace = {key for key in snapshot.objects if key.namespace == namespace}
    assert in_namespace == {key_of(one) for one in made}
    for one in made:
        found = snapshot.objects[key_of(one)]
        assert found.uid == one["metadata"]["uid"]
        assert found.resource_version == one["metadata"]["resourceVersion"]
        assert found.labels == {OWNER_LABEL: ADDON}
        assert found.managed_fields == one["metadata"]["managedFields"]
    assert snapshot.complete == {("", "ConfigMap"), ("", "Secret"), (group, "Thing"), ("none.io", "Nothing")}
    assert snapshot.incomplete == {"/Binding": "this kind can't be listed"}
    assert "c3dvcmRmaXNo" not in json.dumps(snapshot.to_json())
    assert Snapshot.from_json(json.loads(json.dumps(snapshot.to_json()))) == snapshot

    partly = take(viewer, things, [("", "ConfigMap"), ("", "Secret")])
    assert partly.complete == {("", "ConfigMap")}
    assert partly.incomplete == {"/Secret": 'user "viewer" may not list secrets'}


# Readiness


def deployment(replicas: int = 1, outcome: str = "", **more: Any) -> dict[str, Any]:
    labels = {"app": "a", **({"test.io/outcome": outcome} if outcome else {})}
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}},
        **more,
    }


def job(outcome: str = "", **more: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}
    metadata = {"labels": {"test.io/outcome": outcome}} if outcome else {}
    return {"backoffLimit": 0, "template": {"metadata": metadata, "spec": pod}, **more}


class Waiting:
    """Waits for objects and keeps what was said meanwhile."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self.client = client
        self.discovery = discovery
        self.lines: list[str] = []

    def __call__(self, *objects: Manifest, timeout: float = 30.0) -> dict[ObjectKey, Readiness]:
        with ReadinessWatch(self.client, lambda: self.discovery, addon=ADDON) as watch:
            for one in objects:
                watch.follow(key_of(one), one["apiVersion"].rpartition("/")[2], one["metadata"]["resourceVersion"])
            return watch.wait(map(key_of, objects), timeout, self.lines.append)


@pytest.fixture
def wait(client: Client, discovery: Discovery) -> Waiting:
    return Waiting(client, discovery)


def test_an_addon_becomes_ready(wait: Waiting, apply: Apply, group: str, namespace: str) -> None:
    name, spec = custom_kind(group)
    objects = [
        apply("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, spec=spec),
        apply("v1", "ConfigMap", "a"),
        apply("v1", "Service", "a", spec={"ports": [{"port": 80}]}),
        apply("apps/v1", "Deployment", "a", spec=deployment(2)),
        apply("apps/v1", "StatefulSet", "a", spec={**deployment(2), "serviceName": "a"}),
        apply("apps/v1", "Deployment", "b", spec=deployment(1)),
        apply("batch/v1", "Job", "a", spec=job()),
        apply("batch/v1", "Job", "b", spec=job(ttlSecondsAfterFinished=0)),
    ]

    found = wait(*objects)

    assert {key: readiness.state for key, readiness in found.items()} == {key_of(one): "ready" for one in objects}


def test_a_job_that_fails_ends_the_wait(wait: Waiting, apply: Apply) -> None:
    failing = apply("batch/v1", "Job", "a", spec=job("fail"))
    hanging = apply("batch/v1", "Job", "b", spec=job("hang"))
    start = time.monotonic()

    found = wait(failing, hanging)

    assert found[key_of(failing)] == Readiness("failed", "Job has reached the specified backoff limit")
    assert found[key_of(hanging)] == Readiness("waiting", "0 of 1 completed")
    assert time.monotonic() - start < 20


def test_a_deployment_that_does_not_start(wait: Waiting, apply: Apply) -> None:
    late = apply("apps/v1", "Deployment", "a", spec=deployment(2, "unready"))
    start = time.monotonic()

    found = wait(late, timeout=3.0)

    assert found[key_of(late)].state == "waiting"
    assert found[key_of(late)].reason.startswith("0 of 2 replicas ")
    assert 2.9 < time.monotonic() - start < 6
    assert re.match(r"waiting for 1 of 1 objects, [23] s: Deployment ", wait.lines[0])

    hopeless = apply("apps/v1", "Deployment", "b", spec=deployment(1, "unready", progressDeadlineSeconds=1))
    assert wait(hopeless)[key_of(hopeless)].state == "failed"


def test_claims(wait: Waiting, apply: Apply, namespace: str) -> None:
    late = f"late-{namespace}"
    apply(
        "storage.k8s.io/v1",
        "StorageClass",
        late,
        provisioner="example.com/none",
        volumeBindingMode="WaitForFirstConsumer",
    )

    def claim(name: str, storage_class: str) -> Manifest:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": storage_class,
        }
        return apply("v1", "PersistentVolumeClaim", name, spec=spec)

    unused, lost = claim("a", late), claim("b", "none")

    found = wait(unused, lost, timeout=0)

    assert found == {
        key_of(unused): Readiness("ready", "it waits for its first consumer"),
        key_of(lost): Readiness("waiting", "it is not bound to a volume"),
    }


def test_an_object_that_lost_its_label(wait: Waiting, client: Client, apply: Apply, namespace: str) -> None:
    one = apply("v1", "Service", "a", spec={"ports": [{"port": 80}]})
    missing = {**one, "metadata": {**one["metadata"], "name": "b"}}
    path = f"/api/v1/namespaces/{namespace}/services/a"
    client.patch(path, {"metadata": {"labels": {OWNER_LABEL: None}}}, content_type=MERGE_PATCH)

    assert wait(one, missing, timeout=0) == {
        key_of(one): Readiness("ready"),
        key_of(missing): Readiness("waiting", "it is missing"),
    }


def test_an_object_that_may_not_be_read(
    credential: Credential, discovery: Discovery, apply: Apply, namespace: str, tmp_path: Path
) -> None:
    account = f"system:serviceaccount:{namespace}:default"
    claim = apply("apps/v1", "Deployment", "a", spec=deployment(1))

    found = Waiting(Client(credential, impersonate=account, files=tmp_path), discovery)(claim)

    reason = f'it can\'t be read: user "{account}" may not get deployments.apps in namespace {namespace}'
    assert found == {key_of(claim): Readiness("failed", reason)}


# Lock and world


@pytest.fixture
def lock(client: Client, namespace: str) -> Callable[..., LeaseLock]:
    def lock(holder: str, duration: int = 60) -> LeaseLock:
        return LeaseLock(client, namespace, "addon-a", holder, duration)

    return lock


def test_lock(lock: Callable[..., LeaseLock]) -> None:
    lock("one").acquire()
    lock("one").renew()
    with pytest.raises(LockError, match="one holds the lock since 20"):
        lock("two").acquire()

    lock("two").release()
    lock("one").check()
    lock("one").release()
    lock("one").release()
    lock("two").acquire()


def test_a_lock_is_taken_over_from_a_run_that_is_gone(lock: Callable[..., LeaseLock]) -> None:
    gone = lock("gone", 1)
    gone.acquire()

    lock("next").acquire(wait=10, poll=0.1)

    with pytest.raises(LockError, match="the lock was lost: next has it now"):
        gone.renew()


def test_a_lock_that_is_renewed_stays(lock: Callable[..., LeaseLock]) -> None:
    held = lock("long", 2)
    held.acquire()
    with Renewal(held) as renewal, pytest.raises(LockError, match="long holds the lock"):
        lock("next").acquire(wait=4, poll=0.1)

    assert not renewal.lost.is_set()
    renewal.check()


def test_renewal_tells_that_the_lock_was_lost(lock: Callable[..., LeaseLock], client: Client, namespace: str) -> None:
    held = lock("one", 60)
    held.acquire()
    with Renewal(held, interval=0.05) as renewal:
        client.patch(
            f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/addon-a",
            {"spec": {"holderIdentity": "two"}},
            content_type=MERGE_PATCH,
        )
        assert renewal.lost.wait(5)
    with pytest.raises(LockError, match="two has it now"):
        renewal.check()


def hold_for_ever(credential: Credential, namespace: str, folder: Path) -> None:
    """The middle one of three processes: its child holds the lock and lives on when this one is killed."""

    def hold() -> None:
        held = LeaseLock(Client(credential, files=folder), namespace, "addon-a", "orphan", 2)
        held.acquire()
        with Renewal(held) as renewal:
            (folder / "held").write_text(str(os.getpid()))
            renewal.lost.wait(30)

    child = multiprocessing.get_context("fork").Process(target=hold)
    child.start()
    child.join()


def test_a_worker_whose_parent_was_killed_lets_go(
    credential: Credential, namespace: str, tmp_path: Path, lock: Callable[..., LeaseLock]
) -> None:
    parent = multiprocessing.get_context("spawn").Process(target=hold_for_ever, args=(credential, namespace, tmp_path))
    parent.start()
    eventually((tmp_path / "held").exists, bool, 30)
    with pytest.raises(LockError, match="orphan holds the lock"):
        lock("next").acquire(wait=3, poll=0.1)

    assert parent.pid is not None
    os.kill(parent.pid, signal.SIGKILL)
    parent.join()

    lock("next").acquire(wait=10, poll=0.1)


def test_world(
    client: Client, credential: Credential, discovery: Discovery, apply: Apply, namespace: str, tmp_path: Path
) -> None:
    key = b"key"
    before = read_world(client, discovery, key)
    assert before is not None
    assert read_world(client, discovery, key) == before
    assert read_world(client, discovery, b"other key") != before

    hook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore",
        "objectSelector": {"matchLabels": {"nothing": namespace}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    name = f"a-{namespace}"
    apply("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", name, webhooks=[hook])
    with_hook = read_world(client, discovery, key)
    apply(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        name,
        webhooks=[{**hook, "timeoutSeconds": 3}],
    )
    changed = read_world(client, discovery, key)

    assert len({before, with_hook, changed}) == 3
    unprivileged = Client(credential, impersonate=f"system:serviceaccount:{namespace}:default", files=tmp_path)
    assert read_world(unprivileged, discovery, key) is None
