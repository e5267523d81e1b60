"""Who owns which field, by ``managedFields`` as an API server writes them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.managed_fields import (
    Entry,
    in_version,
    item_keys,
    members_of,
    owners_of,
    tree_at,
    union_of,
    values_of,
    within,
    without,
    without_empty,
)

CONTAINERS = [{"name": "main", "image": "a", "env": [{"name": "A", "value": "1"}]}, {"name": "other", "image": "b"}]


def entry(manager: str, fields: dict[str, Any], subresource: str = "") -> dict[str, Any]:
    found = {"manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": fields}
    return {**found, "subresource": subresource} if subresource else found


def deployment(*entries: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"containers": CONTAINERS}}
    spec = {"replicas": 3, "args": ["x"], "template": template}
    return {"metadata": {"name": "a", "finalizers": ["f"], "managedFields": list(entries)}, "spec": spec}


MAIN = 'k:{"name":"main"}'
OTHER = 'k:{"name":"other"}'


def in_containers(**items: Any) -> dict[str, Any]:
    return {"f:spec": {"f:template": {"f:spec": {"f:containers": items}}}}


@pytest.mark.parametrize(
    ("fields", "path", "owned"),
    [
        ({"f:spec": {"f:replicas": {}}}, ("spec", "replicas"), True),
        ({"f:spec": {"f:replicas": {}}}, ("spec",), True),
        ({"f:spec": {"f:replicas": {}}}, ("spec", "args"), False),
        ({"f:spec": {}}, ("spec", "replicas"), True),
        ({"f:spec": {"f:args": {}}}, ("spec", "args", "0"), True),
        (
            in_containers(**{MAIN: {".": {}, "f:image": {}}}),
            ("spec", "template", "spec", "containers", "0", "image"),
            True,
        ),
        (
            in_containers(**{MAIN: {".": {}, "f:image": {}}}),
            ("spec", "template", "spec", "containers", "1", "image"),
            False,
        ),
        (
            in_containers(**{OTHER: {".": {}, "f:env": {}}}),
            ("spec", "template", "spec", "containers", "1", "image"),
            False,
        ),
        (in_containers(**{MAIN: {}}), ("spec", "template", "spec", "containers", "9", "image"), False),
        ({"f:metadata": {"f:finalizers": {'v:"f"': {}}}}, ("metadata", "finalizers", "0"), True),
        ({"f:metadata": {"f:finalizers": {'v:"g"': {}}}}, ("metadata", "finalizers", "0"), False),
        ({}, ("spec",), False),
    ],
)
def test_owners(fields: dict[str, Any], path: tuple[str, ...], owned: bool) -> None:
    manifest = deployment(entry("one", fields), entry("two", {}))
    assert [found.manager for found in owners_of(manifest, path)] == (["one"] if owned else [])


def test_an_entry_tells_subresources_apart() -> None:
    [found] = owners_of(deployment(entry("hpa", {"f:spec": {"f:replicas": {}}}, "scale")), ("spec", "replicas"))
    assert found == Entry("hpa", "Apply", "scale", "apps/v1", {"f:spec": {"f:replicas": {}}})


def test_a_union_owns_what_any_of_them_owns() -> None:
    one: dict[str, Any] = {"f:data": {".": {}, "f:a": {}}, "f:spec": {}}
    two: dict[str, Any] = {"f:data": {"f:b": {}}, "f:spec": {"f:x": {}}}
    united = union_of([one, two])
    assert members_of(united) >= members_of(one) - {("f:spec",)} | members_of(two)
    assert ("f:spec",) in members_of(united)
    assert one == {"f:data": {".": {}, "f:a": {}}, "f:spec": {}}, "the trees are left as they are"


@pytest.mark.parametrize(
    ("absorbed", "kept", "left", "removed"),
    [
        ({"f:data": {".": {}, "f:a": {}, "f:b": {}}}, {"f:data": {"f:a": {}}}, {"data": {"a": "1"}}, [".data.b"]),
        ({"f:data": {".": {}, "f:a": {}, "f:b": {}}}, {}, {}, [".data"]),
        ({"f:data": {"f:c": {}}}, {}, {"data": {"a": "1", "b": "2"}}, []),
        ({"f:data": {"f:a": {}}}, {"f:data": {"f:a": {}}}, {"data": {"a": "1", "b": "2"}}, []),
    ],
)
def test_what_is_lost_with_absorbed_entries(
    absorbed: dict[str, Any], kept: dict[str, Any], left: dict[str, Any], removed: list[str]
) -> None:
    manifest = {"data": {"a": "1", "b": "2"}}
    assert without(manifest, [absorbed], [kept]) == (left, removed)
    assert manifest == {"data": {"a": "1", "b": "2"}}


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        ({}, {"data": {"b": "2"}}),
        ({"f:spec": {"f:one": {}}}, {"spec": {"one": {}}, "data": {"b": "2"}}),
        ({"f:spec": {"f:one": {"f:two": {}}}}, {"spec": {"one": {"two": {}}}, "data": {"b": "2"}}),
        ({"f:spec": {".": {}}}, {"spec": {}, "data": {"b": "2"}}),
    ],
)
def test_what_becomes_empty_goes_unless_somebody_owns_it(kept: dict[str, Any], left: dict[str, Any]) -> None:
    manifest = {"spec": {"one": {"two": {"three": 3}}}, "data": {"a": "1", "b": "2"}}
    absorbed: dict[str, Any] = {"f:spec": {"f:one": {"f:two": {"f:three": {}}}}, "f:data": {"f:a": {}}}
    assert without(manifest, [absorbed], [kept]) == (left, [".data.a", ".spec.one.two.three"])


def test_list_items_go_unless_somebody_owns_a_part_of_them() -> None:
    absorbed = in_containers(
        **{MAIN: {".": {}, "f:name": {}, "f:image": {}}, OTHER: {".": {}, "f:name": {}, "f:image": {}}}
    )
    ours = in_containers(**{MAIN: {".": {}, "f:name": {}, "f:image": {}}})
    manifest, removed = without(deployment(), [absorbed], [ours])
    assert [item["name"] for item in manifest["spec"]["template"]["spec"]["containers"]] == ["main"]
    assert removed == [".spec.template.spec.containers[name=other]"]
    injector = in_containers(**{OTHER: {"f:image": {}}})
    manifest, removed = without(deployment(), [absorbed], [ours, injector])
    assert manifest["spec"]["template"]["spec"]["containers"][1] == {"name": "other", "image": "b"}
    assert removed == []


def test_set_values_go_by_value() -> None:
    absorbed: dict[str, Any] = {"f:metadata": {"f:finalizers": {".": {}, 'v:"f"': {}}}}
    manifest, removed = without(deployment(), [absorbed], [{"f:metadata": {"f:finalizers": {".": {}}}}])
    assert "finalizers" not in manifest["metadata"], "a list goes with its last item"
    assert removed == ['.metadata.finalizers["f"]']


def test_what_is_empty_is_not_absorbed_and_stays() -> None:
    manifest = {"spec": {"parts": [], "limits": {}, "other": 1, "items": [{"name": "a", "env": []}]}}
    item: dict[str, Any] = {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:env": {}}}
    absorbed: dict[str, Any] = {"f:spec": {"f:parts": {}, "f:limits": {}, "f:other": {}, "f:items": item}}
    assert without_empty(absorbed, manifest) == {
        "f:spec": {"f:other": {}, "f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}
    }
    kept, removed = without(manifest, [absorbed], [{"f:spec": {".": {}, "f:items": item}}])
    assert kept == {"spec": {"parts": [], "limits": {}, "items": [{"name": "a", "env": []}]}}
    assert removed == [".spec.other"]


@pytest.mark.parametrize(
    ("fields", "path", "tree"),
    [
        ({"f:spec": {"f:replicas": {}}}, ("spec", "replicas"), {}),
        ({"f:spec": {".": {}, "f:replicas": {}}}, ("spec",), {".": {}, "f:replicas": {}}),
        ({"f:spec": {"f:replicas": {}}}, ("spec", "args"), None),
        ({"f:spec": {"f:args": {}}}, ("spec", "args", "0"), None),
        ({"f:spec": {"f:args": {'v:"x"': {}}}}, ("spec", "args", "0"), {}),
        (
            in_containers(**{MAIN: {".": {}}, OTHER: {"f:image": {}}}),
            ("spec", "template", "spec", "containers", "1"),
            {"f:image": {}},
        ),
    ],
)
def test_what_a_tree_owns_of_a_field(fields: Any, path: tuple[str, ...], tree: Any) -> None:
    assert tree_at(fields, deployment(), path) == tree


def test_the_keys_of_an_item() -> None:
    fields: dict[str, Any] = {'k:{"containerPort":53,"protocol":"UDP"}': {}, 'v:"x"': {}}
    assert item_keys(fields, {"containerPort": 53, "protocol": "UDP"}) == {"containerPort", "protocol"}
    assert item_keys(fields, {"containerPort": 53, "protocol": "TCP"}) == set()
    assert item_keys(fields, "x") == set()


TREE = {
    "f:metadata": {"f:finalizers": {'v:"f"': {}, 'v:"g"': {}}},
    "f:spec": {
        ".": {},
        "f:replicas": {},
        "f:gone": {},
        "f:template": {"f:spec": {"f:containers": {MAIN: {".": {}, "f:name": {}, "f:image": {}}, OTHER: {}}}},
    },
}


def test_values_where_a_tree_has_leaves() -> None:
    containers = ".spec.template.spec.containers"
    assert values_of(TREE, deployment()) == [
        ('.metadata.finalizers["f"]', "f"),
        (".spec.replicas", 3),
        (f"{containers}[name=main].image", "a"),
        (f"{containers}[name=other]", CONTAINERS[1]),
    ]


@pytest.mark.parametrize("value", [{}, {"spec": None}, {"spec": {"replicas": None}}, {"spec": "text"}])
def test_no_values_where_there_is_nothing(value: dict[str, Any]) -> None:
    assert values_of({"f:spec": {"f:replicas": {}}}, value) == []


def test_what_a_value_has_of_a_tree() -> None:
    found = within(TREE, deployment())
    assert members_of(TREE) - members_of(found) == {("f:spec", "f:gone"), ("f:metadata", "f:finalizers", 'v:"g"')}
    assert within({"f:spec": {"f:gone": {"f:a": {}}}}, deployment()) == {}


def test_entries_of_removed_versions_get_another_one() -> None:
    def versions(manifest: dict[str, Any]) -> list[str]:
        return [each["apiVersion"] for each in manifest["metadata"]["managedFields"]]

    old = entry("helm", {}) | {"apiVersion": "apps/v1beta1"}
    live = deployment(old, entry("kubectl", {}), old | {"subresource": "status"})
    assert versions(in_version(live, {"apps/v1beta1"}, "apps/v2")) == ["apps/v2", "apps/v1", "apps/v2"]
    assert versions(live) == ["apps/v1beta1", "apps/v1", "apps/v1beta1"]
    assert versions(in_version({"metadata": {"name": "a"}}, set(), "apps/v1")) == []
