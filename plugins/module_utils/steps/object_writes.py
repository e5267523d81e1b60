"""Writes one object as its plan item says: guarded by what the plan saw, and refused when it moved since then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ..cluster.client import ApiError, delete_options
from ..cluster.discovery import path_of
from ..cluster.gone import wait_until_gone
from ..model.errors import ClusterError, PlanError
from ..model.finalizers import what_holds
from ..model.masking import Mask
from ..model.names import OWNER_LABEL
from ..model.objects import Manifest, resource_version_of
from ..model.outcome import AppliedObject
from ..model.ownership import facts_of, fingerprint
from ..model.plan import PlanItem
from .absorption import put_in_order
from .custom_resources import definition_facts
from .deletion_obstacles import cascade_of, obstacle
from .leftovers import claim_leftovers
from .session import Progress, Session

_GUARD_ATTEMPTS = 5
_LEAST_WAIT_SECONDS = 10.0
_OF_NO_OBJECT = "1"
_UNTOUCHED = "nothing was changed on it; run again"

_Step = tuple[Callable[[str], Manifest], Manifest | None]
"""Writes to the object in the version that it gets; and what it applies, if it is an apply."""


@dataclass(frozen=True)
class ObjectWriter:
    """Writes objects of one add-on, as the acting account; may be used by many threads.

    :param mask: what hides the add-on's secrets in the server's messages.
    :param progress: gets a line from time to time while an old object is waited for.
    :param stop: ends such a wait.
    :param at_rest: others may work in this one's place during such a wait.
    """

    session: Session
    addon: str
    mask: Mask
    progress: Progress
    stop: threading.Event
    at_rest: Callable[[], AbstractContextManager[None]] = nullcontext

    def write(self, item: PlanItem, body: Manifest) -> AppliedObject | None:
        """Carry out a plan item; ``None`` when there was nothing left to do and the object is not this add-on's.

        :param body: what is applied in the end.
        :raises PlanError: the live object is not the one that was planned any more.
        :raises ClusterError: the server refuses it, or can't be used.
        """
        path = self.path(item)
        try:
            match item.action:
                case "replace":
                    live = self._replace(item, path, body)
                case "create":
                    self._wait_until_gone(item, path)
                    live = self._create(item, path, body)
                case _:
                    live = self._update(item, path, body)
        except ApiError as error:
            error.message = self.mask.text(error.message)
            raise error.about(addon=self.addon, subject=str(item.key)) from None
        if live is None:
            return None
        facts = facts_of(self.session.key, live, body, definition_facts(self.session, item.key))
        return AppliedObject(item.key, item.version, item.action, facts)

    def rehearse(self, item: PlanItem, body: Manifest) -> None:
        """Dry-run what could not be dry-run when it was planned.

        What has an old object or its managed fields in its way was checked as far as it can be.

        :raises ApiError: the server refuses it.
        """
        path, client = self.path(item), self.session.acting
        if item.action == "replace" or item.clears or any(one.api_version for one in item.repairs):
            return
        live = client.find(path) if item.action == "create" and item.uid else None
        if live is None or live["metadata"]["uid"] != item.uid:
            client.apply(path, item.first or body, dry_run=True, force=True)

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
        if live is not None and (live["metadata"].get("labels") or {}).get(OWNER_LABEL) == self.addon:
            return self._done(item, path, body, live, "somebody made it")
        if item.generated and live is not None:
            return None
        raise _moved(item, "somebody made it")

    def _replace(self, item: PlanItem, path: str, body: Manifest) -> Manifest | None:
        """Delete the very object that was planned, and make it anew when it is gone.

        A run that is killed in between leaves an object that is missing or being deleted: the next one creates it.
        """
        self._delete(item, path)
        self._wait_until_gone(item, path)
        try:
            return self._create(item, path, body)
        except ApiError as error:
            error.hint = f"the old object is deleted, so that it is missing now. {error.hint}".strip()
            raise
        except PlanError as error:
            error.hint = "the old object is deleted, and nothing was changed on what is there now; run again"
            raise

    def _delete(self, item: PlanItem, path: str) -> None:
        client, cascade = self.session.acting, item.cascade or cascade_of(item.key)
        for _attempt in range(_GUARD_ATTEMPTS):
            live = client.find(path)
            if live is None or live["metadata"].get("deletionTimestamp"):
                return
            if live["metadata"]["uid"] != item.uid:
                raise _moved(item, "it was deleted and made again")
            if fingerprint(self.session.key, live) != item.fingerprint:
                raise _moved(item, "it was changed")
            # What it owns shows nowhere in it: it may have become the owner of data since it was planned.
            if kept := obstacle(self.session, item.key, live, cascade):
                raise PlanError(f"is not replaced: {kept}", subject=str(item.key), hint=_UNTOUCHED)
            try:
                client.delete(path, delete_options(item.uid, resource_version_of(live), cascade))
            except ApiError as error:
                if error.not_found:
                    return
                # A controller wrote its status in between: look at it once more.
                if not error.precondition_failed:
                    raise
            else:
                return
        raise _moved(item, "it changes all the time")

    def _wait_until_gone(self, item: PlanItem, path: str) -> None:
        """Wait for the old object of an item that is made anew, if there is one."""
        if not item.uid:
            return
        wait = float(self.session.directory.definition(self.addon).definition.wait)
        timeout = max(wait, _LEAST_WAIT_SECONDS)
        with self.at_rest():
            left = wait_until_gone(
                self.session.acting,
                path,
                item.uid,
                timeout,
                lambda text: self.progress(f"{self.addon}: {item.key}: {text}"),
                self.stop,
            )
        if left and self.stop.is_set():
            raise PlanError(
                "is being deleted, and this run ends before it is gone",
                addon=self.addon,
                subject=str(item.key),
                hint="the next run makes it anew",
            )
        if left:
            held = what_holds(left)
            raise PlanError(
                f"is being deleted and not gone after {timeout:.0f} s{f' ({held})' if held else ''}",
                addon=self.addon,
                subject=str(item.key),
                hint="find out what should take its finalizers away; the next run waits again, and makes it anew",
            )

    def _update(self, item: PlanItem, path: str, body: Manifest) -> Manifest:
        """Apply onto the very object that was planned; writes to its status in between do not matter."""
        steps = self._steps(item, path, body)
        total = len(steps)
        try:
            return self._carry_out(steps, item, path)
        except PlanError as error:
            if len(steps) < total:
                error.hint = "a part of the change was made before; run again"
            raise

    def _carry_out(self, steps: list[_Step], item: PlanItem, path: str) -> Manifest:
        """:param steps: what is done is taken off it."""
        version, expected = item.resource_version, item.fingerprint
        for _attempt in range(_GUARD_ATTEMPTS * len(steps)):
            write, manifest = steps[0]
            try:
                written = write(version)
            except ApiError as error:
                if not error.precondition_failed:
                    raise
                live = self.session.acting.find(path)
                if live is None:
                    raise _moved(item, "it was deleted") from None
                if live["metadata"]["uid"] != item.uid:
                    raise _moved(item, "it was deleted and made again") from None
                if not expected or fingerprint(self.session.key, live) == expected:
                    version = resource_version_of(live)
                    continue
                written = self._done(item, path, manifest, live, "it was changed")
            del steps[0]
            if not steps:
                return written
            # Controllers act on what we wrote at once; from here on the object is the one that was planned.
            version, expected = resource_version_of(written), ""
        raise _moved(item, "it changes all the time")

    def _done(self, item: PlanItem, path: str, body: Manifest | None, live: Manifest | None, what: str) -> Manifest:
        """The live object, when a repeated request finds its own work done: then there is nothing left to apply.

        :param body: what was applied, ``None`` for another kind of request.
        :raises PlanError: an apply would change something, so it was somebody else's work.
        """
        for _attempt in range(_GUARD_ATTEMPTS):
            if live is None or body is None:
                break
            would_be: Manifest = self.session.acting.apply(path, body, dry_run=True, force=True).body
            # The reply tells the version that it was made from: a controller may have written its status in between.
            if resource_version_of(would_be) == resource_version_of(live):
                if would_be == live:
                    return live
                break
            live = self.session.acting.find(path)
        raise _moved(item, what)

    def _steps(self, item: PlanItem, path: str, body: Manifest) -> list[_Step]:
        """What is written, one after the other, each to the object in the version that the one before left.

        With each comes what it applies, if it is an apply.
        """
        client = self.session.acting

        def ordered(version: str) -> Manifest:
            live = client.find(path)
            if live is None or live["metadata"]["uid"] != item.uid:
                raise _moved(item, "it was deleted")
            if resource_version_of(live) != version and fingerprint(self.session.key, live) != item.fingerprint:
                raise _moved(item, "it was changed")
            return put_in_order(self.session, path, live, body, item)

        def cleared(version: str) -> Manifest:
            live = client.find(path)
            if live is None or live["metadata"]["uid"] != item.uid:
                raise _moved(item, "it was deleted")
            moved = resource_version_of(live) != version and not (item.absorbs or item.repairs)
            if moved and fingerprint(self.session.key, live) != item.fingerprint:
                raise _moved(item, "it was changed")
            return claim_leftovers(client, path, live, body["apiVersion"], item.clears)

        def applied(manifest: Manifest) -> Callable[[str], Manifest]:
            def write(version: str) -> Manifest:
                guard = {"uid": item.uid, "resourceVersion": version}
                guarded = {**manifest, "metadata": {**manifest["metadata"], **guard}}
                reply: Manifest = client.apply(path, guarded, force=True).body
                return reply

            return write

        bodies = [manifest for manifest in (item.first, body) if manifest is not None]
        before = [*([ordered] if item.absorbs or item.repairs else []), *([cleared] if item.clears else [])]
        return [*((write, None) for write in before), *((applied(manifest), manifest) for manifest in bodies)]


def _moved(item: PlanItem, what: str) -> PlanError:
    return PlanError(f"{what} since the plan was made", subject=str(item.key), hint=_UNTOUCHED)
