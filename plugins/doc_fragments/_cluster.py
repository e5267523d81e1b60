"""Options that say which API server is meant and how to log in; private to this collection."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Kubeconfig file, or several joined by C(:) as in the environment variable C(KUBECONFIG). Its content in the
        place of a path is refused.
      - A file that is encrypted with ansible-vault is decrypted in memory when the connection is local. So are those of
        O(ca_cert), O(client_cert) and O(client_key).
      - If not set, the environment variable E(K8S_AUTH_KUBECONFIG) is used; then O(host), if given without O(context);
        then E(KUBECONFIG); then C(~/.kube/config); then the service account of the pod that this runs in.
    type: path
  context:
    description:
      - Context of the kubeconfig; its C(current-context) by default.
      - If not set, the environment variable E(K8S_AUTH_CONTEXT) is used.
    type: str
  host:
    description:
      - URL of the API server. Together with O(kubeconfig) or O(context) it replaces only the address found there.
      - If not set, the environment variable E(K8S_AUTH_HOST) is used.
    type: str
  api_key:
    description:
      - Bearer token.
      - If not set, the environment variable E(K8S_AUTH_API_KEY) is used.
    type: str
  username:
    description:
      - User for basic authentication.
      - If not set, the environment variable E(K8S_AUTH_USERNAME) is used.
    type: str
  password:
    description:
      - Password for basic authentication.
      - If not set, the environment variable E(K8S_AUTH_PASSWORD) is used.
    type: str
  ca_cert:
    description:
      - File with the certificates of the authorities that may sign the API server's certificate.
      - If not set, the environment variable E(K8S_AUTH_SSL_CA_CERT) is used.
    type: path
    aliases:
      - ssl_ca_cert
  client_cert:
    description:
      - File with the client certificate.
      - If not set, the environment variable E(K8S_AUTH_CERT_FILE) is used.
    type: path
    aliases:
      - cert_file
  client_key:
    description:
      - File with the key of the client certificate; O(client_cert) may hold both.
      - If not set, the environment variable E(K8S_AUTH_KEY_FILE) is used.
    type: path
    aliases:
      - key_file
  validate_certs:
    description:
      - Whether the API server's certificate is verified. It is, unless the kubeconfig or this option says otherwise.
      - If not set, the environment variable E(K8S_AUTH_VERIFY_SSL) is used.
    type: bool
    aliases:
      - verify_ssl
  proxy:
    description:
      - URL of a proxy towards the API server. Without it, the kubeconfig's C(proxy-url) counts, then the environment
        variable E(HTTPS_PROXY) with its exceptions in E(NO_PROXY).
      - If not set, the environment variable E(K8S_AUTH_PROXY) is used.
    type: str
  no_proxy:
    description:
      - Hosts that are reached without the proxy, whichever that is, separated by commas.
      - If not set, the environment variable E(K8S_AUTH_NO_PROXY) is used.
    type: str
  tls_server_name:
    description:
      - Name that the API server's certificate has to be for, when that is not the name in its URL.
      - If not set, the environment variable E(K8S_AUTH_TLS_SERVER_NAME) is used.
    type: str
notes:
  - O(api_key), O(username) and O(client_cert) replace the login that a kubeconfig gives.
requirements:
  - python >= 3.11
  - kubernetes
  - PyYAML
  - jsonpatch
  - jsonschema
"""

    STATE_NAMESPACE = r"""
options:
  state_namespace:
    description:
      - Namespace of the hash key, the locks, the tombstones and the acting service account.
    type: str
    default: rendimiento-system
"""
