"""Many kinds and many objects: what a run asks the API server for grows with neither more than it has to.

That an answer 429 is waited out for as long as it says needs no cluster: it is shown in the tests of the client.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.audit import Audit, Request, Requests
from tests.integration.clusters import running_cluster
from tests.integration.kubectl import Kubectl, wait_until
from tests.integration.objects import config_map, custom_kind
from tests.integration.playbooks import Playbooks
from tests.integration.scene import Scene

KINDS, GROUPS = 300, 120
FEW, MANY = 100, 500
DISCOVERY = re.compile(r"/(version|openapi/.*|api|apis|api/[^/]+|apis/[^/]+(/[^/]+)?)/?(\?.*)?")


@dataclass(frozen=True)
class Run:
    """What a run asked for, and how long it took, in seconds."""

    requests: Requests
    seconds: float

    @property
    def discovery(self) -> list[Request]:
        return [each for each in self.requests if DISCOVERY.fullmatch(each.entry["requestURI"])]

    @property
    def about_config_maps(self) -> int:
        return sum(1 for each in self.requests if each.resource == "configmaps" and each.namespace == "many")


@dataclass(frozen=True)
class Story:
    """On a server of many kinds: an add-on is synced with one object, with more, with many, and once more."""

    one: Run
    few: Run
    many: Run
    again: Run


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Audit]]:
    """A scene on a cluster of its own: so many kinds would slow down the tests after this one."""
    path = tmp_path_factory.mktemp("scale")
    with running_cluster(path) as made:
        Playbooks(path / "bootstrap").run("bootstrap", {"addon_kubeconfig": str(made.kubeconfig)}).succeeded()
        kubectl = Kubectl(made.programs["kubectl"], made.kubeconfig)
        many_kinds(kubectl, path)
        audit = Audit(made.audit_log, kubectl)
        yield Scene(path / "scene", "addons/scale", made, kubectl, audit), audit


def many_kinds(kubectl: Kubectl, path: Path) -> None:
    kinds = [custom_kind(f"g{number % GROUPS}.scale.example.com", f"Scaled{number}") for number in range(KINDS)]
    chunks = [kinds[start : start + 30] for start in range(0, KINDS, 30)]
    for chunk in chunks:
        file = path / "kinds.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": chunk}))
        kubectl.run("create", "-f", str(file))

    def served() -> bool:
        groups = json.loads(kubectl.run("get", "--raw", "/apis"))["groups"]
        return sum(1 for group in groups if group["name"].endswith(".scale.example.com")) == GROUPS

    wait_until(served, "all groups are served", seconds=60)


@pytest.fixture(scope="module")
def story(crowded: tuple[Scene, Audit]) -> Story:
    return Story(*(synced(*crowded, number) for number in (1, FEW, MANY, MANY)))


def synced(scene: Scene, audit: Audit, number: int) -> Run:
    """A sync of an add-on of so many ConfigMaps."""
    objects = [config_map(f"number-{each}") for each in range(number)]
    scene.repository.addon("many", *objects, createNamespace=True)
    if scene.repository.git("status", "--porcelain"):
        scene.repository.commit(f"{number} objects")
    mark = audit.mark()
    start = time.monotonic()
    scene.sync().succeeded()
    return Run(audit.since(mark), time.monotonic() - start)


@pytest.mark.long
def test_b62_discovery_is_a_handful_of_requests_once_per_run(story: Story) -> None:
    """However many kinds the server has, and however many objects the add-on."""
    for run in (story.one, story.few, story.many, story.again):
        asked = [each.entry["requestURI"] for each in run.discovery]
        schemas = [uri for uri in asked if uri.startswith("/openapi/")]
        assert sorted(set(asked) - set(schemas)) == ["/api", "/apis", "/version"]
        assert len(asked) - len(schemas) == 3, asked
        assert len(schemas) <= 2, "only for what the server can't check yet"


@pytest.mark.long
def test_b62_requests_grow_with_the_objects_and_no_faster(story: Story) -> None:
    few, many = story.few.about_config_maps / (FEW - 1), story.many.about_config_maps / (MANY - FEW)
    assert many <= few * 1.5
    assert len(story.many.requests) - story.many.about_config_maps <= 60, "nothing else is asked per object"


@pytest.mark.long
def test_b62_time_grows_with_the_objects_and_no_faster(story: Story) -> None:
    """Between about 100 objects and about 500, 5 times; twice that is left for a busy machine."""
    fixed = story.one.seconds
    assert story.many.seconds - fixed < 10 * max(story.few.seconds - fixed, 0.5)


@pytest.mark.long
def test_b62_a_run_without_changes_writes_nothing(story: Story) -> None:
    assert not story.again.requests.writes.on_objects
