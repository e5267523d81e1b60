"""Which items of two lists are the same one."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.list_keys import (
    counterparts,
    key_fields,
    title_of,
)


def of(field: str, *values: Any, **more: Any) -> list[dict[str, Any]]:
    return [{field: value, **more} for value in values]


DNS = [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]
SERVICE = [{"port": 53, "name": "a"}, {"port": 53, "protocol": "UDP", "name": "b"}]


@pytest.mark.parametrize(
    ("items", "others", "found"),
    [
        pytest.param(of("name", "a", "b"), of("name", "c", "b", "a"), [2, 1], id="by name, in another order"),
        pytest.param(of("name", "a", "new"), of("name", "a"), [0, None], id="one is new"),
        pytest.param(of("name", "a"), [], [None], id="all are new"),
        pytest.param([], of("name", "a"), [], id="none"),
        pytest.param(
            of("mountPath", "/a", "/b", name="v"), of("mountPath", "/b", "/a", name="v"), [1, 0], id="one volume twice"
        ),
        pytest.param(
            [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/b"}],
            [{"name": "v", "mountPath": "/b"}, {"name": "w", "mountPath": "/a"}],
            [1, 0],
            id="two volumes that changed places",
        ),
        pytest.param(DNS, DNS[::-1], [1, 0], id="unnamed ports, one number"),
        pytest.param([{"containerPort": 53}], DNS[::-1], [1], id="TCP is the default"),
        pytest.param(SERVICE, [{**SERVICE[1], "port": 54}, SERVICE[0]], [1, 0], id="ports of a Service by name"),
        pytest.param(
            [{"port": 53}, {"port": 53, "protocol": "UDP"}],
            [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
            [1, 0],
            id="without names by port and protocol",
        ),
        pytest.param(
            of("key", "k", "k"), of("key", "k", "k", effect="x"), [0, 1], id="not told apart: by index"
        ),
        pytest.param(
            of("key", "k", "k"), of("key", "k"), [None, None], id="not told apart, and not as many: not found"
        ),
        pytest.param(
            [{"key": "k", "effect": "NoSchedule"}, {"key": "k", "effect": "NoExecute"}],
            [{"key": "k", "effect": "NoExecute"}, {"key": "k", "effect": "NoSchedule"}],
            [1, 0],
            id="tolerations of one key",
        ),
        pytest.param(
            of("name", "a", "b"), of("name", "a", "a"), [0, 1], id="has to tell the others apart as well"
        ),
        pytest.param([1, 2], [3, 4], [0, 1], id="scalars by index"),
        pytest.param([1], [3, 4], [None], id="scalars that are not as many"),
        pytest.param(of("name", "a"), ["a"], [0], id="of another kind"),
    ],
)  # fmt: skip
def test_the_same_item_in_another_list(items: list[Any], others: list[Any], found: list[int | None]) -> None:
    assert counterparts(items, others) == found


def test_keys_of_three_lists_tell_apart_in_each() -> None:
    assert key_fields(of("name", "a"), of("name", "b"), of("name", "c", "d")) == ("name",)
    assert key_fields(of("name", "a"), of("name", "b"), of("name", "c", "c")) is None


def test_an_item_is_shown_with_what_it_has_of_its_key() -> None:
    assert title_of(("containerPort", "protocol"), {"containerPort": 53, "protocol": "UDP"}) == (
        '[containerPort=53,protocol="UDP"]'
    )
    assert title_of(("containerPort", "protocol"), {"containerPort": 53}) == "[containerPort=53]"
