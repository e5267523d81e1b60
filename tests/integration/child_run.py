"""A run of the engine in a process of its own, as each ansible-playbook is one: it can be killed, or fail for good."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Client
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from tests.integration.story import Story

# Not forked from the process of the tests, in which threads run.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([__name__])

SECONDS_AT_MOST = 300


@dataclass(frozen=True)
class Deadly:
    """The write request, counted from 1, before or after which the process kills itself."""

    number: int
    after: bool


@dataclass(frozen=True)
class Ended:
    """``failure`` is why the add-on is not Synced, ``unrecorded`` what could not be written down or given back."""

    killed: bool
    failure: str = ""
    unrecorded: str = ""
    writes: int = 0

    @property
    def synced(self) -> bool:
        return not (self.killed or self.failure or self.unrecorded)


@dataclass(frozen=True)
class ChildRuns:
    """:param runtime: where the runs have their folders."""

    runtime: Path

    def sync(self, story: Story, kubeconfig: Path, *, deadly: Deadly | None = None, patience: float = 30.0) -> Ended:
        """Sync the story's add-on once.

        :param patience: seconds for which a failing request is repeated.
        """
        _prepare()
        receiver, sender = _processes.Pipe(duplex=False)
        arguments = (sender, story, kubeconfig, self.runtime, deadly, patience)
        child = _processes.Process(target=_sync, args=arguments)
        child.start()
        sender.close()
        child.join(SECONDS_AT_MOST)
        if child.exitcode == -signal.SIGKILL:
            return Ended(killed=True)
        assert child.exitcode == 0, f"exit code {child.exitcode}"
        ended: Ended = receiver.recv()
        return ended


@cache
def _prepare() -> None:
    """Start what the processes are forked from, so that it finds what it is to import: that costs each a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()


class Undisturbed:
    """What each version leaves when nothing is killed, and the write requests that it takes."""

    def __init__(self, story: Story, kubeconfig: Path, runs: ChildRuns) -> None:
        self.states: list[dict[str, Any]] = []
        self.writes: list[int] = []
        for commit in (story.first, story.second):
            commit()
            ended = runs.sync(story, kubeconfig)
            assert ended.synced, ended
            self.states.append(story.look().state)
            self.writes.append(ended.writes)


def _sync(
    sender: Connection, story: Story, kubeconfig: Path, runtime: Path, deadly: Deadly | None, patience: float
) -> None:
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    counter = _Counter(deadly, patience)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "_exchange", counter.sends(Client._exchange))
        try:
            run = story.sync(kubeconfig)
        except AddonError as error:
            # It did not get as far as its add-ons.
            sender.send(Ended(False, str(error)))
        else:
            sender.send(Ended(False, run.failure, run.outcome.unrecorded, counter.writes))


class _Counter:
    """Counts the write requests of this process, and kills it at one of them."""

    def __init__(self, deadly: Deadly | None, patience: float) -> None:
        self.writes = 0
        self._deadly = deadly
        self._patience = patience
        self._mutex = threading.Lock()

    def sends(self, send: Any) -> Any:
        def counted(client: Client, method: str, url: str, *others: Any, **options: Any) -> Any:
            client.retry_window = self._patience
            deadly = self._count() if method != "GET" and "dryRun" not in url else None
            if deadly and not deadly.after:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = send(client, method, url, *others, **options)
            if deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return counted

    def _count(self) -> Deadly | None:
        with self._mutex:
            self.writes += 1
            return self._deadly if self._deadly and self.writes == self._deadly.number else None
