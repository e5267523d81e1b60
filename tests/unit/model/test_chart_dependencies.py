"""What the files of a chart folder list as its dependencies, as Helm 4.3 reads them."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.chart_dependencies import (
    ChartDependencies,
    Dependency,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError

URL = "https://charts.example.com"


def listing(*entries: str) -> str:
    return f"dependencies: [{', '.join(f'{{{entry}}}' for entry in entries)}]"


def of(repository: str = URL, name: str = "db", version: str = "1") -> str:
    return f"name: {name}, version: '{version}', repository: '{repository}'"


def read(**files: str) -> ChartDependencies:
    """:param files: by name, with ``_`` for the dot."""
    contents = {name.replace("_", "."): text.encode() for name, text in files.items()}
    return ChartDependencies.read(contents, "charts/web")


def failure(dependencies: ChartDependencies) -> str:
    with pytest.raises(AddonError) as caught:
        dependencies.to_download()
    return str(caught.value)


@pytest.mark.parametrize(
    ("chart", "requirements", "wanted"),
    [
        ("name: web", None, []),
        ("[]", None, []),
        ("dependencies: 5", "dependencies: [x, null]", []),
        (listing(of(), "name: a"), None, [("db", "1", URL), ("a", "None", "")]),
        ("name: web", listing(of()), [("db", "1", URL)]),
        (listing(of()), "{}", [("db", "1", URL)]),
        (listing(of()), "# nothing\n", [("db", "1", URL)]),
        (listing(of()), "dependencies: []", []),
        (listing(of()), "dependencies: null", []),
        # Go reads the second list over the first one.
        (listing(of(), of(name="b")), listing("name: a"), [("a", "1", URL)]),
        (listing(of()), listing("name: a", "name: b"), [("a", "1", URL), ("b", "None", "")]),
        ("Dependencies: [{Name: a, VERSION: '2', Repository: file://../a}]", None, [("a", "2", "file://../a")]),
    ],
)
def test_what_is_wanted(chart: str, requirements: str | None, wanted: list[tuple[str, str, str]]) -> None:
    files = {"Chart_yaml": chart} | ({} if requirements is None else {"requirements_yaml": requirements})
    found = read(**files)
    assert found.wanted == [Dependency(*one) for one in wanted]
    assert found.locked is None


@pytest.mark.parametrize("api_version", ["v1", "v2"])
@pytest.mark.parametrize(
    ("locks", "version"),
    [
        ({"Chart_lock": "1"}, "1"),
        ({"requirements_lock": "2"}, "2"),
        ({"Chart_lock": "1", "requirements_lock": "2"}, "2"),
    ],
)
def test_the_lock_file_that_helm_reads(api_version: str, locks: dict[str, str], version: str) -> None:
    chart = f"apiVersion: {api_version}\n{listing(of(version='*'))}"
    found = read(Chart_yaml=chart, **{file: listing(of(version=locked)) for file, locked in locks.items()})
    assert found.locked == found.to_download() == [Dependency("db", version, URL)]


def test_charts_of_repositories_are_downloaded_and_others_are_not() -> None:
    entries = (of(), of("file://../beside", "beside"), "name: own")
    found = read(Chart_yaml=listing(*entries), Chart_lock=listing(*entries))
    assert found.to_download() == [Dependency("db", "1", URL)]
    without = read(Chart_yaml=listing(*entries[1:]))
    assert without.to_download() == []


def test_faults() -> None:
    update = "Run helm dependency update, and commit Chart.lock"
    assert failure(read(Chart_yaml=listing(of()))) == (
        f"charts/web/Chart.yaml: no Chart.lock says which version of db it depends on. {update} or charts/."
    )
    elsewhere = read(Chart_yaml=listing(of("file://../db")), Chart_lock=listing(of("file://../../db")))
    assert failure(elsewhere) == (
        f"charts/web/Chart.lock: the folder of db is another one than in Chart.yaml. {update}."
    )  # fmt: skip
    with pytest.raises(AddonError, match=r"^charts/web/Chart\.lock:2: the key a stands twice in one mapping"):
        read(Chart_yaml="{}", Chart_lock="a: 1\na: 2")


@pytest.mark.parametrize(
    ("repository", "chart", "folder"),
    [
        ("file://../beside", "charts/web", "charts/beside"),
        ("file://../../lib/", "charts/web", "lib"),
        ("file://sub", ".", "sub"),
        ("file://..", "web", "."),
        ("file://../../../lib", "charts/web", None),
        ("file://..", ".", None),
        ("file:///etc", "charts/web", None),
    ],
)
def test_where_one_beside_the_chart_is(repository: str, chart: str, folder: str | None) -> None:
    dependency = Dependency("lib", "1", repository)
    assert dependency.beside
    if folder is not None:
        assert dependency.folder(chart) == folder
        return
    with pytest.raises(AddonError, match=r"Chart\.yaml: the dependency lib lies outside of the repository\. Commit it"):
        dependency.folder(chart)


def test_the_fingerprint_moves_with_what_decides_whether_the_lock_file_fits() -> None:
    chart, lock = f"apiVersion: v2\n{listing(of())}", f"{listing(of())}\ndigest: x"
    first = read(Chart_yaml=chart, Chart_lock=lock).fingerprint
    assert read(Chart_yaml=f"{chart}\nversion: 2 # other\n", Chart_lock=lock).fingerprint == first
    others = [
        read(Chart_yaml=chart.replace("v2", "v1"), Chart_lock=lock),
        read(Chart_yaml=chart.replace("db", "dc"), Chart_lock=lock),
        read(Chart_yaml=chart.replace("name", "condition: x, name"), Chart_lock=lock),
        read(Chart_yaml=chart, Chart_lock=lock.replace("digest: x", "digest: y")),
        read(Chart_yaml=chart, Chart_lock=lock.replace("version: '1'", "version: '2'")),
        read(Chart_yaml=chart, requirements_yaml=listing("alias: a"), Chart_lock=lock),
        read(Chart_yaml=chart),
    ]
    prints = [first, *(other.fingerprint for other in others)]
    assert all(one != other for one, other in itertools.pairwise(sorted(prints)))
