"""Between add-ons: what an add-on depends on, directly or not, and what that brings or did in this run."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.bundle import Bundle
from .session import Session


def dependencies(session: Session, name: str) -> list[str]:
    """All add-ons that this one needs, its own dependencies first; those without a valid definition included."""
    info = session.info
    valid = {*info.order, *info.others}
    found: list[str] = []
    queue = [name]
    while queue:
        current = queue.pop(0)
        if current not in valid:
            continue
        for other in session.directory.definition(current).definition.depends_on:
            if other not in found:
                found.append(other)
                queue.append(other)
    return found


def bundles_of_dependencies(session: Session, name: str) -> Iterator[Bundle]:
    for other in dependencies(session, name):
        bundle = session.directory.bundle(other)
        if bundle:
            yield bundle


def changed_dependency(session: Session, name: str) -> str:
    """The first dependency that this run changed, empty when there is none."""
    return next((other for other in dependencies(session, name) if session.directory.outcome(other).changed), "")


def failed_dependency(session: Session, name: str) -> str:
    """Why this add-on must be skipped: a dependency that ended as Error in this run, or was skipped itself."""
    broken = session.info.protected
    for other in session.directory.definition(name).definition.depends_on:
        if other in broken:
            return f"depends on {other}, whose definition is invalid"
        outcome = session.directory.outcome(other)
        if outcome.phase == "Error":
            return f"depends on {other}, which failed"
        if outcome.skipped:
            return f"depends on {other}, which was skipped: {outcome.skipped}"
    return ""
