"""The CustomResourceDefinition behind a custom resource, as the inventory records it.

A changed schema changes what is read from its objects without any write to them (observed); so its uid and generation
are part of what proves a custom resource unchanged.
"""

from __future__ import annotations

from ..model.objects import ObjectKey
from .session import Session


def definition_facts(session: Session, key: ObjectKey) -> str:
    """``uid/generation`` of the definition of an object's kind, empty for kinds that have none."""
    if "." not in key.group:
        return ""
    resource = session.discovery.preferred(key.group, key.kind)
    if resource is None:
        return ""
    return session.definitions.get(f"{resource.plural}.{key.group}", "")
