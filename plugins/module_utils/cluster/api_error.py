"""What a refusal of the API server means, and whether the same request may succeed later.

Everything here was seen on a real server (Kubernetes 1.37): the status alone tells little (a wrong manifest can be a
500), the ``reason`` is often empty, and so the texts have to be read, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..model.errors import ClusterError
from ..model.immutable_fields import STORED_VERSIONS, is_about_immutability
from ..model.shapes import mapping_of
from ..model.wording import shortened

_MESSAGE_LENGTH = 600

_BAD_MANIFEST = ("failed to create typed patch object", "failed to convert new object")
_TOO_LARGE = ("etcdserver: request is too large", "ResourceExhausted")
_STORAGE_BUSY = ("etcdserver: leader changed", "etcdserver: no leader", "etcdserver: request timed out")
_WEBHOOK = re.compile(r'failed calling webhook "([^"]*)"')
_WEBHOOK_DOWN = ("failed calling webhook", "conversion webhook for")
_NO_GROWTH = "only dynamically provisioned pvc can be resized"
_CONFLICT = re.compile(r'^conflict with "(.+?)"(?: with subresource "(.+?)")?(?: using (\S+))?')
# From the beginning of a mapping, list or Go struct that a message quotes, as JSON (maybe within quotes) or in Go's
# way, to the last bracket that may end it: brackets within its texts can't be told from its own.
_STRUCTURE = re.compile(
    r"""(?:\{\\*"|\[\\*\{|(?<=value:\ )\[|map\[[^\]\s:]{0,99}:|map\[\w*\][^{]{0,20}\{|\[\][\w.]{1,99}\{
        |(?<!\w)&?\w+\.\w+\{)
        (?:.*[}\]](?=\\*"?(?:[\s:,;]|\.?$))|.*)""",
    re.DOTALL | re.VERBOSE,
)
_REMOVED_VERSION = re.compile(r"request to convert CR to an invalid group/version: (\S+)")
_TYPED_SCALAR = re.compile(r"&value\.valueUnstructured\{Value:([^{}\[\]]*)\}")
REFUSED_RIGHT = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) (?:resource "(?P<resource>[^"]*)"|path "(?P<path>[^"]*)")'
    r'(?: in API group "(?P<group>[^"]*)")?(?: in the namespace "(?P<namespace>[^"]*)"| at the cluster scope)?'
)


@dataclass(frozen=True, slots=True)
class Cause:
    """One of the reasons in a refusal; each part may be empty."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that another manager owns. ``field`` is for display: the server does not escape dots in keys.

    ``version`` is empty for a manager that applies, ``subresource`` for the object itself.
    """

    manager: str
    field: str
    subresource: str
    version: str


class ApiError(ClusterError):
    """A refusal (status 400 and above). Its message is the server's, in one line; secrets are masked by the caller.

    :ivar reason: the server's word for it, such as ``Conflict``; it is empty more often than documented.
    :ivar details: the server's ``details`` (name, kind, group, uid), empty if it gave none.
    :ivar is_status: whether the answer was a Kubernetes ``Status``; what is missing altogether answers in plain text.
    """

    def __init__(
        self, status: int, body: Any, *, method: str = "", path: str = "", retry_after: float | None = None
    ) -> None:
        self.status = status
        self.method = method
        self.path = path
        self.retry_after = retry_after
        self.is_status = isinstance(body, dict) and body.get("kind") == "Status"
        content = mapping_of(body)
        self.reason: str = content.get("reason") or ""
        self.details: dict[str, Any] = content.get("details") or {}
        self.causes = [
            Cause(cause.get("reason") or "", cause.get("message") or "", cause.get("field") or "")
            for cause in self.details.get("causes") or []
        ]
        self.text: str = content.get("message") or (body if isinstance(body, str) else "")
        self.outcome_unknown = status >= 500 and self.retryable and not self.nothing_done
        super().__init__(self._sentence(), hint=self._advice())

    def _sentence(self) -> str:
        address = self.path.partition("?")[0]
        if self.kind_not_served:
            text = f"the API server does not serve {address}"
        elif self.api_down:
            text = f"the server behind {address} does not answer"
        elif conflicts := self.conflict_fields:
            text = "fields are owned by others: " + ", ".join(f"{one.field} by {one.manager}" for one in conflicts)
        elif right := REFUSED_RIGHT.search(self.text) if self.forbidden else None:
            what = right["path"] or ".".join(filter(None, (right["resource"], right["group"])))
            where = f" in namespace {right['namespace']}" if right["namespace"] else ""
            text = f'user "{right["user"]}" may not {right["verb"]} {what}{where}'
        elif self.status == 422 and any(cause.field for cause in self.causes):
            text = ", ".join(map(_told, self.causes))
        else:
            text = _without_structures(self.text) or f"the API server answered {self.status} to {self.method} {address}"
        return shortened(" ".join(text.split()).rstrip("."), _MESSAGE_LENGTH)

    def _advice(self) -> str:
        if self.forbidden:
            return "grant that right, or run as a user who has it"
        if self.terminating_namespace:
            return "wait until the namespace is gone, or find out which finalizer holds it"
        if self.webhook_unavailable:
            return "see whether the pods behind that webhook are running"
        if self.too_large:
            return "split the object; etcd takes about 1.5 MB"
        return ""

    def _says(self, *texts: str) -> bool:
        return any(text in self.text for text in texts)

    @property
    def not_found(self) -> bool:
        """The object is missing; its kind is served, and its namespace exists as far as this tells."""
        return self.status == 404 and not self.kind_not_served and not self.not_found_namespace

    @property
    def not_found_namespace(self) -> str:
        """Name of the namespace that an object should be in and that does not exist, else empty."""
        name: str = self.details.get("name") or ""
        about_namespace = self.details.get("kind") == "namespaces" and not self.details.get("group")
        asked_for_it = self.path.partition("?")[0].endswith(f"/api/v1/namespaces/{name}")
        return name if self.status == 404 and about_namespace and not asked_for_it else ""

    @property
    def kind_not_served(self) -> bool:
        """Group, version or kind is unknown to the server: it says so in plain text, or without naming an object."""
        return self.status == 404 and not (self.is_status and self.details.get("name"))

    @property
    def already_exists(self) -> bool:
        return self.status == 409 and self.reason == "AlreadyExists"

    @property
    def conflict_fields(self) -> list[FieldConflict]:
        """The fields that an unforced apply would have taken from other managers."""
        owned = [cause for cause in self.causes if cause.reason == "FieldManagerConflict"]
        found = [(cause, _CONFLICT.match(cause.message)) for cause in owned]
        return [FieldConflict(match[1], cause.field, match[2] or "", match[3] or "") for cause, match in found if match]

    @property
    def precondition_failed(self) -> bool:
        """The object is not the one, or not in the state, that the request was made for (uid or resourceVersion)."""
        if self.status == 409:
            return not (self.already_exists or self.conflict_fields or self.quota_contended)
        return self.status == 422 and any(cause.field == "metadata.uid" for cause in self.causes)

    @property
    def immutable_fields(self) -> list[str]:
        """Fields that can't be changed on the existing object; it would have to be replaced.

        There may be more that is wrong with it, see ``faults``.
        """
        if self.status == 403 and self._says(_NO_GROWTH):
            return ["spec.resources.requests.storage"]
        if self.status != 422 or self.precondition_failed:
            return []
        found = ("spec.versions" if _is_stored(cause) else cause.field for cause in self.causes if _is_fixed(cause))
        return list(dict.fromkeys(found))

    @property
    def faults(self) -> list[Cause]:
        """Causes that have nothing to do with what can be changed in place."""
        return [cause for cause in self.causes if not _is_fixed(cause)]

    @property
    def stored_versions(self) -> list[str]:
        """Versions that the new CustomResourceDefinition lacks although objects may still be stored in them."""
        quoted = (re.match(r'Invalid value: "([^"]*)"', cause.message) for cause in self.causes if _is_stored(cause))
        return [found[1] for found in quoted if found]

    @property
    def forbidden(self) -> bool:
        """A right is missing; quotas, admission and terminating namespaces, which also answer 403, are not meant."""
        return self.status == 403 and (not self.is_status or bool(REFUSED_RIGHT.search(self.text)))

    @property
    def denied_by_policy(self) -> bool:
        """An admission webhook or a ValidatingAdmissionPolicy refused the object."""
        return self.status >= 400 and self._says("denied the request", "denied request:")

    @property
    def terminating_namespace(self) -> bool:
        return self.status == 403 and any(cause.reason == "NamespaceTerminating" for cause in self.causes)

    @property
    def too_large(self) -> bool:
        return self.status == 413 or (self.status == 500 and self._says(*_TOO_LARGE))

    @property
    def is_bad_manifest(self) -> bool:
        """The object as written can't be accepted by this server, however often it is sent."""
        if self.too_large or self.status == 400 or (self.status == 500 and self._says(*_BAD_MANIFEST)):
            return True
        fixed = self.immutable_fields and not self.faults
        return self.status == 422 and not (self.precondition_failed or self.denied_by_policy or fixed)

    @property
    def removed_version(self) -> str:
        """An API version in the object's managed fields that its kind does not have any more, else empty.

        Then every apply fails, until that entry is put right; other writes do not (observed).
        """
        found = _REMOVED_VERSION.search(self.text) if self.status == 500 else None
        return found[1] if found else ""

    @property
    def webhook_unavailable(self) -> bool:
        return self.status == 500 and self._says(*_WEBHOOK_DOWN)

    @property
    def webhook(self) -> str:
        """The name of the admission webhook that could not be called; empty when it is not about one."""
        found = _WEBHOOK.search(self.text) if self.webhook_unavailable else None
        return found[1] if found else ""

    @property
    def quota_contended(self) -> bool:
        """Two requests at the same moment wanted to count an object on one ResourceQuota, and this one lost."""
        about_quota = self.details.get("kind") == "resourcequotas" and "/resourcequotas/" not in self.path
        return self.status == 409 and self.reason == "Conflict" and about_quota

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        if self.status in (429, 502, 503, 504) or self.webhook_unavailable or self.quota_contended:
            return True
        return self.status == 500 and not (self.is_bad_manifest or self.removed_version)

    @property
    def is_final(self) -> bool:
        """Whether the server refused what was asked; else it failed over it, or may do it later."""
        return not self.retryable and (self.status < 500 or self.is_bad_manifest)

    @property
    def api_down(self) -> bool:
        """An aggregated API whose own server is down; this server is not."""
        return self.status == 503 and self.text.strip() == "service unavailable"

    @property
    def seldom_mends(self) -> bool:
        """Retryable, but a few tries tell: a webhook, a conversion webhook or an aggregated API is down."""
        return self.webhook_unavailable or self.api_down or self._says("storage is (re)initializing")

    @property
    def unexplained(self) -> bool:
        """Retryable, but a second and a third try tell: the server failed and does not say that it is busy."""
        busy = self.reason in ("ServerTimeout", "Timeout") or self._says(*_STORAGE_BUSY)
        return self.status == 500 and self.retryable and not (busy or self.webhook_unavailable)

    @property
    def nothing_done(self) -> bool:
        """The server rejected the request before it did anything, so even a create may be repeated."""
        refused = self.status == 429 or self.webhook_unavailable or self.quota_contended
        return refused or (self.retryable and self.retry_after is not None)


def _is_fixed(cause: Cause) -> bool:
    return is_about_immutability(cause.reason, cause.field, cause.message)


def _is_stored(cause: Cause) -> bool:
    return cause.field.startswith(STORED_VERSIONS)


def _told(cause: Cause) -> str:
    """``field: message``, without the offending value when it is a structure."""
    message = _without_structures(cause.message.partition("\n@@ ")[0])
    message = re.sub(r'^Invalid value: "?\{…\}"?: ', "", message)
    # The server's word for "the object as a whole".
    field = cause.field if cause.field != "[]" else ""
    return f"{field}: {message}" if field else message


def _without_structures(text: str) -> str:
    """A message that quotes no mapping and no list.

    A refused pod template would be quoted as a whole, with everything that stands in its ``env``; a merge patch with
    an unknown field, too (observed), also that of a Secret.
    """
    return _STRUCTURE.sub("{…}", _TYPED_SCALAR.sub(r"\1", text))
