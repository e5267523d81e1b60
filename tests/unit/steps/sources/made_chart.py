"""Charts for tests of sources: their files, a template that shows one expression, and what helm renders of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.helm import HelmSource
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.source import Rendered
from tests.unit.steps.sources.made_request import Workshop

CRD = json.dumps(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.io"},
        "spec": {"group": "x.io", "names": {"kind": "Thing"}, "versions": [{"name": "v1", "served": True}]},
    }
)


def chart(files: Mapping[str, str], at: str = "c", **metadata: str) -> dict[str, str]:
    head = "".join(f"{key}: {value}\n" for key, value in {"apiVersion": "v2", "name": "c", "version": "1.0.0"}.items())
    extra = "".join(f"{key}: {value}\n" for key, value in metadata.items())
    return {f"{at}/Chart.yaml": head + extra, **{f"{at}/{path}": text for path, text in files.items()}}


def show(expression: str, name: str = "shown") -> str:
    return f'{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{it: "{{{{ {expression} }}}}"}}}}\n'


def rendered(workshop: Workshop, files: Mapping[str, str] | None = None, **fields: Any) -> Rendered:
    if files is not None:
        workshop.repository.commit(files)
    return HelmSource().prepare(workshop.request(**{"git": {"path": "c"}, **fields})).render()


def shown(made: Rendered) -> dict[str, str]:
    """What each ConfigMap of a render shows, by name."""
    manifests = [document.manifest for document in made.documents if document.manifest["kind"] == "ConfigMap"]
    return {manifest["metadata"]["name"]: manifest["data"]["it"] for manifest in manifests}
