"""The nodes: three of them, played by kwok, large enough that no test runs out of room."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .api_client import ApiClient
from .ports import Ports

NAMES = ("node-1", "node-2", "node-3")
ROOM = {"cpu": "1000", "memory": "4Ti", "ephemeral-storage": "4Ti", "pods": "10000"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
POD_LOG_LINES = 40

NODES = "/api/v1/nodes"
LEASE_NAMESPACE = "kube-node-lease"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases"


def prepare_leases(api: ApiClient) -> None:
    """Lets a kwok that starts now take charge of the nodes at once.

    It would wait a second for the namespace, which a new cluster gets only after a while, and until the leases of an
    earlier kwok run out.
    """
    api.apply(
        f"/api/v1/namespaces/{LEASE_NAMESPACE}",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASE_NAMESPACE}},
    )
    api.delete(LEASES)


def create(api: ApiClient, ports: Ports) -> None:
    """Creates the nodes. kwok must run: it makes a node reachable, for logs, only when it sees it appear."""
    for name in NAMES:
        existing = api.find(f"{NODES}/{name}")
        if existing is None:
            api.create(NODES, _node(name))
        elif existing["status"].get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port") != ports.kwok:
            # A start from older data, and the port was taken meanwhile.
            endpoint = {"daemonEndpoints": {"kubeletEndpoint": {"Port": ports.kwok}}}
            api.patch(f"{NODES}/{name}/status", {"status": endpoint})


def are_ready(api: ApiClient) -> bool:
    """Whether pods can be placed on all of them, and kwok has taken charge of all."""
    nodes = {node["metadata"]["name"]: node for node in api.get(NODES)["items"]}
    leases = {lease["metadata"]["name"] for lease in api.get(LEASES)["items"]}
    return all(name in leases and name in nodes and _is_ready(nodes[name]) for name in NAMES)


def write_pod_log(text: Path, configuration: Path) -> None:
    """Writes what every pod logs, in the container runtime's format, and the configuration that tells kwok so.

    The text is left alone if it is there: whoever wants other logs puts them there.
    """
    if not text.exists():
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        lines = (f"{now} stdout F line {number} of the log\n" for number in range(1, POD_LOG_LINES + 1))
        text.write_text("".join(lines))
    logs = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "all-pods"},
        "spec": {"logs": [{"logsFile": str(text), "previousLogsFile": str(text), "follow": False}]},
    }
    configuration.write_text(json.dumps(logs))


def _node(name: str) -> dict[str, Any]:
    machine = platform.machine()
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": ARCHITECTURES.get(machine, machine),
        "topology.kubernetes.io/zone": "local",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": ROOM, "allocatable": ROOM},
    }


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", [])}
    # The controller manager takes the taint of a new node away a moment after the node is ready.
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")
