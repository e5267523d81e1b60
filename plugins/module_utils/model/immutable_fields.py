"""Whether the API server refuses a change only because a field of the object can't be changed once it is there.

The word "invalid" tells nothing, and a refused value may say "immutable" itself: so the reason counts, the field, and
what is said of the value, but never the value. All texts were seen on a real server (Kubernetes 1.37) or stand in
``apimachinery/pkg/api/validation`` and the validations of the kinds.
"""

from __future__ import annotations

import json
import re

_REASONS = frozenset({"", "FieldValueInvalid", "FieldValueForbidden"})

_FIXED = re.compile(
    r"\bimmutable\b|\bmay not (?:be )?changed?\b|\bupdates to .* (?:is|are) forbidden"
    # A volume claim only grows.
    r"|\bcan ?not be less than (?:status\.capacity|previous value)"
    # What a rule of a custom resource says that has no message of its own.
    r"|\bself == oldSelf$",
    re.DOTALL,
)

STORED_VERSIONS = "status.storedVersions"
"""Where the server finds fault when a version leaves a CustomResourceDefinition in which objects may be stored."""

_VALUE = "Invalid value: "


def is_about_immutability(reason: str, field: str, message: str) -> bool:
    """Of one cause of a refusal, its three parts as the server gives them.

    What admission says carries no field, and is no word on what can be changed.
    """
    if not field or reason not in _REASONS:
        return False
    return field.startswith(STORED_VERSIONS) or bool(_FIXED.search(_without_value(message)))


def _without_value(message: str) -> str:
    """What is said of a value: the text behind it, which is JSON, or of older servers a Go struct."""
    _before, quoted, rest = message.partition(_VALUE)
    if not quoted:
        return message
    try:
        _value, end = json.JSONDecoder().raw_decode(rest)
    except ValueError:
        return rest.rpartition("}: " if "}: " in rest else ": ")[2]
    return rest[end:].removeprefix(": ")
