"""What a source kind is: it recognises its definitions and reads the documents of one add-on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ...model.definition import Definition
from ...model.normalise import SourceObject
from ...repository.git import Checkout


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What a source may use: the definition and the gitops repository at the run's commit."""

    definition: Definition
    checkout: Checkout


@dataclass(slots=True)
class Rendered:
    """Documents as the source has them. ``inputs`` is all that went in, for the render key: what the
    source kind read, and the cluster's version and API list where it renders for them."""

    commit: str
    inputs: dict[str, Any]
    documents: list[SourceObject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Source(Protocol):
    """One source kind."""

    kind: str

    def accepts(self, request: SourceRequest) -> bool:
        """Whether this source kind is the one that renders the definition."""

    def render(self, request: SourceRequest) -> Rendered:
        """:raises AddonError: one clear line when the source can't be rendered."""
