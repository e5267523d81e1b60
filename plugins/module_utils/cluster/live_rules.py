"""When an object is ready, where that takes more than the object says about itself."""

from __future__ import annotations

import threading

from ..model.objects import Manifest
from .api_error import ApiError
from .client import Client
from .readiness_rules import Readiness, assess

_SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The scheduler puts it on a claim when a pod that uses it gets a node."""


class LiveRules:
    """The built-in rules, over live objects; may be called by several threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._mutex = threading.Lock()
        self._first_consumer_classes: frozenset[str] | None = None

    def __call__(self, manifest: Manifest) -> Readiness:
        """:raises ClusterError: as ``Client.request``, but never a refusal."""
        readiness = assess(manifest)
        is_claim = (manifest["apiVersion"], manifest["kind"]) == ("v1", "PersistentVolumeClaim")
        if readiness.state == "waiting" and is_claim and self._awaits_consumer(manifest):
            return Readiness("ready", "it waits for its first consumer")
        return readiness

    def _awaits_consumer(self, claim: Manifest) -> bool:
        """Whether its class binds only when a pod uses the claim, and none does; waiting for it could last for ever."""
        metadata = claim["metadata"]
        if metadata.get("deletionTimestamp") or _SELECTED_NODE in (metadata.get("annotations") or {}):
            return False
        with self._mutex:
            if self._first_consumer_classes is None:
                try:
                    classes, _version = self._client.list_all("/apis/storage.k8s.io/v1/storageclasses")
                except ApiError:
                    classes = []
                self._first_consumer_classes = frozenset(
                    one["metadata"]["name"] for one in classes if one.get("volumeBindingMode") == "WaitForFirstConsumer"
                )
            return claim["spec"].get("storageClassName") in self._first_consumer_classes
