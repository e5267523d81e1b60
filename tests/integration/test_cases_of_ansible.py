"""Field failures of Ansible's side: secrets in arguments, and results that can't be told apart."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster import Cluster
from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map, deployment
from tests.integration.playbooks import PlaybookResult
from tests.integration.plays import LOCAL, SHIPPED, Plays, messages, step
from tests.integration.scene import Scene
from tests.integration.secrecy import note

PASSWORD = "swordfish-of-the-vault"


@pytest.fixture
def plays(tmp_path: Path) -> Plays:
    return Plays(tmp_path / "plays")


@pytest.fixture(scope="module")
def token(bootstrapped: Cluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> str:
    """One that opens the cluster's door, looked for in everything that the tests leave."""
    made = kubectl.run("--namespace", "rendimiento-system", "create", "token", "rendimiento-addons").strip()
    note(tmp_path_factory.mktemp("b61"), made)
    return made


@pytest.fixture
def login(token: str, bootstrapped: Cluster) -> dict[str, Any]:
    """A kubeconfig with that token."""
    kubeconfig: dict[str, Any] = yaml.safe_load(bootstrapped.kubeconfig.read_text())
    kubeconfig["users"] = [{"name": user["name"], "user": {"token": token}} for user in kubeconfig["users"]]
    return kubeconfig


def elsewhere(login: dict[str, Any]) -> dict[str, Any]:
    """The same for a server that does not answer."""
    clusters = [{**one, "cluster": {**one["cluster"], "server": "https://127.0.0.1:9"}} for one in login["clusters"]]
    return {**login, "clusters": clusters}


def preview(**arguments: Any) -> dict[str, Any]:
    return {**step("addon_bootstrap", **arguments), "check_mode": True}


# B61: this product takes the path of a kubeconfig and nothing else, so what others take is refused, unseen.


@pytest.mark.parametrize("way", [LOCAL, SHIPPED])
def test_b61_a_kubeconfig_in_the_place_of_its_path_is_refused_and_never_shown(
    way: str, plays: Plays, login: dict[str, Any], token: str
) -> None:
    content = yaml.safe_dump(login)
    looped = {**preview(kubeconfig="{{ item }}"), "loop": ["{{ login }}", "{{ elsewhere }}", "{{ content }}"]}
    named = {**preview(kubeconfig="{{ lookup('vars', item) }}"), "loop": ["login", "content"]}
    result = plays.play(
        preview(kubeconfig="{{ login }}"),
        preview(kubeconfig="{{ elsewhere }}"),
        preview(kubeconfig="{{ content }}"),
        preview(kubeconfig="{{ login | to_json }}"),
        looped,
        named,
        way=way,
        verbosity=3,
        vars={"login": login, "elsewhere": elsewhere(login), "content": content},
    ).succeeded()

    assert result.stats["ignored"] == 6
    told = "kubeconfig: expected the path of a file, and got something else, which is not shown."
    assert [message.startswith(told) for message in messages(result)] == [True] * 4
    # Of a loop, the message stands by itself: its items are hidden with all that belongs to them.
    assert f"[ERROR]: {told}" in result.output
    assert token not in result.output
    assert not plays.left_behind()


def test_b61_the_role_refuses_it_the_same_way(scene: Scene, login: dict[str, Any], token: str) -> None:
    scene.repository.addon("b61", config_map("b61"))
    scene.repository.commit()
    result = scene.sync(kubeconfig=login, verbosity=3, check=True).failed()
    assert "kubeconfig: expected the path of a file" in result.error
    assert token not in result.output


def vaulted(folder: Path, name: str, content: str) -> Path:
    """A file that ansible-vault encrypted."""
    path = folder / name
    path.write_text(content)
    (folder / "password").write_text(PASSWORD)
    command = [str(Path(sys.executable).with_name("ansible-vault")), "encrypt", "--vault-password-file"]
    subprocess.run([*command, str(folder / "password"), str(path)], check=True, capture_output=True)
    return path


def test_b61_encrypted_files_and_texts_work_and_are_never_shown(
    plays: Plays, login: dict[str, Any], token: str, tmp_path: Path
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    path = vaulted(folder, "kubeconfig", yaml.safe_dump(login))
    failing = vaulted(folder, "failing", yaml.safe_dump(elsewhere(login)))
    variables = vaulted(folder, "variables.yml", yaml.safe_dump({"of_file": token}))
    inline = vaulted(folder, "inline", token).read_text()
    lines = "".join(f"  {line}\n" for line in inline.splitlines())
    (folder / "inline.yml").write_text(f"inline: !vault |\n{lines}")
    server = login["clusters"][0]["cluster"]["server"]
    by_token = {"host": server, "validate_certs": False}
    given: dict[str, Any] = {
        "verbosity": 3,
        "vars_files": [str(variables), str(folder / "inline.yml")],
        "environment": {"KUBECONFIG": "/nowhere"},
    }
    tasks = [
        preview(kubeconfig=str(path)),
        {**preview(), "environment": {"K8S_AUTH_KUBECONFIG": str(path)}},
        preview(**by_token, api_key="{{ of_file }}"),
        preview(**by_token, api_key="{{ inline }}"),
        {**preview(kubeconfig="{{ item }}"), "loop": [str(path), str(path)]},
        preview(kubeconfig=str(failing)),
    ]
    password = {"ANSIBLE_VAULT_PASSWORD_FILE": str(folder / "password")}
    result = plays.play(*tasks, surroundings=password, **given).succeeded()
    assert (result.stats["ok"], result.stats["ignored"]) == (6, 1)
    assert "https://127.0.0.1:9 can't be reached" in messages(result)[0]
    assert token not in result.output

    shipped = plays.play(tasks[0], way=SHIPPED, surroundings=password, **given).succeeded()
    (told,) = messages(shipped)
    assert f"{path}: is encrypted with ansible-vault, and was not decrypted." in told
    assert token not in shipped.output

    without = plays.play(tasks[0]).succeeded()
    (told,) = messages(without)
    assert told.startswith(f"{path}: can't be decrypted: ")
    assert not plays.left_behind()


# B64: what happened can be told from the exit code and the summary


@dataclass(frozen=True)
class Previews:
    unchanged: PlaybookResult
    changed: PlaybookResult
    alarmed: PlaybookResult
    failing: PlaybookResult
    misused: PlaybookResult


@pytest.fixture(scope="module")
def previews(new_scene: Callable[[str], Scene]) -> Previews:
    scene = new_scene("cases-of-ansible")
    repository = scene.repository
    repository.addon("b64", config_map("b64"), createNamespace=True)
    repository.commit()
    scene.sync().succeeded()
    unchanged = scene.sync(check=True, diff=True)
    repository.addon("b64", config_map("b64", data={"key": "other"}), createNamespace=True)
    repository.commit()
    changed = scene.sync(check=True, diff=True)
    alarmed = scene.sync(check=True, diff=True, fail_on=["Error", "changes"])
    wrong = {**deployment("b64"), "spec": {"replicas": 1}}
    repository.addon("b64", config_map("b64", data={"key": "other"}), wrong, createNamespace=True)
    repository.commit()
    failing = scene.sync(check=True, diff=True)
    return Previews(unchanged, changed, alarmed, failing, scene.sync(check=True, fail_on=["nonsense"]))


DIFF = "ConfigMap b64/b64 (update, verified)"


def test_b64_no_change_is_ok(previews: Previews) -> None:
    result = previews.unchanged.succeeded()
    assert (result.changed, result.stats["failed"]) == (0, 0)
    assert (result.addons["b64"]["phase"], result.addons["b64"]["pending"]) == ("Synced", False)


def test_b64_a_change_is_changed(previews: Previews) -> None:
    result = previews.changed.succeeded()
    assert result.changed > 0
    assert DIFF in result.output
    assert (result.addons["b64"]["phase"], result.addons["b64"]["pending"]) == ("Synced", True)


def test_b64_whoever_wants_a_change_to_be_an_alarm_still_can_tell_it_from_an_error(previews: Previews) -> None:
    result = previews.alarmed.failed()
    assert "changes pending" in result.error
    assert "Error" not in result.error
    assert (result.addons["b64"]["phase"], result.addons["b64"]["pending"]) == ("Synced", True)


def test_b64_a_change_and_an_object_that_fails_is_failed_with_the_rest_shown(previews: Previews) -> None:
    result = previews.failing.failed()
    assert "b64 is Error" in result.error
    assert result.addons["b64"]["phase"] == "Error"
    assert "Deployment b64/b64" in result.why("b64")
    assert DIFF in result.output


def test_b64_bad_arguments_are_failed_with_what_may_be_given(previews: Previews) -> None:
    """An API server out of reach and other arguments: ``test_bad_input``."""
    result = previews.misused.failed()
    assert result.changed == 0
    assert "must be one or more of: Error, Blocked, OutOfSync, unknown, changes" in result.output
