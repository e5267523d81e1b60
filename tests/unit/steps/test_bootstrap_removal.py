"""Taking a bootstrap back while others still work: what they write until their rights are gone is not lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import AccessOptions
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import BootstrapError
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.bootstrap_removal import remove_bootstrap
from tests.loopback import Exchange, Loopback

RBAC = "/apis/rbac.authorization.k8s.io/v1"
BINDING = f"{RBAC}/clusterrolebindings/rendimiento-addons-platform"
RECORDS = "/apis/rendimiento.ai/v1alpha1/addons"
SECRETS = "/api/v1/namespaces/place/secrets"
KIND = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/addons.rendimiento.ai"
TOMBSTONE = {"metadata": {"name": "addon-web-tombstone", "labels": {"rendimiento.ai/state-of": "web"}}}


class Cluster(Loopback):
    """Holds objects by path; ``last_write`` is done by somebody at the moment when the platform's binding goes.

    Whatever is deleted is there again at once, as another object of that name.
    """

    def __init__(self) -> None:
        self.objects = dict.fromkeys([BINDING, KIND, f"{SECRETS}/addon-key"], 1)
        self.lists: dict[str, list[Any]] = {RECORDS: [], SECRETS: [{"metadata": {"name": "addon-key"}}]}
        self.last_write: tuple[str, Any] | None = None
        self.asked: list[str] = []
        super().__init__(self._answer)

    def _answer(self, request: Exchange) -> None:
        path = urlsplit(request.path).path
        self.asked.append(f"{request.command} {path}")
        request.content()
        if path == SECRETS:
            assert parse_qs(urlsplit(request.path).query)["fieldSelector"] == ["type=rendimiento.ai/state"]
            assert "PartialObjectMetadataList" in request.headers["Accept"], "no value is needed"
        if request.command == "DELETE":
            self.objects[path] += 1
            if path == BINDING and self.last_write:
                place, written = self.last_write
                self.lists[place].append(written)
        found: Any = {"kind": "Status", "code": 404, "reason": "NotFound", "details": {"name": "x"}}
        if path in self.lists:
            found = {"metadata": {}, "items": self.lists[path]}
        elif path.endswith("/leases"):
            found = {"metadata": {}, "items": []}
        elif path in self.objects:
            found = {"metadata": {"name": path.rpartition("/")[2], "uid": str(self.objects[path])}}
        request.reply(found.get("code", 200), json.dumps(found).encode(), "application/json")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


def deleted(cluster: Cluster) -> list[str]:
    return [asked.removeprefix("DELETE ") for asked in cluster.asked if asked.startswith("DELETE")]


def take_back(cluster: Cluster, *, purge: bool = False) -> list[str]:
    removed = remove_bootstrap(AccessOptions(host=cluster.url), "place", purge=purge, check=False)
    return [f"{one.state} {one.title}" for one in removed]


@pytest.mark.parametrize(
    ("place", "written", "said"),
    [
        (RECORDS, {"metadata": {"name": "web", "uid": "1", "resourceVersion": "1"}}, "the Addon record web"),
        (SECRETS, TOMBSTONE, "the tombstone of web"),
    ],
)
def test_what_is_remembered_meanwhile_stays(cluster: Cluster, place: str, written: Any, said: str) -> None:
    cluster.last_write = place, written
    with pytest.raises(BootstrapError, match=f"are removed, but meanwhile came {said}. Run again"):
        take_back(cluster)
    assert deleted(cluster) == [BINDING]
    # Who wants it gone gets that, with what came last.
    cluster.last_write = None
    removed = take_back(cluster, purge=True)
    if place == RECORDS:
        assert "removed Addon web" in removed
    assert KIND in deleted(cluster)


def test_another_object_of_that_name_is_not_waited_for(cluster: Cluster) -> None:
    assert "removed CustomResourceDefinition addons.rendimiento.ai" in take_back(cluster)
    assert deleted(cluster) == [BINDING, KIND, f"{SECRETS}/addon-key"]
