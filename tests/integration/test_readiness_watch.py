"""Objects are followed on a real API server, whatever becomes of the watches."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import (
    AccessOptions,
    Credential,
    resolve,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import MERGE_PATCH, Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Discovery, discover, path_of
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.readiness_rules import Readiness
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.readiness_watch import ReadinessWatch
from ansible_collections.rendimiento.addons.plugins.module_utils.model.names import OWNER_LABEL
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import Manifest, ObjectKey, key_of
from local_cluster import Cluster
from tests.integration import objects
from tests.integration.audit import Audit
from tests.integration.cut_line import CutLine

ADDON = "followed"
SOON = 20.0


@pytest.fixture(scope="module")
def credential(cluster: Cluster) -> Credential:
    return resolve(AccessOptions(kubeconfig=str(cluster.kubeconfig)))


@pytest.fixture(scope="module")
def client(credential: Credential, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return Client(credential, files=tmp_path_factory.mktemp("pem"))


@pytest.fixture(scope="module")
def discovery(client: Client) -> Discovery:
    return discover(client)


@dataclasses.dataclass(frozen=True)
class Room:
    """A namespace of one test."""

    namespace: str
    client: Client
    discovery: Discovery

    def apply(self, manifest: Manifest, **labels: str) -> ObjectKey:
        """Applied as an object of the add-on."""
        metadata = {**manifest["metadata"], "namespace": self.namespace, "labels": {OWNER_LABEL: ADDON, **labels}}
        manifest = {**manifest, "metadata": metadata}
        self.client.apply(self.path(key_of(manifest)), manifest, force=True)
        return key_of(manifest)

    def patch(self, key: ObjectKey, patch: Any) -> None:
        self.client.patch(self.path(key), patch, content_type=MERGE_PATCH)

    def path(self, key: ObjectKey) -> str:
        resource = self.discovery.preferred(key.group, key.kind)
        assert resource is not None
        return path_of(resource, key.namespace, key.name)

    def watch(self, client: Client | None = None, **options: Any) -> ReadinessWatch:
        return ReadinessWatch(client or self.client, lambda: self.discovery, addon=ADDON, **options)


@pytest.fixture
def room(client: Client, discovery: Discovery, request: pytest.FixtureRequest) -> Iterator[Room]:
    name = request.node.name.replace("_", "-")[:60].strip("-")
    client.post("/api/v1/namespaces", objects.namespace(name))
    yield Room(name, client, discovery)
    client.delete(f"/api/v1/namespaces/{name}", query={"propagationPolicy": "Background"})


def eventually(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not what():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def silent(_line: str) -> None:
    return


def unready(name: str) -> Manifest:
    return objects.deployment(name, outcome="unready")


def starts_to_work(room: Room, key: ObjectKey) -> None:
    """The pods of an unready Deployment become ready."""
    room.patch(key, {"spec": {"template": {"metadata": {"labels": {"test.io/outcome": None}}}}})


def watch_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "readiness"}


def test_one_list_and_one_watch_serve_all_objects_of_a_kind(room: Room, audit: Audit) -> None:
    keys = [room.apply(unready(f"app-{number}")) for number in range(5)]
    mark = audit.mark()

    with room.watch() as watch:
        for key in keys:
            watch.follow(key, "v1")
        eventually(lambda: {watch.state(key).reason[:6] for key in keys} == {"0 of 1"})
        for key in keys:
            starts_to_work(room, key)
        found = watch.wait(keys, SOON, silent)

    assert found == dict.fromkeys(keys, Readiness("ready"))
    asked = [one for one in audit.since(mark) if one.resource == "deployments" and one.verb in ("get", "list", "watch")]
    # The first of them may have been looked at before the others were followed.
    assert {one.verb for one in asked} == {"list", "watch"}
    assert len(asked) <= 4, [str(one) for one in asked]


def test_a_watch_that_is_cut_goes_on(room: Room, credential: Credential, tmp_path: Path) -> None:
    key = room.apply(unready("app"))
    with CutLine(credential.host) as line:
        through = Client(dataclasses.replace(credential, host=line.url), files=tmp_path)
        with room.watch(through) as watch:
            watch.follow(key, "v1")
            for _ in range(3):
                eventually(lambda: line.cut() > 0)
                assert watch.state(key).state == "waiting"
            starts_to_work(room, key)
            assert watch.wait([key], SOON, silent) == {key: Readiness("ready")}


def test_a_server_that_is_away_is_no_news(room: Room, credential: Credential, tmp_path: Path) -> None:
    key = room.apply(unready("app"))
    with CutLine(credential.host) as line:
        through = Client(dataclasses.replace(credential, host=line.url), files=tmp_path)
        with room.watch(through) as watch:
            watch.follow(key, "v1")
            eventually(lambda: watch.state(key).reason.startswith("0 of 1 replicas"))
            line.close()
            eventually(lambda: "can't be reached" in watch.state(key).reason)
            assert watch.state(key).state == "waiting"
            line.open()
            starts_to_work(room, key)
            assert watch.wait([key], SOON, silent) == {key: Readiness("ready")}


def test_who_may_list_but_not_watch_looks_again(room: Room, credential: Credential, tmp_path: Path) -> None:
    key = room.apply(unready("app"))
    reader = acting(room, credential, tmp_path, ["get", "list"])

    with room.watch(reader) as watch:
        watch.follow(key, "v1")
        eventually(lambda: watch.state(key).reason.startswith("0 of 1 replicas"))
        starts_to_work(room, key)
        assert watch.wait([key], SOON, silent) == {key: Readiness("ready")}


def test_who_may_only_get_looks_again(room: Room, credential: Credential, tmp_path: Path) -> None:
    keys = [room.apply(unready(name)) for name in ("app", "other")]
    reader = acting(room, credential, tmp_path, ["get"])

    with room.watch(reader) as watch:
        for key in keys:
            watch.follow(key, "v1")
        eventually(lambda: {watch.state(key).reason[:6] for key in keys} == {"0 of 1"})
        for key in keys:
            starts_to_work(room, key)
        assert watch.wait(keys, SOON, silent) == dict.fromkeys(keys, Readiness("ready"))


def acting(room: Room, credential: Credential, files: Path, verbs: list[str]) -> Client:
    """A client as an account that may do this with Deployments of the namespace."""
    rules = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": verbs}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"}}
    room.apply({**role, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": room.namespace}
    bound = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    room.apply({**role, "kind": "RoleBinding", "subjects": [subject], "roleRef": bound})
    return Client(credential, impersonate=f"system:serviceaccount:{room.namespace}:default", files=files)


def test_an_object_that_loses_its_label_is_followed_on(room: Room) -> None:
    key = room.apply(unready("app"))
    with room.watch() as watch:
        watch.follow(key, "v1")
        eventually(lambda: watch.state(key).reason.startswith("0 of 1 replicas"))
        room.patch(key, {"metadata": {"labels": {OWNER_LABEL: None}}})
        starts_to_work(room, key)
        assert watch.wait([key], SOON, silent) == {key: Readiness("ready")}


def test_what_is_deleted_meanwhile_is_missing(room: Room) -> None:
    key = room.apply(unready("app"))
    with room.watch() as watch:
        watch.follow(key, "v1")
        eventually(lambda: watch.state(key).reason.startswith("0 of 1 replicas"))
        room.client.delete(room.path(key), query={"propagationPolicy": "Background"})
        eventually(lambda: watch.state(key) == Readiness("waiting", "it is missing"))


def test_what_was_known_before_an_object_was_written_counts_no_more(room: Room) -> None:
    key = room.apply(objects.deployment("app"))
    with room.watch() as watch:
        watch.follow(key, "v1")
        assert watch.wait([key], SOON, silent) == {key: Readiness("ready")}
        room.apply(unready("app"))
        watch.follow(key, "v1")
        assert watch.state(key).state == "waiting"
        assert watch.wait([key], 1.0, silent)[key].state == "waiting"


def test_objects_may_be_followed_one_after_the_other(room: Room) -> None:
    with room.watch() as watch:
        keys = []
        for number in range(4):
            keys.append(room.apply(objects.deployment(f"app-{number}")))
            watch.follow(keys[-1], "v1")
            keys.append(room.apply(objects.service(f"app-{number}")))
            watch.follow(keys[-1], "v1")
        assert watch.wait(keys, SOON, silent) == dict.fromkeys(keys, Readiness("ready"))


def test_secrets_are_not_read(room: Room, audit: Audit) -> None:
    key = room.apply(objects.secret("token", data={"token": "swordfish"}))
    mark = audit.mark()
    with room.watch() as watch:
        watch.follow(key, "v1")
        assert watch.wait([key], SOON, silent) == {key: Readiness("ready")}
    assert not [one for one in audit.since(mark) if one.resource == "secrets"]


def test_everything_ends_with_the_block(room: Room) -> None:
    before = watch_threads()
    key = room.apply(unready("app"))
    with room.watch() as watch:
        watch.follow(key, "v1")
        eventually(lambda: len(watch_threads() - before) > 1)
        # The watch is under way, silent for half a minute.
        time.sleep(0.3)
        began = time.monotonic()
    assert not watch_threads() - before
    assert time.monotonic() - began < 2.0


def test_everything_ends_when_it_is_stopped(room: Room) -> None:
    before = watch_threads()
    stop = threading.Event()
    key = room.apply(unready("app"))
    with room.watch(stop=stop) as watch:
        watch.follow(key, "v1")
        eventually(lambda: watch.state(key).reason.startswith("0 of 1 replicas"))
        threading.Timer(0.5, stop.set).start()
        assert watch.wait([key], SOON, silent)[key].state == "waiting"
        eventually(lambda: not watch_threads() - before)


def test_what_is_waited_for_is_told(room: Room) -> None:
    keys = [room.apply(unready(f"app-{number}")) for number in range(5)]
    lines: list[str] = []
    with room.watch() as watch:
        for key in keys:
            watch.follow(key, "v1")
        watch.wait(keys, 2.6, lines.append)
    assert lines[0].startswith(f"waiting for 5 of 5 objects, 2 s: Deployment {room.namespace}/app-0 (0 of 1 replicas")
    assert lines[0].endswith(", and 2 more")
