"""Identity of objects: group, kind, namespace and name, never the version."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import (
    ObjectKey,
    join_api_version,
    key_of,
    split_api_version,
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("v1", ("", "v1")),
        ("apps/v1", ("apps", "v1")),
        ("a.b.io/v1beta1", ("a.b.io", "v1beta1")),
        ("apps/", ("apps", "")),
    ],
)
def test_api_versions(text: str, parts: tuple[str, str]) -> None:
    assert split_api_version(text) == parts
    if parts[1]:
        assert join_api_version(*parts) == text


@pytest.mark.parametrize(
    ("manifest", "key", "text"),
    [
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "w"}},
         ("", "Pod", "w", "a"), "Pod w/a"),
        ({"apiVersion": "x.io/v2", "kind": "K", "metadata": {"name": "a"}}, ("x.io", "K", "", "a"), "K a"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": None}},
         ("", "Pod", "", "a"), "Pod a"),
    ],
)  # fmt: skip
def test_keys(manifest: dict[str, Any], key: tuple[str, str, str, str], text: str) -> None:
    made = key_of(manifest)
    assert (made, str(made), made.group_kind) == (ObjectKey(*key), text, key[:2])
    assert ObjectKey.from_json(made.to_json()) == made


def test_versions_of_a_kind_are_one_object_and_groups_are_not() -> None:
    def key(api_version: str) -> ObjectKey:
        return key_of({"apiVersion": api_version, "kind": "Ingress", "metadata": {"name": "a", "namespace": "w"}})

    assert key("networking.k8s.io/v1beta1") == key("networking.k8s.io/v1")
    assert key("networking.k8s.io/v1") != key("extensions/v1")
    assert sorted([key("b.io/v1"), key("a.io/v1")]) == [key("a.io/v1"), key("b.io/v1")]
