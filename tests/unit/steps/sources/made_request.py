"""What a source is asked in tests: a definition, a repository of real git, and the real programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.model.cluster_facts import ClusterFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition import Definition
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.helm import Connection
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.program import Program
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.source import SourceRequest, Tools
from tests.unit.gitops import Repository
from tests.unit.steps.sources.made_cluster import MadeCluster

CLUSTER = ClusterFacts("v1.37.2", frozenset({"v1", "v1/ConfigMap", "apps/v1", "apps/v1/Deployment"}))


@dataclass
class Workshop:
    """Makes requests for one repository. ``started`` are the calls of programs, ``said`` the lines of progress.

    ``made_cluster`` is what a chart that reads the cluster reads; without one, its server is away.
    """

    repository: Repository
    programs: Mapping[str, Path]
    cache: CacheFolder
    work: Path
    started: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    too_slow: set[str] = field(default_factory=set)
    seconds: int = 60
    made_cluster: MadeCluster | None = None

    def request(
        self, *, cluster: ClusterFacts = CLUSTER, allow: frozenset[str] = frozenset(), **fields: Any
    ) -> SourceRequest:
        """:param fields: those of a definition; name and namespace have defaults."""
        definition = Definition.from_json({"name": "web", "namespace": "w", **fields})
        checkout = Checkout.open(str(self.repository.path))
        tools = Tools(
            cache=self.cache,
            helm=self._program("helm"),
            kustomize=self._program("kustomize"),
            allow=allow,
            work=self.work,
            too_slow=self.too_slow,
            progress=self.said.append,
            connect=self._connect,
        )
        return SourceRequest(definition, checkout, checkout, cluster, tools, CLUSTER.api_versions)

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        with (self.made_cluster or MadeCluster(self.work, url="https://127.0.0.1:9")).connect() as connection:
            yield connection

    def _program(self, name: str) -> Callable[[], Program]:
        return partial(Program.find, name, str(self.programs[name]), self.seconds, self.started.append)
