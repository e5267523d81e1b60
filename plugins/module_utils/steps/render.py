"""The second step: renders one add-on to a bundle, with every object placed, labelled and identified."""

from __future__ import annotations

from ..model.bundle import Bundle
from ..model.cluster_facts import ClusterFacts
from ..model.errors import RenderError
from ..model.keyed_hash import keyed_hash
from ..model.normalise import (
    Namespaced,
    api_versions_of,
    flatten,
    is_definition,
    kinds_of_definition,
    normalise,
)
from ..model.objects import GroupKind, Manifest
from ..repository.git import Checkout
from .dependencies import bundles_of_dependencies
from .failures import failure_kept
from .object_graph import check_order
from .render_cache import find_or_render
from .session import Progress, Session
from .source_tools import source_checkout, tools_of
from .sources.registry import source_for
from .sources.source import SourceRequest


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
    cluster = _cluster(session, name)
    gitops = Checkout.open(session.info.repository, session.info.commit)
    request = SourceRequest(definition, gitops, source_checkout(session, definition, gitops, tools), cluster, tools)
    source = source_for(request)
    preparation = source.prepare(request)
    rendered, from_cache = find_or_render(source.kind, preparation, cluster, tools.cache)
    documents = list(flatten(rendered.documents))
    normalised = normalise(
        documents,
        addon=name,
        namespace=definition.namespace,
        create_namespace=definition.create_namespace,
        namespaced=_scopes(session, name, [document.manifest for document in documents]),
    )
    objects, hooks = normalised.objects, normalised.hooks
    check_order(item.manifest for item in objects)
    inputs = {
        "source": [source.kind, preparation.inputs, rendered.asked.answers(cluster)],
        "definition": [definition.namespace, definition.create_namespace],
    }
    return Bundle(
        name=name,
        source_kind=source.kind,
        commit=request.source.commit,
        revision=preparation.revision,
        digest=keyed_hash(session.key, [[item.manifest for item in objects], [item.manifest for item in hooks]]),
        render_key=keyed_hash(session.key, inputs),
        objects=objects,
        hooks=hooks,
        warnings=[*rendered.warnings, *normalised.warnings],
        from_cache=from_cache,
        started=started,
    )


def _cluster(session: Session, name: str) -> ClusterFacts:
    """The cluster as it will be when this add-on's turn comes: what its dependencies bring is served by then."""
    discovery = session.discovery
    brought = (
        api_version
        for bundle in bundles_of_dependencies(session, name)
        for api_version in api_versions_of(item.manifest for item in bundle.objects)
    )
    # A group whose server is down for a moment is served all the same.
    served = frozenset([*discovery.api_versions(), *discovery.stale, *brought])
    return ClusterFacts(discovery.server_version, served, session.record(name).applied_before)


def _scopes(session: Session, name: str, own: list[Manifest]) -> Namespaced:
    """Scope by what the cluster serves, else by the CustomResourceDefinitions of this add-on and its dependencies.

    A kind has one scope in all its versions: an object whose version is gone keeps its identity.
    """
    coming: dict[GroupKind, bool] = {}
    brought = [item.manifest for bundle in bundles_of_dependencies(session, name) for item in bundle.objects]
    for manifest in filter(is_definition, [*brought, *own]):
        coming |= {(group, kind): inside for group, _version, kind, inside in kinds_of_definition(manifest)}

    def namespaced(group: str, version: str, kind: str) -> bool | None:
        discovery = session.discovery
        resource = discovery.find(group, version, kind) or discovery.preferred(group, kind)
        return resource.namespaced if resource else coming.get((group, kind))

    return namespaced
