"""The TCP ports of one cluster, all on 127.0.0.1: chosen once, kept over restarts while they are free."""

from __future__ import annotations

import json
import random
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import StartError

# Below the range from which systems take ports for outgoing connections: those come and go, and would now and then
# sit on a stopped cluster's port.
RANGE = range(20000, 30000)


@dataclass(frozen=True)
class Ports:
    """One port for each server that others connect to."""

    etcd: int
    api_server: int
    kwok: int


def recorded(record: Path) -> Ports | None:
    """The ports of the last start, if there was one."""
    try:
        return Ports(**json.loads(record.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def choose(record: Path) -> Ports:
    """The recorded ports if all are free (kubeconfigs that were handed out stay valid), else new ones."""
    ports = recorded(record)
    if ports is None or not all(is_free(port) for port in asdict(ports).values()):
        ports = new()
        record.write_text(json.dumps(asdict(ports)))
    return ports


def new() -> Ports:
    """Free ports, at random, so that clusters that start at the same moment do not meet."""
    free: list[int] = []
    for port in random.sample(RANGE, k=len(RANGE)):
        if is_free(port):
            free.append(port)
        if len(free) == 3:
            return Ports(*free)
    raise StartError(f"no three free ports between {RANGE.start} and {RANGE.stop}")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: a port whose connections only linger after a stop counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
