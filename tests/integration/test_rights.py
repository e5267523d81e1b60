"""Rights that a sync would miss half-way are found before it starts, by asking the server what the identity may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import pytest

from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.engine import AddonRun, Engine
from tests.integration.gitops import Repository
from tests.integration.identities import account, grant, rule
from tests.integration.kubectl import Kubectl
from tests.integration.objects import Object, config_map, job
from tests.integration.scene import Scene

_NUMBERS = count()
EVERY_VERB = "get list watch create patch delete"


@dataclass(frozen=True)
class Stage:
    """A repository that the administrator syncs, acting as an account of its own with the rights that a test gives."""

    repository: Repository
    engine: Engine
    kubectl: Kubectl
    audit: Audit
    name: str
    acting: str

    def run(self, *, check: bool = False) -> tuple[dict[str, AddonRun], Requests]:
        if self.repository.git("status", "--porcelain"):
            self.repository.commit()
        mark = self.audit.mark()
        runs = self.engine.run(check=check)
        return runs, self.audit.since(mark)

    def grant(self, *rules: dict[str, object], namespace: str = "", suffix: str = "") -> None:
        grant(self.kubectl, f"{self.name}{suffix}", self.acting, list(rules), namespace)


@pytest.fixture
def stage(new_scene: Callable[[str], Scene], bootstrapped: Cluster, kubectl: Kubectl, audit: Audit) -> Stage:
    name = f"rights-{next(_NUMBERS)}"
    scene = new_scene(name)
    kubectl.run("create", "namespace", name)
    kubectl.run("--namespace", name, "create", "serviceaccount", "acting")
    acting = account(name, "acting")
    engine = Engine(
        scene.repository.path, scene.repository.folder, bootstrapped.kubeconfig, scene.cache, impersonate=acting
    )
    return Stage(scene.repository, engine, kubectl, audit, name, acting)


def priority_class(name: str) -> Object:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 7}


def questions(requests: Requests) -> list[str]:
    return [request.resource for request in requests if request.resource.startswith("selfsubject")]


def test_one_right_that_is_missing_is_found_before_any_write_of_the_run(stage: Stage) -> None:
    one, two, three = (f"{stage.name}-{part}" for part in ("one", "two", "three"))
    for name in (one, two, three):
        stage.kubectl.run("create", "namespace", name)
        stage.repository.addon(name, config_map("stays", data={"version": "1"}), config_map("goes"))
    stage.repository.define(three, dependsOn=[one])
    # Everything but what only pruning needs, in one of the namespaces.
    stage.grant(rule("", "configmaps", "get list watch create patch"), namespace=one)
    for name in (two, three):
        stage.grant(rule("", "configmaps", EVERY_VERB), namespace=name)
    runs, _requests = stage.run()
    assert {run.outcome.phase for run in runs.values()} == {"Synced"}, [run.failure for run in runs.values()]

    for name in (one, two, three):
        stage.repository.addon(name, config_map("stays", data={"version": "2"}), job("work"))
    stage.repository.define(three, dependsOn=[one])
    stage.grant(rule("", "configmaps", EVERY_VERB), rule("batch", "jobs", EVERY_VERB), namespace=two)
    for check in (True, False):
        runs, requests = stage.run(check=check)
        refused = runs[one].outcome
        assert refused.phase == "Error"
        assert f"delete configmaps in namespace {one} (to prune ConfigMap {one}/goes)" in refused.error
        assert f"get, create, patch jobs.batch in namespace {one} (to apply Job {one}/work)" in refused.error
        assert "Grant them to that account" in refused.error
        assert [right.verbs for right in refused.rights.missing] == [["delete"], ["get", "create", "patch"]]
        assert not [str(request) for request in requests.writes if request.namespace == one]
        # The others go on; what depends on it does not.
        assert (runs[two].outcome.phase, bool(runs[three].outcome.skipped)) == ("" if check else "Synced", True)
    # The report stood before the first write of the run.
    order = [request for request in requests if request.writes and not request.on_record and not request.on_lock]
    first = requests.index(order[0])
    asked = [n for n, one in enumerate(requests) if one.resource == "selfsubjectrulesreviews"]
    assert min(asked) < first
    assert stage.kubectl.get("configmap", "stays", one)["data"] == {"version": "1"}

    stage.grant(rule("", "configmaps", EVERY_VERB), rule("batch", "jobs", EVERY_VERB), namespace=one)
    stage.grant(rule("", "configmaps", EVERY_VERB), rule("batch", "jobs", EVERY_VERB), namespace=three)
    runs, requests = stage.run()
    assert [runs[name].outcome.phase for name in (one, three)] == ["Synced"] * 2, runs[one].failure
    assert {request.user for request in requests.on_objects.writes} == {stage.acting}
    assert stage.kubectl.find("configmap", "goes", one) is None


def test_one_verb_less_than_a_sync_of_platform_needs_is_found_before_any_write(
    stage: Stage, bootstrapped: Cluster
) -> None:
    """The same with the user who is meant to run syncs, and with cluster-scoped objects in the add-on."""
    place = f"{stage.name}-place"
    stage.kubectl.run("create", "namespace", place)
    acts = rule("", "serviceaccounts", "get impersonate") | {"resourceNames": ["acting"]}
    grant(stage.kubectl, f"{stage.name}-caller", "platform", [acts], stage.name)
    stage = replace(stage, engine=replace(stage.engine, kubeconfig=bootstrapped.kubeconfig_of("platform")))
    role = {
        ("", "configmaps"): EVERY_VERB,
        ("scheduling.k8s.io", "priorityclasses"): EVERY_VERB,
        ("batch", "jobs"): EVERY_VERB,
        ("", "pods"): "get list watch",
        ("", "pods/log"): "get",
    }

    def grant_without(resource: str = "", verb: str = "") -> None:
        without = {
            kind: " ".join(one for one in verbs.split() if (kind[1], one) != (resource, verb))
            for kind, verbs in role.items()
        }
        stage.grant(*(rule(*kind, verbs) for kind, verbs in without.items() if verbs))

    grant_without()
    old, new = priority_class(f"{stage.name}-old"), priority_class(f"{stage.name}-new")
    stage.repository.addon(place, config_map("stays", data={"version": "1"}), config_map("goes"), old)
    runs, _requests = stage.run()
    assert runs[place].outcome.phase == "Synced", runs[place].failure

    changed = [config_map("stays", data={"version": "2"}), new, {**old, "description": "changed"}]
    for resource, verb, hooks in (
        ("configmaps", "patch", []),
        ("configmaps", "delete", []),
        ("pods/log", "get", [job("migrate", annotations={"helm.sh/hook": "pre-upgrade"})]),
    ):
        stage.repository.addon(place, *changed, *hooks)
        grant_without(resource, verb)
        runs, requests = stage.run()
        outcome = runs[place].outcome
        assert (outcome.phase, runs[place].planned is not None) == ("Error", True)
        assert [(one.kind, one.namespace, one.verbs) for one in outcome.rights.missing] == [(resource, place, [verb])]
        assert "selfsubjectrulesreviews" in questions(requests)
        assert not requests.on_objects.writes, requests.on_objects.writes
    assert stage.kubectl.get("configmap", "stays", place)["data"] == {"version": "1"}

    stage.repository.addon(place, *changed)
    grant_without()
    runs, requests = stage.run()
    assert runs[place].outcome.phase == "Synced", runs[place].failure
    writes = requests.on_objects.writes
    assert {(one.verb, one.resource) for one in writes} == {
        ("patch", "configmaps"),
        ("delete", "configmaps"),
        ("patch", "priorityclasses"),
    }
    assert {(one.caller, one.user) for one in writes} == {("platform", stage.acting)}
    asked = [number for number, one in enumerate(requests) if one.resource == "selfsubjectrulesreviews"]
    assert asked[0] < min(map(requests.index, writes)), requests


def test_rights_on_what_comes_with_the_run_are_found_before_its_namespace_is_made(stage: Stage) -> None:
    coming = f"{stage.name}-coming"
    stage.repository.addon(coming, config_map("settings"), createNamespace=True)
    stage.grant(rule("", "namespaces", "get create patch"))
    stage.grant(rule("", "configmaps", "get"), suffix="-look")
    runs, requests = stage.run()
    assert runs[coming].outcome.error == (
        f"add-on {coming}: {stage.acting} lacks rights that a sync needs: create, patch configmaps"
        f" in namespace {coming} (to apply ConfigMap {coming}/settings). Grant them to that account"
    )
    assert not requests.on_objects.writes
    assert stage.kubectl.find("namespace", coming) is None


def test_rights_in_a_namespace_are_none_on_what_is_in_none(stage: Stage) -> None:
    """The rules of a namespace name cluster-scoped kinds, too, and mean nothing there."""
    place = f"{stage.name}-place"
    stage.kubectl.run("create", "namespace", place)
    stage.repository.addon(place, config_map("stays"), priority_class(stage.name))
    stage.grant(rule("scheduling.k8s.io", "priorityclasses", "get create patch"))
    stage.grant(rule("*", "*", EVERY_VERB), namespace=place)
    runs, _requests = stage.run()
    assert runs[place].outcome.phase == "Synced", runs[place].failure
    stage.repository.addon(place, config_map("stays"))
    runs, requests = stage.run()
    assert (
        f"delete priorityclasses.scheduling.k8s.io (to prune PriorityClass {stage.name})" in runs[place].outcome.error
    )
    assert not requests.on_objects.writes
    # By name is enough.
    named = rule("scheduling.k8s.io", "priorityclasses", "get delete") | {"resourceNames": [stage.name]}
    stage.grant(named, suffix="-named")
    runs, _requests = stage.run()
    assert runs[place].outcome.phase == "Synced", runs[place].failure
    assert stage.kubectl.find("priorityclass", stage.name) is None


def test_hooks_count(stage: Stage) -> None:
    hooked = f"{stage.name}-hooked"
    stage.kubectl.run("create", "namespace", hooked)
    migrate = job("migrate", annotations={"helm.sh/hook": "pre-install"})
    later = job("later", annotations={"helm.sh/hook": "pre-upgrade,post-delete"})
    stage.repository.addon(hooked, config_map("settings"), migrate, later)
    stage.grant(rule("", "configmaps", EVERY_VERB), rule("batch", "jobs", "get list watch delete"))
    runs, requests = stage.run()
    error = runs[hooked].outcome.error
    assert f"create jobs.batch in namespace {hooked} (to run hook Job {hooked}/migrate)" in error
    assert f"get, list, watch pods in namespace {hooked}" in error
    assert f"get pods/log in namespace {hooked}" in error
    assert not requests.on_objects.writes


def test_questions_are_few(stage: Stage) -> None:
    """One for an administrator, one per namespace for others, and none when there is nothing to do."""
    parts = [f"{stage.name}-{part}" for part in ("a", "b")]
    for part in parts:
        stage.repository.addon(part, *(config_map(f"map-{number}") for number in range(5)), createNamespace=True)
    stage.grant(rule("", "namespaces configmaps", EVERY_VERB))
    runs, requests = stage.run(check=True)
    assert all(run.outcome.phase == "" for run in runs.values())
    assert questions(requests) == ["selfsubjectaccessreviews", *["selfsubjectrulesreviews"] * 2]
    stage.grant(rule("*", "*", "*"))
    _runs, requests = stage.run(check=True)
    assert questions(requests) == ["selfsubjectaccessreviews"]
    stage.run()
    runs, requests = stage.run()
    assert {tuple(run.planned.counts()) for run in runs.values() if run.planned} == {("unchanged",)}
    assert questions(requests) == []


def test_a_preview_of_who_only_reads_is_one_line_and_no_error(stage: Stage) -> None:
    part = f"{stage.name}-part"
    stage.kubectl.run("create", "namespace", part)
    stage.repository.addon(part, config_map("a"), config_map("b"), job("c"))
    stage.grant(rule("", "configmaps namespaces", "get list"), rule("batch", "jobs", "get list"))
    runs, requests = stage.run(check=True)
    outcome = runs[part].outcome
    assert (outcome.phase, outcome.error) == ("", "")
    assert outcome.message.startswith(
        f"{stage.acting} has no right to write here, and a sync needs create, patch configmaps"
    )
    assert not requests.writes
    # A sync is one that would fail.
    runs, requests = stage.run()
    assert runs[part].outcome.phase == "Error"
    assert not requests.on_objects.writes
