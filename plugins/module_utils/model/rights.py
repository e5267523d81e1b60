"""Which rights it takes to carry out a plan, and which of them somebody's rules grant.

What a dry run proved is not asked again. Left are deletions, hooks, and what could only be simulated or was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .missing_rights import MissingRight, Purpose
from .objects import Manifest, ObjectKey, key_of, split_api_version
from .plan import PlanItem

WRITES = frozenset({"create", "patch", "update", "delete"})

_CHANGE = ("get", "patch")
_CREATE = ("get", "create", "patch")
_DELETE = ("get", "delete")
_REPLACE = ("get", "delete", "create", "patch")
_HOOK = ("get", "list", "watch", "create", "delete")
_LOOK = ("get", "list", "watch")
_RUNS_PODS = frozenset({("batch", "Job"), ("", "Pod")})

FindResource = Callable[[str, str, str], tuple[str, bool] | None]
"""From group, version and kind: the word in the path, and whether it is namespaced; ``None`` when nothing knows it."""


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """``resource`` with its subresource (``pods/log``); ``namespace`` is empty for cluster-scoped kinds, ``name`` for
    any."""

    group: str
    resource: str
    namespace: str
    verb: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    right: Right
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Rules:
    """``resourceRules`` of a SelfSubjectRulesReview; ``incomplete`` when there may be more than it says."""

    rules: list[dict[str, Any]] = field(default_factory=list)
    incomplete: bool = False

    def grant(self, right: Right) -> bool:
        return any(_grants(rule, right) for rule in self.rules)


def _grants(rule: dict[str, Any], right: Right) -> bool:
    names = rule.get("resourceNames") or []
    return (
        _among(rule.get("verbs"), right.verb)
        and _among(rule.get("apiGroups"), right.group)
        and _covers(rule.get("resources") or [], right.resource)
        and (not names or right.name in names)
    )


def _among(values: list[str] | None, value: str) -> bool:
    return value in (values or []) or "*" in (values or [])


def _covers(resources: list[str], resource: str) -> bool:
    """``*`` is everything, ``pods`` is not its subresources, ``*/log`` is that subresource of all (RBAC)."""
    _resource, slash, subresource = resource.partition("/")
    return resource in resources or "*" in resources or bool(slash and f"*/{subresource}" in resources)


def needs_of(items: Iterable[PlanItem], hooks: Iterable[Manifest], find: FindResource) -> list[Need]:
    """What it takes to carry out these items and to run these hooks."""
    return [*_needs_of_items(items, find), *_needs_of_hooks(hooks, find)]


def _needs_of_items(items: Iterable[PlanItem], find: FindResource) -> Iterator[Need]:
    for item in items:
        verbs = _verbs_of(item)
        if verbs and (found := find(item.key.group, item.version, item.key.kind)):
            yield from _needs(item.key, found, verbs, Purpose(item.action, item.key))


def _verbs_of(item: PlanItem) -> tuple[str, ...]:
    match item.action:
        case "prune":
            return _DELETE
        case "replace":
            return _REPLACE
        case "create" if item.verdict != "verified":
            return _CREATE
        case "update" | "adopt" if item.verdict != "verified":
            return _CHANGE
        case "blocked" if item.forbidden:
            return _CHANGE if item.uid else _CREATE
    return ()


def _needs_of_hooks(hooks: Iterable[Manifest], find: FindResource) -> Iterator[Need]:
    for hook in hooks:
        key, version = key_of(hook), split_api_version(hook["apiVersion"])[1]
        purpose = Purpose("hook", key)
        if found := find(key.group, version, key.kind):
            yield from _needs(key, found, _HOOK, purpose)
        if key.group_kind in _RUNS_PODS:
            pods = [Right("", "pods", key.namespace, verb) for verb in _LOOK]
            yield from (Need(right, purpose) for right in (*pods, Right("", "pods/log", key.namespace, "get")))


def _needs(key: ObjectKey, found: tuple[str, bool], verbs: Iterable[str], purpose: Purpose) -> Iterator[Need]:
    resource, namespaced = found
    for verb in verbs:
        yield Need(Right(key.group, resource, key.namespace if namespaced else "", verb, key.name), purpose)


def missing_by_kind(needs: Iterable[Need]) -> list[MissingRight]:
    """One row per kind, namespace and set of verbs, with all that needs it."""
    verbs: dict[tuple[str, str, str], dict[Purpose, list[str]]] = {}
    for need in needs:
        right = need.right
        purposes = verbs.setdefault((right.group, right.resource, right.namespace), {})
        named = purposes.setdefault(need.purpose, [])
        if right.verb not in named:
            named.append(right.verb)
    rows: dict[tuple[str, str, str, tuple[str, ...]], list[Purpose]] = {}
    for place, purposes in verbs.items():
        for purpose, named in purposes.items():
            rows.setdefault((*place, tuple(named)), []).append(purpose)
    return [
        MissingRight(group, resource, namespace, list(named), purposes)
        for (group, resource, namespace, named), purposes in sorted(rows.items(), key=lambda row: row[0])
    ]
