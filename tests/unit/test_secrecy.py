"""The search for secret values after the integration tests finds them in every form, and knows which there were."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from tests.integration.secrecy import MARKERS, PUBLIC, SECRET_VALUES, note, traces

VALUE = "correct horse battery"
KEY = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\nAwEHBG0wawIBAQQg\n-----END PRIVATE KEY-----\n"
SETTINGS = "level: info\npassword: x8Kd72mQp0Lz9Rt4\nport: 5000\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder to search; all tests of a run are searched in the end, so nothing stays of it."""
    made = tmp_path / "run"
    (made / SECRET_VALUES).mkdir(parents=True)
    yield made
    shutil.rmtree(made)


def secret(**values: str) -> dict[str, Any]:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": encoded}


def files_with_traces(folder: Path) -> list[str]:
    return sorted({line.split(":")[0] for line in traces(folder)})


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user:"])
@pytest.mark.parametrize("value", [*MARKERS, VALUE])
def test_every_form_is_found(folder: Path, value: str, before: str) -> None:
    (folder / SECRET_VALUES / "secrets.jsonl").write_text(json.dumps(secret(a=VALUE)))
    text = f"{before}{value}-and more"
    forms = [
        text,
        base64.b64encode(text.encode()).decode(),
        quote(text),
        base64.b64encode(text.encode())[:-3].decode(),
    ]
    for number, form in enumerate(forms):
        (folder / f"{number}.log").write_text(f"error: {form}.")
    assert files_with_traces(folder) == [f"{number}.log" for number in range(len(forms))]


def test_where_secrets_have_to_be_is_left_out(folder: Path) -> None:
    (folder / "scene/gitops").mkdir(parents=True)
    (folder / "scene/gitops/a.yaml").write_text(MARKERS[0])
    (folder / SECRET_VALUES / "secrets.jsonl").write_text(json.dumps(secret(a=VALUE)))
    assert list(traces(folder)) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("a.jsonl", json.dumps({"type": "DELETED", "object": secret(a=VALUE)}), id="watched"),
        pytest.param("a.jsonl", f'\n{json.dumps(secret(a=VALUE))}\n{{"type": "ADD', id="watch that was cut off"),
        pytest.param("a.jsonl", json.dumps({"kind": "SecretList", "items": [{"data": secret(a=VALUE)["data"]}]})),
        pytest.param("a.yaml", yaml.safe_dump({"kind": "List", "items": [secret(a=VALUE)]}), id="list in git"),
        pytest.param("a.yaml", f"kind: ConfigMap\n---\nkind: Secret\nstringData: {{a: {VALUE}}}", id="rendered"),
        pytest.param("a.yaml", f"{{{{ Secret }}}}: [\n---\nkind: Secret\nstringData: {{a: {VALUE}}}", id="unreadable"),
    ],
)
def test_values_without_a_marker_are_known_from_their_secrets(folder: Path, name: str, content: str) -> None:
    values = folder / "scene" / SECRET_VALUES
    values.mkdir(parents=True)
    (values / name).write_text(content)
    (folder / "output.txt").write_text(f"it is {VALUE}")
    assert files_with_traces(folder) == ["output.txt"]


def test_values_that_a_test_notes_are_looked_for(folder: Path) -> None:
    note(folder, VALUE)
    note(folder, "another one")
    (folder / "1.txt").write_text(VALUE)
    (folder / "2.txt").write_text("another one")
    assert files_with_traces(folder) == ["1.txt", "2.txt"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (KEY, "    MIGHAgEAMBMGByqGSM49\n"),
        (KEY, KEY),
        (KEY, json.dumps(KEY)),
        (KEY, base64.b64encode(KEY.encode()).decode()),
        (SETTINGS, "x8Kd72mQp0Lz9Rt4"),
        ('with "quotes"', json.dumps({"a": 'with "quotes"'})),
        ("ß straße", json.dumps({"a": "ß straße"})),
        ("1234", "is 1234."),
        ("1234", "MTIzNA=="),
    ],
)
def test_parts_of_a_value_are_found(folder: Path, value: str, told: str) -> None:
    (folder / SECRET_VALUES / "secrets.jsonl").write_text(json.dumps(secret(a=value)))
    (folder / "output.txt").write_text(told)
    assert files_with_traces(folder) == ["output.txt"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (KEY, "-----BEGIN PRIVATE KEY-----"),
        (SETTINGS, "port: 5000"),
        ("abc", "abc"),
        ("1234", "91234f"),
        ("change-me", base64.b64encode(b"change it").decode()),
        *((name, name) for name in PUBLIC),
    ],
)
def test_what_is_no_secret_is_not(folder: Path, value: str, told: str) -> None:
    (folder / SECRET_VALUES / "secrets.jsonl").write_text(json.dumps(secret(a=value)))
    (folder / "output.txt").write_text(told)
    assert list(traces(folder)) == []
