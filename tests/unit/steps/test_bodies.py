"""What is sent for an object that is there already, and what is told of the fields that stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import BundleObject
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import YieldedField
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.bodies import Bodies, Body
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.schemas import Schemas
from tests.unit.cluster.small_server import SmallServer, forbidden
from tests.unit.steps.made_run import MadeRun, config

AUTOSCALERS = "/apis/autoscaling/v2/horizontalpodautoscalers"
IN_NAMESPACE = "/apis/autoscaling/v2/namespaces/web/horizontalpodautoscalers"
REFUSED = forbidden("somebody", "horizontalpodautoscalers.autoscaling")
OWNER = {"rendimiento.ai/addon": "web"}
SCALER = {"metadata": {"name": "hpa", "namespace": "web"}, "spec": {"scaleTargetRef": {"name": "app"}}}

Make = Callable[..., Body]


@pytest.fixture
def server() -> Iterator[SmallServer]:
    server = SmallServer()
    server.answers = {AUTOSCALERS: {"metadata": {}, "items": []}}
    yield server
    server.close()


@pytest.fixture
def made(run: MadeRun, server: SmallServer) -> Make:
    """The body for a manifest and what is live."""

    def body(
        manifest: dict[str, Any],
        live: dict[str, Any] | None,
        *ignore: str,
        second: dict[str, Any] | None = None,
    ) -> Body:
        rules = [{"pointers": list(ignore)}] if ignore else []
        kinds = [
            ("apps", "v1", "Deployment", "deployments", ("status", "scale")),
            ("x.io", "v1", "Widget", "widgets", ("status",)),
            ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", ("status",)),
        ]
        resources = [Resource(*row[:4], True, ("get", "list"), row[4]) for row in kinds]
        run.credential = Credential(server.url)
        session = run.serves(*resources).add("web", ignore=rules).session
        bodies = Bodies(session, "web", Schemas(session, []), [])
        return bodies.of(BundleObject(manifest, "a.yaml", second=second), live, [])

    return body


def marked(manifest: dict[str, Any], labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    metadata = {**manifest["metadata"], **more}
    return {**manifest, "metadata": {**metadata, "labels": labels} if labels is not None else metadata}


def entry(manager: str, operation: str, fields: dict[str, Any], subresource: str = "") -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, "subresource": subresource}


def ours(fields: dict[str, Any]) -> dict[str, Any]:
    return entry("rendimiento-addons", "Apply", fields)


# Our own marks


@pytest.mark.parametrize(
    ("there", "entries", "labels"),
    [
        pytest.param(None, [], OWNER, id="there were none"),
        pytest.param({"app": "y"}, [], {"app": "y", **OWNER}, id="somebody's object"),
        pytest.param({"rendimiento.ai/addon": "old"}, [], OWNER, id="of another add-on"),
        pytest.param(
            {"app": "y"}, [entry("other", "Update", {"f:metadata": {"f:labels": {"f:app": {}}}})], OWNER, id="others'"
        ),
    ],
)
def test_ignored_labels_are_left_but_for_our_own(
    made: Make, there: dict[str, str] | None, entries: list[Any], labels: dict[str, str]
) -> None:
    live = marked(config("a"), there, managedFields=entries)
    body = made(marked(config("a"), {"app": "x", **OWNER}), live, "/metadata/labels")
    assert body.manifest["metadata"]["labels"] == labels


def test_our_own_marks_are_no_difference(made: Make) -> None:
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {"f:app": {}, "f:rendimiento.ai/addon": {}}}}
    live = marked(config("a"), {"app": "x", **OWNER}, managedFields=[ours(fields)])
    source = marked(config("a"), {"app": "x", **OWNER})
    assert made(source, live, "/metadata/labels") == Body(source)
    assert made(source, marked(config("a"), {"app": "x"}), "/metadata/labels") == Body(source)


def test_our_annotations_are_those_of_the_source(made: Make) -> None:
    kept = {"rendimiento.ai/keep": "true"}
    live = marked(config("a"), annotations={"x": "1", "rendimiento.ai/depends-on": "old"})
    body = made(marked(config("a"), OWNER, annotations={"x": "0", **kept}), live, "/metadata/annotations")
    assert body.manifest["metadata"]["annotations"] == {"x": "1", **kept}


# What a chart makes up


def test_made_up_fields_that_stay_are_told_and_not_notable(made: Make) -> None:
    first, second, live = (config("a", data={"r": value, "s": value[:1]}) for value in ("1", "12", "1x"))
    body = made(first, live, second=second)
    assert body.manifest["data"] == live["data"]
    assert body.yields == [YieldedField(".data.r", "", "made up by the chart")]
    assert [one.notable for one in body.yields] == [False]


def test_made_up_fields_that_are_rendered_as_they_are_live_are_not_told(made: Make) -> None:
    first, second = (config("a", data={"r": value}) for value in "12")
    assert made(first, first, second=second).yields == []


# Replicas


def deployment(replicas: int, *entries: dict[str, Any], kind: str = "Deployment") -> dict[str, Any]:
    metadata = {"name": "app", "namespace": "web", "managedFields": list(entries)}
    version = "apps/v1" if kind == "Deployment" else "x.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"replicas": replicas, "x": 1}}


FIELDS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
BY_HPA = entry("kube-controller-manager", "Update", FIELDS, "scale")
BY_HAND = entry("kubectl", "Update", FIELDS, "scale")
SCALED = {"metadata": {}, "items": [SCALER]}


@pytest.mark.parametrize(
    ("live", "listed", "sent", "reason", "asked"),
    [
        pytest.param(deployment(3), SCALED, 3, "", False, id="equal"),
        pytest.param(deployment(5), None, 3, "", True, id="nothing scales it"),
        pytest.param(deployment(5), SCALED, 5, "scaled by HorizontalPodAutoscaler hpa", True, id="an autoscaler does"),
        pytest.param(deployment(5, BY_HPA), None, None, "scaled by kube-controller-manager", False, id="it owns it"),
        pytest.param(deployment(3, ours(FIELDS), BY_HPA), None, None, "", False, id="it owns it, equal"),
        pytest.param(deployment(5, BY_HAND), None, 3, "", True, id="a person scaled it"),
        pytest.param(deployment(3, BY_HAND), SCALED, None, "", True, id="a person and an autoscaler, equal"),
        pytest.param(deployment(5, kind="Widget"), SCALED, 3, "", False, id="its kind can't be scaled"),
    ],
)
def test_replicas_of_what_is_scaled_stay(
    made: Make, server: SmallServer, live: dict[str, Any], listed: Any, sent: int | None, reason: str, asked: bool
) -> None:
    if listed:
        server.answers = {AUTOSCALERS: listed}
    body = made(deployment(3, kind=live["kind"]), live)
    assert body.manifest["spec"].get("replicas") == sent
    assert [one.reason for one in body.yields] == ([reason] if reason else [])
    assert body.doubt == ""
    assert (server.asked == [AUTOSCALERS]) == asked


def test_replicas_stay_when_autoscalers_may_not_be_seen(made: Make, server: SmallServer) -> None:
    server.answers = {AUTOSCALERS: REFUSED, IN_NAMESPACE: REFUSED}
    body = made(deployment(3), deployment(5))
    assert body.manifest["spec"]["replicas"] == 5
    assert body.doubt == (
        "it may be autoscaled, and that can't be seen: "
        'user "somebody" may not list horizontalpodautoscalers.autoscaling'
    )
    assert body.yields == [YieldedField(".spec.replicas", "", body.doubt)]


def test_equal_replicas_leave_no_doubt(made: Make, server: SmallServer) -> None:
    server.answers = {AUTOSCALERS: REFUSED, IN_NAMESPACE: REFUSED}
    body = made(deployment(3), deployment(3, BY_HAND))
    assert (body.doubt, body.yields) == ("", [])


def test_an_object_that_is_new_is_sent_whole(made: Make, server: SmallServer) -> None:
    source = deployment(3)
    assert made(source, None, "/spec/replicas") == Body(source)
    assert server.asked == []
