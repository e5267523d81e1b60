"""The second step: renders one add-on to a bundle, with every object placed, labelled and identified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..model.bundle import Bundle, BundleObject
from ..model.cluster_facts import Asked, ClusterFacts
from ..model.errors import RenderError
from ..model.keyed_hash import keyed_hash
from ..model.names import OWNER_LABEL
from ..model.normalise import (
    Namespaced,
    Normalised,
    SourceObject,
    api_versions_of,
    flatten,
    kinds_brought,
    normalise,
)
from ..model.objects import GroupKind, Manifest, split_api_version
from ..model.second_render import paired, renamed, stable_forms
from ..model.wording import listed
from ..repository.git import Checkout
from .dependencies import bundles_of_dependencies, changed_dependency
from .failures import failure_kept
from .object_graph import check_order
from .patches import patched
from .render_cache import RENDER_SCHEMA, find_or_render
from .session import Progress, Session
from .source_tools import source_checkout, tools_of
from .sources.registry import source_for
from .sources.source import Preparation, Rendered, SourceRequest

_MOST_NAMED = 5


def render(session: Session, name: str, progress: Progress) -> Bundle:
    """The add-on's bundle: rendered once per run, then read from the run directory.

    One of a chart that reads the cluster is made again once the run changed something that the add-on depends on, or
    the add-on's record moved: another run may have installed it.

    :raises AddonError: names the add-on and what in its source is wrong; kept as the add-on's outcome.
    """
    known = session.directory.bundle(name)
    if known and not _outdated(session, known):
        return known
    with failure_kept(session, name):
        bundle = _render(session, name, progress)
    session.directory.save_bundle(bundle)
    return bundle


def _outdated(session: Session, known: Bundle) -> bool:
    if known.record_version is not None and known.record_version != session.record(known.name).resource_version:
        return True
    return known.connected and bool(changed_dependency(session, known.name))


def _render(session: Session, name: str, progress: Progress) -> Bundle:
    definition = session.directory.definition(name).definition
    started: list[str] = []
    tools = tools_of(session, started, lambda text: progress(f"{name}: {text}"))
    gitops = Checkout.open(session.info.repository, session.info.commit, bare=bool(session.info.remote))
    brought = [item.manifest for bundle in bundles_of_dependencies(session, name) for item in bundle.objects]
    now = _cluster(session, name)
    # As it will be when this add-on's turn comes: what its dependencies bring is served by then.
    cluster = now.with_kinds(api_versions_of(brought))
    source_of = source_checkout(session, definition, gitops, tools)
    request = SourceRequest(definition, gitops, source_of, cluster, tools, now.api_versions)
    made = _made(request)
    if made.rendered.asked.upgrade and not now.upgrade and _installed(session, name, made.documents):
        made = _made(replace(request, cluster=replace(cluster, upgrade=True)))
    scopes = _scopes(session, [*brought, *(document.manifest for document in made.documents)])

    def normalised_from(documents: list[SourceObject]) -> Normalised:
        return normalise(
            documents,
            addon=name,
            namespace=definition.namespace,
            create_namespace=definition.create_namespace,
            state_namespace=session.info.options.state_namespace,
            namespaced=scopes,
        )

    normalised = normalised_from(made.documents)
    again = normalised_from(made.second) if made.second else normalised
    objects, hooks = paired(normalised.objects, again.objects), paired(normalised.hooks, again.hooks)
    digest = keyed_hash(
        session.key, [stable_forms(normalised.objects, again.objects), stable_forms(normalised.hooks, again.hooks)]
    )
    render_key = [*made.inputs, definition.namespace, definition.create_namespace, *([] if made.keep else [digest])]
    check_order([item.manifest for item in objects])
    return Bundle(
        name=name,
        source_kind=made.kind,
        commit=source_of.commit,
        revision=made.preparation.revision,
        digest=digest,
        render_key=keyed_hash(session.key, render_key),
        objects=objects,
        hooks=hooks,
        warnings=[
            *filter(None, [source_of.news]),
            *made.rendered.warnings,
            *_doubts(session, made.rendered.asked),
            *normalised.warnings,
            *_chance(objects, renamed(normalised.objects, again.objects)),
        ],
        from_cache=made.from_cache,
        started=started,
        connected=made.rendered.connected,
        record_version=(
            session.record(name).resource_version if made.rendered.connected or made.rendered.asked.upgrade else None
        ),
        incomplete=made.rendered.incomplete,
    )


@dataclass(frozen=True, slots=True)
class _Made:
    """A render, and what it was made of; ``keep`` tells whether its inputs are all that it was made of."""

    kind: str
    preparation: Preparation
    rendered: Rendered
    from_cache: bool
    documents: list[SourceObject]
    second: list[SourceObject]
    inputs: list[Any]
    keep: bool


def _made(request: SourceRequest) -> _Made:
    source = source_for(request)
    try:
        preparation = patched(request, source.prepare(request))
        rendered, from_cache = find_or_render(source.kind, preparation, request.cluster, request.tools.cache)
    except OSError as error:
        raise RenderError(
            f"temporary files can't be written: {error.strerror}", hint="make room, or set XDG_RUNTIME_DIR or TMPDIR"
        ) from error
    documents, second = list(flatten(rendered.documents)), list(flatten(rendered.second))
    inputs = [RENDER_SCHEMA, source.kind, preparation.inputs, rendered.asked.answers(request.cluster)]
    keep = preparation.keep and not rendered.connected
    return _Made(source.kind, preparation, rendered, from_cache, documents, second, inputs, keep)


def _chance(objects: list[BundleObject], anew: list[BundleObject]) -> list[str]:
    """Warnings about what comes out differently each time; for hooks that is how they run again."""
    warnings = []
    if made_up := [str(item.key) for item in objects if item.second is not None]:
        warnings.append(f"made up by the chart and kept as they are in the cluster: {listed(made_up, _MOST_NAMED)}")
    if anew:
        names = listed([str(item.key) for item in anew], _MOST_NAMED)
        warnings.append(f"gets a new name with each render, so that each sync makes it anew: {names}")
    return warnings


def _installed(session: Session, name: str, documents: list[SourceObject]) -> bool:
    """Whether objects of an add-on run whose record was lost: then this is no installation."""
    if not session.record(name).fresh:
        return False
    manifests = (document.manifest for document in documents)
    kinds = {(split_api_version(manifest["apiVersion"])[0], manifest["kind"]) for manifest in manifests}
    return any(one.labels.get(OWNER_LABEL) == name for one in session.snapshot(kinds).objects.values())


def _doubts(session: Session, asked: Asked) -> list[str]:
    """A warning when part of the API list could not be had, and the render may have looked for it.

    :raises RenderError: when it did look for just that: what it would leave out, a sync would prune.
    """
    stale = session.discovery.stale
    for api_version in asked.api_versions or ():
        if any(api_version.startswith(f"{group_version}/") for group_version in stale):
            raise RenderError(
                f"it depends on whether {api_version} is served, and the server of that API group does not answer",
                hint="try again when it does",
            )
    if asked.api_versions is None and stale:
        return [f"rendered without the kinds of {listed(stale, 3)}, whose server does not answer"]
    return []


def _cluster(session: Session, name: str) -> ClusterFacts:
    discovery = session.discovery
    # A group whose server is down for a moment is served all the same.
    served = frozenset([*discovery.api_versions(), *discovery.stale])
    return ClusterFacts(discovery.server_version, served, session.record(name).applied_before)


def _scopes(session: Session, manifests: list[Manifest]) -> Namespaced:
    """Scope by what the cluster serves, else by the CustomResourceDefinitions among these.

    A kind has one scope in all its versions: an object whose version is gone keeps its identity.
    """
    coming: dict[GroupKind, bool] = {
        (group, kind): inside for group, _version, kind, inside in kinds_brought(manifests)
    }

    def namespaced(group: str, version: str, kind: str) -> bool | None:
        discovery = session.discovery
        resource = discovery.find(group, version, kind) or discovery.preferred(group, kind)
        return resource.namespaced if resource else coming.get((group, kind))

    return namespaced
