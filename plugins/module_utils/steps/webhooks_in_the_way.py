"""Webhook configurations of an add-on that refuse its own objects since nobody answers, and that a sync puts right.

Without this the objects could not be checked, so nothing would be applied, and the configuration would stay for ever.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..cluster.client import ApiError
from ..cluster.discovery import path_of
from ..model.bundle import Bundle
from ..model.errors import ClusterError
from ..model.kinds import WEBHOOK_CONFIGURATIONS
from ..model.names import OWNER_LABEL
from ..model.objects import Manifest, ObjectKey
from ..model.shapes import mappings_of
from .bodies import Bodies
from .session import Session


@dataclass(frozen=True, slots=True)
class InTheWay:
    """A configuration, and what the sync does with it."""

    key: ObjectKey
    what: Literal["leaves", "changes"]


class WebhooksInTheWay:
    """Those of one add-on, looked for when the first webhook does not answer; may be asked by many threads.

    :param bodies: of the same add-on: what a sync sends is compared, not what the source says.
    """

    def __init__(self, session: Session, bundle: Bundle, bodies: Bodies) -> None:
        self._session = session
        self._name = bundle.name
        self._bodies = bodies
        # Looked for once: each look asks the server about every configuration.
        self._lock = threading.Lock()
        self._bundled = {item.key: item for item in bundle.objects if item.key.group_kind in WEBHOOK_CONFIGURATIONS}

    def of(self, error: ApiError) -> InTheWay | None:
        """The configuration of the webhook that failed; ``None`` when the sync leaves it as it is."""
        if not error.webhook:
            return None
        with self._lock:
            return self._by_webhook.get(error.webhook)

    @cached_property
    def _by_webhook(self) -> dict[str, InTheWay]:
        entries = self._session.record(self._name).inventory.entries
        prunes = self._session.directory.definition(self._name).definition.prune
        versions = {
            key: entry.version for key, entry in entries.items() if prunes and key.group_kind in WEBHOOK_CONFIGURATIONS
        }
        versions |= {key: item.version for key, item in self._bundled.items()}
        found: dict[str, InTheWay] = {}
        for key, version in versions.items():
            try:
                live, what = self._look_at(key, version)
            except ClusterError:
                continue
            if what:
                names = [str(webhook.get("name")) for webhook in mappings_of(live.get("webhooks"))]
                found |= dict.fromkeys(names, InTheWay(key, what))
        return found

    def _look_at(self, key: ObjectKey, version: str) -> tuple[Manifest, Literal["", "leaves", "changes"]]:
        """The live configuration, and what the sync does with it."""
        client, resource = self._session.acting, self._session.discovery.find(key.group, version, key.kind)
        path = path_of(resource, "", key.name) if resource else ""
        live = client.find(path) if path else None
        if live is None or (live["metadata"].get("labels") or {}).get(OWNER_LABEL) != self._name:
            return {}, ""
        if key not in self._bundled:
            return live, "leaves"
        body = self._bodies.of(self._bundled[key], live, []).manifest
        predicted = client.apply(path, body, dry_run=True, force=True).body
        return live, "changes" if predicted.get("webhooks") != live.get("webhooks") else ""
