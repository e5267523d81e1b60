"""The real helm against a chart repository on loopback that can misbehave."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.model.cluster_facts import ClusterFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.helm_output import read_helm_output
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.helm import Helm
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.helm_errors import warnings_of
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.program import Program
from tests.chart_repository import Answer, ChartRepository, write_chart

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
CLUSTER = ClusterFacts("v1.37.2")
LOGIN = {"username": "reader", "password": "sesame"}
BASIC = "Basic cmVhZGVyOnNlc2FtZQ=="


def quiet(line: str) -> None:
    """Progress that nobody looks at."""


@pytest.fixture
def started() -> list[str]:
    return []


@pytest.fixture
def helm(tmp_path: Path, programs: Mapping[str, Path], started: list[str], monkeypatch: pytest.MonkeyPatch) -> Helm:
    for name in ("HELM_REPOSITORY_CONFIG", "HELM_CONFIG_HOME", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    program = Program.find("helm", str(programs["helm"]), 60, started.append)
    return Helm(program, CacheFolder.open(str(tmp_path / "cache")), tmp_path / "work")


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory, programs: Mapping[str, Path]) -> Path:
    """Charts and their index."""
    folder = tmp_path_factory.mktemp("packaged") / "charts"
    with ChartRepository(folder, programs["helm"]) as repository:
        for name, version in (("web", "1.2.3"), ("web", "1.3.0"), ("db", "0.1.0")):
            repository.add(name, version, {"templates/a.yaml": CONFIG_MAP})
    return folder


@pytest.fixture
def charts(tmp_path: Path, programs: Mapping[str, Path], packaged: Path) -> Iterator[ChartRepository]:
    shutil.copytree(packaged, tmp_path / "charts")
    with ChartRepository(tmp_path / "charts", programs["helm"]) as repository:
        yield repository


def log_in(tmp_path: Path, url: str, **fields: Any) -> None:
    """What ``helm repo add`` leaves in the user's home."""
    file = tmp_path / "config/helm/repositories.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        json.dumps(
            {"repositories": [{"name": "other", "url": "http://127.0.0.1:1"}, {"name": "own", "url": url, **fields}]}
        )
    )


def failure(call: Callable[[], object]) -> str:
    with pytest.raises(AddonError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    return text


# -- charts of repositories --------------------------------------------------------------------------------------------


def test_the_version_is_asked_once(helm: Helm, started: list[str]) -> None:
    assert helm.version().startswith("v4.")
    assert helm.version() == Helm(helm.program, helm.cache, helm.work).version()
    assert started == ["helm version"]
    assert not list(helm.work.iterdir())


@pytest.mark.parametrize("program", ["/bin/true", "/bin/false"])
def test_a_program_that_is_no_helm(helm: Helm, program: str) -> None:
    other = Helm(Program("helm", Path(program), 5, quiet), helm.cache, helm.work)
    assert failure(other.version) == f"{program} does not tell its version. Give the path of helm itself as addon_helm."


@pytest.mark.parametrize("where", ["relative", "absolute", "elsewhere"])
def test_a_chart_is_downloaded_once(
    helm: Helm, charts: ChartRepository, started: list[str], tmp_path: Path, where: str
) -> None:
    charts.index({"relative": "", "absolute": charts.url, "elsewhere": charts.other_url}[where])
    said: list[str] = []
    archive = helm.chart(f"{charts.url}/", "web", "1.2.3", said.append)
    assert archive == (charts.folder / "web-1.2.3.tgz").read_bytes()
    assert charts.paths() == ["/index.yaml", "/web-1.2.3.tgz"]
    assert (started, len(said)) == (["helm repo", "helm pull"], 1)
    assert helm.chart(charts.url, "web", "1.2.3", said.append) == archive
    assert (len(charts.requests), len(started), len(said)) == (2, 2, 1)
    assert not list((tmp_path / "work").iterdir())


@pytest.mark.parametrize(
    ("chart", "version", "line"),
    [
        ("wbe", "1.2.3", "there is no chart wbe. Did you mean web?"),
        ("web", "1.2", "there is no version 1.2 of the chart web. The nearest are 1.2.3, 1.3.0."),
        ("web", "v1.2.3", "there is no version v1.2.3 of the chart web. The nearest are 1.2.3, 1.3.0."),
        ("web", ">0", "there is no version >0 of the chart web. The nearest are 1.2.3, 1.3.0."),
    ],
)
def test_only_exactly_this_chart_will_do(
    helm: Helm, charts: ChartRepository, chart: str, version: str, line: str
) -> None:
    assert failure(lambda: helm.chart(charts.url, chart, version, quiet)) == f"{charts.url}: {line}"
    assert charts.paths() == ["/index.yaml"]


def test_helm_has_no_other_choice(helm: Helm, charts: ChartRepository) -> None:
    """Helm itself passes over an entry that it finds invalid, and takes the next that will do."""
    entries = [
        {"version": "1.2.3", "type": "nonsense", "urls": ["web-1.2.3.tgz"]},
        {"version": "1.2.3+other", "urls": ["web-1.3.0.tgz"]},
    ]
    index = {"apiVersion": "v1", "entries": {"web": [{"name": "web", **entry} for entry in entries]}}
    (charts.folder / "index.yaml").write_text(json.dumps(index))
    assert helm.chart(charts.url, "web", "1.2.3", quiet) == (charts.folder / "web-1.2.3.tgz").read_bytes()


FAULTS = {
    "no index": ("/index.yaml", Answer(404), "is no chart repository: it has no index.yaml (404 Not Found)"),
    "index of HTML": ("/index.yaml", Answer(content=b"<p>a: b: c</p>"), "is no chart repository: what it has"),
    "empty index": ("/index.yaml", Answer(content=b""), "is no chart repository: what it has"),
    "half an index": ("/index.yaml", Answer(half=True), "the connection ended in the middle of a download"),
    "index for others": ("/index.yaml", Answer(401), "wants a login that it accepts (401 Unauthorized)"),
    "index that fails": ("/index.yaml", Answer(503), "answers 503 Service Unavailable. Try again later"),
    "no archive": ("/web-1.2.3.tgz", Answer(404), "the archive that the index names is not there (404 Not Found)"),
    "half an archive": ("/web-1.2.3.tgz", Answer(half=True), "the connection ended in the middle of a download"),
    "archive for others": ("/web-1.2.3.tgz", Answer(403), "wants a login that it accepts (403 Forbidden)"),
    "another archive": (
        "/web-1.2.3.tgz",
        Answer(content=gzip.compress(b"x")),
        "the archive of web 1.2.3 has another digest than its index says",
    ),
}


@pytest.mark.parametrize(("path", "answer", "line"), FAULTS.values(), ids=FAULTS)
def test_a_failed_download_leaves_nothing(
    helm: Helm, charts: ChartRepository, path: str, answer: Answer, line: str
) -> None:
    charts.answers[path] = answer
    assert failure(lambda: helm.chart(charts.url, "web", "1.2.3", quiet)).startswith(f"{charts.url}: {line}")
    charts.answers.clear()
    assert helm.chart(charts.url, "web", "1.2.3", quiet) == (charts.folder / "web-1.2.3.tgz").read_bytes()


@pytest.mark.parametrize("path", ["/index.yaml", "/web-1.2.3.tgz"])
def test_a_slow_repository_does_not_hold_up_a_run(helm: Helm, charts: ChartRepository, path: str) -> None:
    charts.answers[path] = Answer(seconds=30)
    impatient = Helm(Program("helm", helm.program.path, 1, quiet), helm.cache, helm.work)
    text = failure(lambda: impatient.chart(charts.url, "web", "1.2.3", quiet))
    assert text.startswith(f"{charts.url}: helm ")
    assert text.endswith(" did not end within 1 s. See addon_program_seconds.")


def test_nobody_answers(helm: Helm) -> None:
    text = failure(lambda: helm.chart("http://127.0.0.1:1", "web", "1.2.3", quiet))
    assert text == "http://127.0.0.1:1: can't be reached: connection refused. Check the URL, the network and the proxy."


@pytest.mark.parametrize("url", ["http://charts.example.com", "oci://charts.example.com/charts"])
def test_not_every_url_is_asked(helm: Helm, started: list[str], url: str) -> None:
    assert failure(lambda: helm.chart(url, "web", "1.2.3", quiet)) == (
        f"{url}: charts can be had from https:// only in this version. Use its chart repository."
    )
    assert not started


def test_an_archive_without_a_digest_in_the_index_is_taken_if_it_is_whole(helm: Helm, charts: ChartRepository) -> None:
    index = charts.folder / "index.yaml"
    index.write_text("".join(line for line in index.read_text().splitlines(keepends=True) if "digest:" not in line))
    charts.answers["/web-1.2.3.tgz"] = Answer(content=b"<html>")
    assert failure(lambda: helm.chart(charts.url, "web", "1.2.3", quiet)) == (
        f"{charts.url}: the archive of web 1.2.3 is broken"
    )
    charts.answers.clear()
    assert helm.chart(charts.url, "web", "1.2.3", quiet)


# -- logins ------------------------------------------------------------------------------------------------------------


def test_the_users_own_login_is_taken(helm: Helm, charts: ChartRepository, tmp_path: Path) -> None:
    charts.login = ("reader", "sesame")
    log_in(tmp_path, f"{charts.url}/", username="reader", password="wrong-word")
    text = failure(lambda: helm.chart(charts.url, "web", "1.2.3", quiet))
    assert text.startswith(f"{charts.url}: wants a login that it accepts (401 Unauthorized)")
    assert "wrong-word" not in text
    log_in(tmp_path, f"{charts.url}/", **LOGIN)
    assert helm.chart(charts.url, "web", "1.2.3", quiet)


@pytest.mark.parametrize(
    ("everywhere", "redirect", "sent"),
    [
        (False, False, [("127.0.0.1", BASIC), ("localhost", None)]),
        (True, False, [("127.0.0.1", BASIC), ("localhost", BASIC)]),
        (False, True, [("127.0.0.1", BASIC), ("127.0.0.1", BASIC), ("localhost", None)]),
        (True, True, [("127.0.0.1", BASIC), ("127.0.0.1", BASIC), ("localhost", None)]),
    ],
)
def test_a_login_does_not_go_to_other_hosts(
    helm: Helm,
    charts: ChartRepository,
    tmp_path: Path,
    everywhere: bool,
    redirect: bool,
    sent: list[tuple[str, str | None]],
) -> None:
    log_in(tmp_path, charts.url, **LOGIN, pass_credentials_all=everywhere)
    if redirect:
        charts.answers["/web-1.2.3.tgz"] = Answer(redirect=f"{charts.other_url}/moved.tgz")
        (charts.folder / "moved.tgz").write_bytes((charts.folder / "web-1.2.3.tgz").read_bytes())
    else:
        charts.index(charts.other_url)
    assert helm.chart(charts.url, "web", "1.2.3", quiet)
    assert [(request.host, request.headers["Authorization"]) for request in charts.requests] == sent


def test_a_login_for_another_repository_is_not_sent(helm: Helm, charts: ChartRepository, tmp_path: Path) -> None:
    log_in(tmp_path, f"{charts.url}/private", **LOGIN)
    helm.chart(charts.url, "web", "1.2.3", quiet)
    assert {request.headers["Authorization"] for request in charts.requests} == {None}


@pytest.mark.parametrize(
    ("text", "line"),
    [("- a\n", ": is no list of chart repositories. See helm repo list."), ("a: b: c\n", ":1: not valid YAML:")],
)
def test_a_users_file_that_can_not_be_read(helm: Helm, tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "config/helm/repositories.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert failure(lambda: helm.chart("http://127.0.0.1:1", "web", "1.2.3", quiet)).startswith(f"{file}{line}")


@pytest.mark.parametrize("text", ["", "apiVersion: ''\n", "repositories: null\n"])
def test_a_users_file_without_repositories(helm: Helm, charts: ChartRepository, tmp_path: Path, text: str) -> None:
    file = tmp_path / "config/helm/repositories.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert helm.chart(charts.url, "web", "1.2.3", quiet)


@pytest.mark.parametrize("variable", ["HELM_REPOSITORY_CONFIG", "HELM_CONFIG_HOME"])
def test_the_users_file_is_where_helm_looks(
    helm: Helm, charts: ChartRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    log_in(tmp_path, charts.url, **LOGIN)
    folder = (tmp_path / "config/helm").rename(tmp_path / "moved")
    monkeypatch.setenv(variable, str(folder / "repositories.yaml" if variable.endswith("CONFIG") else folder))
    helm.chart(charts.url, "web", "1.2.3", quiet)
    assert {request.headers["Authorization"] for request in charts.requests} == {BASIC}


def test_a_login_is_in_a_private_file_that_goes(helm: Helm, charts: ChartRepository, tmp_path: Path) -> None:
    log_in(tmp_path, charts.url, **LOGIN)
    script, log = tmp_path / "helm.sh", tmp_path / "log"
    script.write_text(
        f'#!/bin/sh\nstat -c %a "$HELM_REPOSITORY_CONFIG" "$(dirname "$HELM_REPOSITORY_CONFIG")" >> {log}\n'
        f'echo "$@" >> {log}\nexec {helm.program.path} "$@"\n'
    )
    script.chmod(0o755)
    Helm(Program("helm", script, 60, quiet), helm.cache, helm.work).chart(charts.url, "web", "1.2.3", quiet)
    lines = log.read_text().splitlines()
    assert lines[:3] == ["600", "700", "repo update"]
    assert "sesame" not in log.read_text()
    assert not list((tmp_path / "work").iterdir())


# -- templates ---------------------------------------------------------------------------------------------------------

SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
data:
  version: {{ .Capabilities.KubeVersion.Version }}
  install: {{ .Release.IsInstall | quote }}
  upgrade: {{ .Release.IsUpgrade | quote }}
  first: {{ .Capabilities.APIVersions.Has "g0.example.com/v1/Kind" | quote }}
  last: {{ .Capabilities.APIVersions.Has "g699.example.com/v1/Kind" | quote }}
  other: {{ .Capabilities.APIVersions.Has "other.example.com/v1" | quote }}
  a: {{ .Values.a | quote }}
  b: {{ .Values.b | quote }}
  on: {{ .Values.on | quote }}
"""
HOOK = "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: h\n  annotations: {helm.sh/hook: 'HOOK'}\n"
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n"


def rendered(helm: Helm, chart: Path, cluster: ClusterFacts = CLUSTER, *values: Path) -> Any:
    return helm.template(chart, release="rel", namespace="ns", values_files=values, cluster=cluster)


@pytest.mark.parametrize("upgrade", [False, True])
def test_a_chart_is_rendered_for_a_cluster(helm: Helm, tmp_path: Path, upgrade: bool) -> None:
    chart = write_chart(tmp_path, "web", "1.2.3", {"templates/a.yaml": SETTINGS, "values.yaml": "a: 1\nb: 1\n"})
    files = [tmp_path / "one.yaml", tmp_path / "two.json"]
    files[0].write_text("a: 2\nb: 2\n")
    files[1].write_text('{"b": "y", "on": "no"}')
    served = frozenset(f"g{number}.example.com/v1/Kind" for number in range(700))
    output = rendered(helm, chart, ClusterFacts("v1.33.7", served, upgrade), *files)
    (item,) = read_helm_output(output.text, "web")
    assert item.manifest["metadata"] == {"name": "rel", "namespace": "ns"}
    assert item.manifest["data"] == {
        "version": "v1.33.7",
        "install": str(not upgrade).lower(),
        "upgrade": str(upgrade).lower(),
        "first": "true",
        "last": "true",
        "other": "false",
        "a": "2",
        "b": "y",
        # Helm's own keys are YAML 1.1, too.
        "true": "no",
    }


def test_definitions_and_hooks_of_all_kinds_are_there(helm: Helm, tmp_path: Path) -> None:
    hooks = "".join(HOOK.replace("HOOK", events) for events in ("post-install,test", "test", "crd-install"))
    files = {"crds/x.yaml": CRD, "templates/a.yaml": CONFIG_MAP + hooks, "Chart.yaml": "deprecated: true\n"}
    output = rendered(helm, write_chart(tmp_path, "web", "1.2.3", files))
    assert [(item.manifest["kind"], item.source) for item in read_helm_output(output.text, "web")] == [
        ("CustomResourceDefinition", "web/crds/x.yaml"),
        ("ConfigMap", "web/templates/a.yaml, document 1"),
        ("Pod", "web/templates/a.yaml, document 2"),
        ("Pod", "web/templates/a.yaml, document 3"),
    ]
    assert warnings_of(output.errors) == [
        "the chart is deprecated",
        "an object with the unknown hook crd-install is left out, as Helm does",
    ]


def test_nothing_of_the_users_set_up_takes_part(
    helm: Helm, charts: ChartRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nothing").write_text("broken: [")
    for name in ("KUBECONFIG", "HELM_REPOSITORY_CACHE", "HELM_PLUGINS", "HELM_CACHE_HOME", "HELM_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    monkeypatch.setenv("HELM_DEBUG", "true")
    monkeypatch.setenv("HELM_KUBEAPISERVER", "https://127.0.0.1:1")
    helm.chart(charts.url, "web", "1.2.3", quiet)
    output = rendered(helm, charts.folder / "web-1.2.3.tgz")
    assert output.text == f"---\n# Source: web/templates/a.yaml\n{CONFIG_MAP}"
    assert output.errors == ""


TEMPLATES = {
    "fail": ('{{ fail (printf "%s is weak" .Values.word) }}', "web/templates/a.yaml:1: … is weak. Correct the values."),
    "range": ("{{ range .Values.word }}{{ end }}", "web/templates/a.yaml:1: range can't iterate over this value"),
    "text": ("a: b: c", "web/templates/a.yaml: renders no valid YAML: mapping values are not allowed"),
}


@pytest.mark.parametrize(("template", "line"), TEMPLATES.values(), ids=TEMPLATES)
def test_a_failed_render_names_the_template_and_no_secret(helm: Helm, tmp_path: Path, template: str, line: str) -> None:
    values = tmp_path / "values.json"
    values.write_text('{"word": "sesame"}')
    chart = write_chart(tmp_path, "web", "1.2.3", {"templates/a.yaml": template})

    def render() -> None:
        helm.template(chart, release="rel", namespace="ns", values_files=[values], cluster=CLUSTER, secrets={"sesame"})

    assert failure(render).startswith(line)


def test_a_failed_render_names_the_chart_and_no_folder_of_this_host(helm: Helm, tmp_path: Path) -> None:
    chart = write_chart(tmp_path, "web", "1.2.3", {"values.schema.json": '{"required": ["a"]}'})
    assert failure(lambda: rendered(helm, chart)) == (
        "web: the values do not fit the schema of web: missing property 'a'. Correct the values."
    )
    archive = tmp_path / "web-1.2.3.tgz"
    archive.write_bytes(b"<html>")
    assert failure(lambda: rendered(helm, archive)).startswith("web-1.2.3: is no whole chart archive")
    (tmp_path / "list.yaml").write_text("- a\n")
    assert failure(lambda: rendered(helm, chart, CLUSTER, tmp_path / "list.yaml")) == (
        "list.yaml: is no mapping. Correct the file."
    )
    assert failure(lambda: rendered(helm, tmp_path / "nix")).startswith('nix: helm can\'t render the chart: path "nix"')


# -- dependencies ------------------------------------------------------------------------------------------------------


@pytest.fixture
def parent(tmp_path: Path, charts: ChartRepository) -> Path:
    """A chart folder with a locked dependency in a repository, and one that lies beside it."""
    write_chart(tmp_path, "beside", "0.1.0", {"templates/a.yaml": CONFIG_MAP})
    chart = write_chart(
        tmp_path,
        "web",
        "1.2.3",
        {
            "Chart.yaml": f"dependencies:\n- {{name: db, version: 0.1.x, repository: '{charts.url}/'}}\n"
            "- {name: beside, version: 0.1.0, repository: 'file://../beside'}\n",
        },
    )
    charts.helm("dependency", "update", str(chart))
    for archive in (chart / "charts").iterdir():
        archive.unlink()
    charts.requests.clear()
    return chart


def test_locked_dependencies_are_brought(
    helm: Helm, charts: ChartRepository, parent: Path, started: list[str], tmp_path: Path
) -> None:
    charts.login = ("reader", "sesame")
    log_in(tmp_path, charts.url, **LOGIN)
    # Nothing newer than what is locked.
    charts.add("db", "0.1.1", {})
    helm.build_dependencies(parent, quiet)
    assert (parent / "charts/db-0.1.0.tgz").read_bytes() == (charts.folder / "db-0.1.0.tgz").read_bytes()
    assert (parent / "charts/beside-0.1.0.tgz").is_file()
    assert (charts.paths(), started) == (["/index.yaml", "/db-0.1.0.tgz"], ["helm repo", "helm dependency"])
    sources = {item.source for item in read_helm_output(rendered(helm, parent).text, "web")}
    assert sources == {"web/charts/db/templates/a.yaml", "web/charts/beside/templates/a.yaml"}


def only_of_repositories(charts: ChartRepository, parent: Path) -> None:
    """Lock ``parent`` anew, without what lies beside it."""
    lines = (parent / "Chart.yaml").read_text().splitlines()
    (parent / "Chart.yaml").write_text("\n".join(line for line in lines if "beside" not in line))
    charts.helm("dependency", "update", str(parent))
    shutil.rmtree(parent / "charts")
    charts.requests.clear()


def test_locked_dependencies_of_repositories_are_brought_once(
    helm: Helm, charts: ChartRepository, parent: Path, started: list[str], tmp_path: Path
) -> None:
    only_of_repositories(charts, parent)
    again = shutil.copytree(parent, tmp_path / "again/web")
    (again / "Chart.yaml").write_text((again / "Chart.yaml").read_text() + "\nappVersion: 2.0.0\n")
    said: list[str] = []
    helm.build_dependencies(parent, said.append)
    assert started == ["helm repo", "helm dependency"]
    asked = len(charts.requests)
    helm.build_dependencies(again, said.append)
    assert (len(started), len(charts.requests), len(said)) == (2, asked, 1)
    contents = [{file.name: file.read_bytes() for file in (chart / "charts").iterdir()} for chart in (parent, again)]
    assert contents[0] == contents[1] == {"db-0.1.0.tgz": (charts.folder / "db-0.1.0.tgz").read_bytes()}
    # The same archive as when it is a source itself.
    helm.chart(charts.url, "db", "0.1.0", said.append)
    assert len(charts.requests) == asked


@pytest.mark.parametrize(
    ("file", "change", "line"),
    [
        ("Chart.yaml", ("name: db,", "name: db, condition: db.on,"), "Chart.lock does not fit"),
        ("Chart.yaml", ("0.1.x", "0.1.*"), "Chart.lock does not fit"),
        ("Chart.lock", ("digest: sha256:", "digest: sha256:0"), "Chart.lock does not fit"),
        ("Chart.lock", ("version: 0.1.0", "version: 0.1.9"), "there is no version 0.1.9 of the chart db"),
    ],
)
def test_kept_archives_do_not_make_a_lock_file_fit(
    helm: Helm, charts: ChartRepository, parent: Path, tmp_path: Path, file: str, change: tuple[str, str], line: str
) -> None:
    only_of_repositories(charts, parent)
    other = shutil.copytree(parent, tmp_path / "other/web")
    helm.build_dependencies(parent, quiet)
    text = (other / file).read_text()
    assert change[0] in text
    (other / file).write_text(text.replace(*change))
    assert line in failure(lambda: helm.build_dependencies(other, quiet))


def test_an_archive_that_is_not_kept_any_more_is_brought_again(
    helm: Helm, charts: ChartRepository, parent: Path, tmp_path: Path
) -> None:
    only_of_repositories(charts, parent)
    again = shutil.copytree(parent, tmp_path / "again/web")
    helm.build_dependencies(parent, quiet)
    largest = max((helm.cache.path / "charts").iterdir(), key=lambda file: file.stat().st_size)
    largest.unlink()
    helm.build_dependencies(again, quiet)
    assert (again / "charts/db-0.1.0.tgz").is_file()


def test_archives_that_do_not_belong_are_taken_away_every_time(
    helm: Helm, charts: ChartRepository, parent: Path, tmp_path: Path
) -> None:
    only_of_repositories(charts, parent)
    again = shutil.copytree(parent, tmp_path / "again/web")
    helm.build_dependencies(parent, quiet)
    (again / "charts").mkdir()
    shutil.copy(charts.folder / "web-1.3.0.tgz", again / "charts")
    helm.build_dependencies(again, quiet)
    assert [file.name for file in (again / "charts").iterdir()] == ["db-0.1.0.tgz"]


def test_a_dependency_that_is_not_what_its_index_says(helm: Helm, charts: ChartRepository, parent: Path) -> None:
    other = charts.add("db", "0.1.0", {"templates/b.yaml": CONFIG_MAP}).read_bytes()
    (charts.folder / "index.yaml").write_text(
        (charts.folder / "index.yaml").read_text().replace(hashlib.sha256(other).hexdigest(), "ab" * 32)
    )
    assert failure(lambda: helm.build_dependencies(parent, quiet)).startswith(
        f"{charts.url}: the archive of db 0.1.0 has another digest than its index says"
    )
    (parent / "charts/db-0.1.0.tgz").unlink()
    charts.answers["/db-0.1.0.tgz"] = Answer(content=b"<html>")
    assert failure(lambda: helm.build_dependencies(parent, quiet)) == (
        f"{charts.url}: the archive of db 0.1.0 is broken"
    )


def test_a_locked_version_that_is_gone(helm: Helm, charts: ChartRepository, parent: Path) -> None:
    charts.add("db", "0.1.1", {})
    (charts.folder / "db-0.1.0.tgz").unlink()
    charts.index()
    assert failure(lambda: helm.build_dependencies(parent, quiet)) == (
        f"{charts.url}: there is no version 0.1.0 of the chart db. The nearest are 0.1.1."
    )


def test_the_repository_that_is_down_is_named(helm: Helm, charts: ChartRepository, parent: Path) -> None:
    for name in ("Chart.yaml", "Chart.lock"):
        text = (parent / name).read_text()
        (parent / name).write_text(text.replace("file://../beside", "http://127.0.0.1:1"))
    text = failure(lambda: helm.build_dependencies(parent, quiet))
    assert text.startswith("http://127.0.0.1:1: can't be reached: connection refused")


def test_a_lock_file_that_is_out_of_sync(helm: Helm, parent: Path) -> None:
    file = parent / "Chart.yaml"
    file.write_text(file.read_text().replace("0.1.x", "0.x.x"))
    assert failure(lambda: helm.build_dependencies(parent, quiet)) == (
        "web/Chart.yaml: Chart.lock does not fit the dependencies of Chart.yaml. "
        "Run helm dependency update, and commit Chart.lock."
    )


def test_no_lock_file(helm: Helm, charts: ChartRepository, parent: Path, started: list[str]) -> None:
    (parent / "Chart.lock").unlink()
    assert failure(lambda: helm.build_dependencies(parent, quiet)) == (
        "web/Chart.yaml: no Chart.lock says which version of db it depends on. "
        "Run helm dependency update, and commit Chart.lock or charts/."
    )
    assert not started


def test_charts_beside_it_need_no_lock_file(helm: Helm, parent: Path) -> None:
    (parent / "Chart.lock").unlink()
    lines = (parent / "Chart.yaml").read_text().splitlines()
    (parent / "Chart.yaml").write_text("\n".join(line for line in lines if "name: db" not in line))
    helm.build_dependencies(parent, quiet)
    assert [path.name for path in (parent / "charts").iterdir()] == ["beside-0.1.0.tgz"]


@pytest.mark.parametrize(
    ("repository", "line"),
    [
        ("oci://charts.example.com", "web/Chart.yaml: the dependency db is not in a repository with an https:// URL"),
        ("http://charts.example.com", "web/Chart.yaml: the dependency db is not in a repository with an https:// URL"),
    ],
)
def test_where_a_dependency_may_not_come_from(
    helm: Helm, charts: ChartRepository, parent: Path, repository: str, line: str
) -> None:
    for name in ("Chart.yaml", "Chart.lock"):
        file = parent / name
        file.write_text(file.read_text().replace(f"{charts.url}/", repository).replace(charts.url, repository))
    assert failure(lambda: helm.build_dependencies(parent, quiet)).startswith(line)


def test_a_lock_file_leads_nowhere_else(helm: Helm, parent: Path, started: list[str], tmp_path: Path) -> None:
    file = parent / "Chart.lock"
    file.write_text(file.read_text().replace("file://../beside", f"file://{tmp_path}/beside"))
    assert failure(lambda: helm.build_dependencies(parent, quiet)) == (
        "web/Chart.lock: the folder of beside is another one than in Chart.yaml. "
        "Run helm dependency update, and commit Chart.lock."
    )
    assert not started


def test_a_repository_that_has_only_a_name(helm: Helm, charts: ChartRepository, parent: Path) -> None:
    file = parent / "Chart.yaml"
    file.write_text(file.read_text().replace(f"{charts.url}/", "@own"))
    assert failure(lambda: helm.build_dependencies(parent, quiet)).startswith(
        "web/Chart.yaml: a dependency names the repository @own, which means nothing here"
    )
