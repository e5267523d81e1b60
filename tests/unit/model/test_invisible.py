"""Which characters nobody sees."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.invisible import is_visible, with_codes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b-é漢字😀", None),
        ("", None),
        ("a\u200bb", "a\\u200bb"),
        ("\x9b31m", "\\u009b31m"),
        ("\ufe0f", "\\ufe0f"),
        ("x\U000e0101", "x\\U000e0101"),
    ],
)
def test_what_is_invisible_shows_as_its_code(text: str, shown: str | None) -> None:
    assert is_visible(text) is (shown is None)
    assert with_codes(text) == (shown or text)


@pytest.mark.parametrize(
    "number",
    [
        0xAD, 0x34F,
        0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180F, 0x200D, 0x2028, 0x202E, 0x2066, 0x2800, 0x3164,
        0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF0, 0x1BCA0, 0x1D159, 0x1D173, 0xE0000, 0xE0041, 0xE0101, 0xE0FFF,
    ],
)  # fmt: skip
def test_characters_that_a_font_shows_as_nothing(number: int) -> None:
    assert not is_visible(f"a{chr(number)}b")
