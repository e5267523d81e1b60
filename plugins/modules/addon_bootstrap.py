"""Prepares a cluster for the collection."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon_bootstrap
short_description: Prepare a cluster for add-ons
version_added: 0.1.0
description:
  - Creates what the other modules need in a cluster and brings it up to date after an upgrade of the collection.
    These are the kind C(addons.rendimiento.ai) of the Addon records, the state namespace, the service account
    C(rendimiento-addons) with its binding to the cluster role C(cluster-admin), and the Secret C(addon-key), which is
    the key of all digests.
  - The key is created once and never changed again.
  - The playbook C(rendimiento.addons.bootstrap) calls this module.
extends_documentation_fragment:
  - rendimiento.addons._attributes
  - rendimiento.addons._cluster
  - rendimiento.addons._cluster.state_namespace
attributes:
  diff_mode:
    support: full
    details:
      - The key is masked.
  idempotent:
    support: full
notes:
  - The caller needs the rights of an administrator, since it binds the service account to C(cluster-admin).
author:
  - The rendimiento.addons authors (@rendimiento)
seealso:
  - module: rendimiento.addons.addon_definitions
"""

EXAMPLES = r"""
---
- name: Prepare the cluster of the current context
  rendimiento.addons.addon_bootstrap:

- name: See what an upgrade of the collection would change (with --check --diff)
  rendimiento.addons.addon_bootstrap:
    kubeconfig: ~/.kube/production
    context: admin
"""

RETURN = r"""
objects:
  description: All objects that the bootstrap takes care of.
  returned: success
  type: list
  elements: str
  sample:
    - CustomResourceDefinition addons.rendimiento.ai
    - Namespace rendimiento-system
    - ServiceAccount rendimiento-system/rendimiento-addons
    - ClusterRoleBinding rendimiento-addons
    - Secret rendimiento-system/addon-key
created:
  description: Those that were not there; in check mode, those that would be created.
  returned: success
  type: list
  elements: str
  sample: []
updated:
  description: Those that differed; in check mode, those that would be updated.
  returned: success
  type: list
  elements: str
  sample:
    - CustomResourceDefinition addons.rendimiento.ai
diff:
  description: One entry per object that was, or would be, created or updated. Secrets are masked.
  returned: in diff mode, when something changed
  type: list
  elements: dict
  contains:
    before_header:
      description: The object.
      type: str
    after_header:
      description: The object.
      type: str
    before:
      description: The object before, as YAML; empty for a new one.
      type: str
    after:
      description: The object afterwards, as YAML.
      type: str
"""

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points import addon_bootstrap
from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.module import run_module


def main() -> None:
    run_module(addon_bootstrap)


if __name__ == "__main__":
    main()
