"""The cluster for a program: a login in a file that only its owner can read, and that goes with the program.

And work on many things at a time: how far it is, and its end when one of them fails.
"""

from __future__ import annotations

import json
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import AccessOptions, Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import UnreachableError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.json_fields import encode
from ansible_collections.rendimiento.addons.plugins.module_utils.steps import session as session_file
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.session import Session
from tests.loopback import Exchange, Loopback
from tests.unit.steps.made_run import MadeRun


def session(run: MadeRun, credential: Credential, access: AccessOptions) -> Session:
    made = run.session
    stored: dict[str, Any] = {"key": "00", "credential": credential.to_json(), "access": encode(access)}
    run.directory.write_json("credential.json", stored)
    return made


def test_the_login_is_in_a_private_file_and_only_meanwhile(run: MadeRun) -> None:
    run.info.options.impersonate = "acts"
    credential = Credential("https://10.0.0.1", token="Bearer the-token")
    with session(run, credential, AccessOptions()).connection() as connection:
        file = connection.kubeconfig
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert json.loads(file.read_text())["users"][0]["user"] == {"token": "the-token"}
        assert (connection.user, connection.secrets) == ("acts", frozenset({"the-token"}))
        assert "the-token" not in repr(connection)
    assert not file.exists()


def test_it_goes_when_the_program_fails(run: MadeRun) -> None:
    made = session(run, Credential("https://10.0.0.1"), AccessOptions())
    with pytest.raises(ValueError, match="it failed"), made.connection() as connection:
        raise ValueError("it failed")
    assert not connection.kubeconfig.exists()


@pytest.mark.parametrize(("seconds", "token"), [(-5, "new"), (30, "new"), (3600, "old"), (None, "old")])
def test_a_login_that_ends_is_made_anew(run: MadeRun, tmp_path: Path, seconds: float | None, token: str) -> None:
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1"}}],
        "users": [{"name": "u", "user": {"token": "new"}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    expires = None if seconds is None else time.time() + seconds
    credential = Credential("https://10.0.0.1", token="Bearer old", expires=expires)
    with session(run, credential, AccessOptions(kubeconfig=str(file))).connection() as connection:
        assert json.loads(connection.kubeconfig.read_text())["users"][0]["user"] == {"token": token}


def test_a_login_that_ends_midway_is_made_anew_once_for_the_whole_run(run: MadeRun, tmp_path: Path) -> None:
    """For both identities, all their threads, and the processes of later steps."""
    log = tmp_path / "logins"
    program = tmp_path / "login"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "new"}}
    program.write_text(f"#!/bin/sh\necho once more >> {log}\necho '{json.dumps(credential)}'\n")
    program.chmod(0o700)
    login = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "interactiveMode": "Never"}

    def answer(exchange: Exchange) -> None:
        accepted = exchange.headers["Authorization"] == "Bearer new"
        exchange.reply(200 if accepted else 401, b"{}", "application/json")

    with Loopback(answer) as server:
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "users": [{"name": "u", "user": {"exec": login}}],
        }
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(config))
        run.info.options.impersonate = "acts"
        made = session(run, Credential(server.url, token="Bearer old"), AccessOptions(kubeconfig=str(file)))
        clients = [made.caller, made.acting] * 8
        with ThreadPoolExecutor(8) as pool:
            assert {answer.status for answer in pool.map(lambda client: client.get("/x"), clients)} == {200}
        assert Session(str(run.directory.path)).caller.get("/x").status == 200
    assert log.read_text() == "once more\n"


def test_a_server_that_one_step_gave_up_is_given_up_sooner_by_the_next(
    run: MadeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps: list[float] = []
    start = time.monotonic()
    monkeypatch.setattr(time, "sleep", naps.append)
    monkeypatch.setattr(time, "monotonic", lambda: start + sum(naps))
    session(run, Credential("http://127.0.0.1:1"), AccessOptions())
    waited = []
    for _step in range(3):
        before = sum(naps)
        with pytest.raises(UnreachableError):
            Session(str(run.directory.path)).caller.get("/x")
        waited.append(sum(naps) - before)

    assert waited[0] > 20 > 5 > max(waited[1:])


def test_b62_how_far_a_long_phase_is_is_told_and_nothing_of_a_short_one(
    run: MadeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    assert run.session.each(str, range(3), lambda done, total: told.append((done, total))) == ["0", "1", "2"]
    assert told == []
    monkeypatch.setattr(session_file, "PROGRESS_SECONDS", 0.01)
    heard = threading.Event()

    def slow(number: int) -> int:
        # The last one takes until somebody was told of the others.
        assert number < 4 or heard.wait(30)
        return number

    def far(done: int, total: int) -> None:
        told.append((done, total))
        if done == 4:
            heard.set()

    assert run.session.each(slow, range(5), far) == [0, 1, 2, 3, 4]
    assert told[-1] == (4, 5)


@pytest.mark.parametrize("told", [True, False])
def test_what_fails_ends_the_work_on_the_others(run: MadeRun, told: bool) -> None:
    run.info.options.workers = 1
    seen: list[int] = []

    def broken(number: int) -> None:
        seen.append(number)
        time.sleep(0.05)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        run.session.each(broken, range(50), (lambda _done, _total: None) if told else None)
    assert len(seen) < 50
