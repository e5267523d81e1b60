"""The schema that an object will meet when it is applied, wherever that is known from.

A definition that comes with the same run counts before the live one: its objects are applied after it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from ..cluster.client import ApiError
from ..cluster.openapi import OpenApi
from ..model.normalise import is_definition, kinds_of_definition
from ..model.objects import Manifest, join_api_version, split_api_version
from ..model.structural_schema import StructuralSchema
from .session import Session

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Schemas:
    """Checks of objects that the server can't do yet; may be used by many threads.

    Nothing is asked of the server before an object needs it, and nothing twice.

    :param manifests: what this add-on and its dependencies bring; the CustomResourceDefinitions in it are used.
    """

    def __init__(self, session: Session, manifests: Iterable[Manifest]) -> None:
        self._session = session
        self._brought: dict[tuple[str, str, str], Manifest] = {}
        for manifest in filter(is_definition, manifests):
            for group, version, kind, _namespaced in kinds_of_definition(manifest):
                self._brought.setdefault((group, version, kind), manifest)
        self._known: dict[tuple[str, str, str], StructuralSchema | None] = {}
        self._lock = threading.RLock()

    def faults(self, manifest: Manifest) -> list[str]:
        """What the server would refuse, each in one line without values; empty also when nothing is known.

        Of what is sent, so ``without_nulls``.

        :raises ClusterError: as ``Client.request``, but for a refusal.
        """
        schema = self._schema(manifest)
        return schema.faults(schema.without_nulls(manifest)) if schema else []

    def checked(self, manifest: Manifest) -> bool:
        """Whether there is a schema to check this object with."""
        return self._schema(manifest) is not None

    def without_nulls(self, manifest: Manifest) -> Manifest:
        """What to send of a custom resource: see ``StructuralSchema.without_nulls``. Others stay as they are.

        Only a custom resource with a null in it needs its schema.

        :raises ClusterError: as ``Client.request``, but for a refusal.
        """
        if not _has_null(manifest) or not self._may_be_custom(manifest):
            return manifest
        schema = self._schema(manifest)
        return schema.without_nulls(manifest) if schema else manifest

    def _may_be_custom(self, manifest: Manifest) -> bool:
        group, version = split_api_version(manifest["apiVersion"])
        kind = manifest["kind"]
        if (group, version, kind) in self._brought:
            return True
        if "." not in group:
            return False
        with self._lock:
            # When definitions may not be listed, the server's documents tell what is a custom resource.
            return not self._session.definitions or bool(self._definition_name(group, kind))

    def _schema(self, manifest: Manifest) -> StructuralSchema | None:
        group, version = split_api_version(manifest["apiVersion"])
        place = (group, version, manifest["kind"])
        with self._lock:
            # Under the lock: of many threads that need the same one, one asks.
            if place not in self._known:
                self._known[place] = self._found(*place)
            return self._known[place]

    def _found(self, group: str, version: str, kind: str) -> StructuralSchema | None:
        if brought := self._brought.get((group, version, kind)):
            # Whatever the live one says, it is not what the object will meet.
            return StructuralSchema.of_definition(brought, version)
        if self._session.discovery.find(group, version, kind) is None:
            return None
        name = self._definition_name(group, kind)
        if name and (live := self._live(name)):
            return StructuralSchema.of_definition(live, version)
        document = self._openapi.document(join_api_version(group, version))
        return StructuralSchema.of_openapi(document, group, version, kind) if document else None

    def _definition_name(self, group: str, kind: str) -> str:
        """Of the live definition; empty for the server's own kinds, and when definitions may not be listed."""
        if "." not in group:
            return ""
        resource = self._session.discovery.preferred(group, kind)
        name = f"{resource.plural}.{group}" if resource else ""
        return name if name in self._session.definitions else ""

    def _live(self, name: str) -> Manifest | None:
        try:
            return self._session.acting.find(f"{_DEFINITIONS}/{name}")
        except ApiError:
            return None

    @cached_property
    def _openapi(self) -> OpenApi:
        return OpenApi(self._session.acting)


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(item is None or _has_null(item) for item in value.values())
    return isinstance(value, list) and any(item is None or _has_null(item) for item in value)
