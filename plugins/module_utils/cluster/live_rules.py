"""When a live object is ready: by the rules of a definition, else by the built-in ones and what only the server tells.

That is whether a claim waits for its first pod, whether a new kind is served already, and how a workload's pods are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import replace

from ..model.errors import UnreachableError
from ..model.normalise import kinds_of_definition
from ..model.objects import GroupKind, Manifest, key_of
from ..model.ready_rules import ReadyRule, rules_about
from .api_error import ApiError
from .client import Client
from .pod_reports import is_workload, trouble_of_workload
from .readiness_rules import Readiness, assess, assess_by, is_ready_once_stored

_SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The scheduler puts it on a claim when a pod that uses it gets a node."""

_SECONDS_BETWEEN_PODS = 10.0
"""A workload that is not ready for so long has its pods looked at, and again after as many."""

_SECONDS_UNTIL_SERVED = 0.2


class LiveRules:
    """Says of an object whether it is ready; may be called by several threads.

    :param rules: those of the definition, each instead of what is built in for its kind.
    """

    def __init__(self, client: Client, rules: Iterable[ReadyRule] = ()) -> None:
        self._client = client
        self._rules = list(rules)
        self._mutex = threading.Lock()
        self._first_consumer_classes: frozenset[str] | None = None
        self._pods_due: dict[str, float] = {}
        self._pods: dict[str, Readiness] = {}

    def are_unasked(self, group_kind: GroupKind) -> bool:
        """Whether such objects are ready without a look at them."""
        rules = rules_about(self._rules, group_kind)
        return all(rule.at_once for rule in rules) if rules else is_ready_once_stored(group_kind)

    def __call__(self, manifest: Manifest) -> Readiness:
        """:raises ClusterError: the login counts no more."""
        group_kind = key_of(manifest).group_kind
        if rules := rules_about(self._rules, group_kind):
            return assess_by(rules, manifest)
        readiness = assess(manifest)
        match group_kind:
            case ("", "PersistentVolumeClaim") if readiness.state == "waiting" and self._awaits_consumer(manifest):
                return Readiness("ready", "it waits for its first consumer")
            case ("apiextensions.k8s.io", "CustomResourceDefinition") if readiness.state == "ready":
                return self._served(manifest)
            case _ if readiness.state == "waiting" and is_workload(group_kind):
                return self._with_pods(manifest, readiness)
        return readiness

    def _awaits_consumer(self, claim: Manifest) -> bool:
        """Whether its class binds only when a pod uses the claim, and none does; waiting for it could last for ever."""
        metadata = claim["metadata"]
        if metadata.get("deletionTimestamp") or _SELECTED_NODE in (metadata.get("annotations") or {}):
            return False
        with self._mutex:
            if self._first_consumer_classes is None:
                try:
                    classes, _version = self._client.list_all("/apis/storage.k8s.io/v1/storageclasses", retry=False)
                except (ApiError, UnreachableError):
                    return False
                self._first_consumer_classes = frozenset(
                    one["metadata"]["name"] for one in classes if one.get("volumeBindingMode") == "WaitForFirstConsumer"
                )
            return claim["spec"].get("storageClassName") in self._first_consumer_classes

    def _served(self, definition: Manifest) -> Readiness:
        """Established is not served yet: that takes the server another moment (observed: some milliseconds)."""
        for group, version, kind, *_ in kinds_of_definition(definition):
            try:
                listed = self._client.get(f"/apis/{group}/{version}", retry=False).body
                served = any(one.get("kind") == kind for one in listed.get("resources") or [])
            except (ApiError, UnreachableError):
                served = False
            if not served:
                return Readiness("waiting", f"{version} is not served yet", _SECONDS_UNTIL_SERVED)
        return Readiness("ready")

    def _with_pods(self, workload: Manifest, readiness: Readiness) -> Readiness:
        """The same with what is wrong with its pods, looked at now and then; failed when no pod can ever start."""
        uid, now = workload["metadata"]["uid"], time.monotonic()
        with self._mutex:
            due = self._pods_due.setdefault(uid, now + _SECONDS_BETWEEN_PODS)
            looks = now >= due
            if looks:
                self._pods_due[uid] = now + _SECONDS_BETWEEN_PODS
        if looks:
            trouble = trouble_of_workload(self._client, workload)
            if trouble is None:
                self._pods.pop(uid, None)
            else:
                self._pods[uid] = Readiness(
                    "failed" if trouble.final else "waiting", f"pod {trouble.pod}: {trouble.text}"
                )
        found = self._pods.get(uid)
        again = max(self._pods_due[uid] - now, 0.0)
        if found is None or workload["kind"] == "Pod":
            return replace(readiness, again=again)
        return Readiness(found.state, f"{readiness.reason}; {found.reason}", again, readiness.patience)
