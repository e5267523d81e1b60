"""Aggregated discovery: what is read from it, what stale means, and the paths of objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import (
    Discovery,
    Resource,
    path_of,
    read_discovery,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import ClusterError

ALL_VERBS = ["create", "delete", "get", "list", "patch"]


def resource(plural: str, kind: str, scope: str = "Namespaced", verbs: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "resource": plural,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": scope,
        "verbs": ALL_VERBS if verbs is None else verbs,
        **more,
    }


GROUPS: list[dict[str, Any]] = [
    {
        "metadata": {},
        "versions": [
            {
                "version": "v1",
                "freshness": "Current",
                "resources": [
                    resource("pods", "Pod", subresources=[{"subresource": "log"}, {"subresource": "status"}]),
                    resource("namespaces", "Namespace", "Cluster"),
                ],
            }
        ],
    },
    {
        "metadata": {"name": "autoscaling"},
        "versions": [
            {"version": "v2", "resources": [resource("horizontalpodautoscalers", "HorizontalPodAutoscaler")]},
            {"version": "v1", "resources": [resource("horizontalpodautoscalers", "HorizontalPodAutoscaler")]},
        ],
    },
    {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]},
    {"metadata": {"name": "custom.metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Current"}]},
    {
        "metadata": {"name": "project.openshift.io"},
        "versions": [
            {
                "version": "v1",
                "resources": [
                    resource("projectrequests", "Project", "Cluster", ["create"]),
                    resource("projects", "Project", "Cluster"),
                    {"resource": "odd", "scope": "Cluster", "verbs": ["get"]},
                ],
            }
        ],
    },
]


@pytest.fixture
def discovery() -> Discovery:
    return read_discovery("v1.37.2", GROUPS)


def test_kinds_are_found_by_group_version_and_kind(discovery: Discovery) -> None:
    assert discovery.find("", "v1", "Pod") == Resource(
        "", "v1", "Pod", "pods", True, tuple(ALL_VERBS), ("log", "status")
    )
    assert discovery.find("", "v1", "pods") is None
    assert discovery.find("apps", "v1", "Pod") is None


def test_the_order_of_versions_is_the_preference_of_the_server(discovery: Discovery) -> None:
    assert discovery.versions_of("autoscaling", "HorizontalPodAutoscaler") == ["v2", "v1"]
    preferred = discovery.preferred("autoscaling", "HorizontalPodAutoscaler")
    assert preferred is not None
    assert preferred.api_version == "autoscaling/v2"
    assert discovery.preferred("autoscaling", "Nothing") is None


def test_of_several_resources_with_one_kind_the_one_that_holds_objects_counts(discovery: Discovery) -> None:
    found = discovery.find("project.openshift.io", "v1", "Project")
    assert found is not None
    assert found.plural == "projects"


def test_stale_is_unknown_and_not_absent(discovery: Discovery) -> None:
    assert discovery.stale == ["metrics.k8s.io/v1beta1"]
    assert discovery.group_is_stale("metrics.k8s.io")
    assert not discovery.group_is_stale("custom.metrics.k8s.io")
    assert not discovery.group_is_stale("")


def test_a_stale_core_group_is_told_apart() -> None:
    stale = read_discovery("v1", [{"metadata": {}, "versions": [{"version": "v1", "freshness": "Stale"}]}])
    assert stale.group_is_stale("")
    assert not stale.group_is_stale("v1")


def test_api_list_for_helm(discovery: Discovery) -> None:
    versions = discovery.api_versions()

    assert versions[:3] == ["v1", "autoscaling/v2", "autoscaling/v1"]
    assert "custom.metrics.k8s.io/v1beta1" in versions
    assert "metrics.k8s.io/v1beta1" not in versions
    assert {"v1/Pod", "autoscaling/v1/HorizontalPodAutoscaler"} <= set(versions)
    assert len(versions) == len(set(versions))


def test_json_and_back(discovery: Discovery) -> None:
    assert Discovery.from_json(json.loads(json.dumps(discovery.to_json()))) == discovery


PODS = Resource("", "v1", "Pod", "pods", True, (), ())
ROLES = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", False, (), ())


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, ("web", "a"), "/api/v1/namespaces/web/pods/a"),
        (PODS, ("web", "a", "log"), "/api/v1/namespaces/web/pods/a/log"),
        (PODS, ("web",), "/api/v1/namespaces/web/pods"),
        (PODS, (), "/api/v1/pods"),
        (ROLES, ("", "system:node"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"),
        (ROLES, ("web", "a"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/a"),
        (ROLES, ("", "a/b?c"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%2Fb%3Fc"),
    ],
)
def test_paths(resource: Resource, arguments: tuple[str, ...], path: str) -> None:
    assert path_of(resource, *arguments) == path


def test_an_object_of_a_namespaced_kind_needs_its_namespace() -> None:
    with pytest.raises(ClusterError, match="Pod a: has no namespace"):
        path_of(PODS, "", "a")
