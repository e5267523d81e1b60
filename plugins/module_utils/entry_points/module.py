"""Runs an entry point as an Ansible module: arguments in, one call, one result out."""

from __future__ import annotations

import importlib.util
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..model.errors import AddonError
from .interruption import interruptible
from .invocation import EntryPoint, Invocation, failed

LIBRARIES = {"kubernetes": "kubernetes", "yaml": "PyYAML", "jsonpatch": "jsonpatch", "jsonschema": "jsonschema"}
"""What the core imports, and the name under which it is installed."""


def missing_library() -> str:
    """What to install, in Ansible's own words; empty when everything is there."""
    for library, package in LIBRARIES.items():
        if importlib.util.find_spec(library) is None:
            return str(missing_required_lib(package))
    return ""


def run_module(entry_point: EntryPoint, **constraints: Any) -> None:
    """The whole body of a module's ``main``. ``constraints`` go to ``AnsibleModule``, such as ``required_if``."""
    module = AnsibleModule(argument_spec=entry_point.ARGUMENT_SPEC, supports_check_mode=True, **constraints)
    missing = missing_library()
    if missing:
        module.exit_json(**failed(entry_point, module.params, missing))
    invocation = Invocation(check=module.check_mode, diff=module._diff, progress=lambda message: None)
    try:
        with interruptible(module.params.get("run")):
            result = entry_point.call(module.params, invocation).to_ansible()
    except AddonError as error:
        module.exit_json(**failed(entry_point, module.params, str(error)))
    for warning in result.pop("warnings", []):
        module.warn(warning)
    module.exit_json(**result)
