"""Prepares a cluster for the collection."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon_bootstrap
short_description: Prepare a cluster for add-ons
version_added: 0.1.0
description:
  - Creates what the other modules need in a cluster and brings it up to date after an upgrade of the collection.
    These are the kind C(addons.rendimiento.ai) of the Addon records, the state namespace, the service account
    C(rendimiento-addons) with its binding to the cluster role C(cluster-admin), three roles for people and programs,
    and the Secret C(addon-key), which is the key of all digests.
  - The key is created once and never changed again. The kind is only ever updated in place, so that records stay.
  - With O(state=absent) it takes that back.
  - The playbook C(rendimiento.addons.bootstrap) calls this module.
options:
  state:
    description:
      - With V(present), everything is created or updated.
      - With V(absent), the roles, their bindings, the service account and the locks are deleted. If there are no Addon
        records, the kind is deleted as well, and if there are no tombstones of add-ons that left git either, the key.
        The state namespace goes with its last object. What add-ons installed stays in the cluster.
    type: str
    choices: [present, absent]
    default: present
  purge:
    description:
      - With O(state=absent), also delete the Addon records, the kind, the key and the tombstones when there are
        records or tombstones. Nothing knows then what the add-ons installed, except the label on those objects.
    type: bool
    default: false
  platform_subjects:
    description:
      - Who gets the role C(rendimiento-addons-platform), which has all that a caller of a sync needs. They write
        records, locks and tombstones, and may act as the service account C(rendimiento-addons).
      - The list is the whole of it, an empty one removes the binding. If it is not given, the binding stays as it is.
    type: list
    elements: dict
    suboptions: &subject
      kind:
        description: What it is.
        type: str
        choices: [User, Group, ServiceAccount]
        required: true
      name:
        description: Its name.
        type: str
        required: true
      namespace:
        description: The namespace of a service account.
        type: str
  previewer_subjects:
    description:
      - Who gets the role C(rendimiento-addons-previewer), which has all that a caller of a full preview needs. They
        read records and the Secrets of the state namespace, and may act as the service account C(rendimiento-addons).
      - A preview is made of dry runs, and whoever may dry-run a write may write. So give it to nobody that you would
        not trust with that account.
      - Lists mean the same as in O(platform_subjects).
    type: list
    elements: dict
    suboptions: *subject
  viewer_subjects:
    description:
      - Who gets the role C(rendimiento-addons-viewer), which reads records and no Secrets. It is also part of the
        cluster's own roles C(view), C(edit) and C(admin).
      - Lists mean the same as in O(platform_subjects).
    type: list
    elements: dict
    suboptions: *subject
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
  - A kind that is being deleted, or that holds records in a version which this version of the collection does not have,
    is refused.
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

- name: Let a CI account run syncs, and a team look at records
  rendimiento.addons.addon_bootstrap:
    platform_subjects:
      - kind: ServiceAccount
        name: gitops
        namespace: ci
    viewer_subjects:
      - kind: Group
        name: developers

- name: Take it back
  rendimiento.addons.addon_bootstrap:
    state: absent
"""

RETURN = r"""
objects:
  description: All objects that the bootstrap takes care of; with O(state=absent) those that there were.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample:
    - CustomResourceDefinition addons.rendimiento.ai
    - Namespace rendimiento-system
    - ServiceAccount rendimiento-system/rendimiento-addons
    - ClusterRoleBinding rendimiento-addons
    - ClusterRole rendimiento-addons-platform
    - ClusterRole rendimiento-addons-previewer
    - ClusterRole rendimiento-addons-viewer
    - Role rendimiento-system/rendimiento-addons-platform
    - Role rendimiento-system/rendimiento-addons-previewer
    - Secret rendimiento-system/addon-key
created:
  description: Those that were not there; in check mode, those that would be created.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample: []
updated:
  description: Those that differed; in check mode, those that would be updated.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample:
    - CustomResourceDefinition addons.rendimiento.ai
removed:
  description: Those that were deleted; in check mode, those that would be deleted.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample: []
kept:
  description: Those that stay with O(state=absent), and why.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample: []
diff:
  description: One entry per object that was, or would be, created, updated or deleted. Secrets are masked.
  returned: always, empty without diff mode
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
