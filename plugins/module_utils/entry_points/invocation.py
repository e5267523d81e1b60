"""What every module and action of the collection shares: how a step is called and what it gives back.

An entry point is one file: an argument spec and ``call``. The module runs it in a process of its own, the action plugin
of the same name inside the controller; both do nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..model.plan import PlanItem
from ..model.review import bounded, most_important, ownership_lines
from ..model.wording import cut, lines_of, printable

Parameters = dict[str, Any]

_DIFF_LINES = 400
_DIFF_OBJECTS = 100
_DIFF_CHARACTERS = 1_000_000
_LINE_CHARACTERS = 2000
_FACTS_OF_A_SORT = 20
_TOO_MUCH = "the diffs above are long; see addon_plan_file"


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a step is called.

    ``progress`` shows one line while it runs; a shipped module has nowhere to show it. ``process`` is the process that
    runs all steps of a run, 0 when each step has one of its own. ``decrypted`` is the plain text of encrypted files
    that options name, by path: only Ansible's controller can decrypt them.
    """

    check: bool
    diff: bool
    progress: Callable[[str], None]
    process: int = 0
    decrypted: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(slots=True)
class Result:
    """What a step gives back. ``values`` is returned under the documented names, ``report`` is shown as it is.

    ``diff`` is ``None`` for steps that have none. ``failure`` makes the task fail although the step ran to its end.
    """

    changed: bool = False
    values: dict[str, Any] = field(default_factory=dict)
    diff: list[dict[str, str]] | None = None
    report: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    failure: str = ""

    def to_ansible(self) -> dict[str, Any]:
        """The result dictionary of a module."""
        result: dict[str, Any] = {"changed": self.changed, **self.values}
        if self.diff is not None:
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

    @property
    def RETURNS(self) -> Sequence[str] | Mapping[str, Sequence[str]]:  # noqa: N802
        """Names of all returned values, by ``state`` where that says what a step does."""

    def call(self, parameters: Parameters, invocation: Invocation) -> Result:
        """:raises AddonError: becomes a failed task with one line."""


def failed(entry_point: EntryPoint, parameters: Parameters, message: str) -> dict[str, Any]:
    """The result of a step that failed, as a module has it: the values of a success, none of them known.

    So a later task that reads one does not fail for a name that is not there, after ``ignore_errors`` or in a rescue.
    """
    names = entry_point.RETURNS
    if isinstance(names, Mapping):
        names = names.get(str(parameters.get("state")), ())
    nothing: dict[str, Any] = {name: [] if name == "diff" else None for name in names}
    return {"changed": False, **nothing, "failed": True, "msg": message}


def diff_of(items: list[PlanItem]) -> list[dict[str, str]]:
    """One Ansible diff per object; never one big pair, which costs minutes to print.

    Of long texts it is the diff that is cut, and says so: two texts that were cut could be equal. Of many objects those
    that matter most are shown, without their diffs when these become too much, and a last entry counts the others.
    """
    diffs: list[dict[str, str]] = []
    chosen, size = most_important(items, _DIFF_OBJECTS), 0
    for item in chosen:
        entries = [_diff_of(item) if size < _DIFF_CHARACTERS else {"prepared": f"{item.header}: {_TOO_MUCH}\n"}]
        if lines := _facts(item):
            entries.append({"prepared": "".join(f"{line}\n" for line in lines)})
        diffs += entries
        size += sum(len(text) for entry in entries for text in entry.values())
    if len(chosen) < len(items):
        diffs.append({"prepared": f"{_more(len(items) - len(chosen))}\n"})
    return diffs


def _diff_of(item: PlanItem) -> dict[str, str]:
    before, after = item.before, item.after
    if before == after or _too_long(before) or _too_long(after):
        return {"prepared": "".join(f"{line}\n" for line in _texts(item))}
    return {"before_header": item.header, "after_header": item.header, "before": before, "after": after}


def _too_long(text: str) -> bool:
    return text.count("\n") > _DIFF_LINES or any(len(line) > _LINE_CHARACTERS for line in text.split("\n"))


def diff_lines(items: list[PlanItem]) -> list[str]:
    """The same as plain lines, for a report; what bounds it is the number of objects, and of lines of each."""
    lines: list[str] = []
    chosen = most_important(items, _DIFF_OBJECTS)
    for item in chosen:
        lines += [*_texts(item), *_facts(item)]
    return [*lines, _more(len(items) - len(chosen))] if len(chosen) < len(items) else lines


def _texts(item: PlanItem) -> list[str]:
    """The lines of the diff, or the reason where there is none."""
    text = item.unified(_DIFF_LINES) or f"{item.header}{f': {item.reason}' if item.reason else ''}"
    return [cut(line, _LINE_CHARACTERS) for line in lines_of(text)]


def _facts(item: PlanItem) -> list[str]:
    """What applying does to the fields of others, and what the server warned of."""
    warnings = [f"warning: {printable(text)}" for text in item.warnings]
    return [f"  {line}" for line in (*ownership_lines(item, _FACTS_OF_A_SORT), *bounded(warnings, _FACTS_OF_A_SORT))]


def _more(count: int) -> str:
    return f"… {count} more objects change: addon_plan_file has them all, addon_preview_file what fits into its size"
