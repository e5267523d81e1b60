"""The output of ``helm template``: objects and hooks, each with the template that it comes from.

Helm writes ``# Source: chart/templates/x.yaml`` at the start of each document. Files of ``crds/`` are copied as they
are, so that the comment may stand in a document of its own, and several documents may follow it.

Documents are told apart as Helm does when it installs (``SplitManifests``, and the ``YAMLReader`` of apimachinery): a
line that starts with ``---`` is a separator whatever follows, and nothing else is.
"""

from __future__ import annotations

import re
from collections import Counter

from .normalise import SourceObject
from .yaml_documents import Document, read_documents

_SOURCE = re.compile(r"^---\n# Source: ([^/\n:]+/(?:charts/[^/\n]+/)*(?:templates|crds)/[^\n]+)\n", re.MULTILINE)
"""Of templates alone: a comment that an author wrote into a CRD's file often looks the same, but names a URL."""

_GLUED = re.compile(r"^---(?=\S)", re.MULTILINE)
_END = re.compile(r"\.\.\.(?:\s|$)")
_CONTENT = re.compile(r"\s*(?!#|\.\.\.)\S")
_MOST_WARNINGS = 20


def read_helm_output(text: str, source: str) -> tuple[list[SourceObject], list[str]]:
    """All documents in the order of the output, and warnings; documents that hold nothing are left out.

    Of a key that stands more than once in one mapping, the last value counts, as in Helm.

    :param source: what to call documents that name no template.
    :raises DocumentError: a document is no YAML as Kubernetes reads it; the line is that of the rendered text.
    """
    warnings: list[str] = []
    before, *parts = _SOURCE.split(text)
    found: list[tuple[str, Document]] = []
    for template, part in [(source, before), *zip(parts[::2], parts[1::2], strict=True)]:
        part, left_out = _as_installed(part)
        if left_out:
            warnings.append(f"{template}: what follows the line ... is left out, as by Helm; separate it by ---")
        found += ((template, document) for document in read_documents(part, f"rendered {template}", last_key_wins=True))
    several = Counter(template for template, _ in found)
    seen: Counter[str] = Counter()
    objects = []
    for template, document in found:
        seen[template] += 1
        place = f"{template}, document {seen[template]}" if several[template] > 1 else template
        objects.append(SourceObject(document.value, place))
        warnings += (f"{place}: the key {key} stands twice, and its last value is taken" for key in document.repeated)
    if len(warnings) > _MOST_WARNINGS:
        warnings[_MOST_WARNINGS:] = [f"{source}: {len(warnings) - _MOST_WARNINGS} more warnings of this kind"]
    return objects, warnings


def _as_installed(part: str) -> tuple[str, bool]:
    """The text of one template without what Helm does not read, and whether that is anything but comments."""
    if "---" in part:
        part = _GLUED.sub("---\n", part)
    if "..." not in part:
        return part, False
    lines = part.split("\n")
    ended = left_out = False
    for number, line in enumerate(lines):
        if line.startswith("---"):
            ended = False
        elif ended:
            left_out |= _CONTENT.match(line) is not None
            lines[number] = ""
        else:
            ended = _END.match(line) is not None
    return "\n".join(lines), left_out
