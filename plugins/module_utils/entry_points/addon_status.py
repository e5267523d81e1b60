"""``addon_status``: the frame of a run: queue, begin, end, drop, release, summary."""

from __future__ import annotations

from ..model.outcome import Outcome
from ..model.preview import DEFAULT_SIZE
from ..steps.convergence import Beginning, begin, drop, end, release
from ..steps.queue import queue
from ..steps.review_files import ReviewFiles
from ..steps.session import Session, open_session
from ..steps.summary import FAIL_ON, summarise
from .invocation import Invocation, Parameters, Result
from .options import RUN_SPEC

ARGUMENT_SPEC = {
    **RUN_SPEC,
    "state": {
        "type": "str",
        "required": True,
        "choices": ["queue", "begin", "end", "drop", "release", "summary"],
    },
    "name": {"type": "str"},
    "phase": {"type": "str", "choices": ["Synced", "OutOfSync", "Blocked", "Error", "Suspended"]},
    "message": {"type": "str", "default": ""},
    "fail_on": {"type": "list", "elements": "str", "choices": list(FAIL_ON), "default": ["Error"]},
    "summary_file": {"type": "path"},
    "preview_file": {"type": "path"},
    "preview_size": {"type": "int", "default": DEFAULT_SIZE},
    "plan_file": {"type": "path"},
    "keep_run": {"type": "bool", "default": False},
}

REQUIRED_IF = [
    ("state", "begin", ["name"]),
    ("state", "end", ["name", "phase"]),
    ("state", "drop", ["name"]),
    ("state", "release", ["name"]),
]

_ENDED = ("phase", "message")
RETURNS = {
    "queue": ("converge", "skip"),
    "begin": ("active", "removed", "uninstall", "suspended", "skip", "reason"),
    "end": _ENDED,
    "drop": _ENDED,
    "release": _ENDED,
    "summary": ("addons",),
}


def call(parameters: Parameters, invocation: Invocation) -> Result:
    session, name = open_session(parameters["run"]), parameters["name"]
    match parameters["state"]:
        case "queue":
            queued = queue(session)
            # In check mode the run ends here, and nothing else tells that a record is going to be dropped.
            dropping = invocation.check and any(
                not session.record(name).uninstall_mark for name in session.info.removed
            )
            return Result(changed=dropping, values={"converge": queued.converge, "skip": queued.skipped})
        case "summary":
            return _summary(session, parameters)
        case "begin":
            beginning = Beginning() if invocation.check else begin(session, name, invocation.progress)
            return Result(
                values={
                    "active": beginning.active,
                    "removed": beginning.removed,
                    "uninstall": beginning.uninstall,
                    "suspended": beginning.suspended,
                    "skip": beginning.skipped,
                    "reason": beginning.reason,
                }
            )
        case state if invocation.check:
            return _ended(session.directory.outcome(name), changed=state == "drop")
        case "end":
            return _ended(end(session, name, parameters["phase"], parameters["message"]))
        case "drop":
            return _ended(drop(session, name), changed=True)
        case _:
            return _ended(release(session, name))


def _ended(outcome: Outcome, *, changed: bool = False) -> Result:
    return Result(changed=changed, values={"phase": outcome.phase, "message": outcome.message})


def _summary(session: Session, parameters: Parameters) -> Result:
    files = ReviewFiles(
        preview=parameters["preview_file"] or "",
        preview_size=parameters["preview_size"],
        plan=parameters["plan_file"] or "",
    )
    summary = summarise(session, parameters["fail_on"], parameters["summary_file"] or "", parameters["keep_run"], files)
    if summary.failure:
        # Ansible prints the whole result of a failed task, and takes no statistics from it.
        return Result(values={"addons": None}, report=summary.table, failure=summary.failure)
    return Result(values={"addons": summary.addons}, report=summary.table, stats={"addon_summary": summary.addons})
