"""What comes before what inside an add-on, also when its objects are odd."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import GraphError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey, key_of
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.object_graph import (
    check_order,
    edges_of,
    rank_of,
)

RBAC = "rbac.authorization.k8s.io"


def pod(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "web", **metadata}, "spec": spec}


def deployment(spec: Any) -> dict[str, Any]:
    metadata = {"name": "d", "namespace": "web"}
    template = {"template": {"spec": spec}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": template}


OTHERS = {
    name: ObjectKey(group, kind, namespace, name)
    for group, kind, namespace, name in (
        ("", "Namespace", "", "web"),
        ("", "ServiceAccount", "web", "sa"),
        ("", "ConfigMap", "web", "cm"),
        ("", "ConfigMap", "web", "cm2"),
        ("", "Secret", "web", "sec"),
        ("", "Secret", "web", "sec2"),
        ("", "Secret", "elsewhere", "far"),
        ("", "PersistentVolumeClaim", "web", "pvc"),
        (RBAC, "ClusterRole", "", "cluster-role"),
        (RBAC, "Role", "web", "role"),
        ("x.io", "Thing", "web", "thing"),
        ("", "Service", "web", "svc"),
    )
}
WALK = {key: {"apiVersion": "v1", "kind": key.kind, "metadata": {"name": key.name}} for key in OTHERS.values()}


def blockers(manifest: dict[str, Any]) -> set[str]:
    return {edge.key.name for edge in edges_of(manifest, WALK | {key_of(manifest): manifest})}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, set()),
        ({"serviceAccountName": "sa"}, {"sa"}),
        ({"serviceAccountName": "not-here"}, set()),
        ({"volumes": [{"configMap": {"name": "cm"}}, {"secret": {"secretName": "sec"}},
                      {"persistentVolumeClaim": {"claimName": "pvc"}}, {"emptyDir": {}}]}, {"cm", "sec", "pvc"}),
        ({"volumes": [{"projected": {"sources": [{"configMap": {"name": "cm"}}, {"secret": {"name": "sec"}}]}}]},
         {"cm", "sec"}),
        ({"initContainers": [{"envFrom": [{"configMapRef": {"name": "cm"}}, {"secretRef": {"name": "sec"}}]}]},
         {"cm", "sec"}),
        ({"containers": [{"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cm2", "key": "k"}}},
                                  {"name": "B", "valueFrom": {"secretKeyRef": {"name": "sec2", "key": "k"}}},
                                  {"name": "C", "value": "x"}]}]}, {"cm2", "sec2"}),
        ({"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "far"}}}]}]}, set()),
    ],
)  # fmt: skip
def test_pods_come_after_what_they_use(spec: dict[str, Any], expected: set[str]) -> None:
    for manifest in (pod(spec), deployment(spec)):
        assert blockers(manifest) == {"web"} | expected


@pytest.mark.parametrize(
    "spec",
    [
        None,
        "text",
        [],
        {"serviceAccountName": {"a": "b"}},
        {"serviceAccountName": ["sa"]},
        {"serviceAccountName": 5},
        {"volumes": "text"},
        {"volumes": [None, 5, "x", {"configMap": "cm"}, {"configMap": {"name": ["cm"]}}, {"secret": None}]},
        {"volumes": [{"projected": {"sources": {"configMap": {"name": "cm"}}}}, {"projected": None}]},
        {"containers": {"name": "x"}},
        {"containers": [None, {"env": "x"}, {"env": [{"valueFrom": "x"}]}, {"envFrom": [{"secretRef": {"name": {}}}]}]},
    ],
)
def test_odd_pods_have_no_references(spec: Any) -> None:
    assert blockers(pod(spec)) == {"web"}


def binding(role: Any, kind: str = "RoleBinding", group: str = RBAC) -> dict[str, Any]:
    namespace = {"namespace": "web"} if kind == "RoleBinding" else {}
    metadata = {"name": "b", **namespace}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "roleRef": role}


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (binding({"kind": "Role", "name": "role"}), {"web", "role"}),
        (binding({"kind": "ClusterRole", "name": "cluster-role"}), {"web", "cluster-role"}),
        (binding({"kind": "ClusterRole", "name": "cluster-role"}, "ClusterRoleBinding"), {"cluster-role"}),
        (binding({"kind": "Role", "name": "role"}, group="x.io"), {"web"}),
        (binding(None), {"web"}),
        (binding("role"), {"web"}),
        (binding({"kind": None, "name": ["role"]}), {"web"}),
    ],
)
def test_bindings_come_after_their_role(manifest: dict[str, Any], expected: set[str]) -> None:
    assert blockers(manifest) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.io/Thing/web/thing", {"thing"}),
        (" /Service/web/svc , x.io/Thing/web/thing,", {"svc", "thing"}),
        (f"{RBAC}/ClusterRole//cluster-role", {"cluster-role"}),
        ("x.io/Thing/web/absent", set()),
        ("/Pod/web/p", set()),
        ("", set()),
        (" , ", set()),
    ],
)
def test_the_annotation_adds_edges(text: str, expected: set[str]) -> None:
    assert blockers(pod({}, annotations={"rendimiento.ai/depends-on": text})) == {"web"} | expected


@pytest.mark.parametrize(
    "text", ["Service/web/svc", "svc", "/Service/web/", "//web/svc", "a/b/c/d/e", "x.io/Thing/web/t h/"]
)
def test_an_annotation_that_can_not_be_read_names_its_object(text: str) -> None:
    with pytest.raises(GraphError, match=r"Pod web/p: annotation rendimiento.ai/depends-on: .* is not <group>/<kind>"):
        blockers(pod({}, annotations={"rendimiento.ai/depends-on": text}))


@pytest.mark.parametrize("name", ["nobody", "p"])
def test_depends_on_names_another_object_of_the_add_on(name: str) -> None:
    manifest = pod({}, annotations={"rendimiento.ai/depends-on": f"/Pod/web/{name}"})
    with pytest.raises(GraphError, match=f"Pod web/p: .* names Pod web/{name}, which is no other object"):
        check_order([manifest])


def test_edges_say_why_and_none_leads_to_the_object_itself() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
    assert blockers(namespace) == set()
    reasons = {edge.key.name: edge.reason for edge in edges_of(pod({"serviceAccountName": "sa"}), WALK)}
    assert reasons == {"web": "in namespace", "sa": "used by its pods"}


ADMISSION = "admissionregistration.k8s.io"


def webhook(name: str, kind: str = "Validating", depends_on: str = "") -> dict[str, Any]:
    annotations = {"rendimiento.ai/depends-on": depends_on}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": f"{ADMISSION}/v1", "kind": f"{kind}WebhookConfiguration", "metadata": metadata}


def custom(name: str, depends_on: str = "") -> dict[str, Any]:
    annotations = {"rendimiento.ai/depends-on": depends_on}
    metadata = {"name": name, "namespace": "web", "annotations": annotations}
    return {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": metadata}


ON_FIRST = f"{ADMISSION}/ValidatingWebhookConfiguration//first"
ON_SECOND = f"{ADMISSION}/MutatingWebhookConfiguration//second"


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        pytest.param(
            [webhook("first"), webhook("second", "Mutating"), custom("a"), pod({}, name="p")],
            {"first": {"a", "p"}, "second": {"a", "p"}, "a": set(), "p": set()},
            id="after all but each other",
        ),
        pytest.param(
            [webhook("first"), custom("a", ON_FIRST), custom("b", "x.io/Thing/web/a"), custom("c")],
            {"first": {"c"}, "a": {"first"}, "b": {"a"}, "c": set()},
            id="what depends on it, also through others, comes after it",
        ),
        pytest.param(
            [
                webhook("first"),
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": custom("cm", ON_FIRST)["metadata"]},
                pod({"volumes": [{"configMap": {"name": "cm"}}]}),
            ],
            {"first": set(), "cm": {"first"}, "p": {"cm"}},
            id="what depends on it through a volume",
        ),
        pytest.param(
            [webhook("first", depends_on=ON_SECOND), webhook("second", "Mutating"), custom("a")],
            {"first": {"second", "a"}, "second": {"a"}, "a": set()},
            id="one that depends on another",
        ),
        pytest.param(
            [webhook("first"), webhook("second", "Mutating"), custom("a", ON_SECOND), custom("b", ON_FIRST)],
            {"first": set(), "second": set(), "a": {"second"}, "b": {"first"}},
            id="two that would wait for each other's",
        ),
        pytest.param(
            [webhook("first", depends_on="x.io/Thing/web/a"), custom("a", ON_SECOND), webhook("second", "Mutating")],
            {"first": {"a"}, "second": set(), "a": {"second"}},
            id="a chain of webhooks",
        ),
    ],
)
def test_trap_14_webhooks_come_after_all_that_does_not_depend_on_one(
    manifests: list[dict[str, Any]], expected: dict[str, set[str]]
) -> None:
    walk = {key_of(manifest): manifest for manifest in manifests}
    found = {key.name: {edge.key.name for edge in edges_of(manifest, walk)} for key, manifest in walk.items()}
    assert found == expected
    check_order(manifests)


def test_trap_14_two_webhooks_that_depend_on_each_other_are_a_cycle() -> None:
    with pytest.raises(GraphError, match=r"a cycle, each comes after the next: .*first .*second"):
        check_order([webhook("first", depends_on=ON_SECOND), webhook("second", "Mutating", ON_FIRST), custom("a")])


def test_ranks_put_what_intercepts_others_last() -> None:
    admission = "admissionregistration.k8s.io"
    keys = [
        ObjectKey(admission, "ValidatingWebhookConfiguration", "", "a"),
        ObjectKey("apps", "Deployment", "web", "a"),
        ObjectKey("", "Service", "web", "a"),
        ObjectKey("", "ConfigMap", "web", "a"),
        ObjectKey("", "ServiceAccount", "web", "a"),
        ObjectKey("", "Namespace", "", "a"),
    ]
    assert sorted(keys, key=rank_of) == list(reversed(keys))
    assert rank_of(ObjectKey("x.io", "Namespace", "", "a")) == rank_of(ObjectKey("apps", "Deployment", "web", "a"))
