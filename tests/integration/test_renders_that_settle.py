"""Charts that make something up: after the first sync nothing of it moves any more, and everything else still does."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.kubectl import Kubectl
from tests.integration.objects import custom, custom_kind
from tests.integration.objects import namespace as namespace_object
from tests.integration.objects import secret as secret_object
from tests.integration.scene import Observed, Scene

pytestmark = pytest.mark.long

NAMESPACE = "settles"
GROUP = "settles.example.com"
READER = "system:serviceaccount:rendimiento-system:reads-no-secrets"
WITHOUT = "rendered without the objects that its lookups would find in the cluster"

# As Harbor does it: a CA of its own, a salted hash, a password, and Deployments that restart for any of them.
REGISTRY_SECRETS = """
{{- $ca := genCA "registry-ca" 365 }}
{{- $certificate := genSignedCert "registry" nil (list "registry.local") 365 $ca }}
apiVersion: v1
kind: Secret
metadata: {name: registry-tls}
type: kubernetes.io/tls
data:
  tls.crt: {{ $certificate.Cert | b64enc }}
  tls.key: {{ $certificate.Key | b64enc }}
  ca.crt: {{ $ca.Cert | b64enc }}
---
apiVersion: v1
kind: Secret
metadata: {name: registry}
stringData:
  password: {{ randAlphaNum 24 | quote }}
  htpasswd: {{ htpasswd "registry" "swordfish" | quote }}
  config.yaml: |
    level: {{ .Values.level }}
    password: {{ randAlphaNum 24 }}
    port: 5000
"""
REGISTRY_DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata:
      labels: {app: NAME}
      annotations:
        checksum/secrets: {{ include (print $.Template.BasePath "/secrets.yaml") . | sha256sum }}
    spec:
      containers:
        - {name: main, image: none, env: [{name: LEVEL, value: {{ .Values.level }}}]}
"""
REGISTRY = {
    "templates/secrets.yaml": REGISTRY_SECRETS,
    **{
        f"templates/{name}.yaml": REGISTRY_DEPLOYMENT.replace("NAME", name)
        for name in ("registry", "core", "jobservice")
    },
    "values.yaml": "level: info\n",
}
# As Grafana does it: the first checksum is over another password than the one that stays.
DASHBOARD = {
    "templates/secrets.yaml": """
{{- $known := lookup "v1" "Secret" .Release.Namespace "dashboard" }}
apiVersion: v1
kind: Secret
metadata: {name: dashboard}
data:
  password: {{ if $known }}{{ $known.data.password }}{{ else }}{{ randAlphaNum 24 | b64enc }}{{ end }}
""",
    "templates/dashboard.yaml": REGISTRY_DEPLOYMENT.replace("NAME", "dashboard"),
    "values.yaml": "level: info\n",
}
FOUND = """
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {found: "{{ lookup "v1" "Secret" "settles" "given" | len }}"}
"""
# As many charts do it with ServiceMonitors.
GUARDED = """
{{- if lookup "v1" "Secret" "settles" "given" }}
apiVersion: v1
kind: ConfigMap
metadata: {name: guarded}
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: always}
"""


@dataclass(frozen=True)
class Story:
    """Synced; previewed and synced again by a machine with an empty cache; then a value changes; then once more.

    ``limited`` is by an account that reads no Secrets. So is the second of ``guarded``, unlike the others;
    before the last, what the chart looks for is deleted.
    """

    first: Observed
    preview: Observed
    second: Observed
    third: Observed
    changed: Observed
    limited: Observed
    guarded: list[Observed]


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> Story:
    scene = new_scene("settles")
    caches = iter(range(10))

    def observe(**options: Any) -> Observed:
        return scene.observe(cache_dir=f"{scene.cache}-{next(caches)}", **options)

    kubectl.create(namespace_object(NAMESPACE), secret_object("given", NAMESPACE, {"a": "1"}))
    _chart(scene, "settled-registry", REGISTRY)
    _chart(scene, "settled-dashboard", DASHBOARD)
    kinds = {
        "crds/things.yaml": [custom_kind(GROUP, "Settled")],
        "templates/thing.yaml": [custom(GROUP, "Settled", "thing", size=1)],
        "templates/found.yaml": FOUND.replace("NAME", "brings-kinds"),
    }
    _chart(scene, "brings-kinds", kinds)
    scene.repository.commit()
    first = observe()
    preview = observe(check=True, diff=True)
    second, third = observe(), observe()
    for name in ("settled-registry", "settled-dashboard"):
        scene.repository.define(name, namespace=NAMESPACE, git={"path": f"charts/{name}"}, values={"level": "debug"})
    scene.repository.commit("louder")
    changed = observe()

    _account(kubectl)
    other = new_scene("settles-limited")
    _chart(other, "limited", {"templates/found.yaml": FOUND.replace("NAME", "limited")})
    other.repository.commit()
    limited = other.observe(impersonate=READER)
    pruning = new_scene("settles-guarded")
    _chart(pruning, "guarded", {"templates/a.yaml": GUARDED}, prune=True)
    pruning.repository.commit()
    guarded = [pruning.observe(), pruning.observe(impersonate=READER), pruning.observe()]
    kubectl.run("delete", "secret", "given", "--namespace", NAMESPACE)
    guarded.append(pruning.observe())
    return Story(first, preview, second, third, changed, limited, guarded)


def _chart(scene: Scene, name: str, files: Mapping[str, Any], **definition: Any) -> None:
    scene.repository.define(name, namespace=NAMESPACE, git={"path": f"charts/{name}"}, **definition)
    scene.repository.write(f"charts/{name}/Chart.yaml", f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
    for path, content in files.items():
        scene.repository.write(f"charts/{name}/{path}", content)


def _account(kubectl: Kubectl) -> None:
    """It may do everything with ConfigMaps and read no Secret."""
    service_account = {"name": "reads-no-secrets", "namespace": "rendimiento-system"}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reads-no-secrets"}
    kubectl.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": service_account},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "reads-no-secrets"},
            "rules": rules,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "reads-no-secrets"},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", **service_account}],
        },
    )


def data(run: Observed, name: str) -> dict[str, str]:
    encoded: dict[str, str] = run.objects[f"Secret {NAMESPACE}/{name}"]["data"]
    return {key: base64.b64decode(value).decode() for key, value in encoded.items()}


def checksums(run: Observed) -> dict[str, str]:
    return {
        name: run.objects[f"Deployment {NAMESPACE}/{name}"]["spec"]["template"]["metadata"]["annotations"][
            "checksum/secrets"
        ]
        for name in ("registry", "core", "jobservice")
    }


def generations(run: Observed) -> dict[str, int]:
    return {
        name: run.objects[f"Deployment {NAMESPACE}/{name}"]["metadata"]["generation"]
        for name in ("registry", "core", "jobservice")
    }


def test_everything_is_synced(story: Story) -> None:
    expected = dict.fromkeys(("settled-registry", "settled-dashboard", "brings-kinds"), "Synced")
    for run in (story.first, story.second, story.third, story.changed):
        assert run.result.succeeded().phases == expected


def test_trap_02_what_a_chart_makes_up_is_named(story: Story) -> None:
    named = (
        "Secret registry-tls",
        "Secret registry",
        "Deployment core",
        "Deployment jobservice",
        "Deployment registry",
    )
    titles = ", ".join(name.replace(" ", f" {NAMESPACE}/") for name in named)
    assert (
        f"add-on settled-registry: made up by the chart and kept as they are in the cluster: {titles} "
        in f"{' '.join(story.first.result.output.split())} "
    )


def test_trap_02_a_second_preview_shows_no_change(story: Story) -> None:
    counts = story.preview.result.counts("settled-registry")
    assert set(counts) == {"unchanged"}, story.preview.result.output
    assert not story.preview.requests.writes


def test_trap_02_a_second_sync_writes_nothing_and_restarts_nothing(story: Story) -> None:
    """Each run renders anew, and comes to another password, certificate, hash and checksum."""
    for run in (story.second, story.third):
        assert generations(run) == generations(story.first)
        assert checksums(run) == checksums(story.first)
        for name in ("registry", "registry-tls"):
            assert data(run, name) == data(story.first, name)
        assert run.records["settled-registry"] == story.first.records["settled-registry"]
        written = {request.name for request in run.requests.writes}
        assert not written & {"registry", "registry-tls", "core", "jobservice", "addon-settled-registry"}


def test_trap_02_a_change_is_applied_and_rotates_nothing(story: Story) -> None:
    before, after = data(story.first, "registry"), data(story.changed, "registry")
    assert after["config.yaml"] == before["config.yaml"].replace("level: info", "level: debug")
    assert {**after, "config.yaml": ""} == {**before, "config.yaml": ""}
    assert data(story.changed, "registry-tls") == data(story.first, "registry-tls")
    assert checksums(story.changed) == checksums(story.first)
    container = story.changed.objects[f"Deployment {NAMESPACE}/core"]["spec"]["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "LEVEL", "value": "debug"}]


def test_trap_01_a_chart_with_lookup_finds_its_password_again(story: Story) -> None:
    for run in (story.second, story.third, story.changed):
        assert data(run, "dashboard") == data(story.first, "dashboard")
    assert "add-on settled-dashboard: made up by the chart" in story.first.result.output
    assert "add-on settled-dashboard: made up by the chart" not in story.second.result.output


def test_trap_03_the_first_render_with_lookup_may_differ_and_the_next_does_not(story: Story) -> None:
    generation = [
        run.objects[f"Deployment {NAMESPACE}/dashboard"]["metadata"]["generation"]
        for run in (story.first, story.second, story.third)
    ]
    assert generation == [1, 2, 2]
    assert not story.third.requests.writes, story.third.requests.writes
    assert story.third.records == story.second.records


def test_trap_04_objects_that_live_are_in_the_way_of_no_render(story: Story) -> None:
    for run in (story.second, story.third):
        assert WITHOUT not in " ".join(run.result.output.split())


def test_trap_05_a_chart_whose_kinds_are_missing_is_rendered_without_lookup(story: Story) -> None:
    output = " ".join(story.first.result.output.split())
    assert f"{WITHOUT}: it does not serve Settled of {GROUP}/v1" in output
    found = [run.objects[f"ConfigMap {NAMESPACE}/brings-kinds"]["data"]["found"] for run in (story.first, story.second)]
    assert found[0] == "0"
    assert int(found[1]) > 0


def test_lookups_are_made_as_the_acting_account(story: Story) -> None:
    """It may read no Secret, so nor may a chart."""
    assert story.limited.result.succeeded().phases == {"limited": "Synced"}
    output = " ".join(story.limited.result.output.split())
    assert f'{WITHOUT}: secrets "given" is forbidden: User "{READER}" cannot get resource "secrets"' in output
    assert story.limited.objects[f"ConfigMap {NAMESPACE}/limited"]["data"] == {"found": "0"}
    asked = [request for request in story.limited.requests.of("secrets", "given") if request.user != "admin"]
    assert {(request.user, request.code) for request in asked} == {(READER, 403)}


def test_what_a_render_without_the_cluster_lacks_is_not_pruned(story: Story) -> None:
    before, limited, after, without = story.guarded
    for run in story.guarded:
        assert run.result.succeeded().phases == {"guarded": "Synced"}
    there = [f"ConfigMap {NAMESPACE}/guarded" in run.objects for run in story.guarded]
    assert there == [True, True, True, False]
    assert f"may be in the source all the same: {WITHOUT}" in " ".join(limited.result.output.split())
    uids = {run.objects[f"ConfigMap {NAMESPACE}/guarded"]["metadata"]["uid"] for run in (before, limited, after)}
    assert len(uids) == 1
    names = [entry["name"] for entry in limited.status("guarded")["objects"]]
    assert sorted(names) == ["always", "guarded"]
    assert [entry["name"] for entry in without.status("guarded")["objects"]] == ["always"]
