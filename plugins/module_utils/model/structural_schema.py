"""What the API server would refuse in an object, from the schema of its kind alone, without asking the server.

For objects that can't be dry-run because their kind or namespace comes with the same run. The schema is that of a
CustomResourceDefinition, or the one that the server publishes for its own kinds (OpenAPI v3). Not checked here: rules
in CEL (``x-kubernetes-validations``), formats, and whatever only the server's own code knows. A fault that is told is
one; that none is told proves nothing.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .keyed_hash import canonical_json
from .objects import Manifest
from .safe_pattern import mismatches
from .wording import listed

try:
    import jsonschema
except ImportError:  # pragma: no cover  (the module's edge reports it)
    jsonschema = None  # type: ignore[assignment]

MOST_FAULTS = 20
"""Faults that are told of one object: more help nobody."""

_MOST_ERRORS = 100
_MOST_STEPS = 10
_MOST_SCHEMAS = 200_000
"""Nested schemas in one; real definitions of 1.4 MB have about 20,000."""

_MOST_SECONDS = 1.0
"""Of the processor, for one object. A real one takes a few milliseconds, the largest a tenth of a second."""

_COMPONENT = "#/components/schemas/"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"

_Schema = dict[str, Any]
_Errors = Iterator["jsonschema.ValidationError"]

_TEXT: _Schema = {"type": ["string", "null"]}
_TEXTS: _Schema = {"type": ["object", "null"], "additionalProperties": _TEXT}
_OBJECT_META: _Schema = {
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

_WHOLE_OBJECT: _Schema = {"apiVersion": {"type": ["string"]}, "kind": {"type": ["string"]}, "metadata": _OBJECT_META}

_TYPE_WORDS = {
    "array": "list",
    "boolean": "true or false",
    "integer": "integer",
    "null": "null",
    "number": "number",
    "object": "mapping",
    "string": "text",
}

_LIMITS = {
    "exclusiveMaximum": "has to be less than {}",
    "exclusiveMinimum": "has to be more than {}",
    "maxItems": "has more than {} items",
    "maxLength": "has more than {} characters",
    "maxProperties": "has more than {} fields",
    "maximum": "may not be more than {}",
    "minItems": "has less than {} items",
    "minLength": "has less than {} characters",
    "minProperties": "has less than {} fields",
    "minimum": "may not be less than {}",
    "multipleOf": "has to be a multiple of {}",
}
_COUNTS = [keyword for keyword in _LIMITS if keyword.endswith(("Items", "Length", "Properties"))]
_ALTERNATIVES = {
    "anyOf": "has none of the forms that its schema allows",
    "not": "has a form that its schema forbids",
    "oneOf": "has none, or more than one, of the forms that its schema allows",
}


class StructuralSchema:
    """The schema of one kind in one version.

    :ivar custom: whether it is that of a custom resource. Those refuse ``null``; for the server's own kinds it means
        that a field is not set.
    """

    def __init__(self, schema: _Schema, custom: bool) -> None:
        self.custom = custom
        self._schema = schema
        self._too_slow = False

    @classmethod
    def of_definition(cls, definition: Manifest, version: str) -> StructuralSchema | None:
        """From a CustomResourceDefinition; ``None`` when it has no such version, or no schema that can be used."""
        spec = _mapping(definition.get("spec"))
        versions = spec.get("versions")
        if not isinstance(versions, list) or spec.get("preserveUnknownFields") is True:
            return None
        found = next((one for one in versions if isinstance(one, dict) and one.get("name") == version), {})
        return cls._made(_mapping(found.get("schema")).get("openAPIV3Schema"), _Translation({}, custom=True))

    @classmethod
    def of_openapi(cls, document: Mapping[str, Any], group: str, version: str, kind: str) -> StructuralSchema | None:
        """From what ``/openapi/v3/apis/<group>/<version>`` answers; ``None`` when the kind is not in it."""
        schemas = _mapping(_mapping(document.get("components")).get("schemas"))
        wanted = {"group": group, "version": version, "kind": kind}
        for name, schema in schemas.items():
            kinds = _mapping(schema).get("x-kubernetes-group-version-kind")
            if isinstance(kinds, list) and wanted in kinds:
                # The server names the schemas of custom resources after their group.
                custom = name == ".".join([*reversed(group.split(".")), version, kind])
                return cls._made(schema, _Translation(schemas, custom=custom))
        return None

    @classmethod
    def _made(cls, schema: Any, translation: _Translation) -> StructuralSchema | None:
        try:
            return cls(translation.root(schema), translation.custom)
        except (_UnusableSchemaError, RecursionError):
            return None

    def faults(self, manifest: Manifest) -> list[str]:
        """Each in one line, with the path of the field and without its value: that may be a secret.

        Of what ``without_nulls`` gave. A schema that takes too long is not looked at again.
        """
        if self._too_slow:
            return []
        _clock.start()
        try:
            errors = list(itertools.islice(_validator_class()(self._schema).iter_errors(manifest), _MOST_ERRORS))
        except (ArithmeticError, RecursionError):
            return []
        except _TooSlowError:
            self._too_slow = True
            return []
        faults: dict[str, str] = {}
        for error in errors:
            # The first one of a field: a value of the wrong type breaks other rules, too.
            faults.setdefault(_dotted(error.absolute_path), _in_words(error))
        return [f"{path}: {fault}" for path, fault in itertools.islice(faults.items(), MOST_FAULTS)]

    def without_nulls(self, manifest: Manifest) -> Manifest:
        """Without the members that are ``null`` where the schema of a custom resource has no place for it.

        Left out means the same to whoever wrote it: server-side apply refuses such a null, while a create takes it
        (observed). One that stands where the schema says nothing stays, and so do all in ``metadata``.
        """
        if not self.custom:
            return manifest
        made: Manifest = _without_nulls(manifest, self._schema)
        for name in ("apiVersion", "kind", "metadata", "status"):
            if name in manifest:
                made[name] = manifest[name]
        return made


def _without_nulls(value: Any, schema: _Schema) -> Any:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [_without_nulls(item, items) for item in value]
    if not isinstance(value, dict):
        return value
    properties: dict[str, _Schema] = schema.get("properties") or {}
    additional: _Schema = schema.get("additionalProperties") or {}
    made = {}
    for name, item in value.items():
        inner = properties.get(name, additional)
        if item is not None or "null" in inner.get("type", ["null"]):
            made[name] = _without_nulls(item, inner)
    return made


class _UnusableSchemaError(Exception):
    """The server would not take this schema, or it can't be understood here."""


class _Translation:
    """From structural schemas and OpenAPI to JSON Schema: the keywords that are known and make sense, nothing else.

    References become the schema itself, also one that contains itself, so that nothing is ever looked up elsewhere.

    :param components: schemas by name, which others refer to.
    """

    def __init__(self, components: Mapping[str, Any], *, custom: bool) -> None:
        self.custom = custom
        self._components = components
        # By identity: what is used in many places is translated once.
        self._known: dict[tuple[int, bool], _Schema] = {}

    def root(self, schema: Any) -> _Schema:
        """Of a whole object. ``status`` is not looked at: it is not sent."""
        made = dict(self._translated(schema))
        properties = made.get("properties", {})
        restricted = _mapping(properties.get("metadata")).get("properties") if self.custom else None
        # A definition may restrict names.
        metadata = {**_OBJECT_META, "allOf": [{"properties": restricted}]} if restricted else _OBJECT_META
        made["properties"] = {**properties, **_WHOLE_OBJECT, "metadata": metadata, "status": {}}
        made.setdefault("additionalProperties", _keeps_unknown(schema))
        if "required" in made:
            made["required"] = [name for name in made["required"] if name != "status"]
        return made

    def _translated(self, schema: Any, structure: bool = True) -> _Schema:
        """:param structure: whether fields that the schema does not name are refused; not in a mere restriction."""
        schema = self._resolved(schema)
        place = (id(schema), structure)
        if place not in self._known:
            if len(self._known) == _MOST_SCHEMAS:
                raise _UnusableSchemaError
            made = self._known[place] = {}
            self._fill(made, schema, structure)
        return self._known[place]

    def _fill(self, made: _Schema, schema: _Schema, structure: bool) -> None:
        if types := self._types(schema):
            made["type"] = types
        self._restrict(made, schema)
        self._nest(made, schema, structure)
        if schema.get("x-kubernetes-embedded-resource") is True:
            made["properties"] = {**made.get("properties", {}), **_WHOLE_OBJECT}
            made["required"] = [*made.get("required", []), "apiVersion", "kind"]

    def _resolved(self, schema: Any) -> _Schema:
        """What a reference leads to, also where the server's documents wrap it to say more of it."""
        for _step in range(_MOST_STEPS):
            if not isinstance(schema, dict):
                break
            parts = schema.get("allOf")
            if "$ref" in schema:
                target = schema["$ref"]
                schema = self._components.get(target.removeprefix(_COMPONENT)) if isinstance(target, str) else None
            elif not self.custom and isinstance(parts, list) and len(parts) == 1:
                schema = parts[0]
            else:
                return schema
        raise _UnusableSchemaError

    def _types(self, schema: _Schema) -> list[str]:
        if schema.get("x-kubernetes-int-or-string") is True or schema.get("format") == "int-or-string":
            types = ["integer", "string"]
        elif schema is self._components.get(_QUANTITY):
            types = ["number", "string"]
        elif isinstance(schema.get("type"), str):
            types = [schema["type"]]
        else:
            return []
        if not set(types) <= _TYPE_WORDS.keys():
            raise _UnusableSchemaError
        return [*types, "null"] if schema.get("nullable") is True or not self.custom else types

    def _restrict(self, made: _Schema, schema: _Schema) -> None:
        if isinstance(values := schema.get("enum"), list) and values:
            # Empty means not set to the server's own kinds.
            made["enum"] = values if self.custom else [*values, "", None]
        if not self.custom:
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

    def _nest(self, made: _Schema, schema: _Schema, structure: bool) -> None:
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

    def _list_type(self, schema: _Schema, items: _Schema) -> _Schema:
        list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
        if list_type == "map" and isinstance(keys, list):
            fields = _mapping(self._resolved(items).get("properties"))
            return {"listMapKeys": {str(key): _mapping(fields.get(key)).get("default") for key in keys}}
        return {"set": True} if list_type == "set" else {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> Collection[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise _UnusableSchemaError
    return value.items()


def _keeps_unknown(schema: _Schema) -> bool:
    return schema.get("x-kubernetes-preserve-unknown-fields") is True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# -- the keywords ------------------------------------------------------------------------------------------------------


class _TooSlowError(Exception):
    pass


class _Clock(threading.local):
    """Ends a check that takes too long; asked whenever a type is looked at, which is all the time."""

    steps = 0
    end = 0.0

    def start(self) -> None:
        self.end = time.thread_time() + _MOST_SECONDS

    def tick(self) -> None:
        self.steps += 1
        if self.steps % 64 == 0 and time.thread_time() > self.end:
            raise _TooSlowError


_clock = _Clock()


@functools.cache
def _validator_class() -> Any:
    validators: Any = jsonschema.validators
    plain: Any = jsonschema.Draft202012Validator.TYPE_CHECKER

    def timed(name: str, _checker: Any, value: Any) -> bool:
        _clock.tick()
        return bool(plain.is_type(value, name))

    return validators.extend(
        jsonschema.Draft202012Validator,
        type_checker=plain.redefine_many({name: functools.partial(timed, name) for name in _TYPE_WORDS}),
        validators={
            "additionalProperties": _additional_properties,
            "listMapKeys": _list_map_keys,
            "pattern": _pattern,
            "required": _required,
            "set": _set,
            "type": _type,
        },
    )


def _type(validator: Any, types: list[str], value: Any, schema: _Schema) -> _Errors:
    if not any(validator.is_type(value, one) for one in types):
        found = next((word for one, word in _TYPE_WORDS.items() if validator.is_type(value, one)), "something else")
        wanted = [_TYPE_WORDS[one] for one in types if one != "null"]
        yield jsonschema.ValidationError(f"expected {' or '.join(wanted)}, got {found}")


def _additional_properties(validator: Any, rule: Any, value: Any, schema: _Schema) -> _Errors:
    if rule is True or not isinstance(value, dict):
        return
    known = schema.get("properties", {})
    for name, item in value.items():
        if name in known:
            continue
        if rule is False:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f", did you mean {close[0]}?" if close else ""
            yield jsonschema.ValidationError(f"unknown field{hint}", path=[name])
        else:
            yield from validator.descend(item, rule, path=name)


def _required(validator: Any, names: list[str], value: Any, schema: _Schema) -> _Errors:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                yield jsonschema.ValidationError("is missing", path=[name])


def _pattern(validator: Any, rule: str, value: Any, schema: _Schema) -> _Errors:
    if validator.is_type(value, "string") and mismatches(rule, value):
        yield jsonschema.ValidationError(f"does not match {rule:.200}")


def _set(validator: Any, rule: bool, value: Any, schema: _Schema) -> _Errors:
    if isinstance(value, list):
        seen = set()
        for number, item in enumerate(value):
            text = canonical_json(item)
            if text in seen:
                yield jsonschema.ValidationError("stands in the list twice", path=[number])
            seen.add(text)


def _list_map_keys(validator: Any, keys: dict[str, Any], value: Any, schema: _Schema) -> _Errors:
    if not isinstance(value, list):
        return
    first: dict[bytes, int] = {}
    for number, item in enumerate(value):
        if item is None:
            yield jsonschema.ValidationError("is null", path=[number])
        if not isinstance(item, dict):
            continue
        values = [default if item.get(key) is None else item[key] for key, default in keys.items()]
        missing = [key for key, found in zip(keys, values, strict=True) if found is None]
        if len(missing) == len(keys):
            yield from (jsonschema.ValidationError("is missing", path=[number, key]) for key in missing)
            continue
        before = first.setdefault(canonical_json(values), number)
        if before != number:
            same = " and ".join(keys)
            yield jsonschema.ValidationError(f"has the same {same} as [{before}], remove one", path=[number])


def _in_words(error: jsonschema.ValidationError) -> str:
    """jsonschema's own texts repeat the value; those made above do not."""
    keyword, rule = str(error.validator), error.validator_value
    if keyword in _LIMITS:
        return _LIMITS[keyword].format(rule)
    if keyword == "enum":
        words = [str(word) for word in rule if word not in ("", None)] if isinstance(rule, list) else []
        return f"has to be one of {listed(words, 10)}"
    return _ALTERNATIVES.get(keyword) or error.message


def _dotted(parts: Collection[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".") or "the object"
