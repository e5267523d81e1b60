"""Where the schema of an object comes from, and what is asked of the server for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.schemas import Schemas
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.session import Session
from tests.unit.cluster.small_server import SmallServer
from tests.unit.steps.made_run import MadeRun

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LIVE = f"{DEFINITIONS}/widgets.x.io"
APPS, NETWORKING, OWN = "/openapi/v3/apis/apps/v1", "/openapi/v3/apis/networking.k8s.io/v1", "/openapi/v3/apis/x.io/v1"
TEXT = {"type": "string"}


def mapping(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def definition(*versions: str, **spec: Any) -> dict[str, Any]:
    schema = {"openAPIV3Schema": mapping(spec=mapping(**spec))}
    made = [{"name": version, "served": True, "storage": True, "schema": schema} for version in versions]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.io", "uid": "u", "generation": 1},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"kind": "Widget"}, "versions": made},
    }


def document(name: str, group: str, kind: str) -> dict[str, Any]:
    kinds = [{"group": group, "version": "v1", "kind": kind}]
    return {
        "components": {"schemas": {name: {**mapping(spec=mapping(old=TEXT)), "x-kubernetes-group-version-kind": kinds}}}
    }


def an(api_version: str, kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}


def widget(**spec: Any) -> dict[str, Any]:
    return an("x.io/v1", "Widget", **spec)


@pytest.fixture
def server() -> Iterator[SmallServer]:
    server = SmallServer()
    live = definition("v1", old=TEXT)
    server.answers = {
        DEFINITIONS: {"metadata": {}, "items": [live]},
        LIVE: live,
        APPS: document("io.k8s.api.apps.v1.Deployment", "apps", "Deployment"),
        NETWORKING: document("io.k8s.api.networking.v1.Ingress", "networking.k8s.io", "Ingress"),
        OWN: document("io.x.v1.Widget", "x.io", "Widget"),
    }
    yield server
    server.close()


@pytest.fixture
def sessions(run: MadeRun, server: SmallServer) -> Callable[[bool], Session]:
    """A session of a run that found the built-in kinds, and Widgets when those are live."""

    def made(live: bool) -> Session:
        rows = [("apps", "Deployment", "deployments"), ("networking.k8s.io", "Ingress", "ingresses")]
        rows += [("x.io", "Widget", "widgets")] if live else []
        resources = [Resource(group, "v1", kind, plural, True, ("get",), ()) for group, kind, plural in rows]
        run.credential = Credential(server.url)
        return run.serves(*resources).session

    return made


@pytest.fixture
def schemas(sessions: Callable[[bool], Session]) -> Any:
    def made(*brought: dict[str, Any], live: bool = True) -> Schemas:
        return Schemas(sessions(live), brought)

    return made


def test_b23_a_kind_that_comes_with_the_run_is_checked_with_the_schema_that_comes(
    schemas: Any, server: SmallServer
) -> None:
    known = schemas(definition("v1", new=TEXT), live=False)
    assert known.checked(widget())
    assert known.faults(widget(new="x")) == []
    assert known.faults(widget(new=5)) == ["spec.new: expected text, got integer"]
    assert known.without_nulls(widget(new=None)) == widget()
    assert server.asked == []


def test_a_schema_that_comes_counts_before_the_live_one(schemas: Any, server: SmallServer) -> None:
    known = schemas(definition("v1", new=TEXT))
    assert known.faults(widget(new="x")) == []
    assert known.faults(widget(old="x")) == ["spec.old: unknown field"]
    assert server.asked == []


def test_a_version_that_does_not_come_is_that_of_the_live_definition(schemas: Any, server: SmallServer) -> None:
    known = schemas(definition("v2", new=TEXT))
    assert known.faults(widget(new="x")) == ["spec.new: unknown field"]
    assert known.faults(an("x.io/v2", "Widget", new="x")) == []
    assert server.asked == [DEFINITIONS, LIVE]


def test_the_live_definition_is_read_once(schemas: Any, server: SmallServer) -> None:
    known = schemas()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(known.faults, [widget(old=5)] * 16))
    assert found == [["spec.old: expected text, got integer"]] * 16
    assert server.asked == [DEFINITIONS, LIVE]


@pytest.mark.parametrize("refused", [DEFINITIONS, LIVE])
def test_without_the_right_to_read_definitions_the_published_schema_is_used(
    schemas: Any, server: SmallServer, refused: str
) -> None:
    server.answers[refused] = 403
    known = schemas()
    assert known.faults(widget(old=5)) == ["spec.old: expected text, got integer"]
    assert known.without_nulls(widget(old=None)) == widget()
    assert server.asked[-1] == OWN


def test_the_servers_own_kinds_are_checked_with_what_it_publishes(schemas: Any, server: SmallServer) -> None:
    known = schemas()
    assert known.faults(an("apps/v1", "Deployment", olt="x")) == ["spec.olt: unknown field, did you mean old?"]
    assert known.faults(an("apps/v1", "Deployment", old=None)) == []
    assert server.asked == [APPS]


def test_nothing_is_asked_for_what_needs_no_schema(schemas: Any, server: SmallServer) -> None:
    known = schemas()
    for manifest in (widget(old="x"), an("apps/v1", "Deployment", old=None), an("v1", "ConfigMap", old=None)):
        assert known.without_nulls(manifest) is manifest
    assert server.asked == []


def test_a_null_in_one_of_the_servers_own_kinds_stays(schemas: Any, server: SmallServer) -> None:
    known = schemas()
    manifest = an("networking.k8s.io/v1", "Ingress", old=None)
    assert known.without_nulls(manifest) is manifest
    assert server.asked == [DEFINITIONS]
    server.answers[DEFINITIONS] = 403
    assert schemas().without_nulls(manifest) is manifest


def test_trap_12_nulls_go_by_the_live_schema(schemas: Any, server: SmallServer) -> None:
    assert schemas().without_nulls(widget(old=None)) == widget()
    assert server.asked == [DEFINITIONS, LIVE]


def test_faults_are_those_of_what_is_sent(schemas: Any) -> None:
    known = schemas()
    assert known.faults(known.without_nulls(widget(old=None))) == []
    assert known.faults(widget(old=None)) == ["spec.old: expected text, got null"]


def test_what_the_server_publishes_is_read_once_per_session(
    sessions: Callable[[bool], Session], server: SmallServer
) -> None:
    session = sessions(True)
    for known in (Schemas(session, []), Schemas(session, [])):
        assert known.faults(an("apps/v1", "Deployment", old=5)) == ["spec.old: expected text, got integer"]
    assert server.asked == [APPS]


@pytest.mark.parametrize("manifest", [an("y.io/v1", "Unknown", a=None), an("x.io/v9", "Widget", a=None)])
def test_what_nothing_is_known_of_is_not_checked(schemas: Any, manifest: dict[str, Any]) -> None:
    known = schemas()
    assert not known.checked(manifest)
    assert known.faults(manifest) == []
    assert known.without_nulls(manifest) is manifest


def test_without_any_document_nothing_is_checked(schemas: Any, server: SmallServer) -> None:
    server.answers = {}
    known = schemas()
    assert not known.checked(widget())
    assert known.faults(an("apps/v1", "Deployment", olt="x")) == []
    assert known.without_nulls(widget(old=None)) == widget(old=None)


def test_a_broken_definition_that_comes_checks_nothing(schemas: Any, server: SmallServer) -> None:
    broken = definition("v1")
    broken["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "objekt"}}
    known = schemas(broken)
    assert not known.checked(widget())
    assert known.faults(widget(anything=1)) == []
    assert server.asked == []


def odd(schema: Any, **whole: Any) -> dict[str, Any]:
    """A definition with an odd schema of its spec, or of the whole object."""
    made = definition("v1", **(schema or {}))
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] |= whole
    return made


KEYED_BY_A_MAPPING = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": [{"a": "b"}],
    "items": mapping(a=TEXT),
}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}


@pytest.mark.parametrize(
    ("brought", "spec", "sent"),
    [
        pytest.param(
            odd({"a": TEXT}, **{"x-kubernetes-preserve-unknown-fields": True}),
            {"a": None},
            {},
            id="keeps unknown fields",
        ),
        pytest.param(odd({}, additionalProperties=True), {"a": None}, {"a": None}, id="any fields at the top"),
        pytest.param(
            odd({"m": {"additionalProperties": True}}), {"m": {"a": None}}, {"m": {"a": None}}, id="any fields"
        ),
        pytest.param(odd({"a": KEYED_BY_A_MAPPING}), {"a": None}, {"a": None}, id="a mapping as a list key"),
        pytest.param(odd({"a": {"$ref": ["x"]}}), {"a": None}, {"a": None}, id="an odd reference"),
        pytest.param(odd({"a": {"type": ["string"]}}), {"a": None}, {"a": None}, id="types in a list"),
        pytest.param(odd({"a": True}), {"a": None}, {"a": None}, id="true as a schema"),
        pytest.param(
            odd({"a": SET}), {"a": ["\ud800"], "b": None}, {"a": ["\ud800"], "b": None}, id="half a character"
        ),
    ],
)
def test_no_odd_schema_ends_the_run(
    schemas: Any, brought: dict[str, Any], spec: dict[str, Any], sent: dict[str, Any]
) -> None:
    known = schemas(brought)
    top = {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "a"}, "other": [None]}
    assert known.without_nulls({**top, "spec": spec}) == {**top, "spec": sent}
    assert isinstance(known.faults({**top, "spec": sent}), list)


def test_a_schema_that_breaks_the_check_counts_as_unknown(schemas: Any) -> None:
    known = schemas(definition("v1", a=SET))
    assert known.checked(widget())
    assert known.faults(widget(a=["\ud800"])) == []
    assert not known.checked(widget())
