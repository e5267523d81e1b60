"""Ownership that is put in order before an apply: what is told of it, and a server that does not do it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.discovery import Resource
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import ClusterError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.managed_fields import Entry
from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import Repair, SharedField, Takeover
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.absorption import (
    absorbed_at_adoption,
    contested_fields,
    kept_by_former_tools,
    put_in_order,
    removed_versions,
    repairs_of,
    shared_fields,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.session import Session
from tests.unit.cluster.small_server import SmallServer
from tests.unit.steps.made_run import MadeRun, item, key

WIDGETS = [
    Resource("x.io", version, "Widget", "widgets", True, ("get", "list"), ("status",)) for version in ("v1", "v2")
]
PATH = "/apis/x.io/v2/namespaces/web/widgets/a"
OLD_PATH = "/apis/x.io/v1/namespaces/web/widgets/a"
WIDGET = key("a", "Widget", "x.io")
SIZE: dict[str, Any] = {"f:spec": {"f:size": {}}}
COLOR: dict[str, Any] = {"f:spec": {"f:color": {}}}
UNKNOWN = "before-first-apply"


def entry(
    manager: str, fields: dict[str, Any] = SIZE, version: str = "v2", operation: str = "Update"
) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": f"x.io/{version}", "fieldsV1": fields}


OURS = entry("rendimiento-addons", operation="Apply")


def widget(*entries: dict[str, Any], **spec: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "web", "resourceVersion": "7", "managedFields": list(entries)}
    return {"apiVersion": "x.io/v2", "kind": "Widget", "metadata": metadata, "spec": spec or {"size": 1}}


@pytest.fixture
def server() -> Iterator[SmallServer]:
    server = SmallServer()
    yield server
    server.close()


@pytest.fixture
def session(run: MadeRun, server: SmallServer) -> Session:
    run.credential = Credential(server.url)
    return run.serves(*WIDGETS).add("app").session


@pytest.mark.parametrize(
    ("live", "body", "removed", "repairs"),
    [
        (widget(OURS), widget(), set[str](), []),
        (widget(), widget(), set[str](), [Repair(UNKNOWN)]),
        (widget(OURS, entry(UNKNOWN)), widget(), set[str](), [Repair(UNKNOWN)]),
        # What it stands for is nothing that the source has.
        (widget(OURS, entry(UNKNOWN, COLOR), size=1, color="x"), widget(), set[str](), []),
        # An own name of somebody who applies.
        (widget(OURS, entry(UNKNOWN, operation="Apply")), widget(), set[str](), []),
        (
            widget(OURS, entry("helm", version="v0"), entry("helm", COLOR, "v0"), entry("kubectl", version="v1")),
            widget(),
            {"x.io/v0"},
            [Repair("helm", "x.io/v0")],
        ),
    ],
)
def test_what_is_repaired(live: dict[str, Any], body: dict[str, Any], removed: set[str], repairs: list[Repair]) -> None:
    assert repairs_of(live, body, removed) == repairs


def test_versions_that_are_gone(session: Session) -> None:
    live = widget(entry("helm", version="v0"), entry("kubectl", version="v1"), OURS)
    assert removed_versions(session, WIDGET, live, "x.io/v0beta1") == {"x.io/v0", "x.io/v0beta1"}


@pytest.mark.parametrize(
    ("there", "absorbed"),
    [
        (widget(), True),
        (widget(size=2), False),
        (widget(color="x"), False),
        # Gone, or not to be read: what can't be compared stays as it is.
        (404, False),
        (403, False),
    ],
)
def test_what_was_set_in_another_version(session: Session, server: SmallServer, there: Any, absorbed: bool) -> None:
    server.answers = {OLD_PATH: there}
    # The last of these versions is not served.
    live = widget(entry("helm", version="v1"), entry("helm", version="v9"))
    found = absorbed_at_adoption(session, WIDGET, live, "x.io/v2")
    assert [one.api_version for one in found] == (["x.io/v1"] if absorbed else [])
    assert kept_by_former_tools(live, found, "x.io/v2") == [
        f"what helm set in x.io/{version} stays its own: it can't be told what it is in x.io/v2"
        for version in (["v9"] if absorbed else ["v1", "v9"])
    ]


def test_nothing_is_absorbed_once_we_own_something(session: Session) -> None:
    live = widget(OURS, entry("helm"))
    assert absorbed_at_adoption(session, WIDGET, live, "x.io/v2") == []
    assert kept_by_former_tools(live, [], "x.io/v2") == []


def test_shared_fields() -> None:
    body = widget(size=1, color="x")
    predicted = widget(OURS, entry("lambda", operation="Apply"), entry("helm"), entry(UNKNOWN, COLOR), size=1)
    assert shared_fields(predicted, body, [Entry.of(entry("helm"))]) == [SharedField("lambda", ".spec.size")]


@pytest.mark.parametrize(
    ("manager", "after", "contested"),
    [
        ("lambda", 2, True),
        ("lambda", 1, False),
        ("kubectl-edit", 2, False),
        ("helm", 2, False),
        (UNKNOWN, 2, False),
    ],
)
def test_contested_fields(manager: str, after: int, contested: bool) -> None:
    taken = Takeover(manager, ".spec.size")
    absorbed = [Entry.of(entry("helm"))]
    found = contested_fields(widget(entry(manager)), widget(OURS, size=after), [taken], absorbed)
    assert found == ([taken] if contested else [])


def test_entries_that_only_their_version_told_apart_become_one(session: Session, server: SmallServer) -> None:
    live = widget(entry("other", version="v0"), entry("other", COLOR), OURS, size=1, color="x")
    united: dict[str, Any] = {"f:spec": {"f:size": {}, "f:color": {}}}
    server.answers = {PATH: widget(entry("other", united), OURS)}
    made = item("a", "adopt", key=WIDGET, repairs=[Repair("other", "x.io/v0")])
    assert put_in_order(session, PATH, live, widget(), made) == server.answers[PATH]


@pytest.mark.parametrize(
    ("live", "fields"),
    [
        (widget(entry("helm")), {"absorbs": ["helm"]}),
        (widget(OURS, entry(UNKNOWN)), {"repairs": [Repair(UNKNOWN)]}),
        (widget(OURS, entry("other", version="v0")), {"repairs": [Repair("other", "x.io/v0")]}),
    ],
)
def test_a_server_that_leaves_ownership_as_it_is(
    session: Session, server: SmallServer, live: dict[str, Any], fields: dict[str, Any]
) -> None:
    # It takes entries that it can't read, and goes on with those that it had (observed).
    server.answers = {PATH: live}
    with pytest.raises(ClusterError, match=r"did not let the ownership of (helm|other|before-first-apply) be put in"):
        put_in_order(session, PATH, live, widget(), item("a", "adopt", key=WIDGET, **fields))
