"""One cluster: its start, its end, and what tests need to know about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import components, kubeconfig, nodes, ports, users
from .api_client import ApiClient
from .binaries import collect
from .certificates import COMPONENT_CLIENTS, Certificates
from .errors import StartError
from .folder import ClusterFolder
from .locks import exclusive
from .processes import Component, Processes
from .programs import SERVERS
from .progress import Progress, say_nothing

SECONDS_TO_START = 60.0

# In this order they are ended: nobody loses a server that is still in use.
SHUTDOWN_ORDER: tuple[tuple[str, ...], ...] = (
    ("kwok", "kube-scheduler", "kube-controller-manager"),
    ("kube-apiserver",),
    ("etcd",),
)
COMPONENTS = tuple(name for group in reversed(SHUTDOWN_ORDER) for name in group)


@dataclass(frozen=True)
class ComponentStatus:
    """Whether a component runs."""

    name: str
    pid: int | None
    log: Path


@dataclass(frozen=True)
class Status:
    """What runs of a cluster."""

    components: tuple[ComponentStatus, ...]
    server: str | None
    ready: bool

    @property
    def complete(self) -> bool:
        """Whether everything runs and the API server says that it is ready."""
        return self.ready and all(component.pid is not None for component in self.components)


class Cluster:
    """A Kubernetes API, with controllers and nodes that only pretend, in one folder of this machine."""

    def __init__(self, path: Path | str, progress: Progress = say_nothing) -> None:
        self._folder = ClusterFolder(Path(path).resolve())
        self._processes = Processes(self._folder.processes, self._folder.logs)
        self._certificates = Certificates(self._folder.certificates)
        self._progress = progress

    @property
    def path(self) -> Path:
        return self._folder.path

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of `admin`, who may do everything."""
        return self._folder.admin_kubeconfig

    def kubeconfig_of(self, user: str) -> Path:
        """The kubeconfig of one of `users.USERS`: admin, platform or viewer."""
        return self._folder.user_kubeconfig(user)

    @property
    def audit_log(self) -> Path:
        """Every request of a user, as JSON lines; a line appears about when its request is answered."""
        return self._folder.audit_log

    @property
    def pod_log(self) -> Path:
        """What `kubectl logs` shows for every pod; may be replaced, see `nodes.write_pod_log` for the format."""
        return self._folder.pod_log

    @cached_property
    def programs(self) -> Mapping[str, Path]:
        """All programs by name (kubectl, helm, kustomize, …); builds what is missing."""
        return collect(self._progress)

    def up(self) -> bool:
        """Starts it; returns False if it was running already."""
        if self._folder.exists():
            with self._lock():
                if self._runs():
                    return False
        # Without the lock: a first build takes minutes, and `down` need not wait for it.
        programs = collect(self._progress, SERVERS)
        self._folder.create()
        with self._lock() as lock:
            if self._runs():
                return False
            try:
                # A cluster of which only a part runs is started anew, from its data.
                self._stop()
                self._start(programs, lock)
            except BaseException:
                self._stop()
                raise
        return True

    def down(self) -> list[str]:
        """Ends every process and returns the names of those that ran; data and logs stay."""
        if not self._folder.exists():
            return []
        with self._lock():
            return self._stop()

    def restart_api_server(self, seconds_away: float = 0.0) -> None:
        """Lets the API server crash, and starts it again that much later; returns once it is ready.

        For tests of what goes on over a restart. Everything else keeps running.
        """
        programs = collect(self._progress, SERVERS)
        with self._lock() as lock:
            chosen = ports.recorded(self._folder.ports)
            if chosen is None:
                raise StartError("it was never started")
            self._processes.kill("kube-apiserver")
            time.sleep(seconds_away)
            server = components.api_server(self._folder, self._certificates, chosen)
            self._processes.start(server, programs[server.program], lock)
            self._wait_for(self._client(chosen, None).is_ready, "kube-apiserver", ("etcd", "kube-apiserver"))

    def status(self) -> Status:
        """Tells what runs, without changing or waiting for anything."""
        chosen = ports.recorded(self._folder.ports)
        return Status(
            components=tuple(
                ComponentStatus(name, self._processes.running(name), self._processes.log(name)) for name in COMPONENTS
            ),
            server=None if chosen is None else _server(chosen),
            ready=chosen is not None and self._certificates.exist() and self._client(chosen, None).is_ready(),
        )

    def _runs(self) -> bool:
        chosen = ports.recorded(self._folder.ports)
        if chosen is None or not self.status().complete:
            return False
        # The `up` that started it may have been killed before its end, and there may be new kinds to view.
        self._settle(chosen)
        return True

    def _start(self, programs: Mapping[str, Path], lock: int) -> None:
        folder, certificates = self._folder, self._certificates
        chosen = ports.choose(folder.ports)
        certificates.make(programs["pki"])
        for user in users.USERS:
            kubeconfig.write(folder.user_kubeconfig(user), _server(chosen), certificates, user)
        for client in COMPONENT_CLIENTS:
            kubeconfig.write(folder.internal_kubeconfig(client), _server(chosen), certificates, client)
        nodes.write_pod_log(folder.pod_log, folder.pod_logs_configuration)

        def start(*wanted: Component) -> None:
            for component in wanted:
                self._processes.start(component, programs[component.program], lock)

        self._progress("starting etcd and kube-apiserver")
        start(components.etcd(folder, certificates, chosen), components.api_server(folder, certificates, chosen))
        self._wait_for(self._client(chosen, None).is_ready, "kube-apiserver", ("etcd", "kube-apiserver"))

        self._progress("starting kube-controller-manager, kube-scheduler and kwok")
        nodes.prepare_leases(self._client(chosen))
        start(
            components.controller_manager(folder, certificates),
            components.scheduler(folder),
            components.kwok(folder, chosen),
        )
        self._progress(f"waiting for {len(nodes.NAMES)} nodes and the controllers")
        self._settle(chosen)

    def _settle(self, chosen: ports.Ports) -> None:
        """Creates what a cluster holds from its beginning, and waits until pods can run; may be repeated."""
        api = self._client(chosen)
        users.grant_rights(api)
        nodes.create(api, chosen)
        self._wait_for(lambda: nodes.are_ready(api), "kwok", COMPONENTS)
        self._wait_for(lambda: users.namespaces_are_ready(api), "kube-controller-manager", COMPONENTS)

    def _wait_for(self, ready: Callable[[], bool], culprit: str, running: Sequence[str]) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            self._processes.check(running)
            if ready():
                return
            if time.monotonic() > deadline:
                raise self._processes.failure(culprit, f"is not ready after {SECONDS_TO_START:.0f} s")
            time.sleep(0.05)

    def _stop(self) -> list[str]:
        return [name for group in SHUTDOWN_ORDER for name in self._processes.stop(group)]

    def _lock(self) -> AbstractContextManager[int]:
        return exclusive(
            self._folder.lock, lambda: self._progress(f"waiting for another up or down of {self._folder.path}")
        )

    def _client(self, chosen: ports.Ports, identity: str | None = "local-cluster") -> ApiClient:
        return ApiClient(
            chosen.api_server,
            self._certificates.authority,
            None if identity is None else self._certificates.certificate(identity),
            None if identity is None else self._certificates.key(identity),
        )


def _server(chosen: ports.Ports) -> str:
    return f"https://127.0.0.1:{chosen.api_server}"
