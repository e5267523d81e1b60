"""Carries out one add-on's plan."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon_apply
short_description: Apply what an add-on's plan says differs, and wait until it is ready
version_added: 0.1.0
description:
  - Server-side applies the objects that the plan of M(rendimiento.addons.addon_diff) wants to create, update or
    adopt. Namespaces and CustomResourceDefinitions come first, and it waits until the new kinds are served. All
    others follow in parallel along their references, such as a pod's Secrets and the annotation
    C(rendimiento.ai/depends-on). What the annotation names, and the workloads that answer a webhook or an API, are
    waited for. The order is printed when it has more than one step.
  - Where the plan says so, the fields of former tools become the add-on's just before, and what becomes empty takes two
    requests.
  - An object whose live side moved since the plan was made is refused, not overwritten. When an object fails, or is
    not ready in time, those that need it are left out and all others still applied.
  - Before the first change, the record's inventory lists everything that may exist afterwards.
  - Then it waits until what was applied is ready, for as long as the definition says in C(wait).
  - Fails when a gate holds the plan back, or when M(rendimiento.addons.addon_status) with
    O(rendimiento.addons.addon_status#module:state=begin) did not take the add-on's lock.
extends_documentation_fragment:
  - rendimiento.addons._attributes
  - rendimiento.addons._run
  - rendimiento.addons._run.name
options:
  stage:
    description:
      - V(prerequisites) applies the add-on's Namespaces and CustomResourceDefinitions only, and does not wait for
        readiness.
      - V(all) applies all that is left, and waits.
    type: str
    choices:
      - prerequisites
      - all
    default: all
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
  - module: rendimiento.addons.addon_prune
  - module: rendimiento.addons.addon_status
"""

EXAMPLES = r"""
---
- name: Converge one add-on by hand
  block:
    - name: Take the lock
      rendimiento.addons.addon_status:
        run: "{{ opened.run }}"
        name: dashboard
        state: begin

    - name: Apply everything and wait until it is ready
      rendimiento.addons.addon_apply:
        run: "{{ opened.run }}"
        name: dashboard

    - name: Record that it is synced
      rendimiento.addons.addon_status:
        run: "{{ opened.run }}"
        name: dashboard
        state: end
        phase: Synced
  always:
    - name: Give the lock back
      rendimiento.addons.addon_status:
        run: "{{ opened.run }}"
        name: dashboard
        state: release
"""

RETURN = r"""
counts:
  description:
    - How many objects were applied, by the action that the plan had for them, which is V(create), V(update), V(adopt)
      or V(replace). What does not occur is left out.
    - In a template, write C(counts["update"]), since C(counts.update) is a method of the dictionary.
  returned: always, V(null) when the module fails
  type: dict
  sample:
    create: 12
    update: 1
objects:
  description: The objects that were applied; in check mode, those that would be.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample:
    - ConfigMap monitoring/dashboard
    - Deployment monitoring/dashboard
diff:
  description:
    - One entry per object that was, or would be, applied.
    - An entry is C(before_header), C(after_header), C(before) and C(after) as masked YAML for people. It is
      C(prepared) instead, with lines to show as they are, when the texts are long or do not differ.
    - A second C(prepared) entry tells whose fields are taken, left, absorbed or removed, and what the server warns of.
    - A last C(prepared) entry counts the objects that are not shown.
    - The header is the object with its action and verdict.
  returned: always, empty without diff mode
  type: list
  elements: dict
"""

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points import addon_apply
from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.module import run_module


def main() -> None:
    run_module(addon_apply)


if __name__ == "__main__":
    main()
