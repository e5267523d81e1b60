"""What a source kind is: it recognises its definitions, says what goes into a render, and renders."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...cache.folder import CacheFolder
from ...model.cluster_facts import Asked, ClusterFacts
from ...model.definition import Definition
from ...model.keyed_hash import canonical_json
from ...model.normalise import SourceObject
from ...programs.helm import Connection
from ...programs.program import Program
from ...repository.git import Checkout


@dataclass(frozen=True, slots=True)
class Tools:
    """What renders need besides their source. ``helm`` and ``kustomize`` find the program when they are called.

    :param allow: what a kustomization may do beyond reading files: ``remote``, ``helm``, ``plugins``.
    :param work: a private folder of this run, for temporary files.
    :param too_slow: chart repositories that did not answer in time: one add-on of a run waits for them, not all.
    :param progress: shows one line; called before what may take more than a few seconds.
    :param connect: the cluster for a program, as the acting account.
    """

    cache: CacheFolder
    helm: Callable[[], Program]
    kustomize: Callable[[], Program]
    allow: frozenset[str]
    work: Path
    too_slow: set[str]
    progress: Callable[[str], None]
    connect: Callable[[], AbstractContextManager[Connection]]


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What a source may use: the definition, the gitops repository at the run's commit, the cluster it renders for.

    ``source`` is the checkout that ``git.path`` is in: the same one, unless the definition names another repository or
    revision. Values files are always in ``checkout``. ``served`` is the API list of the cluster as it is now, without
    what is still to come.
    """

    definition: Definition
    checkout: Checkout
    source: Checkout
    cluster: ClusterFacts
    tools: Tools
    served: frozenset[str] = frozenset()


@dataclass(slots=True)
class Rendered:
    """Documents as the source has them, and what of the cluster they depend on.

    ``second`` holds the documents of a second render of the same input, all of them, when any of them differs.
    ``connected`` tells that the cluster's objects are input, too: such a render is made in every run. ``incomplete``
    says why it had to be made without them all the same, empty when it had not.
    """

    documents: list[SourceObject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    asked: Asked = field(default_factory=Asked)
    second: list[SourceObject] = field(default_factory=list)
    connected: bool = False
    incomplete: str = ""


def another_second() -> None:
    """Wait until the clock shows another second than now: what is taken from it then differs."""
    now = time.time()
    time.sleep(math.floor(now) + 1.01 - now)


def second_of(documents: list[SourceObject], again: list[SourceObject]) -> list[SourceObject]:
    """``Rendered.second`` for a render and its repetition."""
    one, other = ([canonical_json(document.manifest) for document in each] for each in (documents, again))
    return again if one != other else []


@dataclass(frozen=True, slots=True)
class Preparation:
    """A render that is ready to be made.

    :param inputs: plain JSON; all that goes in, but for the facts of the cluster that the render turns out to ask for.
        Equal inputs and equal answers mean an equal render.
    :param revision: what people call it: a chart's name and version, or a commit.
    :param keep: whether that is so: false for a render that reads more than can be named.
    :param render: makes it; :raises AddonError: one clear line when the source can't be rendered.
    """

    inputs: dict[str, Any]
    revision: str
    render: Callable[[], Rendered]
    keep: bool = True


class Source(Protocol):
    """One source kind."""

    kind: str

    def accepts(self, request: SourceRequest) -> bool:
        """Whether this source kind is the one that renders the definition."""

    def prepare(self, request: SourceRequest) -> Preparation:
        """Find out what goes in, without rendering. Cheap when nothing changed: no program of a source is started.

        :raises AddonError: one clear line when there is no such source.
        """
