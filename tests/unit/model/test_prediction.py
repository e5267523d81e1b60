"""What an apply that can't be dry-run is expected to do."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.prediction import overlaid


@pytest.mark.parametrize(
    ("live", "body", "predicted"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"spec": {"kept": 1, "set": 1}}, {"spec": {"set": 2}}, {"spec": {"kept": 1, "set": 2}}),
        ({"spec": {"list": [1, 2]}}, {"spec": {"list": [3]}}, {"spec": {"list": [3]}}),
        ({"spec": None}, {"spec": {"set": 1}}, {"spec": {"set": 1}}),
        ({"spec": {"map": {"a": 1}}}, {"spec": {"map": "text"}}, {"spec": {"map": "text"}}),
    ],
)
def test_the_body_lies_over_the_live_object(
    live: dict[str, Any], body: dict[str, Any], predicted: dict[str, Any]
) -> None:
    before = repr((live, body))
    assert overlaid(live, body) == predicted
    assert repr((live, body)) == before
