"""The end of a run: one line per add-on, and the only place where a run is called failed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..model.outcome import Outcome
from ..model.plan import Action, Plan, count_simulated
from ..model.wording import listed, printable, shortened
from .review_files import ReviewFiles, failure_to_write, write_review
from .session import Session

COLUMNS = ("created", "updated", "adopted", "unchanged", "pruned", "kept")
_PLANNED = {
    "created": ("create",),
    "updated": ("update", "replace"),
    "adopted": ("adopt",),
    "unchanged": ("unchanged",),
    "pruned": ("prune",),
}
_COLUMN_CHARACTERS = 80

FAIL_ON = ("Error", "Blocked", "OutOfSync", "unknown", "changes")


@dataclass(frozen=True, slots=True)
class Summary:
    """``addons`` by name: phase, counts, pending, why. ``failure`` is the message of a failed run, empty otherwise."""

    addons: dict[str, dict[str, Any]]
    table: list[str]
    failure: str


def summarise(session: Session, fail_on: list[str], summary_file: str, keep_run: bool, files: ReviewFiles) -> Summary:
    """Read all outcomes, write the files that are wanted, and remove the run directory."""
    info = session.info
    names = [*info.order, *(item.name for item in info.invalid if item.name), *info.removed]
    outcomes = [session.directory.outcome(name) for name in dict.fromkeys(names)]
    plans = _plans(session, outcomes, files.wanted)
    addons = {
        outcome.name: _facts(outcome, info.check, session.record(outcome.name).phase, plans.get(outcome.name))
        for outcome in outcomes
    }
    failed = [*(_failed(outcome, fail_on) for outcome in outcomes), *(info.nameless if "Error" in fail_on else [])]
    if summary_file:
        content = {"run": info.run_id, "commit": info.commit, "check": info.check, "addons": addons}
        failed.append(failure_to_write(summary_file, json.dumps(content, indent=2)))
    if files.wanted:
        failed += write_review(session, files, outcomes, addons, plans)
    if not keep_run:
        session.directory.remove()
    reasons = [printable(reason) for reason in failed if reason]
    warnings = [f"warning: {text}" for text in info.warnings]
    return Summary(
        addons=addons,
        table=[printable(line) for line in (*_table(addons), *_rights(outcomes), *info.nameless, *warnings)],
        failure=f"{'; '.join(reasons)}. The summary above says why" if reasons else "",
    )


def _plans(session: Session, outcomes: list[Outcome], all_of_them: bool) -> dict[str, Plan]:
    """The plans that are told of, each read once: all for files, else those of a preview with changes."""
    told = [outcome.name for outcome in outcomes if all_of_them or (session.info.check and outcome.pending)]
    plans = {name: session.directory.plan(name) for name in told}
    return {name: plan for name, plan in plans.items() if plan}


def _facts(outcome: Outcome, check: bool, recorded: str, plan: Plan | None) -> dict[str, Any]:
    """``recorded`` is the phase of the record, which stands for an add-on that this run decided nothing about."""
    if check:
        counts = {column: sum(outcome.planned.get(one, 0) for one in actions) for column, actions in _PLANNED.items()}
    else:
        counts = {
            "created": outcome.count("create"),
            "updated": outcome.count("update") + outcome.count("replace"),
            "adopted": outcome.count("adopt"),
            "unchanged": outcome.planned.get("unchanged", 0),
            "pruned": len(outcome.pruned),
        }
    counts["kept"] = len(outcome.kept)
    return {
        "phase": outcome.phase or ("-" if outcome.dropped else recorded),
        **counts,
        "unknown": outcome.unknown,
        "pending": outcome.pending,
        "kept_objects": [f"{item.key}: {item.reason}" for item in outcome.kept],
        "held_back_objects": [f"{item.key}: {item.reason}" for item in outcome.held_back],
        "why": _why(outcome, check, plan),
    }


def _why(outcome: Outcome, check: bool, plan: Plan | None) -> str:
    reasons = [outcome.unrecorded, outcome.error or outcome.message]
    if outcome.skipped:
        reasons = [f"skipped: {outcome.skipped}", outcome.unrecorded]
    elif check and outcome.pending and not any(reasons):
        reasons = ["changes pending"]
    if check and outcome.pending:
        reasons += _warnings_of_preview(outcome, plan)
    if outcome.kept and not outcome.error:
        kept = [f"{item.key} ({item.reason})" for item in outcome.kept]
        reasons.append(f"kept: {listed(kept, 2)}")
    if outcome.notes:
        reasons.append(f"let go of: {listed(outcome.notes, 2)}")
    return printable("; ".join(reason.removeprefix(f"add-on {outcome.name}: ") for reason in reasons if reason))


def _warnings_of_preview(outcome: Outcome, plan: Plan | None) -> list[str]:
    """What a reviewer must not miss: what would be deleted, and what the server did not vouch for."""
    texts = []
    if plan:
        deleting: tuple[tuple[Action, str], ...] = (("prune", "deletes"), ("replace", "deletes and makes anew"))
        for action, words in deleting:
            names = [str(item.key) for item in plan.with_action(action)]
            texts += [f"{words} {listed(names, 2)}"] if names else []
        simulated = count_simulated(plan.items)
        texts += [f"{simulated} simulated"] if simulated else []
    return [*texts, f"{outcome.unknown} unknown"] if outcome.unknown else texts


def _table(addons: dict[str, dict[str, Any]]) -> list[str]:
    """One line per add-on; a reason too long for its column stands whole below the table."""
    if not addons:
        return ["no add-ons"]
    header = ("add-on", "phase", *COLUMNS, "why")
    rows = [
        (name, facts["phase"], *(str(facts[column]) for column in COLUMNS), shortened(facts["why"], _COLUMN_CHARACTERS))
        for name, facts in addons.items()
    ]
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    long = [f"{name}: {facts['why']}" for name, facts in addons.items() if len(facts["why"]) > _COLUMN_CHARACTERS]
    return [*(_line(row, widths) for row in (header, *rows)), *long]


def _rights(outcomes: list[Outcome]) -> list[str]:
    """The rights that add-ons lack, as tables; of who only reads, the line of the add-on says enough."""
    lines = []
    for outcome in outcomes:
        if outcome.rights.is_error:
            lines.append(f"{outcome.name}: rights that {outcome.rights.user} lacks")
            # Blanks in front would go.
            lines += [f"| {line}" for line in outcome.rights.table()]
    return lines


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    texts = [
        cell.rjust(width) if 2 <= column < 2 + len(COLUMNS) else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(texts).rstrip()


def _failed(outcome: Outcome, fail_on: list[str]) -> str:
    """Why this add-on fails the play, in a few words; empty when it does not."""
    if outcome.unrecorded:
        return f"{outcome.name} could not be recorded"
    if outcome.skipped:
        # What it depends on failed, and is named for it.
        return ""
    if outcome.phase and outcome.phase in fail_on:
        return f"{outcome.name} is {outcome.phase}"
    if "unknown" in fail_on and outcome.unknown:
        return f"{outcome.name} has {outcome.unknown} objects that could not be checked"
    if "changes" in fail_on and outcome.pending:
        return f"{outcome.name} has changes pending"
    return ""
