"""Single fields of an object, by path."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.fields import (
    NOTHING,
    emptied_in,
    place_in,
    value_at,
    with_value,
    without_fields,
)

OBJECT: dict[str, Any] = {"spec": {"replicas": 3, "containers": [{"name": "main"}, {"name": "other"}], "none": None}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "replicas"), 3),
        (("spec", "none"), None),
        (("spec", "containers", "1", "name"), "other"),
        (("spec", "containers", "2"), NOTHING),
        (("spec", "containers", "01"), NOTHING),
        (("spec", "containers", "-"), NOTHING),
        (("spec", "containers", "name"), NOTHING),
        (("spec", "replicas", "x"), NOTHING),
        (("status",), NOTHING),
        ((), OBJECT),
    ],
)
def test_value_at_a_path(path: tuple[str, ...], value: Any) -> None:
    found = value_at(OBJECT, path)
    assert found is value or found == value


@pytest.mark.parametrize(
    ("live", "path", "place"),
    [
        ({"a": {"b": 1}}, ("a", "b"), ("a", "b")),
        ({"a": {}}, ("a", "b"), ("a", "b")),
        ({}, ("a", "b"), None),
        ({"a": {"b": 1}}, ("a", "x"), None),
        ({"l": [{"name": "y"}, {"name": "x", "v": 1}]}, ("l", "0", "v"), ("l", "1", "v")),
        ({"l": [{"name": "y"}]}, ("l", "0", "v"), None),
        ({"m": [1]}, ("m", "0"), ("m", "0")),
        ({"m": [1, 2]}, ("m", "0"), None),
        ({"m": []}, ("m", "0"), None),
        ({"m": [1]}, ("m", "7"), None),
    ],
)
def test_the_same_field_in_another_state(live: Any, path: tuple[str, ...], place: tuple[str, ...] | None) -> None:
    body = {"a": {"b": 2}, "l": [{"name": "x", "v": 2}], "m": [3]}
    assert place_in(live, body, path) == place


def test_a_volume_that_is_mounted_twice_is_found_by_where() -> None:
    body = {"m": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]}
    live = {"m": [{"name": "v", "mountPath": "/b", "readOnly": True}, {"name": "v", "mountPath": "/a"}]}
    assert place_in(live, body, ("m", "0")) == ("m", "1")
    assert place_in(live, body, ("m", "1")) == ("m", "0")


def test_copies_differ_in_one_field() -> None:
    assert with_value({"a": [{"b": 1}]}, ("a", "0", "b"), 2) == {"a": [{"b": 2}]}
    assert with_value({"a": [{"b": 1}, 5]}, ("a", "0"), NOTHING) == {"a": [5]}
    assert with_value({"a": {}}, ("a", "new"), {}) == {"a": {"new": {}}}
    original = {"a": {"b": 1, "c": 2}, "d": [1, 2, 3]}
    assert without_fields(original, [("a", "b"), ("d", "2"), ("d", "0")]) == {"a": {"c": 2}, "d": [2]}
    assert original == {"a": {"b": 1, "c": 2}, "d": [1, 2, 3]}


@pytest.mark.parametrize(
    ("body", "live", "paths"),
    [
        ({"a": {}}, {"a": {"x": 1}}, [("a",)]),
        ({"a": []}, {"a": [1]}, [("a",)]),
        ({"a": {}}, {"a": {}}, []),
        ({"a": {}}, {}, []),
        ({"a": []}, {"a": {"x": 1}}, []),
        (
            {"l": [{"name": "b", "e": {}}]},
            {"l": [{"name": "a", "e": {}}, {"name": "b", "e": {"x": 1}}]},
            [("l", "0", "e")],
        ),
        (
            {"l": [{"key": "k", "e": {}}, {"key": "k", "e": {"y": 1}}]},
            {"l": [{"key": "k", "e": {}}, {"key": "k", "e": {"x": 1}}]},
            [],
        ),
        ({"l": [{"e": {}}]}, {"l": [{"e": {"x": 1}}, {"e": {}}]}, []),
    ],
)
def test_what_gets_empty(body: Any, live: Any, paths: list[tuple[str, ...]]) -> None:
    assert list(emptied_in(body, live)) == paths
