"""Looks for secret values of the tests in everything that a test run left: outputs, files, records and logs.

Every value in a Secret of these tests contains one of the markers below, so that they are found wherever they went.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

MARKERS = ("swordfish", "not-to-be-shown", "7391846205")

# Where Secrets have to be: what tests commit, what the API server stores, and the product's private folders.
_MAY_HOLD_SECRETS = frozenset({"gitops", "etcd", "cache", "renders", "runtime", "temporary"})


def forms(marker: str) -> set[bytes]:
    """How a text that contains the marker shows it: as it is, quoted, and in base64 at each of the three offsets."""
    found = {marker.encode(), quote(marker, safe="").encode()}
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + marker.encode())
        # What stands at both ends depends on the neighbours.
        found.add(encoded[(0, 2, 3)[offset] : -4])
    return found


def traces(folder: Path) -> Iterator[str]:
    """Every file below a folder that tells a secret value, and where in it."""
    wanted = {form for marker in MARKERS for form in forms(marker)}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if _MAY_HOLD_SECRETS.isdisjoint(inside.parts) and path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            for form in wanted:
                at = content.find(form)
                if at >= 0:
                    yield f"{inside}: …{content[max(0, at - 80) : at + 40]!r}…"
