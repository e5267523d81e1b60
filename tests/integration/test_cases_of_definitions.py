"""Field failures about definition files: ignored and faulty ones, variables that nobody declared, types of values."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster import Cluster
from tests.chart_repository import ChartRepository
from tests.integration.kubectl import inventory
from tests.integration.objects import config_map, deployment, secret, service
from tests.integration.scene import Observed, Scene

PLACE = {"namespace": "cases-b5", "dependsOn": ["b5-namespace"]}

# What other tools take for a variable, an expression or the beginning of one.
LOOKALIKES = {
    "cluster": "${CLUSTER}",
    "home": "${HOME}",
    "date": "$(date)",
    "dollars": "$$",
    "array": "${arr[@]}",
    "default": "${A:-b}",
    "percent": "%{x}",
    "jinja": "{{ x }} {% if x %} {# x #}",
    "lookup": "{{ lookup('env', 'HOME') }}",
    "helm": "{{ .Values.text }}",
    "trailing": "costs 5 $",
}
TYPED = """
apiVersion: v1
kind: Service
metadata: {name: b66-chart}
spec:
  selector: {app: b66}
  ports: [{port: {{ .Values.port }}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b66-chart}
data:
  number: {{ .Values.number | quote }}
  kinds: {{ printf "%s %s %s" (kindOf .Values.port) (kindOf .Values.number) (kindOf .Values.mount) }}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: b66-chart}
automountServiceAccountToken: {{ .Values.mount }}
"""
RELEASED = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {text: {{ .Values.text | quote }}}\n"
)


@dataclass(frozen=True)
class Story:
    """All is well and installed; then come faults, which a preview tells and a sync survives."""

    good: Observed
    preview: Observed
    bad: Observed
    review: str


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory, programs: dict[str, Path]) -> Iterator[ChartRepository]:
    with ChartRepository(tmp_path_factory.mktemp("charts") / "served", programs["helm"]) as repository:
        yield repository


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], charts: ChartRepository, bootstrapped: Cluster) -> Story:
    scene = new_scene("cases-of-definitions")
    repository = scene.repository
    charts.add("released", "1.0.0", {"templates/a.yaml": RELEASED, "values.yaml": "text: ''\n"})
    charts.add("typed", "1.0.0", {"templates/a.yaml": TYPED})

    def chart(name: str, version: str = "1.0.0", **fields: Any) -> dict[str, Any]:
        return {**PLACE, "git": None, "helm": {"repo": charts.url, "chart": name, "version": version}, **fields}

    def renamed(name: str, file: str) -> None:
        repository.write(f"{repository.folder}/{file}", (repository.path / repository.file_of(name)).read_text())
        repository.remove(repository.file_of(name))

    repository.addon("b5-namespace", config_map("namespace"), namespace="cases-b5", createNamespace=True)
    for name in ("b54-a", "b54-b", "b54-c", "b54-d", "b55-a", "b55-n", "b55-z"):
        repository.addon(name, config_map(name), **PLACE)
    renamed("b54-b", "b54-b.yml")
    renamed("b54-c", "B54-C.YAML")
    repository.define("b55-m", **chart("released"))

    encoded = secret("b56", data={key: f"not-to-be-shown {text}" for key, text in LOOKALIKES.items()})
    repository.addon("b56-plain", config_map("b56", data=LOOKALIKES), encoded, **PLACE)
    repository.define("b56-chart", **chart("released", values={"text": " ".join(LOOKALIKES.values())}))
    repository.addon("b56-built", config_map("b56-built", data=LOOKALIKES), **PLACE)
    literals = [f"{key}={text}" for key, text in LOOKALIKES.items()]
    generated = {"name": "b56-generated", "literals": literals, "options": {"disableNameSuffixHash": True}}
    kustomization = {"resources": ["objects.yaml"], "configMapGenerator": [generated]}
    repository.write("b56-built/kustomization.yaml", [kustomization])

    account = {**config_map("b66"), "kind": "ServiceAccount", "automountServiceAccountToken": True}
    del account["data"]
    objects = [service("b66", port=8080), deployment("b66", replicas=2), config_map("b66", data={"five": "5"}), account]
    repository.addon("b66-plain", *objects, **PLACE)
    repository.define("b66-chart", **chart("typed", values={"port": 8080, "number": "0123", "mount": False}))
    repository.addon("b66-wrong", config_map("b66-wrong"), **PLACE)
    repository.commit("all is well")
    # As the command line gives them: texts, all of them.
    options: dict[str, Any] = {"workers": "4", "program_seconds": "60", "keep_run": "false", "fail_on": "Error"}
    environment = {"CLUSTER": "c1", "A": "of the environment", "x": "of the environment"}
    good = scene.observe(environment=environment, kinds=["services", "serviceaccounts"], **options)

    for file in ("a.yml", ".hidden.yaml", "d.yaml~", "e.json", "README.md"):
        repository.write(f"{repository.folder}/{file}", "name: b54-a\n")
    renamed("b54-d", "b54-d.yaml~")
    for name in ("b54-a", "b54-b", "b54-c", "b55-a", "b55-n", "b55-z"):
        repository.write(f"{name}/objects.yaml", [config_map(name, data={"changed": "yes"})])
    repository.define("b55-m", **chart("released", version="9.9.9"))
    repository.define("b55-n", **PLACE, chartt="released")
    ports = {"ports": [{"port": "8080"}], "selector": {"app": "b66"}}
    wrong = [
        {**service("b66-port"), "spec": ports},
        {**deployment("b66-replicas"), "spec": {**deployment("b66-replicas")["spec"], "replicas": "2"}},
        {**config_map("b66-number"), "data": {"five": 5}},
        {**account, "metadata": {"name": "b66-mount"}, "automountServiceAccountToken": "true"},
    ]
    repository.addon("b66-wrong", config_map("b66-wrong", data={"changed": "yes"}), *wrong, **PLACE)
    repository.commit("faults")
    review = scene.playbooks.scratch / "preview.md"
    preview = scene.observe(check=True, diff=True, preview_file=str(review))
    return Story(good, preview, scene.observe(diff=True), review.read_text())


def runs(story: Story) -> list[Observed]:
    return [story.preview, story.bad]


def test_all_was_well(story: Story) -> None:
    assert set(story.good.result.succeeded().phases.values()) == {"Synced"}
    assert "not read in" not in story.good.result.output


def test_b54_both_extensions_are_read_in_any_case(story: Story) -> None:
    assert {name: story.bad.result.phases[name] for name in ("b54-b", "b54-c")} == dict.fromkeys(
        ("b54-b", "b54-c"), "Synced"
    )
    for name in ("b54-b", "b54-c"):
        assert story.bad.objects[f"ConfigMap cases-b5/{name}"]["data"] == {"changed": "yes"}


def test_b54_what_is_ignored_is_listed_once(story: Story) -> None:
    names = ".hidden.yaml, README.md, b54-d.yaml~, d.yaml~, e.json"
    line = f"not read in addons/cases-of-definitions: {names} (a definition is a .yaml or .yml file directly in it)"
    for run in runs(story):
        assert run.result.output.splitlines().count(line) == 1
        assert "README.md" not in run.result.output.replace(line, "")


def test_b54_a_name_clash_names_both_files_and_changes_nothing(story: Story) -> None:
    folder = "addons/cases-of-definitions"
    for run in runs(story):
        assert run.result.phases["b54-a"] == "Error"
        assert f"{folder}/a.yml, {folder}/b54-a.yaml: name: b54-a is defined more than once" in run.result.why("b54-a")
    assert story.bad.objects["ConfigMap cases-b5/b54-a"] == story.good.objects["ConfigMap cases-b5/b54-a"]


def test_b54_nothing_is_deleted_because_a_file_is_ignored(story: Story) -> None:
    """A renamed file reads as one that left git: its add-on is let go of, and pruning has no part in that."""
    assert "its definition left git: 1 object" in story.bad.result.why("b54-d")
    assert story.bad.objects["ConfigMap cases-b5/b54-d"] == story.good.objects["ConfigMap cases-b5/b54-d"]
    assert not [each for each in story.bad.requests.on_objects.writes if each.verb == "delete"]


def test_b55_one_report_has_every_fault(story: Story) -> None:
    for run in runs(story):
        result = run.result.failed()
        assert {name: result.phases[name] for name in ("b55-m", "b55-n")} == {"b55-m": "Error", "b55-n": "Error"}
        assert "there is no version 9.9.9 of the chart released. The nearest are 1.0.0." in result.why("b55-m")
        assert "addons/cases-of-definitions/b55-n.yaml: chartt: unknown field" in result.why("b55-n")
        assert "b55-m is Error" in result.error
        assert "b55-n is Error" in result.error


def test_b55_sound_ones_before_and_after_go_on(story: Story) -> None:
    for name in ("b55-a", "b55-z"):
        assert f"ConfigMap cases-b5/{name} (update, verified)" in story.preview.result.output
        assert story.bad.result.phases[name] == "Synced"
        assert story.bad.objects[f"ConfigMap cases-b5/{name}"]["data"] == {"changed": "yes"}


def test_b55_what_faulty_ones_installed_before_stays_as_it_is(story: Story) -> None:
    for name in ("b55-m", "b55-n"):
        title = f"ConfigMap cases-b5/{name}"
        assert story.bad.objects[title] == story.good.objects[title]
        assert inventory(story.bad.records[name]) == inventory(story.good.records[name])


@pytest.mark.parametrize("name", ["b56", "b56-built", "b56-generated"])
def test_b56_objects_arrive_byte_for_byte(story: Story, name: str) -> None:
    """No substitution is on offer at all: nothing is declared, so nothing can be unset, and everything stays."""
    assert story.good.objects[f"ConfigMap cases-b5/{name}"]["data"] == LOOKALIKES


def test_b56_encoded_data_and_values_arrive_byte_for_byte(story: Story) -> None:
    data = story.good.objects["Secret cases-b5/b56"]["data"]
    assert {key: base64.b64decode(text).decode() for key, text in data.items()} == {
        key: f"not-to-be-shown {text}" for key, text in LOOKALIKES.items()
    }
    assert story.good.objects["ConfigMap cases-b5/b56-chart"]["data"]["text"] == " ".join(LOOKALIKES.values())


def test_b59_the_preview_states_server_and_context(story: Story, bootstrapped: Cluster) -> None:
    kubeconfig = yaml.safe_load(bootstrapped.kubeconfig_of("admin").read_text())
    server, context = kubeconfig["clusters"][0]["cluster"]["server"], kubeconfig["current-context"]
    (line,) = [line for line in story.preview.result.output.splitlines() if f"cluster {server} (v1." in line]
    assert line.endswith(f"), context {context}")
    (line,) = [line for line in story.review.splitlines() if f"cluster `{server}` (`v1." in line]
    assert line.endswith(f"`), context `{context}`.")


def test_b66_types_are_those_of_the_file(story: Story) -> None:
    """Definitions are files of git, which no Jinja touches, so there is one outcome and not one for each setting."""
    objects = story.good.objects
    for name in ("b66", "b66-chart"):
        assert objects[f"Service cases-b5/{name}"]["spec"]["ports"][0]["port"] == 8080
    assert objects["Deployment cases-b5/b66"]["spec"]["replicas"] == 2
    assert objects["ConfigMap cases-b5/b66"]["data"] == {"five": "5"}
    assert objects["ConfigMap cases-b5/b66-chart"]["data"] == {"number": "0123", "kinds": "float64 string bool"}
    assert objects["ServiceAccount cases-b5/b66"]["automountServiceAccountToken"] is True
    assert objects["ServiceAccount cases-b5/b66-chart"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    ("title", "path", "types"),
    [
        ("Service cases-b5/b66-port", "spec.ports", "expected numeric (int or float), got string"),
        ("Deployment cases-b5/b66-replicas", "spec.replicas", "expected numeric (int or float), got string"),
        ("ConfigMap cases-b5/b66-number", "data.five", "expected string, got 5"),
        ("ServiceAccount cases-b5/b66-mount", "automountServiceAccountToken", "expected boolean, got &{true}"),
    ],
)
def test_b66_a_wrong_type_is_an_error_with_its_path(story: Story, title: str, path: str, types: str) -> None:
    lines = story.preview.result.output.splitlines()
    (line,) = [line for line in lines if line.startswith(f"{title} (blocked, verified): the API server refuses it: ")]
    assert path in line
    assert types in line
    assert story.bad.result.phases["b66-wrong"] == story.preview.result.phases["b66-wrong"] == "Error"
    assert story.bad.result.why("b66-wrong") == story.preview.result.why("b66-wrong")
    assert story.bad.objects["ConfigMap cases-b5/b66-wrong"]["data"] == {"key": "value"}
