"""What an object was when it was deleted: a server tells it for a while, to whoever watches from before that on."""

from __future__ import annotations

from ..model.names import OWNER_LABEL
from ..model.objects import Manifest
from .api_error import ApiError
from .client import Client

_SECONDS = 1
"""How long the server is listened to: what has happened it tells at once."""


def last_state(client: Client, path: str, name: str, since: str, addon: str) -> Manifest | None:
    """The state in which an object of an add-on was deleted; ``None`` when it was not, or the server forgot it.

    :param path: of its collection. :param since: the resourceVersion of an earlier state.
    :raises ClusterError: it can't be watched.
    """
    try:
        for event in client.watch(path, since, f"{OWNER_LABEL}={addon}", _SECONDS):
            manifest: Manifest = event["object"]
            if event.get("type") == "DELETED" and manifest["metadata"]["name"] == name:
                return manifest
    except ApiError as error:
        if error.status != 410:
            raise
    return None
