"""Check mode, entry point by entry point: nothing is written anywhere, and what it says is what the real run does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points import (
    addon_apply,
    addon_bootstrap,
    addon_definitions,
    addon_diff,
    addon_prune,
    addon_render,
    addon_status,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.invocation import (
    EntryPoint,
    Invocation,
    Result,
)
from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.gitops import Repository
from tests.integration.identities import account
from tests.integration.kubectl import Kubectl, Object
from tests.integration.objects import config_map, namespace, secret

PLACE = "checked"
KINDS = ("addons.rendimiento.ai", "namespaces", "configmaps", "secrets", "jobs", "leases", "serviceaccounts")


@dataclass
class Steps:
    """The steps of the role, called one by one as its tasks call them, in check mode or not."""

    repository: Repository
    kubeconfig: Path
    cache: Path
    check: bool
    impersonate: str = ""
    results: dict[str, Result] = field(default_factory=dict)

    def run(self) -> None:
        """All of a run. In check mode also what the role leaves out there, as if somebody called it by itself."""
        opened = self.call("definitions", addon_definitions, repo=str(self.repository.path),
                            path=self.repository.folder, kubeconfig=str(self.kubeconfig),
                            cache_dir=str(self.cache), impersonate=self.impersonate)  # fmt: skip
        run = opened.values["run"]
        for name in opened.values["names"]:
            self.call(f"render {name}", addon_render, run=run, name=name)
        for name in opened.values["names"]:
            self.call(f"diff {name}", addon_diff, run=run, name=name)
        queued = self.call("queue", addon_status, run=run, state="queue")
        for name in queued.values["converge"]:
            begun = self.call(f"begin {name}", addon_status, run=run, state="begin", name=name)
            # In check mode no record is read again.
            if begun.values["removed"] or name in opened.values["removed"]:
                self.call(f"drop {name}", addon_status, run=run, state="drop", name=name)
            else:
                for stage in ("prerequisites", "all"):
                    self.call(f"{stage} {name}", addon_apply, run=run, name=name, stage=stage)
                self.call(f"prune {name}", addon_prune, run=run, name=name)
                self.call(f"end {name}", addon_status, run=run, state="end", name=name, phase="Synced")
            self.call(f"release {name}", addon_status, run=run, state="release", name=name)
        self.call("summary", addon_status, run=run, state="summary")
        assert not Path(run).exists()

    def call(self, title: str, point: EntryPoint, **given: Any) -> Result:
        defaults = {name: spec.get("default") for name, spec in point.ARGUMENT_SPEC.items()}
        invocation = Invocation(self.check, True, lambda _line: None, os.getpid())
        result = self.results[title] = point.call(defaults | given, invocation)
        assert not result.failure, f"{title}: {result.failure}"
        return result

    def changed(self, *titles: str) -> bool:
        return any(self.results[title].changed for title in titles if title in self.results)

    def diff(self, *titles: str) -> list[str]:
        """The diffs of these steps, each object's once."""
        found = [json.dumps(each, sort_keys=True) for title in titles for each in self.results[title].diff or []]
        return sorted(set(found))


def everything(kubectl: Kubectl) -> dict[str, Object]:
    """All objects of these kinds, resourceVersions included; what controllers renew by themselves left out."""
    found = kubectl.everything(*KINDS)
    return {title: each for title, each in found.items() if not title.startswith("Lease kube-")}


@contextmanager
def nothing_written(kubectl: Kubectl, audit: Audit, *repositories: Repository) -> Iterator[None]:
    files = [repository.fingerprint() for repository in repositories]
    before, mark = everything(kubectl), audit.mark()
    yield
    # By who sent them: what is written as another account counts, too. Only the cluster itself is left out.
    writes = Requests(one for one in audit.since(mark).writes if not one.caller.startswith("system:"))
    assert not writes, f"written:\n{writes}"
    assert everything(kubectl) == before
    assert [repository.fingerprint() for repository in repositories] == files


@dataclass(frozen=True)
class Story:
    check: Steps
    acting: Steps
    real: Steps
    again: Steps


@pytest.fixture(scope="module")
def story(bootstrapped: Cluster, kubectl: Kubectl, audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("check-mode")
    repository = Repository(folder / "gitops", "addons/check-mode")

    def steps(check: bool, impersonate: str = "") -> Steps:
        made = Steps(repository, bootstrapped.kubeconfig, folder / "cache", check, impersonate)
        made.run()
        return made

    kubectl.create(namespace(PLACE))
    common: dict[str, Any] = {"namespace": PLACE, "skipHooks": True}
    hook = {"helm.sh/hook": "pre-install"}
    repository.addon("check-old", config_map("changes"), config_map("stays"), config_map("goes"),
                     secret("hidden", data={"password": "swordfish-1"}), **common)  # fmt: skip
    repository.addon("check-leaving", config_map("left"), **common)
    repository.addon("check-same", config_map("same"), **common)
    repository.commit()
    steps(check=False)

    kubectl.create(config_map("runs", PLACE))
    repository.addon(
        "check-old", config_map("changes", data={"key": "other"}), config_map("stays"), config_map("comes"),
        config_map("hooked", annotations=hook), secret("hidden", data={"password": "swordfish-2"}), **common,
    )  # fmt: skip
    repository.addon("check-adopting", config_map("runs", data={"key": "value", "more": "1"}), **common, adopt=True,
                     allowAdoptChanges=True)  # fmt: skip
    repository.addon("check-new", config_map("new"), namespace="checked-new", createNamespace=True)
    repository.remove(repository.file_of("check-leaving"))
    repository.commit()
    with nothing_written(kubectl, audit, repository):
        check = steps(check=True)
    kubectl.run("--namespace", PLACE, "create", "serviceaccount", "actor")
    kubectl.run("create", "clusterrolebinding", "check-actor", "--clusterrole=cluster-admin",
                f"--serviceaccount={PLACE}:actor")  # fmt: skip
    with nothing_written(kubectl, audit, repository):
        acting = steps(check=True, impersonate=account(PLACE, "actor"))
    real = steps(check=False)
    with nothing_written(kubectl, audit, repository):
        again = steps(check=True)
    return Story(check, acting, real, again)


def test_b67_check_mode_writes_nothing_at_any_entry_point(story: Story) -> None:
    called = {title.partition(" ")[0] for title in story.check.results}
    assert story.acting.results.keys() == story.check.results.keys()
    assert called == {"definitions", "render", "diff", "queue", "begin", "prerequisites", "all", "prune", "drop", "end",
                      "release", "summary"}  # fmt: skip


@pytest.mark.parametrize("name", ["check-old", "check-adopting", "check-new"])
def test_b67_changed_predicts_the_real_run(story: Story, name: str) -> None:
    for titles in (
        ["definitions"],
        [f"prerequisites {name}", f"all {name}"],
        [f"prune {name}"],
        ["drop check-leaving"],
    ):
        assert story.check.changed(*titles) == story.real.changed(*titles), titles
    # What ends a run in check mode tells all of it.
    assert story.check.changed(f"diff {name}")
    assert story.check.changed("queue")


def test_b67_what_is_as_it_should_be_is_not_changed_in_either(story: Story) -> None:
    for steps in (story.check, story.real, story.again):
        assert not steps.changed("diff check-same", "all check-same", "prune check-same")
    assert not any(result.changed for result in story.again.results.values())


@pytest.mark.parametrize("name", ["check-old", "check-adopting"])
def test_b67_the_diff_is_that_of_the_real_run(story: Story, name: str) -> None:
    stages = (f"prerequisites {name}", f"all {name}")
    assert story.check.diff(*stages) == story.real.diff(*stages) != []
    assert story.check.diff(f"prune {name}") == story.real.diff(f"prune {name}")
    assert "swordfish" not in str(story.check.diff(*stages))
    # The plan of a preview shows all of it at once.
    assert set(story.check.diff(*stages, f"prune {name}")) <= set(story.check.diff(f"diff {name}"))


def test_b67_new_objects_are_shown_although_their_namespace_does_not_exist_yet(story: Story) -> None:
    stages = ("prerequisites check-new", "all check-new")
    assert story.check.diff(*stages) == story.real.diff(*stages)
    assert "ConfigMap checked-new/new (create, simulated)" in str(story.check.diff(*stages))


@pytest.mark.parametrize("state", ["present", "absent"])
def test_b67_bootstrap_writes_nothing_in_check_mode(
    bootstrapped: Cluster, kubectl: Kubectl, audit: Audit, tmp_path: Path, state: str
) -> None:
    steps = Steps(Repository(tmp_path / "gitops"), bootstrapped.kubeconfig, tmp_path, check=True)
    given = {"kubeconfig": str(bootstrapped.kubeconfig), "state": state, "state_namespace": "checked-state"}
    with nothing_written(kubectl, audit, steps.repository):
        result = steps.call("bootstrap", addon_bootstrap, **given)
    assert result.changed
    assert result.diff
