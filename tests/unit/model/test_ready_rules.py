"""What an object lacks by the ``ready`` entries of a definition."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.ready_rules import ReadyRule, rules_about


def lacking(entry: dict[str, Any], status: Any, **metadata: Any) -> str:
    return ReadyRule.of({"kind": "X", **entry}).lacking({"metadata": {"name": "a", **metadata}, "status": status})


def condition(kind: str, status: str, **more: Any) -> dict[str, Any]:
    return {"conditions": [{"type": "Other", "status": "True"}, {"type": kind, "status": status, **more}]}


UP = {"condition": "Up"}
ADDRESS = {"jsonPath": "{.status.loadBalancer.ingress[0].ip}"}
PHASE = {"jsonPath": "{.status.phase}", "value": "Bound"}
PORT = {"jsonPath": "{.status.port}", "value": "80"}


@pytest.mark.parametrize(
    ("entry", "status", "lacks"),
    [
        (UP, condition("Up", "True"), ""),
        (UP, condition("up", "True"), ""),
        (UP, condition("Up", "False"), "Up is False"),
        (UP, condition("Up", "Unknown", reason="Probing"), "Up is Unknown: Probing"),
        (UP, condition("Up", "False", message="no disk", reason="Disk"), "Up is False: no disk"),
        (UP, condition("Down", "True"), "it has no condition Up yet"),
        (UP, None, "it has no condition Up yet"),
        (UP, {"conditions": "odd"}, "it has no condition Up yet"),
        (UP, condition("Up", "True", observedGeneration=1), "its controller has not seen the last change yet"),
        (UP, condition("Up", "True", observedGeneration=2), ""),
        (ADDRESS, {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}, ""),
        (ADDRESS, {"loadBalancer": {}}, "it has no {.status.loadBalancer.ingress[0].ip} yet"),
        (ADDRESS, None, "it has no {.status.loadBalancer.ingress[0].ip} yet"),
        (PHASE, {"phase": "Bound"}, ""),
        (PHASE, {"phase": " Bound "}, ""),
        (PHASE, {"phase": "Pending"}, "{.status.phase} is Pending, not Bound"),
        (PHASE, {"phase": ["Bound"]}, "{.status.phase} is no single value"),
        (PORT, {"port": 80}, ""),
        (PORT, {"port": 8080}, "{.status.port} is 8080, not 80"),
        ({"jsonPath": "{.status.a[?(@.b!=1)].c}"}, {"a": [{"b": 2, "c": 1}, {"b": 3, "c": 1}]}, "{.status.a[?(@.b!=1)].c} leads to 2 fields"),  # noqa: E501
        ({"wait": False}, None, ""),
    ],
)  # fmt: skip
def test_what_an_object_lacks(entry: dict[str, Any], status: Any, lacks: str) -> None:
    assert lacking(entry, status, generation=2) == lacks


def test_which_objects_a_rule_is_about() -> None:
    anywhere = ReadyRule.of({"kind": "X", "wait": False})
    core = ReadyRule.of({"kind": "X", "group": "", "condition": "Up"})
    grouped = ReadyRule.of({"kind": "X", "group": "x.io", "condition": "Up"})
    rules = [anywhere, core, grouped]

    assert rules_about(rules, ("x.io", "X")) == [anywhere, grouped]
    assert rules_about(rules, ("", "X")) == [anywhere, core]
    assert rules_about(rules, ("x.io", "Y")) == []
    assert [rule.at_once for rule in rules] == [True, False, False]
