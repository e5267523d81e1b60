"""YAML as people get to see it: whatever is invisible shows, and nothing does anything to a terminal."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.display import display
from ansible_collections.rendimiento.addons.plugins.module_utils.model.yaml_documents import dump_yaml, read_one

BASE64 = base64.b64encode(bytes(range(200))).decode()


LOOKS_LIKE_SOMETHING_ELSE = [
    *(
        "yes",
        "No",
        "null",
        "~",
        "",
        "=",
        "<<",
        "1",
        "1.5",
        "1e3",
        "0x1f",
        "0o17",
        "1_000",
        "22:22",
        ".5",
        ".",
        "y",
        "n",
    ),
    *("2024-01-01", "10Gi", "100m", "1.2.3", "-x", "- x", "-", "--- x", "?x", "? x", ":x", "x:", "a: b", "a #b", "on"),
    *("#x", "a#b", "*x", "&x", "!x", "|", ">", "'", "it's", '"', "%x", "@x", "`x", "[x", "{x", "{{ x }}", "]", "off"),
    *(" x", "x ", "/a/b", "a, b", "a\\b", "é", "日本", "http://a.b:80/c?d=e", "$(X)"),
]


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"b": 1, "a": {"c": [], "d": {}}, "e": None, "f": True, "g": 1.5, "h": -3},
        {"a": [{"b": 1, "c": [1, [2, {"d": 3}]]}, [], {}, None, "x"]},
        {"a": [["x"], [["y"]]]},
        ["x", {"a": "b\nc\n"}, "d\ne"],
        {"a": "x\ny\n", "b": "x\ny", "c": "x\n\n", "d": "\n", "e": "\nx\n", "f": "  x\n y\n", "g": "x\n\ny\n"},
        {"a": ["x\n", ["y\nz"]]},
        *({"k": text, text: "v"} for text in LOOKS_LIKE_SOMETHING_ELSE),
    ],
)
def test_plain_things_look_as_they_do_in_yaml(value: Any) -> None:
    assert display(value) == dump_yaml(value, sort_keys=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x\r\ny\r\n", "a: |\n  x␍\n  y␍\n"),
        ("x\ty\n\tz\n", "a: |\n  x␉y\n  ␉z\n"),
        ("x  \n \ny\n", "a: |\n  x··\n  ·\n  y\n"),
        ("\x1b[31mred\n\x7f\0\n", "a: |\n  ␛[31mred\n  ␡␀\n"),
        ("\u202eevil\nzero\u200bwidth\n", "a: |\n  \\u202eevil\n  zero\\u200bwidth\n"),
        ("a\u2028b\x85\n\ufeff\U000e0041\n", "a: |\n  a\\u2028b\\u0085\n  \\ufeff\\U000e0041\n"),
        ("no break\u00a0space\n", "a: |\n  no break\\u00a0space\n"),
        ("half \ud800\n", "a: |\n  half \\ud800\n"),
        ("x\ufe0f\u034f\n", "a: |\n  x\\ufe0f\\u034f\n"),
        (
            "\u3164\u115f\u2800\n\u17b5\u180b\U000e0101\n",
            "a: |\n  \\u3164\\u115f\\u2800\n  \\u17b5\\u180b\\U000e0101\n",
        ),
        ("x\ufe0f", 'a: "x\\ufe0f"\n'),
        ("x\u2800", 'a: "x\\u2800"\n'),
        # What looks like a mark is none.
        ("x␍\ny·\ny ·\n", "a: |\n  x\\u240d\n  y\\u00b7\n  y·\\u00b7\n"),
        ("a · b\n", "a: |\n  a · b\n"),
        # In one line there are quotes to escape in.
        ("x\r", 'a: "x\\r"\n'),
        ("x\ty", 'a: "x\\ty"\n'),
        ("\x1b]0;title\x07\\", 'a: "\\e]0;title\\u0007\\\\"\n'),
        ("\u202e\u200b", 'a: "\\u202e\\u200b"\n'),
    ],
)
def test_invisible_characters_show(text: str, shown: str) -> None:
    assert display({"a": text}) == shown


@pytest.mark.parametrize("text", ["x\ny", "x\x1by", "x\u202ey", "x\ufe0fy"])
def test_keys_are_one_line(text: str) -> None:
    (line, rest) = display({text: 1}).split("\n")
    assert (line.isprintable(), rest) == (True, "")


def test_b20_base64_noise_is_shortened() -> None:
    shown = display({"caBundle": BASE64, "b": f"ca: {BASE64}\nx: y\n"})
    noise = f"{BASE64[:20]}… ({len(BASE64)} characters of base64, "
    assert BASE64[:30] not in shown
    assert f"caBundle: {noise}" in shown
    assert f"  ca: {noise}" in shown
    other = BASE64[:-4] + "AAAA"
    assert display({"caBundle": other}) != display({"caBundle": BASE64})


@pytest.mark.parametrize("text", ["a" * 300, "/srv/data" * 20, "9" * 150, "0123456789abcdef" * 8, BASE64[:100]])
def test_other_long_words_are_whole(text: str) -> None:
    assert text in display({"a": text})


def test_what_differs_looks_different_and_is_printable() -> None:
    """By chance: texts of characters that are easily mixed up."""
    chance = random.Random(3)
    alphabet = "ab \t\r\n·␍␉␛\x1b\u200b\u202e\u00a0:#-"
    seen: dict[str, str] = {}
    for _ in range(20_000):
        text = "".join(chance.choices(alphabet, k=chance.randint(0, 6)))
        shown = display({"a": text})
        assert all(line.isprintable() for line in shown.split("\n"))
        assert seen.setdefault(shown, text) == text


def test_plain_values_by_chance_can_be_read_back() -> None:
    chance = random.Random(4)

    def value(depth: int) -> Any:
        match chance.randint(0, 5 if depth < 4 else 3):
            case 0:
                return chance.choice([None, True, False, 0, -7, 10**12, 2.5, {}, []])
            case 1 | 2:
                return "".join(chance.choices("abyn01.:-# e'\"", k=chance.randint(0, 8))).rstrip()
            case 3:
                return "\n".join(chance.choices(["x", "y: z", "# c", "", "- d"], k=chance.randint(2, 5))) + "x"
            case 4:
                return {chance.choice(["a", "b", "on", "1", "c d"]): value(depth + 1) for _ in range(4)}
            case _:
                return [value(depth + 1) for _ in range(3)]

    for _ in range(500):
        made = {"root": value(0)}
        assert read_one(display(made), "x.yaml") == made
