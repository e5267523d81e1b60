"""Clusters of the tests, and what each stored while it ran: kept as files that are searched after all tests."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ansible_collections.rendimiento.addons.plugins.module_utils.steps.records import COLLECTION as RECORDS
from local_cluster import Cluster
from local_cluster.certificates import Certificates
from local_cluster.folder import ClusterFolder
from local_cluster.ports import Ports, recorded
from tests.integration.secrecy import SECRET_VALUES

# As the cluster's own machinery: what that asks is not in the audit log, which tests look at.
_IDENTITY = "local-cluster"
_FOLLOWED = {f"{SECRET_VALUES}/secrets": "/api/v1/secrets", "told/records": RECORDS, "told/events": "/api/v1/events"}
_SECONDS_BETWEEN_ATTEMPTS = 0.1
_SECONDS_TO_ANSWER = 10
_SECONDS_TO_END = 10


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster in a folder ``cluster`` below that one, witnessed; it runs while the ``with`` block does."""
    made = Cluster(folder / "cluster")
    made.up()
    try:
        with witnessed(made.path, folder):
            yield made
    finally:
        made.down()


@contextmanager
def witnessed(cluster: Path, folder: Path) -> Iterator[None]:
    """Keep below ``folder`` what a cluster stores of Secrets, records and events meanwhile: every version of each.

    :param cluster: its folder. It may start and end meanwhile.
    """
    witnesses = [_Witness(cluster, path, folder / f"{name}.jsonl") for name, path in _FOLLOWED.items()]
    for each in witnesses:
        each.start()
    try:
        yield
    finally:
        for each in witnesses:
            each.end()


class _Witness(threading.Thread):
    """Follows one kind of object: what was deleted or overwritten in the end is in no other file."""

    def __init__(self, cluster: Path, path: str, file: Path) -> None:
        super().__init__(daemon=True)
        self._folder = ClusterFolder(cluster)
        self._path = path
        file.parent.mkdir(exist_ok=True)
        self._file = file.open("wb")
        self._ended = threading.Event()
        self._socket: socket.socket | None = None

    def run(self) -> None:
        while not self._ended.is_set():
            # It is not there yet or any more, nor is the kind of the records before bootstrap.
            with suppress(OSError, ValueError, http.client.HTTPException):
                self._follow()
            self._ended.wait(_SECONDS_BETWEEN_ATTEMPTS)

    def end(self) -> None:
        self._ended.set()
        open_socket = self._socket
        if open_socket is not None:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
        self.join(_SECONDS_TO_END)
        assert not self.is_alive(), f"{self._path} is still followed"
        # What the watch had not yet told.
        with suppress(OSError, ValueError, http.client.HTTPException):
            connection, response = self._ask("")
            self._keep(response)
            connection.close()
        self._file.close()

    def _follow(self) -> None:
        """Write down the objects that there are, and then each change, until the server or the test ends."""
        connection, response = self._ask("?watch=true&timeoutSeconds=86400")
        try:
            assert connection.sock is not None
            # From here on, it may be silent for long.
            connection.sock.settimeout(None)
            self._socket = connection.sock
            if not self._ended.is_set():
                self._keep(response)
        finally:
            self._socket = None
            connection.close()

    def _keep(self, response: http.client.HTTPResponse) -> None:
        if response.status != http.HTTPStatus.OK:
            response.read()
            return
        while content := response.read1(1 << 16):
            self._file.write(content)
        self._file.write(b"\n")

    def _ask(self, query: str) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
        ports = recorded(self._folder.ports)
        if ports is None:
            raise OSError("never started")
        connection = self._connection(ports)
        connection.request("GET", f"{self._path}{query}", headers={"Accept": "application/json"})
        return connection, connection.getresponse()

    def _connection(self, ports: Ports) -> http.client.HTTPSConnection:
        certificates = Certificates(self._folder.certificates)
        tls = ssl.create_default_context(cafile=str(certificates.authority))
        tls.load_cert_chain(certificates.certificate(_IDENTITY), certificates.key(_IDENTITY))
        return http.client.HTTPSConnection("127.0.0.1", ports.api_server, context=tls, timeout=_SECONDS_TO_ANSWER)
