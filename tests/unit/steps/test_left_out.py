"""What is left out together with an object that can't be changed in place."""

from __future__ import annotations

from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.left_out import leave_out_dependents
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.object_graph import ObjectOrder
from tests.unit.steps.made_run import config, item


def after(name: str, *blockers: str) -> dict[str, Any]:
    made = config(name)
    wanted = ", ".join(f"/ConfigMap/web/{blocker}" for blocker in blockers)
    made["metadata"]["annotations"] = {"rendimiento.ai/depends-on": wanted}
    return made


def left_out(*items: PlanItem) -> dict[str, str]:
    objects = [config("fixed"), after("next", "fixed"), after("last", "next"), config("apart"), after("both", "apart")]
    leave_out_dependents(items, ObjectOrder.of(objects))
    return {one.key.name: one.held_by for one in items if one.held_by}


FIXED: dict[str, Any] = {"immutable": ["data"], "reason": "can't be changed in place"}
ROOT = "ConfigMap web/fixed"


def test_what_comes_after_it_is_left_out_directly_or_through_others() -> None:
    items = [item("fixed", "blocked", **FIXED), item("next"), item("last", "update"), item("apart", "update")]
    assert left_out(*items) == {"last": ROOT}
    assert [one.action for one in items] == ["blocked", "unchanged", "blocked", "update"]
    assert items[2].reason == "needs ConfigMap web/fixed (through ConfigMap web/next), which can't be changed in place"
    assert items[2].left_out


def test_what_needs_it_itself_names_nothing_in_between() -> None:
    items = [item("fixed", "blocked", **FIXED), item("next", "update")]
    assert left_out(*items) == {"next": ROOT}
    assert items[1].reason == "needs ConfigMap web/fixed, which can't be changed in place"


def test_what_could_not_be_checked_or_is_refused_waits_for_it_like_the_rest() -> None:
    items = [
        item("fixed", "blocked", **FIXED),
        item("next", "blocked", reason="unknown field"),
        item("last", "update", "unknown"),
    ]
    assert left_out(*items) == {"next": ROOT, "last": ROOT}


def test_nothing_is_left_out_for_what_is_replaced_or_just_refused() -> None:
    assert left_out(item("fixed", "replace", **FIXED), item("next", "update")) == {}
    assert left_out(item("fixed", "blocked", reason="is wrong"), item("next", "update")) == {}


def test_nothing_beside_it_is_left_out() -> None:
    assert left_out(item("fixed", "blocked", **FIXED), item("apart", "create"), item("both", "create")) == {}
