"""What the modules say about how they can be used; private to this collection."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Predicts the result, C(changed) included, and writes nothing to the cluster.
    support: full
  diff_mode:
    description: Returns what changed, or would change, object by object.
  idempotent:
    description: Called again with nothing changed in between, it changes nothing.
  action:
    description: Has an action plugin of the same name, which can do the work inside of the controller.
    support: full
    details:
      - With connection C(local) and without become, it runs in the controller process, which costs milliseconds and
        shows progress.
      - Otherwise it runs on the target host like any module. The run directory, the gitops repository, the kubeconfig
        and programs such as C(git) are then those of that host, and all steps of a run must use the same one.
  async:
    description: Can be used with the C(async) keyword.
    support: none
  action_group:
    description: Member of action groups, for C(module_defaults).
    support: full
    details:
      - A default of the group must be an option of every member that the play uses; the options of cluster access are
        those of M(rendimiento.addons.addon_bootstrap) and M(rendimiento.addons.addon_definitions) only.
    membership:
      - rendimiento.addons.addon
"""
