"""The ``ready`` entries of a definition: when objects of a kind count as ready, instead of what we know of the kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .json_path import JsonPath, as_text
from .objects import GroupKind, Manifest
from .shapes import mapping_of, mappings_of


@dataclass(frozen=True, slots=True)
class ReadyRule:
    """One entry. With neither ``condition`` nor ``path``, such objects are ready at once.

    :ivar group: ``None`` for the kind in whatever group.
    :ivar condition: type of a condition, in whatever case, as for kubectl.
    :ivar value: what the field has to be; ``None`` for anything.
    """

    kind: str
    group: str | None = None
    condition: str = ""
    path: JsonPath | None = None
    value: str | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> ReadyRule:
        """:raises ValueError: for a ``jsonPath`` that is none."""
        path = JsonPath.parse(entry["jsonPath"]) if "jsonPath" in entry else None
        return cls(entry["kind"], entry.get("group"), entry.get("condition", ""), path, entry.get("value"))

    @property
    def at_once(self) -> bool:
        return not self.condition and self.path is None

    def is_about(self, group_kind: GroupKind) -> bool:
        group, kind = group_kind
        return kind == self.kind and self.group in (None, group)

    def lacking(self, manifest: Manifest) -> str:
        """What the object lacks to be ready, empty when it is."""
        if self.condition:
            return self._condition_lacks(manifest)
        return self._field_lacks(self.path, manifest) if self.path else ""

    def _condition_lacks(self, manifest: Manifest) -> str:
        wanted = self.condition.casefold()
        conditions = mappings_of(mapping_of(manifest.get("status")).get("conditions"))
        found = next((one for one in conditions if str(one.get("type")).casefold() == wanted), None)
        if found is None:
            return f"it has no condition {self.condition} yet"
        generation, observed = manifest["metadata"].get("generation"), found.get("observedGeneration")
        if isinstance(generation, int) and isinstance(observed, int) and observed < generation:
            return "its controller has not seen the last change yet"
        if found.get("status") == "True":
            return ""
        told = found.get("message") or found.get("reason") or ""
        return f"{self.condition} is {found.get('status')}" + (f": {told}" if told else "")

    def _field_lacks(self, path: JsonPath, manifest: Manifest) -> str:
        values = path.values(manifest)
        if not values:
            return f"it has no {path.written} yet"
        if len(values) > 1:
            return f"{path.written} leads to {len(values)} fields"
        if self.value is None:
            return ""
        text = as_text(values[0])
        if text is None:
            return f"{path.written} is no single value"
        return "" if text.strip() == self.value.strip() else f"{path.written} is {text}, not {self.value}"


def rules_about(rules: Iterable[ReadyRule], group_kind: GroupKind) -> list[ReadyRule]:
    """Those for a kind. All of them have to hold."""
    return [rule for rule in rules if rule.is_about(group_kind)]
