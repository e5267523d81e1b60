"""Why a connected render failed: texts of helm 4.3.1, told apart from faults of the chart."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.programs.cluster_faults import (
    ClusterFault,
    cluster_fault,
    unlisted,
    without_notes,
)

NO_MATCH = (
    'resource mapping not found for name: "{0}" namespace: "" from "": no matches for kind "{0}" in version "{1}"'
)
LOOKUP = 'Error: template: c/a.yaml:1:3: executing "c/a.yaml" at <lookup "v1">: error calling lookup'
AWAY = (
    'E1130 17:35:49.286897   25010 memcache.go:403] "Couldn\'t get resource list" err="the server is currently unable '
    'to handle the request" logger="UnhandledError" groupVersion="apps/v1"\n'
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Error: unable to build kubernetes objects from release manifest: "
         f"{NO_MATCH.format('Thing', 'x.io/v1')}\nensure CRDs are installed first\n",
         "it does not serve Thing of x.io/v1"),
        ("Error: unable to build kubernetes objects from release manifest: "
         f"[{NO_MATCH.format('Thing', 'x.io/v1')}\nensure CRDs are installed first, "
         f"{NO_MATCH.format('Thing', 'x.io/v1')}\nensure CRDs are installed first, "
         f"{NO_MATCH.format('Other', 'y.io/v1')}\nensure CRDs are installed first]\n",
         "it does not serve Thing of x.io/v1, Other of y.io/v1"),
        ('Error: template: c/a.yaml:1:3: executing "c/a.yaml" at <lookup "v1">: error calling lookup: '
         'secrets "db" is forbidden: User "u" cannot get resource "secrets" in API group "" in the namespace "w"\n',
         'secrets "db" is forbidden: User "u" cannot get resource "secrets" in API group "" in the namespace "w"'),
        ('level=ERROR msg="unable to get apiresource"\nError: template: c/a.yaml:1: error calling include: template: '
         "c/b.tpl:2: executing \"b\" at <lookup>: error calling lookup: unable to get apiresource from unstructured: "
         "x.io/v1, Kind=Thing: the server could not find the requested resource\n",
         "it does not serve Thing of x.io/v1"),
        ("Error: unable to continue with install: could not get information about the resource ConfigMap \"a\" in "
         'namespace "w": configmaps "a" is forbidden: User "u" cannot get resource "configmaps"\n',
         'could not get information about the resource ConfigMap "a" in namespace "w": configmaps "a" is forbidden: '
         'User "u" cannot get resource "configmaps"'),
        (f"{LOOKUP}: unable to get apiresource from unstructured: apps/v1, Kind=Deployment: forbidden: User \"u\" "
         'cannot get path "/apis/apps/v1"\n',
         'unable to get apiresource from unstructured: apps/v1, Kind=Deployment: forbidden: User "u" cannot get path '
         '"/apis/apps/v1"'),
        ("Error: unable to build kubernetes objects from release manifest: unable to decode \"\": json: cannot "
         "unmarshal number into Go struct field ObjectMeta.metadata.labels of type string\n",
         'unable to decode "": json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type '
         "string"),
        ("Error: unable to continue with install: could not get information about the resource ConfigMap \"\" in "
         'namespace "w": resource name may not be empty\n',
         'could not get information about the resource ConfigMap "" in namespace "w": resource name may not be empty'),
    ],
)  # fmt: skip
def test_what_is_missing_lasts(text: str, fault: str) -> None:
    assert cluster_fault(text) == ClusterFault(fault, lasting=True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Error: cluster reachability check failed: kubernetes cluster unreachable: Get \"https://x/version\": EOF\n",
         'kubernetes cluster unreachable: Get "https://x/version": EOF'),
        ('Error: unable to continue with install: could not get information about the resource Secret "a": '
         "Internal error occurred: etcdserver: request timed out\n",
         'could not get information about the resource Secret "a": Internal error occurred: etcdserver: request timed '
         "out"),
        ("Error: could not get apiVersions from Kubernetes: the-token is not known\n", "… is not known"),
        (f"{LOOKUP}: the server is currently unable to handle the request\n\nUse --debug flag to render out",
         "the server is currently unable to handle the request"),
        (f"{LOOKUP}: Too many requests, please try again later.\n", "Too many requests, please try again later"),
        (f"{LOOKUP}: the server has asked for the client to provide credentials\n",
         "the server has asked for the client to provide credentials"),
        # It may be served: nobody could ask.
        (f"{LOOKUP}: unable to get apiresource from unstructured: x.io/v1, Kind=Thing: the server is currently unable "
         "to handle the request\n",
         "unable to get apiresource from unstructured: x.io/v1, Kind=Thing: the server is currently unable to handle "
         "the request"),
        (f"{AWAY}Error: unable to build kubernetes objects from release manifest: "
         f"{NO_MATCH.format('Deployment', 'apps/v1')}\nensure CRDs are installed first\n",
         "it does not tell which kinds apps/v1 has"),
        ("Error: unable to build kubernetes objects from release manifest: "
         f"[{NO_MATCH.format('Thing', 'x.io/v1')}\nensure CRDs are installed first, "
         'Get "https://x/apis/y.io/v1": EOF]\n',
         f"[{NO_MATCH.format('Thing', 'x.io/v1')}"),
    ],
)  # fmt: skip
def test_what_is_not_answered_may_be_over_in_a_moment(text: str, fault: str) -> None:
    assert cluster_fault(text, ["the-token"]) == ClusterFault(fault, lasting=False)


@pytest.mark.parametrize(
    "text",
    [
        "Error: execution error at (c/templates/a.yaml:1:3): lookup of a password failed\n",
        "Error: parse error at (c/templates/a.yaml:1): lookup\n",
        "Error: values don't meet the specifications of the schema\n",
        'Error: template: c/a.yaml:1:3: executing "c/a.yaml" at <lookup>: wrong number of args for lookup\n',
    ],
)
def test_faults_of_the_chart(text: str) -> None:
    assert cluster_fault(text) is None


@pytest.mark.parametrize(
    ("why", "found"),
    [
        ("the server is currently unable to handle the request", {"apps/v1"}),
        ('Get \\"https://x/apis/apps/v1\\": EOF', {"apps/v1"}),
        ('forbidden: User \\"u\\" cannot get path \\"/apis/apps/v1\\"', set()),
        ("the server could not find the requested resource", set()),
    ],
)
def test_kinds_that_could_not_be_listed(why: str, found: set[str]) -> None:
    assert unlisted(AWAY.replace("the server is currently unable to handle the request", why)) == found


def test_remarks_on_every_connected_render_are_left_out() -> None:
    text = (
        'time=1 level=WARN msg="This chart or one of its subcharts contains CRDs. Rendering may fail or contain '
        'inaccuracies."\nlevel=WARN msg="this chart is deprecated"\n'
    )
    assert without_notes(text) == 'level=WARN msg="this chart is deprecated"\n'


def test_what_a_chart_says_itself_is_no_word_of_the_cluster() -> None:
    assert (
        cluster_fault("Error: execution error at (app/templates/a.yaml:1:4): error calling lookup: swordfish") is None
    )
