"""What needs an object that can't be changed in place is left out of the run with it; all the rest goes on."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.objects import ObjectKey
from ..model.plan import APPLIES, PlanItem
from .object_graph import ObjectOrder


def hold_back_dependents(items: Iterable[PlanItem], order: ObjectOrder) -> None:
    """Block the items that come after a left out one in the object graph, directly or through others."""
    by_key = {item.key: item for item in items}
    roots = {key: key for key, item in by_key.items() if item.left_out}
    if not roots:
        return
    dependents: dict[ObjectKey, list[ObjectKey]] = {}
    for key, edges in order.edges.items():
        for edge in edges:
            # What only has to be over is over, too, when it is left out.
            if edge.need != "ended":
                dependents.setdefault(edge.key, []).append(key)
    waiting = list(roots)
    while waiting:
        key = waiting.pop()
        for dependent in dependents.get(key, ()):
            if dependent in by_key and dependent not in roots:
                roots[dependent] = roots[key]
                waiting.append(dependent)
                _hold_back(by_key[dependent], roots[key])


def _hold_back(item: PlanItem, root: ObjectKey) -> None:
    if item.action in APPLIES or not item.settled:
        item.action, item.verdict = "blocked", "verified"
        item.held_by, item.reason = str(root), f"needs {root}, which can't be changed in place"
