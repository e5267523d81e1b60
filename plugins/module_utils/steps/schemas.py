"""The schema that an object will meet when it is applied, wherever that is known from.

A definition that comes with the same run counts before the live one: its objects are applied after it. Anybody can have
written a schema: one that can't be read checks nothing, whatever is wrong with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from ..cluster.client import ApiError
from ..cluster.discovery import DEFINITIONS
from ..model.normalise import is_definition, kinds_of_definition
from ..model.objects import Manifest, join_api_version, split_api_version
from ..model.structural_schema import StructuralSchema
from .custom_resources import definition_name
from .session import Session

T = TypeVar("T")


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

    def brings(self, manifest: Manifest) -> bool:
        """Whether this add-on or one of its dependencies has the definition of an object's kind, in its version."""
        return _place(manifest) in self._brought

    def faults(self, manifest: Manifest) -> list[str]:
        """What the server would refuse, each in one line without values; empty also when nothing is known.

        :param manifest: what is sent, so of a custom resource what ``without_nulls`` gave.
        :raises ClusterError: as ``Client.request``, but for a refusal.
        """
        return self._asked(manifest, lambda schema: schema.faults(manifest), [])

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
        return self._asked(manifest, lambda schema: schema.without_nulls(manifest), manifest)

    def _may_be_custom(self, manifest: Manifest) -> bool:
        if self.brings(manifest):
            return True
        group, _version, kind = _place(manifest)
        if "." not in group:
            return False
        with self._lock:
            # When definitions may not be listed, the server's documents tell what is a custom resource.
            return not self._session.definitions or bool(definition_name(self._session, group, kind))

    def _asked(self, manifest: Manifest, ask: Callable[[StructuralSchema], T], otherwise: T) -> T:
        schema = self._schema(manifest)
        if schema is None:
            return otherwise
        try:
            return ask(schema)
        except Exception:
            # Odd in a way that nobody thought of, which must not hold the run up: the server will tell.
            with self._lock:
                self._known[_place(manifest)] = None
            return otherwise

    def _schema(self, manifest: Manifest) -> StructuralSchema | None:
        place = _place(manifest)
        with self._lock:
            # Under the lock: of many threads that need the same one, one asks.
            if place not in self._known:
                read = self._reader(*place)
                try:
                    self._known[place] = read()
                except Exception:
                    self._known[place] = None
            return self._known[place]

    def _reader(self, group: str, version: str, kind: str) -> Callable[[], StructuralSchema | None]:
        """What makes the schema of the text of it; asks the server for that at once."""
        if brought := self._brought.get((group, version, kind)):
            # Whatever the live one says, it is not what the object will meet.
            return partial(StructuralSchema.of_definition, brought, version)
        if self._session.discovery.find(group, version, kind) is None:
            return lambda: None
        name = definition_name(self._session, group, kind)
        if name and (live := self._live(name)):
            return partial(StructuralSchema.of_definition, live, version)
        document = self._session.openapi.document(join_api_version(group, version))
        return partial(StructuralSchema.of_openapi, document or {}, group, version, kind)

    def _live(self, name: str) -> Manifest | None:
        try:
            return self._session.acting.find(f"{DEFINITIONS}/{name}")
        except ApiError:
            return None


def _place(manifest: Manifest) -> tuple[str, str, str]:
    group, version = split_api_version(manifest["apiVersion"])
    return group, version, manifest["kind"]


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(item is None or _has_null(item) for item in value.values())
    return isinstance(value, list) and any(item is None or _has_null(item) for item in value)
