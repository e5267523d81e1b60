"""Which cluster a record is about: what was restored from a backup into another cluster must not act there.

Its inventory names objects of the other cluster, and what carries the same names here may be somebody else's by now.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..cluster.client import ApiError, Client
from ..model.record import Record

_NAMESPACE = "/api/v1/namespaces/kube-system"


def read_cluster(client: Client) -> str:
    """The uid of the namespace that every cluster has and nobody makes anew; empty when it may not be read.

    :param client: of the acting account.
    """
    try:
        live = client.find(_NAMESPACE)
    except ApiError:
        return ""
    return str(live["metadata"]["uid"]) if live else ""


def from_elsewhere(records: Mapping[str, Record], cluster: str) -> dict[str, str]:
    """Why add-ons must not be touched, by name: their records are about another cluster than this one."""
    return {
        name: (
            f"its record is about another cluster ({record.cluster}, not {cluster}): was it restored or copied? "
            f"If this cluster is to take it over, run: kubectl patch radd {name} --subresource status --type merge "
            """-p '{"status":{"cluster":null}}'. """
            "Or delete the record (and its tombstone): then what runs is an adoption"
        )
        for name, record in records.items()
        if cluster and record.cluster and record.cluster != cluster
    }
