"""Fields that others own: left alone where the definition or an autoscaler says so, taken with their names told."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.kubectl import Kubectl, Object
from tests.integration.objects import config_map, deployment
from tests.integration.scene import Observed, Scene

BUNDLE = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n" + b"x" * 200).decode()
WEBHOOKS = "validatingwebhookconfigurations"


def autoscaler(name: str, target: str) -> Object:
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
        "minReplicas": 4,
        "maxReplicas": 9,
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": spec,
    }


def webhooks() -> Object:
    """Two webhooks that never match anything, one with a placeholder of a certificate and one without."""
    common = {
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}],
    }
    service = {"name": "nobody", "namespace": "default"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "ownership-injected"},
        "webhooks": [
            {**common, "name": "a.example.com", "clientConfig": {"service": service, "caBundle": ""}},
            {**common, "name": "b.example.com", "clientConfig": {"service": service}},
        ],
    }


def unreplicated(name: str) -> Object:
    made = deployment(name)
    del made["spec"]["replicas"]
    return made


@dataclass(frozen=True)
class Story:
    """``review`` is the preview as Markdown."""

    preview: Observed
    review: str
    synced: Observed
    again: Observed
    unowned: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> Story:
    scene = new_scene("ownership")
    repository = scene.repository
    ignore = [
        {"kind": "ConfigMap", "name": "ignoring", "pointers": ["/data/ours", "/data/theirs"]},
        {"kind": "Deployment", "pointers": ["/spec/template/spec/containers/0/image"]},
    ]
    data = {"ours": "1", "theirs": "1", "kept": "1"}
    repository.addon(
        "ignoring",
        config_map("ignoring", data=data),
        deployment("ignoring", replicas=0, image="first"),
        ignore=ignore,
        createNamespace=True,
    )
    repository.addon(
        "scaled",
        deployment("scaled", replicas=3),
        unreplicated("unowned"),
        autoscaler("scaled", "scaled"),
        autoscaler("unowned", "unowned"),
        deployment("by-hand", replicas=1),
        createNamespace=True,
        wait=0,
    )
    repository.addon("injected", webhooks(), createNamespace=True)
    repository.addon(
        "beside",
        config_map("beside", data={"a": "1", "b": "1"}, labels={"app": "1"}),
        ignore=[{"kind": "ConfigMap", "pointers": ["/data", "/metadata/labels"]}],
        createNamespace=True,
    )
    repository.addon("contested", config_map("contested", data={"a": "1", "b": "1"}), createNamespace=True)
    repository.commit()
    scene.sync().succeeded()

    # By an update, which takes the field from us, and by an apply.
    own_value = '[{"op": "replace", "path": "/data/ours", "value": "2"}]'
    kubectl.run(
        "--namespace=ignoring", "patch", "configmap", "ignoring", "--type=json", "-p", own_value,
        "--field-manager=other",
    )  # fmt: skip
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ignoring"}, "data": {"theirs": "2"}}
    kubectl.run(
        "--namespace=ignoring", "apply", "--server-side", "--force-conflicts", "--field-manager=lambda", "-f", "-",
        text=json.dumps(theirs),
    )  # fmt: skip
    # A key of somebody else in a mapping that is ignored as a whole, and one that was ours.
    beside = {"data": {"foreign": "2", "b": "2"}, "metadata": {"labels": {"app": "2", "foreign": "2"}}}
    kubectl.run(
        "--namespace=beside", "patch", "configmap", "beside", "--type=merge", "-p", json.dumps(beside),
        "--field-manager=other",
    )  # fmt: skip
    kubectl.run("--namespace=ignoring", "set", "image", "deployment/ignoring", "main=second")
    for name in ("scaled", "unowned", "by-hand"):
        kubectl.run("--namespace=scaled", "scale", "deployment", name, "--replicas=5")
    patch = [{"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": BUNDLE} for number in (0, 1)]
    kubectl.run(
        "patch", WEBHOOKS, "ownership-injected", "--type=json", "-p", json.dumps(patch), "--field-manager=injector"
    )
    kubectl.run(
        "--namespace=contested", "apply", "--server-side", "--force-conflicts", "--field-manager=lambda", "-f", "-",
        text=json.dumps({**config_map("contested", data={"b": "2"})}),
    )  # fmt: skip

    file = scene.playbooks.scratch / "preview.md"
    preview = scene.observe(check=True, diff=True, preview_file=str(file))
    review = file.read_text()
    synced = scene.observe(diff=True, kinds=(WEBHOOKS,))
    again = scene.observe(check=True)
    # Now the source carries the replicas of a workload whose field nobody owns.
    repository.addon(
        "scaled", deployment("scaled", replicas=3), deployment("unowned", replicas=3),
        autoscaler("scaled", "scaled"), autoscaler("unowned", "unowned"), deployment("by-hand", replicas=1),
        createNamespace=True, wait=0,
    )  # fmt: skip
    repository.commit()
    return Story(preview, review, synced, again, scene.observe(diff=True))


def test_ignored_fields_stay_whoever_owns_them(story: Story) -> None:
    found = story.synced.objects["ConfigMap ignoring/ignoring"]["data"]
    assert found == {"ours": "2", "theirs": "2", "kept": "1"}
    image = story.synced.objects["Deployment ignoring/ignoring"]["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == "second"


def test_ignored_fields_are_not_shown_as_changes(story: Story) -> None:
    assert "+  ours" not in story.preview.result.output
    assert story.preview.result.counts("ignoring").get("updated") is None
    assert "leaves .data.theirs to lambda: ignored" in story.review
    assert "leaves .data.ours to other: ignored" in story.review


def test_what_is_ours_stays_in_a_mapping_that_is_ignored_as_a_whole(story: Story) -> None:
    live = story.synced.objects["ConfigMap beside/beside"]
    assert live["data"] == {"a": "1", "b": "2", "foreign": "2"}
    assert live["metadata"]["labels"] == {"app": "2", "foreign": "2", "rendimiento.ai/addon": "beside"}
    assert story.preview.result.counts("beside").get("updated") is None
    assert "leaves .data as it is: ignored" in story.review


def test_autoscaled_replicas_are_left_to_the_autoscaler(story: Story) -> None:
    for observed in (story.synced, story.unowned):
        assert observed.objects["Deployment scaled/scaled"]["spec"]["replicas"] == 5
        assert observed.objects["Deployment scaled/unowned"]["spec"]["replicas"] == 5


def test_what_a_person_scaled_is_drift(story: Story) -> None:
    assert story.synced.objects["Deployment scaled/by-hand"]["spec"]["replicas"] == 1


def test_b20_an_injected_bundle_stays_and_its_owner_is_named(story: Story) -> None:
    live = story.synced.objects["ValidatingWebhookConfiguration ownership-injected"]
    assert [one["clientConfig"]["caBundle"] for one in live["webhooks"]] == [BUNDLE, BUNDLE]
    assert "leaves .webhooks[0].clientConfig.caBundle to injector: filled in by a controller" in story.review
    assert "webhooks[1]" not in story.review
    assert story.preview.result.counts("injected").get("updated") is None


def test_fields_taken_from_another_manager_are_named(story: Story) -> None:
    assert "takes .data.b from lambda" in story.preview.result.output
    assert story.synced.objects["ConfigMap contested/contested"]["data"] == {"a": "1", "b": "1"}


def test_the_next_preview_is_empty(story: Story) -> None:
    assert not any(facts["pending"] for facts in story.again.result.succeeded().addons.values())


# Former tools


@dataclass(frozen=True)
class Adoption:
    preview: Observed
    synced: Observed
    again: Observed


@pytest.fixture(scope="module")
def adoption(new_scene: Callable[[str], Scene], kubectl: Kubectl) -> Adoption:
    scene = new_scene("absorption")
    repository = scene.repository
    marked = config_map(
        "marked",
        labels={"app.kubernetes.io/managed-by": "Helm"},
        annotations={"meta.helm.sh/release-name": "marked", "meta.helm.sh/release-namespace": "marked"},
    )
    kubectl.run("create", "namespace", "marked")
    kubectl.run("create", "namespace", "more")
    kubectl.run("--namespace=marked", "create", "-f", "-", "--field-manager=helm", text=json.dumps(marked))
    # As a run leaves it that was killed between the patch that makes fields ours and the apply.
    halfway = {**marked, "metadata": {**marked["metadata"], "name": "halfway"}}
    kubectl.run("--namespace=marked", "create", "-f", "-", "--field-manager=helm", text=json.dumps(halfway))
    [entry] = kubectl.get("configmap", "halfway", "marked")["metadata"]["managedFields"]
    ours = {**entry, "manager": "rendimiento-addons", "operation": "Apply"}
    patch = [{"op": "replace", "path": "/metadata/managedFields", "value": [ours]}]
    kubectl.run("--namespace=marked", "patch", "configmap", "halfway", "--type=json", "-p", json.dumps(patch))
    old = deployment("app", replicas=0)
    old["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "OLD", "value": "1"},
        {"name": "KEPT", "value": "1"},
    ]
    old["spec"]["revisionHistoryLimit"] = 3
    kubectl.run("--namespace=more", "apply", "-f", "-", text=json.dumps(old))
    kubectl.run("--namespace=more", "annotate", "deployment", "app", "seen=yes", "--field-manager=somebody")
    repository.addon("marked", config_map("marked"), config_map("halfway"), adopt=True)
    new = deployment("app", replicas=0)
    new["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "KEPT", "value": "1"}]
    repository.addon("more", new, adopt=True, allowAdoptChanges=True)
    repository.commit()
    return Adoption(scene.observe(check=True, diff=True), scene.observe(diff=True), scene.observe(check=True))


def test_marks_of_the_former_tool_go_and_are_shown(adoption: Adoption) -> None:
    assert "ConfigMap marked/marked (adopt, verified)" in adoption.preview.result.output
    assert "absorbs the fields of helm" in adoption.preview.result.output
    metadata = adoption.synced.objects["ConfigMap marked/marked"]["metadata"]
    assert "annotations" not in metadata
    assert metadata["labels"] == {"rendimiento.ai/addon": "marked"}
    assert adoption.synced.result.phases["marked"] == "Synced"


def test_a_take_over_that_was_killed_halfway_is_completed(adoption: Adoption) -> None:
    assert "ConfigMap marked/halfway (adopt, verified)" in adoption.preview.result.output
    metadata = adoption.synced.objects["ConfigMap marked/halfway"]["metadata"]
    assert ("annotations" in metadata, metadata["labels"]) == (False, {"rendimiento.ai/addon": "marked"})


def test_what_absorbing_removes_is_shown_and_goes(adoption: Adoption) -> None:
    shown = adoption.preview.result.output
    assert "Deployment more/app (update, verified)" in shown
    assert "-        - name: OLD" in shown
    assert "-  revisionHistoryLimit: 3\n+  revisionHistoryLimit: 10\n" in shown
    live = adoption.synced.objects["Deployment more/app"]
    assert live["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "KEPT", "value": "1"}]
    assert live["spec"]["revisionHistoryLimit"] == 10, "the default, as the preview said"
    assert live["metadata"]["annotations"]["seen"] == "yes", "what others own stays"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in live["metadata"]["annotations"]


def test_the_preview_after_an_adoption_is_empty(adoption: Adoption) -> None:
    assert not any(facts["pending"] for facts in adoption.again.result.succeeded().addons.values())
