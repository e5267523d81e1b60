"""No secret value comes through, and equality stays visible."""

from __future__ import annotations

import base64
import gzip
import json
import random
import string
import textwrap
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.difference import difference
from ansible_collections.rendimiento.addons.plugins.module_utils.model.field_rules import FieldRule
from ansible_collections.rendimiento.addons.plugins.module_utils.model.masking import (
    Mask,
    Placeholders,
)

PLACEHOLDERS = Placeholders(b"key of the cluster")
MASK = Mask(PLACEHOLDERS)
ONE, TWO = PLACEHOLDERS.of("one-value"), PLACEHOLDERS.of("two-value")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}


def config_map(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": data}


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
        # What a server lists does not say what it is.
        (
            {"apiVersion": "v1", "kind": "SecretList", "items": [{"data": {"a": encoded("b")}}, "x"]},
            {"apiVersion": "v1", "kind": "SecretList", "items": [{"data": {"a": PLACEHOLDERS.of("b")}}, "x"]},
        ),
        # Within something else.
        (
            {"apiVersion": "x.io/v1", "kind": "A", "spec": {"objects": [{"object": secret(stringData={"a": "b"})}]}},
            {
                "apiVersion": "x.io/v1",
                "kind": "A",
                "spec": {"objects": [{"object": secret(stringData={"a": PLACEHOLDERS.of("b")})}]},
            },
        ),
        # A Secret's own values in other fields of it.
        (
            secret(data={"a": encoded("one-value")}, metadata={"name": "s", "labels": {"x": "is one-value"}}),
            secret(data={"a": ONE}, metadata={"name": "s", "labels": {"x": f"is {ONE}"}}),
        ),
        (config_map(a="one-value"), config_map(a="one-value")),
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
    assert MASK.object(manifest) == masked
    assert json.dumps(manifest) == original


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (LAST_APPLIED, json.dumps(secret(data={"a": encoded("one-value")}))),
        ("kapp.k14s.io/original", "data:\n  a: x\n"),
        ("objectset.rio.cattle.io/applied", encoded("anything")),
        ("unknown.io/copy", json.dumps({"data": {"old": "value that is not there any more"}})),
        ("unknown.io/packed", base64.b64encode(gzip.compress(b"one-value", mtime=0)).decode()),
    ],
)
def test_b21_copies_of_a_secret_in_its_annotations_are_hidden(annotation: str, text: str) -> None:
    manifest = secret(metadata={"name": "s", "annotations": {annotation: text, "note": "rotated by hand"}})
    annotations = MASK.object(manifest)["metadata"]["annotations"]
    assert annotations.pop("note") == "rotated by hand"
    assert annotations in ({}, {annotation: PLACEHOLDERS.of(text)})


def test_b21_a_preview_shows_that_values_differ_and_no_value() -> None:
    """A Secret of client-side apply meets a source with ``stringData``."""
    live = secret(data={"a": encoded("one"), "b": encoded("two")})
    live["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(secret(stringData={"a": "one", "b": "two"}))}
    source = secret(data={"a": encoded("one"), "b": encoded("three"), "c": encoded("four")})
    change = difference(live, source, MASK)
    assert sorted((operation["op"], operation["path"]) for operation in change.patch) == [
        ("add", "/data/c"),
        ("replace", "/data/b"),
    ]
    seen = f"{change}{change.unified('s')}"
    assert not [value for text in ("one", "two", "three", "four") for value in (text, encoded(text)) if value in seen]
    assert f"   a: {PLACEHOLDERS.of('one')}\n" in change.unified("s")
    assert f"-  b: {PLACEHOLDERS.of('two')}\n+  b: {PLACEHOLDERS.of('three')}\n" in change.unified("s")


RULES = [
    FieldRule.of({"kind": "ConfigMap", "namespace": "shop", "pointers": ["/data/token", "/data/map", "/nothing/here"]}),
    FieldRule.of({"kind": "Other", "pointers": ["/data/plain"]}),
    FieldRule.of({"pointers": ["/spec/list/1", "/spec/a~1b"]}),
]


@pytest.mark.parametrize(
    ("manifest", "masked"),
    [
        (
            config_map(token="one-value", plain="x", map={"k": "two-value", "l": [None, "one-value"]}),
            config_map(token=ONE, plain="x", map={"k": TWO, "l": [None, ONE]}),
        ),
        ({**config_map(token="x"), "kind": "Third"}, {**config_map(token="x"), "kind": "Third"}),
        (
            {"kind": "A", "spec": {"list": ["one-value", "two-value"], "a/b": 7}},
            {"kind": "A", "spec": {"list": ["one-value", TWO], "a/b": PLACEHOLDERS.of("7")}},
        ),
        ({"kind": "A", "spec": "text"}, {"kind": "A", "spec": "text"}),
        (
            {"kind": "List", "items": [config_map(token="one-value"), "x", config_map(token="two-value")]},
            {"kind": "List", "items": [config_map(token=ONE), "x", config_map(token=TWO)]},
        ),
        # A Secret is hidden already, by its content.
        (secret(data={"token": encoded("one-value")}), secret(data={"token": ONE})),
    ],
)
def test_fields_that_the_definition_names(manifest: dict[str, Any], masked: dict[str, Any]) -> None:
    secrets = FieldRule.of({"kind": "Secret", "pointers": ["/data/token"]})
    assert Mask(PLACEHOLDERS, [*RULES, secrets]).object(manifest) == masked


def test_known_values_are_hidden_wherever_they_stand() -> None:
    mask = Mask(PLACEHOLDERS, RULES).with_secrets_of(
        [secret(data={"a": encoded("one-value"), "pin": encoded("7391846205")}), config_map(token="two-value")]
    )
    other = {
        "apiVersion": "x.io/v1",
        "kind": "Thing",
        "metadata": {"name": "one", "annotations": {"a": f"x{encoded('one-value')}"}},
        "spec": {
            "env": [{"name": "A", "value": "user:one-value@host"}],
            "pin": 7391846205,
            "url": "http://x/two%2Dvalue",
        },
    }
    assert mask.object(other) == {
        **other,
        "metadata": {"name": "one", "annotations": {"a": f"x{ONE}"}},
        "spec": {
            "env": [{"name": "A", "value": f"user:{ONE}@host"}],
            "pin": PLACEHOLDERS.of("7391846205"),
            "url": "http://x/two%2Dvalue",
        },
    }
    assert mask.text(f"quotes one-value and {encoded('two-value')}") == f"quotes {ONE} and {TWO}"
    assert MASK.text("quotes one-value") == "quotes one-value"


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_base64_of_several_lines_is_what_the_server_reads_in_it(line_break: str) -> None:
    value = "a certificate authority that needs several lines of base64"
    lines = textwrap.wrap(encoded(value), 30)
    wrapped = line_break.join(lines) + line_break
    manifest = secret(data={"a": wrapped})
    assert MASK.object(manifest) == secret(data={"a": PLACEHOLDERS.of(value)})
    mask = MASK.with_secrets_of([manifest])
    assert mask.text(f"x {value} y {encoded(value)}") == f"x {PLACEHOLDERS.of(value)} y {PLACEHOLDERS.of(value)}"
    # Somewhere else it may stand in the same lines.
    shown = str(mask.object(config_map(a=f"  {lines[0]}\n  {lines[1]}\n")))
    assert not [line for line in lines[:2] if line in shown]
    assert MASK.object(secret(data={"a": "YWJj ZGVm"})) == secret(data={"a": PLACEHOLDERS.of("YWJj ZGVm")})


def test_short_values_are_hidden_in_messages() -> None:
    rules = [FieldRule.of({"kind": "ConfigMap", "pointers": ["/data/port"]})]
    mask = Mask(PLACEHOLDERS, rules).with_secrets_of([config_map(port=48213), secret(stringData={"pin": "4821"})])
    port, pin = PLACEHOLDERS.of("48213"), PLACEHOLDERS.of("4821")
    assert (
        mask.text("spec.port: Invalid value: 48213: must be less") == f"spec.port: Invalid value: {port}: must be less"
    )
    assert mask.text(f"can't decode {encoded('4821')}, line 48213") == f"can't decode {pin}, line 48213"


def test_names_of_objects_are_no_secrets() -> None:
    manifests = [
        secret(stringData={"a": "database", "b": "shop", "c": "Secret"}),
        {"kind": "A", "metadata": {"name": "database"}},
    ]
    mask = MASK.with_secrets_of([*manifests, config_map()])
    shown = config_map(a="database shop Secret")
    assert mask.object(shown) == config_map(a=f"database shop {PLACEHOLDERS.of('Secret')}")
    assert mask.object(manifests[0])["kind"] == "Secret"


def test_masks_add_up() -> None:
    mask = MASK.with_secrets_of([secret(stringData={"a": "one-value"})])
    assert mask.with_secrets_of([secret(stringData={"a": "two-value"})]).text("one-value two-value") == f"{ONE} {TWO}"


def test_secrets_in_keys_and_paths_are_hidden() -> None:
    mask = MASK.with_secrets_of([secret(stringData={"a": "one-long-secret-value"})])
    before = config_map(**{"x.one-long-secret-value": "a"})
    change = difference(before, config_map(**{"x.one-long-secret-value": "b"}), mask)
    hidden = PLACEHOLDERS.of("one-long-secret-value")
    assert change.patch == [{"op": "replace", "path": f"/data/x.{hidden}", "value": "b"}]
    assert f"-  x.{hidden}: a\n" in change.unified("x")


def test_no_secret_is_seen_in_whatever_is_shown() -> None:
    """By chance: objects that hold values of Secrets in many forms and places."""
    chance = random.Random(11)
    alphabet = string.ascii_letters + string.digits + "+/-_!?&<%\"'\\ "

    def password() -> str:
        return "Q" + "".join(chance.choices(alphabet, k=chance.randint(4, 30))).strip() + "7x"

    def written(value: str) -> Any:
        form = chance.choice(
            [value, encoded(value), json.dumps({"k": value}), f"a\nuser={value}\n", f"http://u:{value}@h/"]
        )
        return chance.choice([form, [form], {"value": form}, {"deep": [{"er": form}]}])

    for _ in range(150):
        values = [password() for _ in range(6)]
        holder = secret(data={f"k{at}": encoded(value) for at, value in enumerate(values)})
        mask = MASK.with_secrets_of([holder])
        before, after = (
            {"kind": "A", "spec": {str(at): written(value) for at, value in enumerate(values)}} for _ in "ab"
        )
        for one, other in ((before, after), (None, after), (holder, secret(stringData={"k": "x"})), (holder, None)):
            change = difference(one, other, mask)
            seen = change.before + change.after + change.unified("h") + json.dumps(change.patch)
            seen += json.dumps(change.patch, ensure_ascii=False)
            assert not [form for value in values for form in (value, encoded(value)) if form in seen]
