"""The source kinds there are, in the order they are asked. A new one is a file beside this one and a name here.

They are imported by name since a module that is shipped to another host only brings what is imported statically.
"""

from __future__ import annotations

from .helm import HelmSource
from .kustomize import KustomizeSource
from .plain import PlainSource
from .source import Source, SourceRequest

SOURCES: tuple[Source, ...] = (HelmSource(), KustomizeSource(), PlainSource())
"""A folder with a ``Chart.yaml`` is a chart, whatever else is in it. Plain YAML takes every other folder."""


def source_for(request: SourceRequest) -> Source:
    """The source kind that renders this definition."""
    return next(source for source in SOURCES if source.accepts(request))
