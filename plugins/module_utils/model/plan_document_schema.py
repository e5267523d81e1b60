"""The form of the machine-readable plan, as a JSON Schema; the published ``docs/plan.schema.json`` is made of it."""

from __future__ import annotations

from typing import Any, get_args

from .plan import Action, Cascade, Gate, Verdict

SCHEMA_VERSION = 1
"""Goes up when something that a program may rely on goes or changes its meaning; fields may come without that."""


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


def _choice(values: tuple[str, ...], description: str) -> dict[str, Any]:
    return {"enum": list(values), "description": description}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _record(description: str, properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _list(description: str, items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "description": description}


_IDENTITY = {
    "group": _text("API group, empty for the core group."),
    "kind": _text("Kind."),
    "namespace": _text("Namespace, empty for a cluster-scoped object."),
    "name": _text("Name."),
}

_PATCH = _list(
    "RFC 6902 operations that lead from the live object to the one after the sync, secrets masked. An object that "
    'comes or goes as a whole is one operation on the path "".',
    {
        "type": "object",
        "properties": {
            "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
            "path": {"type": "string"},
            "from": {"type": "string"},
            "value": True,
        },
        "required": ["op", "path"],
    },
)

_ITEM = _record(
    "What happens to one object. An unchanged one has object, action, verdict and digest, and layer, reason, "
    "warnings and yields, if there are any; of the others, fields that are empty are left out.",
    {
        "object": _record("The object.", {**_IDENTITY, "version": _text("API version that it is sent in.")}),
        "action": _choice(get_args(Action), "What a sync does."),
        "verdict": _choice(get_args(Verdict), "How sure that is."),
        "digest": _text("Keyed hash over the rendered object, the live one, and the action."),
        "layer": {
            "type": "integer",
            "minimum": 1,
            "description": "Its place in the order of the add-on's objects; absent for what is not applied.",
        },
        "reason": _text("Why."),
        "source": _text("File and document in the source."),
        "owner": _text("Add-on that the live object's label names, empty for none; absent without a live object."),
        "takesOver": _list(
            "Fields that another manager owns and that the sync takes from it.",
            _record("A field.", {"field": _text("The field."), "manager": _text("Who owns it now.")}),
        ),
        "shares": _list(
            "Fields of an object that is taken over which another manager owns as well, with the same value.",
            _record("A field.", {"field": _text("The field."), "manager": _text("Who owns it, too.")}),
        ),
        "yields": _list(
            "Fields of the source that stay as they are in the cluster.",
            _record(
                "A field.",
                {
                    "field": _text("The field."),
                    "manager": _text("Who keeps it, empty if nobody does."),
                    "reason": _text("Why it stays."),
                },
            ),
        ),
        "absorbs": _texts("Managers whose fields become the add-on's."),
        "removes": _texts("Fields that go with absorbing."),
        "repairs": _texts("What is put right in the object's managed fields, before all else."),
        "immutable": _texts("Fields that can't be changed in place."),
        "cascade": _choice(
            get_args(Cascade)[1:], "What deleting it does to the objects that it made, when it is deleted."
        ),
        "heldBy": _text("The object that can't be changed in place and that this one needs."),
        "warnings": _texts("What the server warned of in the dry run, and what else is to be known."),
        "patch": _PATCH,
    },
    optional=(
        "layer", "reason", "source", "owner", "takesOver", "shares", "yields", "absorbs", "removes", "repairs",
        "immutable", "cascade", "heldBy", "warnings", "patch",
    ),
)  # fmt: skip

_ADDON = _record(
    "One add-on.",
    {
        "phase": _text(
            "Its phase in this run; what its record says where the run decided nothing; - when it was dropped."
        ),
        "why": _text("Error, reason or what is kept, in a sentence, as in the table of the run."),
        "planned": _flag("Whether there is a plan; false when it could not be rendered or planned, or left git."),
        "pending": _flag(
            "Whether a sync would do something, or can't tell; also while a gate or a pause holds it back."
        ),
        "gate": _choice(get_args(Gate), "What holds the plan back, empty for nothing."),
        "gateReason": _text("Why the gate is closed."),
        "missingRights": _list(
            "Rights that the acting identity lacks for a sync.",
            _record(
                "Verbs on a resource.",
                {
                    "group": _text("API group, empty for the core group."),
                    "resource": _text("Resource, with its subresource after a slash."),
                    "namespace": _text("Namespace, empty for a cluster-scoped resource."),
                    "verbs": _texts("The verbs."),
                    "neededFor": _list(
                        "What needs them.",
                        _record(
                            "An action on an object.",
                            {
                                "action": _text("An action of the plan, or hook."),
                                "object": _record("The object.", _IDENTITY),
                            },
                        ),
                    ),
                },
            ),
        ),
        "revision": _text("Chart and version, or commit, that was rendered; empty when nothing was."),
        "digest": _text("Digest of the whole plan."),
        "bundleDigest": _text("Digest of what was rendered."),
        "counts": {
            "type": "object",
            "description": "Objects per action, and unknown ones; what does not occur is left out.",
            "additionalProperties": {"type": "integer", "minimum": 1},
        },
        "warnings": _texts("Warnings of the render."),
        "gone": _list(
            "Objects of the inventory that do not exist, or are not this add-on's, any more.",
            _record("An object.", _IDENTITY),
        ),
        "items": _list("All objects, in the order of the plan.", _ITEM),
    },
)

PLAN_DOCUMENT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Plan of a run",
    **_record(
        "What a run of rendimiento.addons would do, or was planned to do, to a cluster.",
        {
            "schemaVersion": {"const": SCHEMA_VERSION, "description": "Version of this form."},
            "commit": _text("Commit of the gitops repository."),
            "server": _text("URL of the API server."),
            "serverVersion": _text("Its version."),
            "check": _flag("Whether it was a preview; otherwise the plans are those that the run carried out."),
            "comparable": _flag("Whether digests and stand-ins of secrets can be compared with those of other runs."),
            "invalid": _texts("What is wrong with definition files that have no usable name."),
            "warnings": _texts("Warnings of the run."),
            "addons": {
                "type": "object",
                "description": "The add-ons by name, dependencies first.",
                "additionalProperties": _ADDON,
            },
        },
    ),
}
