"""Requests to one API server: raw JSON over one keep-alive pool, retried by class, with errors that say what happened.

A ``Client`` may be used by many threads. Which failures are worth another try was observed on a real server
(Kubernetes 1.37) and agrees with client-go: whatever the server rejected before doing anything, and everything else
that can be repeated without harm; never a manifest that is wrong, which some servers answer with 500.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from ..model.errors import ClusterError, CredentialError, UnreachableError
from ..model.names import FIELD_MANAGER
from ..model.objects import Manifest
from .access import Credential
from .api_error import REFUSED_RIGHT, ApiError, Cause, FieldConflict
from .proxy import proxy_headers, proxy_name, proxy_towards

try:
    import urllib3
    import urllib3.exceptions
    from kubernetes import client as kubernetes_client
except ImportError:  # pragma: no cover  (the module's edge reports it)
    pass

__all__ = [
    "APPLY_PATCH",
    "JSON_PATCH",
    "MERGE_PATCH",
    "METADATA_LIST",
    "ApiError",
    "Cause",
    "Client",
    "FieldConflict",
    "Response",
    "Watch",
    "delete_options",
]

CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 65.0
"""Seconds. The server itself gives up after 60, and says then what it waited for."""

RETRY_WINDOW = 30.0
"""Seconds from the first try of a request after which it is not repeated."""

FIRST_CONTACT_WINDOW = 4.0
"""The same before anything was ever answered: that is a wrong address more often than a restarting server.

It also holds once a server was given up, until it answers again: what a run still has to do then ends soon.
"""

FEW_TRIES = 6
"""Tries, about 6 s, for what rarely mends itself: an admission webhook or an aggregated API that is down."""

UNEXPLAINED_TRIES = 3
"""Tries for a failure inside the server that it does not explain: once more may do, and often never will."""

MOST_WATCHES = 16
"""Watches that a client keeps connections for, besides those of its workers."""

METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"

_QUESTIONS = ("/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/")
"""What is posted here is answered and not stored."""

# What YAML's reader refuses or takes for a line break inside a quoted text although JSON allows it as it is.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Response:
    """An answer below 400. ``body`` is what JSON says, or the text of an answer that is no JSON.

    :ivar warnings: what the server warns about (``Warning: 299`` headers), without code and agent.
    """

    status: int
    body: Any
    headers: Mapping[str, str]
    warnings: list[str]


class Client:
    """One login, and maybe one account that it acts as, on one API server.

    :param impersonate: the user to act as on every request, such as ``system:serviceaccount:ns:name``; no groups are
        sent, so that the server fills in the account's own (sending some would replace those).
    :param workers: threads that use it at the same time; so many connections are kept open.
    :param files: folder with mode 0700 in which a client certificate is written, mode 0600; without it one is made
        when needed, and removed with the client.
    :param on_unauthorized: gives a fresh login for the one that the server no longer accepts; called once per login.
    :param retry_window: seconds, see ``RETRY_WINDOW``.
    :param answered: whether the server has answered others of this run.
    :param on_given_up: called when it did not answer for all of that time.
    :param reads_only: send nothing but reads: no dry run, and no question that is asked with a POST.
    """

    def __init__(
        self,
        credential: Credential,
        *,
        impersonate: str = "",
        workers: int = 8,
        files: Path | None = None,
        on_unauthorized: Callable[[Credential], Credential] | None = None,
        retry_window: float = RETRY_WINDOW,
        answered: bool = False,
        on_given_up: Callable[[], None] = lambda: None,
        reads_only: bool = False,
    ) -> None:
        self.impersonate = impersonate
        self.workers = workers
        self.reads_only = reads_only
        self.retry_window = retry_window
        self._files = files
        self._on_unauthorized = on_unauthorized
        self._on_given_up = on_given_up
        self._lock = threading.Lock()
        self._answered = answered
        self._connect(credential)

    @property
    def host(self) -> str:
        """Address of the API server, such as ``https://10.0.0.1:6443``."""
        return self._connection[0].host

    def _connect(self, credential: Credential) -> None:
        configuration = kubernetes_client.Configuration(host=credential.host)
        # A lock is renewed and progress is looked at beside the workers; what is not used is not opened.
        configuration.connection_pool_maxsize = self.workers + 2 + MOST_WATCHES
        configuration.proxy, configuration.no_proxy = credential.proxy, credential.no_proxy
        configuration.proxy_headers = proxy_headers(credential.proxy) if credential.proxy else None
        configuration.verify_ssl = credential.verify
        configuration.tls_server_name = credential.tls_server_name
        configuration.ca_cert_data = credential.ca
        if credential.client_certificate:
            configuration.cert_file = configuration.key_file = str(self._write_certificate(credential))
        if not credential.verify:
            # The user asked for it; a warning per request would tell nothing new.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        try:
            pool = kubernetes_client.ApiClient(configuration).rest_client.pool_manager
        except ImportError as error:
            raise ClusterError("a SOCKS proxy needs the Python library PySocks", hint="pip install PySocks") from error
        except (ValueError, urllib3.exceptions.HTTPError) as error:
            raise ClusterError(f"{credential.host} can't be used: {error}") from error
        headers = {"User-Agent": FIELD_MANAGER, "Accept-Encoding": "gzip"}
        if authorization := credential.token or credential.basic:
            headers["Authorization"] = authorization
        if self.impersonate:
            headers["Impersonate-User"] = self.impersonate
        # One assignment: other threads see the old login or the new one, never parts of both.
        self._connection = (credential, pool, headers)

    def _write_certificate(self, credential: Credential) -> Path:
        """Certificate and key in one file: Python's TLS reads them from nowhere else, at every new connection."""
        if self._files is None:
            # No folder of our own making: nobody would remove it from a worker that ends without clean-up.
            raise ValueError("a client certificate needs a folder for its file")
        content = f"{credential.client_certificate}\n{credential.client_key}\n".encode()
        path = self._files / f"client-{hashlib.sha256(content).hexdigest()[:16]}.pem"
        if not path.exists():
            descriptor, name = tempfile.mkstemp(dir=self._files)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        return path

    def get(
        self, path: str, *, query: dict[str, Any] | None = None, accept: str = "application/json", retry: bool = True
    ) -> Response:
        return self.request("GET", path, query=query, accept=accept, retry=retry)

    def post(self, path: str, body: Any, *, query: dict[str, Any] | None = None) -> Response:
        return self.request("POST", path, query=query, body=body)

    def put(self, path: str, body: Any, *, query: dict[str, Any] | None = None) -> Response:
        return self.request("PUT", path, query=query, body=body)

    def patch(self, path: str, body: Any, *, content_type: str, query: dict[str, Any] | None = None) -> Response:
        return self.request("PATCH", path, query=query, body=body, content_type=content_type)

    def delete(self, path: str, body: Any = None, *, query: dict[str, Any] | None = None) -> Response:
        """``body`` are ``delete_options``."""
        return self.request("DELETE", path, query=query, body=body)

    def create(self, collection: str, manifest: Manifest, is_ours: Callable[[Manifest], bool]) -> Manifest:
        """Create an object; when it is unknown whether that was done, it is looked for before it is tried again.

        :param is_ours: tells an object that an unanswered request of ours made from somebody else's of that name.
        :raises ApiError: it is refused; ``already_exists`` when somebody else has made it.
        """
        path = f"{collection}/{quote(manifest['metadata']['name'], safe=':')}"
        start = time.monotonic()
        unsure = False
        while True:
            try:
                made: Manifest = self.post(collection, manifest).body
            except ClusterError as error:
                exists = isinstance(error, ApiError) and error.already_exists
                in_time = time.monotonic() - start < self.retry_window
                if not (unsure and exists) and not (error.outcome_unknown and in_time):
                    raise
                found = self.find(path)
                if found is not None and is_ours(found):
                    return found
                if exists:
                    raise
                unsure = True
                time.sleep(_pause(1, None))
            else:
                return made

    def find(self, path: str) -> Manifest | None:
        """The object at a path, ``None`` when there is none."""
        try:
            found: Manifest = self.get(path).body
        except ApiError as error:
            if error.not_found:
                return None
            raise
        return found

    def apply(
        self,
        path: str,
        manifest: Manifest,
        *,
        dry_run: bool = False,
        force: bool = False,
        manager: str = FIELD_MANAGER,
    ) -> Response:
        """Server-side apply of ``manifest`` to the object at ``path``; status 201 says that it was created."""
        query = {"fieldManager": manager, "fieldValidation": "Strict"}
        if force:
            query["force"] = "true"
        if dry_run:
            query["dryRun"] = "All"
        body = _json_as_yaml(manifest)
        return self.request("PATCH", path, query=query, body=body, content_type=APPLY_PATCH)

    def list_all(
        self,
        path: str,
        label_selector: str = "",
        metadata_only: bool = False,
        limit: int = 500,
        retry: bool = True,
        *,
        field_selector: str = "",
    ) -> tuple[list[Manifest], str]:
        """All objects of a collection, page by page, and the resourceVersion that they were read at.

        The items of most kinds carry neither apiVersion nor kind. A list that became too old between two pages (410)
        is read again from its start, once, and then in one piece.
        """
        accept = METADATA_LIST if metadata_only else "application/json"
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        query: dict[str, Any] = {name: selector for name, selector in selectors.items() if selector}
        for page_size in (limit, limit, 0):
            items: list[Manifest] = []
            token = ""
            try:
                while True:
                    page = {**query, "limit": page_size} if page_size else dict(query)
                    if token:
                        page["continue"] = token
                    body = self.get(path, query=page, accept=accept, retry=retry).body
                    items += body.get("items") or []
                    token = body["metadata"].get("continue") or ""
                    if not token:
                        return items, body["metadata"].get("resourceVersion") or ""
            except ApiError as error:
                if error.status != 410:
                    raise
        raise ClusterError(f"{path} can't be listed: the server calls every list too old")

    def watch(self, path: str, resource_version: str, label_selector: str = "", seconds: int = 30) -> Watch:
        """What happens to the objects of a collection from ``resource_version`` on, for so many seconds.

        :raises ClusterError: as ``request``, which tries more than once; this does not.
        """
        query = {"watch": "true", "resourceVersion": resource_version, "timeoutSeconds": seconds}
        if label_selector:
            query["labelSelector"] = label_selector
        url, silence = f"{path}?{urlencode(query)}", seconds + CONNECT_TIMEOUT
        try:
            return Watch(self._exchange("GET", url, None, {"Accept": "application/json"}, silence, stream=True))
        except _NoAnswerError as error:
            raise self._unreachable(error, "GET", True) from error

    def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: float = READ_TIMEOUT,
        retry: bool = True,
    ) -> Response:
        """One request, repeated as described at the top of this file.

        :param path: absolute, such as ``/api/v1/namespaces``; bytes as ``body`` are sent as they are, else JSON.
        :param timeout: seconds that the server may take for its answer.
        :raises ApiError: it refused (status 400 and above).
        :raises CredentialError: it does not accept the login (401), not even a fresh one.
        :raises ClusterError: the login may not act as the wanted account.
        :raises UnreachableError: no answer; for a create also when it may have been carried out.
        """
        if self.reads_only and method != "GET":
            raise ClusterError("the API server was not asked, since this preview only reads")
        url = f"{path}?{urlencode(query)}" if query else path
        data = body if isinstance(body, bytes) or body is None else _json(body)
        headers = {"Accept": accept} if data is None else {"Accept": accept, "Content-Type": content_type}
        repeatable = method != "POST" or "dryRun" in (query or {}) or path.startswith(_QUESTIONS)
        start = time.monotonic()
        tries = 0
        unsure = False
        while True:
            tries += 1
            problem: ApiError | _NoAnswerError
            try:
                return _response(self._exchange(method, url, data, headers, timeout))
            except ApiError as error:
                if unsure and method == "DELETE" and error.not_found:
                    # An earlier try did it, and its answer was lost.
                    return Response(200, {}, {}, [])
                problem = error
                again = error.retryable and (repeatable or error.nothing_done)
                again = again and tries < _tries(error)
                unsure = unsure or error.outcome_unknown
            except _NoAnswerError as error:
                problem = error
                again = error.may_pass and (repeatable or error.not_sent)
                unsure = unsure or not error.not_sent
            wait = _pause(tries, problem.retry_after)
            window = self.retry_window if self._answered else min(FIRST_CONTACT_WINDOW, self.retry_window)
            if retry and again and time.monotonic() - start + wait <= window and (self._answered or tries < 3):
                time.sleep(wait)
                continue
            if isinstance(problem, ApiError):
                raise problem
            if retry and again and self._answered:
                self._answered = False
                self._on_given_up()
            raise self._unreachable(problem, method, repeatable)

    def _exchange(
        self,
        method: str,
        url: str,
        data: bytes | None,
        headers: dict[str, str],
        timeout: float,
        *,
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        """One try, and a second one with a fresh login when the server does not accept the one we have.

        :param timeout: seconds without anything from the server. :param stream: leave the content unread.
        """
        for attempt in (1, 2):
            credential, pool, login = self._connection
            limits = urllib3.Timeout(connect=CONNECT_TIMEOUT, read=timeout)
            try:
                raw = pool.request(
                    method,
                    credential.host + url,
                    body=data,
                    headers={**login, **headers},
                    retries=False,
                    timeout=limits,
                    preload_content=not stream,
                )
            except urllib3.exceptions.HTTPError as error:
                proxy = proxy_towards(credential.host, credential.proxy, credential.no_proxy)
                raise _NoAnswerError(error, proxy_name(proxy) if proxy else "") from error
            self._answered = True
            if raw.status < 300:
                answer: urllib3.BaseHTTPResponse = raw
                return answer
            if raw.status < 400:
                raise ClusterError(
                    f"{credential.host} redirects to another address, as no API server does",
                    hint="check the server of the kubeconfig and proxies in between",
                )
            if raw.status == 401 and attempt == 1 and self._log_in_again(credential):
                continue
            raise self._refusal(_api_error(raw, method, url), credential)
        raise AssertionError("the second try returns or raises")

    def _refusal(self, error: ApiError, credential: Credential) -> ClusterError:
        """The error, or what it means for the whole login if it does."""
        if error.status == 401:
            whose = f" of {credential.source}" if credential.source else ""
            return CredentialError(
                f"the API server {credential.host} does not accept the credentials{whose}",
                hint="log in again or renew the token",
            )
        if error.status == 403 and self.impersonate and "cannot impersonate" in error.text:
            right = REFUSED_RIGHT.search(error.text)
            return ClusterError(
                f'user "{right["user"] if right else credential.source}" may not act as {self.impersonate}',
                hint="grant it the verb impersonate on that service account, as rendimiento.addons.bootstrap does"
                " for addon_platform_subjects, or leave addon_impersonate empty",
            )
        return error

    def _log_in_again(self, refused: Credential) -> bool:
        """Replaces a refused login; of many threads that are refused at the same time, one does it."""
        if self._on_unauthorized is None:
            return False
        with self._lock:
            if self._connection[0] is refused:
                self._connect(self._on_unauthorized(refused))
        return True

    def _unreachable(self, problem: _NoAnswerError, method: str, repeatable: bool) -> UnreachableError:
        reason = f"{self.host} can't be reached: {problem.reason}"
        if not repeatable and not problem.not_sent:
            unknown = UnreachableError(
                f"{reason} while {method} was under way, so it may or may not have been done",
                hint="run again, what was done is found then",
            )
            unknown.outcome_unknown = True
            return unknown
        hint = problem.hint or "check addon_kubeconfig / K8S_AUTH_KUBECONFIG and that the API server is up"
        return UnreachableError(reason, hint=hint)


class Watch:
    """Events as the server tells them: mappings with ``type`` (ADDED, MODIFIED, DELETED, ERROR) and ``object``.

    To be gone through once. It just ends when its time is up, the connection breaks or somebody calls ``end``: whoever
    wants to go on lists again, since what happened meanwhile is not told.
    """

    def __init__(self, raw: urllib3.BaseHTTPResponse) -> None:
        self._raw = raw

    def __iter__(self) -> Iterator[Manifest]:
        rest = b""
        try:
            for chunk in self._raw.stream(2**16):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (json.loads(line) for line in lines if line.strip())
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            return
        finally:
            self._raw.close()

    def end(self) -> None:
        """Also from another thread, while this one waits for an event."""
        # It has ended by itself, or its socket has.
        with suppress(ValueError, RuntimeError, OSError):
            self._raw.shutdown()


class _NoAnswerError(Exception):
    """A request that got no answer, from the exception that urllib3 raised.

    :param proxy: the one that it went through, empty for none.
    :ivar not_sent: no connection came about, so that the server can't have done anything.
    :ivar may_pass: worth another try; a certificate that is not trusted stays so.
    """

    retry_after: float | None = None

    def __init__(self, error: Exception, proxy: str = "") -> None:
        super().__init__(str(error))
        self.hint = "check the proxy (proxy-url of the kubeconfig, HTTPS_PROXY, NO_PROXY)" if proxy else ""
        self.may_pass = True
        of_proxy = False
        if isinstance(error, urllib3.exceptions.ProxyError):
            error, of_proxy = error.original_error, True
        exceptions = urllib3.exceptions
        no_connection = (exceptions.NewConnectionError, exceptions.ConnectTimeoutError, exceptions.LocationValueError)
        self.not_sent = isinstance(error, no_connection) or of_proxy
        match error:
            case exceptions.NameResolutionError():
                reason = "its name can't be resolved"
            case exceptions.NewConnectionError():
                reason = _system_reason(error)
            case exceptions.ConnectTimeoutError():
                reason = f"no connection within {CONNECT_TIMEOUT:.0f} s"
            case exceptions.ReadTimeoutError():
                reason = "no answer in time"
            case exceptions.SSLError():
                reason = self._tls(error)
                # It can break at any time; only what can't pass is known to come from the handshake.
                self.not_sent = not self.may_pass
            case exceptions.LocationValueError():
                self.may_pass = False
                reason = "that is no address"
            case ValueError():
                reason = "its answer is cut off"
            case _:
                reason = _system_reason(error)
        self.reason = f"through the proxy {proxy}: {reason}" if proxy else reason

    def _tls(self, error: Exception) -> str:
        text = str(error)
        if untrusted := re.search(r"certificate verify failed: ([^(]*?)\.? *\(", text):
            self.may_pass = False
            self.hint = "check certificate-authority-data of the kubeconfig, or ca_cert"
            return f"its certificate is not trusted ({untrusted[1]})"
        if "WRONG_VERSION_NUMBER" in text:
            self.may_pass = False
            return "it does not speak TLS, so the address should begin with http://"
        if "PEM" in text or "no start line" in text:
            self.may_pass = False
            self.hint = "check the certificates and the key in the kubeconfig"
            return "a certificate or a key of the login is not PEM"
        return "the TLS connection failed"


def _system_reason(error: BaseException | None) -> str:
    """What the operating system said, however deep it is wrapped."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        if isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.strerror:
            return error.strerror.lower()
        if answered := re.match(r"Tunnel connection failed: (\d+ [\w ]*)", str(error)):
            return f"it answers {answered[1].strip()}"
        nested = [one for one in error.args if isinstance(one, BaseException)]
        error = error.__cause__ or (nested[0] if nested else None) or error.__context__
    return "the connection broke off"


def _tries(error: ApiError) -> float:
    """How often a request may be sent at all that ends like this."""
    if error.unexplained:
        return UNEXPLAINED_TRIES
    return FEW_TRIES if error.seldom_mends else float("inf")


def _pause(tries: int, wanted: float | None) -> float:
    """Seconds until the next try: twice as long each time, as long as the server asks for, and never in step."""
    backing_off: float = 0.2 * 2 ** min(tries - 1, 4)
    return max(backing_off, wanted or 0.0) * random.uniform(0.9, 1.3)


def _response(raw: urllib3.BaseHTTPResponse) -> Response:
    headers = raw.headers
    warnings = [_warning(text) for text in headers.getlist("Warning")]
    return Response(raw.status, _whole(raw), headers, warnings)


def _whole(raw: urllib3.BaseHTTPResponse) -> Any:
    """What JSON says, or a text.

    :raises _NoAnswerError: it is JSON by its header only: something in between cut it off. Half of a refusal could be
        taken for another one: without its details, a missing object is a kind that is not served.
    """
    try:
        return _content(raw)
    except ValueError as error:
        raise _NoAnswerError(error) from error


def _content(raw: urllib3.BaseHTTPResponse) -> Any:
    if raw.headers.get("Content-Type", "").startswith("application/json"):
        return json.loads(raw.data)
    return raw.data.decode("utf-8", "replace")


def _api_error(raw: urllib3.BaseHTTPResponse, method: str, url: str) -> ApiError:
    wait = raw.headers.get("Retry-After", "")
    retry_after = float(wait) if wait.isdecimal() else None
    content = _whole(raw)
    return ApiError(raw.status, content, method=method, path=url, retry_after=retry_after)


def _warning(text: str) -> str:
    """``299 - "text"`` to ``text`` (RFC 7234, section 5.5)."""
    quoted = re.match(r'\d{3} \S+ "(.*)"$', text, re.DOTALL)
    return re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else text


def delete_options(uid: str, resource_version: str = "", cascade: str = "Background") -> Manifest:
    """What to send with the deletion of exactly the object that was seen; another one is refused with 409.

    :param resource_version: empty when it may have been changed since.
    :param cascade: what becomes of its dependents, see ``model.plan.Cascade``; a Job without one leaves its pods.
    """
    preconditions = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": cascade,
        "preconditions": preconditions,
    }


def _json(body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def _json_as_yaml(body: Any) -> bytes:
    """JSON that means the same to a YAML reader, which is what reads an apply; it refuses lone surrogates."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()
