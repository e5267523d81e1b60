"""What a run gives its renders: programs, cache, a place for temporary files, and the checkout that a source is in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..cache.folder import CacheFolder
from ..model.definition import Definition, GitSource
from ..model.errors import RepositoryError
from ..programs.program import Program
from ..repository.git import Checkout
from ..repository.remote import fetch
from .session import Session
from .sources.source import Tools

_ASKED = "repositories.json"


def tools_of(session: Session, started: list[str], progress: Callable[[str], None]) -> Tools:
    """:param started: gets the calls of programs, such as ``helm template``."""
    options = session.info.options
    return Tools(
        cache=CacheFolder.open(options.cache),
        helm=partial(Program.find, "helm", options.helm, options.program_seconds, started.append),
        kustomize=partial(Program.find, "kustomize", options.kustomize, options.program_seconds, started.append),
        allow=frozenset(options.kustomize_allow),
        work=session.directory.folder("work"),
        too_slow=session.too_slow,
        progress=progress,
        connect=session.connection,
    )


def source_checkout(session: Session, definition: Definition, gitops: Checkout, tools: Tools) -> Checkout:
    """The repository that ``git.path`` is in, at its commit: the same one for all add-ons of a run that name it.

    What a branch is at is asked once; so is a repository that can't be reached.
    :raises RepositoryError: it can't be reached, or has no such revision.
    """
    source = definition.source
    if not isinstance(source, GitSource) or not (source.repo or source.revision):
        return gitops
    repo, revision = source.repo or session.info.remote, source.revision or ""
    if not repo:
        return Checkout.open(session.info.repository, revision)
    name, seconds = f"{repo} {revision}", session.info.options.program_seconds
    asked = session.directory.read_json(_ASKED) or {}
    known = asked.get(name) or {}
    if "error" in known:
        message, subject, hint = known["error"]
        raise RepositoryError(message, subject=subject, hint=hint)
    try:
        checkout = fetch(repo, known.get("commit", revision), tools.cache, seconds, tools.progress)
    except RepositoryError as error:
        session.directory.write_json(_ASKED, {**asked, name: {"error": [error.message, error.subject, error.hint]}})
        raise
    session.directory.write_json(_ASKED, {**asked, name: {"commit": checkout.commit}})
    return checkout
