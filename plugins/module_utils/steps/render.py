"""The second step: renders one add-on to a bundle, with every object placed, labelled and identified."""

from __future__ import annotations

from ..model.bundle import Bundle
from ..model.errors import RenderError
from ..model.keyed_hash import keyed_hash
from ..model.normalise import Namespaced, flatten, is_definition, kinds_of_definition, normalise
from ..model.objects import GroupKind, Manifest
from ..repository.git import Checkout
from .dependencies import bundles_of_dependencies
from .failures import failure_kept
from .object_graph import check_order
from .session import Session
from .sources.registry import source_for
from .sources.source import SourceRequest


def render(session: Session, name: str) -> Bundle:
    """The add-on's bundle: rendered once per run, then read from the run directory.

    :raises AddonError: names the add-on and what in its source is wrong; kept as the add-on's outcome.
    """
    known = session.directory.bundle(name)
    if known:
        return known
    with failure_kept(session, name):
        bundle = _render(session, name)
    session.directory.save_bundle(bundle)
    return bundle


def _render(session: Session, name: str) -> Bundle:
    definition = session.directory.definition(name).definition
    for field, value in (("patches", definition.patches), ("ignore", definition.ignore), ("ready", definition.ready)):
        if value:
            # Accepted and left out it would look as if it had been done.
            raise RenderError(f"{field}: this version can't do that yet", hint="remove the field")
    request = SourceRequest(definition, Checkout.open(session.info.repository, session.info.commit))
    source = source_for(request)
    rendered = source.render(request)
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
        "source": [source.kind, rendered.inputs],
        "definition": [definition.namespace, definition.release_name, definition.create_namespace, definition.patches],
        "values": [definition.values, definition.values_from],
    }
    return Bundle(
        name=name,
        source_kind=source.kind,
        commit=rendered.commit,
        digest=keyed_hash(session.key, [[item.manifest for item in objects], [item.manifest for item in hooks]]),
        render_key=keyed_hash(session.key, inputs),
        objects=objects,
        hooks=hooks,
        warnings=[*rendered.warnings, *normalised.warnings],
    )


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
