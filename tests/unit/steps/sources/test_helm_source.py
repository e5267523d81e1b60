"""Charts in git folders and chart repositories, rendered by the real helm."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.helm import HelmSource
from tests.chart_repository import Answer, ChartRepository
from tests.unit.steps.sources.made_chart import CRD, chart, rendered, show, shown
from tests.unit.steps.sources.made_request import CLUSTER, Workshop

CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
VALUES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: values}
data: {{ .Values | toJson | quote }}
"""


@pytest.fixture
def charts(tmp_path: Path, programs: dict[str, Path]) -> Iterator[ChartRepository]:
    with ChartRepository(tmp_path / "charts", programs["helm"]) as repository:
        yield repository


@pytest.mark.parametrize(
    ("source", "accepted"),
    [
        ({"helm": {"repo": "https://x.io", "chart": "c", "version": "1"}}, True),
        ({"git": {"path": "c"}}, True),
        ({"git": {"path": "./c/"}}, True),
        ({"git": {"path": "c/templates"}}, False),
        ({"git": {"path": "."}}, False),
        ({"git": {"path": "nowhere"}}, False),
    ],
)
def test_what_is_a_chart(workshop: Workshop, source: dict[str, Any], accepted: bool) -> None:
    workshop.repository.commit(chart({"templates/a.yaml": show("1")}))
    assert HelmSource().accepts(workshop.request(**source)) is accepted


def test_a_chart_may_be_the_whole_repository(workshop: Workshop) -> None:
    workshop.repository.commit(chart({"templates/a.yaml": show(".Chart.Name")}, at="."))
    assert HelmSource().accepts(workshop.request(git={"path": "."}))
    assert shown(rendered(workshop, git={"path": "."})) == {"shown": "c"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (".Release.Name", "web"),
        (".Release.Namespace", "w"),
        (".Release.IsInstall", "true"),
        (".Capabilities.KubeVersion", "v1.37.2"),
        ('.Capabilities.APIVersions.Has "apps/v1/Deployment"', "true"),
        ('.Capabilities.APIVersions.Has "v1/Secret"', "false"),
        ('.Files.Get "data.txt"', "data"),
        ('tpl "{{ .Values.own }}" .', "1"),
    ],
)
def test_what_templates_see(workshop: Workshop, expression: str, expected: str) -> None:
    files = chart({"templates/a.yaml": show(expression), "data.txt": "data", "values.yaml": "own: 1"})
    assert shown(rendered(workshop, files)) == {"shown": expected}


def test_values_of_files_and_of_the_definition_in_their_order(workshop: Workshop) -> None:
    files = chart({"templates/a.yaml": VALUES, "values.yaml": "a: chart\nb: chart\nc: chart\nd: chart\ngone: chart"})
    files |= {"one.yaml": "b: one\nc: one\nd: one", "deep/two.yml": "c: two\nd: two\n", "empty.yaml": "# nothing\n"}
    values = {"d": "definition", "e": "{{ data }}", "gone": None, "1e3": "0644", "list": [1.5, "on", {"y": True}]}
    git = {"path": "c", "valuesFiles": ["one.yaml", "./deep/two.yml", "empty.yaml"]}
    (document,) = rendered(workshop, files, git=git, values=values).documents
    assert json.loads(document.manifest["data"]) == {
        "a": "chart",
        "b": "one",
        "c": "two",
        "d": "definition",
        "e": "{{ data }}",
        "1e3": "0644",
        "list": [1.5, "on", {"y": True}],
    }


def test_objects_hooks_and_definitions_with_their_places(workshop: Workshop) -> None:
    hook = "apiVersion: v1\nkind: Pod\nmetadata: {name: h, annotations: {helm.sh/hook: 'post-install, test'}}\n"
    files = chart({"templates/a.yaml": show("1", "a") + "---\n" + show("2", "b"), "templates/h.yaml": hook})
    made = rendered(workshop, files | chart({"crds/things.yaml": CRD}))
    assert [(document.manifest["kind"], document.source) for document in made.documents] == [
        ("CustomResourceDefinition", "c/crds/things.yaml"),
        ("ConfigMap", "c/templates/a.yaml, document 1"),
        ("ConfigMap", "c/templates/a.yaml, document 2"),
        ("Pod", "c/templates/h.yaml"),
    ]


@pytest.mark.parametrize("place", ["crds/things.yaml", "templates/things.yaml"])
def test_a_charts_own_kinds_count_as_served(workshop: Workshop, place: str) -> None:
    files = chart({place: CRD, "templates/a.yaml": show('.Capabilities.APIVersions.Has "x.io/v1/Thing"')})
    made = rendered(workshop, files)
    assert shown(made) == {"shown": "true"}
    assert made.asked.brings == ("x.io/v1", "x.io/v1/Thing")
    assert workshop.started.count("helm template") == 2
    # Once they are there, one call will do, and nothing else comes out.
    later = rendered(workshop, cluster=CLUSTER.with_kinds(made.asked.brings))
    assert later == made
    assert workshop.started.count("helm template") == 3
    assert made.asked.answers(CLUSTER) == made.asked.answers(CLUSTER.with_kinds(made.asked.brings))


def test_a_kind_that_comes_only_where_it_is_missing_comes(workshop: Workshop) -> None:
    guarded = '{{ if not (.Capabilities.APIVersions.Has "x.io/v1/Thing") }}' + CRD + "{{ end }}"
    made = rendered(workshop, chart({"templates/crd.yaml": guarded, "templates/a.yaml": show("1")}))
    assert [document.manifest["kind"] for document in made.documents] == ["ConfigMap", "CustomResourceDefinition"]
    # Where it is there, this is another render, as it is for Helm.
    assert made.asked.answers(CLUSTER) != made.asked.answers(CLUSTER.with_kinds(["x.io/v1/Thing"]))


def test_a_kind_that_is_a_hook_does_not_count(workshop: Workshop) -> None:
    hook = json.loads(CRD)
    hook["metadata"]["annotations"] = {"helm.sh/hook": "pre-install"}
    asks = show('.Capabilities.APIVersions.Has "x.io/v1/Thing"')
    made = rendered(workshop, chart({"templates/crd.yaml": json.dumps(hook), "templates/a.yaml": asks}))
    assert (shown(made), made.asked.brings) == ({"shown": "false"}, ())


def test_kinds_that_nobody_asks_for_cost_no_second_call(workshop: Workshop) -> None:
    rendered(workshop, chart({"crds/things.yaml": CRD, "templates/a.yaml": show("1")}))
    assert workshop.started.count("helm template") == 1


def test_trap_01_a_chart_that_makes_something_up_is_rendered_twice(workshop: Workshop) -> None:
    files = chart({"templates/a.yaml": show("randAlphaNum 16"), "templates/b.yaml": show("1", "b")})
    made = rendered(workshop, files)
    assert [document.source for document in made.second] == ["c/templates/a.yaml", "c/templates/b.yaml"]
    first, second = ({one.manifest["metadata"]["name"]: one.manifest for one in each} for each in
                     (made.documents, made.second))  # fmt: skip
    assert (first["shown"] != second["shown"], first["b"] == second["b"]) == (True, True)
    assert workshop.started.count("helm template") == 2


def test_the_time_of_a_render_is_made_up(workshop: Workshop) -> None:
    """Both renders may be made in one second; the next run's is not."""
    files = chart({"templates/a.yaml": show("now | unixEpoch"), "templates/b.yaml": show("1", "b")})
    for _ in range(3):
        assert rendered(workshop, files).second


def test_chance_that_values_rule_out_does_not_count(workshop: Workshop) -> None:
    files = chart({"templates/a.yaml": show(".Values.password | default (randAlphaNum 16)")})
    assert rendered(workshop, files, values={"password": "given"}).second == []


@pytest.mark.parametrize("namespace", ["y", "no", "123", "1e3"])
def test_trap_08_a_namespace_that_is_no_text_is_refused(workshop: Workshop, namespace: str) -> None:
    workshop.repository.commit(chart({"templates/a.yaml": show("1")}))
    with pytest.raises(AddonError) as caught:
        rendered(workshop, namespace=namespace)
    assert str(caught.value) == (
        f"namespace: {namespace} is no text where a chart writes it without quotes. Use a namespace with another name."
    )


def inputs(workshop: Workshop, **fields: Any) -> Any:
    return HelmSource().prepare(workshop.request(**{"git": {"path": "c"}, **fields})).inputs


def test_inputs_move_with_all_that_goes_in_and_nothing_else(workshop: Workshop) -> None:
    workshop.repository.commit(chart({"templates/a.yaml": show("1")}) | {"v.yaml": "a: 1"})
    git = {"path": "c", "valuesFiles": ["v.yaml"]}
    first = inputs(workshop, git=git)
    workshop.repository.commit({"README.md": "unrelated"})
    assert inputs(workshop, git=git, title="Web", wait=5, cluster=CLUSTER.with_kinds(["x/v1"])) == first
    others: list[dict[str, Any]] = [
        {"values": {"a": 1}},
        {"releaseName": "other"},
        {"namespace": "other"},
        {"cluster": replace(CLUSTER, version="v1.36.0")},
        {"git": {"path": "c"}},
    ]
    seen = [first, *(inputs(workshop, **{"git": git, **other}) for other in others)]
    workshop.repository.commit({"v.yaml": "a: 2"})
    seen.append(inputs(workshop, git=git))
    workshop.repository.commit({"c/templates/a.yaml": show("2")})
    seen.append(inputs(workshop, git=git))
    assert len({json.dumps(one) for one in seen}) == len(seen)
    assert [call for call in workshop.started if call != "helm version"] == []


def test_the_version_of_helm_is_asked_once(workshop: Workshop) -> None:
    workshop.repository.commit(chart({"templates/a.yaml": show("1")}))
    for _ in range(3):
        assert inputs(workshop)["helm"].startswith("v")
    assert workshop.started == ["helm version"]


def test_trap_09_links_inside_the_repository_are_followed(workshop: Workshop) -> None:
    workshop.repository.write(chart({"templates/a.yaml": show("1", "a")}) | {"shared/b.yaml": show("2", "b")})
    (workshop.repository.path / "c/templates/b.yaml").symlink_to("../../shared/b.yaml")
    workshop.repository.commit({})
    before = inputs(workshop)
    assert shown(rendered(workshop)) == {"a": "1", "b": "2"}
    workshop.repository.commit({"shared/b.yaml": show("3", "b")})
    assert shown(rendered(workshop)) == {"a": "1", "b": "3"}
    assert inputs(workshop) != before


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../outside", "../../missing.yaml"])
def test_trap_09_links_that_lead_elsewhere_are_refused(workshop: Workshop, target: str) -> None:
    workshop.repository.write(chart({"templates/a.yaml": show("1")}))
    (workshop.repository.path / "c/templates/b.yaml").symlink_to(target)
    workshop.repository.commit({})
    with pytest.raises(AddonError, match=rf"^c/templates/b.yaml: is a symbolic link to {target}, which is no file"):
        rendered(workshop)


def test_a_dependency_in_the_same_repository(workshop: Workshop) -> None:
    library = {"library/Chart.yaml": "{apiVersion: v2, name: library, version: 0.1.0, type: library}"}
    library["library/templates/_help.tpl"] = '{{ define "library.word" }}from the library{{ end }}'
    dependency = "[{name: library, version: 0.1.0, repository: 'file://../library'}]"
    files = chart({"templates/a.yaml": show('include "library.word" .')}, dependencies=dependency) | library
    assert shown(rendered(workshop, files)) == {"shown": "from the library"}
    before = inputs(workshop)
    workshop.repository.commit({"unrelated/x": "1"})
    # The smallest folder that holds both is the repository itself here.
    assert inputs(workshop) != before


def test_a_dependency_may_be_a_link_to_a_folder_beside_the_chart(workshop: Workshop) -> None:
    """Another one lies in ``charts/`` as an archive, and there is no lock file: nothing has to be brought."""
    dependency = "[{name: library, version: 0.1.0, repository: 'file://../library'}]"
    library = {"library/Chart.yaml": "{apiVersion: v2, name: library, version: 0.1.0, type: library}"}
    library["library/templates/_help.tpl"] = '{{ define "library.word" }}from the library{{ end }}'
    workshop.repository.write(chart({"templates/a.yaml": show('include "library.word" .')}, dependencies=dependency))
    (workshop.repository.path / "c/charts").mkdir()
    (workshop.repository.path / "c/charts/library").symlink_to("../../library")
    assert shown(rendered(workshop, library)) == {"shown": "from the library"}
    assert workshop.started == ["helm version", "helm dependency", "helm template"]


REFERENCES = ["file://FOLDER/secret.json", "FOLDER/secret.json", "../../FOLDER/secret.json", "SERVER/a.json"]


@pytest.mark.parametrize("key", ["$ref", "$schema", "$dynamicRef"])
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("place", ["c", "c/charts/sub", "archive"])
def test_trap_07_a_values_schema_is_not_followed(
    workshop: Workshop, charts: ChartRepository, tmp_path: Path, key: str, reference: str, place: str
) -> None:
    """It is left aside: read by helm, it would fail, and show the secret or ask the server."""
    (tmp_path / "secret.json").write_text('{"const": "the secret"}')
    target = reference.replace("FOLDER", str(tmp_path)).replace("SERVER", charts.url)
    schema = json.dumps({"properties": {"a": {key: target}}})
    files = chart({"templates/a.yaml": show("1"), "values.yaml": "a: 1\nsub: {a: 1}\n"})
    if place == "archive":
        archive = charts.add("sub", "1.0.0", {"values.schema.json": schema})
        workshop.repository.write({"c/charts/sub-1.0.0.tgz": archive.read_bytes()})
    else:
        files |= {"c/charts/sub/Chart.yaml": "{apiVersion: v2, name: sub, version: 1.0.0}"}
        files[f"{place}/values.schema.json"] = schema
    charts.requests.clear()
    made = rendered(workshop, files)
    assert shown(made)["shown"] == "1"
    (warning,) = made.warnings
    assert re.fullmatch(
        r"values are not checked, since \S*values.schema.json refers to other files or servers", warning
    )
    assert not charts.requests


def test_values_are_checked_against_a_schema_that_is_whole(workshop: Workshop) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/$defs/whole"}}}
    files = chart({"templates/a.yaml": show("1"), "values.yaml": "a: 1\n"})
    files["c/values.schema.json"] = json.dumps({**schema, "$defs": {"whole": {"type": "integer"}}})
    assert rendered(workshop, files).warnings == []
    with pytest.raises(AddonError, match="the values do not fit the schema of c: a: got string, want integer"):
        rendered(workshop, values={"a": "text"})


@pytest.mark.parametrize("vendored", ["charts/sub/Chart.yaml", "charts/sub-1.0.0.tgz"])
def test_vendored_dependencies_need_nothing_else(workshop: Workshop, charts: ChartRepository, vendored: str) -> None:
    archive = charts.add("sub", "1.0.0", {"templates/a.yaml": show(".Values.word", "sub"), "values.yaml": "word: sub"})
    dependency = "[{name: sub, version: 1.0.0, repository: 'https://nowhere.invalid', condition: sub.enabled}]"
    files = chart({"templates/a.yaml": show("1", "main")}, dependencies=dependency)
    if vendored.endswith(".tgz"):
        workshop.repository.write({f"c/{vendored}": archive.read_bytes()})
    else:
        files |= {"c/charts/sub/Chart.yaml": "{apiVersion: v2, name: sub, version: 1.0.0}"}
        files |= {"c/charts/sub/values.yaml": "word: sub", "c/charts/sub/templates/a.yaml": show(".Values.word", "sub")}
    assert shown(rendered(workshop, files)) == {"main": "1", "sub": "sub"}
    assert shown(rendered(workshop, values={"sub": {"enabled": False}})) == {"main": "1"}
    assert charts.requests == []


def test_locked_dependencies_are_downloaded(workshop: Workshop, charts: ChartRepository, programs: Any) -> None:
    charts.add("sub", "1.0.0", {"templates/a.yaml": show("1", "old")})
    charts.add("sub", "1.0.1", {"templates/a.yaml": show("1", "new")})
    dependency = f"[{{name: sub, version: ^1.0.0, repository: '{charts.url}'}}]"
    workshop.repository.write(chart({"templates/a.yaml": show("1", "main")}, dependencies=dependency))
    with pytest.raises(AddonError, match=r"Chart\.lock"):
        rendered(workshop, {})
    charts.helm("dependency", "update", str(workshop.repository.path / "c"))
    workshop.repository.commit({"c/charts/sub-1.0.1.tgz": None, ".gitignore": "charts/"})
    charts.add("sub", "1.0.2", {"templates/a.yaml": show("1", "newer")})
    assert shown(rendered(workshop)) == {"main": "1", "new": "1"}


def test_a_chart_of_a_repository(workshop: Workshop, charts: ChartRepository) -> None:
    charts.add("c", "1.0.0", {"templates/a.yaml": show(".Chart.Version")})
    charts.add("c", "1.1.0", {"templates/a.yaml": show(".Chart.Version")})
    source: dict[str, Any] = {"git": None, "helm": {"repo": charts.url, "chart": "c", "version": "1.0.0"}}
    workshop.repository.commit({})
    made = HelmSource().prepare(workshop.request(**source))
    assert made.revision == "c-1.0.0"
    assert shown(made.render()) == {"shown": "1.0.0"}
    charts.requests.clear()
    assert HelmSource().prepare(workshop.request(**source)).inputs == made.inputs
    assert charts.requests == []
    assert workshop.said == [f"downloading the chart c 1.0.0 from {charts.url}"]


def test_a_slow_repository_is_waited_for_once(workshop: Workshop, charts: ChartRepository) -> None:
    charts.add("c", "1.0.0", {"templates/a.yaml": show("1")})
    charts.answers["/index.yaml"] = Answer(seconds=5)
    workshop.seconds = 1
    workshop.repository.commit({})
    source: dict[str, Any] = {"git": None, "helm": {"repo": charts.url, "chart": "c", "version": "1.0.0"}}
    with pytest.raises(AddonError, match="did not end within 1 s"):
        HelmSource().prepare(workshop.request(**source))
    with pytest.raises(AddonError, match="did not answer another add-on of this run in time"):
        HelmSource().prepare(workshop.request(**source))
    assert charts.paths() == ["/index.yaml"]


@pytest.mark.parametrize(
    ("files", "fields", "message"),
    [
        ({}, {"git": {"path": "c", "valuesFiles": ["none.yaml"]}},
         "valuesFiles: none.yaml is no file of commit *. Correct the path."),
        ({}, {"git": {"path": "c", "valuesFiles": ["c/templates"]}},
         "valuesFiles: c/templates is no file of commit *. Correct the path."),
        ({"v.yaml": "a: 1\na: 2"}, {"git": {"path": "c", "valuesFiles": ["v.yaml"]}},
         "v.yaml:2: the key a stands twice in one mapping"),
        ({"v.yaml": "[1]"}, {"git": {"path": "c", "valuesFiles": ["v.yaml"]}}, "v.yaml: is no mapping of values"),
        ({"v.yaml": "a: 1\n---\nb: 1"}, {"git": {"path": "c", "valuesFiles": ["v.yaml"]}},
         "v.yaml:3: a second document starts here, only one is expected"),
        ({"v.yaml": "version https://git-lfs.github.com/spec/v1\n"}, {"git": {"path": "c", "valuesFiles": ["v.yaml"]}},
         "valuesFiles: v.yaml: is a Git LFS pointer, not the file. Commit the file itself."),
        ({"v.yaml": "a: ENC[AES256_GCM,data:x]\nsops:\n    mac: ENC[AES256_GCM,data:y]\n"},
         {"git": {"path": "c", "valuesFiles": ["v.yaml"]}},
         "valuesFiles: v.yaml: is encrypted with sops. It can't be used as it is."),
        ({}, {"valuesFrom": [{"secret": "s"}]},
         "valuesFrom: this version can't do that yet. Put the values into values."),
        ({"c/templates/big.yaml": "version https://git-lfs.github.com/spec/v1\n"}, {},
         "templates/big.yaml: is a Git LFS pointer, not the file. Commit the file itself."),
    ],
)  # fmt: skip
def test_errors(workshop: Workshop, files: dict[str, str], fields: dict[str, Any], message: str) -> None:
    commit = workshop.repository.commit(chart({"templates/a.yaml": show("1")}) | files)
    with pytest.raises(AddonError) as caught:
        rendered(workshop, **fields)
    assert str(caught.value) == message.replace("*", commit[:12])


def test_no_message_repeats_what_looks_like_a_secret(workshop: Workshop) -> None:
    files = chart({"templates/a.yaml": '{{ fail (printf "no %s for %s" .Values.db.password .Values.host) }}'})
    with pytest.raises(AddonError) as caught:
        rendered(workshop, files, values={"db": {"password": "hunter2-hunter2"}, "host": "db.lan"})
    assert str(caught.value) == "c/templates/a.yaml:1: no … for db.lan. Correct the values."
    with pytest.raises(AddonError) as caught:
        rendered(workshop, values={"db": {}, "host": "postgres://user:hunter2@db.lan/x"})
    assert "hunter2" not in str(caught.value)


SECRET_VALUES = {
    "password": "first-Line-1\nsecond-2\nthird",
    "pin": 48291,
    "db": {"password": 8472938412, "token": 0.123456789},
    "tls": {"key": "sesame"},
}


@pytest.mark.parametrize(
    "expression",
    [
        ".Values.password",
        ".Values.password | indent 4",
        ".Values.password | b64enc",
        ".Values.password | quote",
        ".Values.db.password",
        ".Values.db.password | int64",
        ".Values.db.token",
        'printf "%v" .Values.db.password | b64enc',
        ".Values.tls.key | b64enc",
        'printf "x-%s-y" (.Values.password | nindent 2)',
        "toYaml .Values.db",
        "toJson .Values.db",
        "urlquery .Values.password",
    ],
)
def test_no_message_repeats_a_value_in_another_form(workshop: Workshop, expression: str) -> None:
    with pytest.raises(AddonError) as caught:
        rendered(workshop, chart({"templates/a.yaml": f"{{{{ fail (print ({expression})) }}}}"}), values=SECRET_VALUES)
    message = str(caught.value)
    assert message.startswith("c/templates/a.yaml:1: ")
    assert "…" in message
    parts = ["first-Line", "second-2", "third", "8472938412", "8.47", "123456789", "sesame", "1.2345"]
    encoded = [base64.b64encode(one.encode()).decode() for one in ("first-Line-1\n", "8.472938412e+09", "sesame")]
    assert [part for part in (*parts, *(text[:8] for text in encoded)) if part in message] == []


def test_nothing_is_left_in_the_work_folder(workshop: Workshop) -> None:
    rendered(workshop, chart({"templates/a.yaml": show("1")}), values={"a": 1})
    assert list(workshop.work.iterdir()) == []
