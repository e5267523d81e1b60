"""What steps give back to Ansible: results and diffs."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.invocation import (
    Result,
    diff_lines,
    diff_of,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem, Takeover, YieldedField

HEADER = "ConfigMap web/a (update, verified)"


def item(before: str, after: str, **fields: Any) -> PlanItem:
    return PlanItem(
        ObjectKey("", "ConfigMap", "web", "a"), "v1", "update", "verified", before=before, after=after, **fields
    )


def lines(count: int, **changed: str) -> str:
    return "".join(f"{changed.get(f'line{number}', number)}\n" for number in range(count))


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Result(), {"changed": False}),
        (Result(changed=True, values={"run": "/x"}), {"changed": True, "run": "/x"}),
        (Result(diff=[{"prepared": "x"}], report=["r"], warnings=["w"]),
         {"changed": False, "diff": [{"prepared": "x"}], "report": ["r"], "warnings": ["w"]}),
        (Result(diff=[]), {"changed": False, "diff": []}),
        (Result(stats={"a": 1}),
         {"changed": False, "ansible_stats": {"data": {"a": 1}, "per_host": False, "aggregate": True}}),
        (Result(changed=True, failure="why"), {"changed": True, "failed": True, "msg": "why"}),
    ],
)  # fmt: skip
def test_results(result: Result, expected: dict[str, Any]) -> None:
    assert result.to_ansible() == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (item("a: 1\n", "a: 2\n"),
         {"before_header": HEADER, "after_header": HEADER, "before": "a: 1\n", "after": "a: 2\n"}),
        (item("", "a: 2\n"), {"before_header": HEADER, "after_header": HEADER, "before": "", "after": "a: 2\n"}),
        (item("", ""), {"prepared": f"{HEADER}\n"}),
        (item("a: 1\n", "a: 1\n", reason="label only"), {"prepared": f"{HEADER}: label only\n"}),
    ],
)  # fmt: skip
def test_one_diff_per_object(made: PlanItem, expected: dict[str, str]) -> None:
    assert diff_of([made, made]) == [expected, expected]


def test_no_items_no_diff() -> None:
    assert (diff_of([]), diff_lines([])) == ([], [])


def test_a_change_far_down_in_a_long_text_is_shown() -> None:
    (diff,) = diff_of([item(lines(2000), lines(2000, line1500="changed"))])
    assert set(diff) == {"prepared"}
    assert "-1500\n+changed\n" in diff["prepared"]
    assert diff["prepared"].startswith(f"--- {HEADER}\n+++ {HEADER}\n")
    assert diff["prepared"].count("\n") < 15


def test_a_long_diff_is_cut_and_says_so() -> None:
    (diff,) = diff_of([item("", lines(5000))])
    assert diff["prepared"].count("\n") == 403
    assert diff["prepared"].endswith("… 4601 more lines\n")


def test_the_same_as_lines() -> None:
    made = [item("a: 1\n", "a: 2\n"), item("", "", reason="why")]
    assert diff_lines(made) == [f"--- {HEADER}", f"+++ {HEADER}", "@@ -1,1 +1,1 @@", "-a: 1", "+a: 2", f"{HEADER}: why"]


def test_whose_fields_change_hands_is_shown_behind_the_diff() -> None:
    made = item(
        "a: 1\n",
        "a: 2\n",
        takes_over=[Takeover("kubectl", ".spec.replicas")],
        yields=[YieldedField(".spec.paused", "rollout", "paused\nby hand")],
        absorbs=["helm"],
        removes=[".metadata.annotations.x"],
        warnings=["deprecated\x1b[2J"],
    )
    facts = [
        "  takes .spec.replicas from kubectl",
        "  leaves .spec.paused to rollout: paused by hand",
        "  absorbs the fields of helm",
        "  removes .metadata.annotations.x",
        "  warning: deprecated\ufffd[2J",
    ]
    assert diff_of([made])[1:] == [{"prepared": "".join(f"{line}\n" for line in facts)}]
    assert diff_lines([made])[-5:] == facts


def test_of_many_objects_those_that_matter_most_are_shown_and_the_others_counted() -> None:
    created = [item("", f"a: {number}\n") for number in range(1999)]
    for made in created:
        made.action = "create"
    left = item("a: 1\n", "")
    left.action = "prune"
    more = "… 1900 more objects change: addon_plan_file has them all, addon_preview_file what fits into its size"
    diffs, lines = diff_of([*created, left]), diff_lines([*created, left])
    assert (len(diffs), diffs[-1]) == (101, {"prepared": f"{more}\n"})
    assert diffs[-2]["before_header"] == "ConfigMap web/a (prune, verified)"
    assert lines[-1] == more
    assert sum(line.startswith("---") for line in lines) == 100


def test_a_result_is_bounded_whatever_objects_hold() -> None:
    huge = [item("", "x" * 3_000_000 + "\n") for _ in range(5)]
    long = [item("", "".join(f"{'y' * 90}\n" for _ in range(399))) for _ in range(95)]
    diffs = diff_of([*huge, *long])
    assert sum(len(text) for diff in diffs for text in diff.values()) < 1_500_000
    assert diffs[-1] == {"prepared": f"{HEADER}: the diffs above are long; see addon_plan_file\n"}
    assert max(map(len, diff_lines(huge))) < 2100
