"""The real helm against a chart repository on loopback that can misbehave."""

from __future__ import annotations

import gzip
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
    ((item,), _) = read_helm_output(output.text, "web")
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


def test_names_that_no_argument_can_hold_are_left_out(helm: Helm, tmp_path: Path) -> None:
    chart = write_chart(tmp_path, "web", "1.2.3", {"templates/a.yaml": SETTINGS})
    served = frozenset({"g0.example.com/v1/Kind", "a\0b/v1", "a\nb/v1", "x,other.example.com/v1", ""})
    ((item,), _) = read_helm_output(rendered(helm, chart, ClusterFacts("v1.37.2", served)).text, "web")
    assert (item.manifest["data"]["first"], item.manifest["data"]["other"]) == ("true", "false")


def test_definitions_and_hooks_of_all_kinds_are_there(helm: Helm, tmp_path: Path) -> None:
    hooks = "".join(HOOK.replace("HOOK", events) for events in ("post-install,test", "test", "crd-install"))
    files = {"crds/x.yaml": CRD, "templates/a.yaml": CONFIG_MAP + hooks, "Chart.yaml": "deprecated: true\n"}
    output = rendered(helm, write_chart(tmp_path, "web", "1.2.3", files))
    assert [(item.manifest["kind"], item.source) for item in read_helm_output(output.text, "web")[0]] == [
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


def depending(tmp_path: Path, *dependencies: str, **charts: str) -> Path:
    """A chart folder with these entries of ``dependencies``, and charts in ``charts/`` with their versions."""
    lines = "".join(f"- {{{one}}}\n" for one in dependencies)
    chart = write_chart(tmp_path, "web", "1.2.3", {"Chart.yaml": f"dependencies:\n{lines}" if lines else ""})
    for name, version in charts.items():
        write_chart(chart / "charts", name, version, {})
    return chart


LONG = "long-" * 20 + "name"


@pytest.mark.parametrize(
    ("dependency", "there", "status"),
    [
        ("name: db, version: 0.1.x, repository: 'https://x.io'", {"db": "0.1.2"}, None),
        ("name: db, version: '>=0.1, <2', repository: ''", {"db": "0.1.2"}, None),
        (f"name: {LONG}, version: 0.1.x", {LONG: "0.1.2"}, None),
        ("name: db, version: 0.1.x, repository: 'https://x.io'", {"db": "0.2.0"}, "wrong version"),
        (f"name: {LONG}, version: 0.1.x", {LONG: "0.2.0"}, "wrong version"),
        ("name: db, version: 0.1.x, repository: 'file://../db'", {}, "missing"),
        ("name: db, version: is none", {"db": "0.1.0"}, "invalid version"),
    ],
)
def test_helm_looks_whether_dependencies_are_there(
    helm: Helm, tmp_path: Path, started: list[str], dependency: str, there: dict[str, str], status: str | None
) -> None:
    chart, name = depending(tmp_path, dependency, **there), LONG if LONG in dependency else "db"
    if status is None:
        helm.check_dependencies(chart, [name])
    else:
        assert failure(lambda: helm.check_dependencies(chart, [name])) == (
            f"web/Chart.yaml: the dependency {name} is not as it should be in charts/: {status}. "
            "Run helm dependency update, and commit Chart.lock or charts/."
        )
    assert started == ["helm dependency"]


def test_a_dependency_that_helm_does_not_know_of(helm: Helm, tmp_path: Path) -> None:
    chart = depending(tmp_path)
    assert "the dependency db is not as it should be in charts/: not known to helm" in (
        failure(lambda: helm.check_dependencies(chart, ["db"]))
    )


def test_one_chart_in_two_versions(helm: Helm, tmp_path: Path, charts: ChartRepository) -> None:
    entries = [f"name: web, alias: w{place}, version: {version}" for place, version in enumerate(("1.2.3", "1.3.0"))]
    chart = depending(tmp_path, *entries)
    (chart / "charts").mkdir()
    for file in charts.folder.glob("web-*.tgz"):
        shutil.copy(file, chart / "charts")
    helm.check_dependencies(chart, ["web"])
    assert len(read_helm_output(rendered(helm, chart).text, "web")[0]) == 2
    one = depending(tmp_path / "one", entries[0])
    shutil.copytree(chart / "charts", one / "charts")
    assert "too many matches" in failure(lambda: helm.check_dependencies(one, ["web"]))


def test_a_chart_that_helm_can_not_read(helm: Helm, tmp_path: Path) -> None:
    chart = depending(tmp_path, "name: [db]")
    assert failure(lambda: helm.check_dependencies(chart, ["db"])).startswith(("Chart.yaml: ", "web/Chart.yaml: "))
