"""Options that several modules have in common, as argument specs, and what they become."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import env_fallback

from ..cluster.access import AccessOptions
from ..model.names import DEFAULT_STATE_NAMESPACE
from .invocation import Invocation, Parameters


def _from_environment(*names: str) -> dict[str, Any]:
    return {"fallback": (env_fallback, list(names))}


# The names and the environment variables of kubernetes.core, which AWX sets, too.
ACCESS_SPEC: dict[str, Any] = {
    "kubeconfig": {"type": "path", **_from_environment("K8S_AUTH_KUBECONFIG")},
    "context": {"type": "str", **_from_environment("K8S_AUTH_CONTEXT")},
    "host": {"type": "str", **_from_environment("K8S_AUTH_HOST")},
    "api_key": {"type": "str", "no_log": True, **_from_environment("K8S_AUTH_API_KEY")},
    "username": {"type": "str", **_from_environment("K8S_AUTH_USERNAME")},
    "password": {"type": "str", "no_log": True, **_from_environment("K8S_AUTH_PASSWORD")},
    "ca_cert": {"type": "path", "aliases": ["ssl_ca_cert"], **_from_environment("K8S_AUTH_SSL_CA_CERT")},
    "client_cert": {"type": "path", "aliases": ["cert_file"], **_from_environment("K8S_AUTH_CERT_FILE")},
    "client_key": {
        "type": "path",
        "no_log": False,
        "aliases": ["key_file"],
        **_from_environment("K8S_AUTH_KEY_FILE"),
    },
    "validate_certs": {"type": "bool", "aliases": ["verify_ssl"], **_from_environment("K8S_AUTH_VERIFY_SSL")},
    "proxy": {"type": "str", **_from_environment("K8S_AUTH_PROXY")},
    "no_proxy": {"type": "str", **_from_environment("K8S_AUTH_NO_PROXY")},
    "tls_server_name": {"type": "str", **_from_environment("K8S_AUTH_TLS_SERVER_NAME")},
}

STATE_NAMESPACE_SPEC: dict[str, Any] = {
    "state_namespace": {"type": "str", "default": DEFAULT_STATE_NAMESPACE},
}

RUN_SPEC: dict[str, Any] = {"run": {"type": "path", "required": True}}

STEP_SPEC: dict[str, Any] = {**RUN_SPEC, "name": {"type": "str", "required": True}}


FILE_OPTIONS = ("kubeconfig", "ca_cert", "client_cert", "client_key")
"""Those that name files which may be encrypted with ansible-vault; the first names several, as ``KUBECONFIG`` does."""


def access_options(parameters: Parameters, invocation: Invocation) -> AccessOptions:
    """Where the cluster is and how to log in; an empty text is the same as none, as role variables give it."""
    given: dict[str, Any] = {name: None if parameters[name] == "" else parameters[name] for name in ACCESS_SPEC}
    return AccessOptions(**given, decrypted=dict(invocation.decrypted))
