"""A step's failure is its add-on's outcome: the summary reads nothing else, so every step writes it down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..model.errors import AddonError
from .session import Session


@contextmanager
def failure_kept(session: Session, name: str) -> Iterator[None]:
    """Work on one add-on; an error gets the add-on's name and goes on to the caller."""
    try:
        yield
    except AddonError as error:
        error.about(addon=name)
        outcome = session.directory.outcome(name)
        outcome.phase, outcome.error = "Error", str(error)
        session.directory.save_outcome(outcome)
        raise
