"""The end of a run that is interrupted: its records say so, its locks are given back, its folder goes.

Nobody else does it: Ansible runs neither ``rescue`` nor ``always`` after a signal.
"""

from __future__ import annotations

from ..model.errors import AddonError
from .convergence import end, release
from .session import Session

_PATIENCE = 5.0
"""Seconds for each request: whoever interrupted the run waits for this."""


def end_interrupted(path: str, reason: str) -> None:
    """Give back what the run in this folder has, if the API server can be reached. Never raises an ``AddonError``.

    :param reason: becomes the error of the add-on that was being converged.
    """
    try:
        session = Session(path, retry_window=_PATIENCE)
        for outcome in session.directory.outcomes():
            if outcome.locked:
                end(session, outcome.name, "Error", f"{reason}. Run again")
                release(session, outcome.name)
        session.directory.remove()
    except AddonError:
        # The next run takes over.
        return
