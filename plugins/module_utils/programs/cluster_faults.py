"""What helm says when a chart could not be rendered with the cluster connected, and the cluster is why.

Told apart from faults of the chart itself: without the cluster, the chart may still render.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from ..model.wording import listed, printable

_LONGEST_TEXT = 300
_UNSERVED = re.compile(
    r'no matches for kind "(?P<kind>\w+)" in version "(?P<version>[\w./-]+)"'
    r"|unable to get apiresource from unstructured: (?P<asked>[\w./-]+), Kind=(?P<wanted>\w+)"
)
_FAULTS = re.compile(
    r"(?:error calling lookup|cluster reachability check failed"
    r"|unable to build kubernetes objects from release manifest|unable to continue with install"
    r"|could not get (?:Kubernetes discovery client|server version from Kubernetes|apiVersions from Kubernetes))"
    r": (?P<what>.+)",
    re.DOTALL,
)
_NOTES = re.compile(
    r'[^\n]*\bmsg="(?:This chart or one of its subcharts contains CRDs\. Rendering may fail|'
    r"the kubernetes server has an orphaned API service|to fix this, kubectl delete apiservice)[^\n]*\n?"
)


def cluster_fault(stderr: str, secrets: Collection[str] = ()) -> str | None:
    """Why the cluster could not be used, ``None`` when the chart or its values are at fault.

    The text of helm 4.3, in one line; it may name objects and the server's address.

    :param secrets: texts that it may not repeat.
    """
    error = re.search(r"^Error: (.*)", stderr, re.MULTILINE | re.DOTALL)
    text = error[1] if error else stderr
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        for form in (secret, json.dumps(secret, ensure_ascii=False)[1:-1]):
            text = text.replace(form, "…")
    fault = _FAULTS.search(text)
    if not fault:
        return None
    unserved = [
        f"{one['kind'] or one['wanted']} of {one['version'] or one['asked']}" for one in _UNSERVED.finditer(text)
    ]
    if unserved:
        return f"it does not serve {listed(list(dict.fromkeys(unserved)), 3)}"
    return printable(fault["what"].strip().partition("\n")[0])[:_LONGEST_TEXT].rstrip(" .")


def without_notes(stderr: str) -> str:
    """Without the remarks of helm that it makes on every connected render of such a chart or cluster."""
    return _NOTES.sub("", stderr)
