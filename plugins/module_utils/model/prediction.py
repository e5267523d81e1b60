"""What an apply will roughly make of an object that can not be dry-run yet, since its kind changes in the same run."""

from __future__ import annotations

from typing import Any

from .objects import Manifest


def overlaid(live: Manifest, body: Manifest) -> Manifest:
    """The live object with the body laid over it: mappings are merged, everything else is what the body says.

    Server-side apply does this for custom resources whose schema names no list keys. What would be removed because the
    body left it out is not predicted.
    """
    merged: Manifest = _merged(live, body)
    return merged


def _merged(live: Any, body: Any) -> Any:
    if not (isinstance(live, dict) and isinstance(body, dict)):
        return body
    return {**live, **{field: _merged(live.get(field), value) for field, value in body.items()}}
