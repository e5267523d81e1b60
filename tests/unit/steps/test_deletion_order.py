"""What has to be gone before what is deleted: the order of applying, inverted, and who may have to finish an object."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.graph import Edge, Graph, Node
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import Manifest, ObjectKey, key_of
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.deletion_order import deletion_edges

RBAC = "rbac.authorization.k8s.io/v1"


def made(api_version: str, kind: str, name: str, namespace: str = "web", **fields: Any) -> Manifest:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place}, **fields}


def deployment(name: str, **spec: Any) -> Manifest:
    labels = {"metadata": {"labels": {"app": name}}}
    return made("apps/v1", "Deployment", name, spec={"template": {**labels, "spec": spec}})


def after(depends_on: str, manifest: Manifest) -> Manifest:
    metadata = {**manifest["metadata"], "annotations": {"rendimiento.ai/depends-on": depends_on}}
    return {**manifest, "metadata": metadata}


THING = made("x.io/v1", "Thing", "one")
CONFIG = made("v1", "ConfigMap", "config")
ACCOUNT = made("v1", "ServiceAccount", "operator")
ROLE = made(RBAC, "Role", "operator")
BINDING = made(
    RBAC, "RoleBinding", "operator", roleRef={"kind": "Role", "name": "operator"},
    subjects=[{"kind": "ServiceAccount", "name": "operator"}],
)  # fmt: skip
OPERATOR = deployment(
    "operator", serviceAccountName="operator", containers=[{"envFrom": [{"configMapRef": {"name": "config"}}]}]
)
SERVICE = made("v1", "Service", "operator", spec={"selector": {"app": "operator"}})
CLIENT = {"clientConfig": {"service": {"namespace": "web", "name": "operator"}}}
WEBHOOK = made("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "hook", "", webhooks=[CLIENT])
API = made(
    "apiregistration.k8s.io/v1", "APIService", "v1.served.io", "",
    spec={"group": "served.io", "version": "v1", "service": {"namespace": "web", "name": "operator"}},
)  # fmt: skip
SERVED = made("served.io/v1", "Answer", "one")
OTHER = made("v1", "ConfigMap", "unrelated")


def edges(*manifests: Manifest) -> dict[ObjectKey, list[Edge[ObjectKey]]]:
    found = deletion_edges({key_of(manifest): manifest for manifest in manifests}, {("x.io", "Thing")})
    graph: Graph[ObjectKey, None] = Graph()
    for key, wanted in found.items():
        graph.add(Node(key, lambda: None, wanted))
    graph.order()
    return found


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        (CONFIG, OPERATOR),
        (ACCOUNT, OPERATOR),
        (BINDING, OPERATOR),
        (ROLE, BINDING),
        (OPERATOR, THING),
        (SERVICE, THING),
        (BINDING, THING),
        (ACCOUNT, THING),
        (THING, WEBHOOK),
        (OPERATOR, WEBHOOK),
        (SERVICE, WEBHOOK),
        (API, SERVED),
        (OPERATOR, API),
        (SERVICE, API),
    ],
)
def test_what_goes_first(later: Manifest, earlier: Manifest) -> None:
    everything = (THING, CONFIG, ACCOUNT, ROLE, BINDING, OPERATOR, SERVICE, WEBHOOK, API, SERVED, OTHER)
    found = edges(*everything)
    assert key_of(earlier) in {edge.key for edge in found[key_of(later)]}
    assert all(edge.need == "ready" and edge.reason for wanted in found.values() for edge in wanted)


def test_what_nothing_needs_waits_for_nothing() -> None:
    assert edges(THING, OPERATOR, OTHER)[key_of(OTHER)] == []


@pytest.mark.parametrize("text", ["x.io/Thing/web/one", "nonsense", "apps/Deployment/web/operator, x.io/Thing/web/one"])
def test_what_people_ordered_counts_more_and_what_makes_no_sense_does_not(text: str) -> None:
    """The annotation of a live object may say anything by now; that must not keep it for ever."""
    found = edges(THING, after(text, OPERATOR), SERVICE)
    first = {edge.key for edge in found[key_of(THING)]}
    assert first == (set() if text == "nonsense" else {key_of(OPERATOR)})
    assert key_of(THING) in {edge.key for edge in found[key_of(SERVICE)]}


def test_a_cycle_of_annotations_is_given_up() -> None:
    found = edges(after("/ConfigMap/web/unrelated", CONFIG), after("/ConfigMap/web/config", OTHER), OPERATOR)
    assert [edge.key for edge in found[key_of(CONFIG)]] == [key_of(OPERATOR)]
    assert found[key_of(OTHER)] == []


def test_many_objects_of_an_operator_with_many_parts_are_quickly_in_order() -> None:
    """A chain of annotations among them, so that something has to be looked up. It once took minutes."""
    things = [made("x.io/v1", "Thing", f"thing-{number}") for number in range(1000)]
    parts = [deployment("part-0"), *(
        after(f"apps/Deployment/web/part-{number - 1}", deployment(f"part-{number}")) for number in range(1, 250)
    )]  # fmt: skip
    began = time.process_time()
    found = deletion_edges({key_of(manifest): manifest for manifest in [*things, *parts]}, {("x.io", "Thing")})
    assert time.process_time() - began < 5
    assert all(len(found[key_of(part)]) >= len(things) for part in parts)
    assert {edge.key for edge in found[key_of(parts[0])]} == {key_of(one) for one in [*things, parts[1]]}
