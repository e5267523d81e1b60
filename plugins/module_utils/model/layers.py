"""The layers of a plan in words: which objects are applied one after the other, and which at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .objects import ObjectKey
from .plan import PlanItem
from .wording import counted, listed

_LAYERS = 10
_NAMES = 4


def layers_of(items: Iterable[PlanItem]) -> dict[int, list[ObjectKey]]:
    """The objects of each layer in order; those that a run does not apply are in none."""
    found: dict[int, list[ObjectKey]] = {}
    for item in sorted((item for item in items if item.layer), key=lambda item: (item.layer, item.key)):
        found.setdefault(item.layer, []).append(item.key)
    return found


def layer_lines(items: Iterable[PlanItem], show: Callable[[ObjectKey], str] = str) -> list[str]:
    """A line per layer, such as ``layer 2: Deployment web/api, Deployment web/worker and 3 more``, at most ten.

    :param show: writes an object.
    """
    layers = layers_of(items)
    lines = [f"layer {number}: {listed([show(key) for key in keys], _NAMES)}" for number, keys in layers.items()]
    left = list(layers.values())[_LAYERS - 1 :]
    if len(left) <= 1:
        return lines
    return [*lines[: _LAYERS - 1], f"then {counted(len(left), 'more layer')} with {sum(map(len, left))} objects"]
