"""What unit tests share: git that is isolated from the user's configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.gitops import IDENTITY, Repository


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    return Repository(tmp_path / "gitops")
