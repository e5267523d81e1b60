"""Who has an object besides the add-ons: by Helm's annotations, and by owner references."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.holders import controller_of, helm_release_of

NAME, PLACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
MANAGED = {"app.kubernetes.io/managed-by": "Helm"}
OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1"}


@pytest.mark.parametrize(
    ("metadata", "release"),
    [
        ({}, None),
        ({"annotations": None}, None),
        # Charts render the label themselves.
        ({"labels": MANAGED}, None),
        ({"annotations": {PLACE: "apps"}, "labels": MANAGED}, None),
        ({"annotations": {NAME: "", PLACE: "apps"}}, None),
        ({"annotations": {NAME: "web", PLACE: "apps"}}, ("apps", "web")),
        ({"annotations": {NAME: "web"}, "namespace": "here"}, ("here", "web")),
        ({"annotations": {NAME: "web"}}, ("", "web")),
    ],
)
def test_helm_release(metadata: dict[str, Any], release: tuple[str, str] | None) -> None:
    assert helm_release_of(metadata) == release


@pytest.mark.parametrize(
    ("owners", "controller"),
    [
        (None, ""),
        ([], ""),
        ([OWNER], ""),
        ([{**OWNER, "controller": False}], ""),
        ([OWNER, {**OWNER, "kind": "Widget", "controller": True}], "Widget web"),
    ],
)
def test_controller(owners: list[dict[str, Any]] | None, controller: str) -> None:
    assert controller_of({"metadata": {"ownerReferences": owners}}) == controller
