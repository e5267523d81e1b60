"""Which login is found where, what is said when there is none, and that no secret is ever part of it."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import (
    AccessOptions,
    Credential,
    resolve,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError, CredentialError

SERVER = "https://10.0.0.1:6443"
SECRET = "s3cr3t-t0ken"

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home without a kubeconfig, and no variables that point anywhere."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a kubeconfig with one context ``dev`` of the given user and cluster entries."""

    def write(user: Any = None, name: str = "kubeconfig", context: str = "dev", **cluster: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": f"{context}-cluster", "cluster": {"server": SERVER, **cluster}}],
            "users": [{"name": "me", "user": user if user is not None else {"token": SECRET}}],
            "contexts": [{"name": context, "context": {"cluster": f"{context}-cluster", "user": "me"}}],
            "current-context": context,
        }
        path.write_text(yaml.safe_dump(content))
        return path

    return write


def failure(**options: Any) -> AddonError:
    with pytest.raises(AddonError) as caught:
        resolve(AccessOptions(**options))
    assert SECRET not in str(caught.value)
    return caught.value


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_token_and_embedded_certificates(write: Write) -> None:
    path = write(
        {"token": SECRET, "client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY")},
        **{"certificate-authority-data": encoded("CA"), "tls-server-name": "api", "proxy-url": "http://proxy:3128"},
    )

    credential = resolve(AccessOptions(kubeconfig=str(path)))

    assert credential == Credential(
        SERVER,
        ca="CA",
        client_certificate="CERT",
        client_key="KEY",
        token=f"Bearer {SECRET}",
        proxy="http://proxy:3128",
        tls_server_name="api",
        source=f'user "me" of {path}',
        context="dev",
    )
    assert Credential.from_json(json.loads(json.dumps(credential.to_json()))) == credential
    assert SECRET not in repr(credential)
    assert "KEY" not in repr(credential)


def test_files_are_found_beside_the_kubeconfig(write: Write, tmp_path: Path) -> None:
    path = write({"tokenFile": "token", "client-certificate": "c.pem", "client-key": "k.pem"}, name="a/kubeconfig")
    for name, content in {"token": f"{SECRET}\n", "c.pem": "CERT", "k.pem": "KEY"}.items():
        (tmp_path / "a" / name).write_text(content)

    credential = resolve(AccessOptions(kubeconfig=str(path)))

    assert (credential.token, credential.client_certificate, credential.client_key) == (
        f"Bearer {SECRET}",
        "CERT",
        "KEY",
    )


def test_several_files_are_merged_and_missing_ones_skipped(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second = write(name="a"), write({"token": "other"}, name="b", context="prod")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:{first}:{second}")

    assert resolve(AccessOptions(context="prod")).token == f"Bearer {SECRET}", "the first `me` wins, as in kubectl"
    assert failure(context="test").hint == "the contexts there are: dev, prod"


def test_home_is_the_last_file_that_is_looked_for(write: Write, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    write(name="home/.kube/config")

    assert resolve(AccessOptions()).token == f"Bearer {SECRET}"


def test_user_and_password(write: Write) -> None:
    credential = resolve(AccessOptions(kubeconfig=str(write({"username": "me", "password": "pw"}))))

    assert (credential.token, credential.basic) == (None, f"Basic {encoded('me:pw')}")


@pytest.mark.parametrize("token", [SECRET, f"Bearer {SECRET}", f" bearer {SECRET}\n"])
def test_options_are_enough_by_themselves(token: str) -> None:
    credential = resolve(AccessOptions(host="10.0.0.1:6443/", api_key=token, validate_certs=False))

    assert (credential.host, credential.token, credential.verify) == (SERVER, f"Bearer {SECRET}", False)


def test_a_given_login_replaces_the_one_of_the_kubeconfig(write: Write) -> None:
    path = write({"client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY")})

    credential = resolve(AccessOptions(kubeconfig=str(path), api_key=SECRET))

    assert (credential.client_certificate, credential.token) == (None, f"Bearer {SECRET}")


def test_certificates_as_options(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text(name.upper())

    credential = resolve(
        AccessOptions(
            host=SERVER,
            ca_cert=f"{tmp_path}/ca",
            client_cert=f"{tmp_path}/cert",
            client_key=f"{tmp_path}/key",
            proxy="http://user:pw@proxy:1",
        )
    )

    assert (credential.ca, credential.client_certificate, credential.client_key) == ("CA", "CERT", "KEY")
    assert credential.proxy == "http://user:pw@proxy:1"
    assert "pw" not in repr(credential)


def test_proxy_of_the_environment(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")

    credential = resolve(AccessOptions(kubeconfig=str(write())))

    assert (credential.proxy, credential.no_proxy) == ("http://proxy:3128", "10.0.0.0/8")


def login_program(tmp_path: Path, code: str) -> dict[str, Any]:
    """A user entry whose login program runs this Python code."""
    program = tmp_path / "login.py"
    program.write_text(f"import json, os, sys\n{code}\n")
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(program)],
            "interactiveMode": "Never",
        }
    }


PRINT = 'print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {}}}))'


def test_login_program_that_gives_a_token(write: Write, tmp_path: Path) -> None:
    status = {"token": SECRET, "expirationTimestamp": "2030-01-01T00:00:00Z"}
    path = write(login_program(tmp_path, PRINT.format(status)))

    credential = resolve(AccessOptions(kubeconfig=str(path)))

    assert (credential.token, credential.expires) == (f"Bearer {SECRET}", 1893456000.0)


def test_login_program_that_gives_a_certificate(write: Write, tmp_path: Path) -> None:
    path = write(login_program(tmp_path, PRINT.format({"clientCertificateData": "CERT", "clientKeyData": "KEY"})))

    credential = resolve(AccessOptions(kubeconfig=str(path)))

    assert (credential.client_certificate, credential.client_key) == ("CERT", "KEY")


def test_login_program_that_fails(write: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(login_program(tmp_path, 'sys.exit("Usage: …\\nThe SSO session has expired.")'))

    error = failure(kubeconfig=str(path))

    assert isinstance(error, CredentialError)
    assert error.subject == f'{path}, context "dev"'
    assert error.message == f'the login program "{sys.executable}" failed: The SSO session has expired'
    assert capfd.readouterr() == ("", "")


def test_login_program_that_is_missing(write: Write) -> None:
    entry = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-login"}}

    assert failure(kubeconfig=str(write(entry))).message == (
        "the login program \"no-such-login\" failed: [Errno 2] No such file or directory: 'no-such-login'"
    )


def test_no_server_at_all() -> None:
    assert str(failure()) == (
        "nothing says which API server to use: there is no kubeconfig, no host, and this is not a pod."
        " Set addon_kubeconfig / K8S_AUTH_KUBECONFIG."
    )


def test_pod_without_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    assert failure().message == "service token file does not exist"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the kubeconfig has no current-context"),
        ("{", "it is not YAML (line 1)"),
        ("just text", "is no kubeconfig"),
        ("contexts: []", "the kubeconfig has no current-context"),
        ("current-context: dev", 'there is no context "dev"'),
        (
            f"users: [{{token: {SECRET}}}, {{token: {SECRET}}}]\ncurrent-context: x",
            'an entry has no "name"',
        ),
        ("contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x", 'there is no cluster "c" with a server'),
        (
            f"contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
            f"clusters: [{{name: c, cluster: {{server: '{SERVER}'}}}}]\n"
            f"users: [{{name: v, user: {{token: {SECRET}}}}}]",
            'there is no user "u"',
        ),
        (
            f"contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
            f"clusters: [{{name: c, cluster: {{server: '{SERVER}'}}}}]\nusers: [{{name: u, user: {{as: root}}}}]",
            'user "u" impersonates another account ("as"), which is not read from a kubeconfig',
        ),
        (
            f"contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
            f"clusters: [{{name: c, cluster: {{server: '{SERVER}', certificate-authority: none.crt}}}}]\n"
            f"users: [{{name: u, user: {{token: {SECRET}}}}}]",
            "file does not exist: {folder}/none.crt",
        ),
    ],
)
def test_kubeconfig_that_can_not_be_used(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)

    error = failure(kubeconfig=str(path))

    assert isinstance(error, CredentialError)
    assert error.message == message.format(folder=tmp_path)
    assert str(path) in error.subject
    assert error.hint


def test_kubeconfig_that_is_missing() -> None:
    assert str(failure(kubeconfig="/none")) == (
        "/none: there is no such kubeconfig. Check addon_kubeconfig / K8S_AUTH_KUBECONFIG."
    )


def test_kubeconfig_that_is_a_folder(tmp_path: Path) -> None:
    assert failure(kubeconfig=str(tmp_path)).message == "it can't be read: is a directory"


@pytest.mark.parametrize("token", [f"{SECRET}\nsecond line", f"{SECRET}\u201d"])
def test_token_that_no_header_can_hold(token: str) -> None:
    assert failure(host=SERVER, api_key=token).message == (
        "the token of the given options has characters that a token can't have"
    )


def test_address_with_a_password() -> None:
    assert failure(host=f"https://me:{SECRET}@10.0.0.1").message == "the API server's address contains a user"
