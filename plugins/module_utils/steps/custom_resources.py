"""The CustomResourceDefinition behind a custom resource, as the inventory records it.

A changed schema changes what is read from its objects without any write to them (observed); so its uid and generation
are part of what proves a custom resource unchanged.
"""

from __future__ import annotations

from ..model.objects import ObjectKey
from .session import Session


def definition_name(session: Session, group: str, kind: str) -> str:
    """Of the live definition of a kind; empty for kinds that have none, and when definitions may not be listed."""
    if "." not in group:
        return ""
    resource = session.discovery.preferred(group, kind)
    name = f"{resource.plural}.{group}" if resource else ""
    return name if name in session.definitions else ""


def definition_facts(session: Session, key: ObjectKey) -> str:
    """``uid/generation`` of the definition of an object's kind, empty for kinds that have none."""
    return session.definitions.get(definition_name(session, key.group, key.kind), "")
