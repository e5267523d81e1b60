"""Which certificates a cluster has: made once per cluster, by the program of `pki/main.go`."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .errors import StartError
from .users import USERS

# The first address of the service network, at which pods would find the API server.
API_SERVICE_ADDRESS = "10.96.0.1"

# Clients besides the users: the components, and this package itself as `local-cluster`, so that neither its requests
# nor theirs are taken for a user's (see audit-policy.yaml). The controller manager may do everything in its own name:
# service accounts for each controller would cost start-up time and prove nothing here.
COMPONENT_CLIENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "kube-controller-manager": ("system:kube-controller-manager", ("system:masters",)),
    "kube-scheduler": ("system:kube-scheduler", ("system:masters",)),
    "kwok": ("kwok", ("system:masters",)),
    "local-cluster": ("local-cluster", ("system:masters",)),
}

LOOPBACK_HOSTS = ["127.0.0.1", "localhost"]
API_SERVER_HOSTS = [
    *LOOPBACK_HOSTS,
    API_SERVICE_ADDRESS,
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
]


@dataclass(frozen=True)
class Certificates:
    """The PEM files of one cluster.

    etcd and the aggregation layer have authorities of their own: with a shared one, any user's certificate would open
    etcd, or could speak for any other user.
    """

    folder: Path

    @property
    def authority(self) -> Path:
        return self.certificate("cluster-ca")

    @property
    def etcd_authority(self) -> Path:
        return self.certificate("etcd-ca")

    @property
    def front_proxy_authority(self) -> Path:
        return self.certificate("front-proxy-ca")

    @property
    def service_account_key(self) -> Path:
        return self.key("service-accounts")

    @property
    def service_account_public_key(self) -> Path:
        return self.folder / "service-accounts.pub"

    def certificate(self, name: str) -> Path:
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.folder / f"{name}.key"

    def exist(self) -> bool:
        return self.folder.is_dir()

    def make(self, pki: Path) -> None:
        """Makes them all unless they are there."""
        if self.exist():
            return
        unfinished = self.folder.with_name(f"{self.folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        request = json.dumps(_request(unfinished))
        try:
            outcome = subprocess.run([pki], input=request, capture_output=True, text=True, check=False)
        except OSError as error:
            raise StartError(f"certificates could not be made: {error}") from error
        if outcome.returncode != 0:
            raise StartError(f"certificates could not be made: {outcome.stderr.strip() or outcome.stdout.strip()}")
        unfinished.rename(self.folder)


@dataclass(frozen=True)
class _Certificate:
    """As `pki/main.go` reads it."""

    file: str
    authority: str
    name: str
    groups: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


def _request(folder: Path) -> dict[str, Any]:
    certificates = [
        _Certificate("kube-apiserver", "cluster-ca", "kube-apiserver", hosts=tuple(API_SERVER_HOSTS)),
        _Certificate("etcd", "etcd-ca", "etcd", hosts=tuple(LOOPBACK_HOSTS)),
        _Certificate("etcd-client", "etcd-ca", "kube-apiserver"),
        _Certificate("front-proxy-client", "front-proxy-ca", "front-proxy-client"),
        *(_Certificate(user, "cluster-ca", user, groups) for user, groups in USERS.items()),
        *(_Certificate(file, "cluster-ca", name, groups) for file, (name, groups) in COMPONENT_CLIENTS.items()),
    ]
    return {
        "folder": str(folder),
        "authorities": ["cluster-ca", "etcd-ca", "front-proxy-ca"],
        "certificates": [asdict(certificate) for certificate in certificates],
        "keyPairs": ["service-accounts"],
    }
