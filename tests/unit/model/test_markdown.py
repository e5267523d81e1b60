"""Texts of others stay texts in Markdown: judged by a reader of Markdown, not by how they look."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from ansible_collections.rendimiento.addons.plugins.module_utils.model.markdown import cell, code, fenced

READER = MarkdownIt("commonmark").enable("table")

HOSTILE = [
    "plain",
    "`", "``", "```", "a`b", "`a`", "``a` b```", "` a", "a `",
    "a\\", "\\`", "`\\`",
    "@org/team #123 org/repo#1 https://evil.example www.evil.example a@b.example",
    "<script>alert(1)</script>", "</details>", "<!-- ", "&lt;b&gt;", "![x](http://e/x.png)", "[a](b)", "*a* _b_ ~~c~~",
    "# title", "- item", "> quote", "    code", "---", "/close",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("around", ["{}", "before {} behind", "- {}", "### {}", "**bold** {}, and {}"])
def test_inline_code_is_just_the_text(text: str, around: str) -> None:
    tokens = READER.parse(around.replace("{}", code(text)))
    inline = [child for token in tokens for child in token.children or []]
    shown = [child.content for child in inline if child.type == "code_inline"]
    assert shown == [text.strip()] * around.count("{}")
    assert {child.type for child in inline} <= {"text", "code_inline", "strong_open", "strong_close"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "`(empty)`"),
        (" \n ", "`(empty)`"),
        ("two\nlines\r\nand\u2028more", "`two lines and more`"),
        ("red \x1b[31m\x07", "`red \ufffd[31m\ufffd`"),
        ("\u202eback", "`\ufffdback`"),
        ("\ud800", "`\ufffd`"),
        ("x" * 30, f"`{'x' * 19}…`"),
    ],
)
def test_inline_code_is_one_line_with_an_end(text: str, shown: str) -> None:
    assert code(text, 20) == shown


@pytest.mark.parametrize("text", [*HOSTILE, "a|b", "\\|", "\\\\|", "a | b | c"])
def test_a_cell_is_one_cell(text: str) -> None:
    rows = ["| a | b |", "|---|---|", f"| {cell(text, 100)} | second |"]
    tokens = READER.parse("\n".join(rows))
    cells = [tokens[index + 1] for index, token in enumerate(tokens) if token.type == "td_open"]
    assert [one.content for one in cells][1:] == ["second"]
    (shown,) = cells[0].children or []
    assert (shown.type, shown.content) == ("code_inline", text.strip().replace("|", "¦"))


@pytest.mark.parametrize("text", [*HOSTILE, "```\n</details>\n@all", "~~~\n", "`````", "a\n\n\nb"])
def test_a_fence_holds_everything(text: str) -> None:
    lines = [f" {line}" for line in text.split("\n")]
    tokens = READER.parse(f"before\n\n{fenced(lines, 'diff')}\n\n</details>\n\nbehind")
    fences = [token for token in tokens if token.type == "fence"]
    assert [(token.info, token.content) for token in fences] == [("diff", "\n".join(lines) + "\n")]
    others = [token.content for token in tokens if token.type in ("inline", "html_block")]
    assert others == ["before", "</details>\n", "behind"]


def test_lines_of_a_fence_have_an_end_and_do_nothing_to_a_terminal() -> None:
    text = fenced(["+\x1b[2J\u202e\ta", "+" + "x" * 3000], "diff")
    assert text == f"```diff\n+\ufffd[2J\ufffd\ta\n+{'x' * 999}… 2001 more characters\n```"
