"""Two renders side by side: objects are found again by their identity, and those without one are told apart."""

from __future__ import annotations

from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import BundleObject
from ansible_collections.rendimiento.addons.plugins.module_utils.model.second_render import (
    paired,
    renamed,
    stable_forms,
)


def made(*objects: tuple[str, Any], kind: str = "ConfigMap") -> list[BundleObject]:
    return [
        BundleObject({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "data": {"it": value}}, "a.yaml")
        for name, value in objects
    ]


def test_objects_that_differ_have_both_forms() -> None:
    first, second = made(("a", "1"), ("b", "1")), made(("b", "2"), ("a", "1"))
    same, differing = paired(first, second)
    assert (same, differing.manifest, differing.second) == (first[0], first[1].manifest, second[0].manifest)
    assert renamed(first, second) == []


def test_objects_whose_name_is_made_up_have_no_second_form() -> None:
    first, second = made(("a-x", "1"), ("b", "1")), made(("a-y", "2"), ("b", "1"))
    assert paired(first, second) == first
    assert renamed(first, second) == first[:1]


def test_any_two_renders_have_one_stable_form() -> None:
    renders = [made(("a", word), (f"b-{word}", word), ("c", "1")) for word in ("x", "y", "z")]
    forms = [stable_forms(renders[first], renders[second]) for first, second in ((0, 1), (1, 2), (2, 0))]
    assert forms[0] == forms[1] == forms[2]
    assert stable_forms(renders[0], made(("a", "y"), ("b-y", "y"), ("c", "2"))) != forms[0]


def test_a_render_without_chance_is_its_own_stable_form() -> None:
    render = made(("a", "1"))
    assert stable_forms(render, render) == [render[0].manifest]
