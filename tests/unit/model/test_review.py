"""What of a plan matters most, and how warnings and ownership are put into a few lines."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import (
    MADE_UP,
    PlanItem,
    Takeover,
    YieldedField,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.review import (
    bounded,
    importance,
    most_important,
    ownership_lines,
    pending_items,
    told_items,
    warning_lines,
)
from tests.unit.model.made_review import addon, changed, every_sort, item

TAKES = [Takeover("kubectl", ".spec.replicas")]


def names(items: list[PlanItem]) -> str:
    return " ".join(one.key.name for one in items)


def test_the_order_of_importance() -> None:
    items = [
        item("stays", "keep"),
        item("new", "create"),
        item("new-taking", "create", takes_over=TAKES),
        item("changed", "update"),
        item("absorbing", "adopt", absorbs=["helm"]),
        item("unseen", "create", "unknown"),
        item("refused", "blocked"),
        item("immutable", "replace"),
        item("left", "prune"),
    ]
    ranked = sorted(items, key=importance)
    assert names(ranked) == "immutable left unseen refused new-taking absorbing changed new stays"


@pytest.mark.parametrize(
    ("most", "chosen"), [(0, ""), (1, "left"), (2, "new-1 left"), (3, "new-1 new-2 left"), (9, "new-1 new-2 left")]
)
def test_those_that_matter_most_stay_in_their_order(most: int, chosen: str) -> None:
    assert (
        names(most_important([item("new-1", "create"), item("new-2", "create"), item("left", "prune")], most)) == chosen
    )


def test_what_is_pending() -> None:
    plan = every_sort().plan
    assert plan is not None
    assert names(pending_items(plan)) == "new why coming changed taken immutable left refused unseen"
    both = [item("a", "update", "unknown")]
    assert pending_items(addon("app", both).plan or plan) == both


def test_an_object_is_told_of_for_what_is_left_but_not_for_what_a_chart_makes_up() -> None:
    made_up, ignored = YieldedField(".data.a", "", MADE_UP), YieldedField(".data.b", "", "ignored")
    items = [item("a", yields=[made_up]), item("b", yields=[made_up, ignored]), item("c", "update", yields=[made_up])]
    plan = addon("web", items).plan
    assert plan is not None
    assert names(told_items(plan)) == "b c"


@pytest.mark.parametrize(
    ("items", "lines"),
    [
        ([], []),
        ([item("a", warnings=["old", "old"])], ["ConfigMap web/a: old"]),
        ([item("a", warnings=["old"]), item("b", warnings=["old"])], ["ConfigMap web/a: old (and 1 more object)"]),
        ([item(f"o{number}", warnings=["old"]) for number in range(1000)],
         ["ConfigMap web/o0: old (and 999 more objects)"]),
        ([item("a", warnings=[f"w{number}" for number in range(1000)])],
         ["ConfigMap web/a: w0", "ConfigMap web/a: w1", "… 998 more warnings"]),
        ([item("a", warnings=["two\nlines\x1b[2J"])], ["ConfigMap web/a: two lines\ufffd[2J"]),
    ],
)  # fmt: skip
def test_warnings_are_told_once(items: list[PlanItem], lines: list[str]) -> None:
    assert warning_lines(items, 2) == lines


def test_ownership_in_words() -> None:
    made = changed(
        "a",
        takes_over=TAKES * 3,
        yields=[YieldedField(".spec.replicas", "hpa", "autoscaled"), YieldedField(".x", "", "nobody sets it")],
        absorbs=["helm", "kubectl\n"],
        removes=[".metadata.annotations.x"],
    )
    assert ownership_lines(made, 2) == [
        "takes .spec.replicas from kubectl",
        "takes .spec.replicas from kubectl",
        "… 1 more",
        "leaves .spec.replicas to hpa: autoscaled",
        "leaves .x as it is: nobody sets it",
        "absorbs the fields of helm",
        "absorbs the fields of kubectl",
        "removes .metadata.annotations.x",
    ]
    assert ownership_lines(changed("a"), 2) == []


def test_what_was_cut_is_counted() -> None:
    assert (bounded(["a", "b"], 2), bounded(["a", "b", "c"], 2)) == (["a", "b"], ["a", "b", "… 1 more"])


def test_an_add_on_without_a_plan_is_pending_by_its_outcome() -> None:
    assert [addon("x", None, {"pending": True}).pending, addon("x", None).pending] == [True, False]
    # A pause hides no change from a reviewer.
    assert addon("x", [item("a", "create")], {"pending": False}).pending is True
