"""What an apply that can't be dry-run is expected to do."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.prediction import overlaid, without_invented


@pytest.mark.parametrize(
    ("live", "body", "predicted"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"spec": {"kept": 1, "set": 1}}, {"spec": {"set": 2}}, {"spec": {"kept": 1, "set": 2}}),
        ({"spec": {"list": [1, 2]}}, {"spec": {"list": [3]}}, {"spec": {"list": [3]}}),
        ({"spec": None}, {"spec": {"set": 1}}, {"spec": {"set": 1}}),
        ({"spec": {"map": {"a": 1}}}, {"spec": {"map": "text"}}, {"spec": {"map": "text"}}),
    ],
)
def test_the_body_lies_over_the_live_object(
    live: dict[str, Any], body: dict[str, Any], predicted: dict[str, Any]
) -> None:
    before = repr((live, body))
    assert overlaid(live, body) == predicted
    assert repr((live, body)) == before


def service(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "spec": spec}


@pytest.mark.parametrize(
    ("predicted", "body", "live", "shown"),
    [
        pytest.param(
            {"clusterIP": "10.0.0.0", "clusterIPs": ["10.0.0.0"], "ports": [{"port": 80}]},
            {"ports": [{"port": 80}]},
            None,
            {"ports": [{"port": 80}]},
            id="a new address",
        ),
        pytest.param(
            {"clusterIP": "None"}, {"clusterIP": "None"}, None, {"clusterIP": "None"}, id="one that is stated"
        ),
        pytest.param({"clusterIP": "10.0.0.7"}, {}, {"clusterIP": "10.0.0.7"}, {"clusterIP": "10.0.0.7"}, id="there"),
        pytest.param(
            {
                "ports": [
                    {"port": 80, "protocol": "TCP", "nodePort": 32769},
                    {"port": 53, "protocol": "UDP", "nodePort": 30053},
                ]
            },
            {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP", "nodePort": 30053}]},
            None,
            {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP", "nodePort": 30053}]},
            id="a node port that is made up and one that is stated",
        ),
        pytest.param(
            {"ports": [{"port": 80, "nodePort": 31000}, {"port": 81, "nodePort": 32769}]},
            {"ports": [{"port": 80}, {"port": 81}]},
            {"ports": [{"port": 80, "nodePort": 31000}]},
            {"ports": [{"port": 80, "nodePort": 31000}, {"port": 81}]},
            id="one that is there stays",
        ),
        pytest.param(
            {"clusterIP": "10.96.0.0", "clusterIPs": ["10.96.0.0"], "ports": [{"port": 80}]},
            {"clusterIP": "", "clusterIPs": [], "ports": [{"port": 80}]},
            None,
            {"ports": [{"port": 80}]},
            id="an empty address asks for one",
        ),
        pytest.param(
            {"clusterIP": "10.96.0.0", "clusterIPs": ["10.96.0.0"]},
            {"clusterIP": None, "clusterIPs": None},
            None,
            {},
            id="so does null",
        ),
        pytest.param(
            {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7", "fd00::1"]},
            {"clusterIP": "10.96.0.7"},
            None,
            {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"]},
            id="the first of two addresses is stated",
        ),
        pytest.param(
            {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7", "fd00::1"]},
            {},
            {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"]},
            {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"]},
            id="a second address for one that is there",
        ),
        pytest.param(
            {"ports": [{"port": 80, "protocol": "TCP", "nodePort": 32769}, {"port": 81, "nodePort": 32770}]},
            {"ports": [{"port": 80, "nodePort": 0}, {"port": 81, "nodePort": None}]},
            {"ports": [{"port": 80, "nodePort": 0}]},
            {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 81}]},
            id="node ports of zero and null ask for one",
        ),
        pytest.param(
            {"healthCheckNodePort": 32770}, {"healthCheckNodePort": 0}, {"healthCheckNodePort": 0}, {}, id="health port"
        ),
        pytest.param(
            {"healthCheckNodePort": 32770},
            {"healthCheckNodePort": 32770},
            None,
            {"healthCheckNodePort": 32770},
            id="a health port that is stated",
        ),
    ],
)
def test_what_the_server_makes_up_for_a_service(
    predicted: dict[str, Any], body: dict[str, Any], live: dict[str, Any] | None, shown: dict[str, Any]
) -> None:
    there = None if live is None else service(**live)
    assert without_invented(service(**predicted), service(**body), there) == service(**shown)


def made(kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    api_version = "batch/v1" if kind == "Job" else "v1"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", **metadata}, "spec": spec}


def job(uid: str) -> dict[str, Any]:
    uids = {"batch.kubernetes.io/controller-uid": uid}
    labels = {**uids, "controller-uid": uid, "job-name": "a"}
    template = {"metadata": {"labels": labels}, "spec": {}}
    return made("Job", {"selector": {"matchLabels": uids}, "template": template}, labels=labels)


def pod(volume: str, **more: Any) -> dict[str, Any]:
    mount = {"name": volume, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
    container = {"name": "c", "volumeMounts": [mount]}
    first = {"name": "i", "volumeMounts": [{"name": "own", "mountPath": "/own"}, mount]}
    volumes = [{"name": "own", "emptyDir": {}}, {"name": volume, "projected": {"sources": []}}]
    return made("Pod", {"containers": [container], "initContainers": [first], "volumes": volumes, **more})


OWN_POD = made(
    "Pod",
    {
        "containers": [{"name": "c"}],
        "initContainers": [{"name": "i", "volumeMounts": [{"name": "own", "mountPath": "/own"}]}],
        "volumes": [{"name": "own", "emptyDir": {}}],
    },
)
PLAIN_POD = made("Pod", {"containers": [{"name": "c"}]})


@pytest.mark.parametrize(
    ("one", "other", "body", "shown"),
    [
        pytest.param(
            job("1"),
            job("2"),
            made("Job", {"template": {"spec": {}}}),
            made(
                "Job", {"template": {"metadata": {"labels": {"job-name": "a"}}, "spec": {}}}, labels={"job-name": "a"}
            ),
            id="the uid of a job",
        ),
        pytest.param(pod("kube-api-access-m5j29"), pod("kube-api-access-cmz2q"), OWN_POD, OWN_POD, id="a token"),
        pytest.param(
            made("Pod", {"containers": [{"name": "c"}], "volumes": [{"name": "kube-api-access-m5j29"}]}),
            made("Pod", {"containers": [{"name": "c"}], "volumes": [{"name": "kube-api-access-cmz2q"}]}),
            PLAIN_POD,
            PLAIN_POD,
            id="a token as the only volume",
        ),
        pytest.param(
            service(
                clusterIP="10.96.0.0", clusterIPs=["10.96.0.0"], healthCheckNodePort=32770, ports=[{"nodePort": 1}]
            ),
            service(
                clusterIP="10.96.0.1", clusterIPs=["10.96.0.1"], healthCheckNodePort=32771, ports=[{"nodePort": 2}]
            ),
            service(),
            service(ports=[{}]),
            id="a load balancer with externalTrafficPolicy Local",
        ),
    ],
)
def test_two_dry_runs_of_a_new_object_show_the_same(
    one: dict[str, Any], other: dict[str, Any], body: dict[str, Any], shown: dict[str, Any]
) -> None:
    """What differed between dry-run creates of Kubernetes 1.37. Nothing did, but uids and times, for CronJob, PVC, CSR,
    Secret with the token of a ServiceAccount, ReplicationController, the kinds of apps/v1 and 25 other kinds."""
    assert without_invented(one, body, None) == without_invented(other, body, None) == shown


@pytest.mark.parametrize(
    ("predicted", "body", "live"),
    [
        pytest.param(job("1"), made("Job", {"manualSelector": True}), None, id="a selector that is stated"),
        pytest.param(job("1"), made("Job", {}), job("1"), id="a job that is there"),
        pytest.param(pod("kube-api-access-m5j29"), OWN_POD, pod("kube-api-access-m5j29"), id="a pod that is there"),
        pytest.param(pod("kube-api-access-m5j29"), pod("kube-api-access-m5j29"), None, id="a volume that is stated"),
        pytest.param(pod("kube-api-access"), OWN_POD, None, id="a volume of a controller with another name"),
        pytest.param(service(clusterIP="None", clusterIPs=["None"]), service(clusterIP="None"), None, id="headless"),
        pytest.param(
            service(clusterIP="10.96.0.5", clusterIPs=["10.96.0.5"]),
            service(clusterIPs=["10.96.0.5"]),
            None,
            id="a stated list of addresses",
        ),
    ],
)
def test_what_is_stated_or_there_is_shown(
    predicted: dict[str, Any], body: dict[str, Any], live: dict[str, Any] | None
) -> None:
    assert without_invented(predicted, body, live) == predicted
