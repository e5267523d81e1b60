"""Runs the module ``addon_prune`` inside the controller process."""

from __future__ import annotations

from ..module_utils.entry_points import addon_prune
from ..plugin_utils._action import AddonAction


class ActionModule(AddonAction):
    ENTRY_POINT = addon_prune
