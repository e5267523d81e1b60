"""Who does what: the platform user keeps the records and acts through one account; a viewer can only preview."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from local_cluster import Cluster
from tests.chart_repository import write_chart
from tests.integration.audit import Audit, Requests
from tests.integration.engine import AddonRun, Engine
from tests.integration.identities import account, grant, log_in, rule
from tests.integration.kubectl import Kubectl
from tests.integration.objects import (
    Object,
    config_map,
    custom,
    custom_kind,
    deployment,
    job,
    namespace,
    secret,
)
from tests.integration.scene import Observed, Scene

_NUMBERS = count()
ACTING = "system:serviceaccount:rendimiento-system:rendimiento-addons"


@dataclass(frozen=True)
class Story:
    """Installed by ``platform`` acting as the account; a change previewed by ``viewer``; then synced without acting."""

    acting: Observed
    viewed: Observed
    bare: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("identity")
    repository = scene.repository
    settings = config_map("settings", data={"version": "1"})
    repository.addon("served", deployment("app"), settings, config_map("goes"), createNamespace=True)
    repository.commit()
    acting = scene.observe(user="platform", impersonate=ACTING)

    settings = config_map("settings", data={"version": "2"})
    repository.addon("served", deployment("app"), settings, config_map("comes"), createNamespace=True)
    broken = deployment("broken")
    broken["spec"]["template"]["spec"]["hostNetwork"] = "maybe"
    repository.addon("served-badly", broken, namespace="served")
    repository.commit()
    viewed = scene.observe(user="viewer", check=True, diff=True, fail_on=["Error", "unknown"])
    repository.remove(repository.file_of("served-badly"))
    repository.commit()
    return Story(acting, viewed, scene.observe(user="platform"))


def test_addons_are_installed_as_the_acting_account_only(story: Story) -> None:
    assert story.acting.result.succeeded().phases == {"served": "Synced"}
    writes = story.acting.requests.on_objects.writes
    assert {(request.caller, request.user) for request in writes} == {("platform", ACTING)}
    assert {request.resource for request in writes} == {"namespaces", "deployments", "configmaps"}


def test_addons_are_read_as_the_acting_account_only(story: Story) -> None:
    looked_at = [request for request in story.acting.requests.on_objects if request.resource]
    assert {request.user for request in looked_at} == {ACTING}


def test_records_and_locks_are_the_callers(story: Story) -> None:
    requests = story.acting.requests
    assert {request.user for request in requests.on_records.writes} == {"platform"}
    assert {request.user for request in requests if request.on_lock} == {"platform"}


def test_nothing_is_refused_on_the_way(story: Story) -> None:
    assert not [str(request) for request in story.acting.requests if request.code in (401, 403)]


def test_a_viewers_preview_has_no_writing_verb_in_the_audit_log(story: Story) -> None:
    """No dry run and no review either: the viewer may do neither, and reads alone tell enough."""
    assert story.viewed.requests.users() == {"viewer"}
    assert not story.viewed.requests.with_writing_verbs, story.viewed.requests.with_writing_verbs
    assert {request.verb for request in story.viewed.requests} <= {"get", "list", "watch"}
    note = "this preview only reads, since its user may not read the Secret addon-key"
    assert story.viewed.result.output.count(note) == 1
    assert "rendimiento-addons-previewer" in story.viewed.result.output


def test_what_reading_tells_is_told(story: Story) -> None:
    result = story.viewed.result
    counts = result.counts("served")
    assert (counts["created"], counts["pruned"]) == (1, 1)
    assert "ConfigMap served/comes (create, unknown)" in result.output
    assert "ConfigMap served/goes (prune, verified)" in result.output
    assert "its schema refuses it: spec.template.spec.hostNetwork" in result.why("served-badly")


def test_what_a_viewer_can_not_check_is_unknown(story: Story) -> None:
    counts = story.viewed.result.counts("served")
    assert counts["unknown"] >= 3
    assert "unchanged" not in counts and "updated" not in counts
    assert "ConfigMap served/settings (blocked, unknown): no right to dry-run it" in story.viewed.result.output
    assert "could not be checked" in story.viewed.result.failed().error
    assert story.viewed.result.phases["served"] != "Error"


def test_missing_rights_are_named_and_nothing_is_lost(story: Story) -> None:
    """The platform user may not touch what add-ons install; forgetting addon_impersonate has to be obvious."""
    assert story.bare.result.failed().phases["served"] == "Error"
    why = story.bare.result.why("served")
    assert why.startswith("platform lacks rights that a sync needs: get, create, patch configmaps in namespace served")
    assert "get, create, patch namespaces (to apply Namespace served)" in why
    assert "| get, create, patch  namespaces" in story.bare.result.output, "a table below the summary has them all"
    assert "addon_impersonate" in why, "the message has to say what to do"
    assert not story.bare.requests.on_objects.writes
    assert "ConfigMap served/goes" in story.bare.objects
    assert story.bare.objects["ConfigMap served/settings"]["data"] == {"version": "1"}


# Every way in which an object can change, and a preview of each by who only reads

GROUP = "identity.test"
SECRET = "Secret identity-changes/password"
REPLACE = {"rendimiento.ai/replace": "true"}
CHART = """
apiVersion: v1
kind: ConfigMap
metadata: {name: found}
data:
  secret: {{ with lookup "v1" "Secret" .Release.Namespace "password" }}{{ .metadata.name }}{{ else }}none{{ end }}
"""


@dataclass(frozen=True)
class Changes:
    """A second sync of ``platform`` as the account, in which everything changes; then a preview by ``viewer``."""

    synced: dict[str, AddonRun]
    requests: Requests
    viewed: dict[str, AddonRun]
    looks: Requests


@pytest.fixture(scope="module")
def changes(new_scene: Callable[[str], Scene], bootstrapped: Cluster, kubectl: Kubectl, audit: Audit) -> Changes:
    repository = (scene := new_scene("identity-changes")).repository
    platform = Engine(
        repository.path,
        repository.folder,
        bootstrapped.kubeconfig_of("platform"),
        scene.cache,
        impersonate=ACTING,
        helm=str(bootstrapped.programs["helm"]),
    )
    viewer = replace(platform, kubeconfig=bootstrapped.kubeconfig_of("viewer"), impersonate="")
    place = "identity-changes"
    kubectl.create(namespace(place))

    def addon(name: str, *objects: Object, **fields: Any) -> None:
        repository.addon(f"identity-{name}", *objects, namespace=place, **fields)

    def run(engine: Engine, *, check: bool) -> tuple[dict[str, AddonRun], Requests]:
        repository.commit()
        mark = audit.mark()
        runs = engine.run(check=check)
        return runs, audit.since(mark)

    migrate = job("migrate", annotations=REPLACE)
    addon("changing", config_map("settings"), config_map("goes"), migrate)
    addon("giver", config_map("handed-over"), config_map("of-giver"))
    addon("taker", config_map("of-taker"))
    first, _requests = run(platform, check=False)
    assert {one.outcome.phase for one in first.values()} == {"Synced"}, [one.failure for one in first.values()]

    for manager in ("kubectl", "helm"):
        text = json.dumps(config_map(f"by-{manager}", place))
        kubectl.run("apply", "--server-side", f"--field-manager={manager}", "--filename=-", text=text)
    again = copy.deepcopy(migrate)
    again["spec"]["template"]["spec"]["containers"][0]["image"] = "another"
    fixed = {**config_map("fixed"), "immutable": True}
    password = secret("password", data={"password": "swordfish"})
    addon("changing", config_map("settings", data={"version": "2"}), again)
    addon("giver", config_map("of-giver"))
    addon("taker", config_map("of-taker"), config_map("handed-over"))
    # What is adopted is left as it is here, and changed in the preview.
    addon("adopting", config_map("by-kubectl"), config_map("by-helm"), adopt=True)
    addon("kinds", custom_kind(GROUP, "Gauge"), custom(GROUP, "Gauge", "one", size=1))
    addon("secret", password, fixed, config_map("there"))
    synced, requests = run(platform, check=False)

    # Who may see everything but Secrets sees new kinds, too.
    grant(kubectl, "identity-viewer", "viewer", [rule(GROUP, "*", "get list watch")])
    kubectl.run("apply", "--server-side", "--filename=-", text=json.dumps(config_map("by-others", place)))
    other = custom_kind(GROUP, "Gauge")
    other["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    ]
    addon("adopting", *(config_map(f"by-{who}", data={"version": "2"}) for who in ("kubectl", "helm")))
    addon("others", config_map("by-others"), adopt=True)
    addon("kinds", other, custom(GROUP, "Gauge", "one", size=2))
    addon("new-kinds", custom_kind(GROUP, "Coming"), custom(GROUP, "Coming", "one", size=1))
    addon("secret", {**password, "data": {}}, {**fixed, "data": {"key": "changed"}}, config_map("there"))
    chart = "identity-chart"
    write_chart(repository.path, chart, "1.0.0", {"templates/a.yaml": CHART})
    repository.define(chart, namespace=place, git={"path": chart})
    viewed, looks = run(viewer, check=True)
    return Changes(synced, requests, viewed, looks)


def test_every_kind_of_change_is_the_acting_accounts(changes: Changes) -> None:
    synced = changes.synced
    assert {run.outcome.phase for run in synced.values()} == {"Synced"}, [run.failure for run in synced.values()]
    actions = {
        (name.removeprefix("identity-"), item.key.name): item.action
        for name, run in synced.items()
        if run.planned
        for item in run.planned.items
        if item.pending
    }
    assert actions == {
        ("changing", "settings"): "update",
        ("changing", "goes"): "prune",
        ("changing", "migrate"): "replace",
        ("taker", "handed-over"): "adopt",
        ("adopting", "by-kubectl"): "adopt",
        ("adopting", "by-helm"): "adopt",
        ("kinds", f"gauges.{GROUP}"): "create",
        ("kinds", "one"): "create",
        ("secret", "password"): "create",
        ("secret", "fixed"): "create",
        ("secret", "there"): "create",
    }
    writes = changes.requests.on_objects.writes
    assert {(request.caller, request.user) for request in writes} == {("platform", ACTING)}
    # What is created is applied, too: a patch that is answered with 201.
    assert {(request.verb, request.code) for request in writes} == {("patch", 200), ("patch", 201), ("delete", 200)}
    assert {request.name for request in writes} >= {name for _addon, name in actions}


def test_a_viewers_preview_only_reads_whatever_there_is_to_change(changes: Changes) -> None:
    assert changes.looks.users() == {"viewer"}
    assert not changes.looks.with_writing_verbs, changes.looks.with_writing_verbs
    assert {request.verb for request in changes.looks} <= {"get", "list", "watch"}
    told = {
        (name.removeprefix("identity-"), item.key.name): (item.action, item.verdict)
        for name, run in changes.viewed.items()
        if run.planned
        for item in run.planned.items
    }
    blocked = ("blocked", "unknown")
    assert told == {
        ("adopting", "by-kubectl"): blocked,
        ("adopting", "by-helm"): blocked,
        ("changing", "settings"): blocked,
        ("changing", "migrate"): blocked,
        ("giver", "of-giver"): blocked,
        ("taker", "of-taker"): blocked,
        ("taker", "handed-over"): blocked,
        ("kinds", f"gauges.{GROUP}"): blocked,
        ("kinds", "one"): blocked,
        ("new-kinds", f"comings.{GROUP}"): ("create", "unknown"),
        ("new-kinds", "one"): ("create", "simulated"),
        ("others", "by-others"): blocked,
        ("secret", "password"): blocked,
        ("secret", "fixed"): blocked,
        ("secret", "there"): blocked,
        ("chart", "found"): ("create", "unknown"),
    }
    assert 'user "viewer" may not get secrets in namespace' in changes.viewed["identity-secret"].item(SECRET).reason
    chart = changes.viewed["identity-chart"].bundle
    assert chart and 'secrets "password" is forbidden: User "viewer"' in " ".join(chart.warnings)
    assert {run.outcome.phase for run in changes.viewed.values()} == {""}


# Acting as an account


@pytest.fixture(scope="module")
def people(kubectl: Kubectl) -> str:
    """A namespace with a service account that has no rights."""
    kubectl.run("create", "namespace", "people")
    kubectl.run("--namespace", "people", "create", "serviceaccount", "powerless")
    return "people"


@pytest.fixture
def engine(new_scene: Callable[[str], Scene], bootstrapped: Cluster) -> Engine:
    """Over one add-on, as the administrator."""
    scene = new_scene(f"account-{next(_NUMBERS)}")
    scene.repository.addon("never-installed", config_map("settings"))
    scene.repository.commit()
    return Engine(scene.repository.path, scene.repository.folder, bootstrapped.kubeconfig, scene.cache)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (account("people", "absent"), "service account people/absent does not exist. Correct the name, or run "),
        (account("nowhere", "powerless"), "service account nowhere/powerless does not exist"),
        ("system:serviceaccount:powerless", "is no name of a service account. Give system:serviceaccount:NAMESPACE:"),
    ],
)
def test_an_account_that_does_not_exist_is_told_before_anything(
    engine: Engine, people: str, audit: Audit, name: str, said: str, check: bool
) -> None:
    mark = audit.mark()
    with pytest.raises(AddonError) as raised:
        acting_as(engine, name).run(check=check)
    assert said in str(raised.value)
    assert str(raised.value).startswith("addon_impersonate: ")
    assert not audit.since(mark).with_writing_verbs


def test_who_may_not_look_for_the_account_has_it_asked_itself(
    engine: Engine, people: str, bootstrapped: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    """The account can say that it does not exist where all accounts may look at accounts."""
    login = log_in(bootstrapped, kubectl, people, "blind", tmp_path)
    names = {"resourceNames": ["absent", "powerless"]}
    blind = [rule("", "serviceaccounts", "impersonate") | names, rule("rendimiento.ai", "addons", "get list")]
    grant(kubectl, "blind", account(people, "blind"), blind)
    with pytest.raises(AddonError, match="people/absent does not exist") as raised:
        grant(kubectl, "look", account(people, "absent"), [rule("", "serviceaccounts", "get")])
        acting_as(engine, account(people, "absent"), login).run(check=True)
    assert "addon_impersonate" in str(raised.value)
    # One that is there and may do nothing: no error of the account, but of all that it should do.
    run = acting_as(engine, account(people, "powerless"), login).run(check=True)["never-installed"]
    assert run.planned is not None and run.planned.counts() == {"blocked": 1, "unknown": 1}


@pytest.mark.parametrize(
    ("case", "rights"),
    [
        ("nothing", []),
        ("another", [rule("", "serviceaccounts", "impersonate") | {"resourceNames": ["other"]}]),
        ("constrained", [rule("authentication.k8s.io", "serviceaccounts", "impersonate:serviceaccount")]),
    ],
)
def test_who_may_not_act_as_the_account_is_told_so_before_anything(
    engine: Engine,
    people: str,
    bootstrapped: Cluster,
    kubectl: Kubectl,
    audit: Audit,
    tmp_path: Path,
    case: str,
    rights: list[dict[str, Any]],
) -> None:
    """Each of the texts in which the server says it."""
    user = f"without-{case}"
    login = log_in(bootstrapped, kubectl, people, user, tmp_path)
    grant(kubectl, user, account(people, user), [rule("rendimiento.ai", "addons", "get list"), *rights])
    mark = audit.mark()
    with pytest.raises(AddonError) as raised:
        acting_as(engine, account(people, "powerless"), login).run(check=True)
    said = str(raised.value)
    assert f'user "{account(people, user)}" may not act as {account(people, "powerless")}. ' in said
    assert "addon_platform_subjects, or leave addon_impersonate empty" in said
    assert not audit.since(mark).with_writing_verbs


def test_constrained_impersonation_is_enough(
    engine: Engine, people: str, bootstrapped: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    """Of servers that know it: the right to act as the account in these requests alone."""
    login = log_in(bootstrapped, kubectl, people, "constrained", tmp_path)
    verbs = "get list watch create patch delete"
    constrained = [
        rule("rendimiento.ai", "addons", "get list"),
        rule("authentication.k8s.io", "serviceaccounts", "impersonate:serviceaccount"),
        rule("*", "*", " ".join(f"impersonate-on:serviceaccount:{verb}" for verb in verbs.split())),
    ]
    grant(kubectl, "constrained", account(people, "constrained"), constrained)
    run = acting_as(engine, ACTING, login).run(check=True)["never-installed"]
    assert run.planned is not None
    assert "namespace never-installed does not exist" in run.planned.gate_reason


def acting_as(engine: Engine, name: str, kubeconfig: Path | None = None) -> Engine:
    return replace(engine, impersonate=name, kubeconfig=kubeconfig or engine.kubeconfig)
