"""Objects that are not there to be changed: being deleted and waited for, or gone because they have done their work."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster import Cluster
from tests.integration.kubectl import Kubectl, Object, inventory, wait_until
from tests.integration.objects import config_map, custom, custom_kind, deployment, job, namespace
from tests.integration.stage import Runs, Stage, actions, carried, item_of

GROUP = "going.test"
HOLD = "going.test/hold"
DEFINITION = f"goingones.{GROUP}"


def short_job(name: str, image: str = "none", **spec: Any) -> Object:
    made = job(name)
    made["spec"] |= {"ttlSecondsAfterFinished": 0, **spec}
    made["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return made


def job_that(outcome: str, name: str) -> Object:
    made = short_job(name, backoffLimit=0)
    made["spec"]["template"]["metadata"] = {"labels": {"test.io/outcome": outcome}}
    return made


@dataclass
class Going:
    """``preview``: all is being deleted. ``sync``: it goes meanwhile, but for what is held too long, till ``again``."""

    before: dict[str, str]
    preview: Runs
    sync: Runs
    again: Runs
    after: dict[str, str]


@pytest.fixture(scope="module")
def going(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Going:
    stage = Stage.of(tmp_path_factory.mktemp("going"), "going", bootstrapped, kubectl)
    places = (("configmap", "own", "going"), ("configmap", "stuck", "going-long"))

    def write(version: str) -> None:
        stage.addon("going", config_map("own", data={"version": version}), wait=15)
        replaced = deployment("replaced")
        replaced["metadata"]["annotations"] = {"rendimiento.ai/replace": "true"}
        replaced["spec"]["selector"]["matchLabels"]["version"] = version
        replaced["spec"]["template"]["metadata"]["labels"]["version"] = version
        free = config_map("free", data={"version": version})
        stage.addon("going-long", config_map("stuck"), free, replaced, wait=0)

    write("1")
    stage.sync()
    before = {name: uid(kubectl, kind, name, place) for kind, name, place in places}
    for kind, name, place in places:
        kubectl.merge(kind, name, {"metadata": {"finalizers": [HOLD]}}, place)
        kubectl.run("--namespace", place, "delete", kind, name, "--wait=false")
    kubectl.merge("deployment", "replaced", {"metadata": {"finalizers": [HOLD]}}, "going-long")
    write("2")
    preview = stage.preview()
    with soon(kubectl, [places[0]]):
        sync = stage.sync()
    release(kubectl, *places[1])
    release(kubectl, "deployment", "replaced", "going-long")
    again = stage.sync()
    return Going(before, preview, sync, again, {name: uid(kubectl, kind, name, place) for kind, name, place in places})


def is_held(namespace: Object) -> bool:
    """Whether a namespace that is being deleted says already that finalizers hold what is in it."""
    found = namespace["status"].get("conditions") or []
    return any((one["type"], one["status"]) == ("NamespaceFinalizersRemaining", "True") for one in found)


@pytest.fixture(scope="module")
def places(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Going:
    """What holds other objects: namespaces and a kind."""
    stage = Stage.of(tmp_path_factory.mktemp("places"), "going-places", bootstrapped, kubectl)
    going = (("namespace", "going-namespace", None), ("crd", DEFINITION, None))
    holding = [
        ("configmap", "hold", "going-foreign"),
        ("configmap", "inside", "going-namespace"),
        (DEFINITION, "a", "going-kind"),
    ]

    def write(version: int) -> None:
        inside = config_map("inside", data={"version": str(version)})
        stage.addon("going-namespace", inside, config_map("more"), wait=30)
        kind = custom_kind(GROUP, "GoingOne")
        stage.addon("going-kind", kind, custom(GROUP, "GoingOne", "a", size=version), wait=30)

    kubectl.create(namespace("going-foreign"), config_map("hold", "going-foreign"))
    write(1)
    stage.sync()
    before = {name: uid(kubectl, kind, name, None) for kind, name, _place in going}
    for kind, name, place in holding:
        kubectl.merge(kind, name, {"metadata": {"finalizers": [HOLD]}}, place)
    for kind, name, _place in (*going, ("namespace", "going-foreign", None)):
        kubectl.run("delete", kind, name, "--wait=false")
    wait_until(lambda: not kubectl.find("configmap", "more", "going-namespace"), "the namespace is being emptied")
    held = [("namespace", "going-namespace"), ("namespace", "going-foreign")]
    wait_until(lambda: all(is_held(kubectl.get(*one)) for one in held), "their conditions say what holds them", 60)
    write(2)
    stage.repository.addon("going-foreign", config_map("new"), wait=0)
    preview = stage.preview()
    with soon(kubectl, holding[1:]):
        sync = stage.sync()
    release(kubectl, *holding[0])
    wait_until(lambda: not kubectl.find("namespace", "going-foreign"), "the other namespace is gone", 60)
    kubectl.create(namespace("going-foreign"))
    again = stage.sync()
    return Going(before, preview, sync, again, {name: uid(kubectl, kind, name, None) for kind, name, _place in going})


@contextmanager
def soon(kubectl: Kubectl, holding: Sequence[tuple[str, str, str]]) -> Iterator[None]:
    """Let these objects go two seconds from now."""
    timers = [threading.Timer(2, release, (kubectl, *one)) for one in holding]
    for one in timers:
        one.start()
    yield
    for one in timers:
        one.join()


def uid(kubectl: Kubectl, kind: str, name: str, place: str | None) -> str:
    return str(kubectl.get(kind, name, place)["metadata"]["uid"])


def release(kubectl: Kubectl, kind: str, name: str, place: str) -> None:
    kubectl.merge(kind, name, {"metadata": {"finalizers": None}}, place)


def test_what_is_being_deleted_is_made_anew_and_the_preview_names_what_holds_it(going: Going) -> None:
    item = item_of(going.preview["going"], "ConfigMap", "own")
    assert (item.action, item.verdict) == ("create", "simulated")
    assert item.reason == f"is being deleted (finalizers: {HOLD}): made anew when it is gone"
    assert (going.sync["going"].failure, going.sync["going"].outcome.phase) == ("", "Synced")


def test_it_is_another_object_then_with_what_the_source_says(going: Going, kubectl: Kubectl) -> None:
    assert going.after["own"] != going.before["own"]
    assert kubectl.get("configmap", "own", "going")["data"] == {"version": "2"}
    assert set(actions(going.again["going"]).values()) == {"unchanged"}


def test_what_does_not_go_ends_the_run_with_its_finalizer_and_all_else_is_applied(
    going: Going, kubectl: Kubectl
) -> None:
    run = going.sync["going-long"]
    assert run.outcome.phase == "Error"
    assert f"ConfigMap going-long/stuck: is being deleted and not gone after 10 s (finalizers: {HOLD})" in run.failure
    assert kubectl.get("configmap", "free", "going-long")["data"] == {"version": "2"}
    assert going.again["going-long"].outcome.phase == "Synced"
    assert going.after["stuck"] != going.before["stuck"]


def test_a_replacement_that_ended_half_way_is_completed_by_the_next_run(going: Going, kubectl: Kubectl) -> None:
    """As after a run that was killed: the old object was deleted, and the new one not made yet."""
    assert item_of(going.sync["going-long"], "Deployment", "replaced").action == "replace"
    assert "Deployment going-long/replaced" in going.sync["going-long"].failure
    assert item_of(going.again["going-long"], "Deployment", "replaced").action == "create"
    assert kubectl.get("deployment", "replaced", "going-long")["spec"]["selector"]["matchLabels"]["version"] == "2"


@pytest.mark.long
def test_a_namespace_that_is_being_deleted_is_made_anew_with_all_that_is_in_it(places: Going, kubectl: Kubectl) -> None:
    run = places.preview["going-namespace"]
    assert set(actions(run).values()) == {"create"}
    assert {item.verdict for item in carried(run).items} == {"simulated"}
    reason = item_of(run, "Namespace", "going-namespace").reason
    assert "Some content in the namespace has finalizers remaining" in reason
    assert (places.sync["going-namespace"].failure, places.sync["going-namespace"].outcome.phase) == ("", "Synced")
    assert places.after["going-namespace"] != places.before["going-namespace"]
    assert kubectl.get("configmap", "inside", "going-namespace")["data"] == {"version": "2"}
    assert set(actions(places.again["going-namespace"]).values()) == {"unchanged"}


@pytest.mark.long
def test_a_kind_that_is_being_deleted_is_made_anew_with_its_objects(places: Going, kubectl: Kubectl) -> None:
    run = places.preview["going-kind"]
    assert actions(run)[f"CustomResourceDefinition/{DEFINITION}"] == "create"
    assert actions(run)["GoingOne/a"] == "create"
    assert places.sync["going-kind"].failure == ""
    assert places.after[DEFINITION] != places.before[DEFINITION]
    assert kubectl.get(DEFINITION, "a", "going-kind")["spec"] == {"size": 2}
    assert set(actions(places.again["going-kind"]).values()) == {"unchanged"}


@pytest.mark.long
def test_a_namespace_that_nobody_makes_anew_is_told(places: Going) -> None:
    item = item_of(places.preview["going-foreign"], "ConfigMap", "new")
    assert (item.action, item.verdict) == ("blocked", "unknown")
    assert item.reason.startswith("namespace going-foreign is being deleted (")
    assert "has finalizers remaining" in item.reason
    assert "Nothing here makes it anew" in item.reason
    assert places.sync["going-foreign"].outcome.phase == "Error"
    assert places.again["going-foreign"].outcome.phase == "Synced"


# Finished Jobs


@dataclass
class Jobs:
    applied: Runs
    unchanged: Runs
    changed: Runs
    ran: Counter[str]


@pytest.fixture(scope="module")
def jobs(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    stage = Stage.of(tmp_path_factory.mktemp("jobs"), "going-jobs", bootstrapped, kubectl)
    other = config_map("x", data={"version": "1"})
    stage.addon("going-jobs", short_job("once"), short_job("changing"), job("kept"), other, wait=30)
    applied = stage.sync()
    wait_until(lambda: not kubectl.list("jobs", namespace="going-jobs")[1:], "what has run is gone")
    changed_map = config_map("x", data={"version": "2"})
    stage.addon("going-jobs", short_job("once"), short_job("changing"), job("kept"), changed_map, wait=30)
    unchanged = stage.sync()
    stage.addon("going-jobs", short_job("once"), short_job("changing", "other"), job("kept"), changed_map, wait=30)
    changed = stage.sync()
    return Jobs(applied, unchanged, changed, runs_of(kubectl, "going-jobs"))


def runs_of(kubectl: Kubectl, place: str) -> Counter[str]:
    """How many Jobs of a name there have been."""
    events: list[Any] = json.loads(kubectl.run("get", "events", "--namespace", place, "--output=json"))["items"]
    about = [event["involvedObject"] for event in events]
    return Counter(name for name, _uid in {(one["name"], one["uid"]) for one in about if one["kind"] == "Job"})


@dataclass
class Ends:
    """Jobs that did not do their work, of which one is deleted after ``first``; twice more without a change."""

    first: Runs
    again: Runs
    last: Runs
    ran: Counter[str]


@pytest.fixture(scope="module")
def ends(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Ends:
    stage = Stage.of(tmp_path_factory.mktemp("ends"), "going-ends", bootstrapped, kubectl)
    stage.addon("going-failing", job_that("fail", "fails"), short_job("works"), wait=30)
    stage.addon("going-deleted", job_that("hang", "hangs"), wait=1)
    first = stage.sync()
    kubectl.run("--namespace", "going-deleted", "delete", "job", "hangs")
    again, last = stage.sync(), stage.sync()
    return Ends(first, again, last, runs_of(kubectl, "going-failing"))


def test_a_job_that_failed_and_is_gone_is_an_error_and_runs_again(ends: Ends) -> None:
    for runs in (ends.first, ends.again, ends.last):
        run = runs["going-failing"]
        assert item_of(run, "Job", "fails").action == "create"
        assert run.outcome.phase == "Error"
        assert "Job going-failing/fails (Job has reached the specified backoff limit" in run.outcome.message
    assert ends.ran["fails"] == 3


def test_what_did_its_work_beside_one_that_failed_does_not_run_again(ends: Ends) -> None:
    for runs in (ends.again, ends.last):
        assert item_of(runs["going-failing"], "Job", "works").action == "unchanged"
        assert "Job going-failing/works" not in runs["going-failing"].outcome.message
    assert ends.ran["works"] == 1


def test_a_job_that_was_deleted_before_it_ended_is_made_anew(ends: Ends) -> None:
    assert item_of(ends.again["going-deleted"], "Job", "hangs").action == "create"
    assert item_of(ends.last["going-deleted"], "Job", "hangs").action == "unchanged"


def test_a_job_that_has_run_and_is_gone_is_not_run_again(jobs: Jobs, kubectl: Kubectl) -> None:
    for runs in (jobs.unchanged, jobs.changed):
        item = item_of(runs["going-jobs"], "Job", "once")
        assert (item.action, item.verdict) == ("unchanged", "verified")
        assert item.reason == "has run, and is gone since its time ended"
        assert runs["going-jobs"].outcome.phase == "Synced"
    assert jobs.ran["once"] == 1
    assert inventory(kubectl.record("going-jobs"))["Job going-jobs/once"] == "applied"


def test_one_that_changed_is_run_again(jobs: Jobs) -> None:
    assert item_of(jobs.changed["going-jobs"], "Job", "changing").action == "create"
    assert jobs.ran["changing"] == 2


def test_one_that_is_there_stays_as_it_is(jobs: Jobs) -> None:
    assert item_of(jobs.changed["going-jobs"], "Job", "kept").action == "unchanged"
    assert jobs.ran["kept"] == 1
