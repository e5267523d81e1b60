"""What the files of a chart folder list as its dependencies, and whether a lock file of the real helm fits them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.chart_dependencies import (
    DEPENDENCY_FILES,
    ChartDependencies,
    Dependency,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from tests.chart_repository import ChartRepository, write_chart

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
        dependencies.to_download(dependencies.wanted)
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
        (listing(of()), listing("name: a", "name: b"), [("a", "None", ""), ("b", "None", "")]),
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
    assert found.locked == [Dependency("db", version, URL)]
    assert not found.in_sync


def test_without_a_lock_file_nothing_is_downloaded() -> None:
    update = "Run helm dependency update, and commit Chart.lock"
    assert failure(read(Chart_yaml=listing(of()))) == (
        f"charts/web/Chart.yaml: no Chart.lock says which version of db it depends on. {update} or charts/."
    )
    others = read(Chart_yaml=listing(of("file://../beside", "beside"), "name: own"))
    assert others.to_download(others.wanted) == []
    there = read(Chart_yaml=listing(of()))
    assert there.to_download([]) == []


def test_a_lock_file_that_is_none() -> None:
    with pytest.raises(AddonError, match=r"^charts/web/Chart\.lock:2: the key a stands twice in one mapping"):
        read(Chart_yaml="{}", Chart_lock="a: 1\na: 2")


@pytest.mark.parametrize(
    ("repository", "chart", "folder"),
    [
        ("file://../beside", "charts/web", "charts/beside"),
        ("file://../../lib/", "charts/web", "lib"),
        ("file://../we", "web", "we"),
        ("file://sub", ".", "sub"),
        ("file://sub", "web", "web/sub"),
        ("file://../../../lib", "charts/web", "lies outside of the repository. Commit it."),
        ("file://..", ".", "lies outside of the repository. Commit it."),
        ("file:///etc", "charts/web", "lies outside of the repository. Commit it."),
        ("file://..", "web", "is the chart, or around it"),
        ("file://.", "web", "is the chart, or around it"),
        ("file://", ".", "is the chart, or around it"),
        ("file://..", "a/b/web", "is the chart, or around it"),
    ],
)
def test_where_one_beside_the_chart_is(repository: str, chart: str, folder: str) -> None:
    dependency = Dependency("lib", "1", repository)
    assert dependency.beside
    if " " not in folder:
        assert dependency.folder(chart) == folder
        return
    with pytest.raises(AddonError) as caught:
        dependency.folder(chart)
    assert str(caught.value).endswith(f"Chart.yaml: the dependency lib {folder}")


# -- locks of the real helm --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory, programs: Mapping[str, Path]) -> Iterator[ChartRepository]:
    with ChartRepository(tmp_path_factory.mktemp("locked") / "charts", programs["helm"]) as repository:
        repository.add("db", "1.2.3", {})
        repository.add("cache", "0.1.0-rc.1+b", {})
        yield repository


ENTRIES = {
    "exact": ["name: db, version: 1.2.3, repository: URL"],
    "range": ["name: db, version: '>=1.0.0 <2 || ^1', repository: URL/"],
    "another order of fields": ["repository: URL, version: 1.x, name: db"],
    "conditions": ["name: db, version: ~1.2, repository: URL, condition: 'db.enabled,<&> ü'"],
    "tags": ["name: db, version: 1.x, repository: URL, tags: [a, <b>], alias: other"],
    "import-values": [
        "name: db, version: 1.x, repository: URL, "
        'import-values: [data, "<\\u2028>", {parent: p, child: c}, {child: 1, a: {c: 1.50}}]'
    ],
    "enabled": ["name: db, version: 1.x, repository: URL, enabled: true"],
    "what says nothing": [
        "name: db, version: 1.x, repository: URL, enabled: false, tags: [], alias: '', import-values: null, x: y"
    ],
    "two, one beside, one twice": [
        "name: db, version: 1.x, repository: URL, alias: first",
        "name: db, version: 1.2.3, repository: URL, alias: second",
        "name: beside, version: '*', repository: 'file://../beside'",
        "name: cache, version: '>0.0.1-0', repository: URL, condition: cache.on",
        "name: own, version: 0.1.0, repository: ''",
    ],
}


def locked(charts: ChartRepository, folder: Path, entries: list[str], api_version: str) -> dict[str, str]:
    """The files of a chart for which helm made a lock file."""
    lines = "".join(f"- {{{entry}}}\n" for entry in entries).replace("URL", charts.url)
    write_chart(folder, "beside", "0.1.0", {})
    files = {"charts/own/Chart.yaml": "apiVersion: v2\nname: own\nversion: 0.1.0\n"}
    chart = write_chart(folder, "web", "1.0.0", files)
    meta = chart / "Chart.yaml"
    meta.write_text(meta.read_text().replace("v2", api_version))
    listed = meta if api_version == "v2" else chart / "requirements.yaml"
    with listed.open("a") as file:
        file.write(f"dependencies:\n{lines}")
    charts.helm("dependency", "update", str(chart))
    return {file.name: file.read_text() for file in chart.iterdir() if file.name in DEPENDENCY_FILES}


@pytest.mark.parametrize("api_version", ["v1", "v2"])
@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES)
def test_a_lock_file_that_helm_made_fits(
    charts: ChartRepository, tmp_path: Path, entries: list[str], api_version: str
) -> None:
    files = locked(charts, tmp_path, entries, api_version)
    others = {"Chart.lock"} if api_version == "v2" else {"requirements.yaml", "requirements.lock"}
    assert files.keys() == {"Chart.yaml", *others}
    found = read(**{name.replace(".", "_"): text for name, text in files.items()})
    assert found.in_sync
    versions = {"db": "1.2.3", "cache": "0.1.0-rc.1+b"}
    assert [(one.name, one.version) for one in found.to_download(found.wanted)] == [
        (one.name, versions[one.name]) for one in found.wanted if one.name in versions
    ]
    assert found.to_download(found.wanted[1:]) == (found.locked or [])[1:2] * (len(entries) > 1) + [
        one for one in (found.locked or [])[2:] if one.of_repository
    ]


CHANGES = {
    "another range": ("Chart.yaml", "version: 1.x", "version: 1.*"),
    "another condition": ("Chart.yaml", "alias: first", "alias: first, condition: x"),
    "another repository": ("Chart.yaml", "file://../beside", "file://../beside/"),
    "another locked version": ("Chart.lock", "version: 1.2.3", "version: 1.2.4"),
    "another digest": ("Chart.lock", "digest: sha256:", "digest: sha256:0"),
    "no digest": ("Chart.lock", "digest: ", "digested: "),
}


@pytest.mark.parametrize(("name", "old", "new"), CHANGES.values(), ids=CHANGES)
def test_a_lock_file_for_something_else(charts: ChartRepository, tmp_path: Path, name: str, old: str, new: str) -> None:
    files = locked(charts, tmp_path, ENTRIES["two, one beside, one twice"], "v2")
    assert old in files[name]
    files[name] = files[name].replace(old, new, 1)
    assert failure(read(**{name.replace(".", "_"): text for name, text in files.items()})) == (
        "charts/web/Chart.yaml: Chart.lock does not fit the dependencies of Chart.yaml. "
        "Run helm dependency update, and commit Chart.lock."
    )


@pytest.mark.parametrize(("api_version", "fits"), [("v1", True), ("", True), ("v2", False)])
def test_a_digest_of_helm_2(api_version: str, fits: bool) -> None:
    text = '{"dependencies":[{"name":"db","version":"1","repository":"https://charts.example.com"}]}'
    digest = hashlib.sha256(text.encode()).hexdigest()
    found = read(
        Chart_yaml=f"apiVersion: {api_version}",
        requirements_yaml=listing(of()),
        requirements_lock=f"{listing(of())}\ndigest: sha256:{digest}",
    )
    assert found.in_sync is fits
