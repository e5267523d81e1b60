"""What add-ons depend on, and who is skipped."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import ObjectResult, Outcome
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.dependencies import (
    bundles_of_dependencies,
    changed_dependency,
    dependencies,
    failed_dependency,
)
from tests.unit.steps.made_run import MadeRun


@pytest.fixture
def chain(run: MadeRun) -> MadeRun:
    """app -> (db, cache), db -> operator, cache -> operator; old and broken are not part of the run."""
    run.add("operator").add("db", dependsOn=["operator"]).add("cache", dependsOn=["operator"])
    run.add("app", dependsOn=["db", "cache"])
    run.add("old", here=False, dependsOn=["operator"]).add_invalid("broken")
    return run.add("mixed", dependsOn=["old", "broken"])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("operator", []),
        ("db", ["operator"]),
        ("app", ["db", "cache", "operator"]),
        ("mixed", ["old", "broken", "operator"]),
        ("broken", []),
        ("nobody", []),
    ],
)
def test_direct_ones_first_and_each_once(chain: MadeRun, name: str, found: list[str]) -> None:
    assert dependencies(chain.session, name) == found


def test_bundles_of_what_was_rendered(chain: MadeRun) -> None:
    assert [bundle.name for bundle in bundles_of_dependencies(chain.session, "mixed")] == ["operator"]


def test_a_changed_dependency_is_found_through_others(chain: MadeRun) -> None:
    assert changed_dependency(chain.session, "app") == ""
    chain.outcome(Outcome("operator", pruned=[ObjectResult(ObjectKey("", "ConfigMap", "web", "a"))]))
    assert changed_dependency(chain.session, "app") == "operator"
    assert changed_dependency(chain.session, "operator") == ""


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome("db", phase="Synced"), ""),
        (Outcome("db"), ""),
        (Outcome("db", phase="Blocked"), ""),
        (Outcome("db", phase="OutOfSync"), ""),
        (Outcome("db", phase="Suspended"), ""),
        (Outcome("db", phase="Error"), "depends on db, which failed"),
        (Outcome("db", skipped="depends on operator, which failed"),
         "depends on db, which was skipped: depends on operator, which failed"),
        (Outcome("operator", phase="Error"), ""),
    ],
)  # fmt: skip
def test_who_is_skipped(chain: MadeRun, outcome: Outcome, reason: str) -> None:
    assert failed_dependency(chain.outcome(outcome).session, "app") == reason


def test_an_invalid_dependency_skips(chain: MadeRun) -> None:
    assert failed_dependency(chain.session, "mixed") == "depends on broken, whose definition is invalid"
