"""A stack of parts that need each other, like that of a registry: it comes up in order, from an empty cluster.

Twice, under two names: one whose parts all become ready, and one of which a part does not, until it is mended.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.audit import Requests
from tests.integration.gitops import Repository
from tests.integration.kubectl import Object
from tests.integration.objects import config_map, deployment, secret, service
from tests.integration.scene import Observed, Scene

SOUND, BROKEN = "stack", "stack-broken"
KINDS = ("pods", "statefulsets", "services", "ingresses", "serviceaccounts")

NEEDS = {
    "database": [],
    "redis": [],
    "registry": ["redis"],
    "core": ["database", "redis"],
    "jobservice": ["core", "redis"],
    "portal": ["core"],
    "entrance": ["core", "portal"],
}
"""What each part is annotated to depend on."""

LAYERS = (
    {"Namespace {0}"},
    {"ConfigMap {0}/settings", "Secret {0}/passwords", "ServiceAccount {0}/parts", "Service {0}/core"},
    {"StatefulSet {0}/database", "StatefulSet {0}/redis"},
    {"Deployment {0}/core", "Deployment {0}/registry"},
    {"Deployment {0}/jobservice", "Deployment {0}/portal"},
    {"Ingress {0}/entrance"},
)
PODS = ("database", "redis", "registry", "core", "jobservice", "portal")


def stack(name: str, *, broken: str = "") -> list[Object]:
    """In an order that is none: what comes first in it needs all the rest."""
    parts = [entrance(), *(part(each, "unready" if each == broken else "") for each in reversed(PODS))]
    for made in parts:
        needed = [
            f"apps/{'StatefulSet' if each in ('database', 'redis') else 'Deployment'}/{name}/{each}"
            for each in NEEDS[made["metadata"]["name"]]
        ]
        if needed:
            made["metadata"]["annotations"] = {"rendimiento.ai/depends-on": ", ".join(needed)}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "parts"}}
    return [
        *parts,
        service("core"),
        account,
        secret("passwords", data={"database": f"swordfish-{name}"}),
        config_map("settings", data={"log": "info"}),
    ]


def part(name: str, outcome: str) -> Object:
    """A workload with pods that name what they use."""
    made = deployment(name, outcome=outcome)
    # Longer than the second in which Kubernetes counts: what does not wait is seen to have been too early.
    made["spec"]["template"]["metadata"]["annotations"] = {"test.io/ready-after": "2s"}
    pods: dict[str, Any] = made["spec"]["template"]["spec"]
    pods["serviceAccountName"] = "parts"
    key = {"secretKeyRef": {"name": "passwords", "key": "database"}}
    pods["containers"][0]["env"] = [{"name": "PASSWORD", "valueFrom": key}]
    pods["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    if name in ("database", "redis"):
        made["kind"] = "StatefulSet"
        made["spec"]["serviceName"] = name
    return made


def entrance() -> Object:
    backend = {"service": {"name": "core", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec = {"rules": [{"http": {"paths": [path]}}]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "entrance"}, "spec": spec}


def described(repository: Repository, broken: str) -> None:
    made = {"createNamespace": True}
    repository.addon(SOUND, *stack(SOUND), **made)
    repository.addon(BROKEN, *stack(BROKEN, broken=broken), **made, wait=5)
    repository.commit()


@dataclass(frozen=True)
class Story:
    """A preview, a sync of both stacks, a second one with the part still broken, one with the part mended."""

    preview: Observed
    preview_text: str
    first: Observed
    again: Observed
    mended: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("stacks")
    described(scene.repository, broken="core")
    file = scene.playbooks.scratch / "preview.md"
    preview = scene.observe(check=True, diff=True, kinds=KINDS, preview_file=str(file))
    first = scene.observe(kinds=KINDS)
    again = scene.observe(kinds=KINDS)
    described(scene.repository, broken="")
    return Story(preview, file.read_text(), first, again, scene.observe(kinds=KINDS))


def titles(name: str, *layers: int) -> set[str]:
    return {title.format(name) for layer in layers for title in LAYERS[layer]}


def parts_of(observed: Observed, name: str) -> set[str]:
    """Those objects of a stack that are there."""
    return titles(name, *range(len(LAYERS))) & set(observed.objects)


def created_at(observed: Observed, namespace: str, name: str) -> str:
    (made,) = (
        each
        for title, each in observed.objects.items()
        if title.endswith(f" {namespace}/{name}") and each["kind"] in ("StatefulSet", "Deployment", "Ingress")
    )
    return str(made["metadata"]["creationTimestamp"])


def ready_at(observed: Observed, namespace: str, name: str) -> str:
    """When the pods of a part became ready; it counted as ready no sooner."""
    times = [
        condition["lastTransitionTime"]
        for title, pod in observed.objects.items()
        if title.startswith(f"Pod {namespace}/{name}-")
        for condition in pod["status"]["conditions"]
        if (condition["type"], condition["status"]) == ("Ready", "True")
    ]
    return str(max(times))


def test_the_stack_comes_up_in_its_order(story: Story) -> None:
    assert story.first.result.phases[SOUND] == "Synced", story.first.result.why(SOUND)
    assert parts_of(story.preview, SOUND) == set()
    assert parts_of(story.first, SOUND) == titles(SOUND, *range(len(LAYERS)))
    for name, needed in NEEDS.items():
        began = created_at(story.first, SOUND, name)
        for other in needed:
            assert ready_at(story.first, SOUND, other) <= began, f"{name} was applied before {other} was ready"
    for part_of_it in PODS:
        assert created_at(story.first, SOUND, part_of_it) < ready_at(story.first, SOUND, part_of_it), "it was slow"


def test_what_pods_use_is_there_before_them(story: Story) -> None:
    written = [each.name for each in story.first.requests.writes if each.namespace == SOUND and each.code == 201]
    places = {name: written.index(name) for name in ("settings", "passwords", "parts", *PODS)}
    assert max(places[name] for name in ("settings", "passwords", "parts")) < min(places[name] for name in PODS)


@pytest.mark.parametrize("name", [SOUND, BROKEN])
def test_the_layers_are_printed(story: Story, name: str) -> None:
    for number, layer in enumerate(LAYERS, 1):
        (line,) = (line for line in story.first.result.output.splitlines() if f"{name}: layer {number}: " in line)
        assert set(line.partition(f"layer {number}: ")[2].split(", ")) == {title.format(name) for title in layer}


def test_a_broken_part_stops_only_what_needs_it(story: Story) -> None:
    for observed in (story.first, story.again):
        assert observed.result.phases[BROKEN] == "Error"
        missing = titles(BROKEN, 4, 5)
        assert parts_of(observed, BROKEN) == titles(BROKEN, 0, 1, 2, 3)
        registry = observed.objects[f"Deployment {BROKEN}/registry"]
        assert registry["status"]["readyReplicas"] == 1, "next to the broken one, it was applied and waited for"
        held_back = observed.result.addons[BROKEN]["held_back_objects"]
        assert held_back == [f"{title}: waits for Deployment {BROKEN}/core" for title in sorted(missing)]
        why = observed.result.why(BROKEN)
        assert f"Deployment {BROKEN}/core (" in why
        assert all(f"{title} (waits for Deployment {BROKEN}/core)" in why for title in missing)


def test_what_was_held_back_stays_in_the_inventory_and_is_no_success(story: Story) -> None:
    status = story.first.status(BROKEN)
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions == {"Synced": "False", "Healthy": "False", "Ready": "False"}
    states = {each["name"]: each["state"] for each in status["objects"]}
    assert {name for name, state in states.items() if state == "pending"} == {"jobservice", "portal", "entrance"}
    assert "Not applied: " in status["message"]


def test_a_run_with_the_part_still_broken_writes_none_of_it(story: Story) -> None:
    """It waits for the part, which is as the source has it, and applies nothing that needs it."""
    written = [each for each in story.again.requests.writes.on_objects if each.user == "admin"]
    assert not written, Requests(written)


def test_once_mended_the_next_run_completes(story: Story) -> None:
    assert story.mended.result.phases[BROKEN] == "Synced", story.mended.result.why(BROKEN)
    assert parts_of(story.mended, BROKEN) == titles(BROKEN, *range(len(LAYERS)))
    for name in ("jobservice", "portal"):
        assert ready_at(story.mended, BROKEN, "core") <= created_at(story.mended, BROKEN, name)
    assert ready_at(story.mended, BROKEN, "portal") <= created_at(story.mended, BROKEN, "entrance")
    assert not story.mended.result.addons[BROKEN]["held_back_objects"]
    assert story.mended.result.counts(SOUND) == {"unchanged": len(titles(SOUND, *range(len(LAYERS))))}


def test_the_preview_shows_the_order(story: Story) -> None:
    lines = [line for line in story.preview_text.splitlines() if line.startswith("- layer ")]
    expected = [f"- layer {number}: " for number in (*range(1, len(LAYERS) + 1), *range(1, len(LAYERS) + 1))]
    assert [line[: len("- layer 1: ")] for line in lines] == expected
    for line, layer in zip(lines, itertools.chain(LAYERS, LAYERS), strict=True):
        assert all(title.format(SOUND) in line or title.format(BROKEN) in line for title in layer)
