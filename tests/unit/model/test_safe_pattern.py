"""Patterns of others: found wanting where that is certain, and never for long."""

from __future__ import annotations

import time

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.safe_pattern import mismatches

QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("^[a-z]+$", "abc", False),
        ("^[a-z]+$", "ABC", True),
        ("b", "abc", False),  # It may stand anywhere.
        ("x", "abc", True),
        (r"^v[0-9]+\.[0-9]+$", "v1.2", False),
        (r"^v[0-9]+\.[0-9]+$", "1.2", True),
        ("^(Always|Never)$", "Never", False),
        ("^(Always|Never)$", "Sometimes", True),
        ("^[a-z]([-a-z0-9]*[a-z0-9])?$", "a-b", False),
        ("^[a-z]([-a-z0-9]*[a-z0-9])?$", "a-", True),
        ("^[]a]{2,3}$", "]]", False),
        ("^[]a]{2,3}$", "b]", True),
        (QUANTITY, "10Gi", False),
        (QUANTITY, "1.5", False),
        (QUANTITY, "10GB", True),
    ],
)
def test_what_certainly_does_not_match(pattern: str, text: str, expected: bool) -> None:
    assert mismatches(pattern, text) is expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "b"),
        ("(a|a)*b", "c"),
        ("^[[:alpha:]]$", "1"),
        ("^(?i)a$", "b"),
        ("^(?=a)b$", "c"),
        (r"^(a)\1$", "b"),
        ("^a{,3}$", "b"),
        ("^a$", "a\n"),
        (r"^\w$", "é-"),
        ("(", "b"),
        ("a**", "b"),
        ("^" + "a" * 2000, "b"),
        ("^a*a*a*a*$", "b" * 500),
        ("a{1,4294967296}", "b"),
    ],
)
def test_what_is_not_tried_is_no_mismatch(pattern: str, text: str) -> None:
    assert not mismatches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 100 + "b"),
        ("^(a|aa)+$", "a" * 100 + "b"),
        ("^((a*)?)*$", "a" * 100 + "b"),
        ("^" + "a*" * 30 + "$", "a" * 100 + "b"),
        ("^" + "a?" * 40 + "a" * 40 + "$", "a" * 40),
        ("^" + "(a|a)" * 40 + "$", "a" * 40 + "b"),
        ("^a*a*a*b$", "a" * 60),
        ("a*a*b", "a" * 300),
        ("^a{1,100}a{1,100}a{1,100}$", "a" * 100 + "b"),
        (QUANTITY, "1" * 400 + "x"),
    ],
)
def test_evil_patterns_take_no_time(pattern: str, text: str) -> None:
    start = time.thread_time()
    mismatches(pattern, text)
    assert time.thread_time() - start < 0.5
