"""What an apply would change in one object: as text for people, as a JSON patch for programs, secrets masked in both.

Compared are two states from the server (live, and the answer to a dry run), so that its defaults stand on both sides.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .keyed_hash import canonical_json
from .masking import Mask
from .names import OWNER_LABEL
from .objects import Manifest
from .yaml_documents import dump_yaml

try:
    import jsonpatch
except ImportError:  # pragma: no cover  (the module's edge reports it)
    jsonpatch = None  # type: ignore[assignment]

_SET_BY_SERVER = frozenset({"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"})
_CONTEXT_LINES = 3


def comparable(manifest: Manifest) -> Manifest:
    """The object without what always differs: what the server sets, its status, and our label.

    Maps that this leaves empty are left out too. The rest is shared with the original, which stays as it is.
    """
    kept = {key: value for key, value in manifest.items() if key != "status"}
    metadata = kept.get("metadata")
    if not isinstance(metadata, dict):
        return kept
    metadata = {key: value for key, value in metadata.items() if key not in _SET_BY_SERVER}
    labels = metadata.get("labels")
    if isinstance(labels, dict) and OWNER_LABEL in labels:
        labels = {key: value for key, value in labels.items() if key != OWNER_LABEL}
        metadata["labels"] = labels
        if not labels:
            del metadata["labels"]
    kept["metadata"] = metadata
    if not metadata:
        del kept["metadata"]
    return kept


@dataclass(frozen=True, slots=True)
class Difference:
    """What to show of a change; everything is empty when there is none.

    :param before: YAML, masked, with sorted keys as ``kubectl get -o yaml`` shows it; empty for an absent object.
    :param after: the same of the other state.
    :param patch: RFC 6902; an object that comes or goes as a whole is one operation on the path ``""``.
    """

    before: str
    after: str
    patch: list[dict[str, Any]]

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def unified(self, header: str, limit_lines: int | None = None) -> str:
        """A unified diff of the two texts, empty when nothing differs.

        :param header: what it is about, such as ``Deployment web/api``.
        :param limit_lines: the most lines below the header; a last line says how many more there were.
        """
        if not self.changed:
            return ""
        lines = list(_unified(_lines(self.before), _lines(self.after)))
        if limit_lines is not None and len(lines) > limit_lines:
            lines[limit_lines:] = [f"… {len(lines) - limit_lines} more lines"]
        return "\n".join((f"--- {header}", f"+++ {header}", *lines)) + "\n"


def difference(before: Manifest | None, after: Manifest | None, mask: Mask) -> Difference:
    """What leads from one state of an object to another, None being its absence.

    A secret value that changed still shows as changed. For equal states no text is made: most objects do not differ.
    """
    old = None if before is None else mask.object(comparable(before))
    new = None if after is None else mask.object(comparable(after))
    # In Python True equals 1; in JSON they are different values.
    if old == new and canonical_json(old) == canonical_json(new):
        return Difference("", "", [])
    return Difference(_text(old), _text(new), _patch(old, new))


def _text(manifest: Manifest | None) -> str:
    return "" if manifest is None else dump_yaml(manifest, sort_keys=True)


def _patch(old: Manifest | None, new: Manifest | None) -> list[dict[str, Any]]:
    if old is None:
        return [{"op": "add", "path": "", "value": new}]
    if new is None:
        return [{"op": "remove", "path": ""}]
    operations: list[dict[str, Any]] = jsonpatch.make_patch(old, new).patch
    return operations


def _lines(text: str) -> list[str]:
    """``splitlines`` would also split at the line separators of Unicode, which may stand within a value."""
    return text.removesuffix("\n").split("\n") if text else []


def _unified(before: list[str], after: list[str]) -> Iterator[str]:
    """The hunks of a unified diff.

    difflib takes quadratic time on texts with many equal lines, which YAML is: it gets only the part between the
    first and the last line that differ.
    """
    if not before or not after:
        yield f"@@ -{_range(0, len(before))} +{_range(0, len(after))} @@"
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    shortest = min(len(before), len(after))
    head = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    tail = next((at for at in range(shortest - head) if before[-1 - at] != after[-1 - at]), shortest - head)
    start, tail = max(head - _CONTEXT_LINES, 0), max(tail - _CONTEXT_LINES, 0)
    old, new = before[start : len(before) - tail], after[start : len(after) - tail]
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT_LINES):
        old_range = _range(start + group[0][1], start + group[-1][2])
        new_range = _range(start + group[0][3], start + group[-1][4])
        yield f"@@ -{old_range} +{new_range} @@"
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[old_start:old_end])
            else:
                yield from (f"-{line}" for line in old[old_start:old_end])
                yield from (f"+{line}" for line in new[new_start:new_end])


def _range(start: int, end: int) -> str:
    """Lines of a hunk as diff writes them: an empty range begins at the line before it."""
    length = end - start
    return f"{start if length == 0 else start + 1},{length}"
