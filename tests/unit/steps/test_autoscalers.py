"""What scales a workload, as far as one may see it, and how often the server is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import ClusterError
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.autoscalers import Autoscalers
from tests.unit.cluster.small_server import SmallServer, forbidden
from tests.unit.steps.made_run import MadeRun, key

ALL = "/apis/autoscaling/v2/horizontalpodautoscalers"
OWN = "/apis/autoscaling/v2/namespaces/web/horizontalpodautoscalers"
REFUSED = forbidden("somebody", "horizontalpodautoscalers.autoscaling")
WEB = key("web", "Deployment", "apps")


def autoscaler(target: str, namespace: str = "web", **reference: str) -> dict[str, Any]:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target, **reference}}
    return {"metadata": {"name": f"for-{target}", "namespace": namespace}, "spec": spec}


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {}, "items": list(items)}


@pytest.fixture
def server() -> Iterator[SmallServer]:
    server = SmallServer()
    yield server
    server.close()


@pytest.fixture
def autoscalers(run: MadeRun, server: SmallServer) -> Callable[..., Autoscalers]:
    def made(*brought: dict[str, Any]) -> Autoscalers:
        kind = Resource(
            "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", True, ("list",), ("status",)
        )
        run.credential = Credential(server.url)
        return Autoscalers(run.serves(kind).session, brought)

    return made


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ([autoscaler("other"), autoscaler("web")], "HorizontalPodAutoscaler for-web"),
        ([autoscaler("other")], ""),
        ([autoscaler("web", namespace="other")], ""),
        ([autoscaler("web", kind="StatefulSet")], ""),
        ([autoscaler("web", apiVersion="x.io/v1")], ""),
        ([], ""),
    ],
)
def test_an_autoscaler_names_what_it_scales(
    autoscalers: Callable[..., Autoscalers], server: SmallServer, items: list[Any], found: str
) -> None:
    server.answers = {ALL: listed(*items)}
    assert autoscalers().scaler_of(WEB) == found


def test_what_comes_with_the_add_on_needs_no_list(autoscalers: Callable[..., Autoscalers], server: SmallServer) -> None:
    metadata = {"name": "events", "namespace": "web"}
    spec = {"scaleTargetRef": {"name": "web"}}
    keda = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": spec}
    assert autoscalers(keda).scaler_of(WEB) == "ScaledObject events"
    assert server.asked == []


def test_without_the_right_to_see_all_those_of_the_namespace_are_looked_at(
    autoscalers: Callable[..., Autoscalers], server: SmallServer
) -> None:
    server.answers = {ALL: REFUSED, OWN: listed(autoscaler("web"))}
    found = autoscalers()
    assert found.scaler_of(WEB) == "HorizontalPodAutoscaler for-web"
    assert found.scaler_of(key("other", "Deployment", "apps")) == ""
    assert server.asked == [ALL, OWN]


def test_without_any_right_it_is_not_known(autoscalers: Callable[..., Autoscalers], server: SmallServer) -> None:
    server.answers = {ALL: REFUSED, OWN: REFUSED}
    found = autoscalers()
    for _attempt in range(2):
        with pytest.raises(ClusterError):
            found.scaler_of(WEB)
    assert server.asked == [ALL, OWN]


def test_many_threads_ask_once(autoscalers: Callable[..., Autoscalers], server: SmallServer) -> None:
    server.answers = {ALL: listed(autoscaler("web"))}
    found = autoscalers()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(found.scaler_of, [WEB] * 32))
    assert set(results) == {"HorizontalPodAutoscaler for-web"}
    assert server.asked == [ALL]
