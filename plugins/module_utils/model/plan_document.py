"""The plan of a whole run as JSON for programs; ``plan_document_schema`` documents it, ``docs/preview.md`` explains it.

It holds what would change, masked, and digests; no bodies and no fingerprints. What is empty is left out of an item.
"""

from __future__ import annotations

from typing import Any

from .missing_rights import MissingRight
from .objects import ObjectKey
from .plan import PlanItem
from .plan_document_schema import SCHEMA_VERSION
from .review import Review, ReviewedAddon


def plan_document(review: Review) -> dict[str, Any]:
    """The document; patches are shared with the plans, not copied."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "commit": review.commit,
        "server": review.server,
        "serverVersion": review.server_version,
        "check": review.check,
        "comparable": review.comparable,
        "invalid": review.invalid,
        "warnings": review.warnings,
        "addons": {addon.name: _addon(addon) for addon in review.addons},
    }


def _addon(addon: ReviewedAddon) -> dict[str, Any]:
    plan = addon.plan
    return {
        "phase": addon.phase,
        "why": addon.why,
        "planned": plan is not None,
        "pending": addon.pending,
        "gate": plan.gate if plan else "",
        "gateReason": plan.gate_reason if plan else "",
        "missingRights": [_missing(right) for right in plan.rights.missing] if plan else [],
        "revision": addon.revision,
        "digest": plan.digest if plan else "",
        "bundleDigest": plan.bundle_digest if plan else "",
        "counts": plan.counts() if plan else {},
        "warnings": addon.warnings,
        "gone": [_identity(key) for key in plan.gone] if plan else [],
        "items": [_item(item) for item in plan.items] if plan else [],
    }


def _item(item: PlanItem) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "object": {**_identity(item.key), "version": item.version},
        "action": item.action,
        "verdict": item.verdict,
        "digest": item.digest,
    }
    yields = [{"field": one.field, "manager": one.manager, "reason": one.reason} for one in item.yields]
    details: dict[str, Any] = {"layer": item.layer, "reason": item.reason, "warnings": item.warnings, "yields": yields}
    if item.action != "unchanged":
        details |= {
            "source": item.source,
            "owner": item.owner,
            "takesOver": [{"field": one.field, "manager": one.manager} for one in item.takes_over],
            "shares": [{"field": one.field, "manager": one.manager} for one in item.shares],
            "absorbs": item.absorbs,
            "removes": item.removes,
            "repairs": [one.title for one in item.repairs],
            "immutable": item.immutable,
            "cascade": item.cascade,
            "heldBy": item.held_by,
            "patch": item.patch,
        }
    # An empty owner says that the object lives and belongs to no add-on.
    return entry | {name: value for name, value in details.items() if value or (name == "owner" and value == "")}


def _missing(right: MissingRight) -> dict[str, Any]:
    return {
        "group": right.group,
        "resource": right.resource,
        "namespace": right.namespace,
        "verbs": right.verbs,
        "neededFor": [{"action": one.action, "object": _identity(one.key)} for one in right.purposes],
    }


def _identity(key: ObjectKey) -> dict[str, str]:
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}
