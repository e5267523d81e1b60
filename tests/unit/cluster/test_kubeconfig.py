"""The resolved login as a kubeconfig: read back by the same loader that reads people's files."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import (
    AccessOptions,
    Credential,
    resolve,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.kubeconfig import kubeconfig_of, secrets_of

HOST = "https://10.0.0.1:6443"
FULL = Credential(
    HOST,
    ca="CA",
    client_certificate="CERTIFICATE",
    client_key="THE-KEY",
    token="Bearer the-token",
    tls_server_name="kubernetes",
    proxy="http://u:proxy-word@proxy:3128",
)


@pytest.mark.parametrize(
    "credential",
    [
        Credential(HOST),
        Credential(HOST, token="Bearer the-token"),
        Credential(HOST, client_certificate="CERTIFICATE", client_key="THE-KEY"),
        Credential(HOST, verify=False),
        FULL,
    ],
)
def test_a_login_is_the_same_when_it_is_read_back(
    credential: Credential, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "config"
    file.write_text(json.dumps(kubeconfig_of(credential)))
    found = resolve(AccessOptions(kubeconfig=str(file)))
    assert replace(found, source="", context="") == credential


def entry(credential: Credential) -> dict[str, Any]:
    config = kubeconfig_of(credential)
    found: dict[str, Any] = {**config["clusters"][0]["cluster"], **config["users"][0]["user"]}
    return found


@pytest.mark.parametrize(
    ("credential", "field", "expected"),
    [
        # client-go refuses an authority that is not to be asked.
        (replace(FULL, verify=False), "certificate-authority-data", None),
        (replace(FULL, verify=False), "insecure-skip-tls-verify", True),
        (FULL, "insecure-skip-tls-verify", None),
        (FULL, "tls-server-name", "kubernetes"),
        (FULL, "proxy-url", "http://u:proxy-word@proxy:3128"),
        # A proxy-url counts for every host.
        (replace(FULL, no_proxy="10.0.0.0/8"), "proxy-url", None),
        (replace(FULL, no_proxy="other"), "proxy-url", "http://u:proxy-word@proxy:3128"),
        (FULL, "token", "the-token"),
        (Credential(HOST, basic=f"Basic {base64.b64encode(b'me:pass:word').decode()}"), "username", "me"),
        (Credential(HOST, basic=f"Basic {base64.b64encode(b'me:pass:word').decode()}"), "password", "pass:word"),
    ],
)
def test_each_part_of_a_login_has_its_field(credential: Credential, field: str, expected: Any) -> None:
    assert entry(credential).get(field) == expected


def test_nothing_but_the_login_is_needed() -> None:
    text = json.dumps(kubeconfig_of(FULL))
    assert "exec" not in text
    assert "/" not in text.replace("https://", "").replace("http://", "").replace("\\/", "")


def test_the_secrets_of_a_login_are_known() -> None:
    assert {"the-token", "THE-KEY", "proxy-word"} <= secrets_of(FULL)
    assert secrets_of(Credential(HOST, ca="CA")) == frozenset()
    basic = Credential(HOST, basic=f"Basic {base64.b64encode(b'me:word').decode()}")
    assert secrets_of(basic) == {"word"}
