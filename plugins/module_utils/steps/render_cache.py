"""Renders that were made before, found by everything that went into them.

Two entries belong to a render: what it asked about the cluster, found by its inputs alone, and the documents, found by
the inputs and the cluster's answers. So a render is found again after the kinds that it brought itself were installed.

Not kept is what is input itself (objects of the cluster), and what a chart makes up: clusters that share a cache would
share passwords, and an object that is made again would get the old ones.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..cache.folder import CacheFolder
from ..model.cluster_facts import Asked, ClusterFacts
from ..model.json_fields import decode, encode
from ..model.keyed_hash import canonical_json
from .sources.source import Preparation, Rendered

RENDER_SCHEMA = 2
"""Part of every key, also of that in records: raised when equal inputs come to mean other documents or objects."""


def find_or_render(
    kind: str, preparation: Preparation, cluster: ClusterFacts, cache: CacheFolder
) -> tuple[Rendered, bool]:
    """The render, and whether it was found in the cache.

    :raises AddonError: it had to be made, and can't be.
    """
    if not preparation.keep:
        return preparation.render(), False
    inputs = _digest([RENDER_SCHEMA, kind, preparation.inputs])
    asked = _read(cache, "asked", inputs, Asked)
    if asked:
        known = _read(cache, "renders", _digest([inputs, asked.answers(cluster)]), Rendered)
        # What a chart brings may depend on the cluster: another one may have left what it asked.
        if known and known.asked.answers(cluster) == asked.answers(cluster):
            return known, True
    made = preparation.render()
    if made.connected or made.second:
        return made, False
    _write(cache, "renders", _digest([inputs, made.asked.answers(cluster)]), made)
    _write(cache, "asked", inputs, made.asked)
    return made, False


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _read(cache: CacheFolder, area: str, key: str, kind: Any) -> Any:
    content = cache.read(area, key)
    try:
        return decode(kind, json.loads(content)) if content is not None else None
    except (ValueError, TypeError, KeyError):
        return None


def _write(cache: CacheFolder, area: str, key: str, value: Any) -> None:
    cache.write(area, key, json.dumps(encode(value), separators=(",", ":"), ensure_ascii=False).encode())
