"""What people and programs get to see of a change."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonpatch
import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.difference import comparable, difference
from ansible_collections.rendimiento.addons.plugins.module_utils.model.masking import Mask, Placeholders

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


def test_carriage_returns_are_visible() -> None:
    change = difference(config_map({"a": "x\ny\n"}), config_map({"a": "x\r\ny\r\n"}), MASK)
    assert '+  a: "x\\r\\ny\\r\\n"\n' in change.unified("x")


@pytest.mark.parametrize(
    ("limit", "end"),
    [(1, "@@ -0,0 +1,2 @@\n… 2 more lines\n"), (3, "+a: 1\n+b: 2\n"), (0, "… 3 more lines\n")],
)
def test_long_diffs_are_cut(limit: int, end: str) -> None:
    assert difference(None, {"a": 1, "b": 2}, MASK).unified("x", limit).endswith(end)


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
