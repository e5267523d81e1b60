"""Who is converged, who is skipped, and what every add-on's outcome says after PLAN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import Outcome
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.queue import Queue, queue
from tests.unit.steps.made_run import FACTS, MadeRun, config, inventory, item, synced

SAME = item("a", owner="app", facts=replace(FACTS, resource_version="8"))
CHANGED = item("a", "update", owner="app")
FIXED = item("a", "blocked", reason="can't be changed in place", immutable=["data"], owner="app")
BLOCKED = item("a", "blocked", reason="refused")
UNKNOWN = item("a", "blocked", "unknown", reason="no right to dry-run it")
FOREIGN = item("a", "adopt", owner="")
HAS_A = inventory(a="applied")
PAUSED = {"rendimiento.ai/paused": "true", "rendimiento.ai/paused-reason": "storm"}
ADOPTION = "already in the cluster and not this add-on's: ConfigMap web/a. Set adopt: true to take them over"

# What there is, whether it is converged, phase and message of the outcome.
CASES: list[tuple[str, dict[str, Any], bool, str, str]] = [
    ("nothing to do", {"items": [SAME], "status": synced(objects=HAS_A)}, False, "", ""),
    ("a change", {"items": [CHANGED], "status": synced(objects=HAS_A)}, True, "", ""),
    ("no record", {"items": [SAME], "adopt": True}, True, "", ""),
    ("another phase", {"items": [SAME], "status": synced(objects=HAS_A, phase="Error")}, True, "", ""),
    ("not healthy", {"items": [SAME], "status": synced(objects=HAS_A, conditions=[])}, True, "", ""),
    ("another generation", {"items": [SAME], "status": synced(objects=HAS_A, observedGeneration=0)}, True, "", ""),
    ("another digest", {"items": [SAME], "status": synced(objects=HAS_A, appliedHash="old")}, True, "", ""),
    ("another render key", {"items": [SAME], "status": synced(objects=HAS_A, renderKey="old")}, True, "", ""),
    ("not in the inventory", {"items": [SAME], "status": synced()}, True, "", ""),
    ("gone", {"items": [], "gone": [SAME.key], "status": synced(objects=HAS_A)}, True, "", ""),
    ("kept, not recorded", {"items": [item("a", "keep")], "status": synced(objects=HAS_A)}, True, "", ""),
    ("kept, recorded", {"items": [item("a", "keep")], "status": synced(objects=inventory(a="stale"))}, False, "", ""),
    ("paused", {"items": [CHANGED], "status": synced(), "annotations": PAUSED}, True, "Suspended",
     "paused by annotation: storm"),
    ("paused, recorded", {"items": [CHANGED], "annotations": PAUSED,
                          "status": synced(phase="Suspended", message="paused by annotation: storm")},
     False, "Suspended", "paused by annotation: storm"),
    ("suspended", {"items": [CHANGED], "suspend": True}, False, "Suspended", "suspend: true in git"),
    ("suspended, to record", {"items": [CHANGED], "suspend": True, "status": synced()}, True, "Suspended",
     "suspend: true in git"),
    ("refused", {"items": [BLOCKED], "status": synced()}, True, "Error", "ConfigMap web/a: refused"),
    ("left out", {"items": [FIXED], "status": synced()}, True, "Error", "ConfigMap web/a: can't be changed in place"),
    ("unknown", {"items": [UNKNOWN], "status": synced()}, True, "", "ConfigMap web/a: no right to dry-run it"),
    ("adoption", {"items": [FOREIGN], "status": synced()}, True, "Blocked", ADOPTION),
    ("adoption, recorded", {"items": [FOREIGN], "status": synced(phase="Blocked", message=ADOPTION,
                                                                 preview={"digest": "plan digest"})},
     False, "Blocked", ADOPTION),
    ("adoption, another plan", {"items": [FOREIGN], "status": synced(phase="Blocked", message=ADOPTION,
                                                                     preview={"digest": "old"})},
     True, "Blocked", ADOPTION),
    ("manual", {"items": [CHANGED], "status": synced(), "manualSync": True}, True, "OutOfSync",
     "changes wait for a sync: raise spec.syncRequest of the Addon"),
    ("not planned", {"status": synced()}, True, "Error", "add-on app: was not planned"),
    ("not planned, recorded", {"status": synced(phase="Error", message="add-on app: was not planned")}, False, "Error",
     "add-on app: was not planned"),
    ("not planned, no record", {}, False, "Error", "add-on app: was not planned"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "due", "phase", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_queue(run: MadeRun, made: dict[str, Any], due: bool, phase: str, message: str) -> None:
    session = run.add("app", **made).session
    assert queue(session) == Queue(["app"] if due else [], {})
    outcome = session.directory.outcome("app")
    assert (outcome.phase, outcome.message) == (phase, message)
    assert outcome.error == (message if phase == "Error" else "")


def test_facts_of_the_plan_are_in_the_outcome(run: MadeRun) -> None:
    items: list[PlanItem] = [CHANGED, item("b", "keep", reason="protected"), item("c"), item("d", "update", "unknown")]
    session = run.add("app", items=items, status=synced()).session
    queue(session)
    outcome = session.directory.outcome("app")
    assert outcome.planned == {"update": 2, "keep": 1, "unchanged": 1, "unknown": 1}
    assert (outcome.unknown, outcome.pending, [one.reason for one in outcome.kept]) == (1, True, ["protected"])


def test_nothing_is_pending_on_a_suspended_add_on(run: MadeRun) -> None:
    session = run.add("app", items=[CHANGED], suspend=True).session
    queue(session)
    assert session.directory.outcome("app").pending is False


def test_an_error_of_render_or_plan_is_kept(run: MadeRun) -> None:
    run.add("app", objects=None, status=synced()).outcome(Outcome("app", phase="Error", error="add-on app: bad YAML"))
    session = run.session
    assert queue(session).converge == ["app"]
    assert session.directory.outcome("app").message == "add-on app: bad YAML"


def test_a_long_message_is_recorded_once(run: MadeRun) -> None:
    text = "x" * 5000
    run.add("app", status=synced(phase="Error", message=text[:2000])).outcome(Outcome("app", phase="Error", error=text))
    assert queue(run.session) == Queue()


def test_a_preview_that_may_not_look_is_no_error(run: MadeRun) -> None:
    run.info.check = True
    run.add("app", items=[UNKNOWN], status=synced()).add("bad", items=[UNKNOWN, item("b", "blocked", reason="refused")])
    session = run.session
    assert queue(session).converge == ["bad"]
    outcomes = [session.directory.outcome(name) for name in ("app", "bad")]
    assert [(outcome.phase, outcome.unknown, outcome.pending) for outcome in outcomes] == [
        ("", 1, True),
        ("Error", 1, True),
    ]


def test_order_and_who_is_skipped(run: MadeRun) -> None:
    changed = [item("x", "create")]
    run.add("operator", items=[BLOCKED]).add("db", items=changed, dependsOn=["operator"])
    run.add("app", items=changed, dependsOn=["db"]).add("free", items=changed)
    run.add("other", items=changed, dependsOn=["broken"]).add_invalid("broken").add_record("broken", synced())
    run.add_record("gone", synced())
    run.info.removed.append("gone")
    made = queue(run.session)
    assert made.converge == ["broken", "operator", "free", "gone"]
    assert made.skipped == {
        "db": "depends on operator, which failed",
        "app": "depends on db, which was skipped: depends on operator, which failed",
        "other": "depends on broken, whose definition is invalid",
    }


@pytest.mark.parametrize("phase", ["Error", "Blocked", "OutOfSync", "Suspended", "Pending"])
def test_how_the_last_run_ended_skips_nobody(run: MadeRun, phase: str) -> None:
    run.add("operator", items=[item("a", "create")], status=synced(phase=phase, message="of the last run"))
    run.add("db", items=[item("b", "create")], dependsOn=["operator"])
    assert queue(run.session) == Queue(["operator", "db"], {})
    assert {run.directory.outcome(name).phase for name in ("operator", "db")} == {""}


def test_two_broken_files_of_one_add_on_are_one_error(run: MadeRun) -> None:
    run.add_invalid("app", "a.yaml: is broken", "a.yaml").add_invalid("app", "b.yaml: too", "b.yaml")
    run.add_invalid("", "c.yaml: has no name", "c.yaml").add_record("app", synced())
    session = run.session
    assert queue(session).converge == ["app"]
    assert session.directory.outcome("app").error == "a.yaml: is broken; b.yaml: too"


def test_an_invalid_definition_is_recorded_once_and_only_with_a_record(run: MadeRun) -> None:
    run.add_invalid("app").add_invalid("new").add_record("app", synced(phase="Error", message="is broken"))
    assert queue(run.session) == Queue()


def test_claims_are_settled_before_gates(run: MadeRun) -> None:
    run.add("app", items=[item("a", "create")], objects=[config("a")], status=synced())
    run.add("other", items=[item("a", "create")], objects=[config("a")], status=synced())
    session = run.session
    assert queue(session).converge == ["app", "other"]
    assert [run.plan(name).gate for name in ("app", "other")] == ["refused", "refused"]
    assert "is in two add-ons" in session.directory.outcome("app").error
