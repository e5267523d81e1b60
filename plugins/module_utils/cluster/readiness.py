"""Waiting until all objects of an add-on are ready, with a line of progress for those who watch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from ..model.errors import UnreachableError
from ..model.names import OWNER_LABEL
from ..model.objects import GroupKind, Manifest, ObjectKey, join_api_version, key_of
from .api_error import ApiError
from .client import Client
from .discovery import Discovery, path_of
from .readiness_rules import Readiness, assess

__all__ = ["Readiness", "assess", "wait_until_ready"]

PROGRESS_SECONDS = 5.0
"""Seconds between two lines of progress that say the same."""

NEWS_SECONDS = 2.0
"""The same when there is something new, and before the first one: a wait that is over by then needs no words."""

LONGEST_POLL = 2.0

_NAMED_IN_PROGRESS = 3

_SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The scheduler puts it on a claim when a pod that uses it gets a node."""

_RBAC = "rbac.authorization.k8s.io"
_READY_ONCE_STORED: frozenset[GroupKind] = frozenset(
    {
        ("", "ConfigMap"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        ("", "LimitRange"),
        (_RBAC, "Role"),
        (_RBAC, "RoleBinding"),
        (_RBAC, "ClusterRole"),
        (_RBAC, "ClusterRoleBinding"),
        ("storage.k8s.io", "StorageClass"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("networking.k8s.io", "IngressClass"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    }
)
"""Kinds without a state of their own: nothing is asked about them, so the values of Secrets are never read either."""


def wait_until_ready(
    client: Client,
    discovery: Discovery,
    keys: Iterable[tuple[ObjectKey, str]],
    *,
    addon: str,
    timeout: float,
    progress: Callable[[str], None],
    stop: threading.Event | None = None,
    poll: float = 0.2,
    judge: Callable[[Manifest], Readiness] = assess,
) -> dict[ObjectKey, Readiness]:
    """Polls objects until all are ready, one has failed, ``timeout`` seconds have passed or ``stop`` is set.

    Objects that are ready are not asked again. With a timeout of 0 everything is looked at once.

    :param keys: the objects, each with the version in which it was applied.
    :param addon: value of the owner label that they carry; two or more of a kind and namespace are read by one LIST.
    :param progress: gets a line when something has been waited for for 2 s, then with news at most every 2 s, and every
        5 s without.
    :param poll: seconds until the second look; the pauses grow up to 2 s.
    :param judge: replaces the rules, for those of a definition; it may call ``assess``.
    :returns: the last word on every object. One that can't be read counts as failed, and an unreachable server as no
        news. A Job that is gone has completed: its TTL removes it.
    """
    waiting = _Waiting(client, discovery, dict(keys), addon, judge)
    start = time.monotonic()
    shown, shown_at = "", 0.0
    pause = poll
    while True:
        waiting.look()
        elapsed = time.monotonic() - start
        left = timeout - elapsed
        if waiting.settled or left <= 0 or (stop is not None and stop.is_set()):
            return waiting.found
        text = waiting.text()
        if elapsed - shown_at >= (PROGRESS_SECONDS if text == shown else NEWS_SECONDS):
            shown, shown_at = text, elapsed
            progress(f"{waiting.count()}, {elapsed:.0f} s: {text}")
        nap = max(0.0, min(pause, left, shown_at + PROGRESS_SECONDS - elapsed))
        if stop is None:
            time.sleep(nap)
        else:
            stop.wait(nap)
        pause = min(pause * 1.5, LONGEST_POLL)


class _Waiting:
    """The objects that are waited for and what is known of each."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        versions: dict[ObjectKey, str],
        addon: str,
        judge: Callable[[Manifest], Readiness],
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._versions = versions
        self._selector = f"{OWNER_LABEL}={addon}"
        self._judge = judge
        self._first_consumer_classes: frozenset[str] | None = None
        self.found = {key: Readiness("waiting", "not looked at yet") for key in versions}
        self.found.update((key, Readiness("ready")) for key in versions if key.group_kind in _READY_ONCE_STORED)

    @property
    def settled(self) -> bool:
        states = {one.state for one in self.found.values()}
        return "failed" in states or "waiting" not in states

    def count(self) -> str:
        left = sum(one.state == "waiting" for one in self.found.values())
        return f"waiting for {left} of {len(self.found)} objects"

    def text(self) -> str:
        left = [f"{key} ({one.reason})" for key, one in sorted(self.found.items()) if one.state == "waiting"]
        more = [f"and {len(left) - _NAMED_IN_PROGRESS} more"] if len(left) > _NAMED_IN_PROGRESS else []
        return ", ".join(left[:_NAMED_IN_PROGRESS] + more)

    def look(self) -> None:
        """Asks once about everything that is not ready, all kinds and namespaces at the same time."""
        groups: dict[tuple[str, str, str, str], list[ObjectKey]] = {}
        for key, readiness in self.found.items():
            if readiness.state != "ready":
                groups.setdefault((key.group, key.kind, self._versions[key], key.namespace), []).append(key)
        if not groups:
            return
        with ThreadPoolExecutor(max_workers=min(self._client.workers, len(groups))) as pool:
            for found in pool.map(self._look_at, groups.values()):
                self.found.update(found)

    def _look_at(self, keys: list[ObjectKey]) -> dict[ObjectKey, Readiness]:
        """Objects of one kind, version and namespace."""
        first = keys[0]
        version = self._versions[first]
        resource = self._discovery.find(first.group, version, first.kind)
        if resource is None:
            served = join_api_version(first.group, version)
            return {
                key: Readiness("waiting", f"the API server does not serve {first.kind} in {served}") for key in keys
            }
        live: dict[ObjectKey, Manifest | None] = {}
        try:
            if len(keys) > 1:
                items, _version = self._client.list_all(path_of(resource, first.namespace), self._selector)
                for item in items:
                    item["apiVersion"], item["kind"] = resource.api_version, resource.kind
                    live[key_of(item)] = item
            for key in keys:
                # What the LIST lacks may only have lost its label.
                if key not in live:
                    live[key] = self._get(path_of(resource, key.namespace, key.name))
            return {key: self._judged(key, live[key]) for key in keys}
        except UnreachableError as error:
            return {key: Readiness("waiting", error.message) for key in keys}
        except ApiError as error:
            if error.retryable:
                return {key: Readiness("waiting", error.message) for key in keys}
            return {key: Readiness("failed", f"it can't be read: {error.message}") for key in keys}

    def _get(self, path: str) -> Manifest | None:
        try:
            found: Manifest = self._client.get(path).body
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return found

    def _judged(self, key: ObjectKey, manifest: Manifest | None) -> Readiness:
        if manifest is None:
            if key.group_kind == ("batch", "Job"):
                return Readiness("ready", "it has ended and is gone")
            return Readiness("waiting", "it is missing")
        readiness = self._judge(manifest)
        is_claim = key.group_kind == ("", "PersistentVolumeClaim")
        if readiness.state == "waiting" and is_claim and self._awaits_consumer(manifest):
            return Readiness("ready", "it waits for its first consumer")
        return readiness

    def _awaits_consumer(self, claim: Manifest) -> bool:
        """Whether its class binds only when a pod uses the claim, and none does; waiting for it could last for ever."""
        metadata = claim["metadata"]
        if metadata.get("deletionTimestamp") or _SELECTED_NODE in (metadata.get("annotations") or {}):
            return False
        if self._first_consumer_classes is None:
            try:
                classes, _version = self._client.list_all("/apis/storage.k8s.io/v1/storageclasses")
            except ApiError:
                classes = []
            self._first_consumer_classes = frozenset(
                one["metadata"]["name"] for one in classes if one.get("volumeBindingMode") == "WaitForFirstConsumer"
            )
        return claim["spec"].get("storageClassName") in self._first_consumer_classes
