"""What is sent for an object: the bundle's, but for the fields that the cluster has to say something about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..model.bundle import BundleObject
from ..model.errors import ClusterError
from ..model.field_rules import FieldRule, Path, paths_for
from ..model.fields import NOTHING, value_at, value_in, without_fields
from ..model.made_up import settled
from ..model.managed_fields import Entry, owners_of
from ..model.objects import Manifest, ObjectKey, split_api_version
from ..model.own_marks import with_own_marks_of, without_own_marks
from ..model.plan import MADE_UP, YieldedField
from ..model.yielding import REPLICAS, placeholders_of, yielded
from .autoscalers import Autoscalers
from .schemas import Schemas
from .session import Session


@dataclass(frozen=True, slots=True)
class Body:
    """``manifest`` is what is sent; ``yields`` are fields that stay as they are live, ``doubt`` what is not known."""

    manifest: Manifest
    yields: list[YieldedField] = field(default_factory=list)
    doubt: str = ""


class Bodies:
    """Makes the bodies of one add-on; may be used by many threads.

    :param brought: the objects of the add-on and of those that it depends on.
    """

    def __init__(self, session: Session, name: str, schemas: Schemas, brought: Iterable[Manifest]) -> None:
        self._session = session
        self._schemas = schemas
        self._ignored = [FieldRule.of(entry) for entry in session.directory.definition(name).definition.ignore]
        self._autoscalers = Autoscalers(session, brought)

    def of(self, item: BundleObject, live: Manifest | None, absorbed: list[Entry]) -> Body:
        """What to send for an object that is there as ``live``, or is not there.

        :param absorbed: entries of former tools that become ours with this apply.
        """
        manifest = self._schemas.without_nulls(item.manifest)
        placeholders = placeholders_of(manifest)
        if live is None:
            return Body(without_fields(manifest, reversed(placeholders)))
        unfilled = [path for path in placeholders if not _stands(live, manifest, path)]
        manifest = without_fields(manifest, reversed(unfilled))
        kept: list[str] = []
        if item.second is not None:
            manifest, kept = settled(manifest, self._schemas.without_nulls(item.second), live)
        left: list[tuple[Path, str]] = [(path, "ignored") for path in paths_for(self._ignored, item.key)]
        left += [(path, "filled in by a controller") for path in placeholders if path not in unfilled]
        scaler, doubt = self._scaler(item.key, manifest, live)
        if reason := doubt or scaler:
            left.append((REPLICAS, reason))
        body, yields = yielded(without_own_marks(manifest), without_own_marks(live), left, absorbed)
        body = with_own_marks_of(body, manifest)
        yields += [YieldedField(name, "", MADE_UP) for name in kept]
        return Body(body, yields, doubt)

    def _scaler(self, key: ObjectKey, manifest: Manifest, live: Manifest) -> tuple[str, str]:
        """Why the replicas of an object are left alone, empty if they aren't: for what is known, and for a doubt.

        That nobody else owns the field proves nothing: an autoscaler owns what it changes only if somebody owned it
        before (observed). ``kubectl scale`` is no autoscaler: what a person did by hand is drift. Equal values matter
        as well: sent while an autoscaler owns them, they would be ours until it scales again.
        """
        wanted, there = value_at(manifest, REPLICAS), value_at(live, REPLICAS)
        if wanted is NOTHING or there is NOTHING:
            return "", ""
        scalers = [entry.manager for entry in owners_of(live, REPLICAS) if entry.subresource == "scale"]
        for manager in scalers:
            if not manager.startswith("kubectl"):
                return f"scaled by {manager}", ""
        if (wanted == there and not scalers) or not self._can_be_scaled(manifest):
            return "", ""
        try:
            found = self._autoscalers.scaler_of(key)
        except ClusterError as error:
            # To scale down what carries the load does more harm than to leave a number that somebody set by hand.
            unseen = f"it may be autoscaled, and that can't be seen: {error.message}"
            return "", "" if wanted == there else unseen
        return f"scaled by {found}" if found else "", ""

    def _can_be_scaled(self, manifest: Manifest) -> bool:
        group, version = split_api_version(manifest["apiVersion"])
        resource = self._session.discovery.find(group, version, manifest["kind"])
        return resource is None or "scale" in resource.subresources


def _stands(live: Manifest, manifest: Manifest, path: Path) -> bool:
    """Whether the live object has something at the place of this field of the manifest."""
    return value_in(live, manifest, path) not in (NOTHING, None, "")
