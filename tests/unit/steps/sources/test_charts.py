"""Which dependencies of a chart folder are there, and what is brought with those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.helm import Helm
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.charts import find_chart
from tests.unit.steps.sources.made_request import Workshop

CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\n"


def unpacked(workshop: Workshop, tmp_path: Path, files: dict[str, str]) -> list[str]:
    """The calls of helm that it takes to make the chart ``apps/c`` complete."""
    workshop.repository.commit({f"apps/c/{name}": text for name, text in files.items()})
    request = workshop.request(git={"path": "apps/c"})
    helm = Helm(request.tools.helm(), request.tools.cache, request.tools.work)
    folder = tmp_path / "unpacked"
    folder.mkdir()
    find_chart(request, helm).unpacked(folder)
    return workshop.started


@pytest.mark.parametrize(
    ("there", "vendored"),
    [
        ("redis/Chart.yaml", True),
        ("redis-1.0.0.tgz", True),
        ("redis-v1.0.0.tgz", True),
        ("redis-1.0.0-rc.1.tgz", True),
        ("redis-1.0.0+build-5.tgz", True),
        ("redis-1.0.tgz", True),
        ("redis-cluster-1.0.0.tgz", False),
        ("redis-6-cluster-1.0.0.tgz", False),
        ("redis-1.0.0-rc/x.tgz", False),
        ("redis-1.0.0.tgz.prov", False),
        ("redis2-1.0.0.tgz", False),
        ("redis.yaml", False),
    ],
)
def test_what_counts_as_vendored(workshop: Workshop, tmp_path: Path, there: str, vendored: bool) -> None:
    dependency = "dependencies: [{name: redis, version: '*', repository: 'https://charts.example.com'}]\n"
    files = {"Chart.yaml": CHART + dependency, f"charts/{there}": "x"}
    if vendored:
        assert unpacked(workshop, tmp_path, files) == []
        return
    with pytest.raises(AddonError, match=r"no Chart\.lock says which version of redis it depends on"):
        unpacked(workshop, tmp_path, files)


@pytest.mark.parametrize("outside", [False, True])
def test_helm_brings_all_of_them_when_one_is_missing(workshop: Workshop, tmp_path: Path, outside: bool) -> None:
    """Also the one that is vendored, from where ``Chart.yaml`` says that it is."""
    one = f"{{name: one, version: '*', repository: 'file://../../{'../lib' if outside else 'lib'}/one'}}"
    two = "{name: two, version: '*', repository: 'file://../two'}"
    files = {
        "Chart.yaml": f"{CHART}dependencies: [{one}, {two}]\n",
        "charts/one/Chart.yaml": CHART.replace("c\n", "one\n"),
        "../../lib/one/Chart.yaml": CHART.replace("c\n", "one\n"),
        "../two/Chart.yaml": CHART.replace("c\n", "two\n"),
    }
    if outside:
        with pytest.raises(AddonError, match=r"^apps/c/Chart\.yaml: the dependency one lies outside of the repository"):
            unpacked(workshop, tmp_path, files)
        return
    assert unpacked(workshop, tmp_path, files) == ["helm dependency"]
