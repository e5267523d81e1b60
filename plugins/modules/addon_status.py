"""The frame of a run and of each add-on in it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon_status
short_description: Frame a run, from the queue through locks and records to the summary
version_added: 0.1.0
description:
  - Does what stands around planning and applying. It judges all plans together, takes and gives back an add-on's
    lock, writes down how an add-on ended, and sums up the run.
  - With O(state=end) and O(state=release) it never fails because of the cluster, since a failure in a C(rescue) or
    C(always) would take every later add-on with it. What could not be written fails the summary.
extends_documentation_fragment:
  - rendimiento.addons._attributes
  - rendimiento.addons._run
options:
  state:
    description:
      - V(queue) judges all plans together once every add-on is rendered and planned, with what needs all of them,
        such as two add-ons that want the same object. It returns the add-ons to converge.
      - V(begin) takes the lock of O(name) and reads its record again. It returns facts that say how to go on. When
        another run holds the lock, it waits for at most 75 seconds and then fails.
      - V(end) writes O(phase), O(message), conditions, inventory and history into the record of O(name). Nothing is
        written when the record says all of it already.
      - V(drop) is for an add-on whose definition left git. It keeps everything running, saves the inventory in a
        Secret of the state namespace (its tombstone), and deletes the record.
      - V(release) gives the lock of O(name) back, if this run has it.
      - V(summary) prints the table of the run, removes the run directory, and fails if O(fail_on) says so.
    type: str
    required: true
    choices:
      - queue
      - begin
      - end
      - drop
      - release
      - summary
  name:
    description:
      - The add-on.
      - Required if O(state) is V(begin), V(end), V(drop) or V(release).
    type: str
  phase:
    description:
      - How the add-on ended.
      - Required if O(state=end).
    type: str
    choices:
      - Synced
      - OutOfSync
      - Blocked
      - Error
      - Suspended
  message:
    description:
      - Why, for people. Used if O(state=end).
    type: str
    default: ''
  fail_on:
    description:
      - What makes O(state=summary) fail, besides records and locks that could not be written.
      - V(Error), V(Blocked) and V(OutOfSync) are phases. V(unknown) means objects that could not be checked.
        V(changes) means changes that are still pending at the end, which in check mode are all of them.
    type: list
    elements: str
    choices:
      - Error
      - Blocked
      - OutOfSync
      - unknown
      - changes
    default:
      - Error
  summary_file:
    description:
      - File on the host of this step that the summary is written to, as JSON, in check mode, too. Used if
        O(state=summary).
    type: path
  preview_file:
    description:
      - File on the host of this step that a preview of all plans is written to, as Markdown for a comment at a pull
        request, in check mode, too. In a real run it holds what was planned. Secrets are masked, and texts of others
        stand in code, so that they mention nobody. Used if O(state=summary).
    type: path
  preview_size:
    description:
      - Most bytes of O(preview_file), at least 500; V(0) for no limit. What is cut is told in it. The default is what a
        comment on GitHub can take.
    type: int
    default: 60000
  plan_file:
    description:
      - File on the host of this step that all plans are written to, as JSON with a patch (RFC 6902) for each object
        that would change, secrets masked. Its form is that of C(docs/plan.schema.json) of the collection. Used if
        O(state=summary).
    type: path
  keep_run:
    description:
      - Whether O(state=summary) leaves the run directory, to look at. It holds the login of the run.
    type: bool
    default: false
attributes:
  check_mode:
    details:
      - V(queue) and V(summary) do the same as in a real run; neither writes to the cluster. V(begin), V(end), V(drop)
        and V(release) touch neither lock nor record, and V(begin) says that the add-on is active. V(queue) reports a
        change when the record of an add-on whose definition left git would be dropped, as V(drop) does.
  diff_mode:
    support: none
    details:
      - What it writes are records and locks of the collection itself.
  idempotent:
    support: partial
    details:
      - V(drop) always reports a change. V(begin) and V(release) take and give back a lock each time, and V(end) may
        write the record; none of them reports a change.
author:
  - The rendimiento.addons authors (@rendimiento)
seealso:
  - module: rendimiento.addons.addon_definitions
"""

EXAMPLES = r"""
---
- name: Judge all plans together
  rendimiento.addons.addon_status:
    run: "{{ opened.run }}"
    state: queue
  register: queue

- name: Take the lock of an add-on
  rendimiento.addons.addon_status:
    run: "{{ opened.run }}"
    name: dashboard
    state: begin
  register: dashboard

- name: Record that somebody paused it
  rendimiento.addons.addon_status:
    run: "{{ opened.run }}"
    name: dashboard
    state: end
    phase: Suspended
    message: "{{ dashboard.reason }}"
  when: dashboard.suspended

- name: Give the lock back
  rendimiento.addons.addon_status:
    run: "{{ opened.run }}"
    name: dashboard
    state: release

- name: Sum up, and fail when anything is not as git says
  rendimiento.addons.addon_status:
    run: "{{ opened.run }}"
    state: summary
    fail_on:
      - Error
      - Blocked
      - changes
    summary_file: /tmp/addons.json
    preview_file: /tmp/addons.md
    plan_file: /tmp/addons-plan.json
"""

RETURN = r"""
converge:
  description:
    - The add-ons that have something to apply, prune, record or drop, dependencies first.
  returned: if O(state=queue)
  type: list
  elements: str
  sample:
    - postgres-clusters
skip:
  description:
    - If O(state=queue), the add-ons that are left out because of one that they depend on, with the reason.
    - If O(state=begin), whether this add-on has to be left out, since one that it depends on failed in the meantime.
  returned: if O(state) is V(queue) or V(begin)
  type: raw
  sample:
    postgres-clusters: depends on postgres-operator, which failed
active:
  description: Whether the add-on is to be rendered, planned and applied. True when none of the other facts is.
  returned: if O(state=begin)
  type: bool
  sample: true
removed:
  description: Whether its definition left git, so that V(drop) is due.
  returned: if O(state=begin)
  type: bool
  sample: false
uninstall:
  description:
    - Whether its definition left git and its record is marked for uninstall, which this version can't do. RV(removed)
      is V(false) then.
  returned: if O(state=begin)
  type: bool
  sample: false
suspended:
  description: Whether it is suspended in git or paused by annotation.
  returned: if O(state=begin)
  type: bool
  sample: false
reason:
  description: Why it is not active, empty when it is.
  returned: if O(state=begin)
  type: str
  sample: "paused by annotation: disk replacement"
phase:
  description: The add-on's phase in this run; empty as long as nothing decided it, and after V(drop).
  returned: if O(state) is V(end), V(drop) or V(release)
  type: str
  sample: Synced
message:
  description: Why, for people.
  returned: if O(state) is V(end), V(drop) or V(release)
  type: str
  sample: ''
addons:
  description: The add-ons of the run, by name. The same is set as the stat C(addon_summary), and written to
    O(summary_file).
  returned: if O(state=summary), V(null) when it fails
  type: dict
  contains:
    phase:
      description: The phase; V(-) when the record was dropped.
      type: str
    created:
      description: Objects that were created; in check mode, would be.
      type: int
    updated:
      description: Objects that were updated or replaced; in check mode, would be.
      type: int
    adopted:
      description: Objects that were taken over with no change but label and field ownership; in check mode, would be.
      type: int
    unchanged:
      description: Objects that are as the source says.
      type: int
    pruned:
      description: Objects that were deleted; in check mode, would be.
      type: int
    kept:
      description: Objects that left the source and stay.
      type: int
    unknown:
      description: Objects that could not be checked.
      type: int
    pending:
      description: Whether changes are still pending.
      type: bool
    kept_objects:
      description: The kept objects, each with the reason.
      type: list
      elements: str
    held_back_objects:
      description:
        - The objects that were not applied, since they wait for others that failed or are not ready, each with those.
      type: list
      elements: str
    why:
      description: Error, reason, what would be deleted or could not be checked, or what was kept, in a sentence.
      type: str
  sample:
    dashboard:
      adopted: 0
      created: 0
      held_back_objects: []
      kept: 0
      kept_objects: []
      pending: false
      phase: Synced
      pruned: 1
      unchanged: 13
      unknown: 0
      updated: 1
      why: ''
"""

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points import addon_status
from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.module import run_module


def main() -> None:
    run_module(addon_status, required_if=addon_status.REQUIRED_IF)


if __name__ == "__main__":
    main()
