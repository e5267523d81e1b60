"""What helm says when a chart could not be rendered with the cluster connected, and the cluster is why.

Told apart from faults of the chart itself: without the cluster, the chart may still render. And faults that last, as
long as nobody changes something, from those that may be over in a moment.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ..model.wording import listed, printable
from .helm_errors import error_of
from .hidden_values import HiddenValues

_LONGEST_TEXT = 300
_NOT_FOUND = "the server could not find the requested resource"
_UNSERVED = re.compile(
    r'no matches for kind "(?P<kind>\w+)" in version "(?P<version>[\w./-]+)"'
    rf"|unable to get apiresource from unstructured: (?P<asked>[\w./-]+), Kind=(?P<wanted>\w+): {_NOT_FOUND}"
)
_LASTING = re.compile(
    r"\bis forbidden: |\bforbidden: User "
    # What client-go itself makes of the chart, without a request.
    r"|unable to decode |error parsing |\bname may not be empty|invalid (?:resource name|namespace) "
    r"|groupVersion shouldn't be empty|unexpected GroupVersion string"
)
_REQUEST = re.compile(r'\b(?:Get|Post) \\?"https?://')
"""A request that had no answer (observed), or one that is no Kubernetes API's."""
_UNLISTED = re.compile(
    r'"Couldn\'t get resource list" err="(?P<why>(?:[^"\\]|\\.)*)"[^\n]*? (?:groupVersion|gv)="(?P<version>[^"\n]+)"'
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
_OF_THE_CHART = "execution error at ("


@dataclass(frozen=True, slots=True)
class ClusterFault:
    """Why the cluster could not be used.

    :param text: of helm 4.3, in one line; it may name objects and the server's address.
    :param lasting: a kind or a right is missing, or an object makes no sense: it would be the same a little later.
    """

    text: str
    lasting: bool


def cluster_fault(stderr: str, secrets: Collection[str] = ()) -> ClusterFault | None:
    """Why the cluster could not be used, ``None`` when the chart or its values are at fault.

    :param secrets: texts that it may not repeat.
    """
    text = error_of(stderr)
    fault = _FAULTS.search(text)
    # What a chart says with `fail` is no word of the cluster; it could be one of the Secrets that the chart may read.
    if not fault or _OF_THE_CHART in text:
        return None
    first_line = fault["what"].strip().partition("\n")[0]
    what = printable(HiddenValues(secrets).replaced(first_line))[:_LONGEST_TEXT].rstrip(" .")
    if _REQUEST.search(fault["what"]):
        return ClusterFault(what, lasting=False)
    kinds = [(one["kind"] or one["wanted"], one["version"] or one["asked"]) for one in _UNSERVED.finditer(text)]
    # Helm says the same of kinds of which it could not ask whether they are served.
    if away := {version for _, version in kinds} & unlisted(stderr):
        return ClusterFault(untold(away), lasting=False)
    if kinds:
        unserved = list(dict.fromkeys(f"{kind} of {version}" for kind, version in kinds))
        return ClusterFault(f"it does not serve {listed(unserved, 3)}", lasting=True)
    return ClusterFault(what, lasting=bool(_LASTING.search(fault["what"])))


def unlisted(stderr: str) -> set[str]:
    """API groups and versions, such as ``apps/v1``, whose kinds helm could not list for the moment.

    It goes on without them, as if they were not served.
    """
    found = _UNLISTED.finditer(stderr)
    return {one["version"] for one in found if not (_LASTING.search(one["why"]) or _NOT_FOUND in one["why"])}


def untold(versions: Collection[str]) -> str:
    """In words, that the kinds of these could not be listed."""
    return f"it does not tell which kinds {listed(sorted(versions), 3)} has"


def without_notes(stderr: str) -> str:
    """Without the remarks of helm that it makes on every connected render of such a chart or cluster."""
    return _NOTES.sub("", stderr)
