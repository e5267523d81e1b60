"""What comes before what inside an add-on, also when its objects are odd."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import GraphError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.graph import Edge
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey, key_of
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.object_graph import (
    ObjectOrder,
    check_order,
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
        ("scheduling.k8s.io", "PriorityClass", "", "first"),
        ("node.k8s.io", "RuntimeClass", "", "sandboxed"),
        ("storage.k8s.io", "StorageClass", "", "fast"),
        (RBAC, "ClusterRole", "", "cluster-role"),
        (RBAC, "Role", "web", "role"),
        ("x.io", "Thing", "web", "thing"),
        ("", "Service", "web", "svc"),
    )
}
WALK: list[dict[str, Any]] = [
    {
        "apiVersion": f"{key.group}/v1" if key.group else "v1",
        "kind": key.kind,
        "metadata": {"name": key.name} | ({"namespace": key.namespace} if key.namespace else {}),
    }
    for key in OTHERS.values()
]


def edges(manifest: dict[str, Any], *others: dict[str, Any]) -> list[Edge[ObjectKey]]:
    return ObjectOrder.of([*WALK, *others, manifest]).edges[key_of(manifest)]


def blockers(manifest: dict[str, Any]) -> set[str]:
    return {edge.key.name for edge in edges(manifest)}


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
        ({"imagePullSecrets": [{"name": "sec"}, {}], "priorityClassName": "first", "runtimeClassName": "sandboxed"},
         {"sec", "first", "sandboxed"}),
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
    with pytest.raises(GraphError, match=f"names what is no other object .*: Pod web/p -> Pod web/{name}. Correct it"):
        check_order([manifest])


def test_all_that_annotations_name_and_is_not_there_is_told_at_once_up_to_a_bound() -> None:
    manifests = [
        pod({}, name=name, annotations={"rendimiento.ai/depends-on": "/Pod/web/x, /Pod/web/y"}) for name in "ab"
    ]
    with pytest.raises(GraphError) as caught:
        check_order(manifests)
    pairs = [f"Pod web/{name} -> Pod web/{blocker}" for name in "ab" for blocker in "xy"]
    assert f": {', '.join(pairs)}. Correct it" in str(caught.value)
    with pytest.raises(GraphError, match=r" and 15 more\."):
        check_order([pod({}, name="a", annotations={"rendimiento.ai/depends-on": ",".join(
            f"/Pod/web/{number}" for number in range(25)
        )})])  # fmt: skip


def test_edges_say_why_and_none_leads_to_the_object_itself() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
    assert blockers(namespace) == set()
    reasons = {edge.key.name: edge.reason for edge in edges(pod({"serviceAccountName": "sa"}))}
    assert reasons == {"web": "its namespace", "sa": "used by its pods"}


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
    order = ObjectOrder.of(manifests)
    assert {key.name: {edge.key.name for edge in after} for key, after in order.edges.items()} == expected
    check_order(manifests)


def test_trap_14_two_webhooks_that_depend_on_each_other_are_a_cycle() -> None:
    with pytest.raises(GraphError, match=r"a cycle, each comes after the next: .*first .*second"):
        check_order([webhook("first", depends_on=ON_SECOND), webhook("second", "Mutating", ON_FIRST), custom("a")])


def workload(name: str, labels: Any = None, kind: str = "Deployment", depends_on: str = "", **spec: Any) -> Any:
    metadata = {"name": name, "namespace": "web", "annotations": {"rendimiento.ai/depends-on": depends_on}}
    group = "batch" if kind in ("Job", "CronJob") else "apps"
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": {"template": template}}


def selecting(selector: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "hook", "namespace": "web"},
        "spec": {"selector": selector},
    }


HOOK = {"clientConfig": {"service": {"namespace": "web", "name": "hook"}}}
OUTSIDE = {"clientConfig": {"url": "https://hooks.example.com"}}


def answered_webhook(*webhooks: Any) -> dict[str, Any]:
    return webhook("w") | {"webhooks": list(webhooks)}


def aggregated(service: Any) -> dict[str, Any]:
    spec = {"group": "metrics.x.io", "version": "v1", "service": service}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.metrics.x.io"},
        "spec": spec,
    }


def definition(conversion: Any) -> dict[str, Any]:
    spec = {
        "group": "x.io",
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True}],
        "conversion": conversion,
    }
    metadata = {"name": "things.x.io"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def needs(manifest: dict[str, Any], *others: dict[str, Any]) -> dict[str, str]:
    return {edge.key.name: edge.need for edge in ObjectOrder.of([*others, manifest]).edges[key_of(manifest)]}


ANSWERING = workload("answering", {"app": "hook", "tier": "x"})


@pytest.mark.parametrize(
    ("selector", "others", "expected"),
    [
        ({"app": "hook"}, [ANSWERING], {"answering": "ready"}),
        ({"app": "hook", "tier": "x"}, [ANSWERING, workload("other", {"app": "hook"})],
         {"answering": "ready", "other": "ended"}),
        ({"app": "hook"}, [workload("s", {"app": "hook"}, "StatefulSet"), workload("d", {"app": "hook"}, "DaemonSet")],
         {"s": "ready", "d": "ready"}),
        ({"app": "hook"}, [workload("once", {"app": "hook"}, "Job")], {"once": "applied"}),
        ({"app": "hook"}, [workload("odd", ["app"]), workload("none", {"app": 5})],
         {"odd": "applied", "none": "applied"}),
        ({"app": "other"}, [ANSWERING], {"answering": "applied"}),
        ({}, [ANSWERING], {"answering": "applied"}),
        ("text", [ANSWERING], {"answering": "applied"}),
    ],
)  # fmt: skip
def test_trap_14_webhooks_wait_until_who_answers_them_is_ready(selector: Any, others: Any, expected: Any) -> None:
    manifest = answered_webhook(HOOK)
    assert needs(manifest, selecting(selector), *others) == {"hook": "applied"} | expected


@pytest.mark.parametrize(
    ("webhooks", "need"),
    [
        pytest.param([HOOK], "ended", id="known who answers"),
        pytest.param([HOOK, OUTSIDE], "applied", id="one is answered from outside"),
        pytest.param([{"clientConfig": {"service": {"namespace": "web", "name": "absent"}}}], "applied", id="no such"),
        pytest.param([{"clientConfig": "x"}], "applied", id="odd"),
    ],
)
def test_a_failure_elsewhere_holds_back_only_webhooks_that_nobody_is_known_to_answer(webhooks: Any, need: str) -> None:
    assert needs(answered_webhook(*webhooks), selecting({"app": "hook"}), ANSWERING, custom("a"))["a"] == need


def test_trap_16_an_api_waits_for_who_answers_it_and_its_objects_wait_for_the_api() -> None:
    service = {"namespace": "web", "name": "hook"}
    others = [selecting({"app": "hook"}), ANSWERING]
    assert needs(aggregated(service), *others) == {"hook": "applied", "answering": "ready"}
    one = {"apiVersion": "metrics.x.io/v1", "kind": "Metric", "metadata": {"name": "one", "namespace": "web"}}
    assert needs(one, aggregated(service), *others) == {"v1.metrics.x.io": "ready"}
    assert needs(one | {"apiVersion": "metrics.x.io/v2"}, aggregated(service)) == {}
    assert needs(one, aggregated(None)) == {}, "the API server itself answers"


@pytest.mark.parametrize(
    ("conversion", "expected"),
    [
        ({"strategy": "Webhook", "webhook": HOOK}, {"things.x.io": "applied", "hook": "applied", "answering": "ready"}),
        ({"strategy": "None", "webhook": HOOK}, {"things.x.io": "applied"}),
        ({"strategy": "Webhook", "webhook": OUTSIDE}, {"things.x.io": "applied"}),
        ("text", {"things.x.io": "applied"}),
    ],
)
def test_custom_resources_wait_for_their_kind_and_for_who_converts_it(conversion: Any, expected: Any) -> None:
    others = [definition(conversion), selecting({"app": "hook"}), ANSWERING]
    assert needs(custom("a"), *others) == expected


@pytest.mark.parametrize(
    ("subject", "account", "expected"),
    [
        ({"kind": "ServiceAccount", "name": "sa", "namespace": "web"}, "sa", {"b"}),
        ({"kind": "ServiceAccount", "name": "sa"}, "sa", {"b"}),
        ({"kind": "ServiceAccount", "name": "default", "namespace": "web"}, None, {"b"}),
        ({"kind": "ServiceAccount", "name": "sa", "namespace": "elsewhere"}, "sa", set()),
        ({"kind": "User", "name": "sa"}, "sa", set()),
        ("sa", "sa", set()),
    ],
)
def test_rights_come_before_the_pods_that_use_them(subject: Any, account: Any, expected: set[str]) -> None:
    for kind, namespace in (("RoleBinding", "web"), ("ClusterRoleBinding", "")):
        bound = binding({"kind": "ClusterRole", "name": "cluster-role"}, kind) | {"subjects": [subject]}
        wanted = expected if namespace or (isinstance(subject, dict) and "namespace" in subject) else set()
        assert set(needs(workload("d", serviceAccountName=account), bound)) == wanted


def test_autoscalers_come_after_their_target_and_claims_after_their_class() -> None:
    metadata = {"name": "hpa", "namespace": "web"}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "answering"}
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata}
    assert needs(scaler | {"spec": {"scaleTargetRef": target}}, ANSWERING) == {"answering": "applied"}
    assert needs(scaler | {"spec": {"scaleTargetRef": target | {"kind": "StatefulSet"}}}, ANSWERING) == {}
    assert needs(scaler | {"spec": "text"}, ANSWERING) == {}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "web"}}
    assert blockers(claim | {"spec": {"storageClassName": "fast"}}) == {"web", "fast"}


def test_depends_on_waits_until_ready() -> None:
    assert needs(workload("d", depends_on="apps/Deployment/web/answering"), ANSWERING) == {"answering": "ready"}


def test_the_annotation_wins_over_what_the_objects_say_with_a_warning() -> None:
    on_webhook = f"{ADMISSION}/ValidatingWebhookConfiguration//w"
    manifests = [
        answered_webhook(HOOK),
        selecting({"app": "hook"}),
        workload("answering", {"app": "hook"}, depends_on=on_webhook),
        custom("a"),
    ]
    order = ObjectOrder.of(manifests)
    after = {key.name: {edge.key.name for edge in edges} for key, edges in order.edges.items()}
    assert after == {"w": {"hook", "a"}, "hook": set(), "answering": {"w"}, "a": set()}
    assert {key.name: texts for key, texts in order.warnings.items()} == {
        "w": [
            "does not wait for Deployment web/answering (answers it): "
            "rendimiento.ai/depends-on of Deployment web/answering asks for the opposite"
        ]
    }
    check_order(manifests)


def test_of_a_longer_cycle_the_weakest_of_what_the_objects_say_is_given_up() -> None:
    """Account, then binding, then pods; the annotation puts the account after them."""
    annotations = {"rendimiento.ai/depends-on": "apps/Deployment/web/d"}
    metadata = {"name": "sa", "namespace": "web", "annotations": annotations}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    order = ObjectOrder.of([account, workload("d", serviceAccountName="sa")])
    assert list(order.warnings) == [key_of(workload("d"))]
    assert order.layers(order.edges) == {key_of(workload("d")): 1, key_of(account): 2}


def test_what_only_objects_say_and_closes_a_cycle_is_given_up_too() -> None:
    """An API that claims the group of the Deployment that answers it."""
    odd = aggregated({"namespace": "web", "name": "hook"})
    odd["spec"]["group"] = "apps"
    order = ObjectOrder.of([odd, selecting({"app": "hook"}), ANSWERING])
    (texts,) = order.warnings.values()
    assert "they need each other" in texts[0]


def test_a_cycle_of_annotations_names_both_ends() -> None:
    one = workload("one", depends_on="apps/Deployment/web/two")
    two = workload("two", depends_on="apps/Deployment/web/one", serviceAccountName="sa")
    with pytest.raises(GraphError) as caught:
        check_order([one, two])
    assert str(caught.value) == (
        "a cycle, each comes after the next: Deployment web/one -> Deployment web/two (depends-on) "
        "-> Deployment web/one (depends-on)"
    )


def test_namespaces_and_kinds_can_not_depend_on_what_comes_after_them() -> None:
    late = definition({}) | {"metadata": {"name": "things.x.io"}}
    late["metadata"]["annotations"] = {"rendimiento.ai/depends-on": "apps/Deployment/web/answering"}
    with pytest.raises(
        GraphError, match=r"CustomResourceDefinition things.x.io: .* names Deployment web/answering, but"
    ):
        check_order([late, ANSWERING])
    early: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
    late["metadata"]["annotations"] = {"rendimiento.ai/depends-on": "/Namespace//web"}
    order = ObjectOrder.of([late, early, custom("a"), ANSWERING])
    layers = {key.name: layer for key, layer in order.layers(order.edges).items()}
    assert layers == {"web": 1, "things.x.io": 2, "a": 3, "answering": 3}


def test_layers_of_a_part_of_the_objects() -> None:
    """What is not to be applied takes no layer."""
    database = workload("database")
    core = workload("core", depends_on="apps/Deployment/web/database")
    order = ObjectOrder.of([core, database, workload("portal", depends_on="apps/Deployment/web/core")])
    names = {key.name: layer for key, layer in order.layers(order.edges).items()}
    assert names == {"database": 1, "core": 2, "portal": 3}
    part = [key for key in order.edges if key.name != "database"]
    assert sorted(order.layers(part).values()) == [1, 2]


def test_thousands_of_objects_are_put_in_order_quickly() -> None:
    manifests = [webhook(f"w{number}") for number in range(20)] + [custom(f"c{number}") for number in range(2000)]
    manifests += [workload(f"d{number}", {"app": str(number)}) for number in range(500)]
    started = time.monotonic()
    order = ObjectOrder.of(manifests)
    assert set(order.layers(order.edges).values()) == {1, 2}
    assert time.monotonic() - started < 10


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
