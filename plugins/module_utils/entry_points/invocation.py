"""What every module and action of the collection shares: how a step is called and what it gives back.

An entry point is one file: an argument spec and ``call``. The module runs it in a process of its own, the action plugin
of the same name inside the controller; both do nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..model.plan import PlanItem

Parameters = dict[str, Any]

_DIFF_LINES = 400


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a step is called.

    ``progress`` shows one line while it runs; a shipped module has nowhere to show it. ``process`` is the process that
    runs all steps of a run, 0 when each step has one of its own.
    """

    check: bool
    diff: bool
    progress: Callable[[str], None]
    process: int = 0


@dataclass(slots=True)
class Result:
    """What a step gives back. ``values`` is returned under the documented names, ``report`` is shown as it is.

    ``failure`` makes the task fail although the step ran to its end.
    """

    changed: bool = False
    values: dict[str, Any] = field(default_factory=dict)
    diff: list[dict[str, str]] = field(default_factory=list)
    report: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    failure: str = ""

    def to_ansible(self) -> dict[str, Any]:
        """The result dictionary of a module."""
        result: dict[str, Any] = {"changed": self.changed, **self.values}
        if self.diff:
            result["diff"] = self.diff
        if self.report:
            result["report"] = self.report
        if self.warnings:
            result["warnings"] = self.warnings
        if self.stats:
            result["ansible_stats"] = {"data": self.stats, "per_host": False, "aggregate": True}
        if self.failure:
            result |= {"failed": True, "msg": self.failure}
        return result


class EntryPoint(Protocol):
    """The shape of the files beside this one."""

    ARGUMENT_SPEC: dict[str, Any]

    def call(self, parameters: Parameters, invocation: Invocation) -> Result:
        """:raises AddonError: becomes a failed task with one line."""


def diff_of(items: list[PlanItem]) -> list[dict[str, str]]:
    """One Ansible diff per object; never one big pair, which costs minutes to print.

    Of long texts it is the diff that is cut, and says so: two texts that were cut could be equal.
    """
    diffs = []
    for item in items:
        before, after = item.before, item.after
        if before == after:
            diffs.append({"prepared": f"{item.header}{f': {item.reason}' if item.reason else ''}\n"})
        elif max(before.count("\n"), after.count("\n")) > _DIFF_LINES:
            diffs.append({"prepared": item.unified(_DIFF_LINES)})
        else:
            diffs.append({"before_header": item.header, "after_header": item.header, "before": before, "after": after})
        if item.takes_over:
            diffs.append({"prepared": "".join(f"{line}\n" for line in _takeovers(item))})
    return diffs


def diff_lines(items: list[PlanItem]) -> list[str]:
    """The same as plain lines, for a report."""
    lines: list[str] = []
    for item in items:
        reason = f": {item.reason}" if item.reason else ""
        lines += (item.unified(_DIFF_LINES) or f"{item.header}{reason}").splitlines()
        lines += _takeovers(item)
    return lines


def _takeovers(item: PlanItem) -> list[str]:
    return [f"  takes {one.field} from {one.manager}" for one in item.takes_over]
