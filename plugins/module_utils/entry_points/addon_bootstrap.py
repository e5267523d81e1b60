"""``addon_bootstrap``: prepares a cluster for the collection, once and again after an upgrade, or takes that back."""

from __future__ import annotations

from typing import Any

from ..model.errors import BootstrapError
from ..model.names import PLATFORM_ROLE, PREVIEWER_ROLE, VIEWER_ROLE
from ..model.roles import Subject
from ..steps.bootstrap import Prepared, bootstrap
from ..steps.bootstrap_removal import remove_bootstrap
from .invocation import Invocation, Parameters, Result
from .options import ACCESS_SPEC, STATE_NAMESPACE_SPEC, access_options

_SUBJECTS: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "options": {
        "kind": {"type": "str", "required": True, "choices": ["User", "Group", "ServiceAccount"]},
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str"},
    },
}
_ROLES = {
    "platform_subjects": PLATFORM_ROLE,
    "previewer_subjects": PREVIEWER_ROLE,
    "viewer_subjects": VIEWER_ROLE,
}

ARGUMENT_SPEC: dict[str, Any] = {
    **ACCESS_SPEC,
    **STATE_NAMESPACE_SPEC,
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "purge": {"type": "bool", "default": False},
    "platform_subjects": _SUBJECTS,
    "previewer_subjects": _SUBJECTS,
    "viewer_subjects": _SUBJECTS,
}

RETURNS = ("objects", "created", "updated", "removed", "kept", "diff")


def call(parameters: Parameters, invocation: Invocation) -> Result:
    access, namespace = access_options(parameters, invocation), parameters["state_namespace"]
    if parameters["state"] == "present":
        subjects = {role: _subjects(option, parameters[option]) for option, role in _ROLES.items()}
        objects = bootstrap(access, namespace, subjects, check=invocation.check)
    else:
        objects = remove_bootstrap(access, namespace, purge=parameters["purge"], check=invocation.check)
    changed = [item for item in objects if item.changed]
    diff = [
        {
            "before_header": item.title,
            "after_header": item.title,
            "before": item.difference.before,
            "after": item.difference.after,
        }
        for item in changed
    ]
    return Result(
        changed=bool(changed),
        values={
            "objects": [item.title for item in objects],
            "created": _titles(objects, "created"),
            "updated": _titles(objects, "updated"),
            "removed": _titles(objects, "removed"),
            "kept": [f"{item.title}: {item.reason}" for item in objects if item.state == "kept"],
        },
        diff=diff if invocation.diff else [],
        warnings=_warnings(objects),
    )


def _subjects(option: str, entries: list[dict[str, Any]] | None) -> list[Subject] | None:
    """:raises BootstrapError: when a service account lacks its namespace, or something else has one."""
    for entry in entries or []:
        if (entry["kind"] == "ServiceAccount") != bool(entry.get("namespace")):
            what = "a ServiceAccount needs its namespace" if entry["kind"] == "ServiceAccount" else "has no namespace"
            raise BootstrapError(what, subject=f"{option}: {entry['kind']} {entry['name']}")
    if entries is None:
        return None
    return [Subject(entry["kind"], entry["name"], entry.get("namespace") or "") for entry in entries]


def _titles(objects: list[Prepared], state: str) -> list[str]:
    return [item.title for item in objects if item.state == state]


def _warnings(objects: list[Prepared]) -> list[str]:
    """What stays although everything was to go, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for item in objects:
        if item.state == "kept":
            by_reason.setdefault(item.reason, []).append(item.title)
    return [f"{', '.join(titles)} stay: {reason}" for reason, titles in by_reason.items()]
