"""What a Kubernetes object is to the engine: its identity and the shape in which it is sent.

The identity is group, kind, namespace and name, never the version: one object served in two versions is one object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]
GroupKind = tuple[str, str]


@dataclass(frozen=True, order=True)
class ObjectKey:
    """Identity of an object; ``namespace`` is empty for cluster-scoped kinds, ``group`` for the core group."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def group_kind(self) -> GroupKind:
        return self.group, self.kind

    def to_json(self) -> list[str]:
        return [self.group, self.kind, self.namespace, self.name]

    @classmethod
    def from_json(cls, value: list[str]) -> ObjectKey:
        group, kind, namespace, name = value
        return cls(group, kind, namespace, name)


def split_api_version(api_version: str) -> tuple[str, str]:
    """``apps/v1`` to ``("apps", "v1")``, ``v1`` to ``("", "v1")``."""
    group, _, version = api_version.rpartition("/")
    return group, version


def join_api_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def resource_version_of(manifest: Manifest) -> str:
    """Of an object from the server; empty for what a dry run would create."""
    return str(manifest["metadata"].get("resourceVersion", ""))


def key_of(manifest: Manifest) -> ObjectKey:
    """Identity of an object that has apiVersion, kind and metadata.name."""
    metadata = manifest["metadata"]
    group, _version = split_api_version(manifest["apiVersion"])
    return ObjectKey(group, manifest["kind"], metadata.get("namespace") or "", metadata["name"])
