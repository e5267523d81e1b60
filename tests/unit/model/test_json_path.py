"""Paths as ``kubectl wait`` takes them, as far as they lead to one field."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.json_path import JsonPath, as_text

LIVE = {
    "metadata": {"annotations": {"example.com/a": "x", "b.c": "y"}, "labels": {}},
    "status": {
        "phase": "Running",
        "count": 3,
        "off": False,
        "nothing": None,
        "loadBalancer": {"ingress": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False", "n": 2}],
        "matrix": [[1, 2], [3]],
    },
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("{.status.phase}", ["Running"]),
        (".status.phase", ["Running"]),
        ("status.phase", ["Running"]),
        ("{$.status.phase}", ["Running"]),
        ("{ .status.phase }", ["Running"]),
        ("{.status['phase']}", ["Running"]),
        ("{['status'].phase}", ["Running"]),
        ("{.status.count}", [3]),
        ("{.status.off}", [False]),
        ("{.status.nothing}", []),
        ("{.status.missing.more}", []),
        ("{.status.phase.more}", []),
        ("{.status.loadBalancer.ingress[0].ip}", ["10.0.0.1"]),
        ("{.status.loadBalancer.ingress[-1].ip}", ["10.0.0.2"]),
        ("{.status.loadBalancer.ingress[2].ip}", []),
        ("{.status.loadBalancer.ingress[-3].ip}", []),
        ("{.status.loadBalancer.ingress.ip}", []),
        ("{.status.phase[0]}", []),
        ("{.status.matrix[0][1]}", [2]),
        (r"{.metadata.annotations.example\.com/a}", ["x"]),
        ("{.metadata.annotations['example.com/a']}", ["x"]),
        ('{.metadata.annotations["b.c"]}', ["y"]),
        ('{.status.conditions[?(@.type=="Ready")].status}', ["True"]),
        ("{.status.conditions[?(@.type == 'Synced')].status}", ["False"]),
        ("{.status.conditions[?(@.n==2)].status}", ["False"]),
        ("{.status.conditions[?(@.type!='Ready')].status}", ["False"]),
        ("{.status.conditions[?(@.type!='x')].status}", ["True", "False"]),
        ("{.status.conditions[?(@.type=='x')].status}", []),
        ("{.status.phase[?(@.type=='x')]}", []),
    ],
)
def test_where_a_path_leads(path: str, values: list[Any]) -> None:
    assert JsonPath.parse(path).values(LIVE) == values


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "it is empty"),
        ("{}", "it is empty"),
        ("{.a", "a brace is missing"),
        (".a}", "a brace is missing"),
        ("{..a}", "..a is not understood"),
        ("{.*}", ".* is not understood"),
        ("{.a[*]}", "[*] is not understood"),
        ("{.a[0:2]}", "[0:2] is not understood"),
        ("{.a[0,1]}", "[0,1] is not understood"),
        ("{.a['b','c']}", "['b','c'] is not understood"),
        ("{.a}{.b}", "}{.b is not understood"),
        ("{range .a[*]}", " .a[*] is not understood"),
        ("{.a.}", ". is not understood"),
        ("{.a[?(@.b>1)]}", "[?(@.b>1)] is not understood"),
        ("{.a[?(@.b)]}", "[?(@.b)] is not understood"),
        ("{.a b}", " b is not understood"),
        ("{.a=b}", "=b is not understood"),
    ],
)
def test_what_is_refused(path: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        JsonPath.parse(path)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (True, "true"), (False, "false"), (3, "3"), (1.5, "1.5"), ([], None), ({}, None)]
)
def test_texts_of_scalars(value: Any, text: str | None) -> None:
    assert as_text(value) == text
