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

from .json_schema import Schema, UnusableSchemaError, json_schema
from .keyed_hash import canonical_json
from .objects import Manifest
from .safe_pattern import mismatches
from .shapes import mapping_of
from .wording import dotted, listed

try:
    import jsonschema
except ImportError:  # pragma: no cover  (the module's edge reports it)
    jsonschema = None  # type: ignore[assignment]

MOST_FAULTS = 20
"""Faults that are told of one object: more help nobody."""

_MOST_ERRORS = 100

_MOST_SUGGESTIONS = 5
"""Unknown fields of one object for which a similar one is looked for."""

_MOST_CANDIDATES = 100
"""Fields that one is compared with."""

_MOST_MISTYPED = 3
"""Characters that a misspelt name may have more or less."""

_LONGEST_NAME = 100

_MOST_WORDS = 10

_MOST_SECONDS = 1.0
"""Of the processor, for one object. A real one takes a few milliseconds, the largest a tenth of a second."""

_Errors = Iterator["jsonschema.ValidationError"]

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

    def __init__(self, schema: Schema, custom: bool) -> None:
        self.custom = custom
        self._schema = schema
        self._too_slow = False

    @classmethod
    def of_definition(cls, definition: Manifest, version: str) -> StructuralSchema | None:
        """From a CustomResourceDefinition; ``None`` when it has no such version, or no schema that can be used."""
        spec = mapping_of(definition.get("spec"))
        versions = spec.get("versions")
        if not isinstance(versions, list) or spec.get("preserveUnknownFields") is True:
            return None
        found = next((one for one in versions if isinstance(one, dict) and one.get("name") == version), {})
        return cls._made(mapping_of(found.get("schema")).get("openAPIV3Schema"), {}, custom=True)

    @classmethod
    def of_openapi(cls, document: Mapping[str, Any], group: str, version: str, kind: str) -> StructuralSchema | None:
        """From what ``/openapi/v3/apis/<group>/<version>`` answers; ``None`` when the kind is not in it."""
        schemas = mapping_of(mapping_of(document.get("components")).get("schemas"))
        wanted = {"group": group, "version": version, "kind": kind}
        for name, schema in schemas.items():
            kinds = mapping_of(schema).get("x-kubernetes-group-version-kind")
            if isinstance(kinds, list) and wanted in kinds:
                # The server names the schemas of custom resources after their group.
                custom = name == ".".join([*reversed(group.split(".")), version, kind])
                return cls._made(schema, schemas, custom=custom)
        return None

    @classmethod
    def _made(cls, schema: Any, components: Mapping[str, Any], *, custom: bool) -> StructuralSchema | None:
        try:
            return cls(json_schema(schema, components, custom=custom), custom)
        except UnusableSchemaError:
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
            path = dotted(error.absolute_path) or "the object"
            if path not in faults and len(faults) < MOST_FAULTS:
                faults[path] = _in_words(error)
        return [f"{path}: {fault}" for path, fault in faults.items()]

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


def _without_nulls(value: Any, schema: Schema) -> Any:
    if isinstance(value, list):
        items = mapping_of(schema.get("items"))
        return [_without_nulls(item, items) for item in value]
    if not isinstance(value, dict):
        return value
    properties: dict[str, Schema] = mapping_of(schema.get("properties"))
    # It may be true or false, too.
    additional: Schema = mapping_of(schema.get("additionalProperties"))
    made = {}
    for name, item in value.items():
        inner = properties.get(name, additional)
        if item is not None or "null" in inner.get("type", ["null"]):
            made[name] = _without_nulls(item, inner)
    return made


# The keywords


class _TooSlowError(Exception):
    pass


class _Clock(threading.local):
    """Ends a check that takes too long; asked whenever a type is looked at, which is all the time."""

    steps = 0
    end = 0.0
    suggestions = 0

    def start(self) -> None:
        self.end = time.thread_time() + _MOST_SECONDS
        self.suggestions = _MOST_SUGGESTIONS

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
            "enum": _enum,
            "listMapKeys": _list_map_keys,
            "pattern": _pattern,
            "required": _required,
            "set": _set,
            "type": _type,
        },
    )


def _type(validator: Any, types: list[str], value: Any, schema: Schema) -> _Errors:
    if not any(validator.is_type(value, one) for one in types):
        found = next((word for one, word in _TYPE_WORDS.items() if validator.is_type(value, one)), "something else")
        wanted = [_TYPE_WORDS[one] for one in types if one != "null"]
        yield jsonschema.ValidationError(f"expected {' or '.join(wanted)}, got {found}")


def _additional_properties(validator: Any, rule: Any, value: Any, schema: Schema) -> _Errors:
    if rule is True or not isinstance(value, dict):
        return
    known = schema.get("properties", {})
    for name, item in value.items():
        if name in known:
            continue
        if rule is False:
            close = _similar(str(name), known)
            hint = f", did you mean {close}?" if close else ""
            yield jsonschema.ValidationError(f"unknown field{hint}", path=[name])
        else:
            yield from validator.descend(item, rule, path=name)


def _similar(name: str, known: Collection[str]) -> str:
    """The field that was meant, empty if there is none, or if enough were looked for."""
    if not _clock.suggestions or len(name) > _LONGEST_NAME:
        return ""
    _clock.suggestions -= 1
    near = (one for one in known if abs(len(one) - len(name)) <= _MOST_MISTYPED)
    return next(iter(difflib.get_close_matches(name, list(itertools.islice(near, _MOST_CANDIDATES)), n=1)), "")


def _enum(validator: Any, words: list[Any], value: Any, schema: Schema) -> _Errors:
    for word in words:
        # There may be very many.
        _clock.tick()
        if word == value and isinstance(word, bool) == isinstance(value, bool):
            return
    told = [word for word in words if word not in ("", None)]
    texts = listed([*map(str, told[:_MOST_WORDS]), *told[_MOST_WORDS:]], _MOST_WORDS)
    yield jsonschema.ValidationError(f"has to be one of {texts}")


def _required(validator: Any, names: list[str], value: Any, schema: Schema) -> _Errors:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                yield jsonschema.ValidationError("is missing", path=[name])


def _pattern(validator: Any, rule: str, value: Any, schema: Schema) -> _Errors:
    if validator.is_type(value, "string") and mismatches(rule, value):
        yield jsonschema.ValidationError(f"does not match {rule:.200}")


def _set(validator: Any, rule: bool, value: Any, schema: Schema) -> _Errors:
    if isinstance(value, list):
        seen = set()
        for number, item in enumerate(value):
            text = canonical_json(item)
            if text in seen:
                yield jsonschema.ValidationError("stands in the list twice", path=[number])
            seen.add(text)


def _list_map_keys(validator: Any, keys: dict[str, Any], value: Any, schema: Schema) -> _Errors:
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
    return _ALTERNATIVES.get(keyword) or error.message
