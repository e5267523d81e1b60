"""What tests of steps share: a run, with a cluster or without, and what a source is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from tests.unit.gitops import Repository
from tests.unit.steps.made_run import MadeRun
from tests.unit.steps.sources.made_cluster import MadeCluster
from tests.unit.steps.sources.made_request import Workshop


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    return MadeRun(tmp_path / "run")


@pytest.fixture
def cluster(run: MadeRun, tmp_path: Path) -> Iterator[MadeCluster]:
    """The cluster of the run, as far as helm asks it."""
    folder = tmp_path / "login"
    folder.mkdir()
    with MadeCluster(folder) as made:
        run.credential = made.credential
        yield made


@pytest.fixture
def workshop(repository: Repository, programs: dict[str, Path], tmp_path: Path) -> Workshop:
    work = tmp_path / "work"
    work.mkdir()
    return Workshop(repository, programs, CacheFolder.open(str(tmp_path / "cache")), work)
