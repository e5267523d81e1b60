"""What the runtime of Go writes when it ends a program itself, as helm and kustomize are written in it."""

from __future__ import annotations

import re

# Nothing else writes both: a text that a program quotes may have one of them.
_MEMORY = re.compile(
    r"^(?:runtime: out of memory|fatal error: (?:runtime: )?[^\n]{0,80}"
    r"(?:out of memory|memory|address space|stack overflow))",
    re.MULTILINE,
)
_TRACE = re.compile(r"^(?:goroutine \d+ |runtime stack:)", re.MULTILINE)


def ran_out_of_memory(stderr: str) -> bool:
    """Whether a program ended since it may not have more memory; what it wrote is a dump of its calls then."""
    found = _MEMORY.search(stderr)
    return bool(found and _TRACE.search(stderr, found.end()))
