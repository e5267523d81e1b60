"""What an error says."""

from __future__ import annotations

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError


def test_an_error_is_one_printable_line() -> None:
    error = AddonError("is \x1b[31mred\nand \u202eleft", addon="web", subject="a\x07.yaml", hint="see \n\x1b]0;x")
    assert str(error) == "add-on web: a\ufffd.yaml: is \ufffd[31mred and \ufffdleft. See \ufffd]0;x."


def test_an_error_has_an_end() -> None:
    assert len(str(AddonError("word " * 10_000, hint="read it"))) == 2000
