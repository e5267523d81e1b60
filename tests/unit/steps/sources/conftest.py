"""What tests of sources share."""

from __future__ import annotations

from tests.unit.steps.sources.made_request import workshop

__all__ = ["workshop"]
