"""Which rights a plan takes, and what of them the rules of a review grant."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.missing_rights import (
    MissingRight,
    Purpose,
    RightsReport,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.model.rights import (
    Right,
    Rules,
    missing_by_kind,
    needs_of,
)

KEY = ObjectKey("", "ConfigMap", "web", "a")
KINDS = {
    ("", "v1", "ConfigMap"): ("configmaps", True),
    ("batch", "v1", "Job"): ("jobs", True),
    ("", "v1", "Namespace"): ("namespaces", False),
}


def find(group: str, version: str, kind: str) -> tuple[str, bool] | None:
    return KINDS.get((group, version, kind))


def rule(groups: str, resources: str, verbs: str, names: str = "") -> dict[str, Any]:
    made = {"apiGroups": groups.split("|"), "resources": resources.split(), "verbs": verbs.split()}
    return made | ({"resourceNames": names.split()} if names else {})


@pytest.mark.parametrize(
    ("item", "verbs"),
    [
        (PlanItem(KEY, "v1", "prune", "verified"), "get delete"),
        (PlanItem(KEY, "v1", "replace", "verified"), "get delete create patch"),
        (PlanItem(KEY, "v1", "create", "simulated"), "get create patch"),
        (PlanItem(KEY, "v1", "update", "simulated"), "get patch"),
        (PlanItem(KEY, "v1", "adopt", "simulated"), "get patch"),
        (PlanItem(KEY, "v1", "blocked", "unknown", forbidden=True), "get create patch"),
        (PlanItem(KEY, "v1", "blocked", "unknown", forbidden=True, uid="1"), "get patch"),
        # A dry run needed what it needs, and blocked, kept and unchanged objects need nothing.
        (PlanItem(KEY, "v1", "create", "verified"), ""),
        (PlanItem(KEY, "v1", "update", "verified"), ""),
        (PlanItem(KEY, "v1", "adopt", "verified"), ""),
        (PlanItem(KEY, "v1", "blocked", "unknown"), ""),
        (PlanItem(KEY, "v1", "blocked", "verified"), ""),
        (PlanItem(KEY, "v1", "keep", "verified"), ""),
        (PlanItem(KEY, "v1", "unchanged", "verified"), ""),
        # Of what nothing knows, nothing can be asked.
        (PlanItem(ObjectKey("x.io", "Thing", "web", "a"), "v1", "prune", "verified"), ""),
    ],
)
def test_what_an_item_needs(item: PlanItem, verbs: str) -> None:
    needs = needs_of([item], [], find)
    assert [need.right for need in needs] == [Right("", "configmaps", "web", verb, "a") for verb in verbs.split()]
    assert {need.purpose for need in needs} <= {Purpose(item.action, item.key)}


def test_what_a_hook_needs() -> None:
    hook = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate", "namespace": "web"}}
    rights = [need.right for need in needs_of([], [hook], find)]
    job = [Right("batch", "jobs", "web", verb, "migrate") for verb in ("get", "list", "watch", "create", "delete")]
    pods = [Right("", "pods", "web", verb) for verb in ("get", "list", "watch")]
    assert rights == [*job, *pods, Right("", "pods/log", "web", "get")]


def test_the_namespace_of_a_cluster_scoped_kind_is_none() -> None:
    item = PlanItem(ObjectKey("", "Namespace", "", "web"), "v1", "create", "simulated")
    assert {need.right.namespace for need in needs_of([item], [], find)} == {""}


@pytest.mark.parametrize(
    ("rules", "resource", "verb", "granted"),
    [
        ([rule("", "configmaps", "delete")], "configmaps", "delete", True),
        ([rule("*", "*", "*")], "configmaps", "delete", True),
        ([rule("*", "*", "*")], "pods/log", "get", True),
        ([rule("", "*", "delete")], "configmaps", "delete", True),
        ([rule("apps|", "configmaps secrets", "get delete")], "configmaps", "delete", True),
        ([rule("", "configmaps", "get"), rule("", "configmaps", "delete")], "configmaps", "delete", True),
        ([rule("", "configmaps", "delete", "b a")], "configmaps", "delete", True),
        ([rule("", "configmaps", "delete", "b")], "configmaps", "delete", False),
        ([rule("", "configmaps", "get")], "configmaps", "delete", False),
        ([rule("apps", "configmaps", "delete")], "configmaps", "delete", False),
        ([rule("", "secrets", "delete")], "configmaps", "delete", False),
        ([rule("", "pods", "get")], "pods/log", "get", False),
        ([rule("", "pods/log", "get")], "pods/log", "get", True),
        ([rule("", "*/log", "get")], "pods/log", "get", True),
        ([rule("", "*/log", "get")], "pods/exec", "get", False),
        ([rule("", "pods/log", "get")], "pods", "get", False),
        ([{"verbs": ["get"], "apiGroups": None, "resources": None}], "pods", "get", False),
        ([], "configmaps", "delete", False),
    ],
)
def test_what_rules_grant(rules: list[dict[str, Any]], resource: str, verb: str, granted: bool) -> None:
    assert Rules(rules).grant(Right("", resource, "web", verb, "a")) == granted


def report(count: int = 1, *, only_reads: bool = False, user: str = "jane") -> RightsReport:
    items = [
        PlanItem(ObjectKey("batch", "Job", f"web{number}", "a"), "v1", "prune", "verified") for number in range(count)
    ]
    return RightsReport(user, missing_by_kind(needs_of(items, [], find)), only_reads)


def test_rows_are_per_kind_namespace_and_verbs() -> None:
    others = [ObjectKey("", "ConfigMap", "web", name) for name in "bc"]
    items = [PlanItem(key, "v1", "prune", "verified") for key in (KEY, *others)]
    made = PlanItem(ObjectKey("", "ConfigMap", "web", "d"), "v1", "create", "simulated")
    assert [str(row) for row in missing_by_kind(needs_of([*items, made], [], find))] == [
        "get, create, patch configmaps in namespace web (to create ConfigMap web/d)",
        "get, delete configmaps in namespace web (to prune ConfigMap web/a, prune ConfigMap web/b and 1 more)",
    ]


def test_the_sentence_and_the_table_are_bounded() -> None:
    long = report(100)
    assert long.sentence() == (
        "jane lacks rights that a sync needs: get, delete jobs.batch in namespace web0 (to prune Job web0/a);"
        " get, delete jobs.batch in namespace web1 (to prune Job web1/a);"
        " get, delete jobs.batch in namespace web10 (to prune Job web10/a); and 97 more."
        " Grant them, or act as an account that has them with addon_impersonate"
    )
    table = long.table()
    assert len(table) == 32
    assert table[:2] == [
        "rights       on          namespace  to",
        "get, delete  jobs.batch  web0       prune Job web0/a",
    ]
    assert table[-1] == "… 70 more"
    assert report(user="system:serviceaccount:a:b").sentence().endswith(". Grant them to that account")
    assert report(2, only_reads=True).sentence() == (
        "jane has no right to write here, and a sync needs get, delete jobs.batch in namespace web0"
        " (to prune Job web0/a); and 1 more. Grant them, or act as an account that has them with addon_impersonate"
    )
    assert (RightsReport().sentence(), RightsReport().table()) == ("", [])


def test_what_is_not_done_after_all_needs_no_right() -> None:
    """Such as a prune of what moves to another add-on."""
    kept, pruned = ObjectKey("", "ConfigMap", "web", "kept"), ObjectKey("", "ConfigMap", "web", "pruned")
    purposes = [Purpose("prune", kept), Purpose("prune", pruned), Purpose("hook", KEY)]
    made = RightsReport("jane", [MissingRight("", "configmaps", "web", ["delete"], purposes)])
    made.keep_needed({kept: "keep", pruned: "prune"})
    assert made.missing[0].purposes == purposes[1:]
    made = RightsReport("jane", [MissingRight("", "configmaps", "web", ["delete"], purposes[:1])])
    made.keep_needed({kept: "keep"})
    assert not made.missing
