"""When a render is found again, and when it has to be made."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.model.cluster_facts import Asked, ClusterFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.normalise import SourceObject
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.render_cache import find_or_render
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.source import Preparation, Rendered

EMPTY = ClusterFacts("v1")
WITH_X = EMPTY.with_kinds(["x/v1"])
WITH_Y = EMPTY.with_kinds(["y/v1"])


@dataclass
class Chart:
    """Stands for a source: it asks for both kinds, and brings Y where X is served. ``made`` counts its renders."""

    cache: CacheFolder
    keep: bool = True
    brings: bool = False
    asks: tuple[str, ...] | None = ("x/v1", "y/v1")
    connected: bool = False
    second: list[SourceObject] = field(default_factory=list)
    made: list[ClusterFacts] = field(default_factory=list)

    def on(self, cluster: ClusterFacts, values: Any = None) -> dict[str, Any]:
        """What is rendered for a cluster, found or made."""

        def render() -> Rendered:
            self.made.append(cluster)
            brings = ("y/v1",) if self.brings and "x/v1" in cluster.api_versions else ()
            served = cluster.with_kinds(brings).api_versions
            document = SourceObject({"served": sorted(served)}, "a.yaml")
            asked = Asked(self.asks, brings=brings)
            return Rendered([document], ["warned"], asked, self.second, connected=self.connected)

        found, from_cache = find_or_render(
            "chart", Preparation({"values": values}, "r", render, self.keep), cluster, self.cache
        )
        assert from_cache is (not self.made or self.made[-1] is not cluster or len(self.made) == self._before)
        self._before = len(self.made)
        assert (found.warnings, found.documents[0].source) == (["warned"], "a.yaml")
        return found.documents[0].manifest

    _before: int = 0


@pytest.fixture
def cache(tmp_path: Path) -> CacheFolder:
    return CacheFolder.open(str(tmp_path / "cache"))


def test_equal_inputs_and_answers_are_rendered_once(cache: CacheFolder) -> None:
    chart = Chart(cache)
    for cluster, values, made in (
        (EMPTY, 1, 1), (EMPTY, 1, 1), (EMPTY.with_kinds(["z/v1"]), 1, 1), (EMPTY, 2, 2), (WITH_X, 1, 3), (EMPTY, 1, 3)
    ):  # fmt: skip
        chart.on(cluster, values)
        assert len(chart.made) == made


def test_own_kinds_make_no_difference_later(cache: CacheFolder) -> None:
    chart = Chart(cache, brings=True)
    first = chart.on(WITH_X)
    assert chart.on(WITH_X.with_kinds(["y/v1"])) == first
    assert len(chart.made) == 1


def test_what_another_cluster_asked_is_no_answer_here(cache: CacheFolder) -> None:
    """What a chart brings depends on the cluster, and clusters share a cache."""
    chart = Chart(cache, brings=True)
    assert chart.on(WITH_Y) == {"served": ["y/v1"]}
    assert chart.on(WITH_X) == {"served": ["x/v1", "y/v1"]}
    assert chart.on(EMPTY) == {"served": []}


OTHER = [SourceObject({"served": "made up"}, "a.yaml")]


@pytest.mark.parametrize("what", [{"keep": False}, {"connected": True}, {"second": OTHER}])
def test_what_may_be_another_thing_tomorrow_is_not_kept(cache: CacheFolder, what: dict[str, Any]) -> None:
    chart = Chart(cache, **what)
    chart.on(EMPTY)
    chart.on(EMPTY)
    assert len(chart.made) == 2
    assert not list(cache.path.rglob("*"))


@pytest.mark.parametrize("damage", [b"", b"[1]", b"null", b"{"])
def test_an_entry_that_makes_no_sense_is_made_again(cache: CacheFolder, damage: bytes) -> None:
    chart = Chart(cache)
    first = chart.on(EMPTY)
    for area in ("asked", "renders"):
        for file in (cache.path / area).iterdir():
            cache.write(area, file.name, damage)
    assert chart.on(ClusterFacts("v1")) == first
    assert len(chart.made) == 2
