"""Objects against the schema of their kind. What is refused here was refused by a real server (1.37), and the reverse,
but for formats, which are not looked at."""

from __future__ import annotations

import copy
import difflib
import time
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model import structural_schema
from ansible_collections.rendimiento.addons.plugins.module_utils.model.structural_schema import (
    MOST_FAULTS,
    StructuralSchema,
)

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def mapping(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def keyed(keys: list[Any], **properties: Any) -> dict[str, Any]:
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys,
        "items": mapping(**properties),
    }


SPEC = mapping(
    name=TEXT,
    size=INTEGER,
    ratio={"type": "number"},
    on={"type": "boolean"},
    empty={"type": "object"},
    open={"type": "object", **OPEN},
    partly={**mapping(a=TEXT, sub=mapping(x=INTEGER)), **OPEN},
    any=OPEN,
    texts={"type": "object", "additionalProperties": TEXT},
    loose={"type": "object", "additionalProperties": True},
    sub={**mapping(need=TEXT, opt=TEXT), "required": ["need"]},
    nullable={"type": "string", "nullable": True},
    null_mapping={**mapping(a=TEXT), "nullable": True},
    choice={"type": "string", "enum": ["A", "B"]},
    pattern={"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
    limited={"type": "integer", "minimum": 1, "maximum": 10, "exclusiveMaximum": True},
    stepped={"type": "number", "multipleOf": 0.5},
    port={"x-kubernetes-int-or-string": True},
    quantity={"x-kubernetes-int-or-string": True, "anyOf": [INTEGER, TEXT], "pattern": "^[0-9]+(Ki|Mi|Gi)?$"},
    named=keyed(["name"], name=TEXT, v=TEXT),
    ports=keyed(["port", "protocol"], port=INTEGER, protocol={"type": "string", "default": "TCP"}),
    set={"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
    list={"type": "array", "items": TEXT, "maxItems": 2},
    objects={"type": "array", "items": mapping(a=TEXT)},
    embedded={**mapping(spec=mapping(a=TEXT)), "x-kubernetes-embedded-resource": True},
    embedded_open={"type": "object", "x-kubernetes-embedded-resource": True, **OPEN},
    default={"type": "string", "default": "x"},
    one={**mapping(a=TEXT, b=TEXT), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    some={**mapping(a=TEXT, b=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    neither={**mapping(a=TEXT, b=TEXT), "not": {"required": ["a", "b"]}},
    all={**mapping(a=INTEGER), "allOf": [{"properties": {"a": {"minimum": 3}}}]},
    date={"type": "string", "format": "date-time"},
)

WHOLE = {"apiVersion": "v1", "kind": "A"}


def definition(schema: Any, **spec: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.io"},
        "spec": {"group": "x.io", "names": {"kind": "Thing"}, "versions": [version], **spec},
    }


def of(schema: Any, **spec: Any) -> StructuralSchema:
    made = StructuralSchema.of_definition(definition(schema, **spec), "v1")
    assert made is not None
    return made


def thing(spec: Any = None, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "a", **fields.pop("metadata", {})}
    return {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": metadata, "spec": spec or {}, **fields}


SCHEMA = of(mapping(spec=SPEC))


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ({}, []),
        ({"name": 5}, ["name: expected text, got integer"]),
        ({"name": None}, ["name: expected text, got null"]),
        ({"size": "s3cret"}, ["size: expected integer, got text"]),
        ({"size": 1.0}, []),
        ({"size": 1.5}, ["size: expected integer, got number"]),
        ({"size": True}, ["size: expected integer, got true or false"]),
        ({"ratio": 1}, []),
        ({"ratio": "1"}, ["ratio: expected number, got text"]),
        ({"on": "yes"}, ["on: expected true or false, got text"]),
        ({"empty": {"x": {"y": None}}}, []),
        ({"empty": []}, ["empty: expected mapping, got list"]),
        ({"open": {"x": 1, "y": None}}, []),
        ({"partly": {"z": 1, "a": "b", "sub": {"y": 1}}}, []),
        ({"partly": {"a": 1}}, ["partly.a: expected text, got integer"]),
        ({"any": None}, []),
        ({"any": [1, None]}, []),
        ({"texts": {"a": "b"}}, []),
        ({"texts": {"a.io/b": 1}}, ["texts.a.io/b: expected text, got integer"]),
        ({"loose": {"a": 1, "b": None}}, []),
        ({"sub": {}}, ["sub.need: is missing"]),
        ({"sub": {"need": None}}, ["sub.need: expected text, got null"]),
        ({"nullable": None, "null_mapping": None}, []),
        ({"null_mapping": {"a": None}}, ["null_mapping.a: expected text, got null"]),
        ({"choice": "A"}, []),
        ({"choice": "s3cret"}, ["choice: has to be one of A, B"]),
        ({"choice": None}, ["choice: expected text, got null"]),
        ({"pattern": "abc"}, []),
        ({"pattern": "S3CRE"}, ["pattern: does not match ^[a-z]+$"]),
        ({"pattern": "abcdefg"}, ["pattern: has more than 5 characters"]),
        ({"limited": 0}, ["limited: may not be less than 1"]),
        ({"limited": 9}, []),
        ({"limited": 10}, ["limited: has to be less than 10"]),
        ({"stepped": 1.5}, []),
        ({"stepped": 1.3}, ["stepped: has to be a multiple of 0.5"]),
        ({"port": 1}, []),
        ({"port": "http"}, []),
        ({"port": 1.5}, ["port: expected integer or text, got number"]),
        ({"port": True}, ["port: expected integer or text, got true or false"]),
        ({"quantity": 5}, []),
        ({"quantity": "5Gi"}, []),
        ({"quantity": "5GB"}, ["quantity: does not match ^[0-9]+(Ki|Mi|Gi)?$"]),
        ({"quantity": None}, ["quantity: expected integer or text, got null"]),
        ({"named": [{"name": "a"}, {"name": "b"}]}, []),
        ({"named": [{"name": "s3cret"}, {"name": "b"}, {"name": "s3cret", "v": "x"}]},
         ["named[2]: has the same name as [0], remove one"]),
        ({"named": [{"v": "a"}]}, ["named[0].name: is missing"]),
        ({"named": [None]}, ["named[0]: expected mapping, got null"]),
        ({"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}]}, []),
        ({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
         ["ports[1]: has the same port and protocol as [0], remove one"]),
        ({"set": ["a", "b"]}, []),
        ({"set": ["s3cret", "s3cret"]}, ["set[1]: stands in the list twice"]),
        ({"list": ["a", "a"]}, []),
        ({"list": ["a", "b", "c"]}, ["list: has more than 2 items"]),
        ({"list": [None]}, ["list[0]: expected text, got null"]),
        ({"list": "s3cret"}, ["list: expected list, got text"]),
        ({"objects": [{"a": "x"}, {"b": 1}]}, ["objects[1].b: unknown field"]),
        ({"embedded": {**WHOLE, "metadata": {"name": "x", "labels": {"a": "b"}, "creationTimestamp": None}}}, []),
        ({"embedded": {"metadata": {}}}, ["embedded.apiVersion: is missing", "embedded.kind: is missing"]),
        ({"embedded": {**WHOLE, "metadata": {"bad": "x"}}}, ["embedded.metadata.bad: unknown field"]),
        ({"embedded": {**WHOLE, "metadata": {"labels": {"a": 1}}}},
         ["embedded.metadata.labels.a: expected text, got integer"]),
        ({"embedded": {**WHOLE, "foo": 1}}, ["embedded.foo: unknown field"]),
        ({"embedded_open": {**WHOLE, "foo": 1}}, []),
        ({"embedded_open": {**WHOLE, "metadata": {"bad": 1}}}, ["embedded_open.metadata.bad: unknown field"]),
        ({"one": {"a": "x"}}, []),
        ({"one": {}}, ["one: has none, or more than one, of the forms that its schema allows"]),
        ({"one": {"a": "x", "b": "y"}}, ["one: has none, or more than one, of the forms that its schema allows"]),
        ({"some": {"a": "x", "b": "y"}}, []),
        ({"some": {}}, ["some: has none of the forms that its schema allows"]),
        ({"neither": {"a": "x"}}, []),
        ({"neither": {"a": "x", "b": "y"}}, ["neither: has a form that its schema forbids"]),
        ({"all": {"a": 3}}, []),
        ({"all": {"a": 1}}, ["all.a: may not be less than 3"]),
        ({"date": "nope"}, []),
        ({"sizes": 1}, ["sizes: unknown field, did you mean size?"]),
        ({"zzz": 1, "name": 1}, ["name: expected text, got integer", "zzz: unknown field"]),
    ],
)  # fmt: skip
def test_faults(spec: dict[str, Any], faults: list[str]) -> None:
    found = SCHEMA.faults(thing(spec))
    assert sorted(found) == [f"spec.{fault}" for fault in faults]
    assert "s3cret" not in str(found).lower()


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        ({"status": {"anything": None}}, []),
        ({"top": 1}, ["top: unknown field"]),
        ({"spec": "text"}, ["spec: expected mapping, got text"]),
        ({"metadata": {"labels": {"a": "b"}, "annotations": None, "finalizers": ["x.io/a"]}}, []),
        ({"metadata": {"label": {"a": "b"}}}, ["metadata.label: unknown field, did you mean labels?"]),
        ({"metadata": {"labels": {"a": 1}}}, ["metadata.labels.a: expected text, got integer"]),
        ({"metadata": {"finalizers": ["a", "a"]}}, ["metadata.finalizers[1]: stands in the list twice"]),
    ],
)
def test_the_top_of_an_object(fields: dict[str, Any], faults: list[str]) -> None:
    assert SCHEMA.faults(thing(**fields)) == faults


def test_b38_a_misspelt_field_of_a_custom_object_is_told_with_its_path() -> None:
    manifest = thing({"secretName": "x", "invalid": "key"})
    assert of(mapping(spec=mapping(secretName=TEXT))).faults(manifest) == ["spec.invalid: unknown field"]
    assert of(mapping(spec={**mapping(secretName=TEXT), **OPEN})).faults(manifest) == []


def test_a_definition_may_restrict_names() -> None:
    schema = of(mapping(metadata=mapping(name={"type": "string", "pattern": "^only$"})))
    assert schema.faults({**WHOLE, "metadata": {"name": "only", "labels": {"a": "b"}}}) == []
    assert schema.faults({**WHOLE, "metadata": {"name": "other"}}) == ["metadata.name: does not match ^only$"]


def test_a_schema_without_fields_takes_none() -> None:
    assert of({"type": "object"}).faults({**WHOLE, "metadata": {"name": "a"}, "spec": {}}) == ["spec: unknown field"]
    assert of({"type": "object", **OPEN}).faults({**WHOLE, "metadata": {"name": "a"}, "spec": {}}) == []


def test_not_more_faults_are_told_than_help() -> None:
    assert len(SCHEMA.faults(thing({f"unknown{number}": 1 for number in range(1000)}))) == MOST_FAULTS


# Nulls


@pytest.mark.parametrize(
    ("spec", "sent"),
    [
        ({"name": None, "size": 1}, {"size": 1}),
        ({"sub": None}, {}),
        ({"sub": {"need": "x", "opt": None}}, {"sub": {"need": "x"}}),
        ({"objects": [{"a": None}]}, {"objects": [{}]}),
        ({"texts": {"a": None, "b": "c"}}, {"texts": {"b": "c"}}),
        ({"default": None}, {}),
        ({"port": None, "quantity": None}, {}),
        ({"null_mapping": {"a": None}}, {"null_mapping": {}}),
        ({"named": [{"name": "a", "v": None}]}, {"named": [{"name": "a"}]}),
    ],
)
def test_trap_12_nulls_of_a_custom_resource_are_left_out(spec: dict[str, Any], sent: dict[str, Any]) -> None:
    before = thing(spec)
    manifest = copy.deepcopy(before)
    assert SCHEMA.without_nulls(manifest) == thing(sent)
    assert SCHEMA.faults(SCHEMA.without_nulls(manifest)) == []
    assert manifest == before


@pytest.mark.parametrize(
    "spec",
    [
        {"nullable": None, "null_mapping": None},
        {"open": {"x": None}},
        {"partly": {"z": None}},
        {"any": None},
        {"any": {"x": [None, {"y": None}]}},
        {"empty": {"x": None}},
        {"loose": {"x": None}},
        {"unknown": None},
        {"list": [None]},
    ],
)
def test_trap_12_nulls_stay_where_they_have_a_place(spec: dict[str, Any]) -> None:
    assert SCHEMA.without_nulls(thing(spec)) == thing(spec)


@pytest.mark.parametrize(
    "whole",
    [OPEN, {"additionalProperties": True}, {"additionalProperties": False}, {"additionalProperties": TEXT}],
)
def test_trap_12_nulls_of_a_kind_that_says_what_else_may_stand_at_the_top(whole: dict[str, Any]) -> None:
    """As Knative's definitions do."""
    manifest = thing({"name": None, "size": 1}, other=[{"a": None}])
    assert of({**mapping(spec=SPEC), **whole}).without_nulls(manifest) == {**manifest, "spec": {"size": 1}}


def test_trap_12_cnpg_with_empty_settings() -> None:
    schema = of(mapping(spec=mapping(postgresql=mapping(parameters=TEXT), bootstrap=mapping(initdb=mapping(a=TEXT)))))
    manifest = thing({"postgresql": None, "bootstrap": {"initdb": None}}, metadata={"labels": {"a": None}})
    assert schema.faults(manifest) == [
        "spec.postgresql: expected mapping, got null",
        "spec.bootstrap.initdb: expected mapping, got null",
    ]
    sent = schema.without_nulls(manifest)
    assert sent == thing({"bootstrap": {}}, metadata={"labels": {"a": None}})
    assert schema.faults(sent) == []


# Definitions that can't be used


def test_another_version_has_another_schema() -> None:
    manifest = definition(mapping(spec=SPEC))
    assert StructuralSchema.of_definition(manifest, "v2") is None


@pytest.mark.parametrize(
    "schema",
    [
        None,
        "text",
        [],
        {"type": "objekt"},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": None}},
        {"type": "object", "properties": {"a": "text"}},
        {"$ref": "#/components/schemas/x"},
        {"$ref": "https://x.io/schema"},
        mapping(a={"$ref": "file:///etc/passwd"}),
        mapping(a={"anyOf": ["text"]}),
        mapping(a={"not": 5}),
        mapping(a=keyed([{}], name=TEXT)),
        mapping(a=keyed([[]], name=TEXT)),
        mapping(a=keyed(["name", 5], name=TEXT)),
    ],
)
def test_a_broken_schema_is_none(schema: Any) -> None:
    assert StructuralSchema.of_definition(definition(schema), "v1") is None


@pytest.mark.parametrize("spec", [None, "text", {}, {"versions": "v1"}, {"versions": [None, {"name": "v1"}]},
                                  {"versions": [{"name": "v1", "schema": "x"}]}])  # fmt: skip
def test_a_broken_definition_has_no_schema(spec: Any) -> None:
    manifest = {**definition({}), "spec": spec}
    assert StructuralSchema.of_definition(manifest, "v1") is None


def test_a_definition_that_keeps_everything_has_no_schema() -> None:
    manifest = definition(mapping(spec=SPEC), preserveUnknownFields=True)
    assert StructuralSchema.of_definition(manifest, "v1") is None


@pytest.mark.parametrize(
    "odd",
    [
        {"enum": "A"},
        {"enum": []},
        {"pattern": 5},
        {"pattern": "("},
        {"maxLength": "x"},
        {"minimum": True},
        {"multipleOf": 0},
        {"multipleOf": -1},
        {"required": "x"},
        {"required": [5]},
        {"allOf": {}},
        {"anyOf": []},
        {"additionalProperties": 5},
        {"items": [TEXT]},
        {"nullable": "x"},
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": "x", "items": TEXT},
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [5], "items": {"properties": 5}},
        {"default": {}, "format": 5, "x-kubernetes-validations": "x"},
    ],
)
def test_odd_rules_refuse_nothing_and_break_nothing(odd: dict[str, Any]) -> None:
    made = StructuralSchema.of_definition(definition(mapping(spec=odd)), "v1")
    values: list[Any] = ["text", 10**400, 1.5, None, True, [], ["x"], [{}], {}, {"a": 1}]
    for value in values:
        faults = made.faults({**WHOLE, "metadata": {"name": "a"}, "spec": value}) if made else []
        assert faults == (["spec[0]: expected text, got mapping"] if odd.get("items") == TEXT and value == [{}] else [])


def test_a_very_deep_schema_is_none() -> None:
    schema: dict[str, Any] = dict(TEXT)
    for _ in range(5000):
        schema = mapping(a=schema)
    assert StructuralSchema.of_definition(definition(schema), "v1") is None


def test_a_deep_object_can_be_checked() -> None:
    schema: dict[str, Any] = dict(TEXT)
    spec: Any = 5
    for _ in range(50):
        schema, spec = mapping(a=schema), {"a": spec}
    assert of(mapping(spec=schema)).faults(thing(spec)) == [f"spec{'.a' * 50}: expected text, got integer"]


@pytest.mark.parametrize(
    ("schema", "spec"),
    [
        ({"type": "array", "items": {"anyOf": [{"minLength": 9}] * 5000}}, ["a"] * 5000),
        ({"type": "array", "items": {"type": "string", "pattern": "^" + "a*" * 3 + "b$"}}, ["a" * 55] * 5000),
        ({"type": "array", "items": mapping(**{f"p{number}": TEXT for number in range(20000)})}, [{}] * 20000),
        ({"type": "array", "items": {"type": "string", "pattern": "^(a+)+$"}}, ["a" * 50 + "b"] * 100),
    ],
)
def test_a_schema_that_takes_for_ever_is_given_up(schema: dict[str, Any], spec: Any) -> None:
    made = of(mapping(spec=schema))
    start = time.thread_time()
    made.faults(thing(spec))
    made.faults(thing(spec))
    assert time.thread_time() - start < 6


def test_b38_similar_fields_are_looked_for_among_few_and_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    real = difflib.get_close_matches

    def counted(name: str, candidates: Sequence[str], **options: Any) -> list[str]:
        compared.append(len(candidates))
        return real(name, candidates, **options)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    made = of(mapping(spec=mapping(**{f"property{number:05}WithALongName": TEXT for number in range(20_000)})))
    faults = made.faults(thing({f"property{number:05}WithALongNamf": 1 for number in range(50)}))
    assert "did you mean property00000WithALongName?" in faults[0]
    assert len(faults) == MOST_FAULTS
    assert sum(compared) <= 500


def test_of_a_very_long_enum_as_many_words_are_looked_at_as_time_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structural_schema, "_MOST_SECONDS", -1.0)
    words = {"enum": [f"word{number}" for number in range(1000)]}
    assert of(mapping(spec=mapping(a=words))).faults(thing({"a": "other"})) == []
    few = of(mapping(spec=mapping(a={"enum": ["A"]})))
    monkeypatch.undo()
    assert few.faults(thing({"a": "other"})) == ["spec.a: has to be one of A"]


def test_of_a_long_enum_the_first_words_are_told() -> None:
    made = of(mapping(spec=mapping(a={"enum": list(range(15))})))
    assert made.faults(thing({"a": 20})) == ["spec.a: has to be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 5 more"]
    assert made.faults(thing({"a": 14})) == []
    assert made.faults(thing({"a": True})) != []


# The server's own kinds


def referred(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def wrapped(name: str) -> dict[str, Any]:
    """As the server writes a reference of which it says more."""
    return {"default": {}, "description": "x", "allOf": [referred(name)]}


QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
DOCUMENT = {
    "components": {
        "schemas": {
            "io.k8s.api.apps.v1.Deployment": {
                **mapping(apiVersion=TEXT, kind=TEXT, metadata=wrapped("Meta"), spec=wrapped("Spec"), status=TEXT),
                "x-kubernetes-group-version-kind": [{"group": "apps", "kind": "Deployment", "version": "v1"}],
            },
            "Spec": {**mapping(replicas=INTEGER, template=wrapped("Pod"), data=referred("Raw")), "required": ["x"]},
            "Pod": mapping(
                containers={
                    "type": "array",
                    "items": wrapped("Container"),
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                port=referred("IntOrString"),
                pods={"type": "array", "items": wrapped("Pod")},
            ),
            "Container": mapping(
                name={**TEXT, "default": ""},
                imagePullPolicy={**TEXT, "enum": ["Always", "Never"]},
                limits={"type": "object", "additionalProperties": wrapped(QUANTITY)},
                ports={
                    "type": "array",
                    "items": wrapped("Port"),
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                },
                args={"type": "array", "items": {**TEXT, "default": ""}, "x-kubernetes-list-type": "atomic"},
            ),
            "Port": mapping(containerPort={**INTEGER, "default": 0}, protocol={**TEXT, "default": "TCP"}),
            "IntOrString": {"format": "int-or-string", "oneOf": [INTEGER, TEXT]},
            QUANTITY: {"oneOf": [TEXT, {"type": "number"}]},
            "Raw": {"type": "object"},
            "Meta": mapping(),
            "io.x.v1.Thing": {
                **mapping(spec=mapping(a=TEXT)),
                "x-kubernetes-group-version-kind": [{"group": "x.io", "kind": "Thing", "version": "v1"}],
            },
            "io.x.v1.Loop": {
                **referred("io.x.v1.Loop"),
                "x-kubernetes-group-version-kind": [{"group": "x.io", "kind": "Loop", "version": "v1"}],
            },
            "io.x.v1.Missing": {
                **mapping(spec=referred("nowhere")),
                "x-kubernetes-group-version-kind": [{"group": "x.io", "kind": "Missing", "version": "v1"}],
            },
        }
    }
}  # fmt: skip


def deployment(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    if container is not None:
        spec["template"] = {"containers": [{"name": "main", **container}]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


MAIN = "spec.template.containers[0]"


@pytest.mark.parametrize(
    ("manifest", "faults"),
    [
        (deployment(replicas=3), []),
        (deployment(replicas=None, template=None), []),
        (deployment(replicas="3"), ["spec.replicas: expected integer, got text"]),
        (deployment(replica=3), ["spec.replica: unknown field, did you mean replicas?"]),
        (deployment({"imagePullpolicy": "Always"}),
         [f"{MAIN}.imagePullpolicy: unknown field, did you mean imagePullPolicy?"]),
        (deployment({"imagePullPolicy": "s3cret"}), [f"{MAIN}.imagePullPolicy: has to be one of Always, Never"]),
        (deployment({"imagePullPolicy": ""}), []),
        (deployment({"imagePullPolicy": None, "args": None}), []),
        (deployment({"args": ["x", None]}), []),
        (deployment({"args": ["x", 5]}), [f"{MAIN}.args[1]: expected text, got integer"]),
        (deployment({"limits": {"cpu": 1, "memory": "1Gi", "x": 0.5, "y": None}}), []),
        (deployment({"limits": {"cpu": True}}), [f"{MAIN}.limits.cpu: expected number or text, got true or false"]),
        (deployment({"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}),
         [f"{MAIN}.ports[1]: has the same containerPort and protocol as [0], remove one"]),
        (deployment({"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]}), []),
        (deployment({"ports": [None]}), [f"{MAIN}.ports[0]: is null"]),
        (deployment(template={"port": "http", "pods": [{"pods": [{"port": 1}]}]}), []),
        (deployment(template={"pods": [{"pods": [{"prt": 1}]}]}),
         ["spec.template.pods[0].pods[0].prt: unknown field, did you mean port?"]),
        (deployment(data={"anything": {"x": None}}), []),
        ({**deployment(), "status": {"anything": 1}}, []),
    ],
)  # fmt: skip
def test_faults_of_the_servers_own_kinds(manifest: dict[str, Any], faults: list[str]) -> None:
    schema = StructuralSchema.of_openapi(DOCUMENT, "apps", "v1", "Deployment")
    assert schema is not None
    assert not schema.custom
    assert schema.faults(manifest) == faults
    assert schema.without_nulls(manifest) is manifest


def test_custom_resources_are_told_by_the_name_of_their_schema() -> None:
    schema = StructuralSchema.of_openapi(DOCUMENT, "x.io", "v1", "Thing")
    assert schema is not None
    assert schema.custom
    assert schema.faults(thing({"a": None})) == ["spec.a: expected text, got null"]
    assert schema.without_nulls(thing({"a": None})) == thing()


@pytest.mark.parametrize("kind", ["Other", "Loop", "Missing"])
def test_kinds_that_the_document_does_not_have(kind: str) -> None:
    assert StructuralSchema.of_openapi(DOCUMENT, "x.io", "v1", kind) is None


@pytest.mark.parametrize("document", [{}, {"components": None}, {"components": {"schemas": {"a": None, "b": {
    "x-kubernetes-group-version-kind": "x"}}}}])  # fmt: skip
def test_documents_that_are_none(document: dict[str, Any]) -> None:
    assert StructuralSchema.of_openapi(document, "x.io", "v1", "Thing") is None


# Cost


def test_a_large_definition_is_read_in_no_time() -> None:
    """1.5 MB, as the largest of real operators."""
    group = mapping(**{f"field{number}": {**TEXT, "description": "x" * 100} for number in range(100)})
    schema = mapping(spec=mapping(**{f"group{number}": copy.deepcopy(group) for number in range(100)}))
    start = time.thread_time()
    made = of(schema)
    assert made.faults(thing({"group5": {"field7": 5}})) == ["spec.group5.field7: expected text, got integer"]
    assert time.thread_time() - start < 2
