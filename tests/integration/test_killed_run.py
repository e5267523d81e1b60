"""A run that is killed while it applies: the next one completes it, and no object is ever without an inventory."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.integration.audit import Audit
from tests.integration.kubectl import Kubectl, inventory, title, wait_until
from tests.integration.objects import config_map
from tests.integration.scene import Scene

OBJECTS = 60


@pytest.mark.parametrize("killed", ["everything", "the playbook alone"])
def test_the_next_run_completes_a_killed_one(scene: Scene, kubectl: Kubectl, audit: Audit, killed: str) -> None:
    name = f"killed-{killed.rpartition(' ')[2]}"
    many = [config_map(f"number-{number}") for number in range(OBJECTS)]
    scene.repository.addon(name, *many, createNamespace=True)
    scene.repository.commit()

    mark = audit.mark()
    run = scene.playbooks.start("sync", scene.variables(workers=1))
    written = 0
    while written < 5:
        assert run.poll() is None, "the run ended before it could be killed"
        written = sum(each.resource == "configmaps" for each in audit.peek(mark).writes if each.namespace == name)
        time.sleep(0.005)
    if killed == "everything":
        os.killpg(run.pid, signal.SIGKILL)
    else:
        run.kill()
    run.wait()

    # The inventory was written before the first object was.
    recorded = inventory(kubectl.record(name))
    found = {title(each) for each in kubectl.list("configmaps", f"rendimiento.ai/addon={name}")}
    assert found, "nothing was applied before the kill"
    assert found <= recorded.keys()
    assert kubectl.phase(name) != "Synced"

    if killed == "the playbook alone":
        # A worker outlives its parent for the rest of its task, and stops renewing the lock.
        wait_until(lambda: not lives(run.pid), "the worker has stopped")
    assert kubectl.find("lease", f"addon-{name}", "rendimiento-system"), "the killed run still holds its lock"
    # A minute is not worth waiting for: the lock of a run that does not show up for a second counts as abandoned.
    kubectl.merge("lease", f"addon-{name}", {"spec": {"leaseDurationSeconds": 1}}, "rendimiento-system")

    result = scene.sync().succeeded()
    assert result.phases == {name: "Synced"}
    assert "waiting for the lock" in result.output
    installed = {title(each) for each in kubectl.list("configmaps", f"rendimiento.ai/addon={name}")}
    assert len(installed) == OBJECTS
    states = inventory(kubectl.record(name))
    assert states == dict.fromkeys([*installed, f"Namespace {name}"], "applied")
    assert kubectl.find("lease", f"addon-{name}", "rendimiento-system") is None


def lives(group: int) -> bool:
    """Whether a process of this group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
