"""The source kinds there are, in the order they are asked. A new one is a file beside this one and a name here.

They are imported by name since a module that is shipped to another host only brings what is imported statically.
"""

from __future__ import annotations

from ...model.errors import RenderError
from .plain import PlainSource
from .source import Source, SourceRequest

SOURCES: tuple[Source, ...] = (PlainSource(),)


def source_for(request: SourceRequest) -> Source:
    """:raises RenderError: when no source kind renders this definition."""
    for source in SOURCES:
        if source.accepts(request):
            return source
    raise RenderError("helm: this version renders folders of plain YAML only", hint="commit the rendered chart as YAML")
