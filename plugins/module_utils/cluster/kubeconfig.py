"""A resolved login as a kubeconfig, for programs that can be given nothing else.

Only for a file with mode 0600 in a private folder that goes when the program has ended: it holds the secrets.
"""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlsplit

from .access import Credential
from .proxy import proxy_towards

_NAME = "run"


def kubeconfig_of(credential: Credential) -> dict[str, Any]:
    """The kubeconfig by which kubectl and helm log in exactly so: no login program, no file besides."""
    cluster: dict[str, Any] = {"server": credential.host}
    if not credential.verify:
        # Together with an authority, client-go refuses it.
        cluster["insecure-skip-tls-verify"] = True
    elif credential.ca:
        cluster["certificate-authority-data"] = _encoded(credential.ca)
    if credential.tls_server_name:
        cluster["tls-server-name"] = credential.tls_server_name
    if proxy := proxy_towards(credential.host, credential.proxy, credential.no_proxy):
        cluster["proxy-url"] = proxy
    user: dict[str, Any] = {}
    if credential.client_certificate and credential.client_key:
        user["client-certificate-data"] = _encoded(credential.client_certificate)
        user["client-key-data"] = _encoded(credential.client_key)
    if credential.token:
        user["token"] = credential.token.partition(" ")[2]
    elif credential.basic:
        user["username"], _, user["password"] = _pair(credential.basic)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": _NAME,
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": user}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
    }


def secrets_of(credential: Credential) -> frozenset[str]:
    """Texts of a kubeconfig that no message may repeat."""
    user = kubeconfig_of(credential)["users"][0]["user"]
    found = {user.get("token"), user.get("password"), user.get("client-key-data"), credential.client_key}
    if credential.proxy:
        found.add(urlsplit(credential.proxy).password)
    return frozenset(filter(None, found))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _pair(header: str) -> tuple[str, str, str]:
    return base64.b64decode(header.partition(" ")[2]).decode("utf-8", "replace").partition(":")
