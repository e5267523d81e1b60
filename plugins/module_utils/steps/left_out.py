"""What needs an object that can't be changed in place is left out of the run with it; all the rest goes on.

That is decided when the plan is made. What a run does not get to, since what it needs failed or is late, is
`held_back` (``object_walk.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model.objects import ObjectKey
from ..model.plan import APPLIES, PlanItem
from .object_graph import ObjectOrder


def leave_out_dependents(items: Iterable[PlanItem], order: ObjectOrder) -> None:
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
                _leave_out(by_key[dependent], key, roots[key])


def _leave_out(item: PlanItem, needed: ObjectKey, root: ObjectKey) -> None:
    if item.action in APPLIES or not item.settled:
        item.action, item.verdict = "blocked", "verified"
        through = "" if needed == root else f" (through {needed})"
        item.held_by, item.reason = str(root), f"needs {root}{through}, which can't be changed in place"
