"""Renders that say nothing final: a chart asked the cluster, and will find more there when its turn comes."""

from __future__ import annotations

from ..model.bundle import Bundle
from ..model.normalise import describe_kind, kinds_brought
from .dependencies import bundles_of_dependencies
from .session import Session


def why_open(session: Session, bundle: Bundle) -> str:
    """Why the render may not be what a sync will apply, empty when it is."""
    if bundle.incomplete:
        return bundle.incomplete
    if not bundle.connected:
        return ""
    brought = (item.manifest for other in bundles_of_dependencies(session, bundle.name) for item in other.objects)
    for group, version, kind, _ in kinds_brought(brought):
        if session.discovery.find(group, version, kind) is None:
            return f"its chart asks the cluster, which will have {describe_kind(group, version, kind)} by then"
    return ""
