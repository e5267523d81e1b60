"""The published JSON Schema of the plan is the one that the code uses, and the page about it names every field.

To write the file anew, in the checkout's folder (one line):

PYTHONPATH=collections .venv/bin/python -c "import json; from
ansible_collections.rendimiento.addons.plugins.module_utils.model.plan_document_schema import PLAN_DOCUMENT_SCHEMA;
print(json.dumps(PLAN_DOCUMENT_SCHEMA, indent=2))" > docs/plan.schema.json
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import jsonschema

from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Action, Verdict
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan_document_schema import PLAN_DOCUMENT_SCHEMA

ROOT = Path(__file__).parents[3]
SCHEMA_FILE = ROOT / "docs/plan.schema.json"
PAGE = ROOT / "docs/preview.md"


def test_published_schema_is_the_one_in_use() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == PLAN_DOCUMENT_SCHEMA


def test_published_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA_FILE.read_text()))


def test_page_names_every_field_action_and_verdict() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text()))
    assert set(_fields(PLAN_DOCUMENT_SCHEMA)) - {"op", "path", "from", "value"} <= named
    assert {*get_args(Action), *get_args(Verdict)} <= named


def test_example_of_the_page_has_the_form() -> None:
    examples = re.findall(r"^```json\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        jsonschema.Draft202012Validator(PLAN_DOCUMENT_SCHEMA).validate(json.loads(example))


def _fields(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    found = []
    for name, field in schema.get("properties", {}).items():
        found += [name, *_fields(field)]
    return [*found, *_fields(schema.get("items")), *_fields(schema.get("additionalProperties"))]
