"""What all tests share: the official programs that the collection calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cluster.binaries import collect


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """helm, kustomize and the local cluster's own programs by name; built first when they are missing."""
    return {name: Path(path) for name, path in collect(lambda line: None).items()}
