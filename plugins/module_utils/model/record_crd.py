"""The CustomResourceDefinition of Addon records, as bootstrap installs it.

The schema of ``spec`` is the definition file's own, turned into what Kubernetes calls a structural schema, so that the
two can't drift apart. It is looser on purpose: ``addon_definitions`` has judged a file before its record is written.
"""

from __future__ import annotations

from typing import Any, get_args

from .definition_schema import DEFINITION_SCHEMA
from .inventory import EntryState
from .names import RECORD_CRD, RECORD_GROUP, RECORD_KIND, RECORD_PLURAL, RECORD_VERSION, SOURCE_ANNOTATION
from .objects import Manifest
from .outcome import Phase

JsonSchema = dict[str, Any]

SHORT_NAME = "radd"

# What a structural schema may say of a value, in the words of JSON Schema. Left out on purpose: `default`, because a
# record holds what the file says and no more; `additionalProperties: false`, because the API server drops or refuses
# unknown fields by itself; and `uniqueItems`, which it does not allow.
KEPT_KEYWORDS = (
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maximum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minimum",
    "minItems",
    "minLength",
    "minProperties",
    "pattern",
)

FREE_FORM: JsonSchema = {"x-kubernetes-preserve-unknown-fields": True}


def record_crd() -> Manifest:
    """The manifest, new with each call."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": RECORD_CRD},
        "spec": {
            "group": RECORD_GROUP,
            "scope": "Cluster",
            "names": {
                "kind": RECORD_KIND,
                "listKind": f"{RECORD_KIND}List",
                "plural": RECORD_PLURAL,
                "singular": RECORD_KIND.lower(),
                "shortNames": [SHORT_NAME],
            },
            "versions": [
                {
                    "name": RECORD_VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _columns(),
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "description": "Software that the apps of this cluster depend on, kept equal to git.",
                            "properties": {
                                "apiVersion": {"type": "string"},
                                "kind": {"type": "string"},
                                "metadata": {"type": "object"},
                                "spec": _spec_schema(),
                                "status": _status_schema(),
                            },
                        }
                    },
                }
            ],
        },
    }


def _columns() -> list[dict[str, Any]]:
    """Columns of ``kubectl get radd``; those with a priority show with ``-o wide``."""
    source = ".metadata.annotations." + SOURCE_ANNOTATION.replace(".", r"\.")
    return [
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Healthy", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Healthy")].status'},
        {"name": "Namespace", "type": "string", "jsonPath": ".spec.namespace"},
        {"name": "Revision", "type": "string", "jsonPath": ".status.revision"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Message", "type": "string", "jsonPath": ".status.message", "priority": 1},
        {"name": "Source", "type": "string", "jsonPath": source, "priority": 1},
        {"name": "Synced", "type": "date", "jsonPath": ".status.lastSynced", "priority": 1},
    ]


def _spec_schema() -> JsonSchema:
    """The definition's schema without ``name``, which is the record's own, and with what only a record has."""
    schema = structural(DEFINITION_SCHEMA)
    schema["properties"].pop("name", None)
    schema["properties"]["syncRequest"] = {
        "type": "integer",
        "minimum": 0,
        "description": "A counter: raise it to let the pending changes of an add-on with manualSync through.",
    }
    required = [field for field in schema.get("required", []) if field != "name"]
    schema.pop("required", None)
    if required:
        schema["required"] = required
    return schema


def structural(schema: JsonSchema) -> JsonSchema:
    """A structural schema that accepts whatever the given JSON Schema accepts.

    Of a type that Kubernetes has no word for (several types, any type) only the freedom is kept.
    """
    kind = schema.get("type")
    kept: JsonSchema = {keyword: schema[keyword] for keyword in KEPT_KEYWORDS if keyword in schema}
    match kind:
        case "object":
            return kept | {"type": "object"} | _object_rules(schema)
        case "array":
            return kept | {"type": "array", "items": structural(schema.get("items") or {})}
        case "string" | "integer" | "number" | "boolean":
            return kept | {"type": kind}
    return {"description": schema["description"]} | FREE_FORM if "description" in schema else dict(FREE_FORM)


def _object_rules(schema: JsonSchema) -> JsonSchema:
    others = schema.get("additionalProperties", True)
    if properties := schema.get("properties"):
        rules: JsonSchema = {"properties": {name: structural(item) for name, item in properties.items()}}
        if required := schema.get("required"):
            rules["required"] = list(required)
        if choice := _choice_of_fields(schema.get("oneOf")):
            rules["oneOf"] = choice
        return rules
    if isinstance(others, dict) and others.get("type"):
        return {"additionalProperties": structural(others)}
    # Free form, and replaced as a whole: what somebody added by hand goes with the next write.
    return FREE_FORM | {"x-kubernetes-map-type": "atomic"}


def _choice_of_fields(branches: list[JsonSchema] | None) -> list[JsonSchema]:
    """``oneOf`` when all it says is which fields there must be; anything more would become too strict in part."""
    if not all(set(branch) == {"required"} for branch in branches or []):
        return []
    return [{"required": list(branch["required"])} for branch in branches or []]


def _status_schema() -> JsonSchema:
    """Unknown fields are preserved, here and in the entries: an older or a newer engine may have written them."""
    text: JsonSchema = {"type": "string"}
    number: JsonSchema = {"type": "integer"}
    counter: JsonSchema = {"type": "integer", "format": "int64"}
    moment: JsonSchema = {"type": "string", "format": "date-time"}
    return _open_object(
        {
            "observedGeneration": counter,
            "phase": {"type": "string", "enum": list(get_args(Phase))},
            "message": text,
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": _open_object(
                    {
                        "type": text,
                        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                        "observedGeneration": counter,
                        "lastTransitionTime": moment,
                        "reason": text,
                        "message": text,
                    },
                    required=["type", "status"],
                ),
            },
            "revision": {"type": "string", "description": "What was applied last: a commit, or a chart's version."},
            "objects": _open_list(
                {
                    "group": text,
                    "version": text,
                    "kind": text,
                    "namespace": text,
                    "name": text,
                    "uid": text,
                    "state": {"type": "string", "enum": list(get_args(EntryState))},
                    "resourceVersion": text,
                    "generation": counter,
                    "own": text,
                    "body": text,
                    "crd": text,
                    "completed": {"type": "boolean"},
                },
                description="The inventory: every object that the add-on has, or may have, in the cluster.",
                required=["kind", "name"],
            ),
            "renderKey": {"type": "string", "description": "Digest of everything that went into the last render."},
            "preview": _open_object(
                {
                    "counts": {"type": "object", "additionalProperties": number},
                    "items": _open_list({"diff": text}),
                    "truncated": {"type": "boolean"},
                }
            ),
            "hookRuns": _open_list({"name": text, "event": text, "outcome": text}),
            "history": _open_list(
                {"revision": text, "commit": text, "digest": text, "run": text, "user": text, "outcome": text}
            ),
            "cluster": {
                "type": "string",
                "description": "Uid of the namespace kube-system of the cluster that this status is about. In another "
                "one (say, a backup was restored there) runs refuse it.",
            },
            "world": {"type": "string", "description": "Keyed hash over what may change objects as they are written."},
            "lastSynced": moment,
            "appliedSyncRequest": counter,
            "adopted": {"type": "boolean"},
            "appliedHash": {"type": "string", "description": "Digest of what was applied last."},
        }
    )


def _open_object(properties: dict[str, JsonSchema], *, required: list[str] | None = None) -> JsonSchema:
    schema: JsonSchema = {"type": "object", "properties": properties} | FREE_FORM
    return schema | {"required": required} if required else schema


def _open_list(
    properties: dict[str, JsonSchema], *, description: str = "", required: list[str] | None = None
) -> JsonSchema:
    schema: JsonSchema = {"type": "array", "items": _open_object(properties, required=required)}
    return {"description": description} | schema if description else schema
