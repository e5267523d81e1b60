"""The states of an add-on's objects before and after a sync, shown only when all secrets among them are known.

What one object shows may be the secret of another: a password in a Secret, and in a ConfigMap as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..model.masking import Mask
from ..model.objects import Manifest, ObjectKey
from ..model.plan import PlanItem, SharedField, Takeover, YieldedField


@dataclass
class States:
    """Filled by several threads, each with objects of its own."""

    _states: dict[ObjectKey, tuple[Manifest | None, Manifest | None]] = field(default_factory=dict)
    _with_secrets: list[Manifest] = field(default_factory=list)

    def know(self, *manifests: Manifest | None) -> None:
        """Secrets of these are hidden, whether or not something is shown of them."""
        self._with_secrets += [manifest for manifest in manifests if manifest is not None]

    def note(self, key: ObjectKey, before: Manifest | None, after: Manifest | None) -> None:
        self._states[key] = (before, after)

    def of(self, key: ObjectKey) -> tuple[Manifest | None, Manifest | None]:
        return self._states.get(key, (None, None))

    def show(self, items: Iterable[PlanItem], mask: Mask, manifests: Iterable[Manifest]) -> None:
        """Put differences into the items, and hide secrets in all that they say.

        :param manifests: other objects that hold secrets: those of the bundle.
        """
        known = [one for pair in self._states.values() for one in pair if one is not None]
        mask = mask.with_secrets_of([*manifests, *known, *self._with_secrets])
        for item in items:
            before, after = self.of(item.key)
            if before is not None or after is not None:
                item.show(before, after, mask)
            item.reason = mask.text(item.reason)
            item.warnings = [mask.text(text) for text in item.warnings]
            item.removes = [mask.text(text) for text in item.removes]
            item.takes_over = [Takeover(one.manager, mask.text(one.field)) for one in item.takes_over]
            item.contested = [Takeover(one.manager, mask.text(one.field)) for one in item.contested]
            item.shares = [SharedField(one.manager, mask.text(one.field)) for one in item.shares]
            item.yields = [
                YieldedField(mask.text(one.field), one.manager, mask.text(one.reason)) for one in item.yields
            ]
