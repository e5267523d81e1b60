"""Bad input: a mistake is one error that names its place and says what to do, and costs nothing but its own add-on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster import Cluster
from tests.integration.audit import Audit
from tests.integration.engine import Bench
from tests.integration.kubectl import Kubectl, Object, inventory
from tests.integration.objects import config_map, namespace
from tests.integration.playbooks import PlaybookResult
from tests.integration.scene import Observed, Scene

NAMES = (
    "broken-yaml",
    "cycle-a",
    "cycle-b",
    "duplicate",
    "no-namespace",
    "nowhere",
    "two-sources",
    "unknown-dependency",
    "unknown-field",
    "up-and-out",
    "wrong-type",
)


@dataclass(frozen=True)
class Story:
    """All is well and installed; then every definition but three gets a mistake of its own."""

    good: Observed
    bad: Observed


@pytest.fixture(scope="module")
def story(new_scene: Callable[[str], Scene]) -> Story:
    scene = new_scene("bad-input")
    repository = scene.repository
    for name in NAMES:
        repository.addon(name, config_map(f"of-{name}"), namespace="bad-input", dependsOn=["sound"])
    repository.addon("sound", config_map("of-sound"), namespace="bad-input", createNamespace=True)
    repository.addon("dependent", config_map("of-dependent"), namespace="bad-input", dependsOn=["unknown-field"])
    repository.commit()
    good = scene.observe()

    def define(name: str, **fields: object) -> None:
        repository.define(name, **{"namespace": "bad-input", **fields})

    helm = {"repo": "https://charts.example.com", "chart": "x", "version": "1.0.0"}
    define("unknown-field", dependOn=["sound"])
    define("wrong-type", prune="yes please")
    define("two-sources", helm=helm)
    define("up-and-out", git={"path": "../elsewhere"})
    define("no-namespace", namespace=None)
    define("cycle-a", dependsOn=["cycle-b"])
    define("cycle-b", dependsOn=["cycle-a"])
    define("unknown-dependency", dependsOn=["nobody"])
    define("nowhere", git={"path": "no/such/folder"})
    again = (repository.path / repository.file_of("duplicate")).read_text()
    repository.write(repository.file_of("second-duplicate"), again)
    repository.write(repository.file_of("broken-yaml"), "name: broken-yaml\nnamespace: [bad-input\nprune: true\n")
    changed = config_map("of-sound", data={"version": "2"})
    repository.addon("sound", changed, namespace="bad-input", createNamespace=True)
    repository.commit()
    return Story(good, scene.observe())


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("unknown-field", ["unknown-field.yaml: dependOn: unknown field", "id you mean dependsOn?"]),
        ("wrong-type", ["wrong-type.yaml: prune: expected true or false, got text"]),
        ("two-sources", ["two-sources.yaml: helm, git: give exactly one source"]),
        ("up-and-out", ["up-and-out.yaml: git.path: may not lead out of the repository"]),
        ("no-namespace", ["no-namespace.yaml: namespace: missing"]),
        ("cycle-a", ["cycle-a.yaml: ", "dependsOn: a cycle: cycle-a -> cycle-b -> cycle-a"]),
        ("cycle-b", ["cycle-b.yaml: ", "dependsOn: a cycle: cycle-a -> cycle-b -> cycle-a"]),
        ("unknown-dependency", ["unknown-dependency.yaml: dependsOn", "nobody"]),
        ("duplicate", ["/duplicate.yaml", "/second-duplicate.yaml", "name: duplicate is defined more than once"]),
        ("broken-yaml", ["broken-yaml.yaml", "line"]),
        ("nowhere", ["git.path", "no/such/folder", "no such folder"]),
    ],
)
def test_a_mistake_is_one_error_of_its_addon(story: Story, name: str, parts: list[str]) -> None:
    assert story.bad.result.failed().phases[name] == "Error"
    for text in (story.bad.result.why(name), story.bad.status(name)["message"]):
        assert [part for part in parts if part not in text] == [], text
        assert "\n" not in text
    assert story.bad.status(name)["phase"] == "Error"


def test_the_play_fails_with_every_mistake_and_no_sound_addon(story: Story) -> None:
    error = story.bad.result.error
    assert [name for name in NAMES if f"{name} is Error" not in error] == []
    assert "sound is" not in error


def test_the_others_go_on(story: Story) -> None:
    assert story.good.result.succeeded().phases == dict.fromkeys([*NAMES, "sound", "dependent"], "Synced")
    assert story.bad.result.phases["sound"] == "Synced"
    assert story.bad.objects["ConfigMap bad-input/of-sound"]["data"] == {"version": "2"}


def test_what_depends_on_a_mistake_says_so(story: Story) -> None:
    assert story.bad.result.why("dependent") == "skipped: depends on unknown-field, whose definition is invalid"


def test_nothing_is_removed(story: Story) -> None:
    assert not [each for each in story.bad.requests.writes if each.verb == "delete" and not each.on_lock]
    for name in NAMES:
        assert f"ConfigMap bad-input/of-{name}" in story.bad.objects
        assert inventory(story.bad.records[name]) == inventory(story.good.records[name])
    # The written definition is kept, too: an invalid file changes no spec.
    for name in set(NAMES) - {"nowhere"}:
        assert story.bad.records[name]["spec"] == story.good.records[name]["spec"]


# Objects that can't be put in order, or told apart


def wishing(name: str, *blockers: str, **fields: Any) -> Object:
    wished = {"rendimiento.ai/depends-on": ", ".join(f"/ConfigMap/ordered/{blocker}" for blocker in blockers)}
    return config_map(name, annotations=wished, **fields)


DISORDERED = {
    "order-unknown": (
        [wishing("a", "b", "nobody"), wishing("b", "a-stranger"), config_map("c")],
        ["depends-on names what is no other object of this add-on", "ConfigMap ordered/a -> ConfigMap ordered/nobody",
         "ConfigMap ordered/b -> ConfigMap ordered/a-stranger"],
    ),
    "order-self": ([wishing("d", "d")], ["no other object", "ConfigMap ordered/d -> ConfigMap ordered/d"]),
    "order-cycle": (
        [wishing("e", "f"), wishing("f", "e")],
        ["a cycle, each comes after the next: "
         "ConfigMap ordered/e -> ConfigMap ordered/f (depends-on) -> ConfigMap ordered/e (depends-on)"],
    ),
    "order-twice": (
        [config_map("g"), config_map("h"), config_map("g", data={"key": "other"})],
        ["ConfigMap ordered/g: is in the source twice: ", "order-twice/objects.yaml, document 1 and ",
         "order-twice/objects.yaml, document 3"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("there", [False, True], ids=["at first", "where it runs"])
def test_objects_without_an_order_or_an_identity_are_an_error_before_anything_is_written(
    new_bench: Callable[[str], Bench], kubectl: Kubectl, audit: Audit, there: bool
) -> None:
    place = f"ordered-{there}".lower()
    bench = new_bench(place)

    def define(name: str, *objects: Object) -> None:
        text = json.dumps(objects).replace("/ordered/", f"/{place}/")
        bench.repository.addon(f"{place}-{name}", *json.loads(text), namespace=place)

    kubectl.create(namespace(place))
    if there:
        for name in DISORDERED:
            define(name, config_map(f"of-{name}"))
        bench.repository.commit()
        assert {run.outcome.phase for run in bench.sync().values()} == {"Synced"}
    for name, (objects, _parts) in DISORDERED.items():
        define(name, *objects)
    bench.repository.commit()
    before = kubectl.everything("configmaps")
    mark = audit.mark()
    for runs in (bench.preview(), bench.sync()):
        for name, (_objects, parts) in DISORDERED.items():
            outcome = runs[f"{place}-{name}"].outcome
            expected = [part.replace("ordered/", f"{place}/") for part in parts]
            assert outcome.phase == "Error"
            assert [part for part in expected if part not in outcome.error] == [], outcome.error
    assert not [each for each in audit.since(mark).writes.on_objects if each.namespace == place]
    assert kubectl.everything("configmaps") == before


# Mistakes that no add-on survives: one error, before anything is read or written.


def expect(result: PlaybookResult, *parts: str) -> None:
    assert result.failed().stats["changed"] == 0
    missing = [part for part in parts if part not in result.error]
    assert not missing, f"not in the error: {missing}\n{result.error}\n\n{result.output}"
    assert result.output.count("[ERROR]") == 1, result.output


@pytest.fixture
def ready(scene: Scene) -> Scene:
    """A scene with one committed add-on."""
    scene.repository.addon("never", config_map("never"))
    scene.repository.commit()
    return scene


@pytest.mark.parametrize("check", [True, False], ids=["preview", "sync"])
def test_b64_an_api_server_out_of_reach_is_failed(
    ready: Scene, bootstrapped: Cluster, tmp_path: Path, check: bool
) -> None:
    kubeconfig = changed_kubeconfig(bootstrapped, tmp_path, server="https://127.0.0.1:9")
    expect(ready.sync(kubeconfig=str(kubeconfig), check=check), "https://127.0.0.1:9", "refused", "addon_kubeconfig")


def test_credentials_that_are_not_valid_any_more(ready: Scene, bootstrapped: Cluster, tmp_path: Path) -> None:
    kubeconfig = changed_kubeconfig(bootstrapped, tmp_path, token="expired-token")
    result = ready.sync(kubeconfig=str(kubeconfig))
    expect(result, "does not accept the credentials of", str(kubeconfig), "Log in again")
    assert "expired-token" not in result.output


def test_a_kubeconfig_that_does_not_exist(ready: Scene, tmp_path: Path) -> None:
    expect(ready.sync(kubeconfig=str(tmp_path / "nowhere")), "nowhere: there is no such kubeconfig", "addon_kubeconfig")


def test_records_that_may_not_be_written(ready: Scene) -> None:
    refused = 'user "viewer" may not get secrets in namespace rendimiento-system'
    expect(ready.sync(user="viewer"), refused, "Grant that right")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"repo": "/no/such/folder"}, ["/no/such/folder: there is no such folder", "addon_repo"]),
        ({"repo": None}, ["addon_repo"]),
        ({"revision": "no-such-branch"}, ["has no revision no-such-branch", "correct the revision"]),
        ({"path": "no/such/folder"}, ["no/such/folder", "has no such folder", "addon_path", "nothing was removed"]),
        ({"path": "../outside"}, ["../outside", "addon_path"]),
        ({"only": ["stranger"]}, ["addon_only", "stranger"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_b64_arguments_that_lead_nowhere_are_failed(ready: Scene, options: dict[str, Any], parts: list[str]) -> None:
    expect(ready.sync(**options), *parts)


def test_a_folder_that_is_no_repository(ready: Scene, tmp_path: Path) -> None:
    expect(ready.sync(repo=str(tmp_path)), f"{tmp_path}: is not a git checkout", "git init")


def test_a_repository_without_a_commit(scene: Scene) -> None:
    expect(scene.sync(), "has no commit yet")


def changed_kubeconfig(cluster: Cluster, folder: Path, *, server: str = "", token: str = "") -> Path:
    """The admin's kubeconfig with another server, or with a token in place of the certificate."""
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    if server:
        content["clusters"][0]["cluster"]["server"] = server
    if token:
        content["users"][0]["user"] = {"token": token}
    file = folder / "changed.kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return file
