"""What answers of a real API server (1.37) are taken for, and the one sentence that people read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.api_error import ApiError, FieldConflict

CONFIG_MAP = "/api/v1/namespaces/default/configmaps/a"
UID = "11111111-1111-1111-1111-111111111111"


def status(code: int, message: str, reason: str = "", **details: Any) -> dict[str, Any]:
    """A ``Status`` as the server writes it, without empty fields."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    body |= {"message": message, **({"reason": reason} if reason else {}), **({"details": details} if details else {})}
    return body


def cause(message: str, field: str = "", reason: str = "") -> dict[str, str]:
    return {key: value for key, value in {"reason": reason, "message": message, "field": field}.items() if value}


@dataclass
class Case:
    """An answer, the properties that must be true of it (all others must be false), and its message."""

    code: int
    body: Any
    true: set[str]
    message: str
    path: str = CONFIG_MAP
    values: dict[str, Any] = field(default_factory=dict)


FLAGS = (
    "not_found",
    "not_found_namespace",
    "kind_not_served",
    "already_exists",
    "conflict_fields",
    "precondition_failed",
    "immutable_fields",
    "forbidden",
    "denied_by_policy",
    "terminating_namespace",
    "too_large",
    "is_bad_manifest",
    "webhook_unavailable",
    "api_down",
    "quota_contended",
    "removed_version",
    "retryable",
    "unexplained",
)

CASES = {
    "missing namespace": Case(
        404,
        status(404, 'namespaces "nope" not found', "NotFound", name="nope", kind="namespaces"),
        {"not_found_namespace"},
        'namespaces "nope" not found',
        values={"not_found_namespace": "nope"},
    ),
    "the namespace itself": Case(
        404,
        status(404, 'namespaces "nope" not found', "NotFound", name="nope", kind="namespaces"),
        {"not_found"},
        'namespaces "nope" not found',
        path="/api/v1/namespaces/nope",
    ),
    "missing object": Case(
        404,
        status(404, 'configmaps "a" not found', "NotFound", name="a", kind="configmaps"),
        {"not_found"},
        'configmaps "a" not found',
    ),
    "kind that is not served": Case(
        404,
        "404 page not found\n",
        {"kind_not_served"},
        "the API server does not serve /apis/x.io/v1/foos",
        path="/apis/x.io/v1/foos?limit=500",
    ),
    "exists": Case(
        409,
        status(409, 'configmaps "a" already exists', "AlreadyExists", name="a", kind="configmaps"),
        {"already_exists"},
        'configmaps "a" already exists',
    ),
    "field conflicts": Case(
        409,
        status(
            409,
            "Apply failed with 3 conflicts: …",
            "Conflict",
            causes=[
                cause('conflict with "kubectl-edit" using apps/v1', ".spec.template", "FieldManagerConflict"),
                cause('conflict with "third"', ".data.b.c_d", "FieldManagerConflict"),
                cause(
                    'conflict with "kubectl" with subresource "scale" using apps/v1',
                    ".spec.replicas",
                    "FieldManagerConflict",
                ),
            ],
        ),
        {"conflict_fields"},
        "fields are owned by others: .spec.template by kubectl-edit, .data.b.c_d by third, .spec.replicas by kubectl",
        values={
            "conflict_fields": [
                FieldConflict("kubectl-edit", ".spec.template", "", "apps/v1"),
                FieldConflict("third", ".data.b.c_d", "", ""),
                FieldConflict("kubectl", ".spec.replicas", "scale", "apps/v1"),
            ]
        },
    ),
    "stale resourceVersion": Case(
        409,
        status(
            409,
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes'
            " to the latest version and try again",
            "Conflict",
            name="a",
            kind="configmaps",
        ),
        {"precondition_failed"},
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes'
        " to the latest version and try again",
    ),
    "uid of an object that is gone": Case(
        409,
        status(409, 'Operation cannot be fulfilled on configmaps "a": uid mismatch: …', "Conflict", name="a"),
        {"precondition_failed"},
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: …',
    ),
    "uid of another object": Case(
        422,
        status(
            422,
            f'ConfigMap "a" is invalid: metadata.uid: Invalid value: "{UID}": field is immutable',
            "Invalid",
            causes=[cause(f'Invalid value: "{UID}": field is immutable', "metadata.uid", "FieldValueInvalid")],
        ),
        {"precondition_failed"},
        f'metadata.uid: Invalid value: "{UID}": field is immutable',
    ),
    "two creates on one quota": Case(
        409,
        status(
            409,
            'Operation cannot be fulfilled on resourcequotas "q": the object has been modified; please apply your'
            " changes to the latest version and try again",
            "Conflict",
            name="q",
            kind="resourcequotas",
        ),
        {"quota_contended", "retryable"},
        'Operation cannot be fulfilled on resourcequotas "q": the object has been modified; please apply your'
        " changes to the latest version and try again",
    ),
    "immutable, with the pod template in the text": Case(
        422,
        status(
            422,
            'Job.batch "j" is invalid: spec.template: Invalid value: {"Env":[{"Value":"hunter2"}]}: field is immutable',
            "Invalid",
            causes=[cause('Invalid value: {"Env":[{"Value":"hunter2"}]}: field is immutable', "spec.template")],
        ),
        {"immutable_fields"},
        "spec.template: field is immutable",
        values={"immutable_fields": ["spec.template"]},
    ),
    "structure in Go's way": Case(
        422,
        status(
            422,
            "…",
            "Invalid",
            causes=[
                cause('Invalid value: core.PodSpec{Env:[]core.EnvVar{{Value:"a}: b"}}}: field is immutable', "spec"),
                cause('Invalid value: []string{"hunter2"}: too many', "x"),
                cause('Duplicate value: {"name":"a","value":"hunter2"}', "y[1]"),
            ],
        ),
        {"immutable_fields", "is_bad_manifest"},
        "spec: field is immutable, x: too many, y[1]: Duplicate value: {…}",
        values={"immutable_fields": ["spec"]},
    ),
    "merge patch that is quoted as a whole": Case(
        422,
        status(
            422,
            'Secret "a" is invalid: patch: Invalid value: "map[data:map[p:aHVudGVyMg==] x:1]": strict decoding error:'
            ' unknown field "spec.a[0].x"',
            "Invalid",
        ),
        {"is_bad_manifest"},
        'Secret "a" is invalid: patch: Invalid value: "{…}": strict decoding error: unknown field "spec.a[0].x"',
    ),
    "patch that is quoted as JSON in quotes": Case(
        400,
        status(400, r'error decoding "{\"data\":{\"p\":\"hunter2\"}}": unexpected end', "BadRequest"),
        {"is_bad_manifest"},
        'error decoding "{…}": unexpected end',
    ),
    "structure that was cut": Case(
        400,
        status(400, 'cannot handle {"data":{"p":"hunter2', "BadRequest"),
        {"is_bad_manifest"},
        "cannot handle {…}",
    ),
    "wrong type": Case(
        500,
        status(
            500,
            "failed to create typed patch object (d/a; /v1, Kind=ConfigMap): .metadata.labels.a: expected string, got"
            " &value.valueUnstructured{Value:true}",
        ),
        {"is_bad_manifest"},
        "failed to create typed patch object (d/a; /v1, Kind=ConfigMap): .metadata.labels.a: expected string, got true",
    ),
    "wrong type, with a structure in the text": Case(
        500,
        status(
            500,
            "failed to create typed patch object (d/a; /v1, Kind=ConfigMap): .data.a: expected string, got"
            ' &value.valueUnstructured{Value:map[string]interface {}{"p":"hunter2"}}',
        ),
        {"is_bad_manifest"},
        "failed to create typed patch object (d/a; /v1, Kind=ConfigMap): .data.a: expected string, got {…}",
    ),
    "keys of a list that stand twice": Case(
        500,
        status(
            500,
            "failed to create typed patch object (d/a; apps/v1, Kind=Deployment): .spec.template.spec.containers"
            '[name="c"].env: duplicate entries for key [name="A"]',
        ),
        {"is_bad_manifest"},
        "failed to create typed patch object (d/a; apps/v1, Kind=Deployment): .spec.template.spec.containers"
        '[name="c"].env: duplicate entries for key [name="A"]',
    ),
    "clusterIP": Case(
        422,
        status(
            422,
            "…",
            "Invalid",
            causes=[cause('Invalid value: ["10.0.0.34"]: may not change once set', "spec.clusterIPs[0]")],
        ),
        {"immutable_fields"},
        "spec.clusterIPs[0]: may not change once set",
    ),
    "value of a PriorityClass": Case(
        422,
        status(422, "…", "Invalid", causes=[cause("Forbidden: may not be changed in an update.", "value")]),
        {"immutable_fields"},
        "value: Forbidden: may not be changed in an update",
    ),
    "StatefulSet": Case(
        422,
        status(
            422,
            "…",
            "Invalid",
            causes=[
                cause(
                    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' are forbidden",
                    "spec",
                )
            ],
        ),
        {"immutable_fields"},
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' are forbidden",
    ),
    "volume claim that can't grow": Case(
        403,
        status(
            403,
            'persistentvolumeclaims "p" is forbidden: only dynamically provisioned pvc can be resized'
            " and the storageclass that provisions the pvc must support resize",
            "Forbidden",
        ),
        {"immutable_fields"},
        'persistentvolumeclaims "p" is forbidden: only dynamically provisioned pvc can be resized'
        " and the storageclass that provisions the pvc must support resize",
        values={"immutable_fields": ["spec.resources.requests.storage"]},
    ),
    "stored version of a definition": Case(
        422,
        status(
            422,
            "…",
            "Invalid",
            causes=[
                cause(
                    'Invalid value: "v1alpha1": missing from spec.versions; v1alpha1 was previously a storage version',
                    "status.storedVersions[0]",
                    "FieldValueInvalid",
                )
            ],
        ),
        {"immutable_fields"},
        'status.storedVersions[0]: Invalid value: "v1alpha1": missing from spec.versions;'
        " v1alpha1 was previously a storage version",
        values={"immutable_fields": ["spec.versions"], "stored_versions": ["v1alpha1"]},
    ),
    "volume claim, with a diff in the text": Case(
        422,
        status(
            422,
            "…",
            "Invalid",
            causes=[
                cause(
                    "Forbidden: spec is immutable after creation except resources.requests for bound claims\n"
                    '@@ -1,12 +1,12 @@\n-  "ReadWriteOnce"\n+  "ReadWriteMany"\n',
                    "spec",
                    "FieldValueForbidden",
                )
            ],
        ),
        {"immutable_fields"},
        "spec: Forbidden: spec is immutable after creation except resources.requests for bound claims",
    ),
    "invalid values": Case(
        422,
        status(
            422,
            "…",
            "Invalid",
            causes=[
                cause("Invalid value: -1: must be greater than or equal to 0", "spec.replicas", "FieldValueInvalid"),
                cause("Required value", "spec.template.spec.containers[0].image", "FieldValueRequired"),
            ],
        ),
        {"is_bad_manifest"},
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0,"
        " spec.template.spec.containers[0].image: Required value",
    ),
    "ConfigMap over 1 MiB": Case(
        422,
        status(422, "…", "Invalid", causes=[cause("Too long: may not be more than 1048576 bytes", "[]")]),
        {"is_bad_manifest"},
        "Too long: may not be more than 1048576 bytes",
    ),
    "unknown field": Case(
        500,
        status(500, "failed to create typed patch object (d/a; /v1, Kind=ConfigMap): .x: field not declared in schema"),
        {"is_bad_manifest"},
        "failed to create typed patch object (d/a; /v1, Kind=ConfigMap): .x: field not declared in schema",
    ),
    "bad base64": Case(
        500,
        status(500, "failed to convert new object (/a; /v1, Kind=Secret) to proper version: illegal base64 data"),
        {"is_bad_manifest"},
        "failed to convert new object (/a; /v1, Kind=Secret) to proper version: illegal base64 data",
    ),
    "managedFields in the body": Case(
        400,
        status(400, "metadata.managedFields must be nil", "BadRequest"),
        {"is_bad_manifest"},
        "metadata.managedFields must be nil",
    ),
    "body over 3 MiB": Case(
        413,
        status(413, "Request entity too large: limit is 3145728", "RequestEntityTooLarge"),
        {"too_large", "is_bad_manifest"},
        "Request entity too large: limit is 3145728",
    ),
    "too large for etcd": Case(
        500,
        status(500, "etcdserver: request is too large"),
        {"too_large", "is_bad_manifest"},
        "etcdserver: request is too large",
    ),
    "right that is missing": Case(
        403,
        status(
            403,
            'deployments.apps "a" is forbidden: User "viewer" cannot patch resource "deployments" in API group "apps"'
            ' in the namespace "web"',
            "Forbidden",
            name="a",
            group="apps",
            kind="deployments",
        ),
        {"forbidden"},
        'user "viewer" may not patch deployments.apps in namespace web',
    ),
    "right in the whole cluster": Case(
        403,
        status(
            403,
            'secrets is forbidden: User "viewer" cannot list resource "secrets" in API group "" at the cluster scope',
            "Forbidden",
            kind="secrets",
        ),
        {"forbidden"},
        'user "viewer" may not list secrets',
    ),
    "path that may not be read": Case(
        403,
        status(403, 'forbidden: User "viewer" cannot get path "/metrics"', "Forbidden"),
        {"forbidden"},
        'user "viewer" may not get /metrics',
    ),
    "quota": Case(
        403,
        status(403, 'pods "a" is forbidden: exceeded quota: q, requested: pods=1', "Forbidden", name="a"),
        set(),
        'pods "a" is forbidden: exceeded quota: q, requested: pods=1',
    ),
    "terminating namespace": Case(
        403,
        status(
            403,
            'configmaps "a" is forbidden: unable to create new content in namespace x because it is being terminated',
            "Forbidden",
            causes=[cause("namespace x is being terminated", "metadata.namespace", "NamespaceTerminating")],
        ),
        {"terminating_namespace"},
        'configmaps "a" is forbidden: unable to create new content in namespace x because it is being terminated',
    ),
    "webhook that denies": Case(
        403,
        status(403, 'admission webhook "w.x.io" denied the request: no'),
        {"denied_by_policy"},
        'admission webhook "w.x.io" denied the request: no',
    ),
    "policy that denies": Case(
        422,
        status(
            422,
            "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'v' with binding 'v' denied request: no",
            "Invalid",
            causes=[cause("ValidatingAdmissionPolicy 'v' with binding 'v' denied request: no")],
        ),
        {"denied_by_policy"},
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'v' with binding 'v' denied request: no",
    ),
    "webhook that is down": Case(
        500,
        status(
            500,
            'Internal error occurred: failed calling webhook "w": failed to call webhook: connection refused',
            "InternalError",
        ),
        {"webhook_unavailable", "retryable"},
        'Internal error occurred: failed calling webhook "w": failed to call webhook: connection refused',
    ),
    "conversion webhook that is down": Case(
        500,
        status(500, "conversion webhook for x.io/v1, Kind=X failed: connection refused"),
        {"webhook_unavailable", "retryable"},
        "conversion webhook for x.io/v1, Kind=X failed: connection refused",
    ),
    "aggregated API that is down": Case(
        503,
        "service unavailable\n",
        {"api_down", "retryable"},
        "the server behind /apis/dead.io/v1/x does not answer",
        path="/apis/dead.io/v1/x",
    ),
    "too many requests": Case(
        429,
        status(429, "storage is (re)initializing", "TooManyRequests"),
        {"retryable"},
        "storage is (re)initializing",
    ),
    "etcd elects a leader": Case(
        500, status(500, "etcdserver: leader changed"), {"retryable"}, "etcdserver: leader changed"
    ),
    "etcd is slow": Case(
        504, status(504, "the request timed out", "Timeout"), {"retryable"}, "the request timed out"
    ),
    "other internal error": Case(
        500, status(500, "storage had a bad day"), {"retryable", "unexplained"}, "storage had a bad day"
    ),
    "no text at all": Case(500, "", {"retryable", "unexplained"}, f"the API server answered 500 to PATCH {CONFIG_MAP}"),
    "fields owned in a version that is gone": Case(
        500,
        status(500, "request to convert CR to an invalid group/version: x.io/v1beta1"),
        {"removed_version"},
        "request to convert CR to an invalid group/version: x.io/v1beta1",
        values={"removed_version": "x.io/v1beta1"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_answer_is_taken_for_what_it_is(case: Case) -> None:
    error = ApiError(case.code, case.body, method="PATCH", path=case.path)

    assert {flag for flag in FLAGS if getattr(error, flag)} == case.true
    assert error.message == case.message
    assert {name: getattr(error, name) for name in case.values} == case.values


def test_a_long_message_is_cut() -> None:
    assert len(ApiError(400, "x" * 5000).message) == 600


@pytest.mark.parametrize(
    ("code", "retry_after", "message", "repeatable_create"),
    [
        (429, 1.0, "slow down", True),
        (503, 5.0, "the apiserver is shutting down", True),
        (503, None, "bad gateway", False),
        (504, None, "the request timed out", False),
        (500, None, 'failed calling webhook "w"', True),
        (500, None, "etcdserver: leader changed", False),
    ],
)
def test_a_create_is_repeated_only_when_nothing_was_done(
    code: int, retry_after: float | None, message: str, repeatable_create: bool
) -> None:
    assert ApiError(code, status(code, message), retry_after=retry_after).nothing_done is repeatable_create


@pytest.mark.parametrize(
    ("code", "text", "final"),
    [
        (500, "Internal error occurred: jsonpatch add operation does not apply", False),
        (501, "not implemented", False),
        (500, "request to convert CR to an invalid group/version: x.io/v1", False),
        (500, "failed to create typed patch object (d/a; /v1, Kind=ConfigMap): .x: field not declared in schema", True),
        (500, "etcdserver: request is too large", True),
        (500, 'failed calling webhook "w": connection refused', False),
        (503, "service unavailable", False),
        (429, "too many requests", False),
        (403, "exceeded quota: q", True),
        (422, "is invalid", True),
    ],
)
def test_what_the_server_failed_over_is_no_refusal(code: int, text: str, final: bool) -> None:
    assert ApiError(code, status(code, text)).is_final is final


@pytest.mark.parametrize(
    ("code", "text", "webhook"),
    [
        (500, 'Internal error occurred: failed calling webhook "a.x.io": failed to call webhook: refused', "a.x.io"),
        (500, "conversion webhook for x.io/v1, Kind=X failed: connection refused", ""),
        (500, "etcdserver: leader changed", ""),
        (400, 'admission webhook "a.x.io" denied the request: failed calling webhook "b.x.io"', ""),
    ],
)
def test_the_webhook_that_could_not_be_called_is_named(code: int, text: str, webhook: str) -> None:
    assert ApiError(code, status(code, text)).webhook == webhook
