"""Whether the account that a run is to act as exists, and may be acted as by the caller: told before anything else.

The API server does not look for an impersonated service account: to one that is missing it refuses every request for
want of rights (observed), and nobody would think of the name.
"""

from __future__ import annotations

import re

from ..cluster.client import ApiError, Client
from ..model.errors import ClusterError, CredentialError
from .records import BOOTSTRAP_HINT

_PREFIX = "system:serviceaccount:"
_SERVICE_ACCOUNT = re.compile(rf"{_PREFIX}([^:/]+):([^:/]+)")


def check_acting_account(caller: Client, acting: Client, state_namespace: str) -> None:
    """:raises CredentialError: its name is none. :raises ClusterError: it does not exist, or may not be acted as."""
    name = acting.impersonate
    account = _SERVICE_ACCOUNT.fullmatch(name)
    if account is None and name.startswith(_PREFIX):
        raise CredentialError(
            f"{name} is no name of a service account", subject="addon_impersonate", hint=f"give {_PREFIX}NAMESPACE:NAME"
        )
    place = f"/api/v1/namespaces/{account[1] if account else state_namespace}"
    path = f"{place}/serviceaccounts/{account[2]}" if account else place
    # The account itself is asked in any case: the answer tells whether the caller may act as it.
    for client in (caller, acting) if account else (acting,):
        try:
            client.get(path)
        except ApiError as error:
            if error.status == 404 and account:
                raise ClusterError(
                    f"service account {account[1]}/{account[2]} does not exist",
                    subject="addon_impersonate",
                    hint=f"correct the name, or {BOOTSTRAP_HINT}",
                ) from None
            if error.status != 404 and not error.forbidden:
                raise
