"""The machine-readable plan: its form, what it holds and what it must not hold."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import AppliedFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan_document import plan_document
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan_document_schema import PLAN_DOCUMENT_SCHEMA
from ansible_collections.rendimiento.addons.plugins.module_utils.model.review import Review
from tests.unit.model.made_review import HOSTILE, addon, changed, every_sort, item, review

REVIEWS = {
    "no add-ons": review(),
    "every sort": review(every_sort()),
    "hostile": review(every_sort(HOSTILE, HOSTILE), invalid=[HOSTILE], warnings=[HOSTILE]),
    "no plan": review(addon("broken", None, {"error": "no such chart"}), check=False, comparable=False),
    "large": review(addon("app", [changed(f"o{number}") for number in range(2000)])),
}


@pytest.mark.parametrize("made", REVIEWS.values(), ids=list(REVIEWS))
def test_it_has_the_documented_form(made: Review) -> None:
    document = json.loads(json.dumps(plan_document(made)))
    jsonschema.Draft202012Validator(PLAN_DOCUMENT_SCHEMA).validate(document)
    assert list(document["addons"]) == [one.name for one in made.addons]


def items(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["object"]["name"]: entry for entry in document["addons"]["app"]["items"]}


def test_an_item_tells_everything_and_leaves_out_what_is_empty() -> None:
    found = items(plan_document(review(every_sort())))
    assert found["changed"] == {
        "object": {"group": "", "version": "v1", "kind": "ConfigMap", "namespace": "web", "name": "changed"},
        "action": "update",
        "verdict": "verified",
        "digest": "",
        "layer": 1,
        "source": "app.yaml why",
        "owner": "app",
        "takesOver": [{"field": ".spec.replicas why", "manager": "kubectl why"}],
        "yields": [
            {"field": ".spec.a why", "manager": "autoscaler why", "reason": "why"},
            {"field": ".spec.b", "manager": "", "reason": "why"},
        ],
        "shares": [{"field": ".data.a why", "manager": "lambda why"}],
        "absorbs": ["helm why"],
        "removes": [".metadata.annotations.x why"],
        "repairs": [
            "the ownership of helm why: its kind has no version x.io/v1 why any more",
            "lost ownership: what the source states becomes the add-on's, what it does not have stays nobody's",
        ],
        "warnings": ["deprecated why"],
        "patch": [{"op": "replace", "path": "/data/a", "value": "1"}],
    }
    # Nobody's, or not there at all.
    assert (found["taken"]["owner"], "owner" in found["coming"]) == ("", False)
    assert set(found["stays"]) == {"object", "action", "verdict", "digest", "reason"}


def test_what_does_not_change_is_short() -> None:
    found = items(plan_document(review(every_sort())))
    assert set(found["proven"]) == {"object", "action", "verdict", "digest"}
    assert set(found["same"]) == {"object", "action", "verdict", "digest", "warnings"}


def test_the_add_on_around_it() -> None:
    document = plan_document(review(every_sort()))
    about = {name: value for name, value in document["addons"]["app"].items() if name != "items"}
    assert about == {
        "phase": "Error",
        "why": "ConfigMap web/refused: why",
        "planned": True,
        "pending": True,
        "gate": "refused",
        "gateReason": "ConfigMap web/refused: why",
        "missingRights": [],
        "revision": "app-1.0 why",
        "digest": "d",
        "bundleDigest": "bundle digest",
        "counts": {
            "create": 2, "update": 1, "adopt": 1, "replace": 1, "prune": 1, "keep": 2, "blocked": 2, "unchanged": 2,
            "unknown": 2,
        },
        "warnings": ["a schema was not read why"],
        "gone": [{"group": "apps", "kind": "Deployment", "namespace": "web", "name": "gone why"}],
    }  # fmt: skip


def test_bodies_and_fingerprints_stay_inside() -> None:
    facts = AppliedFacts("inner-uid", "inner-version", 1, "inner-own", "inner-body")
    inner: dict[str, Any] = {
        "uid": "inner-uid",
        "resource_version": "inner-version",
        "fingerprint": "inner-print",
        "facts": facts,
    }
    made = [changed("a", body={"data": "inner-body"}, **inner), item("b", **inner)]
    assert "inner-" not in json.dumps(plan_document(review(addon("app", made))))
