"""Filter of the tests: a module's result without what differs between two calls that did the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

DOCUMENTATION = """
name: comparable
short_description: A result without what is its own
version_added: 0.1.0
description:
  - Leaves out what Ansible adds to the result of a shipped module, and puts names in place of run directories and of
    the placeholders of secret values.
author:
  - The rendimiento.addons authors (@rendimiento)
options:
  _input:
    description: The result.
    type: raw
    required: true
"""

RETURN = """
_value:
  description: The same, to be compared.
  type: raw
"""

_RUN_DIRECTORY = re.compile(r"[^\s\"']*/rendimiento-addons-\w+")
_PLACEHOLDER = re.compile(r"<secret [0-9a-f]+>")

# What Ansible adds to the result of every module that returns the path of a file, and to no action's.
_OF_THE_FILE = {"gid", "group", "mode", "owner", "size", "state", "uid"}


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        left_out = {"invocation"} | (_OF_THE_FILE if "path" in value else set())
        return {name: comparable(part) for name, part in value.items() if name not in left_out}
    if isinstance(value, list):
        return [comparable(part) for part in value]
    if isinstance(value, str):
        return _PLACEHOLDER.sub("<secret>", _RUN_DIRECTORY.sub("RUN", value))
    return value


class FilterModule:
    def filters(self) -> dict[str, Callable[[Any], Any]]:
        return {"comparable": comparable}
