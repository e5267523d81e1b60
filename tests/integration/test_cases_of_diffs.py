"""Differences that other tools showed wrongly, for ever, or with secrets in them; each test is one report or one trap.

The traps are about sources that are never literally what the server stores. What counts is the server's own word on
the next apply, so none of them may show a difference, or cause a write, once the add-on is synced.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.chart_repository import write_chart
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, Object, title, wait_until
from tests.integration.objects import custom, custom_kind, deployment
from tests.integration.scene import Observed, Scene

GROUP = "diffs.example.com"
DEFINITION = "CustomResourceDefinition"

ONE, TWO, THREE, FOUR = "b21-first-value", "b21-second-value", "b21-third-value", "b21-fourth-value"
LISTED, CHANGED_LISTED = "b21-listed-value", "b21-other-listed-value"

NAIVE = ("trap-chart", "trap-plain")
CLUSTER_WIDE = "trap-cluster"
FILLED = "swordfish-of-a-controller"
FILLED_SECRETS = ("empty", "null-data", "no-data")

BLOCK = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: manifest\ndata:\n  text: |\n    one\n    two\n  word: x\n"


# Sources


def secret_with_text(name: str, **values: str) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}


def dropped_fields(name: str) -> Object:
    """Trap 33: null, zero, false and empty values, which the server drops or fills with a default."""
    made = deployment(name)
    made["metadata"]["annotations"] = {}
    made["spec"] |= {"replicas": None, "paused": False, "minReadySeconds": 0, "strategy": {}}
    made["spec"]["template"]["metadata"]["annotations"] = None
    made["spec"]["template"]["spec"] |= {
        "hostNetwork": False,
        "hostPID": False,
        "nodeSelector": {},
        "tolerations": [],
        "affinity": {},
        "volumes": None,
        "initContainers": [],
        "imagePullSecrets": None,
        "securityContext": {},
        "serviceAccountName": "",
        "priorityClassName": "",
    }
    made["spec"]["template"]["spec"]["containers"][0] |= {
        "resources": None,
        "env": [{"name": "EMPTY", "value": ""}, {"name": "SET", "value": "1"}],
        "envFrom": [],
        "args": None,
        "volumeMounts": [],
        "securityContext": {},
        "livenessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 0},
        "readinessProbe": None,
    }
    return made


def quantities(name: str) -> Object:
    """Trap 34: amounts that the server writes in its own way."""
    made = deployment(name)
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "1000m", "memory": "1024Mi"},
        "limits": {"cpu": 1, "memory": "2048Mi", "ephemeral-storage": 1000000000},
    }
    return made


def quota(name: str) -> Object:
    hard = {"pods": 1000, "count/configmaps": "1000", "requests.storage": "1024Gi"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}


def scaler(name: str) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9}
    api_version = "autoscaling/v2"
    return {"apiVersion": api_version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": name}, "spec": spec}


def unreplicated(name: str) -> Object:
    made = deployment(name)
    del made["spec"]["replicas"]
    return made


def two_protocols(name: str) -> Object:
    """Trap 37, in a Service; ``in_container`` is the same of a container."""
    ports = [
        {"name": "dns-tcp", "port": 53, "targetPort": 53, "protocol": "TCP"},
        {"name": "dns-udp", "port": 53, "targetPort": 53, "protocol": "UDP"},
        {"name": "web", "port": 80},
    ]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports}}


def in_container(name: str) -> Object:
    made = deployment(name)
    made["spec"]["template"]["spec"]["containers"][0]["ports"] = [
        {"name": "dns-tcp", "containerPort": 53},
        {"name": "dns-udp", "containerPort": 53, "protocol": "UDP"},
    ]
    return made


def in_namespace(**labels: str) -> list[Object]:
    """:param labels: of the Secret that is filled in at run time."""
    empty: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "empty", "labels": labels}}
    return [
        dropped_fields("dropped"),
        quantities("quantities"),
        quota("quota"),
        secret_with_text("text", user="swordfish"),
        empty,
        {**empty, "metadata": {"name": "null-data"}, "type": "Opaque", "data": None},
        {**empty, "metadata": {"name": "no-data"}, "type": "Opaque", "data": {}, "stringData": {}},
        unreplicated("scaled"),
        scaler("scaled"),
        two_protocols("protocols"),
        in_container("protocols"),
    ]


def cluster_wide() -> list[Object]:
    """Trap 34, what generators write into definitions, and 36, rules that a controller fills in."""
    definition = custom_kind(GROUP, "DiffedGenerated")
    definition["metadata"]["creationTimestamp"] = None
    names = {"kind": "", "plural": ""}
    definition["status"] = {"acceptedNames": names, "conditions": [], "storedVersions": []}
    aggregated = {"clusterRoleSelectors": [{"matchLabels": {"diffs.example.com/aggregate": "true"}}]}
    api_version, kind = "rbac.authorization.k8s.io/v1", "ClusterRole"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    part = {"name": "diffs-part", "labels": {"diffs.example.com/aggregate": "true"}}
    common = {"apiVersion": api_version, "kind": kind}
    return [
        definition,
        {**common, "metadata": part, "rules": rules},
        {**common, "metadata": {"name": "diffs-without-rules"}, "aggregationRule": aggregated},
        {**common, "metadata": {"name": "diffs-empty-rules"}, "aggregationRule": aggregated, "rules": []},
    ]


def described(repository: Repository) -> None:
    # B21
    objects = [
        secret_with_text("s", a=ONE, b=THREE, c=FOUR),
        {"apiVersion": "v1", "kind": "List", "items": [secret_with_text("listed", d=CHANGED_LISTED)]},
    ]
    repository.addon("b21", *objects, adopt=True, allowAdoptChanges=True)
    # B23
    repository.write("b23/1-instance.yaml", [custom(GROUP, "DiffedWidget", "w", size=1)])
    repository.write("b23/2-definition.yaml", [custom_kind(GROUP, "DiffedWidget")])
    repository.define("b23", createNamespace=True)
    wrong = [custom(GROUP, "DiffedGadget", "w", size="large"), custom_kind(GROUP, "DiffedGadget")]
    repository.addon("b23-wrong", *wrong, createNamespace=True)
    repository.addon("b23-unknown", custom(GROUP, "DiffedNothing", "w"), createNamespace=True)
    # B25
    repository.write("b25/manifest.yaml", BLOCK)
    repository.write("b25/kustomization.yaml", [GENERATOR])
    for name in ("windows", "unix"):
        repository.write(f"b25/{name}.txt", "one\ntwo\n")
    repository.define("b25", createNamespace=True)
    # Traps 33 to 37
    repository.addon("trap-plain", *in_namespace(), createNamespace=True, wait=30)
    templates = {f"templates/{number}.yaml": json.dumps(each) for number, each in enumerate(in_namespace())}
    write_chart(repository.path, "trap-chart", "1.0.0", templates)
    repository.define("trap-chart", createNamespace=True, wait=30)
    repository.addon(CLUSTER_WIDE, *cluster_wide())


GENERATOR: Object = {
    "resources": ["manifest.yaml"],
    "configMapGenerator": [{"name": "generated", "files": ["windows.txt", "unix.txt"]}],
    "generatorOptions": {"disableNameSuffixHash": True},
}


# Story


@dataclass(frozen=True)
class Story:
    """A preview and a sync; then, after what happens at run time and with CRLF in two files, both again; then a label.

    ``files`` are what the first preview left for a reviewer and for a program, ``second_plan`` that of the second one.
    """

    preview: Observed
    files: str
    first: Observed
    second_preview: Observed
    second_plan: dict[str, Any]
    second: Observed
    labelled: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Story:
    scene, folder = new_scene("diffs"), tmp_path_factory.mktemp("diffs")
    repository = scene.repository
    described(repository)
    repository.commit()
    # Only a checkout would turn line breaks into those of Windows.
    repository.git("config", "core.autocrlf", "true")
    applied_by_kubectl(kubectl)
    written = {"preview_file": str(folder / "preview.md"), "plan_file": str(folder / "plan.json")}
    kinds = ("clusterroles", "resourcequotas", "services", "horizontalpodautoscalers")
    preview = scene.observe(check=True, diff=True, verbosity=3, **written)
    files = "".join(Path(file).read_text() for file in written.values())
    first = scene.observe(diff=True, verbosity=3, kinds=(*kinds, f"diffedwidgets.{GROUP}"))

    at_run_time(kubectl)
    repository.git("config", "core.autocrlf", "false")
    repository.write("b25/manifest.yaml", BLOCK.replace("\n", "\r\n"))
    repository.write("b25/windows.txt", "one\r\ntwo\r\n")
    repository.commit()
    second_preview = scene.observe(check=True, diff=True, plan_file=written["plan_file"])
    second_plan = json.loads(Path(written["plan_file"]).read_text())
    second = scene.observe(kinds=kinds)

    repository.addon("trap-plain", *in_namespace(new="label"), createNamespace=True)
    repository.commit()
    labelled = scene.observe()
    return Story(preview, files, first, second_preview, second_plan, second, labelled)


def applied_by_kubectl(kubectl: Kubectl) -> None:
    """The Secrets of B21 as they were before: their annotation holds a copy of all that they contain."""
    kubectl.run("create", "namespace", "b21")
    for name, values in (("s", {"a": ONE, "b": TWO}), ("listed", {"d": LISTED})):
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": encoded}
        kubectl.run("--namespace=b21", "apply", "-f", "-", text=json.dumps(manifest))


def at_run_time(kubectl: Kubectl) -> None:
    """What controllers do to the objects of the traps: fill a Secret, scale a Deployment, aggregate rules."""
    patch = json.dumps({"data": {"filled": base64.b64encode(FILLED.encode()).decode()}})
    for namespace in NAIVE:
        for name in FILLED_SECRETS:
            kubectl.run(
                f"--namespace={namespace}", "patch", "secret", name, "-p", patch, "--field-manager=certificates"
            )
        kubectl.run(f"--namespace={namespace}", "scale", "deployment", "scaled", "--replicas=4")
    wait_until(lambda: kubectl.get("clusterrole", "diffs-without-rules").get("rules"), "the rules are aggregated")


# B21


def traces(text: str) -> Iterator[str]:
    for value in (ONE, TWO, THREE, FOUR, LISTED, CHANGED_LISTED):
        for form in (value, base64.b64encode(value.encode()).decode()):
            if form in text:
                yield f"{form} in …{text[max(0, text.index(form) - 200) : text.index(form) + 100]}…"


def test_b21_no_value_of_a_secret_is_seen_anywhere(story: Story) -> None:
    for observed in (story.preview, story.first):
        seen = observed.result.output + json.dumps(observed.result.summary) + json.dumps(observed.records)
        assert not list(traces(seen))
    assert not list(traces(story.files))


def changed_keys(observed: Observed, name: str) -> dict[str, set[str]]:
    """Keys of the removed and of the added lines of an object's diff; placeholders included."""
    diff = observed.result.output.split(f"+++ after: {name} (")[1].split("\n\n")[0].splitlines()
    return {sign: {line[1:].strip() for line in diff if line.startswith(sign)} for sign in "-+"}


def test_b21_which_keys_differ_is_seen(story: Story) -> None:
    lines = changed_keys(story.preview, "Secret b21/s")
    names = {sign: {line.partition(":")[0] for line in found} for sign, found in lines.items()}
    assert {"b"} <= names["-"]
    assert {"b", "c"} <= names["+"]
    assert "a" not in names["-"] | names["+"]
    assert {line for line in lines["-"] if line.startswith("b:")} != {
        line for line in lines["+"] if line.startswith("b:")
    }


def test_b21_a_secret_within_a_list_is_one(story: Story) -> None:
    lines = changed_keys(story.preview, "Secret b21/listed")
    assert "d" in {line.partition(":")[0] for line in lines["+"]}


def test_b21_the_values_arrive_and_the_copy_goes(story: Story) -> None:
    found = story.first.objects["Secret b21/s"]
    assert {key: base64.b64decode(value).decode() for key, value in found["data"].items()} == {
        "a": ONE,
        "b": THREE,
        "c": FOUR,
    }
    assert "kubectl.kubernetes.io/last-applied-configuration" not in (found["metadata"].get("annotations") or {})


# B23


def test_b23_an_instance_before_its_definition_is_planned(story: Story) -> None:
    assert story.preview.result.counts("b23") == {"created": 3}
    assert "DiffedWidget b23/w (create, simulated)" in story.preview.result.output
    assert f"DiffedWidget of {GROUP}/v1 comes with this run" in story.files


def test_b23_it_is_applied_after_it_and_then_nothing_changes(story: Story) -> None:
    assert story.first.result.phases["b23"] == "Synced"
    assert story.first.objects["DiffedWidget b23/w"]["spec"] == {"size": 1}
    assert story.second.result.counts("b23") == {"unchanged": 3}


def test_b23_it_is_checked_against_the_schema_that_comes_with_it(story: Story) -> None:
    assert story.preview.result.phases["b23-wrong"] == "Error"
    why = story.preview.result.why("b23-wrong")
    assert "DiffedGadget b23-wrong/w" in why
    assert "spec.size" in why
    assert "Namespace b23-wrong" not in story.first.objects
    assert f"{DEFINITION} diffedgadgets.{GROUP}" not in story.first.objects


def test_b23_a_kind_that_nothing_brings_stays_an_error(story: Story) -> None:
    for observed in (story.preview, story.first):
        assert observed.result.phases["b23-unknown"] == "Error"
        assert f"DiffedNothing of {GROUP}/v1 is not served by this cluster" in observed.result.why("b23-unknown")


# B25


def test_b25_line_breaks_of_windows_in_yaml_are_no_difference(story: Story) -> None:
    assert "ConfigMap b25/manifest" not in story.second_preview.result.output
    assert story.second_preview.result.counts("b25") == {"updated": 1, "unchanged": 2}


def test_b25_those_in_a_file_of_a_generator_are_and_are_seen(story: Story) -> None:
    diff = story.second_preview.result.output.split("+++ after: ConfigMap b25/generated ")[1].split("\n\n")[0]
    assert "+    one␍\n+    two␍" in diff
    assert "-    one\n-    two" in diff
    assert story.second.objects["ConfigMap b25/generated"]["data"]["windows.txt"] == "one\r\ntwo\r\n"


def test_b25_files_are_read_as_they_were_committed(story: Story) -> None:
    assert story.first.objects["ConfigMap b25/generated"]["data"] == {
        "windows.txt": "one\ntwo\n",
        "unix.txt": "one\ntwo\n",
    }


# Traps


@pytest.mark.parametrize("addon", [*NAIVE, CLUSTER_WIDE])
def test_traps_33_to_37_the_first_sync_is_complete(story: Story, addon: str) -> None:
    assert story.first.result.phases[addon] == "Synced", story.first.result.why(addon)


def planned(plan: dict[str, Any], addon: str) -> dict[str, Any]:
    """What a plan for programs says of an add-on's objects, by title."""
    return {
        title({"kind": item["object"]["kind"], "metadata": item["object"]}): item
        for item in plan["addons"][addon]["items"]
    }


def unchanged(story: Story, addon: str, *titles: str) -> None:
    """The second preview shows nothing of these, and nothing was written to them in the second sync."""
    items = planned(story.second_plan, addon)
    for each in titles:
        assert items[each]["action"] == "unchanged", items[each]
        before, after = story.first.objects[each]["metadata"], story.second.objects[each]["metadata"]
        assert (before["uid"], before.get("generation")) == (after["uid"], after.get("generation"))
        written = story.second.requests.writes.on_objects
        assert not [one for one in written if each.endswith(f"{one.namespace}/{one.name}".removeprefix("/"))], written


@pytest.mark.parametrize("addon", NAIVE)
def test_trap_33_what_the_server_drops_is_no_difference(story: Story, addon: str) -> None:
    unchanged(story, addon, f"Deployment {addon}/dropped")


@pytest.mark.parametrize("addon", NAIVE)
def test_trap_34_amounts_and_text_for_secrets_are_no_difference(story: Story, addon: str) -> None:
    unchanged(story, addon, f"Deployment {addon}/quantities", f"ResourceQuota {addon}/quota", f"Secret {addon}/text")
    hard = story.first.objects[f"ResourceQuota {addon}/quota"]["spec"]["hard"]
    assert hard["pods"] == "1k", "the server writes it in its own way"


def test_trap_34_what_generators_write_into_definitions_is_no_difference(story: Story) -> None:
    unchanged(story, CLUSTER_WIDE, f"{DEFINITION} diffedgenerateds.{GROUP}")


@pytest.mark.parametrize("addon", NAIVE)
def test_trap_35_what_fills_a_secret_at_run_time_stays(story: Story, addon: str) -> None:
    unchanged(story, addon, *(f"Secret {addon}/{name}" for name in FILLED_SECRETS))
    for observed in (story.second, story.labelled):
        for name in FILLED_SECRETS:
            data = observed.objects[f"Secret {addon}/{name}"]["data"]
            assert base64.b64decode(data["filled"]).decode() == FILLED


def test_trap_35_it_stays_when_the_secret_itself_changes(story: Story) -> None:
    assert story.labelled.result.counts("trap-plain")["updated"] == 1
    assert story.labelled.objects["Secret trap-plain/empty"]["metadata"]["labels"]["new"] == "label"
    assert (
        story.labelled.objects["Secret trap-plain/empty"]["data"]
        == story.second.objects["Secret trap-plain/empty"]["data"]
    )


@pytest.mark.parametrize("addon", NAIVE)
def test_trap_36_replicas_that_the_source_leaves_out_are_the_autoscalers(story: Story, addon: str) -> None:
    unchanged(story, addon, f"HorizontalPodAutoscaler {addon}/scaled")
    assert planned(story.second_plan, addon)[f"Deployment {addon}/scaled"]["action"] == "unchanged"
    for observed in (story.second, story.labelled):
        assert observed.objects[f"Deployment {addon}/scaled"]["spec"]["replicas"] == 4


def test_trap_36_aggregated_rules_are_the_controllers(story: Story) -> None:
    titles = [f"ClusterRole diffs-{name}-rules" for name in ("without", "empty")]
    unchanged(story, CLUSTER_WIDE, *titles)
    for each in titles:
        assert story.second.objects[each]["rules"] == story.second.objects["ClusterRole diffs-part"]["rules"]


@pytest.mark.parametrize("addon", NAIVE)
def test_trap_37_one_port_with_two_protocols_is_two_ports(story: Story, addon: str) -> None:
    unchanged(story, addon, f"Deployment {addon}/protocols", f"Service {addon}/protocols")
    ports: Any = story.first.objects[f"Deployment {addon}/protocols"]["spec"]["template"]["spec"]["containers"][0][
        "ports"
    ]
    assert [(port["containerPort"], port["protocol"]) for port in ports] == [(53, "TCP"), (53, "UDP")]


def test_the_second_sync_writes_nothing_but_what_was_committed(story: Story) -> None:
    assert [str(each.name) for each in story.second.requests.writes.on_objects] == ["generated"]
