"""What other people and programs do to live objects: make them in every usual way, change, scale, delete them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    ApiError,
    Client,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import discover, path_of
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import split_api_version
from tests.integration.generated_objects import Object, put
from tests.integration.generated_pairs import Edit, Maker
from tests.integration.kubectl import Kubectl

_STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_BACKGROUND = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
_GONE_WITHIN_SECONDS = 10.0


class Others:
    """Everybody but the engine."""

    def __init__(self, client: Client, kubectl: Kubectl) -> None:
        self._client = client
        self._kubectl = kubectl
        self._discovery = discover(client)

    def rediscover(self) -> None:
        self._discovery = discover(self._client)

    def make(self, maker: Maker, objects: Sequence[Object]) -> None:
        """:param objects: with their namespaces."""
        if not objects:
            return
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        match maker:
            case "kubectl apply":
                self._kubectl.run("apply", "-f", "-", text=text)
            case "kubectl apply --server-side":
                self._kubectl.run("apply", "--server-side", "-f", "-", text=text)
            case "kubectl create":
                self._kubectl.run("create", "-f", "-", text=text)
            case "post":
                for each in objects:
                    self._client.post(self._collection(each), each, query={"fieldManager": "installer"})
            case "apply":
                for each in objects:
                    self._client.apply(self._path(each), each, manager="other-tool")
            case _:
                raise AssertionError(maker)

    def edit(self, edits: Iterable[Edit]) -> list[str]:
        """Do these, one after the other; what the server would not have is returned with its reason."""
        refused = []
        for each in edits:
            try:
                self._edit(each)
            except ApiError as error:
                refused.append(f"{each}: {error.message}")
        return refused

    def _edit(self, edit: Edit) -> None:
        client, path, query = self._client, self._path(edit.manifest), {"fieldManager": edit.manager}
        match edit.verb:
            case "merge":
                client.patch(path, edit.body, content_type=MERGE_PATCH, query=query)
            case "strategic":
                client.patch(path, edit.body, content_type=_STRATEGIC_PATCH, query=query)
            case "json":
                client.patch(path, edit.body, content_type=JSON_PATCH, query=query)
            case "scale" | "status":
                client.patch(f"{path}/{edit.verb}", edit.body, content_type=MERGE_PATCH, query=query)
            case "apply":
                body = {**edit.body, "apiVersion": edit.manifest["apiVersion"], "kind": edit.manifest["kind"]}
                body["metadata"] = {**body.get("metadata", {}), "name": edit.manifest["metadata"]["name"]}
                client.patch(path, body, content_type=APPLY_PATCH, query={**query, "force": "true"})
            case "put":
                live: dict[str, Any] = client.get(path).body
                del live["metadata"]["resourceVersion"]
                put(live, tuple(edit.body[0]), edit.body[1])
                client.put(path, live, query=query)
            case "delete":
                self._delete(path)
            case "create":
                client.post(self._collection(edit.manifest), edit.body, query=query)
            case "kubectl apply":
                self._kubectl.run("apply", "-f", "-", text=json.dumps(edit.body))

    def _delete(self, path: str) -> None:
        """Delete it and wait until it is gone, unless a finalizer of ours holds it."""
        self._client.delete(path, _BACKGROUND)
        deadline = time.monotonic() + _GONE_WITHIN_SECONDS
        while live := self._client.find(path):
            if "test.io/hold" in (live["metadata"].get("finalizers") or []):
                return
            assert time.monotonic() < deadline, f"{path} is not gone"
            time.sleep(0.05)

    def _path(self, manifest: Object) -> str:
        return self._path_to(manifest, manifest["metadata"]["name"])

    def _collection(self, manifest: Object) -> str:
        return self._path_to(manifest, "")

    def _path_to(self, manifest: Object, name: str) -> str:
        group, version = split_api_version(manifest["apiVersion"])
        resource = self._discovery.find(group, version, manifest["kind"])
        assert resource is not None, f"{manifest['kind']} of {manifest['apiVersion']} is not served"
        return path_of(resource, manifest["metadata"].get("namespace", ""), name)
