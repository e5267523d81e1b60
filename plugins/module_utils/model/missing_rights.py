"""Rights that the acting identity lacks to carry out a plan, and how they are told: in a sentence, or as a table."""

from __future__ import annotations

from dataclasses import dataclass, field

from .objects import ObjectKey
from .wording import listed

_IN_SENTENCE = 3
_ROWS = 30
_TOLD_PURPOSES = 2
_HEADER = ("rights", "on", "namespace", "to")
_GRANT = "Grant them, or act as an account that has them with addon_impersonate"
_GRANT_ACCOUNT = "Grant them to that account"


@dataclass(frozen=True, slots=True, order=True)
class Purpose:
    """What needs a right: an action of the plan, or ``hook``, and the object that it is about."""

    action: str
    key: ObjectKey

    def __str__(self) -> str:
        words = {"hook": "run hook", "blocked": "apply"}
        return f"{words.get(self.action, self.action)} {self.key}"


@dataclass(slots=True)
class MissingRight:
    """Verbs on a resource (with its subresource, ``pods/log``) that all these purposes need; ``namespace`` is empty for
    cluster-scoped kinds."""

    group: str
    resource: str
    namespace: str
    verbs: list[str]
    purposes: list[Purpose]

    @property
    def kind(self) -> str:
        """As ``kubectl auth can-i`` takes it: ``deployments.apps``, ``pods/log``."""
        resource, slash, subresource = self.resource.partition("/")
        return f"{resource}{'.' if self.group else ''}{self.group}{slash}{subresource}"

    @property
    def why(self) -> str:
        return listed([str(purpose) for purpose in self.purposes], _TOLD_PURPOSES)

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{', '.join(self.verbs)} {self.kind}{where} (to {self.why})"


@dataclass(slots=True)
class RightsReport:
    """What an identity lacks; ``only_reads`` when a preview's is granted nothing at all of what would write."""

    user: str = ""
    missing: list[MissingRight] = field(default_factory=list)
    only_reads: bool = False

    @property
    def is_error(self) -> bool:
        """Whether a sync would fail half-way; who may only look does not mean to sync."""
        return bool(self.missing) and not self.only_reads

    def sentence(self) -> str:
        """Empty when nothing is missing."""
        if not self.missing:
            return ""
        most = 1 if self.only_reads else _IN_SENTENCE
        told = "; ".join(map(str, self.missing[:most]))
        more = f"; and {len(self.missing) - most} more" if len(self.missing) > most else ""
        lacks = "has no right to write here, and a sync needs" if self.only_reads else "lacks rights that a sync needs:"
        grant = _GRANT_ACCOUNT if self.user.startswith("system:serviceaccount:") else _GRANT
        return f"{self.user} {lacks} {told}{more}. {grant}"

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Verbs, kind, namespace and what needs it, of each missing right, as many as people read."""
        return [
            (", ".join(right.verbs), right.kind, right.namespace or "-", right.why) for right in self.missing[:_ROWS]
        ]

    def table(self) -> list[str]:
        """The rows in columns, with a header; no lines when nothing is missing."""
        rows = [_HEADER, *self.rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        more = [f"… {len(self.missing) - _ROWS} more"] if len(self.missing) > _ROWS else []
        return [*lines, *more] if self.missing else []

    def keep_needed(self, actions: dict[ObjectKey, str]) -> None:
        """Drop what is not needed any more, since the plan of an object became another one.

        :param actions: of the plan as it is now, by object.
        """
        for right in self.missing:
            right.purposes = [one for one in right.purposes if one.action in ("hook", actions.get(one.key))]
        self.missing = [right for right in self.missing if right.purposes]
