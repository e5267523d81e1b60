"""The molecule scenario: the role converges an example, converges it again without a change, and is verified."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.clusters import witnessed
from tests.integration.playbooks import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.long]


def test_the_role_is_idempotent(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    programs = Path(sys.executable).parent
    foreign = ("ANSIBLE_", "MOLECULE_", "K8S_AUTH_", "KUBECONFIG", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path),
        "NO_COLOR": "1",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    # In another folder than the scenario's, which it empties.
    kept = tmp_path_factory.mktemp("molecule")
    output = kept / "output.txt"
    with witnessed(tmp_path / "cluster", kept), output.open("wb") as file:
        scenario = subprocess.run(
            [programs / "molecule", "test"],
            cwd=ROOT / "extensions",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    assert scenario.returncode == 0, output.read_text()
