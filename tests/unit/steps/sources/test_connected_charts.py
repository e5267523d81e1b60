"""Charts that read the cluster with ``lookup``: connected as the acting account, and what happens when that fails."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from tests.unit.steps.sources.made_chart import CRD, chart, rendered, show, shown
from tests.unit.steps.sources.made_cluster import TOKEN, MadeCluster
from tests.unit.steps.sources.made_request import CLUSTER, Workshop

PASSWORD = """
{{- $old := lookup "v1" "Secret" .Release.Namespace "db" }}
apiVersion: v1
kind: Secret
metadata: {name: db}
data: {password: {{ if $old }}{{ $old.data.password }}{{ else }}{{ randAlphaNum 20 | b64enc }}{{ end }}}
"""
ASKED = show('with lookup "v1" "Secret" "w" "db" }}{{ .data.password | b64dec }}{{ end')


@pytest.fixture
def cluster(workshop: Workshop, tmp_path: Path) -> Iterator[MadeCluster]:
    folder = tmp_path / "login"
    folder.mkdir()
    with MadeCluster(folder) as made:
        made.add("Secret", "db", data={"password": base64.b64encode(b"of the cluster").decode()})
        workshop.made_cluster = made
        yield made


def test_lookup_finds_what_is_there(workshop: Workshop, cluster: MadeCluster) -> None:
    made = rendered(workshop, chart({"templates/a.yaml": ASKED}))
    assert (shown(made), made.warnings, made.connected) == ({"shown": "of the cluster"}, [], True)
    assert workshop.started.count("helm template") == 1
    assert list(cluster.folder.iterdir()) == [], "the login is there only while helm runs"


def test_it_is_the_acting_account_that_reads(workshop: Workshop, cluster: MadeCluster) -> None:
    cluster.user = "system:serviceaccount:ns:acts"
    rendered(workshop, chart({"templates/a.yaml": ASKED}))
    assert {request[:2] for request in cluster.requests} == {(cluster.user, f"Bearer {TOKEN}")}


def test_a_proxy_of_this_process_is_not_in_the_way(
    workshop: Workshop, cluster: MadeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether there is one is part of the login."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert shown(rendered(workshop, chart({"templates/a.yaml": ASKED}))) == {"shown": "of the cluster"}


def test_a_chart_without_lookup_does_not_ask(workshop: Workshop, cluster: MadeCluster) -> None:
    made = rendered(workshop, chart({"templates/a.yaml": show('include "x.lookup" .') + HELPER}))
    assert (shown(made)["shown"], made.connected) == ("x", False)
    assert cluster.requests == []


HELPER = '{{ define "x.lookup" }}x{{ end }}'


def test_trap_01_what_a_lookup_chart_made_up_once_stays(workshop: Workshop, cluster: MadeCluster) -> None:
    made = rendered(workshop, chart({"templates/a.yaml": PASSWORD}))
    assert base64.b64decode(made.documents[0].manifest["data"]["password"]) == b"of the cluster"
    assert (made.second, made.warnings) == ([], [])
    cluster.objects.clear()
    made = rendered(workshop)
    (first,), (second,) = made.documents, made.second
    assert first.manifest["data"] != second.manifest["data"]


def test_trap_03_a_render_with_the_first_ones_outcome_is_the_last(workshop: Workshop, cluster: MadeCluster) -> None:
    """The checksum is over what was made up before the lookup found it."""
    checksum = 'include (print $.Template.BasePath "/a.yaml") . | sha256sum'
    files = chart({"templates/a.yaml": PASSWORD, "templates/b.yaml": show(checksum)})
    cluster.objects.clear()
    first = rendered(workshop, files)
    assert [document.source for document in first.second] == [document.source for document in first.documents]
    data = next(one.manifest["data"] for one in first.documents if one.manifest["kind"] == "Secret")
    cluster.add("Secret", "db", data=data)
    second, third = rendered(workshop), rendered(workshop)
    assert (second.second, second) == ([], third)


@pytest.mark.parametrize("upgrade", [False, True])
def test_trap_04_objects_that_are_there_are_in_nobodys_way(
    workshop: Workshop, cluster: MadeCluster, upgrade: bool
) -> None:
    for name in ("shown", "told"):
        cluster.add("ConfigMap", name)
    told = show(".Release.IsUpgrade", "told")
    files = chart({"templates/a.yaml": ASKED, "templates/b.yaml": told})
    made = rendered(workshop, files, cluster=replace(CLUSTER, upgrade=upgrade))
    assert (shown(made)["told"], made.warnings) == (str(upgrade).lower(), [])


OF_ITS_OWN = "{apiVersion: x.io/v1, kind: Thing, metadata: {name: t}}\n"


@pytest.mark.parametrize("own", [False, True])
def test_trap_05_kinds_that_are_not_there_yet(workshop: Workshop, cluster: MadeCluster, own: bool) -> None:
    files = {"templates/a.yaml": ASKED, "templates/t.yaml": OF_ITS_OWN} | ({"crds/t.yaml": CRD} if own else {})
    made = rendered(workshop, chart(files))
    assert shown(made) == {"shown": ""}
    assert made.connected, "the next run may connect it"
    assert made.incomplete == (
        "rendered without the objects that its lookups would find in the cluster: it does not serve Thing of x.io/v1"
    )
    assert made.warnings == [made.incomplete]


def test_a_kind_that_a_lookup_asks_for_is_not_served(workshop: Workshop, cluster: MadeCluster) -> None:
    made = rendered(workshop, chart({"templates/a.yaml": show('lookup "x.io/v1" "Thing" "w" "t" | len')}))
    assert shown(made) == {"shown": "0"}
    assert made.incomplete == (
        "rendered without the objects that its lookups would find in the cluster: it does not serve Thing of x.io/v1"
    )
    assert made.warnings == [made.incomplete]


def test_without_the_right_to_read(workshop: Workshop, cluster: MadeCluster) -> None:
    cluster.user, cluster.forbidden = "viewer", {"secrets"}
    made = rendered(workshop, chart({"templates/a.yaml": ASKED}))
    assert shown(made) == {"shown": ""}
    assert made.incomplete == (
        "rendered without the objects that its lookups would find in the cluster: secrets is forbidden: "
        'User "viewer" cannot get resource "secrets" in the namespace "w"'
    )
    assert made.warnings == [made.incomplete]


NO_ANSWER = r"^c: the chart asks the cluster \(lookup\), which gives no answer: .+\. Try again\.$"


def test_a_server_that_is_away(workshop: Workshop) -> None:
    with pytest.raises(AddonError, match=NO_ANSWER) as caught:
        rendered(workshop, chart({"templates/a.yaml": ASKED}))
    assert "kubernetes cluster unreachable" in str(caught.value)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("status", [0, 401, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("path", ["/secrets/db", "/version"])
def test_no_answer_is_not_taken_for_nothing_there(
    workshop: Workshop, cluster: MadeCluster, path: str, status: int
) -> None:
    """What a render without the cluster lacks would count as gone from the source."""
    cluster.failing[path] = status
    with pytest.raises(AddonError, match=NO_ANSWER):
        rendered(workshop, chart({"templates/a.yaml": ASKED}))
    assert workshop.started.count("helm template") == 1
    cluster.failing.clear()
    assert shown(rendered(workshop)) == {"shown": "of the cluster"}


DEPLOYMENT = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}\n"
HAS = show('.Capabilities.APIVersions.Has "apps/v1/Deployment"', "has")


@pytest.mark.parametrize("template", [DEPLOYMENT, HAS, show('lookup "apps/v1" "Deployment" "w" "d" | len', "d")])
def test_kinds_that_can_not_be_listed_are_not_taken_for_missing_ones(
    workshop: Workshop, cluster: MadeCluster, template: str
) -> None:
    files = chart({"templates/a.yaml": ASKED, "templates/b.yaml": template})
    made = rendered(workshop, files)
    assert (made.incomplete, len(made.documents)) == ("", 2)
    cluster.failing["/apis/apps/v1"] = 503
    with pytest.raises(AddonError, match=NO_ANSWER) as caught:
        rendered(workshop)
    assert "apps/v1" in str(caught.value)


def test_kinds_that_can_not_be_listed_do_not_matter_to_others(workshop: Workshop, cluster: MadeCluster) -> None:
    cluster.failing["/apis/apps/v1"] = 503
    made = rendered(workshop, chart({"templates/a.yaml": ASKED}))
    assert (shown(made), made.incomplete) == ({"shown": "of the cluster"}, "")


def test_a_server_that_takes_too_long(workshop: Workshop, cluster: MadeCluster) -> None:
    cluster.failing["/secrets/db"] = -1
    workshop.seconds = 2
    with pytest.raises(AddonError) as caught:
        rendered(workshop, chart({"templates/a.yaml": ASKED}))
    assert str(caught.value) == (
        "c: helm template did not end within 2 s; the chart asks the cluster (lookup), which may be slow to answer. "
        "See addon_program_seconds."
    )


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ('{{ $x := lookup "v1" "Secret" "w" "db" }}{{ fail "give me a password" }}', "ends its render"),
        ('{{ $x := lookup "v1" "Secret" "w" "db" }}{{ .Values.a.b.c }}', "nil pointer evaluating"),
        ('{{ $x := lookup "v1" "Secret" "w" "db" }}{{ if }}', "is no valid template"),
    ],
)
def test_a_fault_of_the_template_is_no_fault_of_the_cluster(
    workshop: Workshop, cluster: MadeCluster, template: str, message: str
) -> None:
    with pytest.raises(AddonError, match=message) as caught:
        rendered(workshop, chart({"templates/a.yaml": template}))
    assert "lookups" not in str(caught.value)
    assert workshop.started.count("helm template") == 1


def test_what_a_connected_chart_says_itself_is_not_shown_since_it_can_quote_secrets(
    workshop: Workshop, cluster: MadeCluster
) -> None:
    quoted = '{{ $x := lookup "v1" "Secret" "w" "db" }}\n{{ fail (printf "it is %s" "hunter2 of the cluster") }}'
    with pytest.raises(AddonError) as caught:
        rendered(workshop, chart({"templates/a.yaml": quoted}))
    assert str(caught.value) == (
        "c/templates/a.yaml:2: the chart ends its render; its message is not shown, since the chart can read Secrets "
        "of the cluster. Helm template --dry-run=server shows it."
    )


def test_a_chart_that_needs_what_it_can_not_read_says_both(workshop: Workshop, cluster: MadeCluster) -> None:
    needs = '{{ if not (lookup "v1" "Secret" "w" "db") }}{{ fail "PASSWORDS ERROR" }}{{ end }}'
    cluster.forbidden = {"secrets"}
    with pytest.raises(AddonError) as caught:
        rendered(workshop, chart({"templates/a.yaml": needs}))
    assert str(caught.value).startswith(
        "c/templates/a.yaml:1: PASSWORDS ERROR (rendered without the cluster's objects: secrets is forbidden"
    )


def test_trap_06_install_is_said_while_nothing_was_applied(workshop: Workshop, cluster: MadeCluster) -> None:
    told = show('ternary "Ignore" "Fail" .Release.IsInstall', "told")
    files = chart({"templates/a.yaml": told, "templates/b.yaml": ASKED})
    assert shown(rendered(workshop, files)) == {"told": "Ignore", "shown": "of the cluster"}
    upgraded = replace(CLUSTER, upgrade=True)
    assert shown(rendered(workshop, cluster=upgraded)) == {"told": "Fail", "shown": "of the cluster"}


@pytest.mark.parametrize("entry", ["y.io/v1", "x.io/v1/Thing"])
def test_kinds_that_are_still_to_come_can_not_be_asked_of_the_cluster(
    workshop: Workshop, cluster: MadeCluster, entry: str
) -> None:
    """Helm takes its API list from the cluster: what the chart brings itself, or a dependency, isn't in it yet."""
    asks = show(f'.Capabilities.APIVersions.Has "{entry}"', "asks")
    files = {"templates/a.yaml": ASKED, "templates/b.yaml": asks, "crds/t.yaml": CRD}
    made = rendered(workshop, chart(files), cluster=CLUSTER.with_kinds(["y.io/v1"]))
    assert shown(made) == {"shown": "", "asks": "true"}
    assert "it asks for kinds that" in made.incomplete
    assert made.warnings == [made.incomplete]


def test_no_login_is_left_after_a_failure(workshop: Workshop, cluster: MadeCluster) -> None:
    with pytest.raises(AddonError):
        rendered(workshop, chart({"templates/a.yaml": "{{ $x := lookup 1 }}"}))
    assert list(cluster.folder.iterdir()) == []


def test_lookups_of_values_count(workshop: Workshop, cluster: MadeCluster) -> None:
    text: dict[str, Any] = {"text": '{{ (lookup "v1" "Secret" "w" "db").data.password | b64dec }}'}
    made = rendered(workshop, chart({"templates/a.yaml": show("tpl .Values.text $")}), values=text)
    assert shown(made) == {"shown": "of the cluster"}
