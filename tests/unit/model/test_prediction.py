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
    ],
)
def test_what_the_server_makes_up_for_a_service(
    predicted: dict[str, Any], body: dict[str, Any], live: dict[str, Any] | None, shown: dict[str, Any]
) -> None:
    there = None if live is None else service(**live)
    assert without_invented(service(**predicted), service(**body), there) == service(**shown)


def test_what_the_server_makes_up_for_a_new_job() -> None:
    labels = {"batch.kubernetes.io/controller-uid": "1", "controller-uid": "1", "job-name": "a"}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}}
    predicted = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "spec": {"selector": selector, "template": {"metadata": {"labels": labels}, "spec": {}}},
    }
    shown = without_invented(predicted, {"spec": {}}, None)
    assert shown["spec"] == {"template": {"metadata": {"labels": {"job-name": "a"}}, "spec": {}}}
    assert without_invented(predicted, {"spec": {"manualSelector": True}}, None) == predicted
    assert without_invented(predicted, {"spec": {}}, predicted) == predicted
