"""The search for secret values after the integration tests finds them in every form."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.integration.secrecy import MARKERS, traces


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user:"])
@pytest.mark.parametrize("marker", MARKERS)
def test_every_form_is_found(tmp_path: Path, marker: str, before: str) -> None:
    value = f"{before}{marker}-and more"
    forms = [
        value,
        base64.b64encode(value.encode()).decode(),
        quote(value),
        base64.b64encode(value.encode())[:-3].decode(),
    ]
    for number, form in enumerate(forms):
        (tmp_path / f"{number}.log").write_text(f"error: {form}.")
    found = [line.split(":")[0] for line in traces(tmp_path)]
    # All tests of a run are searched in the end, this one as well.
    shutil.rmtree(tmp_path)
    assert found == [f"{number}.log" for number in range(len(forms))]


def test_where_secrets_have_to_be_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "scene/gitops").mkdir(parents=True)
    (tmp_path / "scene/gitops/a.yaml").write_text(MARKERS[0])
    assert list(traces(tmp_path)) == []
