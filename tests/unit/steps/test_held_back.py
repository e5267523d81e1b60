"""What is left out together with an object that can't be changed in place."""

from __future__ import annotations

from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.held_back import hold_back_dependents
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.object_graph import ObjectOrder
from tests.unit.steps.made_run import config, item


def after(name: str, *blockers: str) -> dict[str, Any]:
    made = config(name)
    wanted = ", ".join(f"/ConfigMap/web/{blocker}" for blocker in blockers)
    made["metadata"]["annotations"] = {"rendimiento.ai/depends-on": wanted}
    return made


def held(*items: PlanItem) -> dict[str, str]:
    objects = [config("fixed"), after("next", "fixed"), after("last", "next"), config("apart"), after("both", "apart")]
    hold_back_dependents(items, ObjectOrder.of(objects))
    return {one.key.name: one.held_by for one in items if one.held_by}


FIXED: dict[str, Any] = {"immutable": ["data"], "reason": "can't be changed in place"}
ROOT = "ConfigMap web/fixed"


def test_what_comes_after_it_is_left_out_directly_or_through_others() -> None:
    items = [item("fixed", "blocked", **FIXED), item("next"), item("last", "update"), item("apart", "update")]
    assert held(*items) == {"last": ROOT}
    assert [one.action for one in items] == ["blocked", "unchanged", "blocked", "update"]
    assert items[2].reason == "needs ConfigMap web/fixed, which can't be changed in place"
    assert items[2].left_out


def test_what_could_not_be_checked_or_is_refused_waits_for_it_like_the_rest() -> None:
    items = [
        item("fixed", "blocked", **FIXED),
        item("next", "blocked", reason="unknown field"),
        item("last", "update", "unknown"),
    ]
    assert held(*items) == {"next": ROOT, "last": ROOT}


def test_nothing_is_held_back_by_what_is_replaced_or_just_refused() -> None:
    assert held(item("fixed", "replace", **FIXED), item("next", "update")) == {}
    assert held(item("fixed", "blocked", reason="is wrong"), item("next", "update")) == {}


def test_it_holds_back_nothing_beside_it() -> None:
    assert held(item("fixed", "blocked", **FIXED), item("apart", "create"), item("both", "create")) == {}
