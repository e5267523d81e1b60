"""A run without a cluster: a real run directory, filled with what the steps before would have left there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Discovery, Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import Bundle, BundleObject
from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition import Definition
from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import (
    AppliedFacts,
    EntryState,
    Inventory,
    InventoryEntry,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import Outcome
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Action, Plan, PlanItem, Verdict
from ansible_collections.rendimiento.addons.plugins.module_utils.model.record import Record
from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_directory import (
    InvalidDefinition,
    RunDirectory,
    RunInfo,
    RunOptions,
    SourcedDefinition,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.session import Session

COMMIT = "c0ffee" * 6 + "c0ff"
FACTS = AppliedFacts("uid", "7", None, "own", "body")


def key(name: str, kind: str = "ConfigMap", group: str = "", namespace: str = "web") -> ObjectKey:
    return ObjectKey(group, kind, namespace, name)


def item(name: str, action: Action = "unchanged", verdict: Verdict = "verified", **fields: Any) -> PlanItem:
    """A ConfigMap unless ``kind`` or ``key`` say otherwise."""
    made = fields.pop("key", None) or key(name, fields.pop("kind", "ConfigMap"))
    return PlanItem(made, "v1", action, verdict, **fields)


def config(name: str, namespace: str = "web", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def inventory(facts: AppliedFacts | None = FACTS, **states: EntryState) -> list[dict[str, Any]]:
    """As in ``status.objects``."""
    entries = [InventoryEntry(key(name), "v1", state, facts) for name, state in states.items()]
    return Inventory({entry.key: entry for entry in entries}).to_status()


def synced(**status: Any) -> dict[str, Any]:
    """Status of an add-on of which the record says everything."""
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "before"} for kind in ("Synced", "Healthy", "Ready")
    ]
    common = {"phase": "Synced", "message": "", "observedGeneration": 1, "conditions": conditions}
    return {**common, "appliedHash": "digest", "renderKey": "render key", "objects": [], **status}


class MadeRun:
    """Add add-ons, then use ``session``.

    :ivar credential: of the cluster; nobody answers unless it is set.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        self.directory = RunDirectory(path)
        self.info = RunInfo(
            run_id="run1",
            host="host",
            user="user",
            pid=os.getpid(),
            started=0.0,
            repository="/nowhere",
            remote="",
            commit=COMMIT,
            path="addons",
            server="https://server",
            server_version="v1.37.2",
            check=False,
            comparable=True,
            record_kind_served=True,
            options=RunOptions("rendimiento-system", cache=str(path.parent / "cache")),
        )
        self.records: dict[str, Record] = {}
        self.credential = Credential("https://127.0.0.1:9")

    def add(
        self,
        name: str,
        *,
        items: Iterable[PlanItem] | None = None,
        objects: Iterable[dict[str, Any]] | None = (),
        hooks: Iterable[dict[str, Any]] = (),
        status: dict[str, Any] | None = None,
        spec: dict[str, Any] | None = None,
        annotations: dict[str, str] | None = None,
        gone: Iterable[ObjectKey] = (),
        here: bool = True,
        plan: dict[str, Any] | None = None,
        **definition: Any,
    ) -> MadeRun:
        """An add-on with a definition; with a plan when ``items`` are given, without a bundle when ``objects`` is None.

        :param status: of its record; without one there is no record.
        :param here: false for one that ``addon_only`` left out.
        """
        fields = {"name": name, "namespace": "web", "git": {"path": name}, **definition}
        sourced = SourcedDefinition(f"addons/{name}.yaml", "blob", Definition.from_json(fields))
        self.directory.save_definition(sourced)
        (self.info.order if here else self.info.others).append(name)
        if objects is not None and here:
            made = [BundleObject(manifest, f"{name}.yaml") for manifest in objects]
            hooked = [BundleObject(manifest, f"{name}.yaml") for manifest in hooks]
            self.directory.save_bundle(Bundle(name, "plain", COMMIT, COMMIT[:12], "digest", "render key", made, hooked))
        if items is not None:
            values = {"digest": "plan digest", **(plan or {})}
            self.directory.save_plan(Plan(name, "digest", "1", True, list(items), list(gone), **values))
        return self.add_record(name, status, spec, annotations)

    def add_record(
        self,
        name: str,
        status: dict[str, Any] | None,
        spec: dict[str, Any] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> MadeRun:
        """A record alone, of an add-on that has no valid definition."""
        if status is not None:
            labels = {"rendimiento.ai/gitops": "true"}
            self.records[name] = Record(name, "uid", "1", 1, labels, annotations or {}, spec or {}, status)
        return self

    def add_invalid(self, name: str, reason: str = "is broken", file: str = "") -> MadeRun:
        self.info.invalid.append(InvalidDefinition(file or f"addons/{name}.yaml", name, reason))
        return self

    def serves(self, *resources: Resource, stale: Iterable[str] = ()) -> MadeRun:
        """What the run found the cluster to serve; ``stale`` are group versions whose server did not answer."""
        found = Discovery(self.info.server_version, list(resources), stale=list(stale))
        self.directory.write_json("discovery.json", found.to_json())
        return self

    def outcome(self, outcome: Outcome) -> MadeRun:
        self.directory.save_outcome(outcome)
        return self

    @property
    def session(self) -> Session:
        self.directory.save_info(self.info)
        self.directory.save_records(self.records)
        secrets = {"key": b"key".hex(), "credential": self.credential.to_json()}
        self.directory.write_json("credential.json", secrets)
        return Session(str(self.directory.path))

    def plan(self, name: str) -> Plan:
        plan = self.directory.plan(name)
        assert plan is not None
        return plan
