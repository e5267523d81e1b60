"""What may stand in a definition file, as a JSON Schema: the one place that lists the fields.

The published ``.json`` file (completion in editors) and the schema of the Addon record's ``spec`` are generated from
it, so it keeps to what a structural schema of Kubernetes can say too; rules between fields are in ``definition.py``.
Every ``pattern`` is anchored at both ends.
"""

from __future__ import annotations

from typing import Any

DNS_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_COUNT = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
_RELATIVE_PATH = {"type": "string", "minLength": 1, "maxLength": 1024}
_NAME_IN_CLUSTER = {
    "type": "string",
    "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    "maxLength": 253,
}


def _flag(title: str, description: str) -> dict[str, Any]:
    return {"type": "boolean", "default": False, "title": title, "description": description}


def _seconds(title: str, description: str, default: int) -> dict[str, Any]:
    return {**_COUNT, "default": default, "title": title, "description": description}


def _record(title: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "title": title,
        "description": description,
        "properties": properties,
        "additionalProperties": False,
        **({"required": list(required)} if required else {}),
    }


def _text(title: str, description: str, **rules: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": 253, **rules, "title": title, "description": description}


_VALUES_FILES = {
    "type": "array",
    "items": _RELATIVE_PATH,
    "title": "Values files",
    "description": "Helm values files, paths in the gitops repository; later ones win, `values` wins over all.",
}

_HELM = _record(
    "Helm chart",
    "A chart from a chart repository or an OCI registry.",
    {
        "repo": _text(
            "Repository",
            "https:// URL of a chart repository, or oci:// URL of the registry folder that holds the chart.",
            maxLength=2048,
        ),
        "chart": _text("Chart", "Name of the chart in the repository.", pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$"),
        "version": _text(
            "Version",
            "The exact version; a range would change the cluster without a commit.",
            pattern="^v?[0-9]+([.][0-9]+)*([-+_][0-9A-Za-z.+_-]*)?$",
            maxLength=128,
        ),
        "valuesFiles": _VALUES_FILES,
    },
    required=("repo", "chart", "version"),
)

_GIT = _record(
    "Git folder",
    "A folder with a chart, a kustomization or plain YAML files.",
    {
        "path": {**_RELATIVE_PATH, "title": "Path", "description": "Folder in the repository."},
        "repo": _text("Repository", "URL of another repository; the gitops repository when absent.", maxLength=2048),
        "revision": _text(
            "Revision",
            "Branch, tag or commit; when absent, the default branch of `repo`, or the commit that this file is from.",
            pattern="^[^-~^:?*\\[\\\\\\s][^~^:?*\\[\\\\\\s]*$",
        ),
        "valuesFiles": _VALUES_FILES,
    },
    required=("path",),
)

_OBJECT_MATCH = {
    "group": {"type": "string", "maxLength": 253, "title": "API group", "description": "Empty for the core group."},
    "kind": _text("Kind", "Kind of the objects.", maxLength=63),
    "namespace": {**_NAME_IN_CLUSTER, "title": "Namespace", "description": "Namespace of the objects."},
    "name": _text("Name", "Name of the object."),
}

_POINTERS = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "string", "pattern": "^(/([^/~]|~[01])*)+$"},
    "title": "JSON pointers",
    "description": "RFC 6901 pointers such as /spec/replicas; a / within a key is written ~1.",
}

_IGNORE = _record(
    "Fields to leave alone",
    "Fields that others write: sent when an object is created, never changed after that, and left out of diffs. "
    "What is absent of group, kind, namespace and name matches everything.",
    {"pointers": _POINTERS, **_OBJECT_MATCH},
    required=("pointers",),
)

_MASK = _record(
    "Fields to hide",
    "Fields that hold secrets outside of Secrets: their values are shown nowhere, in no diff, message or status. "
    "What is absent of group, kind, namespace and name matches everything.",
    {"pointers": _POINTERS, **_OBJECT_MATCH},
    required=("pointers",),
)

_READY = _record(
    "Readiness rule",
    "When objects of a kind count as ready, instead of what is known of the kind: exactly one of `condition`, "
    "`jsonPath` and `wait: false`.",
    {
        "group": {
            **_OBJECT_MATCH["group"],
            "description": "Empty for the core group; when absent, the kind counts in every group.",
        },
        "kind": _OBJECT_MATCH["kind"],
        "condition": _text("Condition", "Type of a condition in status.conditions that has to be True."),
        "jsonPath": _text("JSON path", "Path to a field such as {.status.phase}, as for kubectl wait.", maxLength=1024),
        "value": {
            "type": "string",
            "maxLength": 1024,
            "title": "Value",
            "description": "What the field at `jsonPath` has to be; any value when absent.",
        },
        "wait": {"type": "boolean", "title": "Wait", "description": "`false`: such objects count as ready at once."},
    },
    required=("kind",),
)

_VALUES_FROM = _record(
    "Values from the cluster",
    "Helm values kept in a Secret or ConfigMap of the add-on's namespace: exactly one of `secret` and `configMap`.",
    {
        "secret": {**_NAME_IN_CLUSTER, "title": "Secret", "description": "Name of the Secret."},
        "configMap": {**_NAME_IN_CLUSTER, "title": "ConfigMap", "description": "Name of the ConfigMap."},
        "key": _text("Key", "The key that holds the YAML text.", pattern="^[-._A-Za-z0-9]+$", default="values.yaml"),
        "optional": _flag("Optional", "Go on without it when it does not exist."),
    },
)

_PATCH = _record(
    "Patch",
    "A patch as in the `patches` of a kustomization: exactly one of `patch` and `path`.",
    {
        "patch": _text("Patch", "Strategic merge patch or JSON 6902 patch, as YAML text.", maxLength=65536),
        "path": {**_RELATIVE_PATH, "title": "Path", "description": "File with the patch, in the gitops repository."},
        "target": _record(
            "Target",
            "Objects to patch; names and namespaces are anchored regular expressions, as in kustomize.",
            {
                field: {"type": "string", "maxLength": 1024, "title": title, "description": title + " to match."}
                for field, title in (
                    ("group", "API group"),
                    ("version", "API version"),
                    ("kind", "Kind"),
                    ("namespace", "Namespace"),
                    ("name", "Name"),
                    ("labelSelector", "Label selector"),
                    ("annotationSelector", "Annotation selector"),
                )
            },
        ),
        "options": _record(
            "Options",
            "Options of kustomize.",
            {
                "allowNameChange": _flag("Allow name change", "The patch may rename the object."),
                "allowKindChange": _flag("Allow kind change", "The patch may change the object's kind."),
            },
        ),
    },
)


def _list_of(items: dict[str, Any], title: str, description: str) -> dict[str, Any]:
    return {"type": "array", "items": items, "title": title, "description": description}


DEFINITION_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Add-on definition",
    "description": "One add-on of a cluster: where its objects come from and how they are kept.",
    "type": "object",
    "required": ["name", "namespace"],
    "oneOf": [{"required": ["helm"]}, {"required": ["git"]}],
    "additionalProperties": False,
    "properties": {
        "name": _text("Name", "Name of the add-on; never change it.", pattern=DNS_LABEL, maxLength=63),
        "title": _text("Title", "Name for people; `name` when absent."),
        "category": _text("Category", "A word to group add-ons by.", maxLength=63),
        "description": {"type": "string", "maxLength": 4096, "title": "Description", "description": "For people."},
        "namespace": _text("Namespace", "Where its objects go that name none.", pattern=DNS_LABEL, maxLength=63),
        "helm": _HELM,
        "git": _GIT,
        "createNamespace": _flag("Create namespace", "Create `namespace` when it does not exist."),
        "adopt": _flag("Adopt", "Take over what already runs, if that changes nothing."),
        "allowAdoptChanges": _flag("Allow adopt changes", "Take it over even if something changes."),
        "releaseName": _text(
            "Release name",
            "Name of the Helm release; `name` when absent.",
            pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            maxLength=53,
        ),
        "values": {
            "type": "object",
            "additionalProperties": True,
            "title": "Values",
            "description": "Helm values; they win over those of files and of the cluster.",
        },
        "valuesFrom": _list_of(_VALUES_FROM, "Values from", "Helm values kept in the cluster; later ones win."),
        "dependsOn": _list_of(
            {"type": "string", "pattern": DNS_LABEL, "maxLength": 63},
            "Depends on",
            "Names of add-ons that are synced before this one.",
        ),
        "patches": {
            **_list_of(_PATCH, "Patches", "Changes to the rendered objects, for every kind of source."),
            "maxItems": 100,
        },
        "ignore": _list_of(_IGNORE, "Ignore", "Fields that others write."),
        "mask": _list_of(_MASK, "Mask", "Fields whose values are hidden, besides those of Secrets."),
        "prune": _flag("Prune", "Delete objects that left the source."),
        "manualSync": _flag("Manual sync", "Changes wait until somebody asks for a sync."),
        "suspend": _flag("Suspend", "Leave the add-on alone."),
        "skipHooks": _flag("Skip hooks", "Run no Helm hooks."),
        "hookTimeout": _seconds("Hook timeout", "Seconds that one hook may take.", 600),
        "wait": _seconds("Wait", "Seconds to wait until everything is ready; 0: do not wait.", 300),
        "maxDelete": {
            **_COUNT,
            "title": "Most deletions",
            "description": "Refuse to delete more objects than this in one run; when absent, more than 10 that are "
            "also more than half of all are refused.",
        },
        "ready": _list_of(_READY, "Ready", "When objects of certain kinds count as ready."),
    },
}
