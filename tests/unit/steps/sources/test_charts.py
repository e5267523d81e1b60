"""Which dependencies of a chart folder are there, and what is brought with those that are not."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.helm import Helm
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.charts import find_chart
from tests.chart_repository import Answer, ChartRepository
from tests.unit.steps.sources.made_request import Workshop

CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\n"


def unpacked(workshop: Workshop, tmp_path: Path, files: dict[str, str]) -> list[str]:
    """The calls of helm that it takes to make the chart ``apps/c`` complete."""
    workshop.repository.commit({f"apps/c/{name}": text for name, text in files.items()})
    request = workshop.request(git={"path": "apps/c"})
    helm = Helm(request.tools.helm(), request.tools.cache, request.tools.work)
    folder = tmp_path / "unpacked"
    folder.mkdir(parents=True)
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
        # Nothing is brought; that this is no chart is for helm to say.
        with pytest.raises(AddonError, match=r"^c: is no whole chart archive|^Chart\.yaml: |^c: helm can't|^c/Chart"):
            unpacked(workshop, tmp_path, files)
        assert workshop.started == ["helm dependency"]
        return
    with pytest.raises(AddonError, match=r"no Chart\.lock says which version of redis it depends on"):
        unpacked(workshop, tmp_path, files)


def other(name: str, version: str = "1.0.0") -> str:
    return f"apiVersion: v2\nname: {name}\nversion: {version}\n"


def test_only_what_is_missing_is_placed(workshop: Workshop, tmp_path: Path) -> None:
    """Wherever ``Chart.yaml`` says that the one which is there comes from."""
    files = {
        "Chart.yaml": f"{CHART}dependencies:\n- {{name: one, version: '*', repository: 'file://../../../lib/one'}}\n"
        "- {name: two, version: '*', repository: 'file://../two', alias: a}\n"
        "- {name: two, version: '*', repository: 'file://../two', alias: b}\n",
        "charts/one/Chart.yaml": other("one"),
        "../two/Chart.yaml": other("two"),
    }
    assert unpacked(workshop, tmp_path, files) == ["helm dependency"]
    charts = tmp_path / "unpacked/apps/c/charts"
    assert sorted(path.name for path in charts.iterdir()) == ["one", "two"]
    assert (charts / "two").readlink() == Path("../../two")


@pytest.mark.parametrize("status", ["wrong version", "missing"])
def test_what_helm_would_leave_out_is_an_error(workshop: Workshop, tmp_path: Path, status: str) -> None:
    files = {
        "Chart.yaml": f"{CHART}dependencies: [{{name: two, version: ^1.0.0, repository: 'file://../two'}}]\n",
        "../two/Chart.yaml": other("two", "2.0.0") if status == "wrong version" else other("three"),
    }
    with pytest.raises(AddonError, match=rf"the dependency two is not as it should be in charts/: {status}"):
        unpacked(workshop, tmp_path, files)


@pytest.mark.parametrize(
    "hidden",
    [
        "dependencies: [{name: x, version: '*', repository: 'file://../x', repo\u017fitory: 'file://HOST'}]\n",
        "dependencies: [{name: x, version: '*', repository: 'file://../x', Repository: 'file://HOST'}]\n",
        "dependencies: [{name: x, version: '*', repository: 'file://../x'}]\n"
        "Dependencies: [{name: x, version: '*', repository: 'file://HOST'}]\n",
        "---\ndependencies: [{name: x, version: '*', repository: 'file://HOST'}]\n",
    ],
)
@pytest.mark.parametrize("ignored", ["", "requirements.yaml\n", "charts/x\n"])
def test_no_dependency_leads_to_a_folder_of_the_host(
    workshop: Workshop, tmp_path: Path, hidden: str, ignored: str
) -> None:
    """However Helm reads what the chart says, and whatever it does not read."""
    host = tmp_path / "host"
    for name in ("Chart.yaml", "templates/a.yaml"):
        (host / name).parent.mkdir(parents=True, exist_ok=True)
        (host / name).write_text(other("x") if name == "Chart.yaml" else "secret: of the host")
    listed = hidden.replace("HOST", str(host))
    files = {"Chart.yaml": CHART + listed, ".helmignore": ignored, "../x/Chart.yaml": other("x")}
    files |= {"requirements.yaml": listed.replace("---\n", "")} if ignored else {}
    with contextlib.suppress(AddonError):
        unpacked(workshop, tmp_path, files)
    brought = list((tmp_path / "unpacked").rglob("*.tgz"))
    texts = [path.read_text() for path in (tmp_path / "unpacked").rglob("*") if path.is_file()]
    assert not brought
    assert not [text for text in texts if "of the host" in text]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../../x", "a dependency's name or version can't be that of a chart"),
        (".x", "a dependency's name or version can't be that of a chart"),
        ("x", "a dependency can't be written to it: File exists"),
    ],
)
def test_where_a_dependency_may_not_be_placed(workshop: Workshop, tmp_path: Path, name: str, message: str) -> None:
    files = {
        "Chart.yaml": f"{CHART}dependencies: [{{name: {name}, version: '*', repository: 'file://../x'}}]\n",
        "../x/Chart.yaml": other("x"),
        "charts/x/README.md": "no chart",
    }
    with pytest.raises(AddonError) as caught:
        unpacked(workshop, tmp_path, files)
    assert caught.value.message == message


def test_a_file_in_the_place_of_the_folder(workshop: Workshop, tmp_path: Path) -> None:
    dependency = "dependencies: [{name: x, version: '*', repository: 'file://../x'}]\n"
    files = {"Chart.yaml": CHART + dependency, "../x/Chart.yaml": other("x"), "charts": "x"}
    with pytest.raises(AddonError, match=r"^apps/c/charts: a dependency can't be written to it: "):
        unpacked(workshop, tmp_path, files)


# -- dependencies of repositories --------------------------------------------------------------------------------------


@pytest.fixture
def charts(tmp_path: Path, programs: dict[str, Path]) -> Iterator[ChartRepository]:
    with ChartRepository(tmp_path / "charts", programs["helm"]) as repository:
        repository.add("db", "0.1.0", {})
        yield repository


def lock(workshop: Workshop, charts: ChartRepository, api_version: str = "v2") -> None:
    """A chart ``apps/c`` with a lock file of helm's."""
    dependency = f"dependencies: [{{name: db, version: 0.1.x, repository: '{charts.url}/'}}]\n"
    older = {"Chart.yaml": CHART.replace("v2", "v1"), "requirements.yaml": dependency}
    files = {"Chart.yaml": CHART + dependency} if api_version == "v2" else older
    workshop.repository.write({f"apps/c/{name}": text for name, text in files.items()})
    charts.helm("dependency", "update", str(workshop.repository.path / "apps/c"))
    shutil.rmtree(workshop.repository.path / "apps/c/charts")
    charts.requests.clear()


@pytest.mark.parametrize("api_version", ["v1", "v2"])
def test_locked_dependencies_are_brought_once(
    workshop: Workshop, charts: ChartRepository, tmp_path: Path, api_version: str
) -> None:
    lock(workshop, charts, api_version)
    # Nothing newer than what is locked.
    charts.add("db", "0.1.1", {})
    started = ["helm repo", "helm pull", "helm dependency"]
    assert unpacked(workshop, tmp_path / "once", {}) == started
    assert charts.paths() == ["/index.yaml", "/db-0.1.0.tgz"]
    assert unpacked(workshop, tmp_path / "again", {}) == [*started, "helm dependency"]
    for folder in ("once", "again"):
        (file,) = (tmp_path / folder / "unpacked/apps/c/charts").iterdir()
        assert (file.name, file.read_bytes()) == ("db-0.1.0.tgz", (charts.folder / "db-0.1.0.tgz").read_bytes())


def test_a_lock_file_that_does_not_fit_brings_nothing(
    workshop: Workshop, charts: ChartRepository, tmp_path: Path
) -> None:
    lock(workshop, charts)
    file = workshop.repository.path / "apps/c/Chart.lock"
    file.write_text(file.read_text().replace("version: 0.1.0", "version: 0.1.1"))
    with pytest.raises(AddonError) as caught:
        unpacked(workshop, tmp_path, {})
    assert str(caught.value) == (
        "apps/c/Chart.yaml: Chart.lock does not fit the dependencies of Chart.yaml. "
        "Run helm dependency update, and commit Chart.lock."
    )
    assert not charts.requests


def test_an_archive_that_is_not_what_its_index_says(
    workshop: Workshop, charts: ChartRepository, tmp_path: Path
) -> None:
    lock(workshop, charts)
    charts.answers["/db-0.1.0.tgz"] = Answer(content=b"<html>")
    with pytest.raises(AddonError, match=rf"^{charts.url}: the archive of db 0\.1\.0 has another digest"):
        unpacked(workshop, tmp_path, {})


@pytest.mark.parametrize("url", ["oci://charts.example.com", "http://charts.example.com", "@own"])
def test_where_a_dependency_may_not_come_from(
    workshop: Workshop, charts: ChartRepository, tmp_path: Path, url: str
) -> None:
    entry = {"name": "db", "version": "0.1.0", "repository": url}
    digest = hashlib.sha256(json.dumps([[entry], [entry]], separators=(",", ":")).encode()).hexdigest()
    files = {
        "Chart.yaml": f"{CHART}dependencies: [{json.dumps(entry)}]\n",
        "Chart.lock": f"dependencies: [{json.dumps(entry)}]\ndigest: sha256:{digest}\n",
    }
    with pytest.raises(AddonError, match=rf"^{url}: charts can be had from https:// only"):
        unpacked(workshop, tmp_path, files)
