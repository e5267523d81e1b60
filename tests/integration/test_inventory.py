"""What an add-on remembers of its objects: after its record was lost, or came from another cluster."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass

import pytest

from local_cluster import Cluster
from tests.integration.audit import Audit, Requests
from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map, custom, custom_kind, service
from tests.integration.stage import Runs, Stage, all_synced, kept, pruned

GROUP = "forgotten.example.com"
ELSEWHERE = "0a1b2c3d-elsewhere"
LABEL = "rendimiento.ai/addon"


@dataclass(frozen=True)
class Lost:
    """The record is gone and the source has lost objects; it is confirmed; another run."""

    stage: Stage
    preview: Runs
    blocked: Runs
    asked: Requests
    confirmed: Runs
    states: dict[str, str]
    later: Runs


@pytest.fixture(scope="module")
def lost(bootstrapped: Cluster, kubectl: Kubectl, audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Lost:
    stage = Stage.of(tmp_path_factory.mktemp("lost"), "lost-record", bootstrapped, kubectl)
    stays = [config_map("stays"), service("web")]
    left = [config_map("left"), custom(GROUP, "Memory", "left", size=1), custom_kind(GROUP, "Memory")]
    stage.addon("lost", *stays, *left)
    all_synced(stage.sync())
    kubectl.run("delete", "addon.rendimiento.ai", "lost")
    kubectl.create(config_map("copied", "lost", labels={LABEL: "lost"}))

    stage.addon("lost", *stays)
    preview = stage.preview()
    mark = audit.mark()
    blocked = stage.sync()
    asked = audit.since(mark)
    stage.addon("lost", *stays, adopt=True)
    confirmed = stage.sync()
    states = stage.inventory("lost")
    return Lost(stage, preview, blocked, asked, confirmed, states, stage.sync())


def test_what_a_lost_record_knew_is_told_by_name(lost: Lost) -> None:
    for runs in (lost.preview, lost.blocked):
        run = runs["lost"]
        assert run.outcome.phase == "Blocked"
        assert "labelled as this add-on's, but in no record, so its record was lost" in run.outcome.message
        assert "Not in the source: ConfigMap lost/left" in run.outcome.message
        assert "Set adopt: true" in run.outcome.message
        left = {"ConfigMap lost/left", "Memory lost/left", f"CustomResourceDefinition memorys.{GROUP}"}
        assert kept(run).keys() == left, "neither what others labelled nor what controllers copied the label to"


def test_nothing_is_written_before_a_person_confirms(lost: Lost) -> None:
    assert not lost.asked.on_objects.writes, lost.asked.on_objects.writes


def test_what_is_confirmed_is_remembered_and_kept_in_that_run(lost: Lost) -> None:
    all_synced(lost.confirmed)
    assert pruned(lost.confirmed["lost"]) == []
    assert lost.states == {
        "Namespace lost": "applied",
        "ConfigMap lost/stays": "applied",
        "Service lost/web": "applied",
        "ConfigMap lost/left": "stale",
        "Memory lost/left": "stale",
        f"CustomResourceDefinition memorys.{GROUP}": "retained",
    }


def test_later_runs_prune_it(lost: Lost, kubectl: Kubectl) -> None:
    all_synced(lost.later)
    assert pruned(lost.later["lost"]) == ["ConfigMap lost/left", "Memory lost/left"]
    assert kubectl.find("configmap", "left", "lost") is None
    assert kubectl.find("configmap", "copied", "lost"), "the label alone proves nothing"
    assert lost.stage.inventory("lost").keys() == lost.states.keys() - {"ConfigMap lost/left", "Memory lost/left"}


@dataclass(frozen=True)
class Abroad:
    """Records and a tombstone are as a backup of another cluster has them; then one is taken over on purpose."""

    stage: Stage
    preview: Runs
    refused: Runs
    asked: Requests
    taken: Runs


@pytest.fixture(scope="module")
def abroad(bootstrapped: Cluster, kubectl: Kubectl, audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Abroad:
    stage = Stage.of(tmp_path_factory.mktemp("abroad"), "abroad", bootstrapped, kubectl)
    names = ("abroad", "abroad-buried", "abroad-removed")
    for name in names:
        stage.addon(name, config_map("stays"), config_map("left"))
    all_synced(stage.sync())
    cluster = kubectl.get("namespace", "kube-system")["metadata"]["uid"]
    assert {kubectl.record(name)["status"]["cluster"] for name in names} == {cluster}

    buried = kubectl.record("abroad-buried")["status"] | {"cluster": ELSEWHERE}
    content = base64.b64encode(gzip.compress(json.dumps(buried).encode())).decode()
    kubectl.run("delete", "addon.rendimiento.ai", "abroad-buried")
    place = {"name": "addon-abroad-buried-tombstone", "namespace": "rendimiento-system"}
    kubectl.create({"apiVersion": "v1", "kind": "Secret", "metadata": place, "data": {"status": content}})
    for name in ("abroad", "abroad-removed"):
        move(kubectl, name, ELSEWHERE)
    for name in names[:2]:
        stage.addon(name, config_map("stays", data={"key": "other"}))
    stage.repository.remove(stage.repository.file_of("abroad-removed"))
    preview = stage.preview()
    mark = audit.mark()
    refused = stage.sync()
    asked = audit.since(mark)
    move(kubectl, "abroad", None)
    return Abroad(stage, preview, refused, asked, stage.sync())


def move(kubectl: Kubectl, addon: str, cluster: str | None) -> None:
    patch = json.dumps({"status": {"cluster": cluster}})
    kubectl.run("patch", "radd", addon, "--subresource=status", "--type=merge", f"--patch={patch}")


@pytest.mark.parametrize("name", ["abroad", "abroad-buried", "abroad-removed"])
def test_a_record_of_another_cluster_stops_the_add_on(abroad: Abroad, name: str) -> None:
    for runs in (abroad.preview, abroad.refused):
        run = runs[name]
        assert run.outcome.phase == "Error"
        assert f"about another cluster (uid of namespace kube-system: {ELSEWHERE}, here " in run.outcome.message
        assert f"kubectl patch radd {name} --subresource status" in run.outcome.message
        assert run.planned is None


def test_nothing_of_it_is_touched(abroad: Abroad, kubectl: Kubectl) -> None:
    assert not abroad.asked.on_objects.writes, abroad.asked.on_objects.writes
    record = kubectl.record("abroad-removed")
    assert record["status"]["cluster"] == ELSEWHERE
    assert record["status"]["phase"] == "Error"


def test_it_is_taken_over_on_purpose(abroad: Abroad, kubectl: Kubectl) -> None:
    all_synced(abroad.taken, ["abroad"])
    assert pruned(abroad.taken["abroad"]) == ["ConfigMap abroad/left"]
    cluster = kubectl.get("namespace", "kube-system")["metadata"]["uid"]
    assert kubectl.record("abroad")["status"]["cluster"] == cluster


def test_what_others_took_or_made_again_is_let_go_of_with_a_note(
    bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stage = Stage.of(tmp_path_factory.mktemp("swapped"), "swapped", bootstrapped, kubectl)
    names = ("stays", "relabelled", "remade", "restored", "gone")
    stage.addon("swapped", *map(config_map, names))
    all_synced(stage.sync())
    kubectl.run("label", "configmap", "relabelled", f"{LABEL}-", "--namespace", "swapped")
    kubectl.run("delete", "configmap", "remade", "restored", "gone", "--namespace", "swapped")
    kubectl.create(config_map("remade", "swapped"), config_map("restored", "swapped", labels={LABEL: "swapped"}))
    stage.addon("swapped", config_map("stays"))

    run = stage.sync()["swapped"]

    assert (run.outcome.phase, run.failure, pruned(run)) == ("Synced", "", [])
    assert run.outcome.notes == [
        "ConfigMap swapped/relabelled: is no longer labelled as this add-on's",
        "ConfigMap swapped/remade: was made again by somebody else",
    ]
    # What still carries the label is still told of.
    assert kept(run) == {"ConfigMap swapped/restored": "was deleted and made again by somebody else"}
    found = {"ConfigMap swapped/stays", "ConfigMap swapped/restored", "Namespace swapped"}
    assert stage.inventory("swapped").keys() == found
