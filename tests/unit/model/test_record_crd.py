"""The CRD of Addon records: structural, complete, and in step with the definition file's schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition_schema import DEFINITION_SCHEMA
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import Phase
from ansible_collections.rendimiento.addons.plugins.module_utils.model.record_crd import (
    FREE_FORM,
    record_crd,
    structural,
)

# The words that the API server allows beside each other inside `properties`, `items` and `additionalProperties`.
ALLOWED_KEYWORDS = {
    "additionalProperties",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
}


def version() -> dict[str, Any]:
    (only,) = record_crd()["spec"]["versions"]
    return dict(only)


def schema(*path: str) -> dict[str, Any]:
    node: dict[str, Any] = version()["schema"]["openAPIV3Schema"]
    for name in path:
        node = node["properties"][name]
    return node


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema, with the path of the value that it is about."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for keyword, step in (("items", "[]"), ("additionalProperties", "{}")):
        if keyword in node:
            yield from nodes(node[keyword], path + step)


def test_names() -> None:
    crd = record_crd()
    assert crd["metadata"]["name"] == "addons.rendimiento.ai"
    assert crd["spec"]["scope"] == "Cluster"
    assert crd["spec"]["names"]["shortNames"] == ["radd"]
    assert version()["name"] == "v1alpha1"
    assert version()["subresources"] == {"status": {}}


def test_columns() -> None:
    columns = version()["additionalPrinterColumns"]
    narrow = [column["name"] for column in columns if not column.get("priority")]
    wide = [column["name"] for column in columns if column.get("priority") == 1]
    assert narrow == ["Phase", "Healthy", "Namespace", "Revision", "Age"]
    assert wide == ["Message", "Source", "Synced"]


@pytest.mark.parametrize(("path", "node"), list(nodes(schema())))
def test_every_schema_is_structural(path: str, node: dict[str, Any]) -> None:
    assert set(node) <= ALLOWED_KEYWORDS
    assert "type" in node or node.get("x-kubernetes-preserve-unknown-fields") is True
    assert not ("properties" in node and "additionalProperties" in node)
    assert isinstance(node.get("additionalProperties", {}), dict)
    assert set(node.get("required", [])) <= set(node.get("properties", {}))
    if node.get("type") == "array":
        assert "items" in node
    if node.get("x-kubernetes-list-type") == "map":
        assert set(node["x-kubernetes-list-map-keys"]) <= set(node["items"]["required"])
    for branch in node.get("oneOf", []):
        assert set(branch) == {"required"}


def test_spec_has_every_field_of_a_definition() -> None:
    assert set(schema("spec")["properties"]) == (set(DEFINITION_SCHEMA["properties"]) - {"name"}) | {"syncRequest"}
    assert schema("spec", "syncRequest")["type"] == "integer"
    assert "name" not in schema("spec").get("required", [])
    assert "namespace" in schema("spec")["required"]


def test_spec_has_no_defaults() -> None:
    """A record says what the file says; a default would make it differ from the file at once."""
    assert not [path for path, node in nodes(schema("spec")) if "default" in node]


def test_values_are_free_and_replaced_as_a_whole() -> None:
    values = schema("spec", "values")
    assert values["x-kubernetes-preserve-unknown-fields"] is True
    assert values["x-kubernetes-map-type"] == "atomic"


def test_status_keeps_what_it_does_not_know() -> None:
    assert schema("status")["x-kubernetes-preserve-unknown-fields"] is True
    for name in ("objects", "hookRuns", "history", "conditions"):
        assert schema("status", name)["items"]["x-kubernetes-preserve-unknown-fields"] is True


def test_status_knows_the_phases() -> None:
    assert schema("status", "phase")["enum"] == list(get_args(Phase))


def test_the_manifest_is_plain_data_and_nobody_elses() -> None:
    first = record_crd()
    assert json.loads(json.dumps(first)) == first
    first["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].clear()
    assert schema("spec")["properties"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "string", "default": "x", "pattern": "^x"}, {"type": "string", "pattern": "^x"}),
        (
            {"type": "array", "uniqueItems": True},
            {"type": "array", "items": FREE_FORM},
        ),
        ({"type": ["string", "null"]}, FREE_FORM),
        ({"description": "anything"}, {"description": "anything"} | FREE_FORM),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {
                "type": "object",
                "properties": {"a": FREE_FORM, "b": FREE_FORM},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
        ),
        (
            {"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"], "minProperties": 2}, {}]},
            {"type": "object", "properties": {"a": FREE_FORM}},
        ),
    ],
)
def test_structural(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert structural(given) == expected
