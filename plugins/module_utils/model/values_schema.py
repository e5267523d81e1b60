"""Whether a ``values.schema.json`` is all in one file.

Helm follows the references of a schema wherever they lead: to files of the host, to servers near it, to the network.
A schema that leads anywhere is not used.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import Any

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
# Helm knows these by heart.
_OWN = re.compile(r"https?://json-schema\.org/[A-Za-z0-9/.#_-]*")


def is_values_schema(path: str) -> bool:
    return posixpath.basename(path) == "values.schema.json"


def leads_elsewhere(text: str) -> bool:
    """Whether Helm would have to read more to check values against this schema; also when that can't be told."""
    led: list[str] = []

    def looked_at(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # All of them: of two with one name, it is not for this reader to say which one counts.
        for key, value in pairs:
            inside = isinstance(value, str) and ((value.startswith("#") and key != "$schema") or _OWN.fullmatch(value))
            if (key == "$schema" or key in _REFERENCES) and isinstance(value, str) and not inside:
                led.append(value)
        return dict(pairs)

    try:
        json.loads(text.removeprefix("\ufeff"), object_pairs_hook=looked_at)
    except (ValueError, RecursionError):
        return True
    return bool(led)
