"""The collection as users get it: built, installed from the tarball without a network, used far from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from local_cluster import Cluster
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map
from tests.integration.playbooks import ROOT, Playbooks

MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("addon_*.py"))
FOR_USERS = {"CHANGELOG.md", "LICENSE", "README.md", "changelogs", "docs", "meta", "playbooks", "plugins", "roles"}
MADE_BY_GALAXY = {"FILES.json", "MANIFEST.json"}


@dataclass(frozen=True)
class Installation:
    """The tarball, the folder that it was installed into, and an empty one to work in."""

    artifact: Path
    collections: Path
    work: Path

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """An environment with no other collections and no configuration, neither the checkout's nor the user's."""
        configuration = self.work / "ansible.cfg"
        configuration.touch()
        return {
            **given,
            "ANSIBLE_CONFIG": str(configuration),
            "ANSIBLE_COLLECTIONS_PATH": str(self.collections),
            "ANSIBLE_HOME": str(self.work / "home"),
        }


class InstalledPlaybooks(Playbooks):
    """The playbooks of an installation."""

    def __init__(self, scratch: Path, installation: Installation) -> None:
        super().__init__(scratch)
        self._installation = installation
        self.directory = installation.work

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        return self._installation.environment(super().environment(more))


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    folder = tmp_path_factory.mktemp("distribution")
    work = folder / "work"
    work.mkdir()
    made = Installation(folder / "build", folder / "collections", work)
    _call(made, "ansible-galaxy", "collection", "build", str(ROOT), "--output-path", str(made.artifact))
    (artifact,) = made.artifact.iterdir()
    target = ("--collections-path", str(made.collections), "--offline")
    _call(made, "ansible-galaxy", "collection", "install", str(artifact), *target)
    return Installation(artifact, made.collections, work)


def test_the_tarball_holds_what_users_need_and_nothing_else(installation: Installation) -> None:
    with tarfile.open(installation.artifact) as tarball:
        paths = [PurePosixPath(member.name) for member in tarball.getmembers()]

    assert {path.parts[0] for path in paths} == FOR_USERS | MADE_BY_GALAXY
    hidden = [str(path) for path in paths if any(part.startswith((".", "__pycache__")) for part in path.parts)]
    assert not hidden
    assert not [str(path) for path in paths if path.suffix in (".pyc", ".gz", ".log", ".retry")]


def test_every_module_is_documented_in_the_installation(installation: Installation) -> None:
    names = [f"rendimiento.addons.{module}" for module in MODULES]

    pages = json.loads(_call(installation, "ansible-doc", "--json", *names))
    text = _call(installation, "ansible-doc", *names)

    assert sorted(pages) == names
    for name, page in pages.items():
        assert Path(page["doc"]["filename"]).is_relative_to(installation.collections)
        assert page["doc"]["short_description"] in text or name in text
        assert page["examples"] and page["return"]
    assert text.count("> MODULE rendimiento.addons.") == len(MODULES)


def test_the_role_is_documented_in_the_installation(installation: Installation) -> None:
    assert "addon_repo" in _call(installation, "ansible-doc", "--type", "role", "rendimiento.addons.addon")


def test_the_playbooks_work_from_the_installation(
    installation: Installation, cluster: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "gitops", "addons/distribution")
    repository.addon("distribution", config_map("distribution"), namespace="default")
    repository.commit()
    playbooks = InstalledPlaybooks(tmp_path / "runs", installation)
    login = {"addon_kubeconfig": str(cluster.kubeconfig)}
    options = {**login, "addon_repo": str(repository.path), "addon_path": repository.folder}

    playbooks.run("bootstrap", login).succeeded()
    previewed = playbooks.run("sync", options, check=True, diff=True).succeeded()
    first = playbooks.run("sync", options).succeeded()
    second = playbooks.run("sync", options).succeeded()

    assert "ConfigMap default/distribution (create, verified)" in previewed.output
    assert first.phases == {"distribution": "Synced"}
    assert first.counts("distribution") == {"created": 1}
    assert second.changed == 0
    assert kubectl.find("configmap", "distribution", "default")


def _call(installation: Installation, program: str, *arguments: str) -> str:
    """What one of Ansible's programs prints; a warning is as bad as a failure."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHONPATH"))}
    result = subprocess.run(
        [str(Path(sys.executable).with_name(program)), *arguments],
        cwd=installation.work,
        env=installation.environment({**inherited, "ANSIBLE_NOCOLOR": "true", "LC_ALL": "C.UTF-8"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert result.returncode == 0, f"{program} {' '.join(arguments)}: {result.stdout}{result.stderr}"
    assert not result.stderr, f"{program} {' '.join(arguments)}: {result.stderr}"
    return result.stdout
