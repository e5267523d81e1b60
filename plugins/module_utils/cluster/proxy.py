"""Which proxy leads to the API server: one that was given, the kubeconfig's, or the environment's, as kubectl has it.

Go's programs, kubectl among them, take variables of the environment together: ``NO_PROXY`` is an exception from
``HTTPS_PROXY`` alone, and this machine is one without being named (golang.org/x/net/http/httpproxy).
"""

from __future__ import annotations

import ipaddress
from urllib.parse import unquote, urlsplit

from ..model.errors import CredentialError

try:
    import urllib3
    from kubernetes import client as kubernetes_client
    from kubernetes.client.rest import should_bypass_proxies
except ImportError:  # pragma: no cover  (the module's edge reports it)
    pass

_SCHEMES = ("http", "https", "socks5", "socks5h")


def proxy_for(
    host: str, given: str | None, of_kubeconfig: str | None, exceptions: str | None
) -> tuple[str | None, str | None]:
    """The URL of the proxy, and the hosts that are reached without it; both may be ``None``.

    :param host: URL of the API server.
    :param exceptions: those that were given; they count whatever the proxy is.
    :raises CredentialError: it is no URL of a proxy.
    """
    if proxy := given or of_kubeconfig:
        return _checked(proxy), exceptions
    if _is_here(host):
        return None, exceptions
    surroundings = kubernetes_client.Configuration(host=host, no_proxy=exceptions)
    proxy = surroundings.proxy
    return (_checked(proxy if "://" in proxy else f"http://{proxy}") if proxy else None), surroundings.no_proxy


def proxy_towards(host: str, proxy: str | None, exceptions: str | None) -> str | None:
    """The proxy, if a host is reached through it."""
    return None if should_bypass_proxies(host, exceptions or "") else proxy


def proxy_headers(proxy: str) -> dict[str, str]:
    """What tells a proxy who wants to pass, when its URL has a login."""
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    headers: dict[str, str] = urllib3.make_headers(proxy_basic_auth=pair)
    return headers


def proxy_name(proxy: str) -> str:
    """Its URL for messages, without a login."""
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _checked(proxy: str) -> str:
    """:raises CredentialError: for what others would repeat in their messages, login included."""
    try:
        parts = urlsplit(proxy)
        # It is looked at only when it is asked for.
        right = parts.scheme in _SCHEMES and parts.hostname and (parts.port is None or parts.port)
    except ValueError:
        right = False
    if not right:
        raise CredentialError(
            "expected the URL of a proxy, such as http://proxy.example.com:3128",
            subject="the proxy",
            hint="correct proxy, proxy-url of the kubeconfig, or HTTPS_PROXY",
        )
    return proxy


def _is_here(host: str) -> bool:
    name = urlsplit(host).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
