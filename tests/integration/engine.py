"""A whole run of the engine inside this process, step by step as the role calls them, and everything that it planned.

A playbook tells what it did; a test that compares the plan with what came of it needs the plans themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import AccessOptions
from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import Bundle
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.masking import Mask
from ansible_collections.rendimiento.addons.plugins.module_utils.model.names import DEFAULT_STATE_NAMESPACE
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import Outcome
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Plan, PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.model.review import ownership_lines
from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_directory import RunOptions
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.apply import apply
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.convergence import begin, end, release
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.definitions import (
    DefinitionsRequest,
    read_definitions,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.plan import plan
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.prune import prune
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.queue import queue
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.render import render
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.session import Progress, Session
from local_cluster import Cluster
from tests.integration.gitops import Repository


@dataclass(frozen=True)
class AddonRun:
    """One add-on in a run.

    ``bundle`` is what was rendered, ``planned`` the plan of PLAN, ``carried`` the one that CONVERGE worked with: the
    same, unless it was made anew. All are ``None`` for an add-on that could not be rendered. ``failure`` is what ended
    its convergence.
    """

    name: str
    bundle: Bundle | None
    planned: Plan | None
    carried: Plan | None
    outcome: Outcome
    mask: Mask
    failure: str

    def item(self, title: str) -> PlanItem:
        """The item of an object (``Kind namespace/name``) in the plan of PLAN."""
        assert self.planned is not None, self.outcome.error
        [found] = [item for item in self.planned.items if str(item.key) == title]
        return found

    def lines(self, title: str) -> list[str]:
        """What the plan says in words of whose the object's fields are and become."""
        return ownership_lines(self.item(title), 100)

    @property
    def gate(self) -> tuple[str, str]:
        assert self.planned is not None, self.outcome.error
        return self.planned.gate, self.planned.gate_reason


@dataclass(frozen=True)
class Engine:
    """:param repository: the gitops checkout. :param folder: its folder of definition files.

    :param impersonate: as ``addon_impersonate``.
    :param progress: gets the lines that people see while add-ons are converged.
    """

    repository: Path
    folder: str
    kubeconfig: Path
    cache: Path
    impersonate: str = ""
    kustomize: str = ""
    helm: str = ""
    state_namespace: str = DEFAULT_STATE_NAMESPACE
    progress: Progress = field(default=lambda _line: None)

    def run(
        self, *, check: bool, meanwhile: Callable[[], object] = lambda: None, only: Sequence[str] = ()
    ) -> dict[str, AddonRun]:
        """A run over all add-ons of the folder, or its check mode: by name, what became of each.

        :param meanwhile: done when everything is planned and nothing is written yet.
        """
        session = self._open(check, only)
        try:
            return _run(session, self.progress, check, meanwhile)
        finally:
            session.directory.remove()

    def run_until_applied(self, name: str) -> None:
        """A run over one add-on that ends when everything is applied, before its record says so, as if killed there."""
        session = self._open(False, ())
        try:
            render(session, name, _say_nothing)
            plan(session, name, _say_nothing)
            queue(session)
            assert begin(session, name, _say_nothing).active
            apply(session, name, "prerequisites", _say_nothing)
            apply(session, name, "all", _say_nothing)
            release(session, name)
        finally:
            session.directory.remove()

    def _open(self, check: bool, only: Sequence[str]) -> Session:
        opened = read_definitions(
            DefinitionsRequest(
                repo=str(self.repository),
                revision="",
                path=self.folder,
                access=AccessOptions(kubeconfig=str(self.kubeconfig)),
                options=RunOptions(
                    state_namespace=self.state_namespace,
                    impersonate=self.impersonate,
                    only=list(only),
                    kustomize=self.kustomize,
                    helm=self.helm,
                    cache=str(self.cache),
                ),
                check=check,
                process=os.getpid(),
                progress=_say_nothing,
            )
        )
        return Session(str(opened.directory.path))


class Bench:
    """A gitops repository of its own and the engine for it: what ``Scene`` is for playbooks, in a tenth of the time."""

    def __init__(self, path: Path, folder: str, cluster: Cluster) -> None:
        self.repository = Repository(path / "gitops", folder)
        kustomize = str(cluster.programs["kustomize"])
        self._engine = Engine(self.repository.path, folder, cluster.kubeconfig, path / "cache", kustomize=kustomize)

    def engine(self, kubeconfig: Path) -> Engine:
        """The same engine, which reaches the cluster in another way."""
        return replace(self._engine, kubeconfig=kubeconfig)

    def preview(self, **run: Any) -> dict[str, AddonRun]:
        """Of what was committed last."""
        return self._engine.run(check=True, **run)

    def sync(self, **run: Any) -> dict[str, AddonRun]:
        return self._engine.run(check=False, **run)


def _run(session: Session, progress: Progress, check: bool, meanwhile: Callable[[], object]) -> dict[str, AddonRun]:
    names = session.info.order
    assert not [item for item in session.info.invalid if item.file], session.info.invalid
    for name in names:
        _attempt(lambda name=name: render(session, name, _say_nothing))  # type: ignore[misc]
    for name in names:
        _attempt(lambda name=name: plan(session, name, _say_nothing))  # type: ignore[misc]
    queued = queue(session)
    planned = {name: session.directory.plan(name) for name in names}
    meanwhile()
    failures = {} if check else {name: _converge(session, name, progress) for name in queued.converge}
    return {
        name: AddonRun(
            name,
            session.directory.bundle(name),
            planned.get(name),
            session.directory.plan(name),
            session.directory.outcome(name),
            session.mask(name) if name in names else Mask(session.placeholders),
            failures.get(name, ""),
        )
        for name in [*names, *session.info.protected]
    }


def _converge(session: Session, name: str, progress: Progress) -> str:
    """What ``converge.yml`` of the role does with one add-on; the error that ended it, if one did."""
    try:
        _sync(session, name, progress)
    except AddonError as error:
        end(session, name, "Error", str(error))
        return str(error)
    else:
        return ""
    finally:
        release(session, name)


def _sync(session: Session, name: str, progress: Progress) -> None:
    beginning = begin(session, name, progress)
    if beginning.skipped:
        return
    if beginning.suspended:
        end(session, name, "Suspended", beginning.reason)
        return
    assert beginning.active, f"{name}: {beginning.reason}"
    render(session, name, progress)
    made = plan(session, name, progress)
    match made.gate:
        case "adoption" | "hooks":
            end(session, name, "Blocked", made.gate_reason)
        case "manual-sync":
            end(session, name, "OutOfSync", made.gate_reason)
        case _:
            apply(session, name, "prerequisites", progress)
            apply(session, name, "all", progress)
            prune(session, name, progress)
            end(session, name, "Synced", "")


def _attempt(step: Callable[[], object]) -> None:
    """A step whose failure is its add-on's outcome, as ``ignore_errors`` of the role has it."""
    try:
        step()
    except AddonError:
        return


def _say_nothing(_line: str) -> None:
    return
