"""In which order objects are deleted: the order of applying, inverted, and what only counts when something goes.

What finishes an object (its operator, with its rights) has to outlive it, or its finalizers hold it for ever.
"""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Iterable, Iterator, Mapping

from ..model.errors import GraphError
from ..model.graph import Edge
from ..model.kinds import API_SERVICE, RBAC_KINDS, RUNS_PODS
from ..model.names import DEPENDS_ON_ANNOTATION
from ..model.objects import GroupKind, Manifest, ObjectKey
from ..model.shapes import mapping_of
from .object_graph import ObjectOrder

_RIGHTS = RBAC_KINDS | {("", "ServiceAccount")}
_RUNNING = RUNS_PODS | {("", "Service")}
"""What an operator or a server consists of."""

_After = dict[ObjectKey, dict[ObjectKey, str]]
"""What each object is deleted after, with the reason."""


def deletion_edges(
    manifests: Mapping[ObjectKey, Manifest], custom: Collection[GroupKind]
) -> dict[ObjectKey, list[Edge[ObjectKey]]]:
    """For each object the edges to those that have to be gone before it is deleted; they close no cycle.

    :param manifests: the live objects that are to be deleted.
    :param custom: the kinds among them that a CustomResourceDefinition defines.
    """
    after = _inverted(manifests)
    reach = _Reach(after)
    for firsts, thens, reason in _rules(manifests, custom):
        for then in thens:
            # What people ordered by annotation counts more than these rules.
            possible = [first for first in firsts if first != then and not reach.comes_after(first, then)]
            for first in possible:
                after[then].setdefault(first, reason)
            reach.add(then, possible)
    return {key: [Edge(other, reason, need="ready") for other, reason in found.items()] for key, found in after.items()}


def _inverted(manifests: Mapping[ObjectKey, Manifest]) -> _After:
    """What is applied after an object is deleted before it. Annotations of live objects may say anything by now."""
    for each in (manifests, {key: _without_annotation(manifest) for key, manifest in manifests.items()}):
        after: _After = {key: {} for key in manifests}
        try:
            for key, edges in ObjectOrder.of(each.values()).edges.items():
                for edge in edges:
                    after[edge.key][key] = f"was applied after it ({edge.reason})"
        except GraphError:
            continue
        return after
    return {key: {} for key in manifests}


def _without_annotation(manifest: Manifest) -> Manifest:
    metadata = manifest["metadata"]
    kept = {name: text for name, text in (metadata.get("annotations") or {}).items() if name != DEPENDS_ON_ANNOTATION}
    return {**manifest, "metadata": {**metadata, "annotations": kept}}


def _rules(
    manifests: Mapping[ObjectKey, Manifest], custom: Collection[GroupKind]
) -> Iterator[tuple[list[ObjectKey], list[ObjectKey], str]]:
    """What else goes first, and then what, and why."""
    made = [key for key in manifests if key.group_kind in custom]
    running = [key for key in manifests if key.group_kind in _RUNNING]
    rights = [key for key in manifests if key.group_kind in _RIGHTS]
    workloads = [key for key in running if key.group_kind in RUNS_PODS]
    yield made, [*running, *rights], "may be finished by it"
    yield workloads, rights, "may use its rights"
    for service, manifest in manifests.items():
        if service.group_kind == API_SERVICE:
            group = mapping_of(manifest.get("spec")).get("group")
            yield [key for key in manifests if key.group == group], [service], "is served by it"
            yield [service], running, "may be answered by it"


class _Reach:
    """What each object is deleted after, directly or through others: a bit for each, in one number per object.

    Looked up, not searched for: with a thousand objects of an operator there are a million pairs to ask about.
    """

    def __init__(self, after: _After) -> None:
        self._bits = {key: 1 << number for number, key in enumerate(after)}
        self._before = dict.fromkeys(after, 0)
        for key in graphlib.TopologicalSorter(after).static_order():
            self._before[key] = self._with(after[key])

    def comes_after(self, key: ObjectKey, other: ObjectKey) -> bool:
        return bool(self._before[key] & self._bits[other])

    def add(self, then: ObjectKey, firsts: Iterable[ObjectKey]) -> None:
        """From now on ``then``, and what comes after it, comes after these, none of which comes after ``then``."""
        more, bit = self._with(firsts), self._bits[then]
        for key, before in self._before.items():
            if before & bit:
                self._before[key] = before | more
        self._before[then] |= more

    def _with(self, keys: Iterable[ObjectKey]) -> int:
        found = 0
        for key in keys:
            found |= self._bits[key] | self._before[key]
        return found
