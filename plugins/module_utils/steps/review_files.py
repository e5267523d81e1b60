"""Writes what reviewers and programs read of a run's plans: the preview as Markdown, and the plan as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.outcome import Outcome
from ..model.plan import Plan
from ..model.plan_document import plan_document
from ..model.preview import DEFAULT_SIZE, SMALLEST, markdown_preview
from ..model.review import Review, ReviewedAddon
from ..model.run_directory import write_private
from .session import Session


@dataclass(frozen=True, slots=True)
class ReviewFiles:
    """Paths, empty for none; ``preview_size`` is in bytes, 0 for no limit."""

    preview: str = ""
    preview_size: int = DEFAULT_SIZE
    plan: str = ""

    @property
    def wanted(self) -> bool:
        return bool(self.preview or self.plan)


def write_review(
    session: Session,
    files: ReviewFiles,
    outcomes: list[Outcome],
    facts: Mapping[str, dict[str, Any]],
    plans: Mapping[str, Plan],
) -> list[str]:
    """Write the files that are wanted; why one could not be written, else nothing.

    :param facts: phase and why by name, as in the summary.
    """
    review = _review(session, outcomes, facts, plans)
    failures = []
    if files.plan:
        content = json.dumps(plan_document(review), separators=(",", ":"))
        failures.append(failure_to_write(files.plan, content))
    if files.preview and 0 < files.preview_size < SMALLEST:
        failures.append(f"{files.preview} is not written: a preview takes {SMALLEST} bytes or more, or 0 for no limit")
    elif files.preview:
        failures.append(failure_to_write(files.preview, markdown_preview(review, files.preview_size)))
    return [failure for failure in failures if failure]


def failure_to_write(path: str, content: str) -> str:
    """Write a file, readable by its owner only; why it could not be written, else empty."""
    try:
        write_private(Path(path), content.removesuffix("\n").encode() + b"\n")
    except OSError as error:
        return f"{path} can't be written ({error.strerror})"
    return ""


def _review(
    session: Session, outcomes: list[Outcome], facts: Mapping[str, dict[str, Any]], plans: Mapping[str, Plan]
) -> Review:
    info = session.info
    rendered = {bundle.name: (bundle.revision, bundle.warnings) for bundle in session.directory.bundles()}
    addons = []
    for outcome in outcomes:
        name = outcome.name
        revision, warnings = rendered.get(name, ("", []))
        shown = facts[name]
        addons.append(ReviewedAddon(name, shown["phase"], shown["why"], outcome, plans.get(name), revision, warnings))
    return Review(
        commit=info.commit,
        server=info.server,
        server_version=info.server_version,
        check=info.check,
        comparable=info.comparable,
        addons=addons,
        invalid=info.nameless,
        warnings=info.warnings,
        context=info.context,
    )
