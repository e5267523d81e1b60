"""A bundle from a folder: identities that hold, whatever the cluster knows of the kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.snapshot import ObjectMetadata, Snapshot
from ansible_collections.rendimiento.addons.plugins.module_utils.model.bundle import Bundle
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.names import OWNER_LABEL
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.model.outcome import ObjectResult, Outcome
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.render import render
from tests.unit.gitops import Repository
from tests.unit.steps.made_run import MadeRun, config, key
from tests.unit.steps.sources.made_cluster import MadeCluster

SERVED = [
    Resource("", "v1", "ConfigMap", "configmaps", True, ("get",), ()),
    Resource("", "v1", "Namespace", "namespaces", False, ("get",), ()),
    Resource("x.io", "v2", "Thing", "things", True, ("get",), ()),
    Resource(
        "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False, ("get",), ()
    ),
]


def crd(scope: str = "Namespaced", **spec: Any) -> dict[str, Any]:
    versions = [{"name": "v1", "served": True}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.y.io"},
        "spec": {"group": "y.io", "names": {"kind": "Widget"}, "scope": scope, "versions": versions, **spec},
    }


def widget(api_version: str = "y.io/v1", kind: str = "Widget") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "w"}}


def made(run: MadeRun, repository: Repository, *manifests: Any, name: str = "app", **definition: Any) -> list[str]:
    """Identities of the bundle's objects."""
    files = {f"{name}/{number}.json": json.dumps(manifest) for number, manifest in enumerate(manifests)}
    run.info.commit = repository.commit(files)
    run.info.repository = str(repository.path)
    run.add(name, objects=None, **definition)
    run.serves(*SERVED)
    bundle = render(run.session, name, print)
    assert run.directory.bundle(name) == bundle
    return [str(item.key) for item in bundle.objects]


@pytest.mark.parametrize(
    ("manifests", "keys"),
    [
        ([config("a")], ["ConfigMap web/a"]),
        ([widget("x.io/v2", "Thing")], ["Thing web/w"]),
        # A version that is gone: the object is still the same one, in its namespace.
        ([widget("x.io/v1beta1", "Thing")], ["Thing web/w"]),
        ([widget()], ["Widget w"]),
        ([widget(), crd()], ["Widget web/w", "CustomResourceDefinition widgets.y.io"]),
        ([widget("y.io/v2"), crd()], ["Widget web/w", "CustomResourceDefinition widgets.y.io"]),
        ([widget(), crd("Cluster")], ["Widget w", "CustomResourceDefinition widgets.y.io"]),
        ([{"apiVersion": "v1", "kind": "List", "items": [crd(), widget()]}],
         ["CustomResourceDefinition widgets.y.io", "Widget web/w"]),
        ([{"apiVersion": "v1", "kind": "List", "metadata": [], "items": None}], []),
        ([{**crd(), "spec": "text"}, config("a")], ["CustomResourceDefinition widgets.y.io", "ConfigMap web/a"]),
        ([crd(versions=[{"name": ["v1"], "served": True}]), config("a")],
         ["CustomResourceDefinition widgets.y.io", "ConfigMap web/a"]),
    ],
)  # fmt: skip
def test_identities(run: MadeRun, repository: Repository, manifests: list[Any], keys: list[str]) -> None:
    assert made(run, repository, *manifests) == keys


def test_kinds_of_dependencies_are_known(run: MadeRun, repository: Repository) -> None:
    run.add("operator", objects=[crd()])
    assert made(run, repository, widget(), dependsOn=["operator"]) == ["Widget web/w"]


@pytest.mark.parametrize("manifest", ["text", [1], {"kind": "A"}, {"apiVersion": ["v1"], "kind": "A"}, 5])
def test_an_odd_document_is_the_add_ons_error_and_names_it(run: MadeRun, repository: Repository, manifest: Any) -> None:
    with pytest.raises(AddonError, match=r"^add-on app: app/0.json: "):
        made(run, repository, manifest)
    outcome = run.directory.outcome("app")
    assert (outcome.phase, outcome.error[:12]) == ("Error", "add-on app: ")
    assert run.directory.bundle("app") is None


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (["/ConfigMap/web/b", "/ConfigMap/web/a"],
         "add-on app: a cycle, each comes after the next: ConfigMap web/a -> ConfigMap web/b (depends-on) -> "
         "ConfigMap web/a (depends-on)"),
        (["b"], "add-on app: ConfigMap web/a: annotation rendimiento.ai/depends-on: 'b' is not "
         "<group>/<kind>/<namespace>/<name>. The core group and the namespace of cluster-scoped kinds are empty: "
         "/Service/web/api."),
    ],
)  # fmt: skip
def test_what_can_not_be_put_in_order_is_known_before_anything_is_written(
    run: MadeRun, repository: Repository, annotations: list[str], message: str
) -> None:
    manifests = [config(name) for name in "ab"]
    for manifest, text in zip(manifests, annotations, strict=False):
        manifest["metadata"]["annotations"] = {"rendimiento.ai/depends-on": text}
    with pytest.raises(AddonError) as caught:
        made(run, repository, *manifests)
    assert str(caught.value) == message


def test_the_state_namespace_of_the_run_is_protected(run: MadeRun, repository: Repository) -> None:
    run.info.options.state_namespace = "mine"
    secret = {**config("addon-key", "mine"), "kind": "Secret"}
    with pytest.raises(AddonError, match=r"^add-on app: Secret mine/addon-key: is an object of rendimiento.addons it"):
        made(run, repository, secret)


def test_a_second_render_of_a_run_is_the_stored_one(run: MadeRun, repository: Repository) -> None:
    made(run, repository, config("a"))
    repository.commit({"app/0.json": None, "app/1.json": json.dumps(config("b"))})
    assert [item.key.name for item in render(run.session, "app", print).objects] == ["a"]


UPGRADE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: told}
data: {upgrade: "{{ .Release.IsUpgrade }}"}
"""
CHART = "{apiVersion: v2, name: app, version: 1.0.0}"


@pytest.mark.parametrize(
    ("status", "labelled", "upgrade"),
    [
        (None, "", "false"),
        ({}, "", "false"),
        ({"appliedHash": "x"}, "", "true"),
        # The record was lost, and the add-on runs: nobody installs it anew.
        (None, "app", "true"),
        (None, "other", "false"),
    ],
)
def test_install_and_upgrade(
    run: MadeRun,
    repository: Repository,
    programs: dict[str, Path],
    status: dict[str, Any] | None,
    labelled: str,
    upgrade: str,
) -> None:
    run.info.options.helm = str(programs["helm"])
    run.info.commit = repository.commit({"app/Chart.yaml": CHART, "app/templates/a.yaml": UPGRADE})
    run.info.repository = str(repository.path)
    run.add("app", objects=None, status=status)
    run.serves(*SERVED)
    live = ObjectMetadata(ObjectKey("", "ConfigMap", "web", "told"), "u", "1", labels={OWNER_LABEL: labelled})
    run.directory.write_json("snapshot.json", Snapshot({live.key: live}, {("", "ConfigMap")}).to_json())
    (item,) = render(run.session, "app", print).objects
    assert item.manifest["data"] == {"upgrade": upgrade}


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ('{{ .Capabilities.APIVersions.Has "gone.io/v1/Thing" }}',
         "add-on app: it depends on whether gone.io/v1/Thing is served, and the server of that API group does not "
         "answer. Try again when it does."),
        ('{{ .Capabilities.APIVersions.Has "gone.io/v1" }}', []),
        ("{{ .Capabilities.APIVersions.Has .Values.one }}",
         ["rendered without the kinds of gone.io/v1, whose server does not answer"]),
        ("no question", []),
    ],
)  # fmt: skip
def test_a_part_of_the_api_list_that_is_unknown_is_not_absent(
    run: MadeRun, repository: Repository, programs: dict[str, Path], template: str, result: str | list[str]
) -> None:
    run.info.options.helm = str(programs["helm"])
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {it: '" + template + "'}}"
    files = {"app/Chart.yaml": CHART, "app/templates/a.yaml": text, "app/values.yaml": "one: x/v1"}
    run.info.commit = repository.commit(files)
    run.info.repository = str(repository.path)
    run.add("app", objects=None)
    run.serves(*SERVED, stale=["gone.io/v1"])
    if isinstance(result, list):
        assert render(run.session, "app", print).warnings == result
    else:
        with pytest.raises(AddonError) as caught:
            render(run.session, "app", print)
        assert str(caught.value) == result


def test_no_room_for_temporary_files_is_the_add_ons_error(
    run: MadeRun, repository: Repository, programs: dict[str, Path]
) -> None:
    run.info.options.helm = str(programs["helm"])
    run.info.commit = repository.commit({"app/Chart.yaml": CHART, "app/templates/a.yaml": UPGRADE})
    run.info.repository = str(repository.path)
    run.add("app", objects=None)
    run.serves(*SERVED)
    session = run.session
    # As good as a full disk: a folder that no file can be made in.
    (run.directory.path / "work").symlink_to("/proc/self")
    with pytest.raises(AddonError, match=r"^add-on app: temporary files can't be written: .*[.] Make room, or set "):
        render(session, "app", print)


def test_digests_move_with_what_they_stand_for(run: MadeRun, repository: Repository) -> None:
    made(run, repository, config("a"), name="one")
    made(run, repository, config("a"), name="two")
    made(run, repository, config("a"), name="three", releaseName="other")
    bundles = {bundle.name: bundle for bundle in run.directory.bundles()}
    # The label names the add-on, so even equal folders make different objects.
    assert len({bundle.digest for bundle in bundles.values()}) == 3
    assert len({bundle.render_key for bundle in bundles.values()}) == 3


# What a chart makes up


def template(data: str, name: str = "made", kind: str = "Secret") -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\ndata:\n{data}\n"


def bundle_of(
    run: MadeRun, repository: Repository, programs: dict[str, Path], templates: dict[str, str], **definition: Any
) -> Bundle:
    """Of the chart app with these templates."""
    run.info.options.helm, run.info.options.kustomize = str(programs["helm"]), str(programs["kustomize"])
    files = {f"app/templates/{file}": text for file, text in templates.items()}
    run.info.commit = repository.commit({"app/Chart.yaml": CHART, "app/values.yaml": "own: 1", **files})
    run.info.repository = str(repository.path)
    run.add("app", objects=None, **definition)
    run.serves(*SERVED)
    (run.directory.path / "bundle/app.json").unlink(missing_ok=True)
    return render(run.session, "app", print)


RANDOM = {
    "a.yaml": template("  password: {{ randAlphaNum 20 | b64enc }}\n  own: {{ .Values.own | toString | b64enc }}"),
    "b.yaml": template("  sum: {{ randAlphaNum 20 | sha256sum }}", "summed", "ConfigMap"),
    "c.yaml": template("  own: fixed", "fixed", "ConfigMap"),
}


def test_trap_02_what_a_chart_makes_up_is_found_named_and_no_other_input(
    run: MadeRun, repository: Repository, programs: dict[str, Path]
) -> None:
    bundle = bundle_of(run, repository, programs, RANDOM)
    seconds = {item.key.name: item.second for item in bundle.objects}
    assert {name for name, second in seconds.items() if second} == {"made", "summed"}
    assert seconds["made"] and seconds["made"]["metadata"]["labels"] == {OWNER_LABEL: "app"}
    assert bundle.warnings == [
        "made up by the chart and kept as they are in the cluster: Secret made, ConfigMap web/summed"
    ]
    run.info.options.cache += "-of-another-machine"
    again = bundle_of(run, repository, programs, RANDOM)
    assert again.objects != bundle.objects
    assert (again.digest, again.render_key) == (bundle.digest, bundle.render_key)
    changed = bundle_of(run, repository, programs, RANDOM, values={"own": 2})
    assert (changed.digest != bundle.digest, changed.render_key != bundle.render_key) == (True, True)


def test_what_is_made_up_comes_from_no_cache(
    run: MadeRun, repository: Repository, programs: dict[str, Path], tmp_path: Path
) -> None:
    """Clusters may share one, and what was deleted is to be made anew."""
    other = MadeRun(tmp_path / "of another cluster")
    other.info.options.cache = run.info.options.cache
    bundles = [bundle_of(each, repository, programs, RANDOM) for each in (run, run, other)]
    passwords = {bundle.objects[0].manifest["data"]["password"] for bundle in bundles}
    assert len(passwords) == 3
    assert len({(bundle.digest, bundle.render_key, bundle.from_cache) for bundle in bundles}) == 1


def test_chance_that_patches_remove_is_none(run: MadeRun, repository: Repository, programs: dict[str, Path]) -> None:
    patches = [
        {"patch": "- {op: replace, path: /data/password, value: Zml4ZWQ=}", "target": {"name": "made"}},
        {"patch": "{kind: ConfigMap, apiVersion: v1, metadata: {name: summed}, $patch: delete}"},
    ]
    bundle, again = (bundle_of(run, repository, programs, RANDOM, patches=patches) for _ in range(2))
    assert [item.second for item in bundle.objects] == [None, None]
    assert (bundle.warnings, again.objects, again.from_cache) == ([], bundle.objects, True)


def test_a_warning_names_a_few_objects(run: MadeRun, repository: Repository, programs: dict[str, Path]) -> None:
    made_up = template("  a: {{ randAlpha 9 | b64enc }}")
    templates = {f"{letter}.yaml": made_up.replace("name: made", f"name: {letter}") for letter in "abcdefg"}
    assert bundle_of(run, repository, programs, templates).warnings == [
        "made up by the chart and kept as they are in the cluster: "
        "Secret a, Secret b, Secret c, Secret d, Secret e and 2 more"
    ]


def test_a_name_that_is_made_up_is_told_and_moves_no_digest(
    run: MadeRun, repository: Repository, programs: dict[str, Path]
) -> None:
    named = {"a.yaml": template("  a: b", "made-{{ randNumeric 9 }}", "ConfigMap")}
    bundle, again = (bundle_of(run, repository, programs, named) for _ in range(2))
    (item,) = bundle.objects
    assert (item.second, bundle.digest) == (None, again.digest)
    assert bundle.warnings == [f"gets a new name with each render, so that each sync makes it anew: {item.key}"]


def test_chance_in_a_hook_needs_no_warning(run: MadeRun, repository: Repository, programs: dict[str, Path]) -> None:
    hook = template("  a: b", "hook-{{ randNumeric 9 }}", "ConfigMap").replace(
        "}}}", "}}, annotations: {helm.sh/hook: pre-install}}", 1
    )
    bundle, again = (bundle_of(run, repository, programs, {"a.yaml": hook}) for _ in range(2))
    assert (len(bundle.hooks), bundle.warnings, bundle.digest) == (1, [], again.digest)


LOOKS = {"a.yaml": template('  found: "{{ lookup `v1` `Node` `` `` | len }}"', "found", "ConfigMap")}


def test_a_chart_that_reads_the_cluster_is_rendered_again_for_what_the_run_changed(
    run: MadeRun, repository: Repository, programs: dict[str, Path], cluster: MadeCluster
) -> None:
    run.add("operator")
    bundle = bundle_of(run, repository, programs, LOOKS, dependsOn=["operator"])
    assert (bundle.connected, bundle.incomplete) == (True, "")
    assert render(run.session, "app", print) == bundle
    repository.commit({"app/templates/b.yaml": template("  a: b", "more", "ConfigMap")})
    run.info.commit = repository.git("rev-parse", "HEAD")
    assert render(run.session, "app", print) == bundle
    run.outcome(Outcome("operator", pruned=[ObjectResult(key("a"))]))
    assert [item.key.name for item in render(run.session, "app", print).objects] == ["found", "more"]


UPGRADED = {"a.yaml": template('  upgrade: "{{ .Release.IsUpgrade }}"', "told", "ConfigMap")}


@pytest.mark.parametrize(
    ("templates", "again"), [(LOOKS, True), (UPGRADED, True), ({"c.yaml": RANDOM["c.yaml"]}, False)]
)
def test_another_run_installed_it_since_it_was_rendered(
    run: MadeRun,
    repository: Repository,
    programs: dict[str, Path],
    cluster: MadeCluster,
    templates: dict[str, str],
    again: bool,
) -> None:
    run.add_record("app", {})
    bundle = bundle_of(run, repository, programs, templates)
    repository.commit({"app/templates/b.yaml": template("  a: b", "more", "ConfigMap")})
    run.info.commit = repository.git("rev-parse", "HEAD")
    assert render(run.session, "app", print) == bundle
    run.add_record("app", {"appliedHash": "x"})
    run.records["app"].resource_version = "2"
    made = render(run.session, "app", print)
    assert len(made.objects) == len(bundle.objects) + again
    if templates is UPGRADED:
        assert made.objects[0].manifest["data"] == {"upgrade": "true"}
    assert render(run.session, "app", print) == made


def test_a_bundle_says_that_its_chart_could_not_ask(
    run: MadeRun, repository: Repository, programs: dict[str, Path], cluster: MadeCluster
) -> None:
    cluster.forbidden = {"secrets"}
    asks = template('  found: "{{ lookup `v1` `Secret` `w` `db` | len }}"', "found", "ConfigMap")
    bundle = bundle_of(run, repository, programs, {"a.yaml": asks})
    assert bundle.incomplete.startswith("rendered without the objects that its lookups would find in the cluster: sec")
    assert bundle.warnings == [bundle.incomplete]


def test_a_cluster_that_does_not_answer_is_the_add_ons_error(
    run: MadeRun, repository: Repository, programs: dict[str, Path]
) -> None:
    with pytest.raises(AddonError, match=r"^add-on app: app: the chart asks the cluster .*unreachable.* Try again\.$"):
        bundle_of(run, repository, programs, LOOKS)
    assert run.directory.outcome("app").phase == "Error"


def test_a_chart_that_does_not_is_rendered_once(
    run: MadeRun, repository: Repository, programs: dict[str, Path]
) -> None:
    run.add("operator").outcome(Outcome("operator", pruned=[ObjectResult(key("a"))]))
    bundle = bundle_of(run, repository, programs, {"c.yaml": RANDOM["c.yaml"]}, dependsOn=["operator"])
    repository.commit({"app/templates/b.yaml": template("  a: b", "more", "ConfigMap")})
    run.info.commit = repository.git("rev-parse", "HEAD")
    assert render(run.session, "app", print) == bundle
