"""Digests that can be compared but not guessed: a plain hash of a Secret's body in a readable status could be.

The key is the cluster's Secret ``addon-key``; every digest that leaves a run is made with it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """One byte string per value: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def keyed_hash(key: bytes, value: Any) -> str:
    """HMAC-SHA256 of the canonical JSON of ``value``, 32 hex digits (128 bits)."""
    return hmac.new(key, canonical_json(value), hashlib.sha256).hexdigest()[:32]
