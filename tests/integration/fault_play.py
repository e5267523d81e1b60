"""A story whose syncs go through a proxy that fails, and once more without it where the faults were too many.

What is left is to be what an undisturbed run leaves: nothing is lost, nothing is created or deleted twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.audit import Audit, Requests
from tests.integration.child_run import ChildRuns, Undisturbed
from tests.integration.fault_proxy import FaultProxy, Plan, RandomFaults, no_faults
from tests.integration.story import Story

SHARE = 0.12
"""Of all requests: a sync sends about a hundred, so that a dozen of them fail in each."""

PATIENCE = 4.0
"""Seconds for which a request is repeated in a hopeless sync."""

REPLACED = "ConfigMap {}/replaced"
"""What the second version of a story deletes and makes anew."""


@dataclass
class Tally:
    """How many syncs ended Synced at once, and the errors of the others."""

    synced: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Play:
    proxy: FaultProxy
    runs: ChildRuns
    kubeconfig: Path
    undisturbed: Undisturbed
    audit: Audit
    tally: Tally

    def __call__(self, story: Story, *plans: Plan) -> None:
        """The versions of the story, each against its own faults, and once more without when that was too much."""
        mark = self.audit.mark()
        uids: dict[str, str] = {}
        for version, (commit, plan) in enumerate(zip((story.first, story.second), plans, strict=True)):
            commit()
            self.proxy.plan = plan
            patience = PATIENCE if isinstance(plan, RandomFaults) and plan.hopeless != "none" else 30.0
            ended = self.runs.sync(story, self.proxy.kubeconfig, patience=patience)
            self.proxy.plan = no_faults
            look = story.look()
            assert not look.without_inventory
            if ended.synced:
                self.tally.synced += 1
            else:
                self.tally.errors.append(ended.failure or ended.unrecorded)
                again = self.runs.sync(story, self.kubeconfig)
                assert again.synced, f"after {ended}: {again}"
                look = story.look()
            assert look.state == self.undisturbed.states[version], f"after {ended}"
            now = look.uids
            made_again = [name for name in uids.keys() & now.keys() if uids[name] != now[name]]
            assert made_again == ([REPLACED.format(story.name)] if version else []), "something else was made again"
            uids = now
        requests = self.audit.since(mark)
        assert not repeated(requests, story, "create"), "created twice"
        assert not repeated(requests, story, "delete"), "deleted twice"
        assert not list(self.runs.runtime.iterdir())


def repeated(requests: Requests, story: Story, verb: str) -> list[str]:
    """Objects of the add-on that were created or deleted more than once; a lock comes and goes with each run."""
    done = Counter(
        f"{each.resource} {each.namespace}/{each.name}"
        for each in requests.writes
        if story.name in (each.namespace, each.name, each.name.partition(".")[2].partition(".")[0])
        and not each.on_record
        and (each.code == 201 if verb == "create" else each.verb == "delete" and each.code < 300)
    )
    return [
        f"{name}: {count} times"
        for name, count in done.items()
        if count > (2 if name.endswith("/replaced") and verb == "create" else 1)
    ]
