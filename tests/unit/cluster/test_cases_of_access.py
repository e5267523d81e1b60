"""Field failures of logins: kubeconfigs of several files, proxies and their exceptions, secrets in the wrong place."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes.config.incluster_config
import pytest
import yaml

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import (
    AccessOptions,
    Credential,
    resolve,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.kubeconfig import kubeconfig_of
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import (
    AddonError,
    CredentialError,
    UnreachableError,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_directory import RunDirectory
from tests.unit.cluster.logging_proxy import NAME, HiddenServer, LoggingProxy

ROOT = Path(__file__).parents[3]
TOKEN = "swordfish-token"
PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home without a kubeconfig, no variables that point anywhere, and a place for private folders."""
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def refusal(**options: Any) -> AddonError:
    with pytest.raises(AddonError) as caught:
        resolve(AccessOptions(**options))
    assert "swordfish" not in str(caught.value)
    return caught.value


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


# B59: which cluster, which login


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Kubeconfigs in folders of their own, with certificates beside them; two claim the same names."""
    for folder, names in {"c": ["ca.crt"], "u": ["u.crt", "u.key"]}.items():
        for name in names:
            write(tmp_path / folder / name, f"{name} of {folder}")
    server = "https://10.0.0.1:6443"
    return {
        "c": write(
            tmp_path / "c/c.yaml",
            {"clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": "ca.crt"}}]},
        ),
        "missing": tmp_path / "missing.yaml",
        "empty": write(tmp_path / "empty.yaml", ""),
        "comment": write(tmp_path / "comment.yaml", "# later\n"),
        "x": write(
            tmp_path / "x/x.yaml",
            {
                "current-context": "x",
                "contexts": [
                    {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "of-x"}},
                    {"name": "other", "context": {"cluster": "c", "user": "u", "namespace": "of-other"}},
                ],
            },
        ),
        "u": write(
            tmp_path / "u/u.yaml",
            {"users": [{"name": "u", "user": {"client-certificate": "u.crt", "client-key": "u.key"}}]},
        ),
        "rival": write(
            tmp_path / "rival.yaml",
            {
                "current-context": "other",
                "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.2", "tls-server-name": "rival"}}],
                "users": [{"name": "u", "user": {"token": TOKEN}}],
                "contexts": [{"name": "other", "context": {"cluster": "c", "user": "u"}}],
            },
        ),
        "undecided": write(tmp_path / "undecided.yaml", {"current-context": ""}),
    }


def as_kubectl_sees_it(kubectl: Path, context: str = "") -> dict[str, Any]:
    """Cluster, login and context in the words of a ``Credential``."""
    command = [str(kubectl), "config", "view", "--minify", "--flatten", "--output=json"]
    output = subprocess.run([*command, f"--context={context}"], capture_output=True, text=True, check=True).stdout
    view = json.loads(output)
    cluster, user = view["clusters"][0]["cluster"], view["users"][0]["user"]

    def decoded(entry: dict[str, Any], name: str) -> str | None:
        return base64.b64decode(entry[name]).decode() if name in entry else None

    return {
        "host": cluster["server"],
        "ca": decoded(cluster, "certificate-authority-data"),
        "tls_server_name": cluster.get("tls-server-name"),
        "client_certificate": decoded(user, "client-certificate-data"),
        "client_key": decoded(user, "client-key-data"),
        # kubectl does not show it.
        "token": f"Bearer {TOKEN}" if "token" in user else None,
        "context": context or view["current-context"],
    }


def as_we_see_it(credential: Credential) -> dict[str, Any]:
    names = ("host", "ca", "tls_server_name", "client_certificate", "client_key", "token", "context")
    return {name: getattr(credential, name) for name in names}


@pytest.mark.parametrize("context", ["", "other"])
@pytest.mark.parametrize(
    "order",
    ["c missing x u", "u x c", "empty c comment x u", "c x u rival", "rival c x u", "x rival u c", "undecided c x u",
     "undecided rival c x u"],
)  # fmt: skip
def test_b59_several_files_are_what_kubectl_takes_them_for(
    order: str,
    context: str,
    files: dict[str, Path],
    programs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The namespace of a context has no part in that: every definition names its own."""
    monkeypatch.setenv("KUBECONFIG", ":".join(str(files[name]) for name in order.split()))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert as_we_see_it(resolve(AccessOptions(context=context))) == as_kubectl_sees_it(programs["kubectl"], context)


def test_b59_files_may_be_named_from_the_folder_one_is_in(
    files: dict[str, Path], programs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "c/c.yaml:missing.yaml:x/x.yaml:u/u.yaml")
    assert as_we_see_it(resolve(AccessOptions())) == as_kubectl_sees_it(programs["kubectl"])


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is there in a pod with a service account."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    token, authority = write(tmp_path / "pod/token", "pod-token"), write(tmp_path / "pod/ca.crt", "CA of the pod")
    monkeypatch.setattr(kubernetes.config.incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(kubernetes.config.incluster_config, "SERVICE_CERT_FILENAME", str(authority))


@pytest.mark.usefixtures("pod")
def test_b59_in_a_pod_what_is_given_comes_first(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    given = ":".join(str(files[name]) for name in ("c", "x", "u"))
    assert resolve(AccessOptions()).token == "Bearer pod-token"
    assert resolve(AccessOptions(host="https://10.0.0.9", api_key="x")).host == "https://10.0.0.9"
    monkeypatch.setenv("KUBECONFIG", str(files["rival"]))
    assert resolve(AccessOptions()).host == "https://10.0.0.2"
    credential = resolve(AccessOptions(kubeconfig=given))
    assert (credential.host, credential.client_key) == ("https://10.0.0.1:6443", "u.key of u")


@pytest.mark.usefixtures("pod")
@pytest.mark.parametrize("way", ["option", "variable"])
@pytest.mark.parametrize("content", [None, "", "{", "just text", "current-context: nowhere", "contexts: 5"])
def test_b59_a_file_that_can_not_be_used_is_an_error_and_no_reason_to_look_elsewhere(
    content: str | None, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        write(path, content)
    if way == "variable":
        monkeypatch.setenv("KUBECONFIG", str(path))
    error = refusal(**({"kubeconfig": str(path)} if way == "option" else {}))
    assert isinstance(error, CredentialError)
    assert str(path) in str(error)


# B60: proxies


@pytest.fixture
def hidden(tmp_path: Path) -> Iterator[HiddenServer]:
    with HiddenServer(tmp_path) as server:
        yield server


def login(tmp_path: Path, server: HiddenServer, **cluster: Any) -> str:
    """A kubeconfig for the hidden server, by the name that only a proxy knows."""
    authority = base64.b64encode(server.authority.encode()).decode()
    place = {"server": f"https://{NAME}:6443", "certificate-authority-data": authority, **cluster}
    content = {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": place}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    return str(write(tmp_path / "kubeconfig", content))


def version(options: AccessOptions) -> Any:
    return Client(resolve(options), retry_window=0).get("/version").body["gitVersion"]


def test_b60_the_parameter_then_the_kubeconfig_then_the_environment(
    hidden: HiddenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies = [LoggingProxy(hidden.port) for _ in range(3)]
    with proxies[0] as given, proxies[1] as of_file, proxies[2] as of_environment:
        monkeypatch.setenv("HTTPS_PROXY", of_environment.url)
        # That is no exception from what the variable beside it does not say.
        monkeypatch.setenv("NO_PROXY", ".test")
        path = login(tmp_path, hidden, **{"proxy-url": of_file.url})
        assert version(AccessOptions(kubeconfig=path, proxy=given.url)) == "v1.37.0"
        assert version(AccessOptions(kubeconfig=path)) == "v1.37.0"
        monkeypatch.setenv("NO_PROXY", "elsewhere.test")
        assert version(AccessOptions(kubeconfig=login(tmp_path, hidden))) == "v1.37.0"
        assert [proxy.asked for proxy in proxies] == [[f"{NAME}:6443"]] * 3


def test_b60_a_login_in_the_url_of_a_proxy_is_told_to_it_and_to_nobody_else(
    hidden: HiddenServer, tmp_path: Path
) -> None:
    with LoggingProxy(hidden.port, login="me:sword/fish") as proxy:
        host = proxy.url.removeprefix("http://")
        right, wrong = f"http://me:sword%2Ffish@{host}", f"http://me:swordfish@{host}"
        assert version(AccessOptions(kubeconfig=login(tmp_path, hidden), proxy=right)) == "v1.37.0"
        with pytest.raises(UnreachableError) as caught:
            version(AccessOptions(kubeconfig=login(tmp_path, hidden), proxy=wrong))
    assert caught.value.message == (
        f"https://{NAME}:6443 can't be reached: through the proxy http://{host}: "
        "it answers 407 Proxy Authentication Required"
    )


def own_address() -> str:
    """An address of this machine that is not loopback; asking for it sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no other address than loopback")
        return str(asking.getsockname()[0])


@pytest.mark.parametrize("way", ["environment", "parameter"])
def test_b60_exceptions_by_range_and_by_suffix(
    way: str, hidden: HiddenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is not led through the proxy finds no such name, or nobody at that port."""
    address = own_address()
    by_range, by_suffix = f"https://{address}:1", f"https://api.{NAME}:6443"
    with LoggingProxy(hidden.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)

        def reason(host: str, exceptions: str) -> str:
            given: dict[str, Any] = {"no_proxy": exceptions} if way == "parameter" else {}
            monkeypatch.setenv("NO_PROXY", exceptions if way == "environment" else "*")
            path = login(tmp_path, hidden)
            with pytest.raises(UnreachableError) as caught:
                version(AccessOptions(kubeconfig=path, host=host, **given))
            return caught.value.message

        whole = ".".join(address.split(".")[:2])
        for host, exceptions in (
            (by_range, f"10.255.0.0/16, {whole}.0.0/16"),
            (by_range, address),
            (by_suffix, f".{NAME}"),
            (by_suffix, f"elsewhere.test,{NAME}"),
            (by_suffix, "*"),
        ):
            assert "through the proxy" not in reason(host, exceptions), exceptions
        assert proxy.asked == []
        for host, exceptions in (
            (by_range, "10.255.0.0/16"),
            (by_suffix, ".elsewhere.test"),
            (by_suffix, "nows.test"),
        ):
            # The certificate is for another name than these.
            assert f"through the proxy {proxy.url}: " in reason(host, exceptions), exceptions
        assert proxy.asked == [by_range.removeprefix("https://"), *[by_suffix.removeprefix("https://")] * 2]


@pytest.mark.parametrize(
    "host", ["https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443", "127.0.0.9"]
)
def test_b60_this_machine_is_not_reached_through_a_proxy_of_the_environment(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    assert resolve(AccessOptions(host=host, api_key="x")).proxy is None
    assert resolve(AccessOptions(host=host, api_key="x", proxy="http://given.test:1")).proxy == "http://given.test:1"


def test_b60_a_proxy_that_never_answers_is_given_up_within_seconds(hidden: HiddenServer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        path = login(tmp_path, hidden, **{"proxy-url": f"http://me:swordfish@{place}"})
        started = time.monotonic()
        with pytest.raises(UnreachableError) as caught:
            Client(resolve(AccessOptions(kubeconfig=path))).get("/version")
    assert time.monotonic() - started < 30
    assert str(caught.value) == (
        f"https://{NAME}:6443 can't be reached: through the proxy http://{place}: no answer in time. "
        "Check the proxy (proxy-url of the kubeconfig, HTTPS_PROXY, NO_PROXY)."
    )


@pytest.mark.parametrize("proxy", ["http://me:swordfish@", "ftp://me:swordfish@proxy", "me:swordfish@proxy:3128",
                                   "http://me:swordfish@proxy:port"])  # fmt: skip
def test_b60_what_is_no_url_of_a_proxy_is_not_repeated(proxy: str, hidden: HiddenServer, tmp_path: Path) -> None:
    expected = "expected the URL of a proxy, such as http://proxy.example.com:3128"
    assert refusal(kubeconfig=login(tmp_path, hidden), proxy=proxy).message == expected
    assert refusal(kubeconfig=login(tmp_path, hidden, **{"proxy-url": proxy})).message == expected


def test_b60_a_proxy_of_the_environment_may_be_a_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.test:3128")
    assert resolve(AccessOptions(host="https://10.0.0.1", api_key="x")).proxy == "http://proxy.test:3128"


def test_b60_programs_that_talk_to_the_cluster_take_the_same_way(hidden: HiddenServer, tmp_path: Path) -> None:
    path = login(tmp_path, hidden, **{"proxy-url": "http://proxy.test:3128"})

    def way(**options: Any) -> Any:
        return kubeconfig_of(resolve(AccessOptions(kubeconfig=path, **options)))["clusters"][0]["cluster"].get(
            "proxy-url"
        )

    assert way() == "http://proxy.test:3128"
    assert way(no_proxy=".test") is None


# B61: secrets where a path should be, encrypted files, temporary files


CONTENT = {"users": [{"name": "u", "user": {"token": TOKEN}}]}


@pytest.mark.parametrize(
    "content",
    [str(CONTENT), json.dumps(CONTENT), yaml.safe_dump(CONTENT), f"  {json.dumps(CONTENT)}",
     base64.b64encode(yaml.safe_dump({**CONTENT, "filler": "x" * 900}).encode()).decode()],
)  # fmt: skip
@pytest.mark.parametrize("way", ["option", "variable"])
def test_b61_the_content_of_a_kubeconfig_is_no_path_and_not_repeated(
    content: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "variable":
        monkeypatch.setenv("KUBECONFIG", content)
    error = refusal(**({"kubeconfig": content} if way == "option" else {}))
    assert str(error) == (
        "kubeconfig: expected the path of a file, and got something else, which is not shown. Write the kubeconfig to "
        "a file with mode 0600, which ansible-vault may encrypt, and give its path."
    )


def test_b61_an_encrypted_file_that_nobody_decrypted_says_so(tmp_path: Path) -> None:
    encrypted = str(write(tmp_path / "encrypted", "$ANSIBLE_VAULT;1.1;AES256\n6231\n"))
    plain = {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1", "certificate-authority": encrypted}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    for options in (
        {"kubeconfig": encrypted},
        {"kubeconfig": f"{write(tmp_path / 'empty', '')}:{encrypted}"},
        {"host": "https://10.0.0.1", "api_key": "x", "ca_cert": encrypted},
        {"host": "https://10.0.0.1", "client_cert": encrypted},
        {"kubeconfig": str(write(tmp_path / "plain", plain))},
    ):
        error = refusal(**options)
        assert error.subject == encrypted
        assert error.message == "is encrypted with ansible-vault, and was not decrypted"


def test_b61_a_decrypted_file_is_read_as_if_it_lay_there_and_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypted = write(tmp_path / "vaulted/kubeconfig", "$ANSIBLE_VAULT;1.1;AES256\n6231\n")
    write(tmp_path / "vaulted/ca.crt", "CA beside it")
    plain = {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1", "certificate-authority": "ca.crt"}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    monkeypatch.chdir(tmp_path)
    options = AccessOptions(
        kubeconfig=str(encrypted),
        client_cert="cert",
        client_key="key",
        decrypted={str(encrypted): yaml.safe_dump(plain), "cert": "CERT", "key": "KEY"},
    )
    credential = resolve(options)
    assert (credential.host, credential.ca) == ("https://10.0.0.1", "CA beside it")
    assert (credential.client_certificate, credential.client_key) == ("CERT", "KEY")
    assert encrypted.read_text().startswith("$ANSIBLE_VAULT")
    assert "swordfish" not in repr(options)


def test_b61_login_files_are_private_and_gone_also_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process is killed while the login program of its kubeconfig runs: what it wrote goes with the next run."""
    encoded = base64.b64encode(b"KEY swordfish").decode()
    program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["60"]}
    user = {"client-certificate-data": encoded, "client-key-data": encoded}
    content = {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1", "certificate-authority-data": encoded}}],
        "users": [{"name": "u", "user": {**user, "exec": {**program, "interactiveMode": "Never"}}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    path, runtime = write(tmp_path / "kubeconfig", content), tmp_path / "runtime"
    monkeypatch.setenv("TMPDIR", str(tmp_path / "runtime"))
    code = (
        "import sys\n"
        "from ansible_collections.rendimiento.addons.plugins.module_utils.cluster import access\n"
        "access.resolve(access.AccessOptions(kubeconfig=sys.argv[1]))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "collections")}
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], env=environment, start_new_session=True)
    deadline = time.monotonic() + 30
    while not _asleep(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left = list(runtime.rglob("*"))
    assert left
    assert [path for path in [*left, *runtime.iterdir()] if path.stat().st_mode & 0o077] == []

    made = RunDirectory.create(os.getpid())
    assert list(runtime.iterdir()) == [made.path]


def _asleep(process: int) -> bool:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return any("sleep" in Path(f"/proc/{child}/comm").read_text() for child in children)
