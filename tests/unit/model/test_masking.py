"""No secret value comes through, and equality stays visible."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.masking import (
    Placeholders,
    mask_object,
    mask_text,
    secret_values,
)

PLACEHOLDERS = Placeholders(b"key of the cluster")
ONE, TWO = PLACEHOLDERS.of("one-value"), PLACEHOLDERS.of("two-value")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}


def test_placeholders_are_keyed_and_stable() -> None:
    assert PLACEHOLDERS.of("a") == Placeholders(b"key of the cluster").of(b"a") == "<secret 02eeec78>"
    assert PLACEHOLDERS.of("a") != PLACEHOLDERS.of("b")
    assert PLACEHOLDERS.of("a") != Placeholders(b"another").of("a")


@pytest.mark.parametrize(
    ("manifest", "masked"),
    [
        (secret(data={"a": encoded("one-value"), "b": encoded("two-value")}), secret(data={"a": ONE, "b": TWO})),
        (secret(stringData={"a": "one-value"}), secret(stringData={"a": ONE})),
        (secret(data={"a": "not base64!"}), secret(data={"a": PLACEHOLDERS.of("not base64!")})),
        (secret(data={"a": 5}, stringData=None), secret(data={"a": PLACEHOLDERS.of("5")}, stringData=None)),
        (secret(data="one-value"), secret(data=PLACEHOLDERS.of("one-value"))),
        (
            {"apiVersion": "v1", "kind": "List", "items": [secret(data={"a": encoded("one-value")}), "x"]},
            {"apiVersion": "v1", "kind": "List", "items": [secret(data={"a": ONE}), "x"]},
        ),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "one-value"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "one-value"}},
        ),
        (
            {"apiVersion": "x.io/v1", "kind": "Secret", "data": {"a": "one-value"}},
            {"apiVersion": "x.io/v1", "kind": "Secret", "data": {"a": "one-value"}},
        ),
        (
            {"kind": "A", "metadata": {"name": "a", "annotations": {LAST_APPLIED: "{}", "b": "c"}}},
            {"kind": "A", "metadata": {"name": "a", "annotations": {"b": "c"}}},
        ),
        (
            {"kind": "A", "metadata": {"name": "a", "annotations": {LAST_APPLIED: "{}"}}},
            {"kind": "A", "metadata": {"name": "a"}},
        ),
        ({"kind": "A", "metadata": None}, {"kind": "A", "metadata": None}),
        ({}, {}),
    ],
)
def test_objects(manifest: dict[str, Any], masked: dict[str, Any]) -> None:
    original = json.dumps(manifest)
    assert mask_object(manifest, PLACEHOLDERS) == masked
    assert json.dumps(manifest) == original


@pytest.mark.parametrize(
    ("manifest", "values"),
    [
        (secret(data={"a": encoded("one-value")}), {"one-value", encoded("one-value")}),
        (secret(stringData={"a": "one-value"}), {"one-value"}),
        ({"kind": "SecretList", "items": [secret(stringData={"a": "one-value"})]}, {"one-value"}),
        ({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "one-value"}}, set()),
    ],
)
def test_values_of_secrets(manifest: dict[str, Any], values: set[str]) -> None:
    assert secret_values(manifest) == values


@pytest.mark.parametrize(
    ("text", "secrets", "masked"),
    [
        ('Invalid value: "hunter2"', ["hunter2"], 'Invalid value: "<secret>"'),
        (f"data is {encoded('hunter2')}", ["hunter2"], "data is <secret>"),
        ("hunter22 and hunter2", ["hunter2", "hunter22"], "<secret> and <secret>"),
        (r'value "line\none \"é\""', ['line\none "é"'], 'value "<secret>"'),
        ("a.*b axxb", ["a.*b"], "<secret> axxb"),
        ("abc of abc", ["abc", ""], "abc of abc"),
        ("nothing", [], "nothing"),
    ],
)
def test_texts(text: str, secrets: list[str], masked: str) -> None:
    assert mask_text(text, secrets) == masked
