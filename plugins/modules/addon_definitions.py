"""Opens a run: reads the definition files, makes the records match."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon_definitions
short_description: Read add-on definitions from git and open a run
version_added: 0.1.0
description:
  - Reads the definition files of a gitops repository at one commit, checks them, brings them into the order of their
    dependencies, and creates or updates one Addon record in the cluster for each.
  - Opens the run that all other steps work in. RV(run) is a private folder that holds what the steps hand to each
    other, the login included. M(rendimiento.addons.addon_status) with
    O(rendimiento.addons.addon_status#module:state=summary) removes it.
  - Only what is committed counts. Uncommitted changes of a checkout are not read, and named in a warning at the end
    of the run.
  - A file that breaks a rule makes its own add-on an Error and stops no other.
  - Records are never deleted here, and a repository, revision or folder that can't be read changes nothing.
  - Without the preparation by M(rendimiento.addons.addon_bootstrap), this step fails. In check mode it goes on, as if
    there were no records yet.
extends_documentation_fragment:
  - rendimiento.addons._attributes
  - rendimiento.addons._cluster
  - rendimiento.addons._cluster.state_namespace
options:
  repo:
    description:
      - A git checkout, a folder inside one, or the URL of a git repository. All paths are relative to it.
      - A URL is V(https://), V(ssh://), V(git@host:path) or V(file://), without credentials in it. It is fetched into
        O(cache_dir), and git logs in by its own configuration, such as a credential helper or an SSH key.
    type: str
    required: true
  revision:
    description:
      - Branch, tag or commit to read. If empty, the checkout's C(HEAD), or the default branch of the URL.
      - Where a branch and a tag have the same name, write V(refs/heads/NAME) or V(refs/tags/NAME).
    type: str
    default: ''
  path:
    description:
      - Folder with the definition files, the C(.yaml) and C(.yml) files directly in it whose name does not begin with a
        dot. What else is in it is listed, see RV(ignored), and has no effect.
      - A removed definition is noticed by its record, which names the folder it came from. Records of other folders
        are left alone.
    type: str
    default: addons
  only:
    description:
      - Names of the add-ons that the run is about; all if empty.
      - Others stay untouched. What they hold in the cluster still counts when two add-ons want the same object.
    type: list
    elements: str
    default: []
  impersonate:
    description:
      - User that the run acts as in everything an add-on installs, such as
        V(system:serviceaccount:rendimiento-system:rendimiento-addons). Records and locks are always written by the
        caller.
      - If empty, the caller does it all.
    type: str
    default: ''
  workers:
    description:
      - Requests that one step of the run sends at the same time, at least 1.
    type: int
    default: 8
  helm:
    description:
      - The C(helm) program, version 4, that M(rendimiento.addons.addon_render) uses for charts, a name or a path.
        If empty, C(helm) is looked for in E(PATH).
    type: str
    default: ''
  kustomize:
    description:
      - The C(kustomize) program, a name or a path. If empty, C(kustomize) is looked for in E(PATH).
    type: str
    default: ''
  kustomize_allow:
    description:
      - What a kustomization may do beyond reading files of its repository. Each of these lets whoever writes to the
        repository reach the network, or run programs, on the host that runs this step.
      - V(remote) allows bases and files from other places, V(helm) allows C(helmCharts), V(plugins) allows generators
        and transformers that are programs or containers.
    type: list
    elements: str
    choices:
      - remote
      - helm
      - plugins
    default: []
  program_seconds:
    description:
      - How long one call of C(helm), C(kustomize) or a fetch of C(git) may take, at least 1.
    type: int
    default: 120
  cache_dir:
    description:
      - Folder for charts, renders and clones that later runs use again, for this user alone. It holds Secrets as they
        are rendered.
      - If empty, C(rendimiento-addons/sources) in E(XDG_CACHE_HOME) or C(~/.cache); where that can't be written,
        nothing is kept.
    type: path
    default: ''
requirements:
  - git (the program), on the host that runs this step and M(rendimiento.addons.addon_render)
attributes:
  check_mode:
    details:
      - The run directory is made in check mode, too, since the other steps need it.
  diff_mode:
    support: none
    details:
      - A record mirrors its definition file, so the diff is git's. What changes in the cluster is shown by
        M(rendimiento.addons.addon_diff).
  idempotent:
    support: full
    details:
      - Each call opens a new run.
author:
  - The rendimiento.addons authors (@rendimiento)
seealso:
  - module: rendimiento.addons.addon_status
"""

EXAMPLES = r"""
---
# The role rendimiento.addons.addon does all of this and more. A play of its own is for those who only want to look.
- name: Preview all add-ons, change nothing
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Look at the add-ons
      check_mode: true
      diff: true
      block:
        - name: Read the definitions
          rendimiento.addons.addon_definitions:
            repo: /srv/gitops
            kubeconfig: ~/.kube/config
          register: opened

        - name: Render
          rendimiento.addons.addon_render:
            run: "{{ opened.run }}"
            name: "{{ item }}"
          loop: "{{ opened.names }}"
          ignore_errors: true

        - name: Plan, and show every object's diff
          rendimiento.addons.addon_diff:
            run: "{{ opened.run }}"
            name: "{{ item }}"
          loop: "{{ opened.names }}"
          ignore_errors: true

        - name: Judge all plans together
          rendimiento.addons.addon_status:
            run: "{{ opened.run }}"
            state: queue
      always:
        - name: Sum up, and remove the run directory
          rendimiento.addons.addon_status:
            run: "{{ opened.run }}"
            state: summary
          when: opened.run is not none

- name: Read the definitions of another cluster's folder at a tag, two add-ons only
  rendimiento.addons.addon_definitions:
    repo: /srv/gitops
    revision: v2026.08
    path: clusters/production/addons
    only:
      - cert-manager
      - postgres-operator
    impersonate: system:serviceaccount:rendimiento-system:rendimiento-addons
  register: opened
"""

RETURN = r"""
run:
  description: The run directory, for the option O(rendimiento.addons.addon_render#module:run) of all other steps.
  returned: always, V(null) when the module fails
  type: str
  sample: /run/user/1000/rendimiento-addons-x3k9_a1b
commit:
  description: The commit that was read.
  returned: always, V(null) when the module fails
  type: str
  sample: 4c9a1c3f8f0a4b7d9e2f6a5b3c1d0e9f8a7b6c5d
server:
  description: The API server.
  returned: always, V(null) when the module fails
  type: str
  sample: https://203.0.113.10:6443
server_version:
  description: Its version.
  returned: always, V(null) when the module fails
  type: str
  sample: v1.37.0
context:
  description: The context of the kubeconfig by which the API server was found, empty when it was found otherwise.
  returned: always, V(null) when the module fails
  type: str
  sample: production
names:
  description: The add-ons of the run with a valid definition, dependencies first.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample:
    - postgres-operator
    - postgres-clusters
addons:
  description: What a play may want to know of each of RV(names), by name.
  returned: always, V(null) when the module fails
  type: dict
  contains:
    phase:
      description: The phase that the record had when the run began.
      type: str
    suspended:
      description: Whether the definition says C(suspend).
      type: bool
    paused:
      description: Whether the record carries the annotation C(rendimiento.ai/paused).
      type: bool
    manual_sync:
      description: Whether the definition says C(manualSync).
      type: bool
    adopt:
      description: Whether the definition says C(adopt).
      type: bool
    depends_on:
      description: The add-ons that it names in C(dependsOn).
      type: list
      elements: str
  sample:
    postgres-clusters:
      adopt: false
      depends_on:
        - postgres-operator
      manual_sync: false
      paused: false
      phase: Synced
      suspended: false
invalid:
  description: Files that break a rule.
  returned: always, V(null) when the module fails
  type: list
  elements: dict
  contains:
    file:
      description: The file.
      type: str
    name:
      description: The add-on that it is about, which stays as it is; empty when that can't be told.
      type: str
    reason:
      description: What is wrong.
      type: str
  sample:
    - file: addons/dashboard.yaml
      name: dashboard
      reason: "addons/dashboard.yaml: prun: unknown field. Did you mean prune?"
ignored:
  description: What else is in the folder and was not read, folders with a slash.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample:
    - README.md
    - drafts/
removed:
  description: Add-ons that have a record from this folder, but no file any more.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample: []
written:
  description: Records that were created or updated; in check mode, those that would be.
  returned: always, V(null) when the module fails
  type: list
  elements: str
  sample:
    - postgres-clusters
"""

from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points import addon_definitions
from ansible_collections.rendimiento.addons.plugins.module_utils.entry_points.module import run_module


def main() -> None:
    run_module(addon_definitions)


if __name__ == "__main__":
    main()
