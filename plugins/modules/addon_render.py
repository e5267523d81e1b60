"""Renders one add-on of a run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon_render
short_description: Render one add-on to a bundle
version_added: 0.1.0
description:
  - Reads the source of an add-on at the run's commit and writes its objects, placed in their namespaces and labelled,
    to a bundle file in the run directory. M(rendimiento.addons.addon_diff) plans from there.
  - An add-on is rendered once per run. A second call returns the same bundle, unless the chart asks the cluster and
    something that the add-on depends on changed in this run.
  - A chart of a chart repository or of a git folder is rendered by C(helm template), for the version and the API list
    of the cluster, together with what the add-ons that it depends on bring. C(.Release.IsInstall) is true until the
    add-on was applied for the first time. A chart that uses C(lookup) is rendered connected to the cluster, as the
    acting identity.
  - A chart that makes something up, such as passwords, is rendered twice, and where the two differ, the cluster keeps
    what it has.
  - A git folder with a kustomization is rendered by C(kustomize build). In any other folder each C(.yaml), C(.yml) and
    C(.json) file is read, in the order of their paths, and nothing in them is ever taken as a template.
  - C(patches) of the definition change what a source of any kind renders.
  - What was rendered before from the same inputs is taken from the cache, and no program is started.
  - Objects with the annotation C(helm.sh/hook) are kept apart as hooks; test hooks are left out.
extends_documentation_fragment:
  - rendimiento.addons._attributes
  - rendimiento.addons._run
  - rendimiento.addons._run.name
requirements:
  - git (the program), on the host that runs this step
  - helm (the program), version 4, for charts
  - kustomize (the program), version 5, for kustomizations and for C(patches)
attributes:
  check_mode:
    details:
      - It writes to the run directory and the cache only.
  diff_mode:
    support: N/A
    details:
      - It changes nothing.
  idempotent:
    support: full
    details:
      - It changes nothing.
author:
  - The rendimiento.addons authors (@rendimiento)
seealso:
  - module: rendimiento.addons.addon_definitions
  - module: rendimiento.addons.addon_diff
"""

EXAMPLES = r"""
---
- name: Render every add-on of the run; one that can't be rendered stops no other
  rendimiento.addons.addon_render:
    run: "{{ opened.run }}"
    name: "{{ item }}"
  loop: "{{ opened.names }}"
  register: rendered
  ignore_errors: true
"""

RETURN = r"""
path:
  description: The bundle file.
  returned: always, V(null) when the module fails
  type: str
  sample: /run/user/1000/rendimiento-addons-x3k9_a1b/bundle/dashboard.json
source:
  description: The kind of source, V(helm), V(kustomize) or V(plain).
  returned: always, V(null) when the module fails
  type: str
  sample: plain
commit:
  description: The commit that the source was read at.
  returned: always, V(null) when the module fails
  type: str
  sample: 4c9a1c3f8f0a4b7d9e2f6a5b3c1d0e9f8a7b6c5d
revision:
  description: What people call the source, a chart's name and version, or the commit in short.
  returned: always, V(null) when the module fails
  type: str
  sample: longhorn-1.10.2
digest:
  description: A keyed hash over all objects and hooks. Equal digests mean equal content, in the same cluster.
  returned: always, V(null) when the module fails
  type: str
  sample: 5e0f7c1b9a3d4e2f8c6b1a0d9e8f7c6b
objects:
  description: How many objects there are, without hooks.
  returned: always, V(null) when the module fails
  type: int
  sample: 14
hooks:
  description: The Helm hooks in the source.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample: []
from_cache:
  description: Whether the source was rendered from the same inputs before, so that nothing had to be rendered.
  returned: always, V(null) when the module fails
  type: bool
  sample: true
started:
  description:
    - The calls of C(helm) and C(kustomize) that the render took, also when it was made by an earlier call in this run.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample:
    - helm repo
    - helm pull
    - helm template
"""

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points import addon_render
from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.module import run_module


def main() -> None:
    run_module(addon_render)


if __name__ == "__main__":
    main()
