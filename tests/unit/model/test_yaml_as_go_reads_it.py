"""The YAML reader beside the official programs: kubectl, helm and kustomize take each odd scalar for the same.

kubectl and helm read with sigs.k8s.io/yaml; kubectl shows what it would send, helm what it read as values. Helm keeps
numbers as 64 bit floats, kubectl integers too. Nothing here needs a cluster.

Kustomize reads otherwise (YAML 1.2: ``y``, ``no`` and ``on`` are text, dates become timestamps, a key that is a number
is refused), and that decides what a kustomization says. So of a kustomization its output counts, and there the reader
has to agree with kubectl, which would apply that output.
"""

from __future__ import annotations

import base64
import json
import random
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import DocumentError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.helm_output import read_helm_output
from ansible_collections.rendimiento.addons.plugins.module_utils.model.yaml_documents import (
    dump_yaml,
    read_documents,
    read_one,
)
from tests.chart_repository import write_chart

FIXED = """
y Y n N yes Yes YES no No NO on On ON off Off OFF true True TRUE false False FALSE yEs tRue nULL
~ null Null NULL nil none = + - . .. <<x @x 'null' "null" 'y' "on" '' "" '0644' "1e3"
0 00 0644 0o644 0O644 0800 017 0o17 01234 0x1F 0X1f 0b11 0B11 0b102 0b-11 0b+11 -0b11 -0b-1 +0b1 -0o7 -017 +017 0o 0x 0b
0o8 0x1G 0x1p4 1_000 1__0 1_ _1 0_8 0x_1F 0b1_1 +1 -1 +-1 -0 +0 -0.0 0e1 0.0 1. .5 5. +.5 -.5 .5_ .5_0 ._5 1_0.5_0
1e3 1E3 1e+3 1e+06 1e-3 1.5e3 1e 1e+ e3 .e3 .5e1 .1e1_0 1.e1 1e1.5 706798e8 12e4567 1e400 -1e400 1e-400 1e15 1e16 1e17
1e18 9e18 1e19 1e20 1e21 1e22 123456789012345678.5 4611686018427387904.0 9007199254740993.0 -9223372036854775808.0
9223372036854775000 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
18446744073709551615 18446744073709551616 12345678901234567890 12345678901234567890123 0x7fffffffffffffff
0xffffffffffffffff 0x10000000000000000 01777777777777777777777 02000000000000000000000
22:22 1:30 1:30:00 190:20:30.15 12:30:45 2024-01-01 2024-1-1 2024-02-31 2024-01-01T00:00:00Z
2001-12-14t21:59:43.10-05:00 << '<<'
1.2.3 1.2.3.4 10.0.0.0/8 1,000 1,5 ٣ １ 1m 100m 0.5Gi 1Gi 50% $x a=b a:b a::b http://a/b:c a#b é 日本 😀
.inf .Inf .INF +.inf -.inf .nan .NaN .NAN inf Infinity NaN nan +nan .iNF .infx
!!str !!int !!null !vault
"""

TAGGED = [
    *("!!str 5", "!!str yes", "!!str null", "!!str", "! 5", "! yes", "!!int 5", "!!int '5'", "!!int 0x1F", "!!int 1.0"),
    *("!!int x", "!!int yes", "!!float 5", "!!float 1.5", "!!float '2'", "!!float 1e6", "!!float x", "!!bool yes"),
    *("!!bool 'n'", "!!bool 1", "!!null ''", "!!null null", "!!null x", "!!timestamp 2024-01-01", "!!timestamp x"),
    *("!!binary aGVsbG8=", "!!binary aGVsbG8", "!!binary a b", "2024-01-01 00:00:00", "a b", "yes no", "1 2", "a: b"),
    *("'it''s'", '"\\x41\\u00e9\\n"', '"a\\tb"', "- 1", "[1", "{a", "*a", "&a", "&a 1", "%a", "`a", "'a", '"a', ""),
]

FLOAT_KEYS = [
    *("1.10", "1.5", "100000.0", "1000000.0", "1e5", "1e6", "1234567.0", "16777217.0", "0.0001", "0.00001", "1e-45"),
    *("3.4028234e38", "3.4028235e38", "-969.793961465", "123456.5", "1e21", "2147483648.0"),
]

_CHARACTERS = "0123456789" * 3 + "..__--++eE::" + "abxXoOyYnNfFtTlLuUiI~=<>,/%é"
_PIECES = ("0x", "0b", "0o", "0", ".", "e", "E", "_", "-", "+", "1", "9", "17", "1e3", ".inf", ".nan", "null", "true")


def words(count: int) -> list[str]:
    """The fixed scalars, and random ones of the same making until there are ``count``."""
    chance = random.Random(count)
    found = dict.fromkeys([*FIXED.split(), *TAGGED, *FLOAT_KEYS])
    while len(found) < count:
        match chance.randint(0, 5):
            case 0 | 1:
                text = "".join(chance.choice(_CHARACTERS) for _ in range(chance.randint(1, 8)))
            case 2 | 3:
                text = "".join(chance.choice(_PIECES) for _ in range(chance.randint(1, 5)))
            case 4:
                text = str(chance.choice([chance.getrandbits(chance.randint(1, 70)), chance.uniform(-1e6, 1e6)]))
            case _:
                form = f".{chance.randint(0, 17)}{chance.choice('eg')}"
                text = format(chance.uniform(-10, 10) * 10 ** chance.randint(-30, 30), form)
        if chance.random() < 0.1:
            text = chance.choice(["'{}'", '"{}"', "!!str {}", "!!int {}", "!!float {}", "!!bool {}"]).format(text)
        found[text] = None
    return list(found)


STRUCTURES = [
    "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}",
    "a: &x {k: 1}\nb: {k: 3, <<: *x}",
    "a: &x {k: 1}\nb: &y {k: 2, l: 3}\nc: {<<: [*x, *y], m: 4}\nd: {<<: *x, <<: *y}",
    "a: &x {k: 1}\nb: &y {<<: *x, l: 2}\nc: {<<: *y, l: 3, m: 4}",
    "a: {!!merge <<: {k: 1}, l: 2}",
    "a: &x [{k: 1}]\nb: {<<: *x}",
    "a: {<<: [[{k: 1}]]}",
    "a: {<<: null}",
    "a: {'<<': 1}",
    "a: &k key\n*k : 1\nb: *k",
    "a: &k 1000000.0\n*k : 1\nb: *k",
    "&k 1e6: 1\nb: *k",
    "a: &x\n  k: 1\nb: *x\nc: [*x, *x]",
    "a: &x [*x]",
    "a: 1\na: 2",
    "a: {k: 1, l: 2}\na: {k: 3}",
    "a: {k: {m: 1}, k: {n: 2}}",
    "y: 1\nyes: 2",
    "a: |\n  x\n\n  y\n\nb: 1",
    "a: |+\n  x\n\nb: 1",
    "a: |-\n  x\n\nb: 1",
    "a: |2\n   x\n  y\nb: 1",
    "a: >\n  x\n  y\n\n  z\n   w\nb: >-\n  x",
    "a: |\n  ---\n  -----BEGIN X-----\n  # ---\n  ...\nb: 1",
    "a: |\n\tx",
    "a: x\n  y\n\n  z",
    "a: 'x\n  y\n\n  z'",
    'a: "x\\\n  y\\n\\x41\\u00e9\\U0001F600\\e\\0\\_\\N\\L"',
    'a: "\\ud83d"',
    'a: "\\q"',
    "a: x # y\nb: x# y\nc: '#'",
    "a:\tx\nb: x\ty\t",
    "a:\n\tb: 1",
    "a:\r\n  b: |\r\n    x\r\n    y\r\n",
    "a: [1, {b: 2}, c: 3, ]",
    "a: {b, c: , d: 1}",
    "? a\n: 1\n? b",
    "? [a]\n: 1",
    "a: \x07",
    "a: \x7f",
    "a: \u2028b",
    "a: [\nb",
    "a: @x",
    "a: - b",
    "a:\n- b\n-\n- - c\n  - d",
]
"""Each is read like kubectl reads it, or fails in both; of a key that stands twice the last value counts in kubectl."""

STRICTER = {
    "values": {"!vault", "!!python/name:os.system x"},
    # With a colon after it, that of the key, a tag is an unknown one.
    "keys": {"!vault", "!!python/name:os.system x", "!!str", "!!int", "!!null", "1e39", "1e400"},
}
"""What only this reader refuses, of the scalars that are tried one by one: see its module's text."""

OBJECT = "apiVersion: example.com/v1\nkind: Corpus\nmetadata:\n  name: corpus\n"


def written(position: str, scalars: Iterable[str]) -> str:
    forms = {"values": "- v: {}\n", "keys": "- {}: v\n"}
    return "cases:\n" + "".join(map(forms[position].format, scalars))


@dataclass(frozen=True, slots=True)
class Programs:
    """The official programs, each as a reader of YAML."""

    paths: Mapping[str, Path]
    folder: Path

    def run(self, program: str, *arguments: str | Path) -> str | None:
        """What the program prints; nothing when it fails."""
        command = [self.paths[program], *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={"HOME": str(self.folder)}, timeout=60
        )
        return None if done.returncode else done.stdout

    def kubectl(self, text: str) -> Any:
        """An object as kubectl would send it; ``None`` when it can't be read."""
        file = self.folder / "object.yaml"
        file.write_text(text)
        output = self.run("kubectl", "label", "--local", "--filename", file, "read=yes", "--output", "json")
        return None if output is None else json.loads(output, parse_int=_integer)

    def helm(self, text: str) -> Any:
        """A values file as a template sees it, all numbers as floats; ``None`` when it can't be read."""
        template = "apiVersion: v1\nkind: ConfigMap\ndata:\n  read: {{ .Values | toJson | b64enc }}\n"
        chart = write_chart(self.folder, "reader", "1.0.0", {"templates/a.yaml": template})
        file = self.folder / "values.yaml"
        file.write_text(text)
        output = self.run("helm", "template", "release", chart, "--values", file)
        if output is None:
            return None
        return json.loads(base64.b64decode(output.rpartition("read: ")[2]), parse_int=_float)

    def kustomize(self, text: str, **kustomization: Any) -> str:
        """What kustomize makes of an object; the kustomization itself is JSON, as all that the collection writes."""
        (self.folder / "kustomization.yaml").write_text(json.dumps({"resources": ["corpus.yaml"], **kustomization}))
        (self.folder / "corpus.yaml").write_text(text)
        output = self.run("kustomize", "build", self.folder)
        assert output is not None
        return output


@pytest.fixture(scope="module")
def official(programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(programs, tmp_path_factory.mktemp("corpus"))


def _integer(digits: str) -> int | float:
    value = int(digits)
    return value if -(2**63) <= value < 2**63 else float(value)


def _float(digits: str) -> float:
    """Without a sign before 0, which only its way through text would keep."""
    return float(digits) + 0.0


def sent(value: Any, integer: Callable[[str], float] = _integer) -> Any:
    """The value after the way through JSON, with the types that it then has."""
    return json.loads(json.dumps(value), parse_int=integer)


def exactly(value: Any) -> str:
    """Text in which 1, 1.0, true and "1" differ."""
    return json.dumps(value, sort_keys=True)


def read(position: str, scalar: str) -> Any:
    """One case as this reader has it; ``None`` when it refuses."""
    try:
        return read_one(written(position, [scalar]), "x")["cases"][0]
    except DocumentError:
        return None


def accepted(position: str, scalars: Sequence[str]) -> dict[str, Any]:
    cases = {scalar: read(position, scalar) for scalar in scalars}
    return {scalar: case for scalar, case in cases.items() if case is not None}


def differing(cases: Mapping[str, Any], theirs: list[Any]) -> list[tuple[str, str, str]]:
    pairs = zip(cases.items(), theirs, strict=True)
    return [
        (scalar, exactly(ours), exactly(other)) for (scalar, ours), other in pairs if exactly(ours) != exactly(other)
    ]


POSITIONS = pytest.mark.parametrize("position", ["values", "keys"])
COUNTS = pytest.mark.parametrize("count", [400, pytest.param(5000, marks=pytest.mark.long)])


@COUNTS
@POSITIONS
def test_scalars_are_what_kubectl_reads(official: Programs, position: str, count: int) -> None:
    cases = accepted(position, words(count))
    assert len(cases) > count * 0.8
    theirs = official.kubectl(OBJECT + written(position, cases))["cases"]
    assert differing({scalar: sent(case) for scalar, case in cases.items()}, theirs) == []


@COUNTS
@POSITIONS
def test_scalars_are_what_helm_reads_as_values(official: Programs, position: str, count: int) -> None:
    cases = accepted(position, words(count))
    theirs = official.helm(written(position, cases))["cases"]
    assert differing({scalar: sent(case, _float) for scalar, case in cases.items()}, theirs) == []


@COUNTS
@POSITIONS
def test_output_of_kustomize_is_what_kubectl_reads_in_it(official: Programs, position: str, count: int) -> None:
    cases = accepted(position, words(count))
    if position == "keys":
        # Of those that YAML 1.2 takes for something else than text, kustomize makes no keys.
        others = ("!", "2024-", "2001-")
        texts = [case for case, value in accepted("values", list(cases)).items() if isinstance(value["v"], str)]
        cases = dict.fromkeys([case for case in texts if not case.startswith(others)] + ["y", "N", "yes", "on", "OFF"])
    output = official.kustomize(OBJECT + written(position, [case for case in cases if not case.startswith("!!bool")]))
    (document,) = read_documents(output, "x")
    theirs = official.kubectl(output)
    assert len(theirs["cases"]) > count * 0.2
    assert (
        differing({str(number): sent(case) for number, case in enumerate(document.value["cases"])}, theirs["cases"])
        == []
    )


@POSITIONS
def test_what_this_reader_refuses_fails_in_kubectl_too(official: Programs, position: str) -> None:
    scalars = [*FIXED.split(), *TAGGED, "1e39", "? a", "!!python/name:os.system x", "\tx"]
    refused = [scalar for scalar in scalars if read(position, scalar) is None]
    assert len(refused) > 15
    read_there = {scalar for scalar in refused if official.kubectl(OBJECT + written(position, [scalar])) is not None}
    assert read_there == STRICTER[position] & set(refused)


@pytest.mark.parametrize("text", STRUCTURES)
def test_structures_are_what_kubectl_reads(official: Programs, text: str) -> None:
    theirs = official.kubectl(f"{OBJECT}{text}\n")
    if theirs is None:
        with pytest.raises(DocumentError):
            read_documents(f"{OBJECT}{text}\n", "x", last_key_wins=True)
        return
    del theirs["metadata"]["labels"]
    (document,) = read_documents(f"{OBJECT}{text}\n", "x", last_key_wins=True)
    assert exactly(sent(document.value)) == exactly(theirs)


def named(name: str, more: str = "") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{more}"


CHART = {
    "crds/bom.yaml": "\ufeff---\n" + named("crd-bom"),
    "crds/comment.yaml": "# nothing",
    "crds/crlf.yaml": (named("crd-crlf") + "---\n" + named("crd-crlf-2") + "...\n").replace("\n", "\r\n"),
    "crds/empty.yaml": "",
    "crds/json.json": json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "crd-json"}}, indent=1),
    "crds/several.yaml": "# Copyright\n---\n" + named("crd-one") + "--- # and\n" + named("crd-two") + "---\n# end\n---",
    "templates/bom.yaml": "\ufeff" + named("bom"),
    "templates/comment.yaml": "# nothing\n---\n# and nothing\n---\nnull\n---\n",
    "templates/crlf.yaml": (named("crlf", "data:\n  a: |\n    x\n    y\n---\n") + named("crlf-2")).replace(
        "\n", "\r\n"
    ),
    "templates/empty.yaml": "",
    "templates/ended.yaml": named("ended") + "...\n",
    "templates/ended-early.yaml": named("ended-early") + "...\n" + named("lost") + "---\n" + named("ended-early-2"),
    "templates/glued.yaml": f"---{named('glued')}---{named('glued-2')}",
    "templates/json.json": json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}}),
    "templates/nothing.yaml": "{{/* nothing */}}\n",
    "templates/scalar.yaml": named(
        "scalar", "data:\n  a: |\n    ---\n    -----BEGIN X-----\n    ...\n  b: |+\n    c\n\n"
    ),
    "templates/separated.yaml": "--- # one\n"
    + named("one")
    + "--- # two\n"
    + named("two")
    + "---   \n"
    + named("three"),
    "templates/six.yaml": "------\n" + named("six"),
    "templates/twice.yaml": named("twice", "data: {a: b, a: c}\ndata: {a: d, a: e}\n"),
    "templates/unended.yaml": named("unended").rstrip("\n"),
}


RENDERED = """
crd-bom crd-crlf crd-crlf-2 crd-json crd-one crd-two
bom crlf crlf-2 ended ended-early ended-early-2 glued glued-2 json scalar one two three six twice unended
"""


def test_output_of_helm_is_read_as_helm_would_install_it(official: Programs) -> None:
    chart = write_chart(official.folder, "odd", "1.0.0", CHART)
    output = official.run("helm", "template", "release", chart, "--include-crds")
    assert output is not None
    documents, warnings = read_helm_output(output, "odd")
    names = [item.manifest["metadata"]["name"] for item in documents]
    assert sorted(names) == sorted(RENDERED.split())
    assert warnings == [
        "odd/templates/ended-early.yaml: what follows the line ... is left out, as by Helm; separate it by ---",
        "odd/templates/twice.yaml: the key data stands twice, and its last value is taken",
        "odd/templates/twice.yaml: the key data.a stands twice, and its last value is taken",
    ]
    # Helm reads what it installs with the same code.
    file = official.folder / "output.yaml"
    file.write_text(output, newline="")
    theirs = official.run(
        "kubectl", "label", "--local", "--filename", file, "read=yes", "--output", "jsonpath={@}{'\\n'}"
    )
    assert theirs is not None
    installed = [json.loads(line) for line in theirs.splitlines()]
    for item in installed:
        del item["metadata"]["labels"]
    assert [item.manifest for item in documents] == installed


@pytest.mark.parametrize(
    "text",
    [
        "Thank you\nfor installing\n",
        named("zero", "data:\n  a: |\n---\n    x\n"),
        named("x", "-----BEGIN X-----\n"),
        "- a\n",
    ],
)
def test_what_helm_itself_takes_for_no_object(official: Programs, text: str) -> None:
    chart = write_chart(official.folder, "broken", "1.0.0", {"templates/a.yaml": text})
    assert official.run("helm", "template", "release", chart) is None


def test_what_is_written_for_people_means_the_same_to_kubectl(official: Programs) -> None:
    texts = [*words(400), "a\n", "a\n\n", " a", "a ", "\ta", "---", "# a", "a: ", "\ufeffa", "a\r\nb"]
    object_ = {**read_one(OBJECT, "x"), "texts": texts, "keys": [{text: text} for text in texts]}
    theirs = official.kubectl(dump_yaml(object_))
    assert (theirs["texts"], theirs["keys"]) == (object_["texts"], object_["keys"])


B09 = ["706798e8", "0e1", "0123", "01234", "on", "y", "1e3", "null", "1.10", "2024-01-01", "22:22", "0x1F", "~", ""]


def test_b09_what_a_kustomization_written_as_json_says_stays_text(official: Programs) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}},
    }
    texts = {f"key-{number}": text for number, text in enumerate(B09)}
    output = official.kustomize(
        json.dumps(deployment),
        namespace="01234",
        images=[{"name": "web", "newTag": "706798e8"}],
        labels=[{"pairs": {"build": "0123"}}],
        commonAnnotations={"on": "on", **texts},
    )
    (document,) = read_documents(output, "x")
    for made in (document.value, official.kubectl(output)):
        assert made["metadata"]["namespace"] == "01234"
        assert made["metadata"]["labels"]["build"] == "0123"
        assert made["metadata"]["annotations"] == {"on": "on", **texts}
        assert made["spec"]["template"]["spec"]["containers"][0]["image"] == "web:706798e8"


def test_b09_values_written_as_json_stay_text(official: Programs) -> None:
    values = {"texts": B09, "keys": [{text: text} for text in B09]}
    assert official.helm(json.dumps(values)) == values
