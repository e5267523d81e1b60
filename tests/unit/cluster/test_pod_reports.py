"""What is wrong with a workload's pods: which of them tells, and what it logged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.pod_reports import (
    Trouble,
    last_lines,
    trouble_of_workload,
)
from tests.loopback import Exchange, Loopback

PODS = "/api/v1/namespaces/space/pods"
SETS = "/apis/apps/v1/namespaces/space/replicasets"


class Server(Loopback):
    """Lists by path, and texts of logs: by pod, and ``pod previous`` for those before the last restart."""

    def __init__(self) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.logs: dict[str, str] = {}
        self.asked: list[str] = []
        super().__init__(self._answer)

    def _answer(self, request: Exchange) -> None:
        url = urlsplit(request.path)
        query = parse_qs(url.query)
        self.asked.append(f"{url.path} {query.get('labelSelector', [''])[0]}".strip())
        if url.path.endswith("/log"):
            name = url.path.split("/")[-2] + (" previous" if "previous" in query else "")
            found = self.logs.get(name)
            request.reply(200, found.encode()) if found is not None else request.reply(400, b"no such log")
        elif url.path in self.lists:
            body = {"metadata": {}, "items": self.lists[url.path]}
            request.reply(200, json.dumps(body).encode(), "application/json")
        else:
            request.reply(403, b'{"kind":"Status"}', "application/json")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def client(server: Server) -> Client:
    return Client(Credential(server.url))


def workload(kind: str, selector: Any, **more: Any) -> dict[str, Any]:
    version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    metadata = {"name": "a", "namespace": "space", "uid": "top", **more.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"selector": selector}, **more}


def pod(name: str, reason: str = "", owner: str = "top", **labels: str) -> dict[str, Any]:
    waiting = [{"name": "c", "state": {"waiting": {"reason": reason}}}] if reason else []
    return {
        "metadata": {"name": name, "labels": labels, "ownerReferences": [{"uid": owner}]},
        "status": {"phase": "Pending", "containerStatuses": waiting},
    }


def replica_set(uid: str, revision: str, owner: str = "top") -> dict[str, Any]:
    annotations = {"deployment.kubernetes.io/revision": revision}
    return {"metadata": {"name": uid, "uid": uid, "annotations": annotations, "ownerReferences": [{"uid": owner}]}}


LABELS = {"matchLabels": {"app": "a"}}


def test_only_pods_of_a_deployments_last_change_count(server: Server, client: Client) -> None:
    server.lists[SETS] = [replica_set("old", "9"), replica_set("new", "10"), replica_set("foreign", "99", "other")]
    server.lists[PODS] = [pod("was-bad", "CrashLoopBackOff", "old"), pod("x", "CrashLoopBackOff", "foreign")]
    deployment = workload("Deployment", LABELS)
    assert trouble_of_workload(client, deployment) is None

    server.lists[PODS].append(pod("is-bad", "ImagePullBackOff", "new"))
    assert trouble_of_workload(client, deployment) == Trouble("is-bad", "container c: ImagePullBackOff", "c")


@pytest.mark.parametrize(
    ("manifest", "new", "old"),
    [
        (
            workload("StatefulSet", LABELS, status={"updateRevision": "b"}),
            {"controller-revision-hash": "b"},
            {"controller-revision-hash": "a"},
        ),
        (
            workload("DaemonSet", LABELS, metadata={"annotations": {"deprecated.daemonset.template.generation": "10"}}),
            {"pod-template-generation": "10"},
            {"pod-template-generation": "9"},
        ),
    ],
    ids=["StatefulSet", "DaemonSet"],
)
def test_pods_of_the_last_change_come_first(
    server: Server, client: Client, manifest: dict[str, Any], new: dict[str, str], old: dict[str, str]
) -> None:
    before = pod("before", "CrashLoopBackOff", **old)
    server.lists[PODS] = [before, pod("now", "ErrImagePull", **new)]
    assert trouble_of_workload(client, manifest) == Trouble("now", "container c: ErrImagePull", "c")

    # A rollout may not get on because of a pod that it has not come to.
    server.lists[PODS] = [before]
    assert trouble_of_workload(client, manifest) == Trouble("before", "container c: CrashLoopBackOff", "c")


def test_the_pod_that_tells_most_is_named(server: Server, client: Client) -> None:
    crashing = pod("b", "CrashLoopBackOff")
    crashing["status"]["containerStatuses"][0]["restartCount"] = 2
    hopeless = pod("c", "InvalidImageName")
    unscheduled = pod("d")
    unscheduled["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes fit"}]
    ready = pod("e")
    ready["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    job = workload("Job", LABELS)
    server.lists[PODS] = [ready]
    expected = [
        (unscheduled, Trouble("d", "0/3 nodes fit")),
        (pod("a", "ErrImagePull"), Trouble("a", "container c: ErrImagePull", "c")),
        (crashing, Trouble("b", "container c: CrashLoopBackOff, 2 restarts", "c", restarted=True)),
        (hopeless, Trouble("c", "container c: InvalidImageName", "c", final=True)),
    ]
    for more, found in expected:
        server.lists[PODS].append(more)
        assert trouble_of_workload(client, job) == found


@pytest.mark.parametrize(
    ("kind", "selector", "query"),
    [
        ("Job", {"matchLabels": {"a": "b", "c": "d"}}, "a=b,c=d"),
        ("ReplicationController", {"a": "b"}, "a=b"),
        (
            "ReplicaSet",
            {
                "matchLabels": {"a": "b"},
                "matchExpressions": [
                    {"key": "t", "operator": "In", "values": ["x", "y"]},
                    {"key": "u", "operator": "NotIn", "values": ["z"]},
                    {"key": "v", "operator": "Exists"},
                    {"key": "w", "operator": "DoesNotExist"},
                ],
            },
            "a=b,t in (x,y),u notin (z),v,!w",
        ),
    ],
)
def test_pods_are_found_by_the_selector(server: Server, client: Client, kind: str, selector: Any, query: str) -> None:
    server.lists[PODS] = [pod("a", "ErrImagePull"), pod("b", "CrashLoopBackOff", owner="other")]
    found = trouble_of_workload(client, workload(kind, selector))
    assert found is not None and found.pod == "a"
    assert server.asked == [f"{PODS} {query}"]


def test_who_may_not_read_pods_is_told_nothing_of_them(client: Client) -> None:
    assert trouble_of_workload(client, workload("Job", LABELS)) is None


def test_the_end_of_a_log_is_bounded_and_does_nothing_to_a_terminal(server: Server, client: Client) -> None:
    lines = [f"line {number}" for number in range(20)]
    server.logs["a"] = "\n".join([*lines, "", "\x1b[31mred\x1b[0m\tand\x07 loud", "x" * 5000])
    found = last_lines(client, "space", Trouble("a", "", "c"))
    assert found == ["line 17", "line 18", "line 19", "red and  loud", "x" * 199 + "…"]


def test_what_a_container_logged_before_its_restart_tells_more(server: Server, client: Client) -> None:
    server.logs |= {"a": "starting", "a previous": "no database"}
    assert last_lines(client, "space", Trouble("a", "", "c", restarted=True)) == ["no database"]
    assert last_lines(client, "space", Trouble("a", "", "c")) == ["starting"]
    del server.logs["a previous"]
    assert last_lines(client, "space", Trouble("a", "", "c", restarted=True)) == ["starting"]


def test_nothing_is_said_about_logs_that_can_not_be_read(server: Server, client: Client) -> None:
    assert last_lines(client, "space", Trouble("a", "", "c", restarted=True)) == []
    assert last_lines(client, "space", Trouble("a", "not scheduled")) == []
    assert len(server.asked) == 2
