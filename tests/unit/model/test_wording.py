"""Several things in one message."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.wording import listed


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a, b"),
        (["a", "b", "c"], "a, b and 1 more"),
        (list("abcde"), "a, b and 3 more"),
    ],
)
def test_the_first_few_and_how_many_more(texts: list[str], text: str) -> None:
    assert listed(texts, 2) == text
