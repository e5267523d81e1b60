"""Why a connected render failed: texts of helm 4.3.1, told apart from faults of the chart."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.programs.cluster_faults import (
    cluster_fault,
    without_notes,
)

NO_MATCH = (
    'resource mapping not found for name: "{0}" namespace: "" from "": no matches for kind "{0}" in version "{1}"'
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Error: cluster reachability check failed: kubernetes cluster unreachable: Get \"https://x/version\": EOF\n",
         'kubernetes cluster unreachable: Get "https://x/version": EOF'),
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
        ('Error: unable to continue with install: could not get information about the resource Secret "a": no\n',
         'could not get information about the resource Secret "a": no'),
        ("Error: could not get apiVersions from Kubernetes: the-token is not known\n", "… is not known"),
        ("Error: execution error at (c/templates/a.yaml:1:3): lookup of a password failed\n", None),
        ("Error: parse error at (c/templates/a.yaml:1): lookup\n", None),
        ("Error: values don't meet the specifications of the schema\n", None),
        ("Error: template: c/a.yaml:1:3: executing \"c/a.yaml\" at <lookup>: wrong number of args for lookup\n", None),
    ],
)  # fmt: skip
def test_faults(text: str, fault: str | None) -> None:
    assert cluster_fault(text, ["the-token"]) == fault


def test_remarks_on_every_connected_render_are_left_out() -> None:
    text = (
        'time=1 level=WARN msg="This chart or one of its subcharts contains CRDs. Rendering may fail or contain '
        'inaccuracies."\nlevel=WARN msg="this chart is deprecated"\n'
    )
    assert without_notes(text) == 'level=WARN msg="this chart is deprecated"\n'
