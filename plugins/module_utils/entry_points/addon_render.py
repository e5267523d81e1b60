"""``addon_render``: one add-on to a bundle file."""

from __future__ import annotations

from ..steps.render import render
from ..steps.session import open_session
from .invocation import Invocation, Parameters, Result
from .options import STEP_SPEC

ARGUMENT_SPEC = STEP_SPEC

RETURNS = ("path", "source", "commit", "revision", "digest", "objects", "hooks", "from_cache", "started")


def call(parameters: Parameters, invocation: Invocation) -> Result:
    session = open_session(parameters["run"])
    bundle = render(session, parameters["name"], invocation.progress)
    return Result(
        values={
            "path": str(session.directory.path / "bundle" / f"{bundle.name}.json"),
            "source": bundle.source_kind,
            "commit": bundle.commit,
            "revision": bundle.revision,
            "digest": bundle.digest,
            "objects": len(bundle.objects),
            "hooks": [str(item.key) for item in bundle.hooks],
            "from_cache": bundle.from_cache,
            "started": bundle.started,
        },
        warnings=[f"add-on {bundle.name}: {text}" for text in bundle.warnings],
    )
