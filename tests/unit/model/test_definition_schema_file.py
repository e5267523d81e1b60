"""The published JSON Schema is the one that the code uses, and the page about it names every field.

To write the file anew, in the checkout's folder (one line):

PYTHONPATH=collections .venv/bin/python -c "import json; from
ansible_collections.rendimiento.addons.plugins.module_utils.model.definition_schema import DEFINITION_SCHEMA;
print(json.dumps(DEFINITION_SCHEMA, indent=2))" > docs/definition.schema.json
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition_schema import DEFINITION_SCHEMA

ROOT = Path(__file__).parents[3]
SCHEMA_FILE = ROOT / "docs/definition.schema.json"
PAGE = ROOT / "docs/definition.md"
EXAMPLES = sorted((ROOT / "examples/gitops/addons").glob("*.yaml"))


def test_published_schema_is_the_one_in_use() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == DEFINITION_SCHEMA


def test_published_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA_FILE.read_text()))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_definitions_satisfy_it(path: Path) -> None:
    jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text())).validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize(("number", "valid"), [(100, True), (101, False)])
def test_patches_have_an_end(number: int, valid: bool) -> None:
    definition = {"name": "a", "namespace": "a", "git": {"path": "a"}, "patches": [{"path": "p.yaml"}] * number}
    assert jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text())).is_valid(definition) is valid


def test_page_lists_every_field() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text()))
    assert set(_fields(DEFINITION_SCHEMA)) <= named


def test_page_gives_the_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE.read_text().partition("### ")[0], re.MULTILINE)
    given = {name: text.strip().strip("`") for name, text in rows}
    assert given.keys() == DEFINITION_SCHEMA["properties"].keys()
    for name, schema in DEFINITION_SCHEMA["properties"].items():
        if "default" in schema:
            assert given[name] == json.dumps(schema["default"])


def _fields(schema: dict[str, Any]) -> list[str]:
    found = []
    for name, field in schema.get("properties", {}).items():
        found += [name, *_fields(field), *_fields(field.get("items") or {})]
    return found
