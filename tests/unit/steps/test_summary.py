"""The end of a run: the table, the summary file, and what fails the play."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import (
    AppliedObject,
    ObjectResult,
    Outcome,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan_document_schema import PLAN_DOCUMENT_SCHEMA
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.review_files import ReviewFiles
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.summary import FAIL_ON, Summary, summarise
from tests.unit.steps.made_run import FACTS, MadeRun, item, key, synced

BELOW = ". The summary above says why"


def summary(run: MadeRun, *fail_on: str, file: str = "", keep: bool = True, **files: Any) -> Summary:
    return summarise(run.session, list(fail_on), file, keep, ReviewFiles(**files))


def applied(*actions: str) -> list[AppliedObject]:
    return [AppliedObject(key(f"o{number}"), "v1", action, FACTS) for number, action in enumerate(actions)]


def test_the_table_of_a_run(run: MadeRun) -> None:
    run.add("app").add("database")
    run.outcome(Outcome("app", phase="Synced", applied=applied("create", "create", "update", "replace", "adopt"),
                        planned={"unchanged": 12, "create": 9}, pruned=[ObjectResult(key("x"))],
                        kept=[ObjectResult(key("data"), "protected")]))  # fmt: skip
    run.outcome(Outcome("database", phase="Error", error="add-on database: Secret web/s: the API server refuses it"))
    made = summary(run)
    assert made.table == [
        "add-on    phase   created  updated  adopted  unchanged  pruned  kept  why",
        "app       Synced        2        2        1         12       1     1  kept: ConfigMap web/data (protected)",
        "database  Error         0        0        0          0       0     0  Secret web/s: the API server refuses it",
    ]  # fmt: skip
    assert made.addons["app"]["kept_objects"] == ["ConfigMap web/data: protected"]


def test_a_preview_counts_what_is_planned(run: MadeRun) -> None:
    run.info.check = True
    run.add("app", status=synced())
    planned = {
        "create": 1, "update": 2, "adopt": 3, "unchanged": 4, "prune": 5, "keep": 6, "unknown": 7, "replace": 10,
    }  # fmt: skip
    run.outcome(Outcome("app", planned=planned, pending=True, unknown=7))
    facts = summary(run).addons["app"]
    counts = [facts[name] for name in ("created", "updated", "adopted", "unchanged", "pruned", "kept", "unknown")]
    assert (counts, facts["phase"], facts["why"]) == ([1, 12, 3, 4, 5, 0, 7], "Synced", "changes pending; 7 unknown")


@pytest.mark.parametrize(
    ("items", "check", "why"),
    [
        ([item("a", "create"), item("b", "update")], True, "changes pending"),
        ([item("a", "prune")], True, "changes pending; deletes ConfigMap web/a"),
        ([item(name, "prune") for name in "abcd"], True,
         "changes pending; deletes ConfigMap web/a, ConfigMap web/b and 2 more"),
        ([item("a", "replace")], True, "changes pending; deletes and makes anew ConfigMap web/a"),
        ([item("a", "create", "simulated"), item("b", "adopt", "simulated"), item("c", "keep", "unknown", reason="r")],
         True,
         "changes pending; 2 simulated; 1 unknown; kept: ConfigMap web/c (r)"),
        ([item("a", "prune")], False, ""),
        ([item("a")], True, ""),
    ],
)  # fmt: skip
def test_a_preview_tells_what_must_not_be_missed(run: MadeRun, items: list[PlanItem], check: bool, why: str) -> None:
    run.info.check = check
    run.add("app", items=items)
    outcome = Outcome("app")
    outcome.note_plan(run.plan("app"))
    assert summary(run.outcome(outcome)).addons["app"]["why"] == why


@pytest.mark.parametrize(
    ("outcome", "phase", "why"),
    [
        (Outcome("app"), "OutOfSync", ""),
        (Outcome("app", phase="Synced"), "Synced", ""),
        (Outcome("app", phase="Blocked", message="add-on app: waits"), "Blocked", "waits"),
        (Outcome("app", phase="Error", error="e", message="m"), "Error", "e"),
        (Outcome("app", skipped="depends on db, which failed", message="m"), "OutOfSync",
         "skipped: depends on db, which failed"),
        (Outcome("app", dropped=True, message="gone"), "-", "gone"),
        (Outcome("app", phase="Synced", unrecorded="the lock was lost"), "Synced", "the lock was lost"),
        (Outcome("app", skipped="s", unrecorded="u"), "OutOfSync", "skipped: s; u"),
        (Outcome("app", phase="Suspended", message="paused by annotation: two\nlines"), "Suspended",
         "paused by annotation: two lines"),
        (Outcome("app", phase="Suspended", message="by \x1b[2Jred\x07"), "Suspended", "by \ufffd[2Jred\ufffd"),
        (Outcome("app", phase="Synced", kept=[ObjectResult(key(name), "r") for name in "abc"]), "Synced",
         "kept: ConfigMap web/a (r), ConfigMap web/b (r) and 1 more"),
        (Outcome("app", phase="Error", error="e", kept=[ObjectResult(key("a"), "r")]), "Error", "e"),
    ],
)  # fmt: skip
def test_why(run: MadeRun, outcome: Outcome, phase: str, why: str) -> None:
    run.add("app", status=synced(phase="OutOfSync"))
    facts = summary(run.outcome(outcome)).addons["app"]
    assert (facts["phase"], facts["why"]) == (phase, why)


def test_a_long_reason_stands_whole_below_the_table(run: MadeRun) -> None:
    text = " ".join(["word"] * 60)
    run.add("app").add("b").outcome(Outcome("app", phase="Error", error=text))
    table = summary(run).table
    assert len(table[1]) < 180
    assert table[1].endswith("…")
    assert table[3:] == [f"app: {text}"]


def test_add_ons_of_every_kind_are_in_it_once(run: MadeRun) -> None:
    run.add("app").add("left-out", here=False).add_invalid("broken").add_invalid("broken").add_invalid(
        "", "x.yaml: bad"
    )
    run.info.removed.append("gone")
    run.info.warnings.append("uncommitted changes")
    made = summary(run)
    assert list(made.addons) == ["app", "broken", "gone"]
    assert made.table[-2:] == ["x.yaml: bad", "warning: uncommitted changes"]


def test_a_run_without_add_ons(run: MadeRun) -> None:
    assert summary(run, *FAIL_ON) == Summary({}, ["no add-ons"], "")


@pytest.mark.parametrize(
    ("outcome", "fail_on", "failure"),
    [
        (Outcome("app", phase="Error", error="e"), ["Error"], "app is Error"),
        (Outcome("app", phase="Error", error="e"), [], ""),
        (Outcome("app", phase="Blocked"), ["Error"], ""),
        (Outcome("app", phase="Blocked"), ["Error", "Blocked"], "app is Blocked"),
        (Outcome("app", phase="OutOfSync", pending=True), ["OutOfSync"], "app is OutOfSync"),
        (Outcome("app", phase="Synced", unknown=2), ["Error"], ""),
        (Outcome("app", phase="Synced", unknown=2), ["unknown"], "app has 2 objects that could not be checked"),
        (Outcome("app", pending=True), ["Error", "unknown"], ""),
        (Outcome("app", pending=True), ["changes"], "app has changes pending"),
        (Outcome("app", phase="Suspended"), list(FAIL_ON), ""),
        (Outcome("app", skipped="s"), list(FAIL_ON), ""),
        (Outcome("app", phase="Synced", unrecorded="u"), [], "app could not be recorded"),
    ],
)
def test_what_fails_the_play(run: MadeRun, outcome: Outcome, fail_on: list[str], failure: str) -> None:
    run.add("app").outcome(outcome)
    assert summary(run, *fail_on).failure == (failure + BELOW if failure else "")


@pytest.mark.parametrize("phase", ["Error", "Blocked", "OutOfSync"])
def test_how_the_last_run_ended_does_not_fail_this_one(run: MadeRun, phase: str) -> None:
    run.info.check = True
    run.add("app", status=synced(phase=phase)).outcome(Outcome("app", planned={"unchanged": 1}))
    made = summary(run, *FAIL_ON)
    assert (made.failure, made.addons["app"]["phase"]) == ("", phase)


def test_several_failures_and_files_without_a_name(run: MadeRun) -> None:
    run.add("app").add("b").add_invalid("", "x.yaml: bad")
    run.outcome(Outcome("app", phase="Error")).outcome(Outcome("b", phase="Error"))
    assert summary(run, "Error").failure == f"app is Error; b is Error; x.yaml: bad{BELOW}"
    assert summary(run, "Blocked").failure == ""


def test_the_summary_file(run: MadeRun, tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    made = summary(run.add("app").outcome(Outcome("app", phase="Synced")), file=str(path))
    content: dict[str, Any] = json.loads(path.read_text())
    assert content == {"run": "run1", "commit": run.info.commit, "check": False, "addons": made.addons}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_summary_file_that_can_not_be_written_fails_the_run_and_hides_nothing(run: MadeRun, tmp_path: Path) -> None:
    path = tmp_path / "no/such/folder/summary.json"
    made = summary(run.add("app").outcome(Outcome("app", phase="Synced")), file=str(path), keep=False)
    assert made.failure == f"{path} can't be written (No such file or directory){BELOW}"
    assert (list(made.addons), run.directory.path.exists()) == (["app"], False)


def planned(run: MadeRun) -> MadeRun:
    """One add-on with changes, one that could not be rendered, and one whose definition left git."""
    run.add("app", items=[item("new", "create", after="a: 1\n"), item("same")]).add("broken", objects=None)
    run.info.removed.append("gone")
    outcome = Outcome("app")
    outcome.note_plan(run.plan("app"))
    run.outcome(outcome).outcome(Outcome("broken", phase="Error", error="add-on broken: no such chart"))
    return run.outcome(Outcome("gone", phase="Pending", message="its definition left git", pending=True))


@pytest.mark.parametrize("check", [True, False])
def test_the_preview_file(run: MadeRun, tmp_path: Path, check: bool) -> None:
    run.info.check = check
    path = tmp_path / "preview.md"
    summary(planned(run), preview=str(path), keep=False)
    text = path.read_text()
    for part in (
        "**create** `ConfigMap web/new`",
        "+a: 1",
        "no such chart",
        "its definition left git",
        "https://server",
    ):
        assert part in text
    assert "run1" not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("check", [True, False])
def test_the_plan_file(run: MadeRun, tmp_path: Path, check: bool) -> None:
    run.info.check = check
    path = tmp_path / "plan.json"
    made = summary(planned(run), plan=str(path), keep=False)
    document = json.loads(path.read_text())
    jsonschema.Draft202012Validator(PLAN_DOCUMENT_SCHEMA).validate(document)
    assert {name: one["planned"] for name, one in document["addons"].items()} == {
        "app": True,
        "broken": False,
        "gone": False,
    }
    assert [document["addons"][name]["why"] for name in made.addons] == [one["why"] for one in made.addons.values()]
    assert (document["check"], document["commit"]) == (check, run.info.commit)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_preview_file_keeps_to_its_size(run: MadeRun, tmp_path: Path) -> None:
    run.add("app", items=[item(f"o{number}", "create", after="a: 1\n") for number in range(100)])
    sizes = {}
    for size in (600, 5000, 0):
        summary(run, preview=str(tmp_path / "preview.md"), preview_size=size)
        sizes[size] = (tmp_path / "preview.md").stat().st_size
    assert (sizes[600] <= 600, 600 < sizes[5000] <= 5000, sizes[0] > 5000) == (True, True, True)


def test_a_preview_too_small_to_say_anything_is_refused(run: MadeRun, tmp_path: Path) -> None:
    path = tmp_path / "preview.md"
    made = summary(planned(run), preview=str(path), preview_size=100)
    assert made.failure == f"{path} is not written: a preview takes 500 bytes or more, or 0 for no limit{BELOW}"
    assert not path.exists()


@pytest.mark.parametrize("bad", ["file", "preview", "plan"])
def test_a_file_that_can_not_be_written_hides_no_other(run: MadeRun, tmp_path: Path, bad: str) -> None:
    paths: dict[str, Any] = {name: str(tmp_path / name) for name in ("file", "preview", "plan")}
    paths[bad] = str(tmp_path / "no/such/folder" / bad)
    made = summary(planned(run), **paths)
    assert made.failure == f"{paths[bad]} can't be written (No such file or directory){BELOW}"
    assert [name for name, path in paths.items() if Path(path).exists()] == [name for name in paths if name != bad]
    assert list(made.addons) == ["app", "broken", "gone"]


@pytest.mark.parametrize("keep", [True, False])
def test_the_run_directory_goes_unless_it_is_kept(run: MadeRun, keep: bool) -> None:
    summary(run.add("app"), keep=keep)
    assert run.directory.path.exists() is keep


def test_nothing_of_it_does_anything_to_a_terminal(run: MadeRun) -> None:
    hostile = "\x1b[2J\u202e\n" + "x" * 5000
    run.add("app", status=synced(phase=f"Synced{hostile}")).add_invalid("", hostile)
    run.info.warnings.append(hostile)
    run.outcome(Outcome("app", message=hostile))
    made = summary(run, "Error")
    lines = [*made.table, made.failure, made.addons["app"]["why"]]
    assert [line for line in lines if not line.isprintable() or len(line) > 2000 + len(BELOW)] == []
