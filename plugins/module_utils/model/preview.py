"""A whole preview as Markdown, for a comment at a pull request: never larger than asked for, and it says what was cut.

The same plans give the same text, so that a comment is only renewed when something changed. Everything that comes from
a repository or a cluster stands in code (see ``markdown``).
"""

from __future__ import annotations

import contextlib
import sys
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .layers import layer_lines
from .markdown import cell, code, fenced
from .objects import ObjectKey
from .plan import Plan, PlanItem, count_actions, count_simulated
from .review import (
    Review,
    ReviewedAddon,
    bounded,
    foremost,
    grouped_warnings,
    importance,
    ownership_lines,
    told_items,
)
from .wording import counted, lines_of, listed

SMALLEST = 500
"""Bytes that hold at least what was cut; a smaller size makes no sense."""

DEFAULT_SIZE = 60_000
"""A comment on GitHub takes 65,536 characters."""

MARKER = "<!-- rendimiento.addons: preview -->"
"""The first line, by which a program finds its comment again."""

_ACTION_WORDS = {
    "prune": "prune (deletes it)",
    "replace": "replace (deletes it and makes it anew)",
    "adopt": "adopt (label and field ownership only)",
}
_VERDICT_WORDS = {
    "proven": "proven by what the record says",
    "verified": "verified by the server",
    "simulated": "simulated, the server could not check it yet",
    "unknown": "unknown, it could not be checked",
}
_GATE_WORDS = {
    "refused": "Refused, an object can't be applied or could not be checked",
    "hooks": "Held back, it has hooks that can't be run",
    "adoption": "Held back, it would take over or change what runs already",
    "manual-sync": "Waits for somebody to ask for a sync",
}

_ACTIONS = ("prune", "replace", "blocked", "adopt", "update", "create", "keep", "unchanged")
_WHY_CHARACTERS = (120, 40, 0)
_LINES_OF_A_SORT = 10
_FIRST_DIFF_LINES = 30
_DIFF_LINES = (1000, 300, 100)
_HEADS_SHARE = 0.5
_SMALLEST_DIFF = 80
_NAMED_WHEN_HIDDEN = 20


def markdown_preview(review: Review, size: int) -> str:
    """The preview, in at most ``size`` bytes of UTF-8 (at least ``SMALLEST``), or whole if ``size`` is 0."""
    kept_bytes = 2 * size if size else sys.maxsize
    sections = [section for addon in review.addons if (section := _Section.of(addon, kept_bytes))]
    intro = _intro(review)
    if not size:
        for section in sections:
            section.visible = True
            for entry in section.entries:
                section.show(entry)
                section.show_diff(entry, entry.diff(), entry.lines)
        table = _table(review, _numbers_by_addon(review), _WHY_CHARACTERS[0], len(review.addons))
        return _joined([*intro, *table, *_texts(sections)])
    budget = _Budget(size, sections)
    base = _fitting_base(review, intro, budget)
    budget.base = _size(base)
    budget.fill()
    names = [text for section in sections for text in budget.names_of_hidden(section)]
    statement = [text for text in [budget.statement()] if text]
    return _joined([*base, *statement, *_texts(sections), *names])


def _intro(review: Review) -> list[str]:
    tense = "Preview of the add-ons" if review.check else "What was planned for the add-ons"
    cluster = f"cluster {code(review.server, 100)} ({code(review.server_version, 30)})"
    if review.context:
        cluster += f", context {code(review.context, 100)}"
    where = f"Commit {code(review.commit, 64)}, {cluster}."
    if not review.comparable:
        where += " The cluster has no key yet: stand-ins for secrets are made for this run alone."
    return [f"{MARKER}\n## {tense}", where, _headline(review), *_notes_of_run(review)]


def _headline(review: Review) -> str:
    """In one line, whether anything would change."""
    pending = [addon for addon in review.addons if addon.pending]
    broken = sum(1 for addon in review.addons if addon.plan is None and addon.outcome.error) + len(review.invalid)
    errors = f" **{counted(broken, 'add-on')} could not be planned.**" if broken else ""
    would = "would change" if review.check else "had changes"
    if not pending:
        return errors.strip() or ("Nothing would change." if review.check else "There was nothing to change.")
    items = [item for addon in pending if addon.plan for item in addon.plan.items]
    counts = _counts(items)
    return f"**{len(pending)} of {counted(len(review.addons), 'add-on')} {would}**: {counts}.{errors}"


def _notes_of_run(review: Review) -> list[str]:
    lines = [f"- Definition file: {code(reason, 500)}" for reason in review.invalid]
    lines += [f"- Warning: {code(text, 500)}" for text in review.warnings]
    return ["\n".join(bounded(lines, _LINES_OF_A_SORT))] if lines else []


def _counts(items: Sequence[PlanItem]) -> str:
    """Such as ``**1 prune**, 3 update, 12 unchanged``; what is lost stands out."""
    counts = _numbers(items)
    texts = [
        f"**{counts[action]} {action}**" if action in ("prune", "replace", "blocked") else f"{counts[action]} {action}"
        for action in _ACTIONS
        if counts[action]
    ]
    texts += [f"{counts['simulated']} simulated"] if counts["simulated"] else []
    texts += [f"**{counts['unknown']} unknown**"] if counts["unknown"] else []
    return ", ".join(texts) or "no objects"


def _numbers(items: Sequence[PlanItem]) -> Counter[str]:
    """How many items there are per action, and how many are simulated or unknown."""
    return Counter({**count_actions(items), "simulated": count_simulated(items)})


# The table


def _table(review: Review, numbers: dict[str, Counter[str]], why: int, most: int) -> list[str]:
    """One row per add-on, as many as ``most``: those with something to tell stay, the others are counted below.

    :param numbers: of each row by column, see ``_numbers_by_addon``.
    :param why: characters of the last column, 0 for none.
    """
    if not review.addons:
        return ["There are no add-ons."]
    why = why if any(addon.why for addon in review.addons) else 0
    addons = foremost(review.addons, lambda addon: not _tells(addon), most)
    columns = [name for name in (*_ACTIONS, "simulated", "unknown") if any(row[name] for row in numbers.values())]
    rows = [["add-on", "phase", *columns, *(["why"] if why else [])]]
    rows.append(["---", "---", *("--:" for _ in columns), *(["---"] if why else [])])
    for addon in addons:
        cells = [str(numbers[addon.name][name] or "") for name in columns]
        reason = [cell(addon.why, why) if addon.why else ""] if why else []
        rows.append([cell(addon.name, 63), cell(addon.phase, 20) if addon.phase else "", *cells, *reason])
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    left = len(review.addons) - len(addons)
    if not left:
        return [text]
    telling = sum(1 for addon in review.addons if _tells(addon)) - sum(1 for addon in addons if _tells(addon))
    return [text, f"**Cut**: {counted(left, 'more add-on')}, {telling} of them with something to tell."]


def _tells(addon: ReviewedAddon) -> bool:
    return addon.pending or bool(addon.outcome.error or addon.outcome.skipped)


def _numbers_by_addon(review: Review) -> dict[str, Counter[str]]:
    """The numbers of each row by column."""
    return {addon.name: _numbers(addon.plan.items if addon.plan else []) for addon in review.addons}


def _fitting_base(review: Review, intro: list[str], budget: _Budget) -> list[str]:
    """What always stands there: the intro and as much of the table as fits beside what says that all else was cut."""

    def fits(texts: list[str]) -> bool:
        return _size(texts) + budget.rest() <= budget.size

    numbers, cut = _numbers_by_addon(review), "**Cut**: the table of the add-ons."
    for why in _WHY_CHARACTERS:
        base = [*intro, *_table(review, numbers, why, len(review.addons))]
        if fits(base):
            return base
    title, where, headline, *notes = intro
    short = [title, where, headline, *(["**Cut**: notes and warnings of the run."] if notes else [])]

    def with_rows(most: int) -> list[str]:
        return [*short, *_table(review, numbers, 0, most)]

    most = bisect_left(range(1, len(review.addons) + 1), True, key=lambda most: not fits(with_rows(most)))
    shortest = [title, headline, cut]
    return with_rows(most) if most else shortest if fits(shortest) else [title, cut]


# One add-on


@dataclass(slots=True)
class _Entry:
    """One object: what is always told of it, and how many lines its diff has; ``text`` is what is shown of that.

    ``kept`` is the diff, if it is likely to be shown; those of all objects would be a second copy of everything.
    """

    item: PlanItem
    head: str
    lines: int
    kept: list[str] | None = None
    visible: bool = False
    shown: int = 0
    text: str = ""

    def diff(self) -> list[str]:
        return _diff(self.item) if self.kept is None else self.kept


@dataclass(slots=True)
class _Section:
    """What is told of one add-on, and how much of it is visible; ``entries`` are in order of importance."""

    title: str
    header: str
    entries: list[_Entry]
    visible: bool = False
    bytes: int = 0
    hidden: Counter[str] = field(default_factory=Counter)
    hidden_lines: int = 0
    shortened: int = 0
    shortened_lines: int = 0

    @classmethod
    def of(cls, addon: ReviewedAddon, kept_bytes: int) -> _Section | None:
        """``None`` for an add-on of which the table says everything; ``kept_bytes`` of diffs are not made twice."""
        items = told_items(addon.plan) if addon.plan else []
        kept = addon.plan.with_action("keep") if addon.plan and items else []
        apart, own = _warnings(addon, items)
        header = _header(addon, apart)
        if not header and not items:
            return None
        ranked = sorted(items, key=importance)
        entries = []
        for item in [*ranked, *kept]:
            diff = _diff(item)
            kept_bytes -= sum(map(len, diff))
            entries.append(
                _Entry(item, _head(item, own.get(item.key, [])), len(diff), diff if kept_bytes >= 0 else None)
            )
        title = code(addon.name, 63)
        made = cls(title, "\n\n".join([f"### {title}", *header]), entries)
        made.hidden.update(entry.item.action for entry in entries)
        made.hidden_lines = sum(entry.lines for entry in entries)
        return made

    def show(self, entry: _Entry) -> None:
        self._turn(entry, 1)

    def hide(self, entry: _Entry) -> None:
        self._turn(entry, -1)

    def _turn(self, entry: _Entry, step: int) -> None:
        entry.visible = step > 0
        self.hidden[entry.item.action] -= step
        self.hidden_lines -= step * entry.lines
        if entry.lines:
            self.shortened += step
            self.shortened_lines += step * entry.lines
        self.bytes += step * _size([entry.head])

    def show_diff(self, entry: _Entry, lines: list[str], most: int) -> None:
        """Show so many of the lines of its diff with a visible object, 0 for none of it."""
        self.bytes -= _size([entry.text]) if entry.text else 0
        self.shortened -= entry.shown < entry.lines
        self.shortened_lines += entry.shown
        entry.shown = min(most, entry.lines)
        entry.text = _details(lines, entry.shown) if entry.shown else ""
        self.shortened += entry.shown < entry.lines
        self.shortened_lines -= entry.shown
        self.bytes += _size([entry.text]) if entry.text else 0

    def statement(self) -> str:
        """What is missing here."""
        parts = []
        if hidden := self.hidden.total():
            actions = ", ".join(f"{self.hidden[action]} {action}" for action in _ACTIONS if self.hidden[action])
            parts.append(f"{counted(hidden, 'object')} ({actions}; {counted(self.hidden_lines, 'line')} of diff)")
        if self.shortened:
            parts.append(
                f"{counted(self.shortened_lines, 'line')} of the diffs of {counted(self.shortened, 'object')} above"
            )
        return f"**Cut** in {self.title}: {'; '.join(parts)}." if parts else ""

    def size(self) -> int:
        return self.bytes + _size([self.header]) + _size([self.statement()]) if self.visible else 0

    def texts(self) -> list[str]:
        shown = [text for entry in self.entries if entry.visible for text in (entry.head, entry.text) if text]
        return [text for text in (self.header, *shown, self.statement()) if text]


def _texts(sections: list[_Section]) -> list[str]:
    return [text for section in sections if section.visible for text in section.texts()]


def _header(addon: ReviewedAddon, warnings: list[str]) -> list[str]:
    """Paragraphs about the add-on itself: what holds it back and why, counts, warnings."""
    outcome, plan = addon.outcome, addon.plan
    texts = []
    if plan and plan.gate:
        texts.append(f"**{_gate_words(plan)}**: {code(plan.gate_reason)}")
        if rows := plan.rights.rows():
            texts.append("\n".join(["Missing rights:", "", *_bullets(rows)]))
    if outcome.phase == "Suspended" and addon.pending:
        texts.append(f"**Left alone**: {code(outcome.message)}. What follows is what a sync would do otherwise.")
    if outcome.skipped:
        texts.append(f"**Skipped**: {code(outcome.skipped)}")
    if outcome.error and not (plan and outcome.error == plan.gate_reason):
        texts.append(f"**Error**: {code(outcome.error)}")
    elif plan is None and outcome.message:
        texts.append(code(outcome.message))
    if plan and addon.pending:
        gone = f" {counted(len(plan.gone), 'object')} of its inventory no longer exist." if plan.gone else ""
        texts.append(f"{_counts(plan.items)}.{gone}")
        order = layer_lines(plan.changes, lambda key: code(str(key), 300))
        if len(order) > 1:
            texts.append("\n".join(["Order of applying:", "", *(f"- {line}" for line in order)]))
    return [*texts, "\n".join(warnings)] if warnings else texts


def _gate_words(plan: Plan) -> str:
    return "Refused, rights are missing" if plan.rights.missing else _GATE_WORDS[plan.gate]


def _bullets(rows: list[tuple[str, str, str, str]]) -> list[str]:
    lines = [f"- {code(f'{verbs} {kind}')} in {code(place)}, to {code(why, 300)}" for verbs, kind, place, why in rows]
    return bounded(lines, _LINES_OF_A_SORT)


def _warnings(addon: ReviewedAddon, shown: list[PlanItem]) -> tuple[list[str], dict[ObjectKey, list[str]]]:
    """Warnings that stand in the header, and those that stand at the one object that they are about."""
    lines = bounded([f"- The render warns: {code(text, 500)}" for text in addon.warnings], _LINES_OF_A_SORT)
    own: dict[ObjectKey, list[str]] = {}
    apart = []
    keys_shown = {item.key for item in shown}
    for text, keys in grouped_warnings(addon.plan.items if addon.plan else []).items():
        if len(keys) == 1 and keys[0] in keys_shown:
            own.setdefault(keys[0], []).append(text)
        else:
            about = listed([code(str(key), 300) for key in keys], 3)
            apart.append(f"- Warning: {code(text, 500)} ({about})")
    return [*lines, *bounded(apart, _LINES_OF_A_SORT)], own


# One object


def _head(item: PlanItem, warnings: list[str]) -> str:
    reason = f": {code(item.reason, 1000)}" if item.reason else ""
    line = f"**{_ACTION_WORDS.get(item.action, item.action)}** {code(str(item.key), 400)}, {_verdict(item)}{reason}"
    facts = [f"- {code(line, 400)}" for line in ownership_lines(item, _LINES_OF_A_SORT)]
    facts += bounded([f"- Warning: {code(text, 500)}" for text in warnings], _LINES_OF_A_SORT)
    return "\n\n".join([line, "\n".join(facts)] if facts else [line])


def _verdict(item: PlanItem) -> str:
    if item.action == "keep" and item.verdict != "unknown":
        return "it stays"
    return _VERDICT_WORDS[item.verdict]


def _diff(item: PlanItem) -> list[str]:
    """The lines of the diff below its two headers."""
    return lines_of(item.unified())[2:]


def _details(lines: list[str], most: int) -> str:
    """The diff, folded; closed whatever is cut of it."""
    more = len(lines) - most
    count = f"{most} of {len(lines)} lines" if more > 0 else counted(len(lines), "line")
    shown = [*lines[:most], f"… {counted(more, 'more line')}"] if more > 0 else lines
    return f"<details><summary>diff, {count}</summary>\n\n{fenced(shown, 'diff')}\n\n</details>"


# What fits


@dataclass(slots=True)
class _Budget:
    """Decides what is visible. Each step is measured, with the text on what is missing, and undone if too large.

    What is missing and what is shown is counted along: adding it all up at each step takes quadratic time.
    """

    size: int
    sections: list[_Section]
    base: int = 0
    named: int = 0
    _absent: list[int] = field(default_factory=list)
    _objects: int = 0
    _hidden_lines: int = 0
    _shortened: int = 0
    _shortened_lines: int = 0
    _bytes: int = 0

    def __post_init__(self) -> None:
        self._absent = [number for number, section in enumerate(self.sections) if not section.visible]
        for section in self.sections:
            self._count(section, 1)

    def _count(self, section: _Section, sign: int) -> None:
        self._objects += sign * section.hidden.total()
        self._hidden_lines += sign * section.hidden_lines
        self._shortened += sign * section.shortened
        self._shortened_lines += sign * section.shortened_lines
        self._bytes += sign * section.size()

    @contextlib.contextmanager
    def _changing(self, section: _Section) -> Iterator[None]:
        self._count(section, -1)
        yield
        self._count(section, 1)

    def statement(self) -> str:
        """What is missing, all in all; empty if nothing is."""
        absent, objects, shortened = len(self._absent), self._objects, self._shortened
        if not (absent or objects or shortened):
            return ""
        first = [self.sections[number].title for number in self._absent[:3]] if self.size >= 4 * SMALLEST else []
        more = f" ({', '.join(first)}{f' and {absent - 3} more' if absent > 3 else ''})" if first else ""
        parts = [f"the text about {counted(absent, 'add-on')}{more}"] if absent else []
        parts += [f"{counted(objects, 'object')} with {counted(self._hidden_lines, 'line')} of diff"] if objects else []
        lines = counted(self._shortened_lines, "line")
        parts += [f"{lines} of the diffs of {counted(shortened, 'object')}"] if shortened else []
        return f"**Cut to {self.size} bytes.** Not shown: {'; '.join(parts)}."

    def rest(self) -> int:
        """Bytes of all but the base."""
        return _size([self.statement()]) + self._bytes

    def fits(self, size: int | None = None) -> bool:
        return self.base + self.rest() <= (self.size if size is None else size)

    def fill(self) -> None:
        """Add-ons first, then objects, then their diffs; of each the most important ones first."""
        for number in range(len(self.sections)):
            self._turn(number, True)
            if not self.fits():
                self._turn(number, False)
        visible = [(section, entry) for section in self.sections if section.visible for entry in section.entries]
        ranked = sorted(visible, key=lambda pair: importance(pair[1].item))
        used = self.base + self.rest()
        self._show(ranked, used + int((self.size - used) * _HEADS_SHARE))
        self._show_diffs(ranked, lambda _entry: (_FIRST_DIFF_LINES,))
        self._show(ranked, self.size)
        self._show_diffs(ranked, lambda _entry: (_FIRST_DIFF_LINES,))
        self._show_diffs(ranked, lambda entry: (entry.lines, *_DIFF_LINES))

    def _turn(self, number: int, visible: bool) -> None:
        """Show a whole add-on, or not."""
        section = self.sections[number]
        with self._changing(section):
            section.visible = visible
        if visible:
            del self._absent[bisect_left(self._absent, number)]
        else:
            insort(self._absent, number)

    def _show(self, ranked: list[tuple[_Section, _Entry]], size: int) -> None:
        for section, entry in ranked:
            if not entry.visible:
                with self._changing(section):
                    section.show(entry)
                if not self.fits(size):
                    with self._changing(section):
                        section.hide(entry)

    def _show_diffs(self, ranked: list[tuple[_Section, _Entry]], sizes_of: Callable[[_Entry], tuple[int, ...]]) -> None:
        """Show as much of each diff as fits, of these numbers of lines, if that is more than now."""
        for section, entry in ranked:
            if not entry.visible or entry.shown >= entry.lines:
                continue
            if self.size - self.base - self.rest() < _SMALLEST_DIFF:
                return
            before = entry.shown
            larger = [most for most in sizes_of(entry) if most > before]
            if not larger:
                continue
            lines = entry.diff()
            for most in larger:
                with self._changing(section):
                    section.show_diff(entry, lines, most)
                if self.fits():
                    break
            else:
                with self._changing(section):
                    section.show_diff(entry, lines, before)

    def names_of_hidden(self, section: _Section) -> list[str]:
        """Some of the objects that are not shown, if there is room left to name them."""
        hidden = (entry for entry in section.entries if not entry.visible) if section.visible else ()
        names = [code(str(entry.item.key), 300) for entry in hidden]
        for most in (_NAMED_WHEN_HIDDEN, 5, 1):
            text = f"Not shown of {section.title}: {listed(names, most)}"
            if names and self.base + self.rest() + self.named + _size([text]) <= self.size:
                self.named += _size([text])
                return [text]
        return []


def _size(texts: Iterable[str]) -> int:
    """Bytes of these paragraphs, each with the empty line behind it."""
    return sum(len(text.encode()) + 2 for text in texts if text)


def _joined(texts: list[str]) -> str:
    return "\n\n".join(text for text in texts if text) + "\n"
