"""Hashes that prove an object unchanged: what moves them and what does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import AppliedFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.ownership import (
    body_hash,
    facts_of,
    fingerprint,
    own_entry,
    ownership_hash,
)

KEY = b"key"
OURS = {
    "manager": "rendimiento-addons",
    "operation": "Apply",
    "apiVersion": "v1",
    "time": "2026-01-01T00:00:00Z",
    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:mine": {}}, "f:annotations": {"f:note": {}}}, "f:data": {}},
}
LIVE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "a",
        "namespace": "web",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "labels": {"mine": "x", "theirs": "y"},
        "annotations": {"note": "n"},
        "finalizers": ["f"],
        "managedFields": [
            {"manager": "kubectl", "operation": "Update", "time": "t", "fieldsV1": {"f:data": {"f:b": {}}}},
            OURS,
            {
                "manager": "rendimiento-addons",
                "operation": "Apply",
                "subresource": "status",
                "fieldsV1": {"f:status": {}},
            },
        ],
    },
    "data": {"a": "1"},
    "status": {"x": 1},
}

Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (None, None),
        ([], None),
        ([{"manager": "rendimiento-addons", "operation": "Update"}], None),
        ([{"manager": "rendimiento-addons", "operation": "Apply", "subresource": "status"}], None),
        ([{"manager": "other", "operation": "Apply"}, OURS], OURS),
    ],
)
def test_our_entry(entries: Any, found: Any) -> None:
    assert own_entry({"managedFields": entries}) == found


# Change, whether the ownership hash moves, whether the fingerprint does.
CHANGES: list[tuple[str, Change, bool, bool]] = [
    ("nothing", lambda o: None, False, False),
    ("status", lambda o: o.update(status={"x": 2}), False, False),
    ("resourceVersion", lambda o: o["metadata"].update(resourceVersion="8"), False, False),
    ("generation", lambda o: o["metadata"].update(generation=3), False, False),
    ("a status entry", lambda o: o["metadata"]["managedFields"].pop(), False, False),
    ("our time", lambda o: o["metadata"]["managedFields"][1].update(time="later"), True, False),
    ("their time", lambda o: o["metadata"]["managedFields"][0].update(time="later"), False, False),
    ("their entry", lambda o: o["metadata"]["managedFields"].pop(0), False, True),
    ("our entry gone", lambda o: o["metadata"]["managedFields"].pop(1), True, True),
    ("our fields", lambda o: o["metadata"]["managedFields"][1]["fieldsV1"].update({"f:x": {}}), True, True),
    ("our apiVersion", lambda o: o["metadata"]["managedFields"][1].update(apiVersion="v2"), True, True),
    ("owned label", lambda o: o["metadata"]["labels"].update(mine="z"), True, True),
    ("owned label gone", lambda o: o["metadata"]["labels"].pop("mine"), True, True),
    ("owned annotation", lambda o: o["metadata"]["annotations"].update(note="z"), True, True),
    ("foreign label", lambda o: o["metadata"]["labels"].update(theirs="z"), False, True),
    ("all labels gone", lambda o: o["metadata"].pop("labels"), True, True),
    ("finalizer", lambda o: o["metadata"].update(finalizers=[]), True, True),
    ("owner", lambda o: o["metadata"].update(ownerReferences=[{"uid": "o"}]), True, True),
    ("uid", lambda o: o["metadata"].update(uid="v"), False, True),
    ("content", lambda o: o["data"].update(a="2"), False, True),
    ("deletion", lambda o: o["metadata"].update(deletionTimestamp="t"), False, True),
]


@pytest.mark.parametrize(("change", "own", "print_"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_what_moves_the_hashes(change: Change, own: bool, print_: bool) -> None:
    after = copy.deepcopy(LIVE)
    change(after)
    moved = ownership_hash(KEY, after["metadata"]) != ownership_hash(KEY, LIVE["metadata"])
    assert (moved, fingerprint(KEY, after) != fingerprint(KEY, LIVE)) == (own, print_)


def test_without_an_entry_there_is_no_hash_and_nothing_crashes() -> None:
    assert ownership_hash(KEY, {}) == ""
    bare = {"manager": "rendimiento-addons", "operation": "Apply"}
    assert ownership_hash(KEY, {"managedFields": [bare]}) not in ("", ownership_hash(KEY, LIVE["metadata"]))
    assert fingerprint(KEY, {"metadata": {"name": "a"}}) != fingerprint(KEY, {"metadata": {"name": "b"}})


def test_hashes_leave_their_objects_alone() -> None:
    before = copy.deepcopy(LIVE)
    fingerprint(KEY, LIVE)
    ownership_hash(KEY, LIVE["metadata"])
    assert before == LIVE


def test_facts_come_from_the_reply_and_the_body() -> None:
    body = {"kind": "ConfigMap"}
    assert facts_of(KEY, LIVE, body, "c/1") == AppliedFacts(
        "u", "7", 2, ownership_hash(KEY, LIVE["metadata"]), body_hash(KEY, body), "c/1"
    )
    assert body_hash(KEY, body) != body_hash(b"other", body)


def test_rules_that_a_controller_gathers_do_not_count() -> None:
    def role(rules: list[Any], *managers: str, **fields: Any) -> dict[str, Any]:
        entries = [{"manager": manager, "operation": "Apply", "fieldsV1": {}} for manager in ("ours", *managers)]
        return {"kind": "ClusterRole", "metadata": {"name": "a", "managedFields": entries}, "rules": rules, **fields}

    gathering = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    before = fingerprint(KEY, role([], **gathering))
    assert fingerprint(KEY, role([{"verbs": ["get"]}], "clusterrole-aggregation-controller", **gathering)) == before
    assert fingerprint(KEY, role([], "somebody", **gathering)) != before
    assert fingerprint(KEY, role([])) != fingerprint(KEY, role([{"verbs": ["get"]}]))
