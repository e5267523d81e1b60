"""What people and programs get to see of a change."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import jsonpatch
import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.difference import comparable, difference
from ansible_collections.rendimiento.addons.plugins.module_utils.model.masking import Mask, Placeholders
from tests.unit.model.counted_calls import calls_of

MASK = Mask(Placeholders(b"key"))
LABEL = "rendimiento.ai/addon"


def config_map(data: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}, "data": data}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"name": "a", "uid": "1", "resourceVersion": "2", "generation": 3, "creationTimestamp": None,
          "managedFields": [], "selfLink": "/"}, {"name": "a"}),
        ({"name": "a", "labels": {LABEL: "web"}}, {"name": "a"}),
        ({"name": "a", "labels": {LABEL: "web", "b": "c"}}, {"name": "a", "labels": {"b": "c"}}),
        ({"name": "a", "labels": {}}, {"name": "a", "labels": {}}),
        ({"name": "a", "labels": None}, {"name": "a", "labels": None}),
    ],
)  # fmt: skip
def test_comparable(metadata: dict[str, Any], expected: dict[str, Any]) -> None:
    manifest = {"kind": "A", "metadata": metadata, "spec": {"status": 1}, "status": {"x": 1}}
    original = json.dumps(manifest)
    assert comparable(manifest) == {"kind": "A", "metadata": expected, "spec": {"status": 1}}
    assert json.dumps(manifest) == original


def test_comparable_of_odd_shapes() -> None:
    assert comparable({"metadata": {"uid": "1"}}) == {}
    assert comparable({"metadata": "x"}) == {"metadata": "x"}


def test_nothing_differs() -> None:
    same = difference(config_map({"a": "1"}, uid="1", labels={LABEL: "x"}), config_map({"a": "1"}), MASK)
    assert (same.changed, same.patch, same.unified("x")) == (False, [], "")
    assert same.before == same.after == ""
    assert difference(None, None, MASK).changed is False


def test_an_update() -> None:
    change = difference(config_map({"a": "1", "b": "x\ny\n"}), config_map({"a": "2", "b": "x\nz\n"}), MASK)
    assert change.changed
    assert change.patch == [
        {"op": "replace", "path": "/data/a", "value": "2"},
        {"op": "replace", "path": "/data/b", "value": "x\nz\n"},
    ]
    assert change.unified("ConfigMap c") == (
        "--- ConfigMap c\n"
        "+++ ConfigMap c\n"
        "@@ -1,9 +1,9 @@\n"
        " apiVersion: v1\n"
        " data:\n"
        "-  a: '1'\n"
        "+  a: '2'\n"
        "   b: |\n"
        "     x\n"
        "-    y\n"
        "+    z\n"
        " kind: ConfigMap\n"
        " metadata:\n"
        "   name: c\n"
    )


def test_creation_and_deletion() -> None:
    manifest = {"kind": "A", "b": 1}
    create, delete = difference(None, manifest, MASK), difference(manifest, None, MASK)
    assert (create.before, create.after) == ("", "b: 1\nkind: A\n")
    assert create.unified("A") == "--- A\n+++ A\n@@ -0,0 +1,2 @@\n+b: 1\n+kind: A\n"
    assert delete.unified("A") == "--- A\n+++ A\n@@ -1,2 +0,0 @@\n-b: 1\n-kind: A\n"
    assert (create.patch, delete.patch) == (
        [{"op": "add", "path": "", "value": manifest}],
        [{"op": "remove", "path": ""}],
    )


def test_secret_values_show_as_changed_and_never_as_themselves() -> None:
    def secret(**values: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": values}

    # base64 of one, two, three
    change = difference(secret(a="b25l", b="dHdv"), secret(a="b25l", b="dGhyZWU=", c="b25l"), MASK)
    assert [(operation["op"], operation["path"]) for operation in sorted(change.patch, key=lambda o: o["path"])] == [
        ("replace", "/data/b"),
        ("add", "/data/c"),
    ]
    seen = change.unified("s") + change.before + change.after + json.dumps(change.patch) + repr(change)
    assert not [value for value in ("b25l", "dHdv", "dGhyZWU", "one", "two", "three") if value in seen]
    assert f"   a: {MASK.placeholders.of('one')}\n" in change.unified("s")


def test_true_is_not_one_and_key_order_is_no_difference() -> None:
    assert difference({"a": True}, {"a": 1}, MASK).changed
    assert not difference({"a": 1, "b": 2}, {"b": 2, "a": 1}, MASK).changed
    assert difference({"b": 2, "a": 1}, {"a": 1, "b": 3}, MASK).unified("x").count("\n-") == 1


def test_b25_a_difference_in_carriage_returns_only_is_visible() -> None:
    change = difference(config_map({"a": "x\ny\n"}), config_map({"a": "x\r\ny\r\n"}), MASK)
    assert "-    x\n-    y\n+    x␍\n+    y␍\n" in change.unified("x")
    assert change.patch == [{"op": "replace", "path": "/data/a", "value": "x\r\ny\r\n"}]


def test_b20_base64_noise_is_shortened_in_the_diff_and_not_in_the_patch() -> None:
    old, new = (base64.b64encode(bytes(range(200)) + end).decode() for end in (b"a", b"b"))
    change = difference(config_map({"ca": old}), config_map({"ca": new}), MASK)
    removed, added = [line for line in change.unified("x").splitlines() if line[:4] in ("-  c", "+  c")]
    assert removed[1:] != added[1:]
    assert max(len(removed), len(added)) < 80
    assert change.patch == [{"op": "replace", "path": "/data/ca", "value": new}]


def test_long_lines_are_shown_around_their_first_difference() -> None:
    panels = ",".join(f'{{"panel": {at}}}' for at in range(1000))
    before, after = config_map({"a": panels}), config_map({"a": panels.replace('{"panel": 700}', '{"panel": "x"}')})
    change = difference(before, after, MASK)
    removed, added = [line for line in change.unified("x").splitlines() if line[:3] in ("-  ", "+  ")]
    for line in (removed, added):
        assert len(line) < 500
        assert line[1:10] == "  a: '{\"p"
        assert '{"panel": 699},{"panel": ' in line
        assert line.endswith(f"… ({len(panels) + 7} characters)")
    assert '{"panel": 700}' in removed
    assert '{"panel": "x"}' in added
    assert max(map(len, difference(None, before, MASK).after.splitlines())) < 500
    unchanged = difference(before, config_map({"a": panels, "b": "1"}), MASK)
    assert max(map(len, unchanged.unified("x").splitlines())) < 500


@pytest.mark.parametrize("length", [499, 600, 5000])
@pytest.mark.parametrize(
    ("before", "after"),
    [(["{x}a"], ["{x}b"]), (["{x}"], ["{x}a"]), (["{x}a"], ["z", "{x}b", "y"]), (["{x}a", "{x}b"], ["{x}b", "{x}c"])],
)
def test_long_lines_that_differ_never_look_the_same(length: int, before: list[str], after: list[str]) -> None:
    text = "word " * (length // 5)
    old, new = ("\n".join(line.format(x=text) for line in lines) for lines in (before, after))
    change = difference(config_map({"a": old}), config_map({"a": new}), MASK)
    assert change.before != change.after
    shown = [line for line in change.unified("x").splitlines()[2:] if line[0] in "-+"]
    assert len({line[1:] for line in shown}) == len(shown)


@pytest.mark.parametrize(
    ("limit", "end"),
    [
        (1, "@@ -0,0 +1,2 @@\n… 2 more lines\n"),
        (2, "+a: 1\n… 1 more line\n"),
        (3, "+a: 1\n+b: 2\n"),
        (0, "… 3 more lines\n"),
    ],
)
def test_long_diffs_are_cut(limit: int, end: str) -> None:
    assert difference(None, {"a": 1, "b": 2}, MASK).unified("x", limit).endswith(end)


@pytest.mark.parametrize(("limit", "more"), [(10_000, 0), (200, 82), (60, 99), (10, 101), (0, 101)])
def test_diffs_are_cut_between_lines(limit: int, more: int) -> None:
    change = difference(None, {f"k{at:02}": "x" for at in range(100)}, MASK)
    text = change.unified("x", limit_characters=limit)
    lines = text.splitlines()
    assert lines[:2] == ["--- x", "+++ x"]
    assert lines[-1] == (f"… {more} more lines" if more else "+k99: x")
    assert len(lines) == 2 + 101 - more + bool(more)
    assert len(text) <= max(limit, len("--- x\n+++ x\n… 101 more lines\n"))


def test_both_limits_hold() -> None:
    change = difference(None, {f"k{at:02}": "x" for at in range(100)}, MASK)
    assert change.unified("x", 5, 10_000).splitlines()[-1] == "… 96 more lines"
    assert change.unified("x", 90, 100).splitlines()[-1] == "… 94 more lines"


def test_a_table_of_equal_lines_is_one_hunk_and_little_work() -> None:
    chance = random.Random(9)

    def table() -> str:
        return "".join(f"row {chance.randrange(150)}\n" for _ in range(60_000))

    head, tail = "".join(f"first {at}\n" for at in range(9)), "".join(f"last {at}\n" for at in range(9))
    change = difference(config_map({"a": head + table() + tail}), config_map({"a": head + table() + tail}), MASK)
    shown: list[str] = []
    assert calls_of(lambda: shown.append(change.unified("x"))) < 10_000_000
    lines = shown[0].splitlines()[2:]
    assert sum(line.startswith("@@") for line in lines) == 1
    assert lines[1:4] == ["     first 6", "     first 7", "     first 8"]
    assert lines[-3:] == ["     last 0", "     last 1", "     last 2"]
    assert _rebuilt(change.before.splitlines(), lines) == change.after.splitlines()
    assert change.unified("x", 10).splitlines() == [*shown[0].splitlines()[:12], f"… {len(lines) - 10} more lines"]


def test_a_large_object_with_small_changes_has_small_hunks() -> None:
    """As many lines of few sorts as definitions of resources have."""
    sorts = ["type: string", "type: object", "description: x", "properties:"]
    lines = [sorts[at % 4] if at % 5 else f"field{at}:" for at in range(10_000)]
    other = list(lines)
    for at in range(50, 10_000, 100):
        other[at] = f"changed{at}:"
    change = difference(config_map({"a": "\n".join(lines)}), config_map({"a": "\n".join(other)}), MASK)
    shown = change.unified("x").splitlines()
    assert sum(line.startswith("@@") for line in shown) == 100
    assert sum(line.startswith("-") for line in shown[2:]) == 100


def test_a_change_that_looks_like_none_is_one() -> None:
    change = difference(config_map({"a": "\\u200b\n"}), config_map({"a": "\u200b\n"}), MASK)
    assert change.changed
    assert change.unified("x") == "--- x\n+++ x\n… differs only in characters that look the same\n"


def test_diffs_by_chance_rebuild_the_other_side() -> None:
    """The hunks are valid (their ranges too) and the patch leads from one side to the other."""
    chance = random.Random(7)

    def value(depth: int = 0) -> Any:
        if depth < 3 and chance.random() < 0.6:
            return {chance.choice("abcdef"): value(depth + 1) for _ in range(5)}
        return [chance.choice("xyz") for _ in range(chance.randint(0, 4))]

    for _ in range(200):
        before, after = {"k": value()}, {"k": value()}
        change = difference(before, after, MASK)
        assert jsonpatch.apply_patch(before, change.patch) == after
        lines = change.unified("x").splitlines()[2:]
        assert _rebuilt(change.before.splitlines(), lines) == change.after.splitlines()


def _rebuilt(before: list[str], hunks: list[str]) -> list[str]:
    rebuilt: list[str] = []
    at = 0
    for line in hunks:
        if line.startswith("@@"):
            old, new = (part[1:].split(",") for part in line.split()[1:3])
            start = int(old[0]) - (old[1] != "0")
            rebuilt += before[at:start]
            at = start
            assert len(rebuilt) == int(new[0]) - (new[1] != "0")
        elif line[0] == " ":
            assert before[at] == line[1:]
            rebuilt.append(line[1:])
            at += 1
        elif line[0] == "-":
            assert before[at] == line[1:]
            at += 1
        else:
            rebuilt.append(line[1:])
    return rebuilt + before[at:]
