"""Which fields of which objects a rule of a definition names."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.field_rules import (
    FieldRule,
    path_of_pointer,
    paths_for,
    why_never_ignored,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey

DEPLOYMENT = ObjectKey("apps", "Deployment", "web", "api")
SECRET = ObjectKey("", "Secret", "web", "api")


@pytest.mark.parametrize(
    ("match", "deployment", "secret"),
    [
        ({}, True, True),
        ({"kind": "Deployment"}, True, False),
        ({"group": ""}, False, True),
        ({"group": "apps", "kind": "Deployment", "namespace": "web", "name": "api"}, True, False),
        ({"namespace": "other"}, False, False),
        ({"name": "api"}, True, True),
    ],
)
def test_what_is_absent_matches_everything(match: dict[str, str], deployment: bool, secret: bool) -> None:
    rule = FieldRule.of({"pointers": ["/spec/replicas", "/data"], **match})
    assert (rule.matches(DEPLOYMENT), rule.matches(SECRET)) == (deployment, secret)
    assert paths_for([rule], DEPLOYMENT) == ([("spec", "replicas"), ("data",)] if deployment else [])


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("/spec/replicas", ("spec", "replicas")),
        ("/metadata/annotations/a.io~1b~0c", ("metadata", "annotations", "a.io/b~c")),
        ("/spec/containers/0/image", ("spec", "containers", "0", "image")),
        ("/", ("",)),
    ],
)
def test_pointers_are_read_by_rfc_6901(pointer: str, path: tuple[str, ...]) -> None:
    assert path_of_pointer(pointer) == path


@pytest.mark.parametrize(
    "pointer",
    [
        "/apiVersion",
        "/kind",
        "/metadata",
        "/metadata/name",
        "/metadata/name/x",
        "/metadata/namespace",
        "/status",
        "/status/conditions/0",
        "/metadata/labels/rendimiento.ai~1addon",
        "/metadata/annotations/rendimiento.ai~1keep",
    ],
)
def test_what_makes_the_object_ours_is_never_ignored(pointer: str) -> None:
    assert why_never_ignored(path_of_pointer(pointer))


@pytest.mark.parametrize(
    "pointer",
    [
        "/",
        "/spec",
        "/data/name",
        "/metadata/labels",
        "/metadata/annotations",
        "/metadata/finalizers",
        "/metadata/labels/app",
        "/metadata/labels/rendimiento.ai",
        "/spec/template/metadata/name",
        "/spec/template/metadata/labels/rendimiento.ai~1addon",
    ],
)
def test_anything_else_may_be_ignored(pointer: str) -> None:
    assert why_never_ignored(path_of_pointer(pointer)) == ""
