"""The output of ``helm template``: objects and hooks, each with the template that it comes from.

Helm writes ``# Source: chart/templates/x.yaml`` at the start of each document. Files of ``crds/`` are copied as they
are, so that the comment may stand in a document of its own, and several documents may follow it.
"""

from __future__ import annotations

import re
from collections import Counter

from .normalise import SourceObject
from .yaml_documents import read_documents

_SOURCE = re.compile(r"^---\n# Source: ([^/\n:]+/(?:charts/[^/\n]+/)*(?:templates|crds)/[^\n]+)\n", re.MULTILINE)
"""Of templates alone: a comment that an author wrote into a CRD's file often looks the same, but names a URL."""


def read_helm_output(text: str, source: str) -> list[SourceObject]:
    """All documents in the order of the output; those that hold nothing are left out.

    :param source: what to call documents that name no template.
    :raises DocumentError: a document is no YAML as Kubernetes reads it; the line is that of the rendered text.
    """
    before, *parts = _SOURCE.split(text)
    found = [
        (template, document.value)
        for template, part in [(source, before), *zip(parts[::2], parts[1::2], strict=True)]
        for document in read_documents(part, f"rendered {template}")
    ]
    several = Counter(template for template, _ in found)
    seen: Counter[str] = Counter()
    objects = []
    for template, value in found:
        seen[template] += 1
        place = f"{template}, document {seen[template]}" if several[template] > 1 else template
        objects.append(SourceObject(value, place))
    return objects
