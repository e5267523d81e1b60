"""What a render may ask about the cluster, and what one did ask: only that belongs into its render key.

The API list of a cluster changes with every CustomResourceDefinition, also with those that the run itself brings. A
render that never looks at it must not be made again for that, so a source says what it looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The cluster that an add-on is rendered for.

    :param version: as the server says it, such as ``v1.37.2``.
    :param api_versions: ``apps/v1`` and ``apps/v1/Deployment``, of all that is served and of what the add-ons that this
        one depends on bring.
    :param upgrade: whether the add-on was ever applied: Helm's ``.Release.IsUpgrade``.
    """

    version: str
    api_versions: frozenset[str] = frozenset()
    upgrade: bool = False

    def with_kinds(self, brought: Iterable[str]) -> ClusterFacts:
        """The same cluster once these kinds are there."""
        return ClusterFacts(self.version, self.api_versions | frozenset(brought), self.upgrade)


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the cluster a render depends on.

    :param api_versions: the entries of the API list that it looks for, ``None`` when that may be any.
    :param upgrade: whether it looks at ``.Release.IsInstall`` or ``.Release.IsUpgrade``.
    :param brings: entries that its own kinds add to the API list; a second render finds them there.
    """

    api_versions: tuple[str, ...] | None = ()
    upgrade: bool = False
    brings: tuple[str, ...] = ()

    def answers(self, cluster: ClusterFacts) -> dict[str, Any]:
        """What this cluster says to that, as plain JSON; the same before and after its own kinds exist."""
        served = cluster.with_kinds(self.brings).api_versions
        listed = served if self.api_versions is None else served.intersection(self.api_versions)
        return {"apiVersions": sorted(listed), "upgrade": cluster.upgrade if self.upgrade else None}
