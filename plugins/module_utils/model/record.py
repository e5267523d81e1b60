"""The Addon record: one add-on as the cluster knows it (``kubectl get radd``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .inventory import Inventory
from .names import (
    GITOPS_LABEL,
    PAUSED_ANNOTATION,
    PAUSED_REASON_ANNOTATION,
    RECORD_GROUP,
    RECORD_KIND,
    RECORD_VERSION,
    SOURCE_ANNOTATION,
    UNINSTALL_ANNOTATION,
)
from .objects import Manifest


@dataclass(slots=True)
class Record:
    """A record as it was read; ``resource_version`` is empty for one that does not exist (yet)."""

    name: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Record:
        metadata = manifest["metadata"]
        return cls(
            name=metadata["name"],
            uid=metadata.get("uid", ""),
            resource_version=metadata.get("resourceVersion", ""),
            generation=metadata.get("generation", 0),
            labels=metadata.get("labels") or {},
            annotations=metadata.get("annotations") or {},
            spec=manifest.get("spec") or {},
            status=manifest.get("status") or {},
        )

    @property
    def exists(self) -> bool:
        return bool(self.resource_version)

    @property
    def from_git(self) -> bool:
        return self.labels.get(GITOPS_LABEL) == "true"

    @property
    def source_file(self) -> str:
        """Path of the definition file, empty when no annotation says so."""
        return self.annotations.get(SOURCE_ANNOTATION, "").rpartition("@")[0]

    @property
    def source_commit(self) -> str:
        return self.annotations.get(SOURCE_ANNOTATION, "").rpartition("@")[2]

    @property
    def phase(self) -> str:
        return str(self.status.get("phase") or "Pending")

    @property
    def inventory(self) -> Inventory:
        return Inventory.from_status(self.status.get("objects"))

    @property
    def applied_before(self) -> bool:
        """Whether some run applied this add-on to the end, or took it over."""
        return bool(self.status.get("appliedHash"))

    @property
    def cluster(self) -> str:
        """What the cluster of this record is known by, empty until some run wrote its status."""
        return str(self.status.get("cluster") or "")

    @property
    def fresh(self) -> bool:
        """No run has touched the cluster for this record yet: it is new, or its definition returned."""
        return not self.applied_before and not self.status.get("objects")

    @property
    def paused(self) -> bool:
        return self.annotations.get(PAUSED_ANNOTATION) == "true"

    @property
    def paused_reason(self) -> str:
        return self.annotations.get(PAUSED_REASON_ANNOTATION, "")

    @property
    def uninstall_mark(self) -> str:
        return self.annotations.get(UNINSTALL_ANNOTATION, "")

    @property
    def sync_request(self) -> int:
        """The counter that people raise to let pending changes of a ``manualSync`` add-on through."""
        return int(self.spec.get("syncRequest") or 0)

    @property
    def applied_sync_request(self) -> int:
        return int(self.status.get("appliedSyncRequest") or 0)

    def condition(self, kind: str) -> str:
        """``True``, ``False``, ``Unknown``, or empty when the condition was never set."""
        for condition in self.status.get("conditions") or []:
            if condition.get("type") == kind:
                return str(condition.get("status", ""))
        return ""


def record_manifest(name: str, spec: dict[str, Any], source: str) -> Manifest:
    """What git says of a record: the part that ``addon_definitions`` owns.

    :param source: value of the source annotation, ``addons/<file>@<commit>``.
    """
    return {
        "apiVersion": f"{RECORD_GROUP}/{RECORD_VERSION}",
        "kind": RECORD_KIND,
        "metadata": {
            "name": name,
            "labels": {GITOPS_LABEL: "true"},
            "annotations": {SOURCE_ANNOTATION: source},
        },
        "spec": spec,
    }
