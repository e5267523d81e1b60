"""From what a source wrote to what is sent, also when what it wrote is odd."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import ObjectError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.normalise import (
    Normalised,
    SourceObject,
    describe_kind,
    flatten,
    is_definition,
    kinds_of_definition,
    normalise,
    pod_path,
    pod_spec,
)

CLUSTER_SCOPED = {
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterThing",
    "CustomResourceDefinition",
    "Namespace",
    "ValidatingAdmissionPolicy",
}
LABELS = {"rendimiento.ai/addon": "web"}


def namespaced(group: str, version: str, kind: str) -> bool | None:
    return None if "unknown" in group else kind not in CLUSTER_SCOPED


def normalised(*manifests: Any, create_namespace: bool = False) -> Normalised:
    documents = [SourceObject(manifest, f"f.yaml:{number}") for number, manifest in enumerate(manifests, 1)]
    return normalise(
        documents,
        addon="web",
        namespace="home",
        create_namespace=create_namespace,
        namespaced=namespaced,
        state_namespace="state",
    )


def one(manifest: Any) -> dict[str, Any]:
    (made,) = normalised(manifest).objects
    return made.manifest


def config(name: Any = "a", kind: str = "ConfigMap", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": fields.pop("apiVersion", "v1"), "kind": kind, "metadata": metadata, **fields}


def error_of(*manifests: Any) -> str:
    with pytest.raises(ObjectError) as caught:
        normalised(*manifests)
    return str(caught.value)


RBAC, CRD = "rbac.authorization.k8s.io/v1", "apiextensions.k8s.io/v1"


@pytest.mark.parametrize(
    ("kind", "api_version", "name", "namespace"),
    [
        ("CustomResourceDefinition", CRD, "addons.rendimiento.ai", ""),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", "addons.rendimiento.ai", ""),
        ("APIService", "apiregistration.k8s.io/v1", "v1alpha1.rendimiento.ai", ""),
        ("ClusterRoleBinding", RBAC, "rendimiento-addons", ""),
        ("ServiceAccount", "v1", "rendimiento-addons", "state"),
        ("Secret", "v1", "addon-key", "state"),
        ("Secret", "v1", "addon-db-tombstone", "state"),
        ("Secret", "v1", "addon-db-applied", "state"),
        ("Lease", "coordination.k8s.io/v1", "addon-db", "state"),
    ],
)
def test_objects_of_the_collection_itself_are_refused(kind: str, api_version: str, name: str, namespace: str) -> None:
    manifest = config(name, kind, apiVersion=api_version, metadata={"namespace": namespace} if namespace else {})
    title = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
    error = (
        f"{title}: is an object of rendimiento.addons itself, which no add-on may install (f.yaml:1). "
        "Remove it, or give it another name."
    )
    assert error_of(manifest) == error
    manifest["metadata"]["annotations"] = {"helm.sh/hook": "pre-install"}
    assert error_of(manifest) == error


@pytest.mark.parametrize(
    ("kind", "api_version", "name", "namespace"),
    [
        ("Secret", "v1", "addon-key", "home"),
        ("Secret", "v1", "addon-db-tombstone", "home"),
        ("Secret", "v1", "addon-x", "state"),
        ("ConfigMap", "v1", "addon-key", "state"),
        ("Lease", "coordination.k8s.io/v1", "addon-db", "home"),
        ("ServiceAccount", "v1", "rendimiento-addons", "home"),
        ("ClusterRole", RBAC, "rendimiento-addons", ""),
        ("CustomResourceDefinition", CRD, "addons.rendimiento.ai.example.com", ""),
    ],
)
def test_objects_of_like_names_are_not(kind: str, api_version: str, name: str, namespace: str) -> None:
    assert one(config(name, kind, apiVersion=api_version, metadata={"namespace": namespace} if namespace else {}))


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ({}, {"namespace": "home"}),
        ({"namespace": None}, {"namespace": "home"}),
        ({"namespace": ""}, {"namespace": "home"}),
        ({"namespace": "other"}, {"namespace": "other"}),
        ({"labels": None, "annotations": None}, {"namespace": "home"}),
        ({"labels": {}, "annotations": {}}, {"namespace": "home"}),
        ({"labels": {"x": "y"}}, {"namespace": "home", "labels": {"x": "y", **LABELS}}),
        ({"labels": {"rendimiento.ai/addon": "other"}}, {"namespace": "home"}),
        ({"creationTimestamp": None, "deletionTimestamp": "t", "generation": 1, "managedFields": [], "selfLink": "/",
          "resourceVersion": "1", "uid": "u"}, {"namespace": "home"}),
        ({"generateName": ""}, {"namespace": "home", "generateName": ""}),
        ({"finalizers": [], "ownerReferences": []}, {"namespace": "home", "finalizers": []}),
    ],
)  # fmt: skip
def test_metadata(written: dict[str, Any], sent: dict[str, Any]) -> None:
    assert one(config(metadata=written))["metadata"] == {"name": "a", "labels": LABELS, **sent}


def test_only_the_objects_own_metadata_is_labelled() -> None:
    template = {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": []}}
    spec = {"selector": {"matchLabels": {"x": "y"}}, "template": template}
    assert one(config(kind="Deployment", apiVersion="apps/v1", spec=spec))["spec"] == spec


def test_what_the_source_has_stays_as_it_is() -> None:
    manifest = config(kind="Pod", spec={"containers": [{"ports": [{"containerPort": 1}]}]}, metadata={"uid": "u"})
    before = copy.deepcopy(manifest)
    assert one(manifest)["spec"]["containers"][0]["ports"] == [{"containerPort": 1, "protocol": "TCP"}]
    assert manifest == before


def test_a_namespace_on_what_has_none_is_taken_away_and_told() -> None:
    made = normalised(config(kind="ClusterRole", metadata={"namespace": "x"}))
    assert "namespace" not in made.objects[0].manifest["metadata"]
    assert made.warnings == ["f.yaml:1: ClusterRole a has no namespace, the one given is ignored"]


@pytest.mark.parametrize("namespace", [None, "x"])
def test_an_unknown_kind_gets_no_guessed_namespace(namespace: str | None) -> None:
    made = normalised(config(apiVersion="unknown.io/v1", kind="Thing", metadata={"namespace": namespace}))
    assert made.objects[0].manifest["metadata"].get("namespace") == namespace


def test_b07_the_add_ons_namespace_is_filled_in_only_where_one_is_missing() -> None:
    made = normalised(
        config(kind="Service"),
        config("r", "ClusterRole", apiVersion=RBAC),
        config("x", metadata={"namespace": "elsewhere"}),
    )
    assert [(str(item.key), item.manifest["metadata"].get("namespace")) for item in made.objects] == [
        ("Service home/a", "home"),
        ("ClusterRole r", None),
        ("ConfigMap elsewhere/x", "elsewhere"),
    ]
    assert made.warnings == []


def test_b08_a_namespace_stamped_on_cluster_scoped_kinds_is_dropped_and_told() -> None:
    stamp = {"namespace": "demo"}
    made = normalised(
        config("a", "ValidatingAdmissionPolicy", apiVersion="admissionregistration.k8s.io/v1", metadata=stamp),
        config("clusterthings.example.com", "CustomResourceDefinition", apiVersion=CRD, metadata=stamp),
        config("c", "ClusterThing", apiVersion="example.com/v1", metadata=stamp),
        config("r", "ClusterRole", apiVersion=RBAC),
        config("u", "Thing", apiVersion="unknown.io/v1", metadata=stamp),
    )
    assert [str(item.key) for item in made.objects] == [
        "ValidatingAdmissionPolicy a",
        "CustomResourceDefinition clusterthings.example.com",
        "ClusterThing c",
        "ClusterRole r",
        "Thing demo/u",
    ]
    assert all("namespace" not in item.manifest["metadata"] for item in made.objects[:4])
    assert made.warnings == [
        "f.yaml:1: ValidatingAdmissionPolicy a has no namespace, the one given is ignored",
        "f.yaml:2: CustomResourceDefinition clusterthings.example.com has no namespace, the one given is ignored",
        "f.yaml:3: ClusterThing c has no namespace, the one given is ignored",
    ]


def test_trap_18_foreign_namespaces_stay_and_an_own_namespace_of_the_render_is_taken() -> None:
    made = normalised(
        config("linkerd", metadata={"namespace": "kube-system"}), config("home", "Namespace"), create_namespace=True
    )
    assert [(str(item.key), item.generated) for item in made.objects] == [
        ("ConfigMap kube-system/linkerd", False),
        ("Namespace home", False),
    ]


def test_owner_references_are_not_sent() -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u"}
    made = normalised(config(metadata={"ownerReferences": [owner]}))
    assert "ownerReferences" not in made.objects[0].manifest["metadata"]
    assert made.warnings == ["f.yaml:1: ownerReferences of ConfigMap a are not sent, their uids are a cluster's own"]


def test_finalizers_are_sent_with_a_warning() -> None:
    made = normalised(config(metadata={"finalizers": ["x.io/a", "x.io/b"]}))
    assert made.objects[0].manifest["metadata"]["finalizers"] == ["x.io/a", "x.io/b"]
    assert made.warnings == [
        "f.yaml:1: ConfigMap a has finalizers (x.io/a, x.io/b): only their controller can delete it"
    ]


def test_a_null_timestamp_is_left_out_of_every_metadata() -> None:
    def template(**fields: Any) -> dict[str, Any]:
        return {"metadata": {"labels": {"x": "y"}, **fields}}

    before = {
        "template": template(creationTimestamp=None),
        "volumeClaimTemplates": [template(creationTimestamp=None)],
        "other": {"creationTimestamp": None},
        "kept": template(creationTimestamp="2024-01-01T00:00:00Z"),
    }
    after = {**before, "template": template(), "volumeClaimTemplates": [template()]}
    assert one(config(kind="StatefulSet", apiVersion="apps/v1", spec=before))["spec"] == after
    assert one(config(kind="Cluster", apiVersion="x.io/v1", spec=before))["spec"] == after
    assert before["template"] == template(creationTimestamp=None)


WORKLOADS: list[tuple[str, str, str]] = [
    ("apps/v1", "Deployment", "spec.template"),
    ("batch/v1", "CronJob", "spec.jobTemplate"),
    ("batch/v1", "CronJob", "spec.jobTemplate.spec.template"),
    ("v1", "PodTemplate", "template"),
]


@pytest.mark.parametrize("part", ["labels", "annotations"])
@pytest.mark.parametrize(("api_version", "kind", "path"), WORKLOADS)
def test_values_in_templates_that_are_not_text_are_refused_with_their_place(
    api_version: str, kind: str, path: str, part: str
) -> None:
    def workload(value: Any) -> dict[str, Any]:
        inside: dict[str, Any] = {"metadata": {part: {"build": value}}}
        for step in reversed(path.split(".")):
            inside = {step: inside}
        return {**config(apiVersion=api_version, kind=kind), **inside}

    message = f"f.yaml:1: {kind} a: {path}.metadata.{part}.build is not text. Put the value in quotes."
    assert error_of(workload(True)) == message
    assert error_of(workload(123)) == message
    assert one(workload("123"))
    # The server takes it for empty text.
    assert one(workload(None))


def test_labels_of_claim_templates_are_text() -> None:
    claims = [{"metadata": {"name": "a"}}, {"metadata": {"labels": {"x": 1}}}]
    assert error_of(config(kind="StatefulSet", apiVersion="apps/v1", spec={"volumeClaimTemplates": claims})) == (
        "f.yaml:1: StatefulSet a: spec.volumeClaimTemplates[1].metadata.labels.x is not text. Put the value in quotes."
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "refused"),
    [
        ("v1", "Secret", True),
        ("v1", "ConfigMap", True),
        ("apps/v1", "Deployment", True),
        ("networking.k8s.io/v1", "Ingress", True),
        ("isindir.github.com/v1alpha3", "SopsSecret", False),
        ("x.io/v1", "Thing", False),
    ],
)
def test_sops_is_refused_only_where_it_can_not_be_meant(api_version: str, kind: str, refused: bool) -> None:
    manifest = config(kind=kind, apiVersion=api_version, sops={"mac": "x"})
    if refused:
        assert error_of(manifest) == f"f.yaml:1: {kind} a is encrypted with sops. It can't be applied as it is."
    else:
        assert one(manifest)["sops"] == {"mac": "x"}


@pytest.mark.parametrize(
    ("written", "account"),
    [
        ({"serviceAccountName": "a"}, "a"),
        ({"serviceAccount": "a"}, "a"),
        ({"serviceAccountName": "a", "serviceAccount": "b"}, "a"),
        ({"serviceAccountName": "", "serviceAccount": "b"}, "b"),
    ],
)
def test_both_names_of_the_service_account_are_sent(written: dict[str, str], account: str) -> None:
    template = {"spec": {"containers": [], **written}}
    sent = one(config(kind="Deployment", apiVersion="apps/v1", spec={"template": template}))
    assert sent["spec"]["template"]["spec"] == {
        "containers": [],
        "serviceAccountName": account,
        "serviceAccount": account,
    }


def test_without_a_service_account_none_is_sent() -> None:
    assert one(config(kind="Pod", spec={"containers": []}))["spec"] == {"containers": []}


def test_status_is_not_sent() -> None:
    assert "status" not in one(config(status={"x": 1}))


# Lists


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        ({"apiVersion": "v1", "kind": "List", "items": [config("a"), config("b")]}, ["a", "b"]),
        ({"apiVersion": "v1", "kind": "List", "items": []}, []),
        ({"apiVersion": "v1", "kind": "List", "items": None}, []),
        ({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}}, []),
        ({"apiVersion": "v1", "kind": "List", "metadata": [], "items": [config("a")]}, ["a"]),
        ({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": "x", "items": [config("a")]}, ["a"]),
        ({"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "a"}}]}, ["a"]),
        ({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List", "items": [config("a")]},
                                                        config("b")]}, ["a", "b"]),
        (config("a", "AllowList", apiVersion="example.com/v1", spec={"x": 1}), ["a"]),
        (config("a", "AllowList", apiVersion="example.com/v1", items=[]), ["a"]),
        (config("a", "AllowList", apiVersion="example.com/v1", items=None), ["a"]),
    ],
)  # fmt: skip
def test_lists_become_their_items_and_kinds_named_so_do_not(manifest: dict[str, Any], names: list[str]) -> None:
    assert [item.key.name for item in normalised(manifest).objects] == names


def test_b11_kinds_that_end_in_list_are_objects_and_lists_are_their_items() -> None:
    def inner(name: str, namespace: str) -> dict[str, Any]:
        return config(name, metadata={"namespace": namespace})

    made = normalised(
        config("a", "AllowList", apiVersion="example.com/v1", spec={"x": 1}),
        config("b", "AllowList", apiVersion="example.com/v1", items=[]),
        {"apiVersion": "v1", "kind": "List", "items": [inner("p", "t"), inner("q", "u")]},
        {"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "r"}}]},
        {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List", "items": [config("s")]}]},
        config("z"),
    )
    assert [str(item.key) for item in made.objects] == [
        "AllowList home/a",
        "AllowList home/b",
        "ConfigMap t/p",
        "ConfigMap u/q",
        "ConfigMap home/r",
        "ConfigMap home/s",
        "ConfigMap home/z",
    ]
    assert made.objects[1].manifest["items"] == []
    assert made.warnings == []


def test_items_keep_their_namespaces_and_say_where_they_stand() -> None:
    items = [config("a", metadata={"namespace": "x"}), config("b")]
    made = normalised(config("c"), {"apiVersion": "v1", "kind": "List", "items": items}).objects
    assert [(item.key.namespace, item.source) for item in made] == [
        ("home", "f.yaml:1"),
        ("x", "f.yaml:2, item 1"),
        ("home", "f.yaml:2, item 2"),
    ]


def test_flattening_twice_changes_nothing() -> None:
    document = SourceObject({"apiVersion": "v1", "kind": "List", "items": [config("a")]}, "f")
    once = list(flatten([document]))
    assert list(flatten(once)) == once


# Duplicates


def test_two_equal_objects_are_one_with_a_warning() -> None:
    made = normalised(config(data={"a": "1"}), config(data={"a": "1"}, metadata={"namespace": "home"}))
    assert [item.source for item in made.objects] == ["f.yaml:1"]
    assert made.warnings == ["ConfigMap home/a is in the source twice, and equal: f.yaml:1 and f.yaml:2"]


@pytest.mark.parametrize(
    "other",
    [
        config(data={"a": "2"}),
        config(data={"a": True}),
        config(apiVersion="v2", data={"a": "1"}),
        config(data={"a": "1"}, metadata={"annotations": {"helm.sh/hook": "pre-install"}}),
    ],
)
def test_two_different_objects_of_one_identity_are_an_error(other: dict[str, Any]) -> None:
    assert error_of(config(data={"a": "1"}), other) == (
        "ConfigMap home/a: is in the source twice: f.yaml:1 and f.yaml:2. Remove one."
    )


# Namespace of the add-on


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        ([], [("Namespace home", True)]),
        ([config()], [("Namespace home", True), ("ConfigMap home/a", False)]),
        ([config(), config("home", "Namespace")], [("ConfigMap home/a", False), ("Namespace home", False)]),
        ([config("other", "Namespace")], [("Namespace home", True), ("Namespace other", False)]),
    ],
)
def test_the_namespace_is_added_when_the_source_has_none(
    manifests: list[dict[str, Any]], expected: list[tuple[str, bool]]
) -> None:
    made = normalised(*manifests, create_namespace=True)
    assert [(str(item.key), item.generated) for item in made.objects] == expected
    assert all(item.manifest["metadata"]["labels"] == LABELS for item in made.objects)


# Hooks


@pytest.mark.parametrize(
    ("annotation", "objects", "hooks"),
    [
        ({"helm.sh/hook": "pre-install"}, 0, 1),
        ({"helm.sh/hook": "post-install, test"}, 0, 1),
        ({"helm.sh/hook": "Test"}, 0, 0),
        ({"helm.sh/hook": " test-success ,test-failure"}, 0, 0),
        ({"helm.sh/hook": ""}, 1, 0),
        ({"helm.sh/hook": " , "}, 1, 0),
        ({"config.kubernetes.io/local-config": "true"}, 0, 0),
        ({"config.kubernetes.io/local-config": "false"}, 1, 0),
    ],
)
def test_hooks_stand_apart_and_tests_are_left_out(annotation: dict[str, str], objects: int, hooks: int) -> None:
    made = normalised(config(metadata={"annotations": annotation}))
    assert (len(made.objects), len(made.hooks)) == (objects, hooks)


# Secrets


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("fields", "data"),
    [
        ({"stringData": {"a": "é", "b": None}}, {"a": encoded("é"), "b": ""}),
        ({"stringData": {"a": "new"}, "data": {"a": "b2xk", "b": "Yg=="}}, {"a": encoded("new"), "b": "Yg=="}),
        ({"stringData": {"a": "x"}, "data": None}, {"a": encoded("x")}),
        ({"stringData": {}, "data": {"b": "Yg=="}}, {"b": "Yg=="}),
        ({"stringData": None, "data": {"b": None}}, {"b": None}),
    ],
)
def test_string_data_is_sent_as_data(fields: dict[str, Any], data: Any) -> None:
    sent = one(config(kind="Secret", **fields))
    assert (sent["data"], "stringData" in sent) == (data, False)


@pytest.mark.parametrize(
    ("kind", "fields", "sent"),
    [
        ("Secret", {"data": None}, {}),
        ("Secret", {"data": {}}, {}),
        ("Secret", {"data": None, "stringData": {}}, {}),
        ("Secret", {"data": {}, "stringData": {"a": ""}}, {"data": {"a": ""}}),
        ("Secret", {"data": {"a": ""}}, {"data": {"a": ""}}),
        ("Secret", {"data": {}, "type": "Opaque", "immutable": False}, {"type": "Opaque", "immutable": False}),
        ("Secret", {"binaryData": {}}, {"binaryData": {}}),
        ("ConfigMap", {"data": None, "binaryData": None}, {}),
        ("ConfigMap", {"data": {}, "binaryData": {}}, {}),
        ("ConfigMap", {"data": {"a": ""}, "binaryData": {}}, {"data": {"a": ""}}),
        ("ConfigMap", {"data": []}, {"data": []}),
        ("ConfigMap", {"data": {}, "apiVersion": "x.io/v1"}, {"data": {}}),
        ("Secret", {"data": {}, "apiVersion": "x.io/v1"}, {"data": {}}),
        ("Thing", {"data": {}}, {"data": {}}),
    ],
)
def test_trap_35_data_without_content_is_not_sent(kind: str, fields: dict[str, Any], sent: dict[str, Any]) -> None:
    made = one(config(kind=kind, **fields))
    assert {name: value for name, value in made.items() if name not in ("apiVersion", "kind", "metadata")} == sent


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"data": {"pin": 483912}}, "f.yaml:1: Secret a: data.pin is not text. Put the value in quotes."),
        ({"stringData": {"pin": 483912}}, "f.yaml:1: Secret a: stringData.pin is not text. Put the value in quotes."),
        ({"data": {"x": {"483912": 1}}}, "f.yaml:1: Secret a: data.x is not text. Put the value in quotes."),
        ({"data": "483912"}, "f.yaml:1: Secret a: data is not a mapping"),
        ({"data": ["483912"]}, "f.yaml:1: Secret a: data is not a mapping"),
        ({"stringData": ["483912"]}, "f.yaml:1: Secret a: stringData is not a mapping"),
        ({"stringData": "483912"}, "f.yaml:1: Secret a: stringData is not a mapping"),
        ({"data": 0}, "f.yaml:1: Secret a: data is not a mapping"),
    ],
)
def test_odd_secrets_are_refused_without_their_values(fields: dict[str, Any], message: str) -> None:
    assert error_of(config(kind="Secret", **fields)) == message
    assert "483912" not in message


def test_another_groups_secret_is_not_touched() -> None:
    fields = {"stringData": ["x"], "data": 5}
    assert one(config(kind="Secret", apiVersion="x.io/v1", **fields)).items() >= fields.items()


# Ports


@pytest.mark.parametrize(
    ("ports", "sent"),
    [
        ([{"port": 1}], [{"port": 1, "protocol": "TCP"}]),
        ([{"port": 1, "protocol": None}], [{"port": 1, "protocol": "TCP"}]),
        ([{"port": 1, "protocol": ""}], [{"port": 1, "protocol": "TCP"}]),
        ([{"port": 1, "protocol": "UDP"}], [{"port": 1, "protocol": "UDP"}]),
        (["x", None, {}], ["x", None, {"protocol": "TCP"}]),
        ({"port": 1}, {"port": 1}),
        ("x", "x"),
        (5, 5),
        (None, None),
    ],
)
def test_ports_get_their_protocol_and_odd_ones_are_left_to_the_server(ports: Any, sent: Any) -> None:
    assert one(config(kind="Service", spec={"ports": ports}))["spec"]["ports"] == sent
    for part in ("containers", "initContainers", "ephemeralContainers"):
        assert one(config(kind="Pod", spec={part: [{"ports": ports}]}))["spec"][part] == [{"ports": sent}]


@pytest.mark.parametrize(
    "spec", [None, "text", 5, [], {"containers": 5}, {"containers": {"a": {}}}, {"containers": True}]
)
def test_odd_pods_are_left_to_the_server(spec: Any) -> None:
    assert one(config(kind="Pod", spec=spec))["spec"] == spec


def test_trap_37_one_port_with_two_protocols_stays_two_ports() -> None:
    ports = [{"name": "dns", "port": 53}, {"name": "dns-udp", "port": 53, "protocol": "UDP"}]
    service = one(config(kind="Service", spec={"ports": ports}))
    assert [(port["port"], port["protocol"]) for port in service["spec"]["ports"]] == [(53, "TCP"), (53, "UDP")]


def test_custom_services_are_not_touched() -> None:
    manifest = config(kind="Service", apiVersion="serving.knative.dev/v1", spec={"ports": [{"port": 1}]})
    assert one(manifest)["spec"] == {"ports": [{"port": 1}]}


@pytest.mark.parametrize(
    ("api_version", "kind", "path"),
    [
        ("v1", "Pod", ("spec",)),
        ("v1", "ReplicationController", ("spec", "template", "spec")),
        ("apps/v1", "Deployment", ("spec", "template", "spec")),
        ("apps/v1", "StatefulSet", ("spec", "template", "spec")),
        ("batch/v1", "Job", ("spec", "template", "spec")),
        ("batch/v1", "CronJob", ("spec", "jobTemplate", "spec", "template", "spec")),
        ("v1", "PodTemplate", ("template", "spec")),
        ("example.com/v1", "Deployment", ()),
        ("v1", "ConfigMap", ()),
    ],
)
def test_pod_specs(api_version: str, kind: str, path: tuple[str, ...]) -> None:
    value: dict[str, Any] = {"found": True}
    for step in reversed(path):
        value = {step: value}
    manifest = {"apiVersion": api_version, "kind": kind, **value}
    assert pod_spec(manifest) == ({"found": True} if path else None)
    assert pod_path(manifest) == (path or None)
    assert pod_spec({"apiVersion": api_version, "kind": kind, "spec": "text"}) is None


# What is refused


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("text", "f.yaml:1: is a single value, not a Kubernetes object. Remove it, or move the file."),
        ([config()], "f.yaml:1: is a list, not a Kubernetes object. Remove it, or move the file."),
        ({}, "f.yaml:1: has no apiVersion. Every document must be a Kubernetes object."),
        ({"apiVersion": "v1"}, "f.yaml:1: has no kind. Every document must be a Kubernetes object."),
        ({"apiVersion": 1, "kind": "A"}, "f.yaml:1: apiVersion is not a word"),
        ({"apiVersion": "v1", "kind": ["A"]}, "f.yaml:1: kind is not a word"),
        ({"apiVersion": "v1", "kind": "A\nB"}, "f.yaml:1: kind is not a word"),
        ({"apiVersion": "x/\0", "kind": "A"}, "f.yaml:1: apiVersion is not a word"),
        ({"apiVersion": "v1", "kind": "A\u202eB"}, "f.yaml:1: kind is not a word"),
        ({"apiVersion": "v1", "kind": "A"}, "f.yaml:1: A has no metadata"),
        ({"apiVersion": "v1", "kind": "A", "metadata": None}, "f.yaml:1: A has no metadata"),
        ({"apiVersion": "v1", "kind": "A", "metadata": [{"name": "a"}]}, "f.yaml:1: A has no metadata"),
        ({"apiVersion": "v1", "kind": "A", "metadata": {}}, "f.yaml:1: A has no metadata.name"),
        (config(None), "f.yaml:1: ConfigMap has no metadata.name"),
        (config(""), "f.yaml:1: ConfigMap has no metadata.name"),
        (config(5), "f.yaml:1: ConfigMap has a metadata.name that is not text. Put it in quotes."),
        (config(False), "f.yaml:1: ConfigMap has a metadata.name that is not text. Put it in quotes."),
        (config(None, metadata={"generateName": "x-"}),
         "f.yaml:1: ConfigMap uses generateName, so it has no identity. Give it metadata.name."),
        (config(metadata={"generateName": "x-"}),
         "f.yaml:1: ConfigMap has both name and generateName. Remove one."),
        (config(metadata={"labels": {"a": True}}),
         "f.yaml:1: ConfigMap a: metadata.labels.a is not text. Put the value in quotes."),
        (config(metadata={"annotations": {"a": None}}),
         "f.yaml:1: ConfigMap a: metadata.annotations.a is not text. Put the value in quotes."),
        (config(metadata={"labels": ["a"]}), "f.yaml:1: ConfigMap a: metadata.labels is not a mapping"),
        (config(metadata={"annotations": ""}), "f.yaml:1: ConfigMap a: metadata.annotations is not a mapping"),
        (config(metadata={"namespace": 5}),
         "f.yaml:1: ConfigMap a has a metadata.namespace that is not text. Quote it."),
        (config(kind="Secret", sops={"mac": "x"}),
         "f.yaml:1: Secret a is encrypted with sops. It can't be applied as it is."),
        ({"apiVersion": "v1", "kind": "List", "items": [None]},
         "f.yaml:1, item 1: is a single value, not a Kubernetes object. Remove it, or move the file."),
        ({"apiVersion": "v1", "kind": "List", "items": "text"}, "f.yaml:1: List has no metadata"),
    ],
)  # fmt: skip
def test_what_is_no_object_is_refused_with_its_place(manifest: Any, message: str) -> None:
    assert error_of(manifest) == message


@pytest.mark.parametrize(
    "name",
    [".", "..", "a/b", "../../namespaces/kube-system", "a%2Fb", "a b", "a\nb", "a\x00b", "a" * 254, "\u2028"],
)
def test_names_that_would_lead_to_another_path_are_refused(name: str) -> None:
    assert "has a metadata.name that no object can have" in error_of(config(name))
    assert len(error_of(config(name))) < 200


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\x9b31m", "a\\x9b31m"), ("a\u202eb", "a\\u202eb"), ("a\u200bb", "a\\u200bb"), ("a\ufe0f", "a\\ufe0f")],
)
def test_names_that_nobody_can_see_are_refused(name: str, shown: str) -> None:
    assert error_of(config(name)).endswith(f"has a metadata.name that no object can have: '{shown}'")


@pytest.mark.parametrize("name", ["system:node-reader", "a.b-c", "A_b", "...", "..a", "a" * 253, "é", "x=y~z"])
def test_names_that_some_kind_may_have_are_left_to_the_server(name: str) -> None:
    assert one(config(name))["metadata"]["name"] == name


@pytest.mark.parametrize("namespace", ["..", "a/b", "Home", "a.b", "-a", "a" * 64, "kube-system\n"])
def test_namespaces_that_none_can_be_are_refused(namespace: str) -> None:
    assert "has a metadata.namespace that no namespace can have" in error_of(config(metadata={"namespace": namespace}))


@pytest.mark.parametrize("depth", [200, 900])
def test_too_deep_objects_are_refused(depth: int) -> None:
    spec: Any = {}
    items: Any = config()
    for _ in range(depth):
        spec = {"a": [spec]}
        items = {"apiVersion": "v1", "kind": "List", "items": [items]}
    assert error_of(config(spec=spec)) == "f.yaml:1: is nested more than 120 levels deep"
    assert "is a list of lists, nested too deeply" in error_of(items)


# Definitions of kinds


def definition(**spec: Any) -> dict[str, Any]:
    return config("things.x.io", "CustomResourceDefinition", apiVersion="apiextensions.k8s.io/v1", spec=spec)


@pytest.mark.parametrize(
    ("spec", "kinds"),
    [
        ({"group": "x.io", "names": {"kind": "Thing"}, "scope": "Namespaced",
          "versions": [{"name": "v1", "served": True}, {"name": "v0", "served": False},
                       {"name": "v2", "served": True}]},
         [("x.io", "v1", "Thing", True), ("x.io", "v2", "Thing", True)]),
        ({"group": "x.io", "names": {"kind": "Thing"}, "scope": "Cluster",
          "versions": [{"name": "v1", "served": True}]},
         [("x.io", "v1", "Thing", False)]),
        ({"group": "x.io", "names": {"kind": "Thing"}, "versions": [5, None, "v1", {"name": ["v1"], "served": True},
                                                                    {"served": True}, {"name": "v1"}]}, []),
        ({"group": "x.io", "names": {"kind": "Thing"}, "versions": 5}, []),
        ({"group": "x.io", "names": {"kind": "Thing"}, "versions": {"v1": {"served": True}}}, []),
        ({"group": "x.io", "names": {"kind": ["Thing"]}, "versions": [{"name": "v1", "served": True}]}, []),
        ({"group": "x\0.io", "names": {"kind": "Thing"}, "versions": [{"name": "v1", "served": True}]}, []),
        ({"group": "x.io", "names": {"kind": "Thing\n"}, "versions": [{"name": "v1", "served": True}]}, []),
        ({"group": "x.io", "names": {"kind": "Thing"}, "versions": [{"name": "v\x1b", "served": True}]}, []),
        ({"group": None, "names": {"kind": "Thing"}, "versions": [{"name": "v1", "served": True}]}, []),
        ({"group": "x.io", "names": "Thing", "versions": [{"name": "v1", "served": True}]}, []),
        ({}, []),
    ],
)  # fmt: skip
def test_kinds_that_a_definition_brings(spec: dict[str, Any], kinds: list[tuple[str, str, str, bool]]) -> None:
    assert is_definition(definition(**spec))
    assert kinds_of_definition(definition(**spec)) == kinds


@pytest.mark.parametrize("spec", [None, "text", 5, []])
def test_definitions_without_a_spec_bring_nothing(spec: Any) -> None:
    assert kinds_of_definition({**definition(), "spec": spec}) == []


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", True),
        ("x.io/v1", "CustomResourceDefinition", False),
        ("apiextensions.k8s.io/v1", "Other", False),
    ],
)
def test_what_is_a_definition(api_version: str, kind: str, expected: bool) -> None:
    assert is_definition({"apiVersion": api_version, "kind": kind}) is expected


def test_kinds_in_words() -> None:
    assert describe_kind("apps", "v1", "Deployment") == "Deployment of apps/v1"
    assert describe_kind("", "v1", "Pod") == "Pod of v1"


@pytest.mark.parametrize(
    ("rule", "sent"),
    [({"clusterRoleSelectors": []}, False), ({}, True), (None, True)],
)
def test_rules_of_an_aggregated_role_are_its_controllers(rule: Any, sent: bool) -> None:
    manifest = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "a"},
        "rules": [],
        **({} if rule is None else {"aggregationRule": rule}),
    }
    assert ("rules" in one(manifest)) is sent
