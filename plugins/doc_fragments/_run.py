"""Options of the steps that work inside an opened run; private to this collection."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  run:
    description:
      - The run directory, as M(rendimiento.addons.addon_definitions) returned it. The cluster, the login and all
        options of the run are read from there.
    type: path
    required: true
requirements:
  - python >= 3.11
  - kubernetes
  - PyYAML
  - jsonpatch
  - jsonschema
"""

    NAME = r"""
options:
  name:
    description:
      - The add-on.
    type: str
    required: true
"""
