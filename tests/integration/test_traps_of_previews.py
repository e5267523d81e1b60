"""Traps that real add-ons set for a preview and for the apply after it, each with a small add-on that sets it, too."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.admission import AdmissionWebhook
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl, Object, inventory, wait_until
from tests.integration.objects import config_map, custom, custom_kind, deployment, namespace, service
from tests.integration.scene import Observed, Scene

pytestmark = pytest.mark.long

GROUP = "previews.example.com"
DOWN = "down.previews.example.com"
DEFINITION = "CustomResourceDefinition"
WEBHOOK = "trap-15.previews.example.com"
SLOW = "trap-14-slow.previews.example.com"
POLICY = "trap-20-only-newer"
KINDS = (
    "services",
    "previewnulls",
    "previewshareds",
    "previewguardeds",
    "previewretrieds",
    f"previewdowns.{DOWN}",
    "previewversioneds",
    "validatingwebhookconfigurations",
)
LAST_APPLIED_MOST = 262_144
"""Bytes that all annotations of an object may have, and so the most of one that client-side apply can take."""


def null_kind() -> Object:
    """Its fields may be absent, but only ``kept`` may be null."""
    made = custom_kind(GROUP, "PreviewNull")
    database = {"type": "object", "properties": {"name": {"type": "string"}}}
    fields: Object = {"postgresql": database, "names": {"type": "array", "items": {"type": "string"}}}
    fields |= {"size": {"type": "integer"}, "kept": {"type": "string", "nullable": True}}
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = fields
    return made


def with_nulls(name: str) -> Object:
    return custom(GROUP, "PreviewNull", name, postgresql=None, names=None, size=1, kept=None)


def large_kind() -> Object:
    made = custom_kind(GROUP, "PreviewLarge")
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for number in range(600):
        text = f"Field number {number}. " + "It has a description of some length. " * 25
        schema["properties"]["spec"]["properties"][f"field{number}"] = {"type": "string", "description": text}
    return made


def webhooks(name: str, plural: str, *operations: str, namespace: str) -> Object:
    """A webhook that has to answer (``failurePolicy: Fail``), but for whose Service nobody does.

    Only of one namespace: each request that it holds up is repeated for seven seconds.
    """
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": list(operations), "resources": [plural]}
    one: Object = {
        "name": f"{name}.{GROUP}" if "." not in name else name,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 1,
        "clientConfig": {"service": {"name": "nobody", "namespace": "default"}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [rule],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [one],
    }


def policies() -> list[Object]:
    """Objects of a kind of ours must not be older than those that are there, as ``safe-upgrades`` of gateway-api."""
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["*"], "resources": ["previewversioneds"]}
    api_version = "admissionregistration.k8s.io/v1"
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.spec.size >= 2", "message": "older versions are refused"}],
    }
    binding = {"policyName": POLICY, "validationActions": ["Deny"]}
    kind = "ValidatingAdmissionPolicy"
    return [
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": POLICY}, "spec": policy},
        {"apiVersion": api_version, "kind": f"{kind}Binding", "metadata": {"name": POLICY}, "spec": binding},
    ]


def down(service: Object | None = None) -> Object:
    """The APIService of a group: answered by a Service, or by the API server itself."""
    spec: dict[str, Any] = {"group": DOWN, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100}
    more = {"service": service, "insecureSkipTLSVerify": True} if service else {}
    api_version = "apiregistration.k8s.io/v1"
    return {"apiVersion": api_version, "kind": "APIService", "metadata": {"name": f"v1.{DOWN}"}, "spec": spec | more}


def described(repository: Repository) -> None:
    made = {"createNamespace": True}
    repository.addon("trap-12", with_nulls("brought"), null_kind(), **made)
    repository.addon("trap-12-later", with_nulls("later"), **made, dependsOn=["trap-12"])
    # Trap 13
    repository.addon("trap-13-kinds", custom_kind(GROUP, "PreviewShared"), namespace("trap-13-brought"))
    objects = [custom(GROUP, "PreviewShared", "one", size=1), config_map("there", "trap-13-brought")]
    repository.addon("trap-13", *objects, **made, dependsOn=["trap-13-kinds"])
    # Trap 14
    objects = [
        webhooks("trap-14", "previewguardeds", "CREATE", namespace="trap-14"),
        custom(GROUP, "PreviewGuarded", "first", size=1),
        custom_kind(GROUP, "PreviewGuarded"),
        service("webhook"),
        deployment("webhook"),
    ]
    repository.addon("trap-14", *objects, **made)
    objects = [custom_kind(GROUP, "PreviewRetried"), custom(GROUP, "PreviewRetried", "one", size=1)]
    repository.addon("trap-14-retry", *objects, **made)
    # Trap 15
    repository.addon("trap-15", custom(GROUP, "PreviewShared", "one", size=1), config_map("sound"), **made,
                     dependsOn=["trap-13-kinds"])  # fmt: skip
    # Trap 16
    for name in ("has", "lost"):
        one = custom(DOWN, "PreviewDown", "one", size=1)
        repository.addon(f"trap-16-{name}", one, config_map("sound"), **made)
    # Trap 17
    repository.addon("trap-17", large_kind())
    # Trap 18
    objects = [namespace("trap-18"), config_map("unplaced"), config_map("foreign", "trap-18-foreign")]
    repository.addon("trap-18", *objects)
    repository.addon("trap-18-silent", config_map("lost", "trap-18-nobodys"), config_map("sound"), **made)
    # Trap 19
    for name in ("a", "b"):
        both = config_map("both", "trap-19")
        repository.addon(f"trap-19-{name}", both, config_map(f"only-{name}"), namespace="trap-19", createNamespace=True)
    # Trap 20
    objects = [custom(GROUP, "PreviewVersioned", name, size=2) for name in ("one", "two")]
    repository.addon("trap-20", custom_kind(GROUP, "PreviewVersioned"), *policies(), *objects, **made)


def changed(repository: Repository) -> None:
    """What each trap needs besides the cluster being in trouble."""
    made = {"createNamespace": True}
    objects = [custom_kind(GROUP, "PreviewRetried"), custom(GROUP, "PreviewRetried", "one", size=2)]
    repository.addon("trap-14-retry", *objects, **made)
    repository.addon("trap-15", custom(GROUP, "PreviewShared", "one", size=2), config_map("sound"), **made,
                     dependsOn=["trap-13-kinds"])  # fmt: skip
    repository.addon("trap-16-lost", config_map("sound"), **made)
    repository.addon("trap-18", config_map("unplaced"))
    older = [custom(GROUP, "PreviewVersioned", "one", size=1), custom(GROUP, "PreviewVersioned", "two", size=3)]
    repository.addon("trap-20", custom_kind(GROUP, "PreviewVersioned"), *policies(), *older, **made)


@dataclass(frozen=True)
class Story:
    """A preview and a sync; both while webhook, API and policy are in the way; a sync after it.

    ``left`` is what is still in the API that was down, right after it answers again; ``calls`` counts what the webhook
    of trap 14 was asked meanwhile, by whether it was a dry run.
    """

    preview: Observed
    first: Observed
    trouble_preview: Observed
    trouble: Observed
    left: set[str]
    after: Observed
    calls: Counter[bool]


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdmissionWebhook]:
    """One whose pods take their time."""
    with AdmissionWebhook(tmp_path_factory.mktemp("webhook"), failures=2) as made:
        yield made


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene], kubectl: Kubectl, webhook: AdmissionWebhook) -> Iterator[Story]:
    scene = new_scene("previews")
    described(scene.repository)
    scene.repository.commit()
    # A real API with a server of its own brings no definition; this one stores without.
    kubectl.create(namespace("trap-18-foreign"), custom_kind(DOWN, "PreviewDown"))
    wait_until(lambda: not stale(kubectl), f"{DOWN} is served")
    try:
        preview = scene.observe(check=True, diff=True, kinds=KINDS[:1])
        first = scene.observe(kinds=KINDS)
        changed(scene.repository)
        scene.repository.commit()
        into_trouble(kubectl, webhook)
        trouble_preview = scene.observe(check=True, diff=True)
        trouble = scene.observe(kinds=[kind for kind in KINDS if DOWN not in kind])
        out_of_trouble(kubectl)
        left = set(kubectl.everything(f"previewdowns.{DOWN}"))
        after = scene.observe(kinds=KINDS)
        yield Story(preview, first, trouble_preview, trouble, left, after, webhook.calls)
    finally:
        out_of_trouble(kubectl)
        kubectl.run("delete", "validatingwebhookconfigurations", "trap-14", "--ignore-not-found")
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            kubectl.run("delete", kind, POLICY, "--ignore-not-found")


def into_trouble(kubectl: Kubectl, webhook: AdmissionWebhook) -> None:
    """Two webhooks that have to answer, of which one does not and the other not yet, and an API whose server is away:
    its objects are still stored."""
    slow = webhooks(SLOW, "previewretrieds", "UPDATE", namespace="trap-14-retry")
    slow["webhooks"][0]["clientConfig"] = webhook.client_config
    kubectl.create(webhooks(WEBHOOK, "previewshareds", "CREATE", "UPDATE", namespace="trap-15"), slow)
    name = f"v1.{DOWN}"
    kubectl.run("label", "apiservice", name, "kube-aggregator.kubernetes.io/automanaged-")
    kubectl.run("apply", "-f", "-", text=json.dumps(down({"name": "nobody", "namespace": "default"})))
    wait_until(lambda: stale(kubectl), f"{DOWN} is stale", seconds=60)
    probe = custom(GROUP, "PreviewShared", "probe", "trap-15", size=1)
    wait_until(lambda: refuses(kubectl, probe), "the webhook is called", seconds=60)
    old = custom(GROUP, "PreviewVersioned", "probe", "trap-20", size=1)
    wait_until(lambda: refuses(kubectl, old), "the policy is in force", seconds=60)


def out_of_trouble(kubectl: Kubectl) -> None:
    kubectl.run("delete", "validatingwebhookconfigurations", WEBHOOK, SLOW, "--ignore-not-found")
    found = kubectl.find("apiservice", f"v1.{DOWN}")
    if found and found["spec"].get("service"):
        # The API server makes it anew, for the definition that is still there.
        kubectl.run("delete", "apiservice", f"v1.{DOWN}")
        wait_until(lambda: not stale(kubectl), f"{DOWN} answers again", seconds=60)


def stale(kubectl: Kubectl) -> bool:
    return DOWN not in kubectl.run("get", "--raw", f"/apis/{DOWN}/v1") if answers(kubectl) else True


def answers(kubectl: Kubectl) -> bool:
    found = kubectl.find("apiservice", f"v1.{DOWN}") or {}
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)


def refuses(kubectl: Kubectl, manifest: Object) -> bool:
    try:
        kubectl.run("create", "--dry-run=server", "-f", "-", text=json.dumps(manifest))
    except AssertionError:
        return True
    return False


def synced(observed: Observed, addon: str) -> None:
    assert observed.result.phases[addon] == "Synced", observed.result.why(addon)


def names_in(observed: Observed, addon: str) -> set[str]:
    return set(inventory(observed.records[addon]))


def test_what_sets_no_trap_any_more_is_unchanged(story: Story) -> None:
    for addon in ("trap-12", "trap-12-later", "trap-13-kinds", "trap-13", "trap-14", "trap-17"):
        assert set(story.trouble_preview.result.counts(addon)) == {"unchanged"}, addon
    assert set(story.after.result.counts("trap-18")) == {"unchanged", "kept"}, "its namespace left the source"


def test_trap_12_a_null_in_a_custom_resource_is_not_sent(story: Story) -> None:
    for addon, name in (("trap-12", "brought"), ("trap-12-later", "later")):
        synced(story.first, addon)
        spec = story.first.objects[f"PreviewNull {addon}/{name}"]["spec"]
        assert spec == {"size": 1, "kept": None}, "where null is a value, it stays"


def test_trap_13_objects_before_their_kind_or_namespace_are_simulated(story: Story) -> None:
    for title in ("PreviewShared trap-13/one", "ConfigMap trap-13-brought/there", "PreviewNull trap-12/brought"):
        assert f"+++ after: {title} (create, simulated)" in story.preview.result.output
    assert "simulated" in story.preview.result.why("trap-13")


def test_trap_13_they_are_applied_after_it(story: Story) -> None:
    synced(story.first, "trap-13")
    assert {"PreviewShared trap-13/one", "ConfigMap trap-13-brought/there"} <= set(story.first.objects)


def test_trap_14_webhooks_are_made_after_all_that_they_would_refuse(story: Story) -> None:
    synced(story.first, "trap-14")
    places = [(each.resource, each.name) for each in story.first.requests.writes if each.code < 300]
    webhook = places.index(("validatingwebhookconfigurations", "trap-14"))
    for resource, name in (
        ("customresourcedefinitions", f"previewguardeds.{GROUP}"),
        ("previewguardeds", "first"),
        ("services", "webhook"),
        ("deployments", "webhook"),
    ):
        assert places.index((resource, name)) < webhook, places


def test_trap_14_a_webhook_that_does_not_answer_yet_is_asked_again(story: Story) -> None:
    """Two dry runs and two applies failed, and nobody had to do anything about it."""
    assert story.trouble_preview.result.counts("trap-14-retry") == {"updated": 1, "unchanged": 2}
    synced(story.trouble, "trap-14-retry")
    assert story.trouble.objects["PreviewRetried trap-14-retry/one"]["spec"] == {"size": 2}
    assert story.calls[True] > 2
    assert story.calls[False] == 3


def test_trap_15_a_webhook_that_nobody_answers_is_unknown_and_named(story: Story) -> None:
    preview = story.trouble_preview.result
    assert preview.counts("trap-15")["unknown"] == 1
    assert preview.phases["trap-15"] != "Error", "an object that is fine may be behind it"
    assert WEBHOOK in preview.why("trap-15")
    assert "PreviewShared trap-15/one" in preview.why("trap-15")


def test_trap_15_nothing_of_the_add_on_is_written_until_it_answers(story: Story) -> None:
    assert story.trouble.result.phases["trap-15"] == "Error"
    assert WEBHOOK in story.trouble.result.why("trap-15")
    assert story.trouble.objects["PreviewShared trap-15/one"]["spec"] == {"size": 1}
    synced(story.after, "trap-15")
    assert story.after.objects["PreviewShared trap-15/one"]["spec"] == {"size": 2}


def test_trap_16_an_api_that_does_not_answer_is_unknown_and_never_gone(story: Story) -> None:
    preview = story.trouble_preview.result
    assert preview.counts("trap-16-has")["unknown"] > 0
    assert preview.counts("trap-16-has").keys() <= {"unknown", "unchanged", "kept"}
    assert f"API group {DOWN} does not answer" in preview.why("trap-16-has")
    (kept,) = preview.addons["trap-16-lost"]["kept_objects"]
    assert kept.startswith("PreviewDown trap-16-lost/one: ")
    assert f"API group {DOWN} does not answer" in kept


@pytest.mark.parametrize("addon", ["trap-16-has", "trap-16-lost"])
def test_trap_16_nothing_of_it_is_pruned_or_forgotten(story: Story, addon: str) -> None:
    title = f"PreviewDown {addon}/one"
    assert title in names_in(story.trouble, addon)
    assert title in story.left
    assert f"Namespace {addon}" in story.trouble.objects
    assert not [each for each in story.trouble.requests.writes if each.resource == "previewdowns"]


def test_trap_16_what_left_the_source_goes_once_it_answers(story: Story) -> None:
    assert "PreviewDown trap-16-lost/one" not in story.after.objects
    assert "PreviewDown trap-16-has/one" in story.after.objects
    for addon in ("trap-16-has", "trap-16-lost"):
        synced(story.after, addon)


def test_trap_17_a_definition_too_large_for_an_annotation_is_applied(story: Story) -> None:
    synced(story.first, "trap-17")
    found = story.first.objects[f"{DEFINITION} previewlarges.{GROUP}"]
    assert len(json.dumps(found["spec"])) > LAST_APPLIED_MOST
    assert "annotations" not in found["metadata"]
    assert len(json.dumps(story.first.records["trap-17"])) < 20_000


def test_trap_18_only_a_missing_namespace_is_filled_in(story: Story) -> None:
    synced(story.first, "trap-18")
    expected = {"Namespace trap-18", "ConfigMap trap-18/unplaced", "ConfigMap trap-18-foreign/foreign"}
    assert names_in(story.first, "trap-18") == expected
    assert expected <= set(story.first.objects)


def test_trap_18_a_namespace_is_not_made_silently(story: Story) -> None:
    for observed in (story.preview, story.first):
        assert observed.result.phases["trap-18-silent"] == "Error"
        assert "namespace trap-18-nobodys does not exist" in observed.result.why("trap-18-silent")
    assert "Namespace trap-18-nobodys" not in story.first.objects
    assert "Namespace trap-18-silent" not in story.first.objects


def test_trap_18_a_namespace_that_leaves_the_source_stays(story: Story) -> None:
    assert "Namespace trap-18" in story.trouble.objects
    assert "ConfigMap trap-18-foreign/foreign" not in story.trouble.objects, "what else left it goes"


def test_trap_19_an_object_of_two_add_ons_is_an_error_before_any_write(story: Story) -> None:
    for observed in (story.preview, story.first):
        for addon, other in (("trap-19-a", "trap-19-b"), ("trap-19-b", "trap-19-a")):
            assert observed.result.phases[addon] == "Error"
            why = observed.result.why(addon)
            assert "ConfigMap trap-19/both: is in two add-ons" in why
            assert f"here ({addon}/objects.yaml" in why
            assert f"in {other} ({other}/objects.yaml" in why
    assert not [each for each in story.first.requests.writes if each.namespace == "trap-19" or each.name == "trap-19"]


def test_trap_20_a_policy_that_refuses_an_object_is_reported_for_that_object(story: Story) -> None:
    synced(story.first, "trap-20")
    for observed in (story.trouble_preview, story.trouble):
        assert observed.result.phases["trap-20"] == "Error"
        why = observed.result.why("trap-20")
        assert "PreviewVersioned trap-20/one" in why
        assert POLICY in why
        assert "older versions are refused" in why
    assert "PreviewVersioned trap-20/two (update" in story.trouble_preview.result.output
    assert story.trouble.objects["PreviewVersioned trap-20/one"]["spec"] == {"size": 2}
