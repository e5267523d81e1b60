"""Asking the server for rights: one question for a whole namespace, and one per right where that tells too little."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import Bundle
from ansible_collections.rendimiento.addons.plugins.module_utils.model.missing_rights import RightsReport
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.rights import missing_rights
from tests.loopback import Exchange, Loopback
from tests.unit.steps.made_run import MadeRun, item

WHOLE = {"verbs": ["get", "delete"], "apiGroups": [""], "resources": ["configmaps"]}
PARTLY = {**WHOLE, "verbs": ["get"]}

REFUSAL = {
    "kind": "Status",
    "code": 403,
    "reason": "Forbidden",
    "message": 'selfsubjectrulesreviews.authorization.k8s.io is forbidden: User "somebody" cannot create resource'
    ' "selfsubjectrulesreviews" in API group "authorization.k8s.io" at the cluster scope',
}


class Reviewer(Loopback):
    """Answers reviews, and notes which rights it was asked for one by one, as ``verb resource namespace/name``.

    :ivar rules: of every namespace, ``None`` when nobody may ask. :ivar granted: what is allowed besides.
    """

    def __init__(self) -> None:
        self.rules: list[dict[str, Any]] | None = []
        self.incomplete = False
        self.granted: set[str] = set()
        self.asked: list[str] = []
        super().__init__(self._answer)

    def _answer(self, request: Exchange) -> None:
        spec = json.loads(request.content()).get("spec") or {}
        code = 201
        status: dict[str, Any] = {"userInfo": {"username": "somebody"}}
        if request.path.endswith("/selfsubjectrulesreviews"):
            self.asked.append(f"rules of {spec['namespace']}")
            status = {"resourceRules": self.rules, "nonResourceRules": [], "incomplete": self.incomplete}
            code = 201 if self.rules is not None else 403
        elif request.path.endswith("/selfsubjectaccessreviews"):
            wanted = spec["resourceAttributes"]
            what = f"{wanted['verb']} {wanted['resource']} {wanted['namespace']}/{wanted['name']}"
            self.asked.append(what)
            status = {"allowed": what in self.granted}
        body = {"status": status} if code == 201 else REFUSAL
        request.reply(code, json.dumps(body).encode(), "application/json")


@pytest.fixture
def reviewer(run: MadeRun) -> Iterator[Reviewer]:
    with Reviewer() as made:
        run.credential = Credential(made.url)
        run.serves(Resource("", "v1", "ConfigMap", "configmaps", True, ("get", "delete"), ()))
        run.add("web", items=[item("old", "prune"), item("older", "prune")], status={})
        yield made


def report(run: MadeRun) -> RightsReport:
    bundle = run.directory.bundle("web")
    assert isinstance(bundle, Bundle)
    return missing_rights(run.session, run.plan("web"), bundle, fresh=False)


EVERYTHING = "* * /"
RULES = "rules of web"
DELETE = "delete configmaps web/"


@pytest.mark.parametrize(
    ("rules", "incomplete", "granted", "asked", "lacking"),
    [
        ([WHOLE], False, [], [], []),
        ([PARTLY], False, [], [], ["old", "older"]),
        # What it says counts also when there may be more.
        ([WHOLE], True, [], [], []),
        ([PARTLY], True, [DELETE], [DELETE], []),
        ([PARTLY], True, [], [DELETE, f"{DELETE}old", f"{DELETE}older"], ["old", "older"]),
        ([PARTLY], True, [f"{DELETE}old"], [DELETE, f"{DELETE}old", f"{DELETE}older"], ["older"]),
        # Who may not ask for rules asks for each right.
        (None, False, ["get configmaps web/", DELETE], ["get configmaps web/", DELETE], []),
    ],
)
def test_where_rules_are_incomplete_each_right_is_asked_for(
    run: MadeRun,
    reviewer: Reviewer,
    rules: list[dict[str, Any]] | None,
    incomplete: bool,
    granted: list[str],
    asked: list[str],
    lacking: list[str],
) -> None:
    reviewer.rules, reviewer.incomplete, reviewer.granted = rules, incomplete, set(granted)
    missing = report(run).missing
    assert reviewer.asked == [EVERYTHING, RULES, *asked]
    assert [purpose.key.name for right in missing for purpose in right.purposes] == lacking
    assert {(right.kind, right.namespace, *right.verbs) for right in missing} == (
        {("configmaps", "web", "delete")} if lacking else set()
    )
    # The answers stand for the rest of the run.
    report(run)
    assert len(reviewer.asked) == 2 + len(asked)
