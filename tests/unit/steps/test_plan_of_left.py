"""What left the source is pruned, unless the render says nothing final about what is in the source."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.snapshot import ObjectMetadata, Snapshot
from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import Bundle
from ansible_collections.rendimiento.addons.plugins.module_utils.model.names import OWNER_LABEL
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.open_renders import why_open
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.plan_of_left import LeftPlanner
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.shown_states import States
from tests.unit.steps.made_run import FACTS, MadeRun, config, inventory, key
from tests.unit.steps.sources.made_cluster import MadeCluster

SERVED = [Resource("", "v1", "ConfigMap", "configmaps", True, ("get",), ())]
KIND = Resource("x.io", "v1", "Thing", "things", True, ("get",), ())
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.x.io"},
    "spec": {"group": "x.io", "names": {"kind": "Thing"}, "scope": "Namespaced",
             "versions": [{"name": "v1", "served": True}]},
}  # fmt: skip


def left(run: MadeRun, *, served: list[Resource] = SERVED, prune: bool = True, **bundle: Any) -> PlanItem:
    """What the plan says of an object of the inventory that the bundle has not."""
    run.add("operator", objects=[DEFINITION])
    status = {"objects": inventory(here="applied", left="applied")}
    run.add("app", objects=[config("here")], status=status, prune=prune, dependsOn=["operator"])
    run.serves(*served)
    live = ObjectMetadata(key("left"), FACTS.uid, "7", labels={OWNER_LABEL: "app"})
    run.directory.write_json("snapshot.json", Snapshot({live.key: live}, {("", "ConfigMap")}).to_json())
    made: Bundle | None = run.directory.bundle("app")
    assert made is not None
    for name, value in bundle.items():
        setattr(made, name, value)
    found = LeftPlanner(run.session, made, States(), why_open(run.session, made), fresh=False).left(set())
    (item,) = found.items
    assert (item.key, found.gone, found.notes) == (key("left"), [], [])
    return item


def test_what_left_the_source_is_pruned(run: MadeRun, cluster: MadeCluster) -> None:
    item = left(run)
    assert (item.action, item.verdict, item.reason) == ("prune", "verified", "")


@pytest.mark.parametrize("prune", [True, False])
def test_what_is_not_in_an_incomplete_render_stays(run: MadeRun, cluster: MadeCluster, prune: bool) -> None:
    item = left(run, connected=True, incomplete="rendered without the cluster: no right", prune=prune)
    assert (item.action, item.verdict, item.kept_as) == ("keep", "verified", "stale")
    assert item.reason == "may be in the source all the same: rendered without the cluster: no right"


@pytest.mark.parametrize(
    ("connected", "served", "action"),
    [(True, SERVED, "keep"), (True, [*SERVED, KIND], "prune"), (False, SERVED, "prune")],
)
def test_what_a_chart_does_not_find_yet_stays(
    run: MadeRun, cluster: MadeCluster, connected: bool, served: list[Resource], action: str
) -> None:
    """Its dependency brings a kind in this run, and then it is rendered again."""
    item = left(run, connected=connected, served=served)
    assert (item.action, "Thing" in item.reason) == (action, action == "keep")


@pytest.mark.parametrize("fresh", [False, True])
def test_after_the_record_was_lost_it_tells_what_could_not_be_looked_for(
    run: MadeRun, cluster: MadeCluster, fresh: bool
) -> None:
    cluster.forbidden.add("secrets")
    verbs = ("get", "list", "patch")
    run.add("app", objects=[config("here")])
    run.serves(
        Resource("", "v1", "Secret", "secrets", True, verbs, ()),
        Resource("", "v1", "ConfigMap", "configmaps", True, verbs, ()),
        # Nothing that is applied is of this kind.
        Resource("", "v1", "Binding", "bindings", True, ("list",), ()),
        stale=["y.io/v1"],
    )
    live = ObjectMetadata(key("left"), FACTS.uid, "7", labels={OWNER_LABEL: "app"})
    known = Snapshot({live.key: live}, {("", "ConfigMap")}, {"/Old": "is of another add-on"})
    run.directory.write_json("snapshot.json", known.to_json())
    bundle = run.directory.bundle("app")
    assert bundle is not None
    cluster.objects["/api/v1/configmaps"] = {"metadata": {}, "items": []}
    found = LeftPlanner(run.session, bundle, States(), "", fresh).left(set())
    assert [one.partition(" (")[0] for one in found.unknown] == ["API group y.io", "Secret"]
    # What was read when the run began is read again for a plan that is made anew.
    assert ("/api/v1/configmaps" in [path for _, _, path in cluster.requests]) == fresh


def test_who_may_not_look_for_claims_is_warned(run: MadeRun, cluster: MadeCluster) -> None:
    """Objects of this kind seldom own one, so it goes all the same."""
    cluster.failing["/persistentvolumeclaims"] = 403
    claims = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, ("list",), ())
    item = left(run, served=[*SERVED, claims])
    (warning,) = item.warnings
    assert item.action == "prune"
    assert warning.startswith("a claim in namespace web would go with it, should it own one: ")
