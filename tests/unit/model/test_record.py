"""Reading Addon records, also those of people and of other engines."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import Inventory
from ansible_collections.rendimiento.addons.plugins.module_utils.model.record import Record, record_manifest


def test_a_bare_record() -> None:
    record = Record.from_manifest({"metadata": {"name": "web"}})
    assert record == Record("web")
    assert (record.exists, record.from_git, record.phase, record.paused) == (False, False, "Pending", False)
    assert (record.source_file, record.source_commit, record.uninstall_mark) == ("", "", "")
    assert (record.sync_request, record.applied_sync_request, record.applied_before) == (0, 0, False)
    assert (record.inventory, record.condition("Ready")) == (Inventory(), "")


def test_nulls_count_as_absent() -> None:
    manifest = {"metadata": {"name": "web", "labels": None, "annotations": None}, "spec": None, "status": None}
    assert Record.from_manifest(manifest) == Record("web")
    empty = {"phase": None, "objects": None, "conditions": None, "appliedSyncRequest": None, "appliedHash": None}
    record = Record("web", status=empty, spec={"syncRequest": None})
    assert (record.phase, record.inventory, record.condition("X"), record.sync_request) == (
        "Pending",
        Inventory(),
        "",
        0,
    )


@pytest.mark.parametrize(
    ("annotation", "file", "commit"),
    [
        ("addons/web.yaml@abc", "addons/web.yaml", "abc"),
        ("addons/a@b.yaml@abc", "addons/a@b.yaml", "abc"),
        ("addons/web.yaml", "", "addons/web.yaml"),
        ("", "", ""),
    ],
)
def test_source(annotation: str, file: str, commit: str) -> None:
    record = Record("web", annotations={"rendimiento.ai/source": annotation})
    assert (record.source_file, record.source_commit) == (file, commit)


@pytest.mark.parametrize(
    ("annotations", "paused", "reason"),
    [
        ({"rendimiento.ai/paused": "true", "rendimiento.ai/paused-reason": "storm"}, True, "storm"),
        ({"rendimiento.ai/paused": "false"}, False, ""),
        ({"rendimiento.ai/paused": ""}, False, ""),
    ],
)
def test_pause(annotations: dict[str, str], paused: bool, reason: str) -> None:
    record = Record("web", annotations=annotations)
    assert (record.paused, record.paused_reason) == (paused, reason)


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ([{"type": "Healthy", "status": "True"}], "True"),
        ([{"type": "Ready", "status": "True"}, {"type": "Healthy", "status": "False"}], "False"),
        ([{"status": "True"}, {"type": "Healthy"}], ""),
    ],
)
def test_conditions(conditions: list[dict[str, Any]], state: str) -> None:
    assert Record("web", status={"conditions": conditions}).condition("Healthy") == state


def test_what_git_says_of_a_record() -> None:
    manifest = record_manifest("web", {"namespace": "web"}, "addons/web.yaml@abc")
    assert manifest["spec"] == {"namespace": "web"}
    assert "status" not in manifest
    record = Record.from_manifest(manifest)
    assert (record.name, record.from_git, record.source_file) == ("web", True, "addons/web.yaml")
