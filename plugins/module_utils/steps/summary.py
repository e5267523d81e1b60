"""The end of a run: one line per add-on, and the only place where a run is called failed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.errors import RunDirectoryError
from ..model.outcome import Outcome
from ..model.run_directory import write_private
from .session import Session

COLUMNS = ("created", "updated", "adopted", "unchanged", "pruned", "kept")
_PLANNED = {"created": "create", "updated": "update", "adopted": "adopt", "unchanged": "unchanged", "pruned": "prune"}
_REASON_CHARACTERS = 400

FAIL_ON = ("Error", "Blocked", "OutOfSync", "unknown", "changes")


@dataclass(frozen=True, slots=True)
class Summary:
    """``addons`` by name: phase, counts, pending, why. ``failure`` is the message of a failed run, empty otherwise."""

    addons: dict[str, dict[str, Any]]
    table: list[str]
    failure: str


def summarise(session: Session, fail_on: list[str], summary_file: str, keep_run: bool) -> Summary:
    """Read all outcomes, write the summary file if one is wanted, and remove the run directory.

    :raises RunDirectoryError: when the summary file can't be written.
    """
    info = session.info
    names = [*info.order, *(item.name for item in info.invalid if item.name), *info.removed]
    outcomes = [session.directory.outcome(name) for name in dict.fromkeys(names)]
    addons = {outcome.name: _facts(outcome, info.check) for outcome in outcomes}
    nameless = [item.reason for item in info.invalid if not item.name]
    summary = Summary(
        addons=addons,
        table=[*_table(addons), *nameless, *(f"warning: {text}" for text in info.warnings)],
        failure=_failure(outcomes, nameless, fail_on),
    )
    if summary_file:
        content = {"run": info.run_id, "commit": info.commit, "check": info.check, "addons": addons}
        try:
            write_private(Path(summary_file), json.dumps(content, indent=2).encode() + b"\n")
        except OSError as error:
            raise RunDirectoryError(f"can't be written: {error.strerror}", subject=summary_file) from error
    if not keep_run:
        session.directory.remove()
    return summary


def _facts(outcome: Outcome, check: bool) -> dict[str, Any]:
    if check:
        counts = {column: outcome.planned.get(_PLANNED.get(column, ""), 0) for column in COLUMNS}
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
        "phase": outcome.phase or ("-" if outcome.dropped else "Pending"),
        **counts,
        "unknown": outcome.unknown,
        "pending": outcome.pending,
        "kept_objects": [f"{item.key}: {item.reason}" for item in outcome.kept],
        "why": _why(outcome, check),
    }


def _why(outcome: Outcome, check: bool) -> str:
    reasons = [outcome.unrecorded, outcome.error or outcome.message]
    if outcome.skipped:
        reasons = [f"skipped: {outcome.skipped}", outcome.unrecorded]
    elif check and outcome.pending and not any(reasons):
        reasons = ["changes pending"]
    if outcome.kept and not outcome.error:
        shown = ", ".join(f"{item.key} ({item.reason})" for item in outcome.kept[:2])
        more = f" and {len(outcome.kept) - 2} more" if len(outcome.kept) > 2 else ""
        reasons.append(f"kept: {shown}{more}")
    text = "; ".join(reason.removeprefix(f"add-on {outcome.name}: ") for reason in reasons if reason)
    return text if len(text) <= _REASON_CHARACTERS else f"{text[: _REASON_CHARACTERS - 1]}…"


def _table(addons: dict[str, dict[str, Any]]) -> list[str]:
    if not addons:
        return ["no add-ons"]
    header = ("add-on", "phase", *COLUMNS, "why")
    rows = [(name, facts["phase"], *(str(facts[column]) for column in COLUMNS), facts["why"]) for name, facts in addons.items()]
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    return [_line(row, widths) for row in (header, *rows)]


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    texts = [
        cell.rjust(width) if 2 <= column < 2 + len(COLUMNS) else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(texts).rstrip()


def _failure(outcomes: list[Outcome], nameless: list[str], fail_on: list[str]) -> str:
    """What fails the play, in one line; empty when nothing does."""
    reasons = [reason for reason in nameless if "Error" in fail_on]
    for outcome in outcomes:
        if outcome.unrecorded:
            reasons.append(outcome.unrecorded)
        if outcome.phase and outcome.phase in fail_on:
            reasons.append(f"{outcome.name} is {outcome.phase}: {outcome.error or outcome.message}")
        elif "unknown" in fail_on and outcome.unknown:
            reasons.append(f"{outcome.name} has {outcome.unknown} objects that could not be checked")
        elif "changes" in fail_on and outcome.pending:
            reasons.append(f"{outcome.name} has changes pending")
    return "; ".join(reasons)
