"""Deletes what left one add-on's source."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon_prune
short_description: Delete what left an add-on's source
version_added: 0.1.0
description:
  - Deletes the objects that the plan of M(rendimiento.addons.addon_diff) wants to prune, and waits until they are
    gone. These are the objects of the record's inventory that the source has no more, if the definition says
    C(prune).
  - Each object is looked at once more before it is deleted. It has to be the very object of the plan, still labelled
    as this add-on's, and nothing may ask to keep it.
  - Never deleted are CustomResourceDefinitions, Namespaces, PersistentVolumeClaims, PersistentVolumes and
    StorageClasses, objects with a keep policy such as the annotation C(rendimiento.ai/keep) or
    C(helm.sh/resource-policy), and objects that a controller made or that another add-on of the run has. RV(kept)
    tells which and why.
  - An empty source never prunes, and too many deletions at once are refused; see C(maxDelete) of the definition.
  - Fails when a gate holds the plan back, or when M(rendimiento.addons.addon_status) with
    O(rendimiento.addons.addon_status#module:state=begin) did not take the add-on's lock.
extends_documentation_fragment:
  - rendimiento.addons._attributes
  - rendimiento.addons._run
  - rendimiento.addons._run.name
attributes:
  check_mode:
    details:
      - It returns what the stored plan says, without a request to the cluster.
  diff_mode:
    support: full
    details:
      - One diff per object, as planned and shown by M(rendimiento.addons.addon_diff).
  idempotent:
    support: full
author:
  - The rendimiento.addons authors (@rendimiento)
seealso:
  - module: rendimiento.addons.addon_diff
  - module: rendimiento.addons.addon_apply
  - module: rendimiento.addons.addon_status
"""

EXAMPLES = r"""
---
- name: Prune what left the source, after everything else was applied
  rendimiento.addons.addon_prune:
    run: "{{ opened.run }}"
    name: dashboard
  register: pruned
"""

RETURN = r"""
deleted:
  description: The objects that were deleted; in check mode, those that would be.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample:
    - ConfigMap monitoring/old-boards
kept:
  description: The objects that left the source and stay.
  returned: always, V(null) when the module fails
  type: list
  elements: dict
  contains:
    object:
      description: The object.
      type: str
    reason:
      description: Why it stays.
      type: str
  sample:
    - object: PersistentVolumeClaim monitoring/dashboard-data
      reason: PersistentVolumeClaim is a protected kind, never deleted automatically
diff:
  description:
    - One entry per object that was, or would be, deleted.
    - An entry is C(before_header), C(after_header), C(before) and C(after) as masked YAML for people. It is
      C(prepared) instead, with lines to show as they are, when the texts are long or do not differ.
    - A last C(prepared) entry counts the objects that are not shown.
    - The header is the object with its action and verdict.
  returned: always, empty without diff mode
  type: list
  elements: dict
"""

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points import addon_prune
from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.module import run_module


def main() -> None:
    run_module(addon_prune)


if __name__ == "__main__":
    main()
