"""Reviews to be put into a form: plans with items of every sort, tame and hostile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import Outcome
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import (
    Action,
    Plan,
    PlanItem,
    Repair,
    SharedField,
    Takeover,
    Verdict,
    YieldedField,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.review import Review, ReviewedAddon

EVIL = "EVIL"
"""Stands in every hostile text, so that a test finds what came out of it."""

HOSTILE = (
    f"{EVIL} `x` ``` ````` </code></details></summary> <script>{EVIL}</script> @org/{EVIL} {EVIL}#123 "
    f"[{EVIL}](https://{EVIL}.example) | a | {EVIL}\n\n# {EVIL}\n@{EVIL}\r\n```\n~~~\n</details>\x1b[2J\u202e\x00 "
    f"\\{EVIL}\\"
)


def item(name: str, action: Action = "unchanged", verdict: Verdict = "verified", **fields: Any) -> PlanItem:
    return PlanItem(ObjectKey("", "ConfigMap", "web", name), "v1", action, verdict, **fields)


def changed(name: str, lines: int = 1, **fields: Any) -> PlanItem:
    """An update of so many lines."""
    before, after = ("".join(f"{word}{number}: 1\n" for number in range(lines)) for word in ("a", "b"))
    patch = [{"op": "replace", "path": "/data/a", "value": "1"}]
    return item(name, "update", before=before, after=after, patch=patch, **fields)


def addon(
    name: str, items: Iterable[PlanItem] | None = (), outcome: dict[str, Any] | None = None, **fields: Any
) -> ReviewedAddon:
    """With a plan of these items, or without one if they are ``None``; ``plan`` in ``fields`` goes to it."""
    plan_fields = fields.pop("plan", {})
    plan = None if items is None else Plan(name, "bundle digest", "1", True, list(items), digest="d", **plan_fields)
    made = Outcome(name)
    if plan:
        made.note_plan(plan)
    for field, value in (outcome or {}).items():
        setattr(made, field, value)
    return ReviewedAddon(name, made.phase or "Synced", fields.pop("why", ""), made, plan, **fields)


def review(*addons: ReviewedAddon, **fields: Any) -> Review:
    facts: dict[str, Any] = {"check": True, "comparable": True, **fields}
    return Review("c0ffee", "https://server", "v1.37.2", addons=list(addons), **facts)


def every_sort(name: str = "app", text: str = "why") -> ReviewedAddon:
    """An add-on with items of every action and verdict and everything that an item can tell."""
    ownership: dict[str, Any] = {
        "takes_over": [Takeover(f"kubectl {text}", f".spec.replicas {text}")],
        "yields": [YieldedField(f".spec.a {text}", f"autoscaler {text}", text), YieldedField(".spec.b", "", text)],
        "absorbs": [f"helm {text}"],
        "removes": [f".metadata.annotations.x {text}"],
        "shares": [SharedField(f"lambda {text}", f".data.a {text}")],
        "repairs": [Repair(f"helm {text}", f"x.io/v1 {text}"), Repair("before-first-apply")],
    }
    return addon(
        name,
        [
            item(
                f"new {text}",
                "create",
                after=f"a: {text}\n",
                layer=2,
                patch=[{"op": "add", "path": "", "value": {"a": text}}],
            ),
            item("coming", "create", "simulated", reason=f"namespace web comes with this run {text}", after="a: 1\n"),
            changed(
                "changed", layer=1, warnings=[f"deprecated {text}"], owner=name, source=f"app.yaml {text}", **ownership
            ),
            item("taken", "adopt", owner="", takes_over=ownership["takes_over"], warnings=["shared", "shared"]),
            item("immutable", "replace", before="a: 1\n", after="a: 2\n", patch=[{"op": "remove", "path": "/a"}]),
            item("left", "prune", before=f"a: {text}\n", patch=[{"op": "remove", "path": ""}]),
            item("stays", "keep", reason=f"protected {text}"),
            item("doubtful", "keep", "unknown", reason="no right to read it"),
            item("refused", "blocked", reason=f"the API server refuses it: {text}"),
            item("unseen", "blocked", "unknown", reason=f"no right to dry-run it: {text}"),
            item("same", warnings=["shared"], source="app.yaml", owner=name),
            item("proven", "unchanged", "proven", owner=name),
        ],
        {"phase": "Error", "error": f"ConfigMap web/refused: {text}"},
        why=f"ConfigMap web/refused: {text}",
        revision=f"app-1.0 {text}",
        warnings=[f"a schema was not read {text}"],
        plan={
            "gate": "refused",
            "gate_reason": f"ConfigMap web/refused: {text}",
            "gone": [ObjectKey("apps", "Deployment", "web", f"gone {text}")],
        },
    )
