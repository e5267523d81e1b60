"""A gitops repository of its own, synced to the shared cluster, with an eye on what a run does.

Runs cost seconds. So a test file usually makes a few runs over many add-ons in a fixture, keeps what was observed, and
each of its tests looks at one add-on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, Object
from tests.integration.logged_programs import LoggedPrograms
from tests.integration.playbooks import PlaybookResult, Playbooks

_KINDS = ("namespaces", "configmaps", "secrets", "deployments", "jobs", "pvc", "pv", "crd")


@dataclass(frozen=True)
class Observed:
    """A run: what it said, what was asked of the API server meanwhile, and what the cluster held right afterwards.

    ``objects`` are by title (``Kind namespace/name``), ``records`` by the add-on's name.
    """

    result: PlaybookResult
    requests: Requests
    objects: dict[str, Object]
    records: dict[str, Object]

    def status(self, addon: str) -> dict[str, Any]:
        found: dict[str, Any] = self.records[addon].get("status") or {}
        return found


class Scene:
    """:param folder: the repository's folder of definition files. Each scene has its own: add-ons whose file is missing
    count as removed, but only those of the same folder."""

    def __init__(self, path: Path, folder: str, cluster: Cluster, kubectl: Kubectl, audit: Audit) -> None:
        self.repository = Repository(path / "gitops", folder)
        self.playbooks = Playbooks(path / "runs")
        self.programs = LoggedPrograms(path / "programs", cluster.programs)
        self.cache = path / "cache"
        self._cluster = cluster
        self._kubectl = kubectl
        self._audit = audit

    def sync(
        self,
        *,
        user: str = "admin",
        check: bool = False,
        diff: bool = False,
        verbosity: int = 0,
        environment: dict[str, str] | None = None,
        **options: Any,
    ) -> PlaybookResult:
        """Run the sync playbook; options are role variables without ``addon_``."""
        variables = self.variables(user, **options)
        return self.playbooks.run(
            "sync", variables, check=check, diff=diff, verbosity=verbosity, environment=environment
        )

    def observe(self, *, kinds: Sequence[str] = (), **run: Any) -> Observed:
        """The same, observed; ``kinds`` are looked at besides the usual ones."""
        mark = self._audit.mark()
        result = self.sync(**run)
        requests = self._audit.since(mark)
        records = self._kubectl.list("addons.rendimiento.ai")
        return Observed(
            result,
            requests,
            self._kubectl.everything(*_KINDS, *kinds),
            {record["metadata"]["name"]: record for record in records},
        )

    def variables(self, user: str = "admin", **options: Any) -> dict[str, Any]:
        defaults: dict[str, Any] = {
            "repo": str(self.repository.path),
            "path": self.repository.folder,
            "kubeconfig": str(self._cluster.kubeconfig_of(user)),
            "cache_dir": str(self.cache),
            **{name: str(program) for name, program in self.programs.paths.items()},
        }
        return {f"addon_{name}": value for name, value in (defaults | options).items() if value is not None}
