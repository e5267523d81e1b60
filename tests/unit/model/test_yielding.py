"""Fields that are left as they are in the cluster: what is sent for them, and what is told."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.fields import without_fields
from ansible_collections.rendimiento.addons.plugins.module_utils.model.managed_fields import Entry
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import YieldedField
from ansible_collections.rendimiento.addons.plugins.module_utils.model.yielding import (
    placeholders_of,
    yielded,
)

OURS = {"manager": "rendimiento-addons", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
SCALER = {"manager": "hpa", "operation": "Update", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
KUBECTL = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
REPLICAS = ("spec", "replicas")


def live(replicas: int | None, *entries: dict[str, Any]) -> dict[str, Any]:
    spec = {} if replicas is None else {"replicas": replicas}
    return {"metadata": {"managedFields": list(entries)}, "spec": {**spec, "other": 1}}


@pytest.mark.parametrize(
    ("there", "sent", "told"),
    [
        pytest.param(live(7, OURS), 7, [YieldedField(".spec.replicas", "", "why")], id="ours alone: its live value"),
        pytest.param(live(7), 7, [YieldedField(".spec.replicas", "", "why")], id="nobody's: its live value"),
        pytest.param(live(7, SCALER), None, [YieldedField(".spec.replicas", "hpa", "why")], id="another's: left out"),
        pytest.param(live(3, SCALER), None, [], id="another's and equal: left out, nothing to tell"),
        pytest.param(live(3, OURS), 3, [], id="equal"),
        pytest.param(live(None), None, [YieldedField(".spec.replicas", "", "why")], id="gone: stays gone"),
        pytest.param(live(7, KUBECTL), 7, [YieldedField(".spec.replicas", "", "why")], id="absorbed: its live value"),
    ],
)
def test_a_field_that_is_left_alone(there: dict[str, Any], sent: int | None, told: list[YieldedField]) -> None:
    body = {"spec": {"replicas": 3, "other": 2}}
    made, found = yielded(body, there, [(REPLICAS, "why")], [Entry.of(KUBECTL)])
    assert made == {"spec": {"other": 2} if sent is None else {"replicas": sent, "other": 2}}
    assert found == told
    assert body == {"spec": {"replicas": 3, "other": 2}}


def test_paths_into_nothing_are_passed_over() -> None:
    body = {"spec": {"replicas": 3}}
    for path in (("spec", "none"), ("spec", "replicas", "0"), ("x", "y"), ()):
        assert yielded(body, live(7), [(path, "why")]) == (body, [])


def test_items_of_a_list_are_found_by_their_name() -> None:
    body = {"spec": {"containers": [{"name": "b", "image": "new"}, {"name": "c", "image": "new"}]}}
    there = {
        "metadata": {},
        "spec": {"containers": [{"name": "a", "image": "old a"}, {"name": "b", "image": "old b"}]},
    }
    paths = [(("spec", "containers", str(number), "image"), "why") for number in range(2)]
    made, told = yielded(body, there, paths)
    assert made["spec"]["containers"] == [{"name": "b", "image": "old b"}, {"name": "c", "image": "new"}]
    assert [one.field for one in told] == [".spec.containers[0].image"]


def test_false_is_not_zero() -> None:
    there = {"metadata": {}, "spec": {"on": 0}}
    made, told = yielded({"spec": {"on": False}}, there, [(("spec", "on"), "why")])
    assert made == {"spec": {"on": 0}}
    assert len(told) == 1


# Mappings and lists of which others own a part


def entry(manager: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"manager": manager, "operation": "Apply" if manager == "rendimiento-addons" else "Update",
            "fieldsV1": fields}  # fmt: skip


def ours(fields: dict[str, Any]) -> dict[str, Any]:
    return entry("rendimiento-addons", fields)


def theirs(fields: dict[str, Any]) -> dict[str, Any]:
    return entry("other", fields)


def with_fields(field: str, value: Any, *entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(entries)}, field: value}


@pytest.mark.parametrize(
    ("wanted", "there", "own", "others", "sent", "told"),
    [
        pytest.param({"a": "1", "b": "1"}, {"a": "2", "b": "1", "c": "3"}, {"f:a": {}, "f:b": {}}, {"f:c": {}},
                     {"a": "2", "b": "1"}, True, id="a key of somebody else is beside ours"),
        pytest.param({"a": "1"}, {"a": "1", "c": "3"}, {".": {}, "f:a": {}}, {"f:c": {}},
                     {"a": "1"}, False, id="what others added is no difference"),
        pytest.param({"a": "1"}, {"a": "1", "b": "2"}, {"f:a": {}, "f:b": {}}, {"f:c": {}},
                     {"a": "1", "b": "2"}, True, id="what left the source stays"),
        pytest.param({"a": "1", "b": "1"}, {"a": "2", "b": "2"}, {"f:a": {}, "f:b": {}}, {"f:a": {}, "f:b": {}},
                     None, True, id="others own all that is ours"),
        pytest.param({"a": "1", "b": "1"}, {"a": "2", "b": "2"}, {"f:a": {}, "f:b": {}}, {"f:a": {}},
                     {"b": "2"}, True, id="others own some that is ours"),
        pytest.param({"a": "1"}, {"a": "1", "x": "default"}, {"f:a": {}}, None,
                     {"a": "1"}, False, id="what nobody owns is not made ours"),
        pytest.param({"a": "1"}, {"a": "2"}, None, {"f:a": {}}, None, True, id="nothing of it is ours"),
        pytest.param({"a": "1"}, {"a": "2", "x": "3"}, None, None, {"a": "2", "x": "3"}, True, id="nobody's"),
        pytest.param({"m": {}}, {"m": {"x": "1"}}, {"f:m": {".": {}}}, None,
                     {"m": {}}, False, id="an empty mapping that is ours"),
        pytest.param({"m": {"a": 1}}, {"m": {"a": 1, "c": 2}}, {"f:m": {}}, {"f:m": {"f:c": {}}},
                     {"m": {"a": 1}}, False, id="all of a mapping is ours, but for a part"),
        pytest.param({"l": [1, 2]}, {"l": [3]}, {"f:l": {}}, None, {"l": [3]}, True, id="a list with one owner"),
        pytest.param({"l": [1, 2]}, {"l": [3]}, {"f:l": {}}, {"f:l": {}}, None, True, id="a list with two owners"),
        pytest.param(
            {"l": [{"name": "a", "v": 1}]},
            {"l": [{"name": "b", "v": 1}, {"name": "a", "v": 2, "w": 3}]},
            {"f:l": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:v": {}}}},
            {"f:l": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:w": {}}, 'k:{"name":"b"}': {".": {}, "f:name": {}}}},
            {"l": [{"name": "a", "v": 2}]}, True, id="an item with its key, without that of others",
        ),
        pytest.param(
            {"l": [{"name": "a"}]}, {"l": [{"name": "a", "w": 3}]},
            {"f:l": {'k:{"name":"a"}': {".": {}, "f:name": {}}}},
            {"f:l": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:w": {}}}},
            None, False, id="an item that others hold as well",
        ),
        pytest.param({"l": ["a", "b"]}, {"l": ["a", "c"]}, {"f:l": {'v:"a"': {}}}, {"f:l": {'v:"c"': {}}},
                     {"l": ["a"]}, True, id="a set"),
    ],
)  # fmt: skip
def test_of_what_is_left_alone_just_our_part_is_sent(
    wanted: Any, there: Any, own: Any, others: Any, sent: Any, told: bool
) -> None:
    entries = [ours({"f:data": own})] if own is not None else []
    entries += [theirs({"f:data": others})] if others is not None else []
    made, found = yielded({"data": wanted}, with_fields("data", there, *entries), [(("data",), "why")])
    assert made == ({} if sent is None else {"data": sent})
    assert bool(found) == told


def test_absorbed_parts_are_ours() -> None:
    old = entry("kubectl", {"f:data": {"f:a": {}, "f:b": {}}})
    there = with_fields("data", {"a": "1", "b": "2", "c": "3"}, ours({"f:data": {"f:a": {}}}), old,
                        theirs({"f:data": {"f:c": {}}}))  # fmt: skip
    made, _told = yielded({"data": {"a": "0"}}, there, [(("data",), "why")], [Entry.of(old)])
    assert made == {"data": {"a": "1", "b": "2"}}


RULES = [{"host": "live", "path": "/live"}]


@pytest.mark.parametrize(
    ("entries", "manager"),
    [
        pytest.param([theirs({"f:rules": {}})], "other", id="somebody else's"),
        pytest.param([ours({"f:rules": {}})], "", id="ours"),
        pytest.param([], "", id="nobody's"),
    ],
)
def test_in_a_list_with_one_owner_the_live_value_is_sent(entries: list[Any], manager: str) -> None:
    body = {"rules": [{"host": "source", "path": "/source"}]}
    made, told = yielded(body, with_fields("rules", RULES, *entries), [(("rules", "0", "host"), "why")])
    assert made == {"rules": [{"host": "live", "path": "/source"}]}
    assert told == [YieldedField(".rules[0].host", manager, "why")]


@pytest.mark.parametrize(
    ("there", "path", "sent"),
    [
        pytest.param({"l": [{"name": "b"}]}, ("l", "0", "v"), {"l": [{"name": "a", "v": 1}]}, id="a new item"),
        pytest.param({}, ("l", "0", "v"), {"l": [{"name": "a", "v": 1}]}, id="a new list"),
        pytest.param({"l": [{"name": "a"}]}, ("l", "0", "v"), {"l": [{"name": "a"}]}, id="a field that was removed"),
        pytest.param({"l": [{"name": "b"}]}, ("l", "0"), {"l": []}, id="an item that was removed"),
        pytest.param({"l": [{}, {}]}, ("l", "0"), {"l": [{"name": "a", "v": 1}]}, id="one can't tell which item"),
        pytest.param({"l": []}, ("l", "0", "v"), {"l": [{"name": "a", "v": 1}]}, id="all items were removed"),
    ],
)
def test_a_field_of_a_new_item_is_sent_as_the_source_has_it(there: Any, path: tuple[str, ...], sent: Any) -> None:
    body = {"l": [{"name": "a", "v": 1}]}
    made, told = yielded(body, {"metadata": {}, **there}, [(path, "why")])
    assert made == sent
    assert bool(told) == (made != body)


def test_indices_are_those_of_the_source_however_many_go() -> None:
    items = [{"name": name} for name in ("a", "b", "c", "d", *map(str, range(9)))]
    there = with_fields("l", [{"name": "b", "v": 1}], theirs({"f:l": {'k:{"name":"b"}': {"f:name": {}, "f:v": {}}}}))
    paths = [(("l", str(number)), "why") for number in (0, 1, 12, 3, 1)]
    made, told = yielded({"l": items}, there, paths)
    assert [item["name"] for item in made["l"]] == ["c", *map(str, range(8))]
    assert [one.field for one in told] == [".l[0]", ".l[12]", ".l[3]"]


def test_arguments_are_left_by_their_index() -> None:
    there = with_fields("args", ["x", "y", "z"], ours({"f:args": {}}))
    made, _told = yielded({"args": ["a", "b", "c"]}, there, [(("args", "0"), "why"), (("args", "1"), "why")])
    assert made == {"args": ["x", "y", "c"]}


def test_a_path_within_another_says_nothing_more() -> None:
    there = with_fields("data", {"a": "2"}, theirs({"f:data": {"f:a": {}}}))
    for paths in ([("data",), ("data", "a")], [("data", "a"), ("data",)]):
        made, told = yielded({"data": {"a": "1"}, "x": 1}, there, [(path, "why") for path in paths])
        assert made == {"x": 1}
        assert told == [YieldedField(".data", "other", "why")]


# Certificates


def webhooks(*bundles: Any) -> dict[str, Any]:
    configs = [{"name": str(number), "clientConfig": {"caBundle": bundle}} for number, bundle in enumerate(bundles)]
    kind = "ValidatingWebhookConfiguration"
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "webhooks": configs}


def test_b20_a_ca_bundle_that_is_none_is_a_placeholder() -> None:
    real = base64.b64encode(b"-----BEGIN").decode()
    manifest = webhooks("", "Cg==", "\n", None, real)
    manifest["webhooks"].append({"name": "none", "clientConfig": {}})
    found = placeholders_of(manifest)
    assert found == [("webhooks", str(number), "clientConfig", "caBundle") for number in range(4)]
    left = without_fields(manifest, found)["webhooks"]
    assert [one["clientConfig"] for one in left] == [{}, {}, {}, {}, {"caBundle": real}, {}]


@pytest.mark.parametrize(
    ("api_version", "kind", "spec"),
    [
        ("apiregistration.k8s.io/v1", "APIService", {"caBundle": ""}),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            {"conversion": {"webhook": {"clientConfig": {"caBundle": "Cg=="}}}},
        ),
    ],
)
def test_placeholders_of_other_kinds(api_version: str, kind: str, spec: dict[str, Any]) -> None:
    assert len(placeholders_of({"apiVersion": api_version, "kind": kind, "spec": spec})) == 1
    assert placeholders_of({"apiVersion": "v1", "kind": kind, "spec": spec}) == []
