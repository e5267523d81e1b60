"""What lies where in the folder of one cluster.

The files at the top are for people and tests; `internal/` belongs to this package alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .errors import FolderError


@dataclass(frozen=True)
class ClusterFolder:
    """The paths of one cluster; `path` is absolute, because it becomes part of command lines."""

    path: Path

    @property
    def admin_kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    @property
    def audit_log(self) -> Path:
        return self.path / "audit.log"

    @property
    def pod_log(self) -> Path:
        """The text that `kubectl logs` shows for every pod."""
        return self.path / "pod-log.txt"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def internal(self) -> Path:
        return self.path / "internal"

    @property
    def lock(self) -> Path:
        return self.internal / "lock"

    @property
    def ports(self) -> Path:
        return self.internal / "ports.json"

    @property
    def certificates(self) -> Path:
        return self.internal / "certificates"

    @property
    def etcd_data(self) -> Path:
        return self.internal / "etcd"

    @property
    def processes(self) -> Path:
        return self.internal / "processes"

    @property
    def pod_logs_configuration(self) -> Path:
        return self.internal / "pod-logs.json"

    def user_kubeconfig(self, user: str) -> Path:
        """The kubeconfig of somebody who uses the cluster."""
        return self.admin_kubeconfig if user == "admin" else self.path / f"{user}.kubeconfig"

    def internal_kubeconfig(self, client: str) -> Path:
        """The kubeconfig of a component, or of this package itself."""
        return self.internal / f"{client}.kubeconfig"

    def exists(self) -> bool:
        """Whether a cluster was ever started here."""
        return self.internal.is_dir()

    def create(self) -> None:
        """Makes the folders; refuses a folder that holds something else."""
        if not self.exists():
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                raise FolderError(f"{self.path} is neither empty nor the folder of a local cluster; choose another one")
            self.path.mkdir(parents=True, exist_ok=True)
        # Keys and the data of Secrets lie here.
        self.internal.mkdir(mode=0o700, exist_ok=True)
        for folder in (self.logs, self.processes):
            folder.mkdir(exist_ok=True)
