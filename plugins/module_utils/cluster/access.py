"""Who talks to which API server: options, kubeconfig, exec plugins and the pod's own account become one ``Credential``.

The loaders of the ``kubernetes`` package do the reading, so that every login works that works for other Python tools.
Their messages can quote a whole user entry, token included; therefore none of them is passed on unless it is known
to be harmless, and what people get wrong (file, context, login program) is checked and named here.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..model.errors import ClusterError, CredentialError
from ..model.run_directory import private_folder
from ..model.shapes import mapping_of
from .kubeconfig_files import KubeconfigFiles, refuse_content, text_of
from .proxy import proxy_for

try:
    import kubernetes.config.incluster_config
    import kubernetes.config.kube_config
    import urllib3
    import yaml
    from kubernetes import client as kubernetes_client
    from kubernetes.config import ConfigException
except ImportError:  # pragma: no cover  (the module's edge reports it)
    ConfigException = Exception

T = TypeVar("T")

_LOCATION_HINT = "check addon_kubeconfig / K8S_AUTH_KUBECONFIG"
_CERTIFICATE_HINT = (
    "check the paths of certificates and keys: ca_cert, client_cert, client_key, or those in the kubeconfig"
)


@dataclass(frozen=True)
class AccessOptions:
    """What a user says about the API server; everything may stay empty. Certificates and keys are paths of files.

    :ivar decrypted: the plain text of files that are encrypted with ansible-vault, by the path that names them here.
    """

    kubeconfig: str | None = None
    context: str | None = None
    host: str | None = None
    api_key: str | None = field(default=None, repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_cert: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    validate_certs: bool | None = None
    proxy: str | None = field(default=None, repr=False)
    no_proxy: str | None = None
    tls_server_name: str | None = None
    decrypted: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass
class Credential:
    """A resolved login that needs no file, environment variable or login program any more.

    :ivar ca: PEM text of the authorities that may sign the server's certificate, None for the system's.
    :ivar client_certificate: PEM text, as ``client_key``.
    :ivar token: the whole value of the Authorization header, ``Bearer …``; ``basic`` likewise, ``Basic …``.
    :ivar expires: when the login program says that the login ends, seconds since the epoch.
    :ivar no_proxy: hosts that are reached without ``proxy``.
    :ivar source: where it comes from, for messages, such as ``user "admin" of /home/me/.kube/config``.
    :ivar context: the kubeconfig's context by which the server was found, empty when it was not.
    """

    host: str
    ca: str | None = None
    client_certificate: str | None = None
    client_key: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    basic: str | None = field(default=None, repr=False)
    verify: bool = True
    proxy: str | None = field(default=None, repr=False)
    no_proxy: str | None = None
    tls_server_name: str | None = None
    expires: float | None = None
    source: str = ""
    context: str = ""

    def to_json(self) -> dict[str, Any]:
        """All of it, secrets included: for a 0600 file in the run directory only."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Credential:
        return cls(**value)


def resolve(options: AccessOptions) -> Credential:
    """The login that the options mean; login programs (exec plugins) run here, and only here.

    A named kubeconfig or context comes first, then a host given by itself, then ``KUBECONFIG`` and
    ``~/.kube/config``, then the account of the pod that this runs in. Single options replace what was found. Of
    proxies a given one comes first, then the kubeconfig's, then the environment's with its exceptions, as in kubectl.

    :raises CredentialError: a file, context or entry is missing or wrong, or a login program failed.
    :raises ClusterError: nothing says which API server is meant.
    """
    if options.kubeconfig or options.context or not options.host:
        credential = _from_surroundings(options)
    else:
        credential = Credential(options.host, source="the given options")
    _apply(options, credential)
    credential.host = _with_scheme(credential.host).rstrip("/")
    _check(credential)
    return credential


def _from_surroundings(options: AccessOptions) -> Credential:
    if options.kubeconfig:
        return _from_kubeconfig(options.kubeconfig, options)
    if named := os.environ.get("KUBECONFIG"):
        return _from_kubeconfig(named, options)
    home = Path("~/.kube/config").expanduser()
    if home.exists() or options.context:
        return _from_kubeconfig(str(home), options)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return _from_pod()
    raise ClusterError(
        "nothing says which API server to use: there is no kubeconfig, no host, and this is not a pod",
        hint="set addon_kubeconfig / K8S_AUTH_KUBECONFIG",
    )


def _from_kubeconfig(paths: str, options: AccessOptions) -> Credential:
    """From one file, or from several as ``KUBECONFIG`` lists them (missing ones are skipped, as kubectl does)."""
    refuse_content(paths)
    existing = [path for path in paths.split(os.pathsep) if path and Path(path).expanduser().exists()]
    if not existing:
        raise CredentialError("there is no such kubeconfig", subject=paths, hint=_LOCATION_HINT)
    files = _read(paths, lambda: KubeconfigFiles.read(existing, options.decrypted))
    entries = _Entries(paths, files.merged.value, options.context)
    with private_folder() as folder, _logged_errors() as logged:

        def load() -> tuple[Any, Any]:
            loader = kubernetes.config.kube_config.KubeConfigLoader(
                files.merged,
                active_context=entries.context,
                config_base_path=None,
                # An OIDC refresh token is valid once: what replaces it has to be kept, as kubectl does.
                config_persister=files.save_changes,
                temp_file_path=str(folder),
            )
            configuration = kubernetes_client.Configuration()
            loader.load_and_set(configuration)
            return loader, configuration

        loader, configuration = _read(entries.subject, load)
        credential = _collect(configuration, entries.source)
    # The package's configuration has the environment's, too.
    credential.proxy, credential.context = entries.proxy, entries.context
    if entries.login_program and not (credential.token or credential.client_certificate):
        # The loader only logs what went wrong and would go on without credentials.
        reason = _shorten(logged[-1]) if logged else "it gave neither a token nor a certificate"
        raise CredentialError(
            f'the login program "{entries.login_program}" failed: {reason}',
            subject=entries.subject,
            hint="run `kubectl get --raw /version` with the same kubeconfig and context to see it fail by itself",
        )
    expiry = getattr(loader, "expiry", None)
    credential.expires = expiry.timestamp() if expiry else None
    return credential


class _Entries:
    """The entries of a (merged) kubeconfig that the wanted context names; what is missing is said here."""

    def __init__(self, paths: str, config: Any, context: str | None) -> None:
        self.context = context or _text(config.get("current-context"))
        contexts = self._by_name(config, "contexts")
        known = ", ".join(sorted(contexts)) or "none"
        if not self.context:
            raise CredentialError(
                "the kubeconfig has no current-context", subject=paths, hint=f"set addon_context to one of: {known}"
            )
        if self.context not in contexts:
            raise CredentialError(
                f'there is no context "{self.context}"', subject=paths, hint=f"the contexts there are: {known}"
            )
        self.subject = f'{paths}, context "{self.context}"'
        chosen = mapping_of(contexts[self.context].get("context"))
        cluster, user = _text(chosen.get("cluster")), _text(chosen.get("user"))
        clusters = self._by_name(config, "clusters")
        place = mapping_of(clusters.get(cluster, {}).get("cluster"))
        if not place.get("server"):
            raise CredentialError(
                f'there is no cluster "{cluster}" with a server', subject=self.subject, hint=_LOCATION_HINT
            )
        self.proxy = _text(place.get("proxy-url")) or None
        users = self._by_name(config, "users")
        if user and user not in users:
            raise CredentialError(f'there is no user "{user}"', subject=self.subject, hint=_LOCATION_HINT)
        login = mapping_of(users.get(user, {}).get("user"))
        if login.get("as"):
            # Ignoring it, as the loader does, would act with more rights than the file means to give.
            raise CredentialError(
                f'user "{user}" impersonates another account ("as"), which is not read from a kubeconfig',
                subject=self.subject,
                hint="use a context without it, and addon_impersonate",
            )
        self.login_program = _text(mapping_of(login.get("exec")).get("command"))
        self.source = f'user "{user}" of {paths}' if user else paths

    @staticmethod
    def _by_name(config: Any, kind: str) -> dict[str, dict[str, Any]]:
        nodes = config.get(kind) or []
        return {_text(node.value.get("name")): node.value for node in nodes}


def _from_pod() -> Credential:
    def load() -> Any:
        configuration = kubernetes_client.Configuration()
        # The token is read again after a 401; the package's own refreshing ends with this configuration.
        kubernetes.config.incluster_config.load_incluster_config(configuration, try_refresh_token=False)
        return configuration

    return _collect(_read("the service account of this pod", load), "the service account of this pod")


def _collect(configuration: Any, source: str) -> Credential:
    """A credential from the package's configuration; its files are read, since some are temporary."""
    credential = Credential(
        configuration.host,
        ca=_pem(configuration.ssl_ca_cert),
        client_certificate=_pem(configuration.cert_file),
        client_key=_pem(configuration.key_file),
        verify=bool(configuration.verify_ssl),
        tls_server_name=configuration.tls_server_name,
        source=source,
    )
    if header := configuration.api_key.get("BearerToken"):
        scheme, _, value = header.strip().partition(" ")
        if scheme.lower() == "basic":
            credential.basic = f"Basic {value.strip()}"
        else:
            credential.token = f"Bearer {value.strip()}"
    return credential


def _apply(options: AccessOptions, credential: Credential) -> None:
    """Single options over what was found. A given login replaces the found one: a server would prefer a certificate."""
    if options.host:
        credential.host, credential.context = options.host, ""
    if options.api_key or options.username or options.client_cert:
        credential.token = credential.basic = credential.client_certificate = credential.client_key = None
        credential.expires, credential.source = None, "the given options"
    if options.api_key:
        credential.token = f"Bearer {re.sub('^bearer +', '', options.api_key.strip(), flags=re.IGNORECASE)}"
    if options.username:
        pair = f"{options.username}:{options.password or ''}"
        credential.basic = urllib3.make_headers(basic_auth=pair)["authorization"]
    if options.client_cert:
        credential.client_certificate = _pem(options.client_cert, options.decrypted)
        credential.client_key = _pem(options.client_key or options.client_cert, options.decrypted)
    if options.ca_cert:
        credential.ca = _pem(options.ca_cert, options.decrypted)
    if options.validate_certs is not None:
        credential.verify = options.validate_certs
    if options.tls_server_name:
        credential.tls_server_name = options.tls_server_name
    proxy = proxy_for(_with_scheme(credential.host), options.proxy, credential.proxy, options.no_proxy)
    credential.proxy, credential.no_proxy = proxy


def _with_scheme(host: str) -> str:
    return host if "://" in host else f"https://{host}"


def _check(credential: Credential) -> None:
    """What would otherwise turn up later, in an exception or a message that quotes the secret."""
    if "@" in urlsplit(credential.host).netloc:
        raise CredentialError("the API server's address contains a user", hint="give user and password by themselves")
    for header in (credential.token, credential.basic):
        if header and not (header.isascii() and header.isprintable()):
            raise CredentialError(
                f"the token of {credential.source} has characters that a token can't have",
                hint="look for line breaks and quotes around it",
            )


def _read(subject: str, load: Callable[[], T], hint: str = _LOCATION_HINT) -> T:
    """What ``load`` returns; everything that it can raise becomes one harmless sentence."""
    try:
        return load()
    except CredentialError:
        raise
    except OSError as error:
        what = error.filename if error.filename and str(error.filename) != subject else "it"
        reason = f"{what} can't be read: {(error.strerror or type(error).__name__).lower()}"
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = f"it is not YAML{f' (line {mark.line + 1})' if mark else ''}"
    except ConfigException as error:
        # Only these two can't quote what stands in the file.
        if missing := re.match(r"(File does not exist: .*|Service .*?)\.?$", str(error)):
            reason = missing[1][0].lower() + missing[1][1:]
        elif key := re.search(r"Expected key (\S+) in ", str(error)):
            reason = f'an entry has no "{key[1]}"'
        else:
            reason = "an entry has not the form that it should have"
    except Exception as error:  # the loaders run OIDC and cloud logins, each with exceptions of its own
        reason = f"it can't be used as a kubeconfig ({type(error).__name__})"
    raise CredentialError(reason, subject=subject, hint=hint)


def _pem(path: str | None, decrypted: Mapping[str, str] = MappingProxyType({})) -> str | None:
    return _read(path, lambda: text_of(path, decrypted), _CERTIFICATE_HINT) if path else None


@contextmanager
def _logged_errors() -> Iterator[list[str]]:
    """What the root logger is told meanwhile; the loader reports a failed login program nowhere else."""
    messages: list[str] = []
    collector = logging.Handler(logging.ERROR)
    collector.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    root = logging.getLogger()
    root.addHandler(collector)
    try:
        yield messages
    finally:
        root.removeHandler(collector)


def _shorten(text: str) -> str:
    """The last line that says something: what a failed program prints above it is usage or a trace."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".")[:300] if lines else text


def _text(value: Any) -> str:
    return str(value) if value is not None else ""
