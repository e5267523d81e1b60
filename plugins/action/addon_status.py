"""Runs the module ``addon_status`` inside the controller process."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.entry_points import addon_status
from ..module_utils.entry_points.invocation import EntryPoint
from ..plugin_utils._action import AddonAction


class ActionModule(AddonAction):
    ENTRY_POINT: ClassVar[EntryPoint] = addon_status
    CONSTRAINTS: ClassVar[dict[str, Any]] = {"required_if": addon_status.REQUIRED_IF}
