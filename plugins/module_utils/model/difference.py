"""What an apply would change in one object: as text for people, as a JSON patch for programs, secrets masked in both.

Compared are two states from the server (live, and the answer to a dry run), so that its defaults stand on both sides.
Lines of more than 500 characters (a dashboard as JSON in one line) are shown around their first difference.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .display import digest, display
from .keyed_hash import canonical_json
from .masking import Mask
from .names import LAST_APPLIED_ANNOTATION, OWNER_LABEL
from .objects import Manifest
from .wording import counted, lines_of

try:
    import jsonpatch
except ImportError:  # pragma: no cover  (the module's edge reports it)
    jsonpatch = None  # type: ignore[assignment]

_SET_BY_SERVER = frozenset({"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"})
_CONTEXT_LINES = 3
_LONGEST_LINE = 500
_LAST_LINE = len("… 1000000 more lines\n")
_BEGINNING = 80
_BEFORE_DIFFERENCE = 100
_FROM_DIFFERENCE = 200

_MOST_COMPARISONS = 10_000_000
"""Of lines with equal lines; beyond it (a second) what was not compared is shown as removed and added. Definitions of
resources of 9,000 lines need less than a million."""

Change = tuple[int, int, int, int]
"""Lines of the one text that became lines of the other: start and end in the one, start and end in the other."""


def comparable(manifest: Manifest) -> Manifest:
    """The object without what always differs: what the server sets, its status, our label, and kubectl's copy of it.

    Maps that this leaves empty are left out too. The rest is shared with the original, which stays as it is.
    """
    kept = {key: value for key, value in manifest.items() if key != "status"}
    metadata = kept.get("metadata")
    if not isinstance(metadata, dict):
        return kept
    metadata = {key: value for key, value in metadata.items() if key not in _SET_BY_SERVER}
    for part, ours in (("labels", OWNER_LABEL), ("annotations", LAST_APPLIED_ANNOTATION)):
        values = metadata.get(part)
        if isinstance(values, dict) and ours in values:
            metadata[part] = {key: value for key, value in values.items() if key != ours}
            if not metadata[part]:
                del metadata[part]
    kept["metadata"] = metadata
    if not metadata:
        del kept["metadata"]
    return kept


@dataclass(frozen=True, slots=True)
class Difference:
    """What to show of a change; everything is empty when there is none.

    :param before: YAML for people, masked, with sorted keys as ``kubectl get -o yaml`` shows it; empty for an absent
        object. Long lines and base64 are shortened in it.
    :param after: the same of the other state.
    :param patch: RFC 6902, masked, nothing shortened; an object that comes or goes as a whole is one operation on the
        path ``""``.
    """

    before: str
    after: str
    patch: list[dict[str, Any]]

    @property
    def changed(self) -> bool:
        return bool(self.patch) or self.before != self.after

    def unified(self, header: str, limit_lines: int | None = None, limit_characters: int | None = None) -> str:
        """A unified diff of the two texts, empty when nothing differs.

        :param header: what it is about, such as ``Deployment web/api``.
        :param limit_lines: the most lines below the header; a last line says how many more there were.
        :param limit_characters: the most characters of all of it; also cut between two lines.
        """
        if not self.changed:
            return ""
        head = [f"--- {header}", f"+++ {header}"]
        made = _unified(lines_of(self.before), lines_of(self.after))
        lines = list(itertools.islice(made, limit_lines))
        more = sum(1 for _ in made)
        if not lines and not more:
            lines = ["… differs only in characters that look the same"][:limit_lines]
            more = 1 - len(lines)
        if limit_characters is not None:
            ends = list(itertools.accumulate(len(line) + 1 for line in (*head, *lines)))
            room = limit_characters - (_LAST_LINE if ends[-1] > limit_characters or more else 0)
            kept = max(0, sum(1 for end in ends if end <= room) - len(head))
            more += max(0, len(lines) - kept)
            del lines[kept:]
        if more:
            lines.append(f"… {counted(more, 'more line')}")
        return "\n".join((*head, *lines)) + "\n"


def differs(before: Manifest, after: Manifest) -> bool:
    """Whether two states of an object differ in what is compared."""
    return not _equal(comparable(before), comparable(after))


def _equal(one: Any, other: Any) -> bool:
    """In Python True equals 1; in JSON they are different values."""
    return bool(one == other) and canonical_json(one) == canonical_json(other)


def difference(before: Manifest | None, after: Manifest | None, mask: Mask) -> Difference:
    """What leads from one state of an object to another, None being its absence.

    A secret value that changed still shows as changed. For equal states no text is made: most objects do not differ.
    """
    old, new = (None if state is None else comparable(state) for state in (before, after))
    if not _equal(old, new):
        old, new = (None if state is None else mask.object(state) for state in (old, new))
    if _equal(old, new):
        return Difference("", "", [])
    return Difference(*_shortened(_text(old), _text(new)), _patch(old, new))


def _text(manifest: Manifest | None) -> str:
    return "" if manifest is None else display(manifest)


def _patch(old: Manifest | None, new: Manifest | None) -> list[dict[str, Any]]:
    if old is None:
        return [{"op": "add", "path": "", "value": new}]
    if new is None:
        return [{"op": "remove", "path": ""}]
    operations: list[dict[str, Any]] = jsonpatch.make_patch(old, new).patch
    return operations


def _shortened(before: str, after: str) -> tuple[str, str]:
    """Both texts without long lines; two lines of which one became the other are shortened around what differs."""
    old, new = lines_of(before), lines_of(after)
    if max(map(len, itertools.chain(old, new)), default=0) <= _LONGEST_LINE:
        return before, after
    changes = _changes(old, new)
    shown_old, shown_new = [_beginning(line) for line in old], [_beginning(line) for line in new]
    for old_start, old_end, new_start, new_end in changes:
        # Two lines that begin alike must not come to look the same.
        shown_old[old_start:old_end] = [_beginning(line, told=True) for line in old[old_start:old_end]]
        shown_new[new_start:new_end] = [_beginning(line, told=True) for line in new[new_start:new_end]]
        for at, to in zip(range(old_start, old_end), range(new_start, new_end), strict=False):
            if max(len(old[at]), len(new[to])) > _LONGEST_LINE:
                same = _same_beginning(old[at], new[to])
                shown_old[at], shown_new[to] = _around(old[at], same), _around(new[to], same)
    return "".join(f"{line}\n" for line in shown_old), "".join(f"{line}\n" for line in shown_new)


def _beginning(line: str, told: bool = False) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    shown = line[: _BEFORE_DIFFERENCE + _FROM_DIFFERENCE]
    return f"{shown}… ({len(line)} characters{f', {digest(line)}' if told else ''})"


def _around(line: str, same: int) -> str:
    start, end = same - _BEFORE_DIFFERENCE, same + _FROM_DIFFERENCE
    beginning = line[:start] if start <= _BEGINNING else f"{line[:_BEGINNING]}…"
    rest = "…" if end < len(line) else ""
    told = f" ({len(line)} characters)" if len(line) > _LONGEST_LINE else ""
    return f"{beginning}{line[max(start, 0) : end]}{rest}{told}"


def _same_beginning(one: str, other: str) -> int:
    """How many characters; by halves, since the texts can be long."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _changes(before: list[str], after: list[str]) -> list[Change]:
    """Where two texts differ; difflib gets only the part between the first and the last line that differ."""
    shortest = min(len(before), len(after))
    head = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    tail = next((at for at in range(shortest - head) if before[-1 - at] != after[-1 - at]), shortest - head)
    matcher = _BoundedMatcher(before[head : len(before) - tail], after[head : len(after) - tail])
    return [
        (head + old_start, head + old_end, head + new_start, head + new_end)
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]


class _BoundedMatcher(difflib.SequenceMatcher[str]):
    """Finds no more equal lines once it has compared as many as it may.

    difflib takes quadratic time and more on texts with many equal lines, such as tables in a ConfigMap.
    """

    b2j: dict[str, list[int]]

    def __init__(self, before: list[str], after: list[str]) -> None:
        super().__init__(None, before, after)
        self._left = _MOST_COMPARISONS
        # What looking through the lines up to each one takes: it is compared with all lines that equal it.
        self._work = [0, *itertools.accumulate(1 + len(self.b2j.get(line, ())) for line in before)]

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        work = self._work[-1 if ahi is None else ahi] - self._work[alo]
        if work > self._left:
            return difflib.Match(alo, blo, 0)
        self._left -= work
        return super().find_longest_match(alo, ahi, blo, bhi)


def _unified(before: list[str], after: list[str]) -> Iterator[str]:
    """The hunks of a unified diff."""
    for hunk in _hunks(_changes(before, after)):
        old_start, _, new_start, _ = hunk[0]
        _, old_end, _, new_end = hunk[-1]
        lead, trail = min(_CONTEXT_LINES, old_start), min(_CONTEXT_LINES, len(before) - old_end)
        yield f"@@ -{_range(old_start - lead, old_end + trail)} +{_range(new_start - lead, new_end + trail)} @@"
        at = old_start - lead
        for old_start, old_end, new_start, new_end in hunk:
            yield from (f" {line}" for line in before[at:old_start])
            yield from (f"-{line}" for line in before[old_start:old_end])
            yield from (f"+{line}" for line in after[new_start:new_end])
            at = old_end
        yield from (f" {line}" for line in before[at : at + trail])


def _hunks(changes: list[Change]) -> Iterator[list[Change]]:
    """Changes whose surroundings meet belong together."""
    hunk: list[Change] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * _CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _range(start: int, end: int) -> str:
    """Lines of a hunk as diff writes them: an empty range begins at the line before it."""
    length = end - start
    return f"{start if length == 0 else start + 1},{length}"
