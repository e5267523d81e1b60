"""What steps hand to each other survives the way through a file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import Bundle, BundleObject
from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import AppliedFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.json_fields import decode, encode
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import (
    AppliedObject,
    ObjectResult,
    Outcome,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Plan, PlanItem, Takeover

KEY = ObjectKey("apps", "Deployment", "web", "api")
FACTS = AppliedFacts("u", "7", None, "own", "body")


@dataclass(frozen=True)
class Inner:
    word: str
    tags: tuple[str, ...] = ()


@dataclass
class Outer:
    inner: Inner
    maybe: Inner | None = None
    several: list[Inner] = field(default_factory=list)
    by_name: dict[str, Inner] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    choice: Literal["a", "b"] = "a"
    free: Any = None


@pytest.mark.parametrize(
    "value",
    [
        Outer(Inner("x", ("a", "b")), Inner("y"), [Inner("z")], {"k": Inner("w")}, {"n", "m"}, "b", {"deep": [1, {}]}),
        Outer(Inner("x")),
        Outcome("web", phase="Error", healthy=False, planned={"create": 1}, gone=[KEY], kept=[ObjectResult(KEY, "why")],
                applied=[AppliedObject(KEY, "v1", "create", FACTS)]),
        Plan("web", "d", "1", True, [PlanItem(KEY, "v1", "update", "verified", takes_over=[Takeover("m", "f")],
                                              facts=FACTS, patch=[{"op": "add", "path": "", "value": None}])], [KEY]),
        Bundle("web", "plain", "c", "v", "d", "r", [BundleObject({"a": {"b": None}}, "f.yaml", True)], warnings=["w"]),
    ],
)  # fmt: skip
def test_there_and_back(value: Any) -> None:
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value


def test_unknown_fields_are_ignored_and_missing_ones_take_their_default() -> None:
    assert decode(Outer, {"inner": {"word": "x", "new": 1}, "later": 2}) == Outer(Inner("x"))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Outer, {}),
        (Outer, []),
        (Outer, "text"),
        (Outer, {"inner": ["x"]}),
        (Outer, {"inner": {"word": "x"}, "choice": "c"}),
        (Outer, {"inner": {"word": "x"}, "several": 5}),
        (Outer, {"inner": {"word": "x"}, "by_name": []}),
        (list[ObjectKey], [["only", "three", "words"]]),
        (Plan, {"name": "web"}),
    ],
)
def test_what_does_not_fit_is_an_error_that_readers_know(kind: Any, value: Any) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        decode(kind, value)
