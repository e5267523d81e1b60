"""Structural schemas and OpenAPI as JSON Schema: the keywords that are known and make sense, nothing else.

Keywords that only mean something to Kubernetes get a name of their own: ``listMapKeys`` (field to its default) and
``set`` of a list. The rest of JSON Schema means what it says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .shapes import mapping_of

Schema = dict[str, Any]

_MOST_STEPS = 10
_MOST_SCHEMAS = 200_000
"""Nested schemas in one; real definitions of 1.4 MB have about 20,000."""

_COMPONENT = "#/components/schemas/"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"

_TEXT: Schema = {"type": ["string", "null"]}
_TEXTS: Schema = {"type": ["object", "null"], "additionalProperties": _TEXT}
_OBJECT_META: Schema = {
    "type": ["object", "null"],
    "properties": {
        "annotations": _TEXTS,
        "creationTimestamp": {},
        "deletionGracePeriodSeconds": {},
        "deletionTimestamp": {},
        "finalizers": {"type": ["array", "null"], "items": _TEXT, "set": True},
        "generateName": _TEXT,
        "generation": {},
        "labels": _TEXTS,
        "managedFields": {},
        "name": _TEXT,
        "namespace": _TEXT,
        "ownerReferences": {"type": ["array", "null"], "listMapKeys": {"uid": None}},
        "resourceVersion": {},
        "selfLink": {},
        "uid": {},
    },
    "additionalProperties": False,
}
"""``metadata`` of every object, which no definition describes."""

_WHOLE_OBJECT: Schema = {"apiVersion": {"type": ["string"]}, "kind": {"type": ["string"]}, "metadata": _OBJECT_META}

_TYPES = frozenset({"array", "boolean", "integer", "number", "object", "string"})
_COUNTS = ("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties")


class UnusableSchemaError(Exception):
    """The server would not take this schema, or it can't be understood here."""


def json_schema(schema: Any, components: Mapping[str, Any], *, custom: bool) -> Schema:
    """The JSON Schema of a whole object.

    References become the schema itself, also one that contains itself, so that nothing is ever looked up elsewhere.

    :param components: schemas by name, which others refer to.
    :param custom: whether it is the schema of a custom resource.
    :raises UnusableSchemaError: also for one that is nested too deeply.
    """
    try:
        return _Translation(components, custom).root(schema)
    except RecursionError:
        raise UnusableSchemaError from None


class _Translation:
    def __init__(self, components: Mapping[str, Any], custom: bool) -> None:
        self._custom = custom
        self._components = components
        # By identity: what is used in many places is translated once.
        self._known: dict[tuple[int, bool], Schema] = {}

    def root(self, schema: Any) -> Schema:
        """``status`` is not looked at: it is not sent."""
        made = dict(self._translated(schema))
        properties = made.get("properties", {})
        restricted = mapping_of(properties.get("metadata")).get("properties") if self._custom else None
        # A definition may restrict names.
        metadata = {**_OBJECT_META, "allOf": [{"properties": restricted}]} if restricted else _OBJECT_META
        made["properties"] = {**properties, **_WHOLE_OBJECT, "metadata": metadata, "status": {}}
        made.setdefault("additionalProperties", _keeps_unknown(schema))
        if "required" in made:
            made["required"] = [name for name in made["required"] if name != "status"]
        return made

    def _translated(self, schema: Any, structure: bool = True) -> Schema:
        """:param structure: whether fields that the schema does not name are refused; not in a mere restriction."""
        schema = self._resolved(schema)
        place = (id(schema), structure)
        if place not in self._known:
            if len(self._known) == _MOST_SCHEMAS:
                raise UnusableSchemaError
            made = self._known[place] = {}
            self._fill(made, schema, structure)
        return self._known[place]

    def _fill(self, made: Schema, schema: Schema, structure: bool) -> None:
        if types := self._types(schema):
            made["type"] = types
        self._restrict(made, schema)
        self._nest(made, schema, structure)
        if schema.get("x-kubernetes-embedded-resource") is True:
            made["properties"] = {**made.get("properties", {}), **_WHOLE_OBJECT}
            made["required"] = [*made.get("required", []), "apiVersion", "kind"]

    def _resolved(self, schema: Any) -> Schema:
        """What a reference leads to, also where the server's documents wrap it to say more of it."""
        for _step in range(_MOST_STEPS):
            if not isinstance(schema, dict):
                break
            parts = schema.get("allOf")
            if "$ref" in schema:
                target = schema["$ref"]
                schema = self._components.get(target.removeprefix(_COMPONENT)) if isinstance(target, str) else None
            elif not self._custom and isinstance(parts, list) and len(parts) == 1:
                schema = parts[0]
            else:
                return schema
        raise UnusableSchemaError

    def _types(self, schema: Schema) -> list[str]:
        if schema.get("x-kubernetes-int-or-string") is True or schema.get("format") == "int-or-string":
            types = ["integer", "string"]
        elif schema is self._components.get(_QUANTITY):
            types = ["number", "string"]
        elif isinstance(schema.get("type"), str):
            types = [schema["type"]]
        else:
            return []
        if not set(types) <= _TYPES:
            raise UnusableSchemaError
        return [*types, "null"] if schema.get("nullable") is True or not self._custom else types

    def _restrict(self, made: Schema, schema: Schema) -> None:
        if isinstance(values := schema.get("enum"), list) and values:
            # Empty means not set to the server's own kinds.
            made["enum"] = values if self._custom else [*values, "", None]
        if not self._custom:
            # Much that its documents call required is filled in, or may be empty; and the alternatives in them are
            # those of numbers and texts.
            return
        if isinstance(pattern := schema.get("pattern"), str):
            made["pattern"] = pattern
        made |= {keyword: schema[keyword] for keyword in _COUNTS if _is_number(schema.get(keyword))}
        for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if _is_number(schema.get(limit)):
                made[exclusive if schema.get(exclusive) is True else limit] = schema[limit]
        if _is_number(schema.get("multipleOf")) and schema["multipleOf"] > 0:
            made["multipleOf"] = schema["multipleOf"]
        for keyword in ("allOf", "anyOf", "oneOf"):
            if isinstance(parts := schema.get(keyword), list) and parts:
                made[keyword] = [self._translated(part, False) for part in parts]
        if "not" in schema:
            made["not"] = self._translated(schema["not"], False)
        if isinstance(required := schema.get("required"), list):
            made["required"] = [field for field in required if isinstance(field, str)]

    def _nest(self, made: Schema, schema: Schema, structure: bool) -> None:
        properties, additional = schema.get("properties"), schema.get("additionalProperties")
        # Who keeps unknown fields takes them at every depth (observed).
        structure = structure and not _keeps_unknown(schema)
        if properties is not None:
            made["properties"] = {name: self._translated(inner, structure) for name, inner in _items(properties)}
        if isinstance(additional, dict):
            made["additionalProperties"] = self._translated(additional, structure)
        elif properties and structure and additional is not True:
            made["additionalProperties"] = False
        if isinstance(items := schema.get("items"), dict):
            made["items"] = self._translated(items, structure)
            made |= self._list_type(schema, items)

    def _list_type(self, schema: Schema, items: Schema) -> Schema:
        list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
        if list_type == "map" and isinstance(keys, list):
            fields = mapping_of(self._resolved(items).get("properties"))
            if not all(isinstance(key, str) for key in keys):
                raise UnusableSchemaError
            return {"listMapKeys": {key: mapping_of(fields.get(key)).get("default") for key in keys}}
        return {"set": True} if list_type == "set" else {}


def _items(value: Any) -> Collection[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise UnusableSchemaError
    return value.items()


def _keeps_unknown(schema: Schema) -> bool:
    return schema.get("x-kubernetes-preserve-unknown-fields") is True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
