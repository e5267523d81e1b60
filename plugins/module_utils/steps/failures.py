"""A step's failure is its add-on's outcome: the summary reads nothing else, so every step writes it down."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..model.errors import AddonError
from .session import Session

_CODE = f"{Path(__file__).parent.parent}/"


@contextmanager
def failure_kept(session: Session, name: str) -> Iterator[None]:
    """Work on one add-on; an error gets the add-on's name and goes on to the caller.

    :raises AddonError: also for an exception that nobody expected, without its text: it may quote a secret.
    """
    try:
        yield
    except AddonError as error:
        _keep(session, name, error)
        raise
    except Exception as error:
        unexpected = AddonError(
            f"failed unexpectedly ({type(error).__name__} in {_place(error)})",
            hint="report it as a fault of rendimiento.addons",
        )
        _keep(session, name, unexpected)
        raise unexpected from error


def _keep(session: Session, name: str, error: AddonError) -> None:
    error.about(addon=name)
    outcome = session.directory.outcome(name)
    outcome.phase, outcome.error = "Error", str(error)
    session.directory.save_outcome(outcome)


def _place(error: Exception) -> str:
    """The innermost line of the collection's own code, such as ``model/x.py:12``."""
    frames = [f"{frame.f_code.co_filename}:{line}" for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [place.removeprefix(_CODE) for place in frames if place.startswith(_CODE)]
    return own[-1] if own else "an unknown place"
