"""Which values schemas are all in one file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.values_schema import (
    is_values_schema,
    leads_elsewhere,
)

META = "http://json-schema.org/draft-07/schema#"
OUTSIDE = [
    "https://charts.example.com/x.json#/a",
    "http://127.0.0.1/x",
    "https://json-schema.org.example.com/x",
    "https://json-schema.org@127.0.0.1/x",
    "https://json-schema.org\\@127.0.0.1/x",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "//127.0.0.1/x",
    "/etc/passwd",
    "etc/passwd#/a",
    "../../etc/passwd",
    "",
    " #/a",
    "urn:x",
]


@pytest.mark.parametrize("key", ["$ref", "$dynamicRef", "$recursiveRef"])
@pytest.mark.parametrize(
    ("value", "elsewhere"),
    [*((one, True) for one in OUTSIDE), *((one, False) for one in (META, "#", "#/a/b", "#anchor"))],
)
def test_references(key: str, value: str, elsewhere: bool) -> None:
    assert leads_elsewhere(json.dumps({"properties": {"a": [{"items": {key: value}}]}})) is elsewhere


@pytest.mark.parametrize(
    ("value", "elsewhere"),
    [*((one, True) for one in (*OUTSIDE, "#")), (META, False), ("https://json-schema.org/draft/2020-12/schema", False)],
)
def test_the_schema_of_a_schema(value: str, elsewhere: bool) -> None:
    assert leads_elsewhere(json.dumps({"$schema": META, "properties": {"a": {"$schema": value}}})) is elsewhere


@pytest.mark.parametrize(
    ("schema", "elsewhere"),
    [
        ({}, False),
        ({"$id": "https://charts.example.com/x", "$ref": "#/a"}, False),
        ({"properties": {"$ref": {"type": "string"}}}, False),
        ({"description": "see https://charts.example.com"}, False),
    ],
)
def test_what_is_no_reference(schema: Any, elsewhere: bool) -> None:
    assert leads_elsewhere(json.dumps(schema)) is elsewhere


@pytest.mark.parametrize(
    "text",
    [
        '{"$ref": "file:///etc/passwd", "$ref": "#/a"}',
        '{"$ref": "#/a", "$ref": "file:///etc/passwd"}',
        '{"\\u0024ref": "file:///etc/passwd"}',
        '\ufeff{"$ref": "/etc/passwd"}',
        # What this reader can't read, another one may.
        "{",
        "[" * 100_000,
        "",
    ],
)
def test_what_may_be_read_otherwise_leads_elsewhere(text: str) -> None:
    assert leads_elsewhere(text)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("c/values.schema.json", True),
        ("values.schema.json", True),
        ("c/charts/d/values.schema.json", True),
        ("c/my-values.schema.json", False),
    ],
)
def test_where_schemas_are(path: str, found: bool) -> None:
    assert is_values_schema(path) is found
