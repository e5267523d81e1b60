"""The page of situations: every row names tests, and each of them exists under that name in that file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/situations.md"
_LINK = re.compile(r"\[(\w+)\]\(([^)]+)\)")
_HEAD = 2
"""Rows of a table that are not about a situation."""


def tables() -> list[list[str]]:
    """The rows of each table of the page."""
    found = re.findall(r"(?:^\|.*\|\n)+", PAGE.read_text(), re.MULTILINE)
    return [table.splitlines()[_HEAD:] for table in found]


ROWS = [row for table in tables() for row in table]


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_the_page_has_situations() -> None:
    assert len(tables()) > 1
    assert all(tables())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: cells(row)[0])
def test_each_situation_is_shown_by_tests_that_exist(row: str) -> None:
    _situation, happens, shown_by = cells(row)
    assert happens
    links = _LINK.findall(shown_by)
    assert links
    assert ", ".join(f"[{name}]({file})" for name, file in links) == shown_by, "nothing but links"
    for name, file in links:
        assert re.search(rf"^def {name}\(", (PAGE.parent / file).read_text(), re.MULTILINE), f"no {name} in {file}"


def test_no_situation_stands_twice() -> None:
    situations = [cells(row)[0] for row in ROWS]
    assert len(set(situations)) == len(situations)
