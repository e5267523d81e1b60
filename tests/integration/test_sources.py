"""Charts and kustomizations on a real cluster: rendered for it, rendered once, and rendered again for what changed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local_cluster import Cluster
from tests.chart_repository import ChartRepository
from tests.integration.objects import config_map, custom, custom_kind
from tests.integration.scene import Observed, Scene

ADDONS = ("asks-for-everything", "brings-kinds", "from-folder", "kustomized", "needs-kinds", "plain")
GROUP = "sources.example.com"

FACTS = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data:
  release: {{{{ .Release.Name }}}} in {{{{ .Release.Namespace }}}}
  version: {{{{ .Capabilities.KubeVersion.Version }}}}
  apps: {{{{ .Capabilities.APIVersions.Has "apps/v1/Deployment" | quote }}}}
  things: {{{{ .Capabilities.APIVersions.Has "sources.example.com/v1/Sourced" | quote }}}}
  removed: {{{{ .Capabilities.APIVersions.Has "sources.example.com/v7" | quote }}}}
  colour: {{{{ .Values.colour | quote }}}}
"""
COUNTED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: counted}
data:
{{- range $index, $entry := list "sources.example.com/v1/Sourced" "others.example.com/v1" }}
  has-{{ $index }}: {{ $.Capabilities.APIVersions.Has $entry | quote }}
{{- end }}
"""
OVERLAY = {
    "resources": ["../../base"],
    "namePrefix": "prod-",
    "configMapGenerator": [{"name": "settings", "literals": ["level=info"]}],
}


@dataclass(frozen=True)
class Story:
    """A preview and a sync with an empty cache, a sync with nothing new, then one changed value, then no cache."""

    calls: dict[str, list[str]]
    runs: dict[str, Observed]
    cluster: Cluster
    scene: Scene


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory, programs: dict[str, Path]) -> Iterator[ChartRepository]:
    with ChartRepository(tmp_path_factory.mktemp("charts") / "served", programs["helm"]) as repository:
        yield repository


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], charts: ChartRepository, bootstrapped: Cluster) -> Story:
    scene = new_scene("sources")
    repository = scene.repository
    charts.add(
        "brings-kinds",
        "1.2.3",
        {
            "crds/things.yaml": json.dumps(custom_kind(GROUP, "Sourced")),
            "templates/facts.yaml": FACTS.format(name="brings"),
            "values.yaml": "colour: from the chart\n",
        },
    )
    charts.add("needs-kinds", "1.0.0", {"templates/facts.yaml": FACTS.format(name="needs")})
    charts.add("asks-for-everything", "0.1.0", {"templates/counted.yaml": COUNTED})
    common = {"namespace": "sources", "git": None}
    chart = {"repo": charts.url, "chart": "brings-kinds", "version": "1.2.3"}
    repository.define("brings-kinds", **common, createNamespace=True, helm=chart, values={"colour": "a {{ template }}"})
    needs = {**chart, "chart": "needs-kinds", "version": "1.0.0"}
    repository.define("needs-kinds", **common, helm=needs, dependsOn=["brings-kinds"], releaseName="other-name")
    everything = {**chart, "chart": "asks-for-everything", "version": "0.1.0"}
    repository.define("asks-for-everything", **common, helm=everything, dependsOn=["brings-kinds", "plain"])
    repository.write("folder/Chart.yaml", "apiVersion: v2\nname: folder\nversion: 0.0.1\n")
    repository.write("folder/templates/facts.yaml", FACTS.format(name="folder"))
    repository.write("folder/common.yaml", "colour: common\n")
    repository.write("folder/prod.yaml", "colour: prod\n")
    git = {"path": "folder", "valuesFiles": ["folder/common.yaml", "folder/prod.yaml"]}
    repository.define("from-folder", namespace="sources", dependsOn=["brings-kinds"], git=git)
    repository.write("kustomized/base/kustomization.yaml", [{"resources": ["objects.yaml"]}])
    repository.write("kustomized/base/objects.yaml", [config_map("based")])
    repository.write("kustomized/overlays/prod/kustomization.yaml", [OVERLAY])
    overlay = {"path": "kustomized/overlays/prod"}
    repository.define("kustomized", namespace="sources", dependsOn=["brings-kinds"], git=overlay)
    kinds = custom_kind("others.example.com", "Other")
    repository.addon("plain", kinds, namespace="sources", dependsOn=["brings-kinds"])
    repository.commit("the add-ons")

    calls, runs = {}, {}

    def observe(name: str, **options: Any) -> None:
        runs[name] = scene.observe(**options)
        calls[name] = scene.programs.calls()

    observe("preview", check=True, diff=True)
    observe("first")
    observe("second")
    repository.define("brings-kinds", **common, createNamespace=True, helm=chart, values={"colour": "new"})
    repository.commit("a new colour")
    observe("changed")
    observe("without a cache", cache_dir=str(scene.cache) + "-new")
    return Story(calls, runs, bootstrapped, scene)


def test_everything_is_synced(story: Story) -> None:
    for name in ("first", "second", "changed", "without a cache"):
        assert story.runs[name].result.succeeded().phases == dict.fromkeys(ADDONS, "Synced"), name


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("brings", {"release": "brings-kinds in sources", "colour": "a {{ template }}"}),
        # A dependency's kinds are there for a chart that looks for them, in the very first run.
        ("needs", {"release": "other-name in sources", "colour": ""}),
        ("folder", {"release": "from-folder in sources", "colour": "prod"}),
    ],
)
def test_charts_see_the_release_the_values_and_the_cluster(story: Story, name: str, data: dict[str, str]) -> None:
    found = story.runs["first"].objects[f"ConfigMap sources/{name}"]["data"]
    version = story.runs["first"].result.output.partition("cluster ")[2].split("(")[1].split(")")[0]
    assert found == {"version": version, "apps": "true", "things": "true", "removed": "false", **data}


def test_a_chart_may_look_for_any_kind(story: Story) -> None:
    found = story.runs["first"].objects["ConfigMap sources/counted"]["data"]
    assert found == {"has-0": "true", "has-1": "true"}


def test_a_kustomization_is_built_with_its_base(story: Story) -> None:
    names = {title for title in story.runs["first"].objects if title.startswith("ConfigMap sources/prod-")}
    assert "ConfigMap sources/prod-based" in names
    assert sum(name.startswith("ConfigMap sources/prod-settings-") for name in names) == 1


def test_a_preview_writes_nothing_and_starts_each_program_once(story: Story) -> None:
    assert not story.runs["preview"].requests.writes
    templates = [call for call in story.calls["preview"] if call == "helm template"]
    # Four charts, and once more the one that looks for a kind that it brings itself.
    assert len(templates) == 5
    assert story.calls["preview"].count("kustomize build") == 1
    assert story.calls["preview"].count("helm pull") == 3


def test_a_sync_after_a_preview_renders_nothing_again(story: Story) -> None:
    assert story.calls["first"] == []


def test_a_second_sync_starts_no_program_and_changes_nothing(story: Story) -> None:
    second = story.runs["second"]
    assert story.calls["second"] == []
    assert second.result.changed == 0
    assert not second.requests.writes
    assert second.records == story.runs["first"].records


def test_one_changed_value_renders_that_addon_alone(story: Story) -> None:
    assert story.calls["changed"] == ["helm template"]
    changed = story.runs["changed"]
    assert changed.objects["ConfigMap sources/brings"]["data"]["colour"] == "new"
    counts = {addon: changed.result.counts(addon) for addon in ADDONS}
    assert counts.pop("brings-kinds") == {"updated": 1, "unchanged": 2}
    assert {column for each in counts.values() for column in each} == {"unchanged"}


def test_the_render_key_needs_no_cache(story: Story) -> None:
    """Rendered anew, everything is what the records say it is: so nothing is written."""
    again = story.runs["without a cache"]
    assert "helm template" in story.calls["without a cache"]
    assert again.result.changed == 0
    assert not again.requests.writes


def test_records_say_what_was_rendered(story: Story) -> None:
    commit = story.scene.repository.git("rev-parse", "--short=12", "HEAD~1")
    revisions = {addon: story.runs["first"].status(addon)["revision"] for addon in ADDONS}
    assert revisions == {
        "asks-for-everything": "asks-for-everything-0.1.0",
        "brings-kinds": "brings-kinds-1.2.3",
        "needs-kinds": "needs-kinds-1.0.0",
        **dict.fromkeys(("from-folder", "kustomized", "plain"), commit),
    }


def test_the_first_line_names_repository_commit_and_cluster(story: Story) -> None:
    path, commit = story.scene.repository.path, story.scene.repository.git("rev-parse", "--short=12", "HEAD")
    assert f"{path} at {commit}, cluster https://" in story.runs["changed"].result.output


def test_the_cache_is_for_its_owner_alone(story: Story) -> None:
    paths = list(story.scene.cache.rglob("*"))
    assert any(path.is_file() for path in paths)
    assert [path for path in paths if path.stat().st_mode & 0o077] == []


def test_install_and_upgrade_are_told_truly(scene: Scene, charts: ChartRepository) -> None:
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: told}\ndata: {install: '{{ .Release.IsInstall }}'}\n"
    charts.add("told", "1.0.0", {"templates/a.yaml": template})
    chart = {"repo": charts.url, "chart": "told", "version": "1.0.0"}
    scene.repository.define("told", git=None, createNamespace=True, helm=chart)
    scene.repository.commit()
    values = []
    for _ in range(3):
        run = scene.observe()
        run.result.succeeded()
        values.append(run.objects["ConfigMap told/told"]["data"]["install"])
    assert values == ["true", "false", "false"]
    assert run.result.changed == 0
    assert not run.requests.writes


def test_a_custom_resource_of_the_charts_own_kind_comes_with_it(scene: Scene, charts: ChartRepository) -> None:
    """Its template asks for the kind, which the chart's own ``crds/`` bring, as when Helm installs it."""
    thing = json.dumps(custom("own.example.com", "Widget", "made", size=1))
    template = '{{ if .Capabilities.APIVersions.Has "own.example.com/v1" }}' + thing + "{{ end }}"
    kinds = json.dumps(custom_kind("own.example.com", "Widget"))
    charts.add("own-kind", "1.0.0", {"crds/a.yaml": kinds, "templates/a.yaml": template})
    chart = {"repo": charts.url, "chart": "own-kind", "version": "1.0.0"}
    scene.repository.define("own-kind", git=None, createNamespace=True, helm=chart)
    scene.repository.commit()
    scene.sync().succeeded()
    second = scene.observe(kinds=["widgets.own.example.com"])
    assert second.objects["Widget own-kind/made"]["spec"] == {"size": 1}
    assert second.result.changed == 0
    assert not second.requests.writes


def test_two_runs_at_once_share_an_empty_cache(scene: Scene, charts: ChartRepository) -> None:
    """Both preview the same add-ons from nothing; what they leave is whole, and serves a third run."""
    charts.add("shared", "1.0.0", {"templates/a.yaml": FACTS.format(name="shared")})
    chart = {"repo": charts.url, "chart": "shared", "version": "1.0.0"}
    for number in range(4):
        values = {"colour": str(number)}
        scene.repository.define(f"shared-{number}", git=None, createNamespace=True, helm=chart, values=values)
    scene.repository.commit()
    runs = [
        subprocess.Popen(
            [*scene.playbooks.command("sync", scene.variables()), "--check"],
            cwd=scene.playbooks.directory,
            env=scene.playbooks.environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(2)
    ]
    for run in runs:
        output, _ = run.communicate(timeout=120)
        scene.playbooks.keep(output, {})
        assert run.returncode == 0, output
    scene.programs.calls()
    scene.sync(check=True).succeeded()
    assert scene.programs.calls() == []
