"""What a chart makes up stays as it is in the cluster, and everything else is applied as rendered."""

from __future__ import annotations

import base64
import copy
import itertools
import random
import time
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.made_up import settled, stable
from ansible_collections.rendimiento.addons.plugins.module_utils.model.made_up_lines import MARKER


def encoded(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def config(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def secret(**data: str) -> dict[str, Any]:
    return {**config(**{key: encoded(value) for key, value in data.items()}), "kind": "Secret"}


def spec(value: Any) -> dict[str, Any]:
    return {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": value}


def pod(*containers: Any, **annotations: str) -> dict[str, Any]:
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": list(containers)}}
    return {**spec({"replicas": 1, "template": template}), "apiVersion": "apps/v1", "kind": "Deployment"}


def container(name: str, **env: str) -> dict[str, Any]:
    return {"name": name, "env": [{"name": key, "value": value} for key, value in env.items()]}


PEM = "-----BEGIN CERTIFICATE-----\n{0}a+/\n{0}b\n{0}c==\n-----END CERTIFICATE-----\n"


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "live", "expected", "kept"),
    [
        # What the renders agree on is the author's.
        (config(a="new", r="1"), config(a="new", r="2"), config(a="old", r="0"), config(a="new", r="0"), [".data.r"]),
        (config(new="x", r="1"), config(new="x", r="2"), config(gone="y", r="0"), config(new="x", r="0"), [".data.r"]),
        # Without a value in the cluster there is nothing to keep.
        (config(r="1"), config(r="2"), config(), config(r="1"), []),
        (config(r="1"), config(r="2"), {**config(), "data": None}, config(r="1"), []),
        (config(r="1"), config(r="2"), {"apiVersion": "v1", "kind": "ConfigMap"}, config(r="1"), []),
        (spec({"a": {"r": 1}}), spec({"a": {"r": 2}}), spec({"b": 1}), spec({"a": {"r": 1}}), []),
        # Another type than that of the renders was made for something else.
        (spec({"r": "1"}), spec({"r": "2"}), spec({"r": 0}), spec({"r": "1"}), []),
        (spec({"r": 1}), spec({"r": 2}), spec({"r": True}), spec({"r": 1}), []),
        (spec({"r": {"x": 1}}), spec({"r": {"x": 2}}), spec({"r": [1]}), spec({"r": {"x": 1}}), []),
        (spec({"r": 1}), spec({"r": 2.5}), spec({"r": 7}), spec({"r": 7}), [".spec.r"]),
        (spec({"r": True}), spec({"r": False}), spec({"r": False}), spec({"r": False}), [".spec.r"]),
        (spec({"r": None}), spec({"r": "x"}), spec({"r": "0"}), spec({"r": "0"}), [".spec.r"]),
        # One line is kept as a whole.
        (config(r="u:1@new\n"), config(r="u:2@new\n"), config(r="u:0@old\n"), config(r="u:0@old\n"), [".data.r"]),
        # What one render has and the other has not is as it is in the cluster.
        (config(a="1", r="1"), config(a="1"), config(a="1", r="0"), config(a="1", r="0"), [".data.r"]),
        (config(a="1"), config(a="1", r="1"), config(a="1", r="0"), config(a="1", r="0"), [".data.r"]),
        (config(a="1", r="1"), config(a="1"), config(a="1"), config(a="1"), []),
        # What the render happens to have as well is not told.
        (config(r="1"), config(r="2"), config(r="1"), config(r="1"), []),
        (config(a="x", r="1"), config(a="x"), config(a="x", r="1"), config(a="x", r="1"), []),
        # Keys with made-up names.
        (config(a="2", r1="x"), config(a="2", r2="y"), config(a="1", r0="z"), config(a="2", r0="z"), [".data.r0"]),
        (config(a="2", r1="x"), config(a="2", r2="y"), config(a="1"), config(a="2", r1="x"), []),
        (config(r1="x"), config(r2="y"), config(r0="z", other="z"), config(r1="x"), []),
    ],
)  # fmt: skip
def test_a_made_up_value_stays_and_the_rest_is_applied(
    first: Any, second: Any, live: Any, expected: Any, kept: list[str]
) -> None:
    given = copy.deepcopy([first, second, live])
    assert settled(first, second, live) == (expected, kept)
    assert [first, second, live] == given


def test_equal_renders_are_sent_as_they_are() -> None:
    assert settled(config(a="1"), None, config(a="0")) == (config(a="1"), [])
    assert stable(config(a="1"), None) == config(a="1")


def test_the_fields_are_named_as_people_know_them() -> None:
    first = pod(container("web", KEY="1"), **{"checksum/secret": "1"})
    second = pod(container("web", KEY="2"), **{"checksum/secret": "2"})
    _, kept = settled(first, second, pod(container("web", KEY="0"), **{"checksum/secret": "0"}))
    assert kept == [
        ".spec.template.metadata.annotations.checksum/secret",
        '.spec.template.spec.containers[name="web"].env[name="KEY"].value',
    ]


# -- Secrets -----------------------------------------------------------------------------------------------------------


def test_values_of_a_secret_are_compared_as_text() -> None:
    """Three letters of base64 stand for each byte and its neighbours; nothing of that could be merged."""
    first, second = (secret(file=f"user: new\npassword: {word}\n") for word in ("one", "two"))
    body, kept = settled(first, second, secret(file="user: old\npassword: live\n"))
    assert (body, kept) == (secret(file="user: new\npassword: live\n"), [".data.file"])


def test_what_is_no_text_is_kept_as_a_whole() -> None:
    first, second, live = (config(key=encoded(bytes([200 + number, 10, 10]))) for number in range(3))
    for manifest in (first, second, live):
        manifest["kind"] = "Secret"
    assert settled(first, second, live) == (live, [".data.key"])


def test_a_live_value_that_is_kept_is_not_written_anew() -> None:
    live = secret(a=PEM.format("L"))
    live["data"]["a"] = live["data"]["a"][:20] + "\n" + live["data"]["a"][20:]
    body, _ = settled(secret(a=PEM.format("F")), secret(a=PEM.format("S")), live)
    assert body["data"] == live["data"]


# -- texts of several lines --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "live", "expected"),
    [
        # The rest as it was.
        ("a: 1\npassword: {}\nb: 1\n", "a: 1\npassword: L\nb: 1\n", "a: 1\npassword: L\nb: 1\n"),
        # The author changes, adds and removes lines right beside it.
        ("a: 2\npassword: {}\nb: 2\n", "a: 1\npassword: L\nb: 1\n", "a: 2\npassword: L\nb: 2\n"),
        ("a: 1\nnew: 1\npassword: {}\nmore: 1\nb: 1\n", "a: 1\npassword: L\nb: 1\n",
         "a: 1\nnew: 1\npassword: L\nmore: 1\nb: 1\n"),
        ("password: {}\n", "a: 1\npassword: L\nb: 1\n", "password: L\n"),
        ("x\npassword: {}\n", "y\nz\npassword: L\n", "x\npassword: L\n"),
        # It is moved.
        ("a: 1\nb: 1\npassword: {}\n", "password: L\na: 1\nb: 1\n", "a: 1\nb: 1\npassword: L\n"),
        # Its own line changes before or behind.
        ("a\nurl: db://u:{}@new/x # now\n", "a\nurl: db://u:L@old/x\n", "a\nurl: db://u:L@new/x # now\n"),
        ("a\nhost=new password={} end\n", "a\nhost=old password=L end\n", "a\nhost=new password=L end\n"),
        # Two that look alike.
        ("[a]\npassword: {}\n[b]\npassword: {}\n", "[a]\npassword: L\n[b]\npassword: M\n",
         "[a]\npassword: L\n[b]\npassword: M\n"),
        ("[a]\npassword: {}\nx: 2\n[b]\npassword: {}\n", "[a]\npassword: L\nx: 1\n[b]\npassword: M\n",
         "[a]\npassword: L\nx: 2\n[b]\npassword: M\n"),
        # One after the other.
        ("a: {}\nb: {}\nc: 2\n", "a: L\nb: M\nc: 1\n", "a: L\nb: M\nc: 2\n"),
        # It says nothing of itself: the lines around it tell.
        ("a: 2\n{}\nb: 1\n", "a: 1\nL\nb: 1\n", "a: 2\nL\nb: 1\n"),
        ("a: 2\n{}\nb: 2\n", "a: 1\nL\nb: 1\n", "a: 2\nL\nb: 2\n"),
        ("a: 1\n{}\nnew: 1\n", "a: 1\nL\n", "a: 1\nL\nnew: 1\n"),
        # It is new.
        ("a: 1\npassword: {}\n", "a: 1\n", "a: 1\npassword: F1\n"),
        ("a: 1\nb: 1\n{}\n", "a: 1\nb: 1\n", "a: 1\nb: 1\nF1\n"),
        ("a: 1\npassword: {}\n", "", "a: 1\npassword: F1\n"),
        # A certificate and its neighbours.
        ("a: 2\n" + PEM + "b: 2\n", "a: 1\n" + PEM.format("L") + "b: 1\n", "a: 2\n" + PEM.format("L") + "b: 2\n"),
        ("new\n" + PEM, PEM.format("L"), "new\n" + PEM.format("L")),
        (PEM + PEM, PEM.format("L") + PEM.format("M"), PEM.format("L") + PEM.format("M")),
        # Another key type has more lines.
        (PEM, "-----BEGIN CERTIFICATE-----\nL\nM\nN\nO\nP\n-----END CERTIFICATE-----\n",
         "-----BEGIN CERTIFICATE-----\nL\nM\nN\nO\nP\n-----END CERTIFICATE-----\n"),
        # Within it, lines that both renders share are no lines of the author's.
        ("b: 2\n" + PEM.replace("{0}b", "same second"), "b: 1\n" + PEM.format("L"), "b: 2\n" + PEM.format("L")),
        ("a: |\n  " + PEM.replace("\n", "\n  ").replace("{0}b", "now") + "\nb: 2",
         "a: |\n  " + PEM.format("L").replace("\n", "\n  ") + "\nb: 1",
         "a: |\n  " + PEM.format("L").replace("\n", "\n  ") + "\nb: 2"),
        # htpasswd: the salt begins anywhere.
        ("admin:$2a$10${}\nuser:new\n", "admin:$2a$10$L\nuser:old\n", "admin:$2a$10$L\nuser:new\n"),
        # The line break at the end is the author's.
        ("a\npassword: {}", "a\npassword: L\n", "a\npassword: L"),
    ],
)  # fmt: skip
def test_in_a_text_only_made_up_lines_stay(template: str, live: str, expected: str) -> None:
    first, second = (config(text=template.format(f"{word}1", f"{word}2")) for word in "FS")
    body, kept = settled(first, second, config(text=live))
    assert body["data"]["text"] == expected
    assert kept == ([] if "F1" in expected else [".data.text"])
    body, _ = settled(first, second, body)
    assert body["data"]["text"] == expected


@pytest.mark.parametrize(
    ("first", "second", "live", "expected"),
    [
        # The random words begin or end alike by chance.
        ("password: aF", "password: aS", "password: L", "password: L"),
        ("password: F9", "password: S9", "password: L", "password: L"),
        ("password: a!F", "password: a!S", "password: L", "password: L"),
        ("password: aF/x+", "password: aS/x+", "password: L", "password: L"),
        ("password: x", "password: xS", "password: L", "password: L"),
        # A line that is there sometimes.
        ("random: 1", None, "random: 0", "random: 0"),
        ("random: 1", None, None, None),
        (None, "random: 1", "random: 0", "random: 0"),
        (None, "random: 1", None, None),
    ],
)
def test_words_that_are_alike_by_chance_do_no_harm(
    first: str | None, second: str | None, live: str | None, expected: str | None
) -> None:
    first, second, live, expected = (
        "\n".join(["a: 1", *filter(None, [line]), "b: 1"]) for line in (first, second, live, expected)
    )
    assert settled(config(t=first), config(t=second), config(t=live))[0] == config(t=expected)


@pytest.mark.parametrize(
    "line",
    [
        "{0}: {1}\n",
        "same\n{1}\n",
        "{1}\n",
        "same\nsame\n{0}-{1}\n",
        "\n\n{1}\n",
        "password: {1}\n",
        "-----BEGIN A{0}-----\n{1}",
    ],
)
def test_a_large_text_takes_no_time(line: str) -> None:
    first, second, live = (
        "".join(line.format(number, f"{word}{number * 7919}") for number in range(20_000)) + "\n" for word in "FSL"
    )
    start = time.thread_time()
    body, kept = settled(config(t=first), config(t=second), config(t=live))
    stable(config(t=first), config(t=second))
    assert time.thread_time() - start < 20
    assert (body, kept) == (config(t=live), [".data.t"])


# -- lists -------------------------------------------------------------------------------------------------------------


def ports(*numbers: int, random: Any = None) -> list[dict[str, Any]]:
    return [{"containerPort": number, "protocol": "TCP", "r": random} for number in numbers]


@pytest.mark.parametrize(
    ("first", "second", "live", "expected"),
    [
        # Found by what tells them apart, wherever they stand.
        ([container("new"), container("web", K="1")], [container("new"), container("web", K="2")],
         [container("web", K="0"), container("injected")], [container("new"), container("web", K="0")]),
        ([container("web", NEW="x", K="1")], [container("web", NEW="x", K="2")],
         [container("web", K="0", OLD="y")], [container("web", NEW="x", K="0")]),
        ([container("new", K="1")], [container("new", K="2")], [container("old", K="0")], [container("new", K="1")]),
        (ports(1, 2, random="1"), ports(1, 2, random="2"), ports(2, 1, random="0"), ports(1, 2, random="0")),
        ([{"mountPath": "/a", "name": "v", "r": 1}, {"mountPath": "/b", "name": "v", "r": 1}],
         [{"mountPath": "/a", "name": "v", "r": 2}, {"mountPath": "/b", "name": "v", "r": 2}],
         [{"mountPath": "/b", "name": "v", "r": 0}, {"mountPath": "/a", "name": "v", "r": 9}],
         [{"mountPath": "/a", "name": "v", "r": 9}, {"mountPath": "/b", "name": "v", "r": 0}]),
        # One port, two protocols.
        ([{"port": 53, "protocol": "TCP", "r": 1}, {"port": 53, "protocol": "UDP", "r": 1}],
         [{"port": 53, "protocol": "TCP", "r": 2}, {"port": 53, "protocol": "UDP", "r": 2}],
         [{"port": 53, "protocol": "UDP", "r": 8}, {"port": 53, "protocol": "TCP", "r": 9}],
         [{"port": 53, "protocol": "TCP", "r": 9}, {"port": 53, "protocol": "UDP", "r": 8}]),
        # Names that are made up.
        ([{"name": "a", "v": 2}, {"name": "r1"}], [{"name": "a", "v": 2}, {"name": "r2"}],
         [{"name": "r0"}, {"name": "a", "v": 1}], [{"name": "a", "v": 2}, {"name": "r0"}]),
        ([{"name": "r1"}], [{"name": "r2"}], [{"name": "r0"}, {"name": "other"}], [{"name": "r1"}]),
        # By place, in a list as long as rendered.
        ([{"x": 2, "r": 1}], [{"x": 2, "r": 2}], [{"x": 1, "r": 0}], [{"x": 2, "r": 0}]),
        ([{"x": 2, "r": 1}], [{"x": 2, "r": 2}], [{"x": 1, "r": 0}, {"x": 2}], [{"x": 2, "r": 0}]),
        ([1, 2], [1, 3], [1, 0], [1, 0]),
        ([1, 2], [1, 3], [7], [1, 2]),
        # Of a random length: what both renders have is settled, the rest is as rendered.
        ([{"r": 1}], [{"r": 1}, {"r": 2}], [{"r": 0}], [{"r": 1}]),
        ([{"r": 1, "x": 1}, {"r": 3}], [{"r": 2, "x": 1}], [{"r": 0, "x": 7}], [{"r": 0, "x": 1}, {"r": 3}]),
        ([container("a", K="1"), container("b", K="1")], [container("b", K="2")],
         [container("injected"), container("b", K="0")], [container("a", K="1"), container("b", K="0")]),
        ([container("a", K="1")], [container("b", K="2"), container("a", K="2")],
         [container("b", K="0"), container("a", K="0")], [container("a", K="0")]),
        # Texts are like lines.
        (["--new", "--password=1"], ["--new", "--password=2"], ["--password=0", "--old"], ["--new", "--password=0"]),
        (["1"], ["2"], ["0"], ["0"]),
        (["1"], ["2", "3"], ["0", "9", "8"], ["0", "9", "8"]),
        (["1"], ["2"], [], ["1"]),
    ],
)  # fmt: skip
def test_items_are_found_again_and_keep_what_is_made_up(first: Any, second: Any, live: Any, expected: Any) -> None:
    assert settled(spec(first), spec(second), spec(live))[0] == spec(expected)


# -- what is never kept as a whole ------------------------------------------------------------------------------------

ALL: dict[str, Any] = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
PODS: dict[str, Any] = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
SIDECAR = {"name": "miner", "image": "miner"}


def role(*rules: Any) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": list(rules)}


@pytest.mark.parametrize(
    ("first", "second", "live"),
    [
        (role(PODS), role(PODS, PODS), role(ALL)),
        (role(PODS, PODS), role(PODS), role(ALL, ALL, ALL)),
        (role(PODS), role(None), role(ALL)),
        (role(PODS), {**role(), "rules": None}, role(ALL)),
        (role({**PODS, "verbs": ["list", "get"]}), role(PODS), role(ALL)),
        (role(PODS), role({"apiGroups": [""], "resources": ["pods"]}), role(ALL)),
        ({**role(), "subjects": [{"name": "a"}]}, {**role(), "subjects": []}, {**role(), "subjects": [{"name": "b"}]}),
        ({**role(), "subjects": [{"name": "a"}]}, role(), {**role(), "subjects": [{"name": "b"}]}),
        (role(), {**role(), "subjects": [{"name": "a"}]}, {**role(), "subjects": [{"name": "b"}]}),
        ({**role(), "roleRef": {"name": "a"}}, role(), {**role(), "roleRef": {"name": "cluster-admin"}}),
        ({**role(), "webhooks": [{"name": "a"}]}, role(), {**role(), "webhooks": [{"name": "b"}]}),
        (pod(container("web")), pod(container("web"), container("web")), pod(container("web"), SIDECAR)),
        (pod(container("web")), pod(), pod(SIDECAR)),
        (pod(container("web")), pod({"name": "web"}), pod(container("web", EVIL="x"))),
        (pod(container("web")), spec({"replicas": 1, "template": None}), pod(SIDECAR)),
        (pod(container("web")), spec({"replicas": 1}), pod(SIDECAR)),
    ],
)
def test_what_gives_rights_or_runs_is_never_kept_as_a_whole(first: Any, second: Any, live: Any) -> None:
    body, kept = settled(first, second, {**live, "kind": first["kind"], "apiVersion": first["apiVersion"]})
    assert ({key: body[key] for key in first}, kept) == (first, [])
    assert not {"miner", "cluster-admin", "*"} & set(str(body).split("'"))


def test_single_values_in_rules_and_containers_are_kept() -> None:
    named = [role({**PODS, "resourceNames": [f"a-{word}"]}) for word in "FSL"]
    assert settled(*named) == (named[2], [".rules[0].resourceNames"])
    text = {"config": {"rules": "- a: 1\n- b: {}\n"}}
    first, second, live = (spec({"rules": text["config"]["rules"].format(word)}) for word in "FSL")
    assert settled(first, second, live) == (live, [".spec.rules"])


@pytest.mark.parametrize(
    ("first", "second", "live", "expected"),
    [
        # What stands under a made-up key is the author's where both renders have it alike.
        ({"r1": {"cmd": "x"}}, {"r2": {"cmd": "x"}}, {"r0": {"cmd": "evil"}}, {"r0": {"cmd": "x"}}),
        ({"r1": {"cmd": "x", "p": 1}}, {"r2": {"cmd": "x", "p": 2}}, {"r0": {"cmd": "evil", "p": 0}},
         {"r0": {"cmd": "x", "p": 0}}),
        ({"r1": "b", "r2": "a"}, {"r4": "a", "r3": "b"}, {"r9": "b", "r8": "a"}, {"r8": "a", "r9": "b"}),
        # Others are not kept along with it.
        ({"a": 1, "r1": "x"}, {"a": 1, "r2": "y"}, {"a": 1, "r0": "z", "evil": "z"}, {"a": 1, "r1": "x"}),
    ],
)  # fmt: skip
def test_what_stands_under_a_made_up_key_is_the_authors(first: Any, second: Any, live: Any, expected: Any) -> None:
    assert settled(spec(first), spec(second), spec(live))[0] == spec(expected)


# -- what is the same in all renders -----------------------------------------------------------------------------------

SAME = [
    lambda word: config(a="1", r=word),
    lambda word: secret(a=f"x: 1\npassword: {word}\n"),
    lambda word: secret(a=PEM.format(word)),
    lambda word: config(a=f"a\npassword: {word} # really\n{word}\n"),
    lambda word: config(**{word: word}),
    lambda word: pod(container("web", K=word), **{"checksum/x": word}),
    lambda word: spec([word] * len(word)),
    lambda word: spec([{"a": 1}] * len(word)),
    lambda word: spec(["a", f"--x={word}"]),
    lambda word: spec({"a": len(word)}),
    lambda word: spec({"r": word if len(word) > 4 else {"word": word}}),
]


@pytest.mark.parametrize("made", SAME)
def test_any_two_renders_have_one_stable_form(made: Any) -> None:
    words = ["one", "three", "fourth", "0"]
    forms = [stable(made(first), made(second)) for first, second in itertools.pairwise(words)]
    assert all(form == forms[0] for form in forms)
    assert not any(word in str(form) for form in forms for word in ("three", "fourth"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda word: config(a="1", r=word), lambda word: config(a="2", r=word)),
        (lambda word: config(a=f"a: 1\np: {word}\n"), lambda word: config(a=f"a: 2\np: {word}\n")),
        (lambda word: config(a=f"x\np: {word} # 1\n"), lambda word: config(a=f"x\np: {word} # 2\n")),
        (lambda word: secret(a=f"a: 1\np: {word}\n"), lambda word: secret(a=f"a: 2\np: {word}\n")),
        (lambda word: spec(["a", word]), lambda word: spec(["b", word])),
    ],
)
def test_a_change_of_the_author_shows_in_the_stable_form(before: Any, after: Any) -> None:
    assert stable(before("one"), before("two")) != stable(after("one"), after("two"))


def test_it_does_not_matter_which_render_came_first() -> None:
    chance = random.Random(5)
    for _ in range(500):
        first, second = ([chance.choice("abc") for _ in range(chance.randint(3, 6))] for _ in range(2))
        texts = ["\n".join(lines) for lines in (first, second)]
        for one, other in (
            (spec(first), spec(second)),
            (config(t=texts[0]), config(t=texts[1])),
            (secret(t=texts[0]), secret(t=texts[1])),
        ):
            assert stable(one, other) == stable(other, one)


def test_the_marker_says_where() -> None:
    found = stable(config(a="1", r="one", t="x\np: one # c\n"), config(a="1", r="two", t="x\np: two # c\n"))
    assert found == config(a="1", r=MARKER, t=f"x\np: {MARKER} # c\n")
