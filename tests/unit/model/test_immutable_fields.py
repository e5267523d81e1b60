"""Which words of the API server say that a field can't be changed, and which only look like it."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.immutable_fields import is_about_immutability

INVALID, FORBIDDEN = "FieldValueInvalid", "FieldValueForbidden"


@pytest.mark.parametrize(
    ("reason", "field", "message"),
    [
        (INVALID, "spec.selector", 'Invalid value: {"matchLabels":{"app":"z"}}: field is immutable'),
        (INVALID, "spec.volumeClaimTemplates", 'Invalid value: [{"name":"data","Spec":{}}]: field is immutable'),
        (INVALID, "spec", 'Invalid value: core.PodSpec{Env:[]core.EnvVar{{Value:"a}: b"}}}: field is immutable'),
        (INVALID, "spec.serviceName", 'Invalid value: "z": field is immutable'),
        (INVALID, "parameters", "Invalid value: null: field is immutable"),
        (INVALID, "spec.completions", "Invalid value: 2: field is immutable"),
        (INVALID, "spec.clusterIPs[0]", 'Invalid value: ["None"]: may not change once set'),
        (FORBIDDEN, "value", "Forbidden: may not be changed in an update."),
        (FORBIDDEN, "parameters", "Forbidden: updates to parameters are forbidden."),
        (FORBIDDEN, "spec", "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden"),
        (FORBIDDEN, "spec", "Forbidden: pod updates may not change fields other than `spec.containers[*].image`"),
        (FORBIDDEN, "data", "Forbidden: field is immutable when `immutable` is set"),
        (
            FORBIDDEN,
            "spec",
            'Forbidden: spec is immutable after creation except resources.requests\n@@ -1 +1 @@\n-  "x"',
        ),
        (
            FORBIDDEN,
            "spec.persistentvolumesource",
            "Forbidden: spec.persistentvolumesource is immutable after creation",
        ),
        (FORBIDDEN, "spec.resources.requests.storage", "Forbidden: field can not be less than status.capacity"),
        (INVALID, "spec.size", "Invalid value: 2: Value is immutable"),
        (INVALID, "spec.size", 'Invalid value: "b": failed rule: self == oldSelf'),
        (INVALID, "status.storedVersions[0]", 'Invalid value: "v1": missing from spec.versions; v1 was previously'),
        ("", "spec.template", 'Invalid value: {"Env":[]}: field is immutable'),
    ],
)
def test_what_says_that_a_field_cannot_be_changed(reason: str, field: str, message: str) -> None:
    assert is_about_immutability(reason, field, message)


@pytest.mark.parametrize(
    ("reason", "field", "message"),
    [
        # What policies and webhooks say carries no field.
        ("", "", "ValidatingAdmissionPolicy 'v' with binding 'v' denied request: size is immutable"),
        # The value says it, not the server.
        ("FieldValueNotSupported", "spec.strategy", 'Unsupported value: {"Type":"immutable"}: supported values: "a"'),
        (INVALID, "spec.containers[0].name", 'Invalid value: "field is immutable": a lowercase RFC 1123 label must'),
        (INVALID, "spec.a", 'Invalid value: x.Y{A:"field is immutable"}: must be a number'),
        ("FieldValueDuplicate", "spec.a[1]", 'Duplicate value: "immutable"'),
        ("FieldValueRequired", "spec.a", "Required value: immutable objects need it"),
        # A default that is in the way can be taken away.
        (
            FORBIDDEN,
            "spec.strategy.rollingUpdate",
            "Forbidden: may not be specified when strategy `type` is 'Recreate'",
        ),
        (INVALID, "spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
        (INVALID, "[]", "Too long: may not be more than 1048576 bytes"),
        (FORBIDDEN, "metadata.finalizers", "Forbidden: no new finalizers can be added if the object is being deleted"),
    ],
)
def test_what_only_looks_like_it(reason: str, field: str, message: str) -> None:
    assert not is_about_immutability(reason, field, message)
