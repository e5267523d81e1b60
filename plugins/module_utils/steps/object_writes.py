"""Writes one object as its plan item says: guarded by what the plan saw, and refused when it moved since then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..cluster.client import ApiError
from ..cluster.discovery import path_of
from ..model.errors import ClusterError, PlanError
from ..model.masking import Mask
from ..model.names import OWNER_LABEL
from ..model.objects import Manifest, resource_version_of
from ..model.outcome import AppliedObject
from ..model.ownership import facts_of, fingerprint
from ..model.plan import PlanItem
from .absorption import absorb
from .custom_resources import definition_facts
from .session import Session

_GUARD_ATTEMPTS = 5
_OF_NO_OBJECT = "1"


@dataclass(frozen=True)
class ObjectWriter:
    """Writes objects of one add-on, as the acting account; may be used by many threads.

    :param mask: what hides the add-on's secrets in the server's messages.
    """

    session: Session
    addon: str
    mask: Mask

    def write(self, item: PlanItem, body: Manifest) -> AppliedObject | None:
        """Carry out a plan item; ``None`` when there was nothing left to do and the object is not this add-on's.

        :param body: what is applied in the end.
        :raises PlanError: the live object is not the one that was planned any more.
        :raises ClusterError: the server refuses it, or can't be used.
        """
        path = self.path(item)
        try:
            live = self._update(item, path, body) if item.uid else self._create(item, path, body)
        except ApiError as error:
            error.message = self.mask.text(error.message)
            raise error.about(addon=self.addon, subject=str(item.key)) from None
        if live is None:
            return None
        facts = facts_of(self.session.key, live, body, definition_facts(self.session, item.key))
        return AppliedObject(item.key, item.version, item.action, facts)

    def path(self, item: PlanItem) -> str:
        """Where the server has the object. :raises ClusterError: its kind is not served."""
        resource = self.session.discovery.find(item.key.group, item.version, item.key.kind)
        if resource is None:
            raise ClusterError("its kind is not served", addon=self.addon, subject=str(item.key))
        return path_of(resource, item.key.namespace, item.key.name)

    def _create(self, item: PlanItem, path: str, body: Manifest) -> Manifest | None:
        """``None`` when a namespace that was only to exist does by now."""
        client = self.session.acting
        # Of an object that is missing the server takes any version; of one that is there it does not (observed).
        guarded = {**body, "metadata": {**body["metadata"], "resourceVersion": _OF_NO_OBJECT}}
        try:
            created: Manifest = client.apply(path, guarded, force=True).body
        except ApiError as error:
            if not error.precondition_failed:
                raise
        else:
            return created
        live = client.find(path)
        if item.generated and live is not None:
            return None
        if live is not None and (live["metadata"].get("labels") or {}).get(OWNER_LABEL) == self.addon:
            self._refuse_unless_done(item, path, body, live, "somebody made it")
            return live
        raise _moved(item, "somebody made it")

    def _update(self, item: PlanItem, path: str, body: Manifest) -> Manifest:
        """Apply onto the very object that was planned; writes to its status in between do not matter."""
        version, expected = item.resource_version, item.fingerprint
        writes = self._writes(item, path, body)
        for _attempt in range(_GUARD_ATTEMPTS * len(writes)):
            try:
                written = writes[0](version)
            except ApiError as error:
                if not error.precondition_failed:
                    raise
            else:
                del writes[0]
                if not writes:
                    return written
                # Controllers act on what we wrote at once; from here on the object is the one that was planned.
                version, expected = resource_version_of(written), ""
                continue
            live = self.session.acting.find(path)
            if live is None:
                raise _moved(item, "it was deleted")
            if live["metadata"]["uid"] != item.uid:
                raise _moved(item, "it was deleted and made again")
            if expected and fingerprint(self.session.key, live) != expected:
                self._refuse_unless_done(item, path, body, live, "it was changed")
                return live
            version = resource_version_of(live)
        raise _moved(item, "it changes all the time")

    def _refuse_unless_done(self, item: PlanItem, path: str, body: Manifest, live: Manifest, what: str) -> None:
        """A repeated request finds its own work done: then there is nothing left to apply.

        :raises PlanError: an apply would change something, so it was somebody else's work.
        """
        if self.session.acting.apply(path, body, dry_run=True, force=True).body != live:
            raise _moved(item, what)

    def _writes(self, item: PlanItem, path: str, body: Manifest) -> list[Callable[[str], Manifest]]:
        """What is written, one after the other, each to the object in the version that the one before left."""
        client = self.session.acting

        def absorbed(version: str) -> Manifest:
            live = client.find(path)
            if live is None or live["metadata"]["uid"] != item.uid:
                raise _moved(item, "it was deleted")
            if resource_version_of(live) != version and fingerprint(self.session.key, live) != item.fingerprint:
                raise _moved(item, "it was changed")
            return absorb(client, path, live, body["apiVersion"], item.absorbs)

        def applied(manifest: Manifest) -> Callable[[str], Manifest]:
            def write(version: str) -> Manifest:
                guard = {"uid": item.uid, "resourceVersion": version}
                guarded = {**manifest, "metadata": {**manifest["metadata"], **guard}}
                reply: Manifest = client.apply(path, guarded, force=True).body
                return reply

            return write

        bodies = [manifest for manifest in (item.first, body) if manifest is not None]
        return [*([absorbed] if item.absorbs else []), *map(applied, bodies)]


def _moved(item: PlanItem, what: str) -> PlanError:
    return PlanError(
        f"{what} since the plan was made", subject=str(item.key), hint="nothing was changed on it; run again"
    )
