"""As much of an API server as helm asks when it renders with the cluster connected: what it serves, and objects.

It speaks TLS: client-go sends no login, and acts as nobody, where it is not spoken.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.kubeconfig import kubeconfig_of, secrets_of
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.helm import Connection
from tests.loopback import Exchange, Loopback

TOKEN = "token-of-the-run-0123456789"
KINDS = (
    ("", "v1", "Secret", "secrets"),
    ("", "v1", "ConfigMap", "configmaps"),
    ("apps", "v1", "Deployment", "deployments"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"),
)
GROUPS = ("apps", "apiextensions.k8s.io")


@dataclass
class MadeCluster:
    """Use as a context manager. ``objects`` are by path, ``forbidden`` are plurals that nobody may read.

    ``failing`` are ends of paths, with the status that they answer in plain text; 0 ends the connection instead, and
    -1 never answers.

    :ivar requests: user (impersonated or not), token and path of each.
    """

    folder: Path
    user: str = ""
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    failing: dict[str, int] = field(default_factory=dict)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    url: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> MadeCluster:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pair = self.folder.parent / "server.pem"
        pair.write_text("".join(certificate()))
        context.load_cert_chain(pair)
        self._http = Loopback(self._reply, context)
        self.url = self._http.url
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._http.close()

    def _reply(self, request: Exchange) -> None:
        path = request.path.partition("?")[0]
        headers = request.headers
        self.requests.append((headers.get("Impersonate-User", ""), headers.get("Authorization", ""), path))
        status, body = self.answer(path)
        if status < 0:
            self.ended.wait(60)
        if status <= 0:
            request.close_connection = True
        elif isinstance(body, str):
            request.reply(status, body.encode())
        else:
            request.reply(status, json.dumps(body).encode(), "application/json")

    def add(self, kind: str, name: str, namespace: str = "w", **fields: Any) -> None:
        group, version, _, plural = next(one for one in KINDS if one[2] == kind)
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        api_version = f"{group}/{version}" if group else version
        metadata = {"name": name, "namespace": namespace, "resourceVersion": "1", "uid": "u"}
        self.objects[f"{root}/namespaces/{namespace}/{plural}/{name}"] = {
            "apiVersion": api_version, "kind": kind, "metadata": metadata, **fields
        }  # fmt: skip

    def answer(self, path: str) -> tuple[int, dict[str, Any] | str]:
        for end, status in self.failing.items():
            if path.endswith(end):
                return status, "out of order"
        match path.strip("/").split("/"):
            case ["version"]:
                return 200, {"major": "1", "minor": "37", "gitVersion": "v1.37.9"}
            case ["api"]:
                return 200, {"kind": "APIVersions", "versions": ["v1"]}
            case ["apis"]:
                versions = {name: {"groupVersion": f"{name}/v1", "version": "v1"} for name in GROUPS}
                groups = [{"name": name, "versions": [one], "preferredVersion": one} for name, one in versions.items()]
                return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["api", "v1"]:
                return 200, self._resources("", "v1")
            case ["apis", group, "v1"] if group in GROUPS:
                return 200, self._resources(group, f"{group}/v1")
            case ["apis", _, _]:
                return 404, "404 page not found"
        plural = next((one[3] for one in KINDS if f"/{one[3]}" in path), "")
        if plural in self.forbidden:
            message = f'{plural} is forbidden: User "{self.user}" cannot get resource "{plural}" in the namespace "w"'
            return 403, _status(403, "Forbidden", message)
        if path in self.objects:
            return 200, self.objects[path]
        return 404, _status(404, "NotFound", "not found")

    def _resources(self, group: str, group_version: str) -> dict[str, Any]:
        resources = [
            {
                "name": plural,
                "singularName": kind.lower(),
                "namespaced": "." not in group,
                "kind": kind,
                "verbs": ["get", "list"],
            }
            for found, _, kind, plural in KINDS
            if found == group
        ]
        return {"kind": "APIResourceList", "groupVersion": group_version, "resources": resources}

    @property
    def credential(self) -> Credential:
        return Credential(self.url, ca=certificate()[0], token=f"Bearer {TOKEN}")

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """As a session does it."""
        file = self.folder / "kubeconfig.json"
        file.write_text(json.dumps(kubeconfig_of(self.credential)))
        try:
            yield Connection(file, self.user, secrets_of(self.credential))
        finally:
            file.unlink()


@cache
def certificate() -> tuple[str, str]:
    """A certificate for this host that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "made")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(),
                                      now, now + datetime.timedelta(days=1))  # fmt: skip
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = builder.add_extension(address, critical=False).sign(key, hashes.SHA256())
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return signed.public_bytes(encoding).decode(), secret.decode()


def _status(code: int, reason: str, message: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message,
            "code": code}  # fmt: skip
