"""What is sent for an object: the bundle's, but for the fields that the cluster has to say something about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ..model.bundle import BundleObject
from ..model.errors import ClusterError
from ..model.field_rules import FieldRule, Path, paths_for
from ..model.fields import NOTHING, value_at, without_fields
from ..model.made_up import settled
from ..model.managed_fields import Entry, owners_of
from ..model.objects import Manifest, ObjectKey
from ..model.plan import YieldedField
from ..model.yielding import REPLICAS, placeholders_of, yielded
from .autoscalers import Targets, autoscaled
from .schemas import Schemas
from .session import Session


@dataclass(frozen=True, slots=True)
class Body:
    """``manifest`` is what is sent; ``yields`` are fields that stay as they are live, ``doubt`` what is not known."""

    manifest: Manifest
    yields: list[YieldedField] = field(default_factory=list)
    doubt: str = ""


@dataclass
class Bodies:
    """Makes the bodies of one add-on.

    :param brought: the objects of the add-on and of those that it depends on.
    """

    session: Session
    name: str
    schemas: Schemas
    brought: Iterable[Manifest]

    def of(self, item: BundleObject, live: Manifest | None, absorbed: list[Entry]) -> Body:
        """What to send for an object that is there as ``live``, or is not there.

        :param absorbed: entries of former tools that become ours with this apply.
        """
        manifest = self.schemas.without_nulls(item.manifest)
        placeholders = placeholders_of(manifest)
        if live is None:
            return Body(without_fields(manifest, reversed(placeholders)))
        if item.second is not None:
            manifest, _kept = settled(manifest, self.schemas.without_nulls(item.second), live)
        left: list[tuple[Path, str]] = [(path, "ignored") for path in paths_for(self._ignored, item.key)]
        left += [(path, "filled in by a controller") for path in placeholders]
        scaler, doubt = self._scaler(item.key, manifest, live)
        if scaler:
            left.append((REPLICAS, f"scaled by {scaler}"))
        body, yields = yielded(manifest, live, left, {entry.manager for entry in absorbed})
        unfilled = [path for path in placeholders_of(body) if path in placeholders]
        return Body(without_fields(body, reversed(unfilled)), yields, doubt)

    @cached_property
    def _ignored(self) -> list[FieldRule]:
        return [FieldRule.of(entry) for entry in self.session.directory.definition(self.name).definition.ignore]

    @cached_property
    def _autoscaled(self) -> Targets | ClusterError:
        try:
            return autoscaled(self.session, self.brought)
        except ClusterError as error:
            return error

    def _scaler(self, key: ObjectKey, manifest: Manifest, live: Manifest) -> tuple[str, str]:
        """Who scales the object, if its replicas are not those of the source; and what could not be found out.

        That nobody else owns the field proves nothing: an autoscaler owns what it changes only if somebody owned it
        before (observed). ``kubectl scale`` is no autoscaler: what a person did by hand is drift.
        """
        wanted, there = value_at(manifest, REPLICAS), value_at(live, REPLICAS)
        if wanted is NOTHING or there is NOTHING or wanted == there:
            return "", ""
        for entry in owners_of(live, REPLICAS):
            if entry.subresource == "scale" and not entry.manager.startswith("kubectl"):
                return entry.manager, ""
        found = self._autoscaled
        if isinstance(found, ClusterError):
            return "", f"it may be autoscaled, and that is not known: {found.message}"
        return found.get(key, ""), ""
