"""A gitops repository of its own, synced to the shared cluster inside this process: what a test learns here are plans.

It costs a fraction of a playbook; what the role and its modules make of it is for ``scene.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Plan, PlanItem
from local_cluster import Cluster
from tests.integration.engine import AddonRun, Engine
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, Object, inventory

Runs = dict[str, AddonRun]


@dataclass(frozen=True)
class Stage:
    repository: Repository
    engine: Engine
    kubectl: Kubectl

    @classmethod
    def of(cls, folder: Path, name: str, cluster: Cluster, kubectl: Kubectl) -> Stage:
        """:param name: of the folder of definitions, used by nobody else."""
        repository = Repository(folder / "gitops", f"addons/{name}")
        return cls(
            repository, Engine(repository.path, repository.folder, cluster.kubeconfig, folder / "cache"), kubectl
        )

    def addon(self, name: str, *objects: Object, **fields: Any) -> None:
        """As ``Repository.addon``, with the namespace made by the add-on."""
        self.repository.addon(name, *objects, **{"createNamespace": True, **fields})

    def preview(self) -> Runs:
        return self._run(self.engine, check=True)

    def sync(self, *, impersonate: str = "") -> Runs:
        return self._run(replace(self.engine, impersonate=impersonate), check=False)

    def inventory(self, addon: str) -> dict[str, str]:
        return inventory(self.kubectl.record(addon))

    def _run(self, engine: Engine, *, check: bool) -> Runs:
        if self.repository.git("status", "--porcelain"):
            self.repository.commit()
        return engine.run(check=check)


def kept(run: AddonRun) -> dict[str, str]:
    """What a run keeps of what left the source, by title, with the reason."""
    return {str(item.key): item.reason for item in run.outcome.kept}


def pruned(run: AddonRun) -> list[str]:
    return sorted(str(item.key) for item in run.outcome.pruned)


def planned(run: AddonRun) -> dict[str, str]:
    """What PLAN says of each object: its action by title."""
    assert run.planned is not None, run.outcome
    return {str(item.key): item.action for item in run.planned.items}


def carried(run: AddonRun) -> Plan:
    """The plan that was carried out, or in a preview the one that would be."""
    assert run.carried is not None, run.outcome
    return run.carried


def actions(run: AddonRun) -> dict[str, str]:
    """What that plan says of each object, by ``Kind/name``."""
    return {f"{item.key.kind}/{item.key.name}": item.action for item in carried(run).items}


def item_of(run: AddonRun, kind: str, name: str) -> PlanItem:
    [item] = [item for item in carried(run).items if (item.key.kind, item.key.name) == (kind, name)]
    return item


def all_synced(runs: Runs, names: Sequence[str] = ()) -> None:
    phases = {name: (run.outcome.phase, run.failure) for name, run in runs.items() if not names or name in names}
    # A run that has nothing to do decides no phase.
    assert all(phase in ("Synced", "") and not failure for phase, failure in phases.values()), phases
