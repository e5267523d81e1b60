"""What operators of other tools ran into when charts, kustomizations and plain YAML became objects, on a real cluster.

Each test is one report of the field: the input in miniature, and what has to come of it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from local_cluster import Cluster
from tests.chart_repository import write_chart
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, Object, inventory
from tests.integration.objects import config_map, custom, custom_kind, namespace, service
from tests.integration.scene import Observed, Scene

pytestmark = pytest.mark.long

GROUP = "rendering.example.com"
KINDS = (
    "services",
    "pods",
    "poddisruptionbudgets",
    "clusterroles",
    "validatingadmissionpolicies",
    "renderedclusterthings",
    "renderedallowlists",
)

HOOKED = """
{{- define "object" }}
---
apiVersion: v1
kind: Pod
metadata:
  name: {{ .name }}
  annotations: {helm.sh/hook: {{ .hook | quote }}}
spec: {containers: [{name: main, image: none}]}
{{- end }}
{{- range $name, $hook := .Values.hooks }}
{{- include "object" (dict "name" $name "hook" $hook) }}
{{- end }}
"""
TESTS = {"t1": "test", "t2": "test-success"}
TEST_DATA = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: testdata}\ndata: {key: value}\n"

# Differing values under one key, and equal ones.
DIFFERING = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: differing
data:
  k: a
  k: b
"""
EQUAL = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: equal
  labels:
    x: one
    x: one
data:
  k: a
"""

CAPABILITIES = """
{{- $served := .Capabilities.APIVersions.Has "policy/v1/PodDisruptionBudget" }}
apiVersion: {{ if $served }}policy/v1{{ else }}policy/v1beta1{{ end }}
kind: PodDisruptionBudget
metadata: {name: chosen}
spec: {minAvailable: 1, selector: {matchLabels: {app: none}}}
---
apiVersion: {{ if .Capabilities.APIVersions.Has "policy/v1" }}v1{{ else }}v0{{ end }}
kind: ConfigMap
metadata: {name: asked-for-the-group}
{{- if semverCompare ">=1.99-0" .Capabilities.KubeVersion.Version }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: for-a-cluster-of-the-future}
{{- end }}
"""

ROLE = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}

STREAM = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: first
data:
  text: |
    ---
    -----BEGIN X-----
    # ---
    end
--- # second
apiVersion: v1
kind: ConfigMap
metadata:
  name: second
data:
  text: "a --- b"
...
---  \t
apiVersion: v1
kind: ConfigMap
metadata:
  name: third
data:
  text: 'c'
"""

ALMOST_EMPTY = {
    "1-stream.yaml": "---\n# Source: x\n---\n\n--- null\n---\n" + json.dumps(config_map("a")) + "\n---\n",
    "2-comments.yaml": "# nothing\n# at all\n",
    "3-mark.yaml": "\ufeff" + json.dumps(config_map("b")),
}


def policy(name: str) -> Object:
    """A policy that no binding puts into force."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [GROUP], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}
                ]
            },
            "validations": [{"expression": "true"}],
        },
    }


def cluster_role(name: str) -> Object:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, **ROLE}


def cluster_kind(kind: str) -> Object:
    made = custom_kind(GROUP, kind)
    made["spec"]["scope"] = "Cluster"
    return made


def list_kind(kind: str) -> Object:
    """A kind with a field ``items`` beside ``spec``, as the lists of the API itself have."""
    made = custom_kind(GROUP, kind)
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["items"] = {"type": "array", "items": {"type": "string"}}
    return made


def pod(name: str, mode: str) -> str:
    """Text, as the mode is a matter of how it is written."""
    return f"""\
---
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  annotations: {{example.com/mode: "0644"}}
spec:
  containers: [{{name: main, image: none}}]
  volumes:
  - name: one
    projected:
      defaultMode: {mode}
      sources: [{{downwardAPI: {{items: [{{path: name, fieldRef: {{fieldPath: metadata.name}}}}]}}}}]
"""


@dataclass(frozen=True)
class Story:
    """A preview, the first sync, a second one, and one after everything of ``b07`` and ``b08`` has left the source."""

    preview: Observed
    first: Observed
    second: Observed
    removed: Observed
    helm: dict[str, Any] = field(default_factory=dict)


def described(repository: Repository) -> None:
    made = {"createNamespace": True}
    # B04
    for name, hooks, fields in (
        ("b04-tests", TESTS, {}),
        ("b04-held", {**TESTS, "t3": "post-install, test"}, {}),
        ("b04-skipped", {**TESTS, "t3": "post-install, test"}, {"skipHooks": True}),
        ("b04-unknown", {"t4": "after-lunch"}, {}),
    ):
        repository.define(name, **made, git={"path": "b04"}, values={"hooks": hooks}, **fields)
    unknown_hook = config_map("t4", annotations={"helm.sh/hook": "after-lunch"})
    repository.addon("b04-plain", unknown_hook, config_map("sound"), **made)
    write_chart(
        repository.path, "b04", "1.0.0", {"templates/tests/a.yaml": HOOKED, "templates/tests/data.yaml": TEST_DATA}
    )
    # B05
    for name, content in (("differing", DIFFERING), ("equal", EQUAL)):
        repository.define(f"b05-plain-{name}", **made)
        repository.write(f"b05-plain-{name}/a.yaml", content)
        repository.define(f"b05-kustomize-{name}", **made)
        repository.write(f"b05-kustomize-{name}/kustomization.yaml", "resources: [a.yaml]\n")
        repository.write(f"b05-kustomize-{name}/a.yaml", content)
    repository.define("b05-helm", **made)
    write_chart(repository.path, "b05-helm", "1.0.0", {"templates/a.yaml": DIFFERING, "templates/b.yaml": EQUAL})
    repository.define("b05-values", **made, git={"path": "b05-helm", "valuesFiles": ["b05-values/values.yaml"]})
    repository.write("b05-values/values.yaml", "a: 1\nb: 2\na: 3\n")
    # B06
    repository.define("b06", **made)
    write_chart(repository.path, "b06", "1.0.0", {"templates/a.yaml": CAPABILITIES})
    budget = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "old"}}
    repository.addon("b06-unserved", budget, config_map("sound"), **made)
    # B07
    repository.define("b07", **made)
    write_chart(
        repository.path,
        "b07",
        "1.0.0",
        {
            "templates/a.yaml": json.dumps(service("unplaced")),
            "templates/b.yaml": json.dumps(cluster_role("b07-reader")),
            "templates/c.yaml": json.dumps(config_map("x", "b07-elsewhere")),
            "templates/stays.yaml": json.dumps(config_map("stays")),
        },
    )
    # B08
    kustomization = {"namespace": "b08", "resources": ["kinds.yaml", "goes.yaml", "stays.yaml"]}
    repository.define("b08", **made)
    repository.write("b08/kustomization.yaml", [kustomization])
    repository.write("b08/kinds.yaml", [cluster_kind("RenderedClusterThing")])
    thing = custom(GROUP, "RenderedClusterThing", "b08-thing", size=1)
    repository.write("b08/goes.yaml", [policy("b08-policy"), thing, cluster_role("b08-role")])
    repository.write("b08/stays.yaml", [config_map("stays")])
    unknown = {"namespace": "b08-unknown", "resources": ["unknown.yaml"]}
    repository.define("b08-unknown", **made)
    repository.write("b08-unknown/kustomization.yaml", [unknown])
    repository.write("b08-unknown/unknown.yaml", [custom("nobody.example.com", "RenderedNowhere", "lost")])
    # B11
    repository.addon("b11-kinds", list_kind("RenderedAllowList"), **made)
    objects = [
        custom(GROUP, "RenderedAllowList", "one", size=1),
        {"apiVersion": "v1", "kind": "List", "items": [config_map("p", "b11-t"), config_map("q", "b11-u")]},
        {
            "apiVersion": "v1",
            "kind": "ConfigMapList",
            "items": [{"metadata": {"name": "r"}, "data": {"key": "value"}}],
        },
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [config_map("s"), {"apiVersion": "v1", "kind": "List", "items": [config_map("t")]}],
        },
        namespace("b11-t"),
        namespace("b11-u"),
    ]
    repository.addon("b11-plain", *objects, **made, dependsOn=["b11-kinds"])
    with_items = {**custom(GROUP, "RenderedAllowList", "two", size=2), "items": []}
    repository.addon("b11-items", with_items, **made, dependsOn=["b11-kinds"])
    # B14
    repository.define("b14", **made)
    repository.write("b14/pods.yaml", pod("old-octal", "0644") + pod("new-octal", "0o644"))
    repository.define("b14-wrong", **made)
    repository.write("b14-wrong/pods.yaml", pod("no-octal", "0800"))
    # B16, B17
    repository.define("b16", **made)
    repository.write("b16/stream.yaml", STREAM)
    for path, text in ALMOST_EMPTY.items():
        repository.write(f"b17/{path}", text)
    repository.define("b17", **made)
    for name, text in (("braces", "{}"), ("text", "only words")):
        repository.define(f"b17-{name}", **made)
        repository.write(f"b17-{name}/a.yaml", f"{json.dumps(config_map('sound'))}\n---\n{text}\n")


def removed(repository: Repository) -> None:
    """All of two add-ons but a ConfigMap leaves its source."""
    for letter in "abc":
        repository.remove(f"b07/templates/{letter}.yaml")
    repository.write("b08/kustomization.yaml", [{"namespace": "b08", "resources": ["kinds.yaml", "stays.yaml"]}])
    repository.remove("b08/goes.yaml")


def in_other_namespace(cluster: Cluster, folder: Path) -> Path:
    """A kubeconfig whose context names a namespace that no definition knows."""
    made = folder / "kubeconfig"
    made.write_bytes(cluster.kubeconfig.read_bytes())
    made.chmod(0o600)
    Kubectl(cluster.programs["kubectl"], made).run("config", "set-context", "--current", "--namespace=b07-other")
    return made


@pytest.fixture(scope="module")
def story(
    new_scene: Callable[[str], Scene], kubectl: Kubectl, bootstrapped: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Story:
    scene = new_scene("rendering")
    described(scene.repository)
    scene.repository.commit()
    for name in ("b07-elsewhere", "b07-other", "b05-installed"):
        kubectl.create(namespace(name))
    options = {"kubeconfig": str(in_other_namespace(bootstrapped, tmp_path_factory.mktemp("kubeconfig")))}
    preview = scene.observe(check=True, diff=True, kinds=KINDS[:5], **options)
    first = scene.observe(kinds=KINDS, **options)
    second = scene.observe(kinds=KINDS, **options)
    removed(scene.repository)
    scene.repository.commit()
    gone = scene.observe(kinds=KINDS, **options)
    return Story(preview, first, second, gone, installed_by_helm(bootstrapped, kubectl, scene.repository.path))


def installed_by_helm(cluster: Cluster, kubectl: Kubectl, path: Path) -> dict[str, Any]:
    """What Helm itself makes of the chart of B05."""
    command: list[str | Path] = [
        cluster.programs["helm"],
        "install",
        "b05-helm",
        path / "b05-helm",
        "--kubeconfig",
        cluster.kubeconfig,
        "--namespace",
        "b05-installed",
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return kubectl.everything("configmaps")


def text_of(observed: Observed) -> str:
    """The output with its line breaks undone: Ansible wraps warnings."""
    return " ".join(observed.result.output.split())


def synced(observed: Observed, addon: str) -> None:
    assert observed.result.phases[addon] == "Synced", observed.result.why(addon)


def names_in(observed: Observed, addon: str) -> set[str]:
    return set(inventory(observed.records[addon]))


def test_b04_tests_of_a_chart_are_no_objects_and_their_data_is_one(story: Story) -> None:
    synced(story.first, "b04-tests")
    assert names_in(story.first, "b04-tests") == {"Namespace b04-tests", "ConfigMap b04-tests/testdata"}
    assert "ConfigMap b04-tests/testdata (create" in story.preview.result.output
    for name in ("t1", "t2"):
        assert f"Pod b04-tests/{name}" not in story.preview.result.output
        assert f"Pod b04-tests/{name}" not in story.first.objects


def test_b04_a_test_that_is_another_hook_too_is_that_hook(story: Story) -> None:
    assert story.first.result.phases["b04-held"] == "Blocked"
    assert "has Helm hooks (Pod b04-held/t3)" in story.first.result.why("b04-held")
    assert "ConfigMap b04-held/testdata" not in story.first.objects
    synced(story.first, "b04-skipped")
    assert names_in(story.first, "b04-skipped") == {"Namespace b04-skipped", "ConfigMap b04-skipped/testdata"}


def test_b04_an_unknown_hook_is_no_ordinary_object(story: Story) -> None:
    """Helm leaves it out of what it renders, as out of what it installs; in plain YAML it is named."""
    synced(story.first, "b04-unknown")
    assert names_in(story.first, "b04-unknown") == {"Namespace b04-unknown", "ConfigMap b04-unknown/testdata"}
    assert "unknown hook after-lunch" in text_of(story.preview)
    assert story.first.result.phases["b04-plain"] == "Blocked"
    assert "has Helm hooks (ConfigMap b04-plain/t4)" in story.first.result.why("b04-plain")
    assert "Namespace b04-plain" not in story.first.objects


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("plain", "/a.yaml:7: the key k stands twice"),
        ("kustomize", ": a file has the key k twice in one mapping, in line 7"),
    ],
)
def test_b05_a_key_with_two_values_is_an_error_with_its_line(story: Story, source: str, place: str) -> None:
    addon = f"b05-{source}-differing"
    for observed in (story.preview, story.first):
        assert observed.result.phases[addon] == "Error"
        assert f"{addon}{place}" in observed.result.why(addon)
    assert f"Namespace {addon}" not in story.first.objects


def test_b05_in_a_values_file_too(story: Story) -> None:
    assert story.first.result.phases["b05-values"] == "Error"
    assert "b05-values/values.yaml:3: the key a stands twice" in story.first.result.why("b05-values")
    assert "Namespace b05-values" not in story.first.objects


def test_b05_equal_values_under_a_key_are_judged_alike_in_both(story: Story) -> None:
    for source, place in (("plain", "/a.yaml:7: the key x"), ("kustomize", ": a file has the key x")):
        addon = f"b05-{source}-equal"
        assert story.first.result.phases[addon] == "Error"
        assert f"{addon}{place}" in story.first.result.why(addon)


def test_b05_a_chart_comes_out_as_helm_installs_it_and_says_which_key(story: Story) -> None:
    """Not refused as in the other sources: charts with such labels are about, and Helm installs them."""
    synced(story.first, "b05-helm")
    for name in ("differing", "equal"):
        mine, helms = story.first.objects[f"ConfigMap b05-helm/{name}"], story.helm[f"ConfigMap b05-installed/{name}"]
        assert mine["data"] == helms["data"]
        assert mine["metadata"]["labels"].get("x") == helms["metadata"]["labels"].get("x")
    assert "the key data.k stands twice, and its last value is taken" in text_of(story.preview)


def test_b06_a_chart_asks_the_real_cluster(story: Story) -> None:
    synced(story.first, "b06")
    assert names_in(story.first, "b06") == {
        "Namespace b06",
        "PodDisruptionBudget b06/chosen",
        "ConfigMap b06/asked-for-the-group",
    }
    assert story.first.objects["PodDisruptionBudget b06/chosen"]["apiVersion"] == "policy/v1"


def test_b06_an_object_in_an_unserved_version_is_reported_as_such(story: Story) -> None:
    why = story.preview.result.why("b06-unserved")
    assert "PodDisruptionBudget b06-unserved/old" in why
    assert "PodDisruptionBudget of policy/v1beta1 is not served by this cluster. It serves v1" in why
    assert "ConfigMap b06-unserved/sound (create" in story.preview.result.output
    assert "Namespace b06-unserved" not in story.first.objects


def test_b07_objects_land_in_the_namespace_of_the_definition(story: Story) -> None:
    expected = {
        "Namespace b07",
        "Service b07/unplaced",
        "ClusterRole b07-reader",
        "ConfigMap b07-elsewhere/x",
        "ConfigMap b07/stays",
    }
    assert names_in(story.first, "b07") == expected
    assert expected <= set(story.first.objects)
    for title in expected:
        assert f"{title} (create" in story.preview.result.output
    assert story.second.result.counts("b07") == {"unchanged": len(expected)}


def test_b07_objects_are_pruned_where_they_are(story: Story) -> None:
    assert story.removed.result.counts("b07")["pruned"] == 3
    for title in ("Service b07/unplaced", "ClusterRole b07-reader", "ConfigMap b07-elsewhere/x"):
        assert title not in story.removed.objects
    assert "ConfigMap b07/stays" in story.removed.objects


def test_b07_the_namespace_of_the_context_is_never_used(story: Story) -> None:
    for observed in (story.first, story.second, story.removed):
        used = [each for each in observed.objects if " b07-other/" in each]
        assert used == ["ConfigMap b07-other/kube-root-ca.crt"]
    assert not [request for request in story.first.requests if request.namespace == "b07-other"]


def test_b08_a_namespace_stamped_on_a_kind_without_is_dropped(story: Story) -> None:
    expected = {
        "Namespace b08",
        "ValidatingAdmissionPolicy b08-policy",
        f"CustomResourceDefinition renderedclusterthings.{GROUP}",
        "RenderedClusterThing b08-thing",
        "ClusterRole b08-role",
        "ConfigMap b08/stays",
    }
    assert names_in(story.first, "b08") == expected
    assert expected <= set(story.first.objects)
    # kustomize 5.8 knows by itself that the policy has none; 5.5 stamped it, too.
    assert "RenderedClusterThing b08-thing has no namespace, the one given is ignored" in text_of(story.preview)
    assert story.second.result.counts("b08") == {"unchanged": len(expected)}


def test_b08_such_objects_are_pruned(story: Story) -> None:
    assert story.removed.result.counts("b08")["pruned"] == 3
    for title in ("ValidatingAdmissionPolicy b08-policy", "RenderedClusterThing b08-thing", "ClusterRole b08-role"):
        assert title not in story.removed.objects


def test_b08_an_unknown_scope_is_reported_and_not_guessed(story: Story) -> None:
    for observed in (story.preview, story.first):
        why = observed.result.why("b08-unknown")
        assert "RenderedNowhere of nobody.example.com/v1 is not served by this cluster" in why
    assert "Namespace b08-unknown" not in story.first.objects


def test_b11_lists_are_their_items_and_kinds_that_end_in_list_are_objects(story: Story) -> None:
    synced(story.first, "b11-plain")
    expected = {
        "Namespace b11-plain",
        "Namespace b11-t",
        "Namespace b11-u",
        "RenderedAllowList b11-plain/one",
        "ConfigMap b11-t/p",
        "ConfigMap b11-u/q",
        "ConfigMap b11-plain/r",
        "ConfigMap b11-plain/s",
        "ConfigMap b11-plain/t",
    }
    assert names_in(story.first, "b11-plain") == expected
    assert expected <= set(story.first.objects)
    assert story.preview.result.counts("b11-plain") == {"created": len(expected)}
    assert story.second.result.counts("b11-plain") == {"unchanged": len(expected)}


def test_b11_an_object_with_items_of_its_own_is_not_lost(story: Story) -> None:
    """The API server reads an object with ``items`` as a list, whatever its kind, and refuses it: so it is named."""
    assert story.preview.result.counts("b11-items") == {"created": 2}
    assert story.first.result.phases["b11-items"] == "Error"
    assert "RenderedAllowList b11-items/two" in story.first.result.why("b11-items")


def test_b14_an_octal_mode_is_what_kubectl_reads(story: Story) -> None:
    for name in ("old-octal", "new-octal"):
        found = story.first.objects[f"Pod b14/{name}"]
        assert found["spec"]["volumes"][0]["projected"]["defaultMode"] == 0o644
        assert found["metadata"]["annotations"]["example.com/mode"] == "0644"
    assert story.second.result.counts("b14") == {"unchanged": 3}
    assert "defaultMode: 420" in story.preview.result.output


def test_b14_what_is_no_octal_number_is_an_error_of_the_field(story: Story) -> None:
    assert story.first.result.phases["b14-wrong"] == "Error"
    why = story.first.result.why("b14-wrong")
    assert "Pod b14-wrong/no-octal" in why
    assert "defaultMode" in why
    assert "Pod b14-wrong/no-octal" not in story.first.objects


def test_b16_a_stream_is_cut_where_documents_end(story: Story) -> None:
    data = {
        title.removeprefix("ConfigMap b16/"): found["data"]["text"]
        for title, found in story.first.objects.items()
        if title.startswith("ConfigMap b16/") and "text" in found["data"]
    }
    assert data == {"first": "---\n-----BEGIN X-----\n# ---\nend\n", "second": "a --- b", "third": "c"}


def test_b17_documents_that_hold_nothing_are_left_out(story: Story) -> None:
    synced(story.first, "b17")
    assert names_in(story.first, "b17") == {"Namespace b17", "ConfigMap b17/a", "ConfigMap b17/b"}


@pytest.mark.parametrize("name", ["braces", "text"])
def test_b17_what_is_no_object_is_an_error_with_its_place(story: Story, name: str) -> None:
    for observed in (story.preview, story.first):
        assert observed.result.phases[f"b17-{name}"] == "Error"
        assert f"b17-{name}/a.yaml, document 2" in observed.result.why(f"b17-{name}")
    assert f"ConfigMap b17-{name}/sound" not in story.first.objects


def test_nothing_is_written_twice(story: Story) -> None:
    """Neither a preview nor a sync of the same commit changes anything, whatever is wrong with other add-ons."""
    assert not story.preview.requests.writes
    assert not story.second.requests.writes.on_objects
