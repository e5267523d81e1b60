"""Runs the module ``addon_render`` inside the controller process."""

from __future__ import annotations

from typing import ClassVar

from ..module_utils.entry_points import addon_render
from ..module_utils.entry_points.invocation import EntryPoint
from ..plugin_utils._action import AddonAction


class ActionModule(AddonAction):
    ENTRY_POINT: ClassVar[EntryPoint] = addon_render
