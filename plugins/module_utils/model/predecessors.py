"""Tools that installed objects before this one did: whose fields become ours at adoption, and the marks they leave.

As long as a former tool owns a field, the field stays when it leaves the source; so at adoption its ownership is
absorbed. Controllers that work on objects at run time (autoscalers, certificate injectors) are none of them.
"""

from __future__ import annotations

import re

from .managed_fields import Entry, entries_of, without_empty
from .names import LAST_APPLIED_ANNOTATION
from .objects import Manifest

_INSTALLERS = re.compile(
    r"kubectl(-client-side-apply|-create|-replace|-apply)?"
    r"|helm|helm-controller|kustomize-controller|flux|argocd-controller|argocd-application-controller|argocd-server"
    r"|rancher|fleetagent|fleet-agent|kapp|kapp-controller|kluctl|kluctl-controller|nelm|werf|pulumi-kubernetes.*"
    r"|Terraform|HashiCorp"
)
"""Managers that install objects, by the names that they are seen under.

What people do to what runs (``kubectl edit``, ``set``, ``rollout restart``) is not among them: without it pods would
restart at adoption. Nor is ``UNKNOWN_OWNER``.
"""

UNKNOWN_OWNER = "before-first-apply"
"""Stands for everything in an object that had no managed fields when somebody applied it, since they were lost, as in a
restore from a backup. It is never absorbed: what an autoscaler or a controller wrote is in it, too (observed)."""

_LIBRARIES = frozenset({"Go-http-client", "OpenAPI-Generator"})
"""Names of clients that give none. Controllers use them, too; with kubectl's copy in an annotation it was an apply."""

_MARK_ANNOTATIONS = re.compile(
    r"meta\.helm\.sh/release-(name|namespace)|kubectl\.kubernetes\.io/last-applied-configuration"
    r"|argocd\.argoproj\.io/(tracking-id|installation-id)|kapp\.k14s\.io/.*|objectset\.rio\.cattle\.io/.*"
    r"|kluctl\.io/.*|meta\.werf\.io/.*"
)
_MARK_LABELS = re.compile(
    r"app\.kubernetes\.io/managed-by|(kustomize|helm)\.toolkit\.fluxcd\.io/(name|namespace)|kapp\.k14s\.io/.*"
    r"|objectset\.rio\.cattle\.io/.*|fleet\.cattle\.io/.*"
)


def absorbable(manifest: Manifest) -> list[Entry]:
    """The entries of former tools that own something of the object that is not empty, in whatever API version.

    Those of subresources stay. So do those of nothing but empty fields: united with ours they would be an entry without
    fields, which the server drops (observed).
    """
    applied = LAST_APPLIED_ANNOTATION in (manifest["metadata"].get("annotations") or {})
    return [
        entry
        for entry in entries_of(manifest)
        if not entry.subresource
        and (_INSTALLERS.fullmatch(entry.manager) or (applied and entry.manager in _LIBRARIES))
        and without_empty(entry.fields, manifest)
    ]


def without_marks(manifest: Manifest, absorbed: bool) -> Manifest:
    """The object without the marks by which former tools know theirs, if those tools are absorbed.

    Losing them is part of the take-over and no change to what runs.
    """
    if not absorbed:
        return manifest
    metadata = dict(manifest["metadata"])
    for part, marks in (("annotations", _MARK_ANNOTATIONS), ("labels", _MARK_LABELS)):
        values = metadata.pop(part, None) or {}
        rest = {name: value for name, value in values.items() if not marks.fullmatch(name)}
        if rest:
            metadata[part] = rest
    return {**manifest, "metadata": metadata}
