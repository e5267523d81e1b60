"""Plans one add-on of a run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon_diff
short_description: Plan what applying an add-on would do to the live cluster
version_added: 0.1.0
description:
  - Compares the bundle of an add-on, object by object, with the live cluster, and writes the plan to the run
    directory. M(rendimiento.addons.addon_apply) and M(rendimiento.addons.addon_prune) carry it out.
  - Each object is applied by the API server as a dry run, so defaults, admission and field ownership are those of the
    real apply. Objects whose namespace or kind comes with the same run are I(simulated), and checked with the schema
    that they will meet. What could not be checked is I(unknown), says why, and never counts as unchanged.
  - Fields that the definition ignores, replicas of what is autoscaled, and empty certificates that a controller fills
    in stay as they are in the cluster. Fields that are taken from others, and what goes with the ownership of a former
    tool, are named.
  - Nothing is ever written to the cluster.
  - A stored plan is returned again, unless a new one is due. That is so when the record moved, when an object could
    not be checked before, or when something that the add-on depends on changed in this run. RV(replanned) says which.
extends_documentation_fragment:
  - rendimiento.addons._attributes
  - rendimiento.addons._run
  - rendimiento.addons._run.name
attributes:
  check_mode:
    details:
      - In check mode C(changed) is V(true) when a sync would change something. In a real run it is V(false), since
        there M(rendimiento.addons.addon_apply) and M(rendimiento.addons.addon_prune) report the changes.
  diff_mode:
    support: full
    details:
      - In check mode, one diff per object. In a real run the diffs come from M(rendimiento.addons.addon_apply) and
        M(rendimiento.addons.addon_prune). Those of an add-on that is held back by a gate other than V(refused) are
        printed as lines, once this run has its lock.
      - Values of Secrets, and of fields that the definition names in C(mask), are masked. Whether two of them are equal
        stays visible.
      - A long diff is cut after 400 lines. Of more than 100 objects those that matter most are shown. What is cut is
        said.
  idempotent:
    support: full
    details:
      - It changes nothing.
notes:
  - A dry run needs the same rights as the real request. With read rights only, objects are I(unknown).
  - It needs the right to update, too, for objects that lose fields of a former tool or of which a part becomes empty.
    Without it these are I(simulated).
author:
  - The rendimiento.addons authors (@rendimiento)
seealso:
  - module: rendimiento.addons.addon_render
  - module: rendimiento.addons.addon_apply
  - module: rendimiento.addons.addon_prune
"""

EXAMPLES = r"""
---
- name: Plan every add-on of the run
  rendimiento.addons.addon_diff:
    run: "{{ opened.run }}"
    name: "{{ item }}"
  loop: "{{ opened.names }}"
  register: planned
  ignore_errors: true

- name: Stop when the dashboard would lose an object
  rendimiento.addons.addon_diff:
    run: "{{ opened.run }}"
    name: dashboard
  register: planned
  failed_when: planned.counts.prune | default(0) > 0
"""

RETURN = r"""
path:
  description: The plan file.
  returned: always, V(null) when the module fails
  type: str
  sample: /run/user/1000/rendimiento-addons-x3k9_a1b/plan/dashboard.json
counts:
  description:
    - How many objects there are for each action, which is one of V(create), V(update), V(adopt), V(replace),
      V(prune), V(keep), V(unchanged) and V(blocked), and how many of them are V(unknown). What does not occur is left
      out.
    - In a template, write C(counts["update"]), since C(counts.update) is a method of the dictionary.
  returned: always, V(null) when the module fails
  type: dict
  sample:
    create: 1
    unchanged: 13
pending:
  description: Whether a sync would change something, or can't tell.
  returned: always, V(null) when the module fails
  type: bool
  sample: true
comparable:
  description:
    - Whether RV(digest) can be compared with that of another run. V(false) when the cluster's key could not be read
      and a random one was used.
  returned: always, V(null) when the module fails
  type: bool
  sample: true
digest:
  description: A keyed hash over the whole plan, that is the objects, the live state they were compared with, and all
    actions.
  returned: always, V(null) when the module fails
  type: str
  sample: 5e0f7c1b9a3d4e2f8c6b1a0d9e8f7c6b
gate:
  description:
    - What holds the plan back, empty when nothing does.
    - V(refused) when an object is blocked or unknown, V(hooks) when there are hooks that this version can't run,
      V(adoption) when it would take over what already runs, V(manual-sync) when changes wait for a sync request.
  returned: always, V(null) when the module fails
  type: str
  sample: adoption
gate_reason:
  description: The same in a sentence.
  returned: always, V(null) when the module fails
  type: str
  sample: >-
    already in the cluster and not this add-on's: Deployment monitoring/dashboard. Set adopt: true to take them over
replanned:
  description: Why the stored plan was replaced by this new one, empty when it was not.
  returned: always, V(null) when the module fails
  type: str
  sample: postgres-operator, which it depends on, changed in this run
layers:
  description:
    - In which order everything that the add-on has is applied when all of it is. What is in one layer is applied at the
      same time, after what it waits for in the layers before.
    - Of each layer the first 10 objects are named. At most 50 layers are told.
  returned: always, V(null) when the module fails
  type: list
  elements: dict
  contains:
    layer:
      description: Its number, from 1.
      type: int
    count:
      description: How many objects it has.
      type: int
    objects:
      description: Some of them.
      type: list
      elements: str
  sample:
    - layer: 1
      count: 1
      objects: [Namespace monitoring]
    - layer: 2
      count: 2
      objects: [ConfigMap monitoring/dashboard, ServiceAccount monitoring/dashboard]
diff:
  description:
    - One entry per object that would change, is not settled, or has fields that stay as they are.
    - An entry is C(before_header), C(after_header), C(before) and C(after) as masked YAML for people. It is
      C(prepared) instead, with lines to show as they are, when the texts are long or do not differ.
    - A second C(prepared) entry tells whose fields are taken, left, absorbed or removed, and what the server warns of.
    - A last C(prepared) entry counts the objects that are not shown.
    - The header is the object with its action and verdict.
  returned: always, empty without check and diff mode
  type: list
  elements: dict
"""

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points import addon_diff
from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.module import run_module


def main() -> None:
    run_module(addon_diff)


if __name__ == "__main__":
    main()
