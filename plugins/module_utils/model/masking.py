"""Hides secret values in whatever people get to see, and keeps visible whether two of them are equal.

A placeholder is a keyed hash of the content: it says nothing about content or length, not even to somebody who guesses
(a plain hash of a short password can be tried out), but the same value gives the same placeholder before and after.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .field_rules import FieldRule
from .names import LAST_APPLIED_ANNOTATION
from .objects import Manifest

SHORTEST_SECRET = 4
"""Shorter values are left in texts: replacing every ``a`` would make the text unreadable and tell the value."""

_HIDDEN = "<secret>"


class Placeholders:
    """Stand-ins for secret values, equal for equal values under one key, in every process.

    :param key: the cluster's ``addon-key``, or a random key of the run.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, value: str | bytes) -> str:
        """Such as ``<secret 3f9a1c07>``."""
        content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return f"<secret {hmac.new(self._key, content, hashlib.sha256).hexdigest()[:8]}>"


@dataclass(frozen=True, slots=True)
class Mask:
    """What hides the secrets of one add-on in whatever is shown of its objects.

    :param rules: fields that the definition names to be hidden, besides the values of Secrets.
    :param secrets: values that are hidden wherever else they stand.
    """

    placeholders: Placeholders
    rules: Sequence[FieldRule] = ()
    secrets: frozenset[str] = frozenset()

    def object(self, manifest: Manifest) -> Manifest:
        return mask_object(manifest, self.placeholders)

    def text(self, text: str) -> str:
        return mask_text(text, self.secrets)


def mask_object(manifest: Manifest, placeholders: Placeholders) -> Manifest:
    """The object, or the list of objects, without secret values; what needs no mask is shared with the original.

    Every value in ``data`` and ``stringData`` of a Secret becomes a placeholder of its content, so that one written
    under ``stringData`` equals its base64 form under ``data``. The annotation of client-side ``kubectl apply``, a full
    copy of the object, is dropped from objects of every kind.
    """
    masked = _without_last_applied(manifest)
    if isinstance(items := masked.get("items"), list):
        masked = {**masked, "items": [mask_object(item, placeholders) if _is_map(item) else item for item in items]}
    if _is_secret(masked):
        for field in ("data", "stringData"):
            if field in masked:
                masked = {**masked, field: _mask_values(masked[field], field, placeholders)}
    return masked


def secret_values(manifest: Manifest) -> set[str]:
    """The values of a Secret (or of those in a list) as text, for ``mask_text``; none for other kinds."""
    values: set[str] = set()
    if isinstance(items := manifest.get("items"), list):
        values = values.union(*(secret_values(item) for item in items if _is_map(item)))
    if _is_secret(manifest):
        for field in ("data", "stringData"):
            entries = manifest.get(field)
            for value in entries.values() if isinstance(entries, dict) else ():
                values.add(value if isinstance(value, str) else json.dumps(value))
                values.add(_content(value, field).decode("utf-8", "replace"))
    return values


def mask_text(text: str, secrets: Iterable[str]) -> str:
    """A text such as an API error, in which the server may quote values, with the given ones replaced.

    Found are a value itself, its base64 form, and the form that it has inside a JSON or Go string.
    """
    forms: set[str] = set()
    for secret in secrets:
        forms |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        forms.add(base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode())
    # Of two values that begin alike the longer one has to go first, or its rest would stay readable.
    wanted = sorted((form for form in forms if len(form) >= SHORTEST_SECRET), key=lambda form: (-len(form), form))
    return re.sub("|".join(map(re.escape, wanted)), _HIDDEN, text) if wanted else text


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_secret(manifest: Manifest) -> bool:
    return manifest.get("kind") == "Secret" and "/" not in str(manifest.get("apiVersion", ""))


def _mask_values(values: Any, field: str, placeholders: Placeholders) -> Any:
    if _is_map(values):
        return {key: placeholders.of(_content(value, field)) for key, value in values.items()}
    return values if values is None else placeholders.of(_content(values, field))


def _content(value: Any, field: str) -> bytes:
    if not isinstance(value, str):
        return json.dumps(value, sort_keys=True).encode()
    raw = value.encode("utf-8", "surrogatepass")
    if field == "data":
        try:
            return base64.b64decode(raw, validate=True)
        except binascii.Error:
            return raw
    return raw


def _without_last_applied(manifest: Manifest) -> Manifest:
    metadata = manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or LAST_APPLIED_ANNOTATION not in annotations:
        return dict(manifest)
    rest = {key: value for key, value in annotations.items() if key != LAST_APPLIED_ANNOTATION}
    kept = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    return {**manifest, "metadata": {**kept, "annotations": rest} if rest else kept}
