"""What a value of any type is as a mapping or a list."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.shapes import list_of, mapping_of, mappings_of


@pytest.mark.parametrize(
    ("value", "mapping", "items", "mappings"),
    [
        pytest.param({"a": None}, {"a": None}, [], [], id="a mapping"),
        pytest.param([{"a": 1}, "b", {}, None, [{}]], {}, [{"a": 1}, "b", {}, None, [{}]], [{"a": 1}, {}], id="a list"),
        pytest.param({}, {}, [], [], id="an empty mapping"),
        pytest.param([], {}, [], [], id="an empty list"),
        pytest.param(None, {}, [], [], id="nothing"),
        pytest.param("text", {}, [], [], id="text"),
        pytest.param(({},), {}, [], [], id="a tuple is no list of JSON"),
        pytest.param(0, {}, [], [], id="a number"),
    ],
)
def test_shapes(value: Any, mapping: dict[str, Any], items: list[Any], mappings: list[dict[str, Any]]) -> None:
    assert mapping_of(value) == mapping
    assert list_of(value) == items
    assert mappings_of(value) == mappings


def test_what_is_of_the_shape_is_not_copied() -> None:
    mapping: dict[str, Any] = {}
    items = [mapping]
    assert mapping_of(mapping) is mapping
    assert list_of(items) is items
    assert mappings_of(items)[0] is mapping
