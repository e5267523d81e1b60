"""Which cluster a record is about: what was restored from a backup into another cluster must not act there.

Its inventory names objects of the other cluster, and what carries the same names here may be somebody else's by now.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..cluster.client import ApiError, Client
from ..model.record import Record

_NAMESPACE = "/api/v1/namespaces/kube-system"


def read_cluster(acting: Client, caller: Client) -> tuple[str, str]:
    """The uid of the namespace that every cluster has and nobody makes anew.

    When neither account may read it, it is empty, and the second text is a warning that says so.

    :param acting: of the acting account, which is asked first.
    :raises ApiError: the server refuses for another reason than a missing right, so that nobody knows.
    """
    warning = ""
    for client in dict.fromkeys((acting, caller)):
        try:
            return str(client.get(_NAMESPACE).body["metadata"]["uid"]), ""
        except ApiError as error:
            if not error.forbidden:
                raise
            warning = (
                "records that were restored from another cluster are not told from this one's, so what their add-ons "
                f"change or delete may be somebody else's: {error.message}. "
                "Grant `get` on namespace kube-system to have them refused"
            )
    return "", warning


def from_elsewhere(records: Mapping[str, Record], cluster: str) -> dict[str, str]:
    """Why add-ons must not be touched, by name: their records are about another cluster than this one."""
    return {
        name: (
            "a sync may overwrite or delete what belongs to others here, since its record is about another cluster "
            f"(uid of namespace kube-system: {record.cluster}, here it is {cluster}): was it restored or copied? "
            f"If this cluster is to take it over, run: kubectl patch radd {name} --subresource status --type merge "
            """-p '{"status":{"cluster":null}}'. """
            "Or delete the record (and its tombstone): then what runs is an adoption"
        )
        for name, record in records.items()
        if cluster and record.cluster and record.cluster != cluster
    }
