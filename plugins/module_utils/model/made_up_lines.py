"""Where two renders of one text differ, and what the cluster's text has in these places.

Kept as a whole, a configuration file with one random line would never take a change of its other lines again. So the
lines that both renders share are the author's, the runs between them are *holes*, and a hole is filled from the
cluster's text: found by what the line itself has beside the random part, else by the lines around it. A certificate or
key in PEM form is one line: two of them have lines alike (names, the time when both were made) that a third has not.
The elements of a list of texts are lines, too.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

MARKER = "rendimiento.ai/made-up"
"""Stands for what is made up, in what is only compared."""

_MOST_COMPARISONS = 20_000_000
"""Of lines with lines; beyond it (some seconds) only what two texts begin and end with alike is found."""

_MOST_HOLES = 200
"""A text of which more is made up is one hole."""

_RANDOM = r"\w+/.~$%-"
"""What random words are made of: where one begins is never between two of these."""
_BEGINS_RANDOM = re.compile(rf"^[{_RANDOM}]*")
_ENDS_RANDOM = re.compile(rf"[{_RANDOM}]*$")
_BEGINS_PEM = re.compile(r"-----BEGIN ([^-\n]{1,60})-----\s")
_LONGEST_PEM = 65_536
_LAST_WORD = re.compile(r"[\w.-]*[^\w.-]+$")


@dataclass(frozen=True, slots=True)
class _Hole:
    """A run of lines as the two renders have it; of single ones also what they begin and end with alike."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""

    @property
    def named(self) -> bool:
        return bool(re.search(r"\w", self.prefix + self.suffix))

    def is_in(self, line: str) -> bool:
        inside = len(line) > len(self.prefix) + len(self.suffix)
        return inside and line.startswith(self.prefix) and line.endswith(self.suffix)

    def taken_from(self, line: str) -> str | None:
        """The line with the made-up part of one whose other parts were changed since, ``None`` where that isn't it."""
        before = None if "\n" in self.first[0] else _LAST_WORD.search(self.prefix)
        if not before or not re.search(r"\w", before[0]) or line.count(before[0]) != 1:
            return None
        start = line.index(before[0]) + len(before[0])
        end = line.find(self.suffix[0], start) if self.suffix else -1
        part = line[start:end] if end >= 0 else line[start:]
        return f"{self.prefix}{part}{self.suffix}" if part else None


def lines_of(text: str) -> list[str]:
    """The lines of a text, to be joined again by line breaks."""
    lines: list[str] = [""]
    position = 0

    def split(end: int | None) -> None:
        first, *others = text[position:end].split("\n")
        lines[-1] += first
        lines.extend(others)

    for begin in _BEGINS_PEM.finditer(text):
        ending = f"-----END {begin[1]}-----"
        end = text.find(ending, begin.end(), begin.end() + _LONGEST_PEM)
        if end >= 0 and begin.start() >= position:
            split(begin.start())
            position = end + len(ending)
            lines[-1] += text[begin.start() : position]
    split(None)
    return lines


def constant_lines(first: list[str], second: list[str]) -> list[str]:
    """What is the same whichever two renders are compared, in whichever order: a marker stands for each hole."""
    # Of lines that repeat themselves, others are found when the two change places.
    template = _template(*sorted((first, second)))
    return [item if isinstance(item, str) else f"{item.prefix}{MARKER}{item.suffix}" for item in template]


def filled_lines(first: Sequence[str], second: Sequence[str], live: Sequence[str]) -> tuple[list[str], bool]:
    """The first render with its holes filled from ``live``, and whether one was; others stay as rendered."""
    template = _template(first, second)
    filler = _Filler(template, live)
    lines: list[str] = []
    for number, item in enumerate(template):
        if isinstance(item, str):
            lines.append(item)
        else:
            lines += filler.found.get(number, item.first)
    return lines, bool(filler.found)


class _Filler:
    """Looks for the holes of a template in a text; ``found`` has the lines by the hole's number in the template."""

    def __init__(self, template: Sequence[str | _Hole], live: Sequence[str]) -> None:
        self._template = template
        self._live = live
        self.found: dict[int, list[str]] = {}
        places = _pairs(template, live)
        self._free = set(range(len(live))) - {place for _number, place in places}
        regions = list(self._regions(places))
        for numbers, window in regions:
            self._by_name(numbers, window)
        for numbers, window in regions:
            self._by_name_elsewhere(numbers, window)
        for numbers, window in regions:
            self._by_place(numbers, window)

    def _regions(self, places: list[tuple[int, int]]) -> Iterator[tuple[list[int], range]]:
        """What stands between two lines that both have, in the template and in the text."""
        number = place = -1
        for next_number, next_place in [*places, (len(self._template), len(self._live))]:
            numbers = list(range(number + 1, next_number))
            if any(isinstance(self._template[one], _Hole) for one in numbers):
                yield numbers, range(place + 1, next_place)
            number, place = next_number, next_place

    def _missing(self, numbers: list[int]) -> Iterator[tuple[int, _Hole]]:
        for number in numbers:
            item = self._template[number]
            if isinstance(item, _Hole) and number not in self.found:
                yield number, item

    def _take(self, number: int, places: Sequence[int], lines: list[str] | None = None) -> None:
        self.found[number] = [self._live[place] for place in places] if lines is None else lines
        self._free -= set(places)

    def _by_name(self, numbers: list[int], window: range) -> None:
        """In their order: several holes may look alike."""
        start = window.start
        for number, hole in list(self._missing(numbers)):
            if hole.named:
                found = (place for place in range(start, window.stop) if hole.is_in(self._live[place]))
                place = next(found, None)
                if place is not None:
                    self._take(number, [place])
                    start = place + 1

    def _by_name_elsewhere(self, numbers: list[int], window: range) -> None:
        """The line was moved, or its other parts were changed; only where there is no doubt."""
        for number, hole in list(self._missing(numbers)):
            if not hole.named:
                continue
            moved = [place for place in sorted(self._free) if hole.is_in(self._live[place])]
            if len(moved) == 1:
                self._take(number, moved)
                continue
            near = {place: hole.taken_from(self._live[place]) for place in window if place in self._free}
            changed = [(place, line) for place, line in near.items() if line is not None]
            if len(changed) == 1:
                self._take(number, [changed[0][0]], [changed[0][1]])

    def _by_place(self, numbers: list[int], window: range) -> None:
        missing = list(self._missing(numbers))
        left = [place for place in window if place in self._free]
        pending = [number for number in numbers if number not in self.found]
        if len(pending) == len(missing) == 1:
            number, hole = missing[0]
            if left or not (hole.first and hole.second):
                self._take(number, left)
            return
        # Either the other lines between were changed, or they are new.
        for taking in (pending, [number for number, _hole in missing]):
            sizes = [self._size(number) for number in taking]
            if sum(sizes) == len(left):
                for number, size in zip(taking, sizes, strict=True):
                    if isinstance(self._template[number], _Hole):
                        self._take(number, left[:size])
                    left = left[size:]
                return

    def _size(self, number: int) -> int:
        item = self._template[number]
        return len(item.first) if isinstance(item, _Hole) else 1


def _template(first: Sequence[str], second: Sequence[str]) -> list[str | _Hole]:
    items: list[str | _Hole] = []
    start, other = 0, 0
    for place, opposite in [*_pairs(first, second), (len(first), len(second))]:
        items += _holes(first[start:place], second[other:opposite])
        items += first[place : place + 1]
        start, other = place + 1, opposite + 1
    if sum(isinstance(item, _Hole) for item in items) > _MOST_HOLES:
        return [_Hole(tuple(first), tuple(second))]
    return items


def _holes(first: Sequence[str], second: Sequence[str]) -> list[_Hole]:
    """One for each line where the lines say what they are, as ``password: …`` does, else one for all."""
    if not first and not second:
        return []
    if len(first) == len(second):
        single = [_single(*lines) for lines in zip(first, second, strict=True)]
        if all(hole.named for hole in single):
            return single
    return [_Hole(tuple(first), tuple(second))]


def _single(first: str, second: str) -> _Hole:
    """What two random words have in common by chance doesn't count."""
    if "\n" in first and "\n" in second:
        begin, end = (first.split("\n")[place] for place in (0, -1))
        same = second.startswith(f"{begin}\n") and second.endswith(f"\n{end}")
        return _Hole((first,), (second,), f"{begin}\n" if same else "", f"\n{end}" if same else "")
    prefix = _ENDS_RANDOM.sub("", _common_start(first, second))
    ends = (line[len(prefix) :][::-1] for line in (first, second))
    suffix = _BEGINS_RANDOM.sub("", _common_start(*ends)[::-1])
    return _Hole((first,), (second,), prefix, suffix)


def _common_start(first: str, second: str) -> str:
    pairs = enumerate(zip(first, second, strict=False))
    return first[: next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))]


def _pairs(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Places of equal lines in both, in order."""
    head, most = 0, min(len(first), len(second))
    while head < most and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < most - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    inside, other = first[head : len(first) - tail], second[head : len(second) - tail]
    found = [(place, place) for place in range(head)]
    counted = Counter(other)
    if sum(counted[line] for line in inside) * min(len(inside), len(other)) <= _MOST_COMPARISONS:
        for block in difflib.SequenceMatcher(None, inside, other, autojunk=False).get_matching_blocks():
            found += [(head + block.a + step, head + block.b + step) for step in range(block.size)]
    return found + [(len(first) - step, len(second) - step) for step in range(tail, 0, -1)]
