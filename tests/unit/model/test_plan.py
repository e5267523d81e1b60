"""What a plan and its items say of themselves."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import AppliedFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import (
    Action,
    Plan,
    PlanItem,
    Verdict,
    count_actions,
)

KEY = ObjectKey("", "ConfigMap", "web", "a")
FACTS = AppliedFacts("u", "1", None, "", "")


def item(action: Action = "unchanged", verdict: Verdict = "verified", **fields: Any) -> PlanItem:
    return PlanItem(KEY, "v1", action, verdict, **fields)


@pytest.mark.parametrize("action", get_args(Action))
@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_unknown_and_blocked_never_pass(action: Action, verdict: Verdict) -> None:
    made = item(action, verdict)
    settled = action == "keep" or (action != "blocked" and verdict != "unknown")
    assert made.settled is settled
    plan = Plan("web", "", "", True, [made])
    doubtful = not settled or (verdict == "simulated" and action != "keep")
    assert made.doubtful is doubtful
    assert plan.pending is (action in ("create", "update", "adopt", "replace", "prune") or doubtful)
    assert plan.unsettled == ([] if settled else [made])


@pytest.mark.parametrize(
    ("made", "managed", "foreign"),
    [
        (item("create"), True, False),
        (item("update", owner="web"), True, False),
        (item("update", owner=""), True, True),
        (item("unchanged", owner="web", facts=FACTS), True, False),
        (item("prune", owner="web"), False, False),
        (item("keep", owner="web"), False, False),
        (item("blocked", owner=""), False, True),
        # The namespace of createNamespace: made by somebody else, made by this add-on before, to be made.
        (item("unchanged", generated=True, owner=""), False, True),
        (item("unchanged", generated=True, owner="web", facts=FACTS), True, False),
        (item("create", generated=True), True, False),
    ],
)
def test_what_is_managed_and_what_is_foreign(made: PlanItem, managed: bool, foreign: bool) -> None:
    assert (made.managed, made.foreign) == (managed, foreign)


def test_counts_leave_out_what_does_not_occur() -> None:
    items = [item("create"), item("create"), item("unchanged", "proven"), item("blocked", "unknown")]
    assert count_actions(items) == {"create": 2, "unchanged": 1, "blocked": 1, "unknown": 1}
    assert Plan("web", "", "", True).counts() == {}


def test_headers_and_diffs() -> None:
    made = item("update", "simulated", before="a: 1\n", after="a: 2\n")
    assert made.header == "ConfigMap web/a (update, simulated)"
    assert made.unified() == (
        "--- ConfigMap web/a (update, simulated)\n"
        "+++ ConfigMap web/a (update, simulated)\n"
        "@@ -1,1 +1,1 @@\n-a: 1\n+a: 2\n"
    )
    assert item("adopt").unified() == ""


def test_items_by_action() -> None:
    plan = Plan("web", "", "", True, [item("create"), item("prune"), item("unchanged")])
    assert [made.action for made in plan.with_action("prune", "create")] == ["create", "prune"]
    assert [made.action for made in plan.changes] == ["create", "prune"]


def test_what_is_left_out_refuses_nothing_and_is_told() -> None:
    fixed = item("blocked", reason="can't be changed in place", immutable=["data"])
    needy = item("blocked", reason="needs a", held_by="ConfigMap web/a")
    wrong = item("blocked", reason="is wrong")
    plan = Plan("web", "", "", True, [needy, fixed, wrong])
    assert plan.refusing == [wrong]
    assert plan.left_out_reason == "ConfigMap web/a: can't be changed in place (and 1 more left out)"
    assert Plan("web", "", "", True, [wrong]).left_out_reason == ""
    # What was settled otherwise since is not left out: it needs no opt-in any more, or another one.
    assert not item("replace", immutable=["data"]).left_out
