"""The gates: which plan is held back, and the strictest reason first."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem, Takeover
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.gates import judge
from tests.unit.steps.made_run import MadeRun, config, item, synced

ADOPT = {"adopt": True}
FORCE = {"adopt": True, "allowAdoptChanges": True}
MANUAL = {"manualSync": True}
NEW = item("new", "create")
MINE = item("mine", "update", owner="app")
SAME = item("same", owner="app")
LOST = item("lost", "keep", owner="app", reason="the record is lost")
THEIRS_EQUAL = item("equal", "adopt", owner="")
THEIRS_OTHER = item("other", "update", owner="")
BLOCKED = item("bad", "blocked", reason="the API server refuses it")
UNKNOWN = item("dark", "update", "unknown", reason="no right", owner="app")
FIXED = item("fixed", "blocked", reason="can't be changed in place", immutable=["data"], owner="app")
NEEDY = item("needy", "blocked", reason="needs it", held_by="ConfigMap web/fixed", owner="app")
THEIRS_FIXED = item("theirs", "blocked", immutable=["data"], owner="")
REPLACED = item("anew", "replace", immutable=["data"], owner="app")
THEIRS_REPLACED = item("taken", "replace", immutable=["data"], owner="")
FOREIGN_NAMESPACE = item("web", "unchanged", kind="Namespace", generated=True, owner="")

LAMBDA, EDITED = Takeover("lambda", ".data.a"), Takeover("kubectl-edit", ".data.b")
CONTESTED = (
    "taking over what runs would take fields from others: ConfigMap web/other (.data.a from lambda). Leave those "
    'fields out of the source, or annotate the objects in the source with rendimiento.ai/adopt: "true"'
)

CASES: list[tuple[list[PlanItem], dict[str, Any], dict[str, Any] | None, str, str]] = [
    ([], {}, None, "", ""),
    ([NEW, MINE], {}, synced(), "", ""),
    # The label alone is no proof that the add-on made it: its record was lost, and nothing says what was applied.
    ([MINE, LOST], {}, None, "adoption",
     "labelled as this add-on's, but in no record, so its record was lost: ConfigMap web/mine, ConfigMap web/lost. "
     "Not in the source: ConfigMap web/lost. Set adopt: true to take them over; nothing is pruned in that run"),
    ([SAME], {}, None, "adoption",
     "labelled as this add-on's, but in no record, so its record was lost: ConfigMap web/same. "
     "Set adopt: true to take them over; nothing is pruned in that run"),
    ([SAME, LOST, NEW], ADOPT, None, "", ""),
    ([MINE], ADOPT, None, "adoption",
     "labelled as this add-on's, but in no record, and a sync would change it: ConfigMap web/mine. "
     "Correct the source until nothing changes, or set allowAdoptChanges: true"),
    ([MINE], FORCE, None, "", ""),
    ([SAME], {}, synced(), "", ""),
    ([SAME], MANUAL, synced(), "", ""),
    ([BLOCKED], {}, None, "refused", "ConfigMap web/bad: the API server refuses it"),
    ([BLOCKED, UNKNOWN, THEIRS_OTHER], MANUAL, None, "refused",
     "ConfigMap web/bad: the API server refuses it (and 1 more)"),
    ([UNKNOWN], FORCE, None, "refused", "ConfigMap web/dark: no right"),
    # What is left out alone holds nothing else back.
    ([FIXED, NEEDY, NEW], {}, synced(), "", ""),
    ([FIXED, BLOCKED], {}, synced(), "refused", "ConfigMap web/bad: the API server refuses it"),
    ([THEIRS_FIXED], {}, synced(), "adoption",
     "already in the cluster and not this add-on's: ConfigMap web/theirs. Set adopt: true to take them over"),
    ([REPLACED], {}, synced(), "", ""),
    ([REPLACED], ADOPT, None, "adoption",
     "labelled as this add-on's, but in no record, and a sync would change it: ConfigMap web/anew. "
     "Correct the source until nothing changes, or set allowAdoptChanges: true"),
    ([THEIRS_REPLACED], ADOPT, synced(), "adoption",
     "taking over what runs would change ConfigMap web/taken. Correct the source until nothing changes, "
     "or set allowAdoptChanges: true"),
    ([item("kept", "keep", "unknown", reason="API group x does not answer")], {}, None, "", ""),
    # Adoption: never without being asked, and then only when nothing changes.
    ([THEIRS_EQUAL], {}, synced(), "adoption",
     "already in the cluster and not this add-on's: ConfigMap web/equal. Set adopt: true to take them over"),
    ([THEIRS_OTHER], {}, synced(), "adoption",
     "already in the cluster and not this add-on's: ConfigMap web/other. Set adopt: true to take them over"),
    ([THEIRS_EQUAL], ADOPT, None, "", ""),
    ([THEIRS_EQUAL, MINE], ADOPT, synced(), "", ""),
    ([THEIRS_OTHER], ADOPT, synced(), "adoption",
     "taking over what runs would change ConfigMap web/other. Correct the source until nothing changes, "
     "or set allowAdoptChanges: true"),
    ([THEIRS_EQUAL, NEW], ADOPT, None, "adoption",
     "taking over what runs would change ConfigMap web/new. Correct the source until nothing changes, "
     "or set allowAdoptChanges: true"),
    ([THEIRS_EQUAL, NEW], ADOPT, synced(), "", ""),
    ([THEIRS_OTHER, NEW], FORCE, None, "", ""),
    ([FOREIGN_NAMESPACE, NEW], {}, None, "", ""),
    ([item(name, "adopt", owner="") for name in "abcde"], {}, None, "adoption",
     "already in the cluster and not this add-on's: ConfigMap web/a, ConfigMap web/b, ConfigMap web/c and 2 more. "
     "Set adopt: true to take them over"),
    # What the source asks for by name needs no leave for the whole add-on; what others own needs just that.
    ([item("other", "update", owner="", adoption_asked=True)], {}, synced(), "", ""),
    ([item("other", "update", owner="", adoption_asked=True), THEIRS_EQUAL], {}, synced(), "adoption",
     "already in the cluster and not this add-on's: ConfigMap web/equal. Set adopt: true to take them over"),
    ([item("other", "update", owner="", contested=[LAMBDA])], FORCE, synced(), "adoption", CONTESTED),
    ([item("other", "update", owner="", contested=[LAMBDA], adoption_asked=True)], {}, synced(), "", ""),
    ([item("other", "update", owner="", takes_over=[EDITED])], FORCE, synced(), "", ""),
    ([item("mine", "update", owner="app", contested=[LAMBDA])], {}, synced(), "", ""),
    # Manual sync waits for a change alone, and for a request that is newer than the last that was served.
    ([MINE], MANUAL, synced(), "manual-sync", "changes wait for a sync: raise spec.syncRequest of the Addon"),
    ([item("old", "prune", owner="app")], MANUAL, synced(), "manual-sync",
     "changes wait for a sync: raise spec.syncRequest of the Addon"),
    ([MINE], MANUAL, synced(appliedSyncRequest=3), "manual-sync",
     "changes wait for a sync: raise spec.syncRequest of the Addon"),
    ([MINE], MANUAL, synced(appliedSyncRequest=2), "", ""),
    ([THEIRS_EQUAL], {**MANUAL, **ADOPT}, synced(appliedSyncRequest=3), "manual-sync",
     "changes wait for a sync: raise spec.syncRequest of the Addon"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "definition", "status", "gate", "reason"), CASES)
def test_gates(
    run: MadeRun,
    items: list[PlanItem],
    definition: dict[str, Any],
    status: dict[str, Any] | None,
    gate: str,
    reason: str,
) -> None:
    applied = (status or {}).get("appliedSyncRequest")
    session = run.add(
        "app", items=items, status=status, spec={"syncRequest": 3 if applied else 0}, **definition
    ).session
    plan, bundle = run.plan("app"), session.directory.bundle("app")
    assert bundle is not None
    # A gate that does not hold any more is taken away.
    plan.gate, plan.gate_reason = "hooks", "old"
    judge(session, plan, bundle)
    assert (plan.gate, plan.gate_reason) == (gate, reason)


UNKNOWN_KINDS = ["Thing.x.io (no right)", "API group y.io (does not answer)"]
NOT_KNOWN = f"; it is not known whether objects of these kinds are there: {', '.join(UNKNOWN_KINDS)}. "


@pytest.mark.parametrize(
    ("items", "definition", "reason"),
    [
        ([SAME], {}, "labelled as this add-on's, but in no record, so its record was lost: ConfigMap web/same"
         f"{NOT_KNOWN}Set adopt: true to take them over; nothing is pruned in that run"),
        ([SAME], ADOPT, f"its record was lost{NOT_KNOWN}What is not found now is never pruned: have these listed "
         "by the acting account, or set allowAdoptChanges: true to do without"),
        ([SAME], FORCE, ""),
        # A new add-on has nothing that was lost.
        ([NEW], {}, ""),
    ],
)  # fmt: skip
def test_what_could_not_be_looked_for_after_the_record_was_lost_holds_the_plan_back(
    run: MadeRun, items: list[PlanItem], definition: dict[str, Any], reason: str
) -> None:
    session = run.add("app", items=items, plan={"unknown": UNKNOWN_KINDS}, **definition).session
    plan, bundle = run.plan("app"), session.directory.bundle("app")
    assert bundle is not None
    judge(session, plan, bundle)
    assert (plan.gate, plan.gate_reason) == ("adoption" if reason else "", reason)


@pytest.mark.parametrize(("skip", "gate"), [(False, "hooks"), (True, "")])
def test_hooks_hold_a_plan_back_unless_they_are_skipped(run: MadeRun, skip: bool, gate: str) -> None:
    session = run.add("app", items=[], hooks=[config("job")], skipHooks=skip).session
    plan, bundle = run.plan("app"), session.directory.bundle("app")
    assert bundle is not None
    judge(session, plan, bundle)
    assert plan.gate == gate
