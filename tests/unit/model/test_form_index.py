"""Which of many texts are found in another one, and where."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.form_index import LongForms, ShortForms


def long_forms(*forms: str) -> LongForms:
    index = LongForms()
    for form in forms:
        index.note(form, f"<{form}>")
    return index


def short_forms(*forms: str) -> ShortForms:
    index = ShortForms()
    for form in forms:
        index.note(form, f"<{form}>")
    return index


@pytest.mark.parametrize(
    ("forms", "text", "places"),
    [
        (["abcdefghijkl"], "xxabcdefghijklx", [(2, 14)]),
        # At one place the longest of those that are there, whatever else begins alike.
        (["abcdefghijkl", "abcdefghijklmn", "abcdefghijklz"], "abcdefghijklmn", [(0, 14)]),
        (["abcdefghijkl", "abcdefghijklmn", "abcdefghijklma"], "abcdefghijklmz", [(0, 12)]),
        (["abcdefghijkl", "abcdefghijklmn"], "abcdefghijk", []),
        (["abcdefghijkl", "ghijklmnopqr"], "abcdefghijklmnopqr", [(0, 12), (6, 18)]),
        ([], "abcdefghijklmnopqr", []),
    ],
)
def test_long_ones_stand_anywhere(forms: list[str], text: str, places: list[tuple[int, int]]) -> None:
    spans = [(start, end, f"<{text[start:end]}>") for start, end in places]
    assert sorted(set(long_forms(*forms).spans(text))) == spans


@pytest.mark.parametrize(
    ("forms", "text", "places"),
    [
        (["admin"], "admin, administrator; DB_admin", [(0, 5), (25, 30)]),
        (["a-b-c", "a-b"], "a-b-c", [(0, 3), (0, 5)]),
        (["abcd-x"], "abcd-", []),
        (["abcd-x", "abcd"], "x abcd", [(2, 6)]),
        (["!?$%&/()"], "!!?$%&/()=", [(1, 9)]),
        ([r"!?$%&/\t"], r"!?$%&/\tx", [(0, 8)]),
    ],
)
def test_short_ones_stand_alone(forms: list[str], text: str, places: list[tuple[int, int]]) -> None:
    spans = [(start, end, f"<{text[start:end]}>") for start, end in places]
    assert sorted(set(short_forms(*forms).spans(text))) == spans
