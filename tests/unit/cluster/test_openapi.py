"""The documents with the server's schemas: asked for once, and missing where they may not be read."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.access import Credential
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.client import Client
from ansible_collections.rendimiento.addons.plugins.module_utils.cluster.openapi import OpenApi
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import UnreachableError
from tests.unit.cluster.small_server import SmallServer

SCHEMAS = {"components": {"schemas": {"Pod": {"type": "object"}}}}


@pytest.fixture
def server() -> Iterator[SmallServer]:
    server = SmallServer()
    yield server
    server.close()


@pytest.fixture
def openapi(server: SmallServer) -> OpenApi:
    return OpenApi(Client(Credential(server.url), retry_window=0.0))


def test_documents_by_group_and_version(server: SmallServer, openapi: OpenApi) -> None:
    server.answers = {"/openapi/v3/api/v1": SCHEMAS, "/openapi/v3/apis/apps/v1": {**SCHEMAS, "paths": {"/x": {}}}}
    assert openapi.document("v1") == SCHEMAS
    assert openapi.document("apps/v1") == SCHEMAS
    assert openapi.document("batch/v1") is None


def test_each_is_asked_for_once_by_however_many_threads(server: SmallServer, openapi: OpenApi) -> None:
    server.answers = {"/openapi/v3/apis/apps/v1": SCHEMAS}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(openapi.document, ["apps/v1", "batch/v1"] * 8))
    assert found == [SCHEMAS, None] * 8
    assert sorted(server.asked) == ["/openapi/v3/apis/apps/v1", "/openapi/v3/apis/batch/v1"]


@pytest.mark.parametrize("answer", [403, 404, 406, {}, [], {"components": None}, {"components": {"schemas": "x"}}])
def test_a_refusal_and_an_odd_answer_are_no_document(server: SmallServer, openapi: OpenApi, answer: Any) -> None:
    server.answers = {"/openapi/v3/apis/apps/v1": answer}
    assert openapi.document("apps/v1") is None


def test_a_server_that_is_away_is_an_error(server: SmallServer, openapi: OpenApi) -> None:
    server.close()
    with pytest.raises(UnreachableError):
        openapi.document("apps/v1")
