"""The second step: renders one add-on to a bundle, with every object placed, labelled and identified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..model.bundle import Bundle
from ..model.cluster_facts import Asked, ClusterFacts
from ..model.errors import RenderError
from ..model.keyed_hash import keyed_hash
from ..model.names import OWNER_LABEL
from ..model.normalise import (
    Namespaced,
    SourceObject,
    api_versions_of,
    flatten,
    is_definition,
    kinds_of_definition,
    normalise,
)
from ..model.objects import GroupKind, Manifest, split_api_version
from ..model.wording import listed
from ..repository.git import Checkout
from .dependencies import bundles_of_dependencies
from .failures import failure_kept
from .object_graph import check_order
from .render_cache import RENDER_SCHEMA, find_or_render
from .session import Progress, Session
from .source_tools import source_checkout, tools_of
from .sources.registry import source_for
from .sources.source import Preparation, Rendered, SourceRequest


def render(session: Session, name: str, progress: Progress) -> Bundle:
    """The add-on's bundle: rendered once per run, then read from the run directory.

    :raises AddonError: names the add-on and what in its source is wrong; kept as the add-on's outcome.
    """
    known = session.directory.bundle(name)
    if known:
        return known
    with failure_kept(session, name):
        bundle = _render(session, name, progress)
    session.directory.save_bundle(bundle)
    return bundle


def _render(session: Session, name: str, progress: Progress) -> Bundle:
    definition = session.directory.definition(name).definition
    for field, value in (("patches", definition.patches), ("ignore", definition.ignore), ("ready", definition.ready)):
        if value:
            # Accepted and left out it would look as if it had been done.
            raise RenderError(f"{field}: this version can't do that yet", hint="remove the field")
    started: list[str] = []
    tools = tools_of(session, started, lambda text: progress(f"{name}: {text}"))
    gitops = Checkout.open(session.info.repository, session.info.commit, bare=bool(session.info.remote))
    brought = [item.manifest for bundle in bundles_of_dependencies(session, name) for item in bundle.objects]
    cluster = _cluster(session, name, brought)
    source_of = source_checkout(session, definition, gitops, tools)
    made = _made(SourceRequest(definition, gitops, source_of, cluster, tools))
    if made.rendered.asked.upgrade and not cluster.upgrade and _installed(session, name, made.documents):
        cluster = replace(cluster, upgrade=True)
        made = _made(SourceRequest(definition, gitops, source_of, cluster, tools))
    normalised = normalise(
        made.documents,
        addon=name,
        namespace=definition.namespace,
        create_namespace=definition.create_namespace,
        state_namespace=session.info.options.state_namespace,
        namespaced=_scopes(session, [*brought, *(document.manifest for document in made.documents)]),
    )
    objects, hooks = normalised.objects, normalised.hooks
    check_order(item.manifest for item in objects)
    return Bundle(
        name=name,
        source_kind=made.kind,
        commit=source_of.commit,
        revision=made.preparation.revision,
        digest=keyed_hash(session.key, [[item.manifest for item in objects], [item.manifest for item in hooks]]),
        render_key=keyed_hash(session.key, [*made.inputs, definition.namespace, definition.create_namespace]),
        objects=objects,
        hooks=hooks,
        warnings=[*made.rendered.warnings, *_doubts(session, made.rendered.asked), *normalised.warnings],
        from_cache=made.from_cache,
        started=started,
    )


@dataclass(frozen=True, slots=True)
class _Made:
    """A render, and what it was made of."""

    kind: str
    preparation: Preparation
    rendered: Rendered
    from_cache: bool
    documents: list[SourceObject]
    inputs: list[Any]


def _made(request: SourceRequest) -> _Made:
    source = source_for(request)
    try:
        preparation = source.prepare(request)
        rendered, from_cache = find_or_render(source.kind, preparation, request.cluster, request.tools.cache)
    except OSError as error:
        raise RenderError(
            f"temporary files can't be written: {error.strerror}", hint="make room, or set XDG_RUNTIME_DIR or TMPDIR"
        ) from error
    documents = list(flatten(rendered.documents))
    inputs = [RENDER_SCHEMA, source.kind, preparation.inputs, rendered.asked.answers(request.cluster)]
    if not preparation.keep:
        inputs.append([document.manifest for document in documents])
    return _Made(source.kind, preparation, rendered, from_cache, documents, inputs)


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


def _cluster(session: Session, name: str, brought: list[Manifest]) -> ClusterFacts:
    """The cluster as it will be when this add-on's turn comes: what its dependencies bring is served by then."""
    discovery = session.discovery
    # A group whose server is down for a moment is served all the same.
    served = frozenset([*discovery.api_versions(), *discovery.stale, *api_versions_of(brought)])
    return ClusterFacts(discovery.server_version, served, session.record(name).applied_before)


def _scopes(session: Session, manifests: list[Manifest]) -> Namespaced:
    """Scope by what the cluster serves, else by the CustomResourceDefinitions among these.

    A kind has one scope in all its versions: an object whose version is gone keeps its identity.
    """
    coming: dict[GroupKind, bool] = {}
    for manifest in filter(is_definition, manifests):
        coming |= {(group, kind): inside for group, _version, kind, inside in kinds_of_definition(manifest)}

    def namespaced(group: str, version: str, kind: str) -> bool | None:
        discovery = session.discovery
        resource = discovery.find(group, version, kind) or discovery.preferred(group, kind)
        return resource.namespaced if resource else coming.get((group, kind))

    return namespaced
