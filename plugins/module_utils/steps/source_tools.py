"""What a run gives its renders: programs, cache, a place for temporary files, and the checkout that a source is in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..cache.folder import CacheFolder
from ..model.definition import Definition, GitSource
from ..programs.program import Program
from ..repository.git import Checkout
from ..repository.remote import fetch
from .session import Session
from .sources.source import Tools


def tools_of(session: Session, started: list[str], progress: Callable[[str], None]) -> Tools:
    """:param started: gets the calls of programs, such as ``helm template``."""
    options = session.info.options
    return Tools(
        cache=CacheFolder(Path(options.cache)),
        helm=partial(Program.find, "helm", options.helm, options.program_seconds, started.append),
        kustomize=partial(Program.find, "kustomize", options.kustomize, options.program_seconds, started.append),
        allow=frozenset(options.kustomize_allow),
        work=session.directory.folder("work"),
        progress=progress,
    )


def source_checkout(session: Session, definition: Definition, gitops: Checkout, tools: Tools) -> Checkout:
    """The repository that ``git.path`` is in, at its commit: the same one for all add-ons of a run that name it.

    :raises RepositoryError: it can't be reached, or has no such revision.
    """
    source = definition.source
    if not isinstance(source, GitSource) or not (source.repo or source.revision):
        return gitops
    repo, revision = source.repo or session.info.remote, source.revision or ""
    if not repo:
        return Checkout.open(session.info.repository, revision)
    known = session.checkouts.get((repo, revision))
    if known is None:
        known = fetch(repo, revision, tools.cache, session.info.options.program_seconds, tools.progress)
        session.checkouts[repo, revision] = known
    return known
