"""Objects that two add-ons lay claim to."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import Bundle, BundleObject
from ansible_collections.rendimiento.addons.plugins.module_utils.model.inventory import EntryState
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Action, PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.claims import Claims, settle_claims
from tests.unit.steps.made_run import MadeRun, config, inventory, item, key, synced

ASK = '. To take it from there, annotate it in the source with rendimiento.ai/adopt: "true"'


def settled(run: MadeRun, name: str, made: PlanItem) -> PlanItem:
    """The item of that add-on after all claims are settled, twice: a replan settles again what the queue settled."""
    run.add(name, items=[made])
    session = run.session
    for _ in range(2):
        plan = run.plan(name)
        settle_claims(session, plan, Claims.of(session, session.directory.bundles()))
        session.directory.save_plan(plan)
    (found,) = run.plan(name).items
    return found


@pytest.mark.parametrize("owner", [None, "", "app", "other"])
def test_two_add_ons_with_one_object_are_a_clash(run: MadeRun, owner: str | None) -> None:
    run.add("other", objects=[config("a")])
    made = settled(run, "app", item("a", "update", owner=owner, source="app/a.yaml"))
    assert (made.action, made.verdict) == ("blocked", "verified")
    assert made.reason == "is in two add-ons: here (app/a.yaml) and in other (other.yaml)"


def test_an_object_that_moves_is_not_pruned(run: MadeRun) -> None:
    run.add("other", objects=[config("a")])
    made = settled(run, "app", item("a", "prune", owner="app"))
    assert (made.action, made.reason) == ("keep", "moves to add-on other")


def test_an_object_that_moves_under_another_api_group_is_not_pruned(run: MadeRun) -> None:
    """One object can be served in two API groups; only its uid tells."""
    moved = item("a", "adopt", key=key("a", "Event", "events.k8s.io"), owner="app", uid="one")
    run.add("other", objects=[config("b")], items=[moved])
    made = settled(run, "app", item("a", "prune", key=key("a", "Event"), owner="app", uid="one"))
    assert (made.action, made.reason) == ("keep", "moves to add-on other")


@pytest.mark.parametrize(("state", "action"), [("pending", "keep"), ("applied", "keep"), ("stale", "prune")])
def test_what_an_add_on_without_a_plan_has_is_not_pruned(run: MadeRun, state: EntryState, action: str) -> None:
    run.add_record("broken", synced(objects=inventory(a=state))).add_invalid("broken")
    made = settled(run, "app", item("a", "prune", owner="app"))
    assert made.action == action
    assert made.reason == ("add-on broken has it, too, whose definition is invalid" if action == "keep" else "")


def test_what_is_kept_for_good_is_not_said_to_move(run: MadeRun) -> None:
    run.add("other", objects=[config("a")])
    made = settled(run, "app", item("a", "keep", owner="app", reason="protected", kept_as="retained"))
    assert made.reason == "protected"


@pytest.mark.parametrize("action", ["prune", "keep"])
def test_what_left_the_source_is_judged_by_nothing_else(run: MadeRun, action: str) -> None:
    run.add("other", objects=[config("b")])
    made = settled(run, "app", item("a", action, owner="app", reason="r"))  # type: ignore[arg-type]
    assert (made.action, made.reason) == (action, "r")


def test_an_object_is_taken_from_an_add_on_that_gave_it_up(run: MadeRun) -> None:
    run.add("other", objects=[config("b")], status=synced(objects=inventory(a="applied")))
    made = settled(run, "app", item("a", "adopt", owner="other"))
    assert (made.action, made.owner, made.reason) == ("adopt", "other", "handed over by add-on other")


def test_an_object_is_taken_from_an_add_on_whose_definition_left_git(run: MadeRun) -> None:
    run.add_record("other", synced(objects=inventory(a="applied")))
    run.info.removed.append("other")
    assert settled(run, "app", item("a", "update", owner="other")).action == "update"


def test_absent_add_ons_keep_what_their_inventories_hold(run: MadeRun) -> None:
    held = synced(objects=inventory(a="applied"))
    run.add_record("broken", held).add_invalid("broken")
    run.add("left-out", status=held, here=False)
    run.add("unrendered", status=held, objects=None)
    reasons = {
        "broken": "belongs to add-on broken, whose definition is invalid",
        "left-out": "belongs to add-on left-out, which is not part of this run",
        "unrendered": "belongs to add-on unrendered, which could not be rendered",
    }
    for owner, reason in reasons.items():
        made = settled(run, f"app-{owner}", item("a", "adopt", owner=owner))
        assert (made.action, made.reason) == ("blocked", reason + ASK)


def test_a_label_that_no_inventory_knows_makes_a_foreign_object(run: MadeRun) -> None:
    run.add_record("broken", synced()).add_invalid("broken")
    for owner in ("broken", "never-heard-of"):
        made = settled(run, f"app-{owner}", item("a", "update", owner=owner))
        assert (made.action, made.foreign) == ("update", True)
        assert made.reason == f"its label names add-on {owner}, which does not have it"


def unlabelled(run: MadeRun, name: str, action: Action = "adopt", **fields: Any) -> PlanItem:
    """An item of that add-on for an object that an inventory has, and that no label says anything of."""
    return settled(run, name, item("a", action, owner="", **fields))


def test_what_another_record_holds_is_not_adopted_without_its_label(run: MadeRun) -> None:
    run.add("other", status=synced(objects=inventory(a="applied")), here=False)
    made = unlabelled(run, "app", uid="uid")
    assert (made.action, made.reason) == ("blocked", f"belongs to add-on other, which is not part of this run{ASK}")
    # With another uid, somebody else made it anew.
    assert unlabelled(run, "app2", uid="another").action == "adopt"


def test_what_another_record_holds_can_be_asked_for(run: MadeRun) -> None:
    run.add("other", status=synced(objects=inventory(a="applied")), here=False)
    made = unlabelled(run, "app", uid="uid", adoption_asked=True)
    assert (made.action, made.reason) == ("adopt", "taken from add-on other, as its source asks")


@pytest.mark.parametrize(("state", "action"), [("applied", "blocked"), ("pending", "blocked"), ("stale", "create")])
def test_what_an_absent_add_on_makes_again_is_not_created(run: MadeRun, state: EntryState, action: str) -> None:
    run.add("other", status=synced(objects=inventory(a=state)), here=False)
    assert settled(run, "app", item("a", "create")).action == action


def test_what_an_add_on_of_the_run_gave_up_is_created(run: MadeRun) -> None:
    run.add("other", objects=[config("b")], status=synced(objects=inventory(a="applied")))
    made = settled(run, "app", item("a", "create"))
    assert (made.action, made.reason) == ("create", "")


def test_what_only_the_label_says_is_ours_is_still_the_other_records(run: MadeRun) -> None:
    run.add("other", status=synced(objects=inventory(a="applied")), here=False)
    assert settled(run, "app", item("a", owner="app", uid="uid")).action == "blocked"


def test_a_suspended_add_on_keeps_what_it_has(run: MadeRun) -> None:
    run.add("other", objects=[config("b")], status=synced(objects=inventory(a="applied")), suspend=True)
    made = settled(run, "app", item("a", "adopt", owner="other", uid="uid"))
    assert (made.action, made.reason) == ("blocked", f"belongs to add-on other, which is suspended or paused{ASK}")


def test_what_is_refused_anyway_keeps_its_reason(run: MadeRun) -> None:
    made = settled(run, "app", item("a", "blocked", owner="gone", reason="belongs to Helm release x"))
    assert (made.action, made.reason) == ("blocked", "belongs to Helm release x")


@pytest.mark.parametrize("owner", ["app", "", None])
def test_own_new_and_foreign_objects_are_left_as_they_are(run: MadeRun, owner: str | None) -> None:
    made = settled(run, "app", item("a", "update", owner=owner))
    assert (made.action, made.owner, made.reason) == ("update", owner, "")


def test_a_namespace_may_be_created_by_several(run: MadeRun) -> None:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
    run.add("other")
    made = BundleObject(manifest, "createNamespace", True)
    run.directory.save_bundle(Bundle("other", "plain", "", "", "", "", [made]))
    namespace = BundleObject(manifest, "").key
    assert settled(run, "app", item("web", "create", key=namespace, generated=True)).action == "create"
    assert settled(run, "app2", item("web", "create", key=namespace)).action == "create"
