"""Several things in one message, and what of it reaches a terminal."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.wording import (
    listed,
    printable,
)


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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain…  é", "plain…  é"),
        ("a\n  b\r\nc\u2028d\te", "a b c d e"),
        ("\x1b[2J\x07\x00\x9b31m", "\ufffd[2J\ufffd\ufffd\ufffd31m"),
        ("right \u202eto\u2066 left\ud800", "right \ufffdto\ufffd left\ufffd"),
        ("x" * 2000, "x" * 2000),
        ("x" * 2001, "x" * 1999 + "…"),
    ],
)
def test_what_a_terminal_gets(text: str, line: str) -> None:
    assert printable(text) == line
