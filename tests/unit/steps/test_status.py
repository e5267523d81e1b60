"""What a record's status becomes: news and nothing else, bounded, and without forgetting what others wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import ObjectResult, Outcome
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem, Takeover, YieldedField
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.status import status_after
from tests.unit.steps.made_run import COMMIT, FACTS, MadeRun, inventory, item, key, synced

SAME = item("a", owner="app", facts=FACTS)
HAS_A = inventory(a="applied")
SETTLED = synced(
    objects=HAS_A,
    preview={"counts": {}, "digest": ""},
    revision=COMMIT[:12],
    appliedSyncRequest=0,
    adopted=False,
    conditions=[
        {"type": kind, "status": "True", "reason": "Synced", "lastTransitionTime": "before", "message": ""}
        for kind in ("Synced", "Healthy", "Ready")
    ],
)


def after(run: MadeRun, outcome: Outcome) -> dict[str, Any]:
    return status_after(run.session, "app", outcome)


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """State by type, and whether its time moved."""
    return {one["type"]: (one["status"], one["lastTransitionTime"] != "before") for one in status["conditions"]}


def test_a_run_without_news_writes_nothing(run: MadeRun) -> None:
    run.add("app", items=[SAME], status=SETTLED)
    assert after(run, Outcome("app", phase="Synced")) == {}


def test_only_what_changed_is_written_and_the_time_goes_with_it(run: MadeRun) -> None:
    run.add("app", items=[SAME], status={**SETTLED, "renderKey": "old"})
    changes = after(run, Outcome("app", phase="Synced"))
    assert set(changes) == {"renderKey", "lastSynced"}
    assert changes["renderKey"] == "render key"


def test_a_first_sync(run: MadeRun) -> None:
    run.add("app", items=[SAME], status={}, spec={"syncRequest": 4})
    changes = after(run, Outcome("app", phase="Synced", healthy=True))
    facts = [
        changes[name] for name in ("phase", "revision", "appliedHash", "renderKey", "appliedSyncRequest", "adopted")
    ]
    assert facts == ["Synced", COMMIT[:12], "digest", "render key", 4, False]
    assert changes["objects"] == HAS_A
    assert conditions(changes) == dict.fromkeys(("Synced", "Healthy", "Ready"), ("True", True))
    assert not {"world", "history"} & set(changes)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome("app", phase="Synced", healthy=True), {"Synced": "True", "Healthy": "True", "Ready": "True"}),
        (Outcome("app", phase="Synced"), {"Synced": "True", "Healthy": "True", "Ready": "True"}),
        (Outcome("app", phase="Error"), {"Synced": "False", "Healthy": "True", "Ready": "False"}),
        (Outcome("app", phase="Blocked"), {"Synced": "False", "Healthy": "True", "Ready": "False"}),
        (Outcome("app", phase="Suspended"), {"Synced": "True", "Healthy": "True", "Ready": "True"}),
        # Applied to the end, then not ready: synced but not healthy.
        (Outcome("app", phase="Error", healthy=False), {"Synced": "True", "Healthy": "False", "Ready": "False"}),
        (Outcome("app", phase="Error", healthy=False, planned={"create": 1}),
         {"Synced": "False", "Healthy": "False", "Ready": "False"}),
    ],
)  # fmt: skip
def test_conditions_move_only_when_their_state_does(run: MadeRun, outcome: Outcome, expected: dict[str, str]) -> None:
    run.add("app", items=[SAME], status=SETTLED)
    states = conditions({**SETTLED, **after(run, outcome)})
    assert states == {kind: (state, state != "True") for kind, state in expected.items()}


@pytest.mark.parametrize(
    ("pruned", "gone", "expected"),
    [
        ([], [], "False"),
        ([ObjectResult(key("left"))], [], "False"),
        ([ObjectResult(key("left"))], [key("left")], "True"),
        ([], [key("left")], "True"),
    ],
    ids=["never-began", "still-being-deleted", "deleted", "was-gone-already"],
)
def test_unready_is_synced_only_when_what_left_the_source_is_gone(
    run: MadeRun, pruned: list[ObjectResult], gone: list[ObjectKey], expected: str
) -> None:
    run.serves().add("app", items=[SAME, item("left", "prune", owner="app", uid="left")], status=SETTLED)
    changes = after(run, Outcome("app", phase="Error", healthy=False, pruned=pruned, gone=gone))
    assert conditions({**SETTLED, **changes})["Synced"][0] == expected


def test_conditions_without_a_past(run: MadeRun) -> None:
    run.add("app", status={})
    states = conditions(after(run, Outcome("app", phase="Suspended")))
    assert {kind: state for kind, (state, _moved) in states.items()} == {
        "Synced": "Unknown",
        "Healthy": "Unknown",
        "Ready": "False",
    }


def test_conditions_of_others_stay(run: MadeRun) -> None:
    foreign = {"type": "Reviewed", "status": "True", "by": "somebody"}
    status = {**SETTLED, "conditions": [foreign, *SETTLED["conditions"]]}
    run.add("app", items=[SAME], status=status)
    changes = after(run, Outcome("app", phase="Error", message="x", healthy=False))
    assert changes["conditions"][-1] == foreign
    settled = {**status, "conditions": [*SETTLED["conditions"], foreign]}
    run.add_record("app", settled)
    assert after(run, Outcome("app", phase="Synced")) == {}


@pytest.mark.parametrize(
    ("outcome", "items", "objects"),
    [
        # Nothing was written, so nothing is known better than before.
        (Outcome("app", phase="Blocked"), [item("a", "update"), item("b", "create")], None),
        (Outcome("app", phase="Error"), [item("a", "update")], None),
        # Written ahead, then failed: what may exist stays.
        (Outcome("app", phase="Error", inventory_ahead=True), [item("a", "update")], None),
        (Outcome("app", phase="Error", inventory_ahead=True), [item("a", "keep", kept_as="retained")], "retained"),
        (Outcome("app", phase="Synced"), [item("a", "keep", kept_as="stale")], "stale"),
    ],
)
def test_the_inventory_moves_only_with_the_objects(
    run: MadeRun, outcome: Outcome, items: list[PlanItem], objects: str | None
) -> None:
    run.add("app", items=items, status=SETTLED)
    changes = after(run, outcome)
    assert changes.get("objects") == (inventory(a=objects) if objects else None)  # type: ignore[arg-type]


def test_what_was_only_checked_is_recorded_with_the_rest(run: MadeRun) -> None:
    newer = replace(FACTS, resource_version="8")
    run.add("app", items=[replace(SAME, facts=newer)], status={**SETTLED, "renderKey": "old"})
    assert after(run, Outcome("app", phase="Synced"))["objects"] == inventory(newer, a="applied")


def test_an_add_on_that_was_not_planned_keeps_what_it_had(run: MadeRun) -> None:
    run.add("app", objects=None, status=SETTLED)
    changes = after(run, Outcome("app", phase="Error", message="add-on app: bad YAML", error="add-on app: bad YAML"))
    assert set(changes) == {"phase", "message", "conditions", "lastSynced"}


def test_a_preview_says_what_waits(run: MadeRun) -> None:
    items = [
        item("a", "update", owner="", before="a: 1\n", after="a: 2\n"),
        item("b", "blocked", "unknown", reason="no right"),
        item("c"),
        item("d", "keep", "unknown", reason="protected"),
    ]
    run.add("app", items=items, status=SETTLED)
    assert after(run, Outcome("app", phase="Blocked", message="m"))["preview"] == {
        "counts": {"update": 1, "blocked": 1, "unknown": 2, "unchanged": 1, "keep": 1},
        "digest": "plan digest",
        "items": [
            {"object": "ConfigMap web/a", "action": "update", "verdict": "verified", "diff": items[0].unified()},
            {"object": "ConfigMap web/b", "action": "blocked", "verdict": "unknown", "reason": "no right"},
        ],
    }


def test_a_preview_says_whose_fields_it_takes_and_leaves(run: MadeRun) -> None:
    made = item(
        "a",
        "update",
        reason="r" * 5000,
        takes_over=[Takeover("kubectl", f".spec.f{number}") for number in range(15)],
        yields=[YieldedField(".spec.replicas", "hpa", "autoscaled"), YieldedField(".x", "", "made up")],
        absorbs=["helm"],
        removes=[".metadata.annotations.x"],
    )
    run.add("app", items=[made], status=SETTLED)
    (entry,) = after(run, Outcome("app", phase="Blocked"))["preview"]["items"]
    assert entry["takesOver"] == [*(f".spec.f{number} from kubectl" for number in range(10)), "… 5 more"]
    assert entry["yields"] == [".spec.replicas to hpa: autoscaled", ".x to nobody: made up"]
    assert (entry["absorbs"], entry["removes"]) == (["helm"], [".metadata.annotations.x"])
    assert len(entry["reason"]) == 2000


def test_of_many_changes_a_preview_has_those_that_matter_most(run: MadeRun) -> None:
    items = [*(item(f"o{number}", "create") for number in range(150)), item("left", "prune", owner="app")]
    run.add("app", items=items, status=SETTLED)
    preview = after(run, Outcome("app", phase="OutOfSync"))["preview"]
    assert (len(preview["items"]), preview["items"][-1]["object"], preview["cut"]) == (
        100,
        "ConfigMap web/left",
        "51 more objects",
    )


@pytest.mark.parametrize(("count", "lines", "shown"), [(150, 1, 100), (100, 400, 73), (1, 100_000, 1)])
def test_a_preview_is_bounded_and_says_what_was_cut(run: MadeRun, count: int, lines: int, shown: int) -> None:
    text = "\n".join(f"line {number}" for number in range(lines)) + "\n"
    run.add("app", items=[item(f"o{number}", "create", after=text) for number in range(count)], status=SETTLED)
    preview = after(run, Outcome("app", phase="OutOfSync"))["preview"]
    assert len(preview["items"]) == shown
    assert preview.get("cut") == (f"{count - shown} more objects" if shown < count else None)
    assert max(len(entry["diff"]) for entry in preview["items"]) <= 3000
    assert ("more lines" in preview["items"][0]["diff"]) is (lines > 100)
    assert len(json.dumps(preview)) < 260_000


def test_messages_are_bounded(run: MadeRun) -> None:
    run.add("app", status=SETTLED)
    changes = after(run, Outcome("app", phase="Error", message="x" * 5000))
    assert len(changes["message"]) == 2000
    assert {len(one["message"]) for one in changes["conditions"]} == {0, 200}
