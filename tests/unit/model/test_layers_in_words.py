"""The order of a plan in words: short, whatever the plan."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.layers import layer_lines, layers_of
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem
from tests.unit.model.made_review import item


def items(*layers: int) -> list[PlanItem]:
    return [item(f"o{number}", "create", layer=layer) for number, layer in enumerate(layers)]


@pytest.mark.parametrize(
    ("layers", "lines"),
    [
        ([], []),
        ([0, 0], []),
        ([2, 0, 1], ["layer 1: ConfigMap web/o2", "layer 2: ConfigMap web/o0"]),
        ([1] * 6, ["layer 1: ConfigMap web/o0, ConfigMap web/o1, ConfigMap web/o2, ConfigMap web/o3 and 2 more"]),
        (list(range(1, 11)), [f"layer {number}: ConfigMap web/o{number - 1}" for number in range(1, 11)]),
        (
            [*range(1, 13), 12],
            [
                *(f"layer {number}: ConfigMap web/o{number - 1}" for number in range(1, 10)),
                "then 3 more layers with 4 objects",
            ],
        ),
    ],
)
def test_a_line_per_layer(layers: list[int], lines: list[str]) -> None:
    assert layer_lines(items(*layers)) == lines


def test_objects_of_a_layer_are_in_order() -> None:
    found = layers_of(reversed(items(1, 2, 1)))
    assert {layer: [key.name for key in keys] for layer, keys in found.items()} == {1: ["o0", "o2"], 2: ["o1"]}
