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
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem

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
