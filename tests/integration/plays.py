"""Running plays of the tests themselves: the roles in ``targets/``, and what a test writes down, in either way.

A step's action runs in the controller's process where the connection is ``local``. ``SHIPPED`` is the same machine by
another name, so there the action ships its module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.integration.playbooks import PlaybookResult, Playbooks

TARGETS = Path(__file__).parent / "targets"
LOCAL, SHIPPED = "local", "shipped"


class Plays(Playbooks):
    """Like ``Playbooks``, for one play on localhost that is given as an object."""

    seconds_at_most = 600

    def play(
        self,
        *tasks: Mapping[str, Any],
        way: str = LOCAL,
        verbosity: int = 0,
        surroundings: Mapping[str, str] | None = None,
        **more: Any,
    ) -> PlaybookResult:
        """Run these tasks; ``more`` are other parts of the play, such as ``roles`` or ``environment``.

        :param surroundings: environment variables of ``ansible-playbook`` itself.
        """
        variables = {"ansible_connection": way, **more.pop("vars", {})}
        play = {"hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": list(tasks), **more}
        file = self.scratch / "play.yml"
        file.write_text(yaml.safe_dump([play], sort_keys=False))
        return self.run(str(file), {}, verbosity=verbosity, environment=surroundings)

    def sync(self, way: str, options: Mapping[str, Any]) -> PlaybookResult:
        """The collection's own playbook, each of its steps in this way."""
        return self.run("rendimiento.addons.sync", {**options, "ansible_connection": way})

    def command(self, name: str, options: Mapping[str, Any]) -> list[str]:
        program, _, *others = super().command(name, options)
        return [program, name, *others]

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        own = {
            "ANSIBLE_ROLES_PATH": str(TARGETS),
            "ANSIBLE_CONNECTION_PLUGINS": str(TARGETS / "setup_both_ways" / "connection_plugins"),
        }
        return super().environment({**own, **more})


def step(module: str, **arguments: Any) -> dict[str, Any]:
    """A task that calls a module of the collection; its failure doesn't end the play."""
    return {f"rendimiento.addons.{module}": arguments, "ignore_errors": True}


def messages(result: PlaybookResult) -> Sequence[str]:
    """The messages of failed tasks, ignored ones included, but for those of loops."""
    decoder = json.JSONDecoder()
    places = (found.end() for found in re.finditer(r"^fatal: .*?FAILED! => ", result.output, re.MULTILINE))
    return [decoder.raw_decode(result.output, place)[0]["msg"] for place in places]
