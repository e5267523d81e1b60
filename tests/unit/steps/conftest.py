"""What tests of steps share: a run without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.steps.made_run import MadeRun


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    return MadeRun(tmp_path / "run")
