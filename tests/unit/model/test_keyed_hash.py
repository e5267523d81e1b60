"""Digests: equal for equal values, different without the key, and told apart where JSON tells apart."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.keyed_hash import canonical_json, keyed_hash


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1, None]}, '{"a":[1,null],"b":1}'),
        ({"é": "\n"}, '{"é":"\\n"}'),
        (18446744073709551615, "18446744073709551615"),
        (1e30, "1e+30"),
    ],
)
def test_one_text_per_value(value: Any, text: str) -> None:
    assert canonical_json(value) == text.encode()


@pytest.mark.parametrize(("one", "other"), [(True, 1), (1, "1"), (None, ""), ({}, []), ([1, 2], [2, 1])])
def test_different_values_differ(one: Any, other: Any) -> None:
    assert keyed_hash(b"k", one) != keyed_hash(b"k", other)


def test_the_key_counts_and_the_order_of_keys_does_not() -> None:
    assert keyed_hash(b"k", {"a": 1, "b": 2}) == keyed_hash(b"k", {"b": 2, "a": 1})
    assert keyed_hash(b"k", "hunter2") != keyed_hash(b"l", "hunter2")
    assert len(keyed_hash(b"", None)) == 32
