"""The YAML reader against what Go's reader says; the expected values come from sigs.k8s.io/yaml 1.6 itself."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import DocumentError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.yaml_documents import (
    dump_yaml,
    read_documents,
    read_one,
)

SCALARS: list[tuple[str, Any]] = [
    *((word, True) for word in ("y", "Y", "yes", "Yes", "on", "ON", "true", "TRUE")),
    *((word, False) for word in ("n", "N", "no", "No", "off", "Off", "false", "FALSE")),
    *((word, None) for word in ("", "~", "null", "Null", "NULL")),
    *((word, word) for word in ("yEs", "tRue", "nULL", "=", "<<", "+", "e3", ".e3", "0x", "1e", "_1", "0x1p4", ".5_")),
    *((word, word) for word in ("22:22", "1:30", "2024-01-01", "2024-01-01T00:00:00Z", "1.2.3", "1e400", "12e4567")),
    ("0777", 511),
    ("0o777", 511),
    ("0O7", 7),
    ("0800", 800),
    ("0x1F", 31),
    ("0b11", 3),
    ("-0b11", -3),
    ("-0o7", -7),
    ("+5", 5),
    ("-0", 0),
    ("00", 0),
    ("1_000", 1000),
    ("1_000.5", 1000.5),
    (".37_7", 0.377),
    ("1e3", 1000),
    ("1e+06", 1000000),
    ("706798e8", 70679800000000),
    ("1.0", 1),
    ("5.", 5),
    (".5", 0.5),
    ("-.5", -0.5),
    ("1.5e-3", 0.0015),
    ("9223372036854775808", 9223372036854775808),
    ("12345678901234567890", 12345678901234567890),
    ("123456789012345678901234567890", 1.2345678901234568e29),
    ("9" * 5000, "9" * 5000),
    ("1e17", 100000000000000000),
    ("4611686018427387904.0", 4611686018427388000),
    ("9223372036854775807.0", 9223372036854775808.0),
    ("1e20", 1e20),
    ("0b-11", -3),
    ("-0.0", 0),
    ("!!str 5", "5"),
    ("! yes", "yes"),
    ("'yes'", "yes"),
    ('!!int "5"', 5),
    ('!!float "1.5"', 1.5),
    ("!!bool yes", True),
    ("!!null ''", None),
    ("!!timestamp 2024-01-01", "2024-01-01"),
    ("!!binary aGVsbG8=", "hello"),
]


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_scalars_mean_what_go_says(text: str, value: Any) -> None:
    read = read_one(f"a: {text}", "x")["a"]
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1", "1"),
        ("true", "true"),
        ("y", "true"),
        ("1.5", "1.5"),
        ("1.10", "1.1"),
        ("1e3", "1000"),
        ("1e6", "1e+06"),
        ("-3631526.3585", "-3.6315262e+06"),
        ("969.793961465", "969.79395"),
        ("01", "1"),
        ("=", "="),
        ("2024-01-01", "2024-01-01"),
        ("'<<'", "<<"),
        (".Inf", ".inf"),
        ("-.INF", "-.inf"),
        (".NaN", ".nan"),
        ("3.4028235e38", "3.4028235e+38"),
        ("!!float 1000000", "1e+06"),
        ("9223372036854775807", "9223372036854775807"),
    ],
)
def test_keys_become_text_as_in_go(text: str, key: str) -> None:
    assert read_one(f"{text}: x", "x") == {key: "x"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{1: a, true: b}", {"1": "a", "true": "b"}),
        ("<<: {a: 1}\nb: 2", {"a": 1, "b": 2}),
        ("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}", {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}}),
        ("a: &x {k: 1}\nb: {l: 3, <<: *x}", {"a": {"k": 1}, "b": {"l": 3, "k": 1}}),
        ("a: {!!merge <<: {k: 1}, '<<': 2}", {"a": {"k": 1, "<<": 2}}),
        ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
        ("a: &k key\n*k : 1", {"a": "key", "key": 1}),
        ("a: &k 1e6\n*k : 1", {"a": 1000000, "1e+06": 1}),
        ("&k 1e6: 1\nb: *k", {"1e+06": 1, "b": 1000000}),
        ("a: |\r\n  x\r\n  y\r\n", {"a": "x\ny\n"}),
        ("\ufeffa: 1", {"a": 1}),
        ("text only", "text only"),
        ("[1, 2]", [1, 2]),
        ('{"a": 1.0, "b": "\\ud83d\\ude00", "c": 1E2, "d": 12345678901234567890}',
         {"a": 1, "b": "😀", "c": 100, "d": 12345678901234567890}),
        ("{a: 1}", {"a": 1}),
    ],
)  # fmt: skip
def test_structures(text: str, value: Any) -> None:
    assert read_one(text, "x") == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: {c: 1,\n c: 2}", "x:3: the key c stands twice in one mapping"),
        ("a: 1\n'a': 2", "x:2: the key a stands twice in one mapping"),
        ("y: 1\nyes: 2", "x:2: the key true stands twice in one mapping"),
        ("1: a\n'1': b", "x:2: the key 1 stands twice in one mapping"),
        ('{"a": 1,\n "a": 2}', "x:2: the key a stands twice in one mapping"),
        ("null: a", "x:1: a key is null. Quote it if text is meant."),
        ("? [a]\n: b", "x:1: a key is a mapping or a list. Quote text that starts with { or [."),
        ("a: {{ b }}", "x:1: a key is a mapping or a list. Quote text that starts with { or [."),
        ("1e50: a", "x:1: a key is a number too large to be kept. Quote it."),
        ("9223372036854775808: a", "x:1: a key is a number too large to be kept. Quote it."),
        ("a: {k: 3, <<: {k: 1}}", "x:1: the key k stands before a << that brings it too. Put the << first."),
        ("a:\n  <<: {k: 3}\n  <<: {k: 1}", "x:3: the key << stands twice in one mapping"),
        ("a: &x [{k: 1}]\nb: {<<: *x}", "x:2: << takes a mapping or a list of mappings"),
        ("a: 1\n...\nb: 2", "x:3: not valid YAML: did not find expected <document start>"),
        ("<<: 5", "x:1: << takes a mapping or a list of mappings"),
        ("a: .inf", "x:1: .inf is no number in JSON. Quote it if text is meant."),
        ("a: .NaN", "x:1: .NaN is no number in JSON. Quote it if text is meant."),
        ("a:\n- !vault b", "x:2: this tag has no meaning here. Quote the value, or drop the tag."),
        ("a: !!python/name:os.system x", "x:1: this tag has no meaning here. Quote the value, or drop the tag."),
        ("a: !!set {x}", "x:1: this tag has no meaning here. Quote the value, or drop the tag."),
        ("a: !!int x", "x:1: the value does not fit its tag !!int"),
        ("a: !!int 1.0", "x:1: the value does not fit its tag !!int"),
        ("a: !!float yes", "x:1: the value does not fit its tag !!float"),
        ("a: !!bool 1", "x:1: the value does not fit its tag !!bool"),
        ("a: !!timestamp today", "x:1: the value does not fit its tag !!timestamp"),
        ("a: !!binary '!!!'", "x:1: !!binary is not the base64 form of a text"),
        ("a: !!binary /w==", "x:1: !!binary is not the base64 form of a text"),
        ("a: *b", "x:1: this alias has no anchor before it. Quote the value if it is none."),
        ("a: &a [*a]", "x:1: this alias has no anchor before it. Quote the value if it is none."),
        ("a:\n\tb: 2", "x:2: not valid YAML: found character that cannot start any token while scanning for the next "
         "token, which starts in line 2. Indent with blanks, not with a tab."),
        ("a: @x", "x:1: not valid YAML: found character that cannot start any token while scanning for the next token, "
         "which starts in line 1. Quote text that starts with @."),
        ("a: b: c", "x:1: not valid YAML: mapping values are not allowed in this context. Quote text that contains a "
         "colon, or check the indentation."),
        ("a: 1\nb: \x00", "x:2: a control character is not allowed in YAML"),
        ("é: 1\nb: \x07", "x:2: a control character is not allowed in YAML"),
        (b"a: 1\nb: \xff", "x:2: not UTF-8 text"),
        ("a: \ud800", "x: not UTF-8 text"),
        ('{"a": 1E400}', "x: the number 1E400 is too large"),
        ('{"a": NaN}', "x: NaN is no number in JSON"),
        ('{"a": "\\ud800"}', "x: a \\u escape is half a character (a lone surrogate)"),
        ("# nothing", "x: nothing in it"),
        ("a: 1\n---\nb: 1", "x:3: a second document starts here, only one is expected. Remove the ---."),
    ],
)  # fmt: skip
def test_errors_say_where_and_what(text: str | bytes, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_one(text, "x")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "value", "repeated"),
    [
        ("a: 1\nb: 2", {"a": 1, "b": 2}, ()),
        ("a: 1\na: 2\na: 3", {"a": 3}, ("a",)),
        ("a: {k: 1}\na: {l: 2}", {"a": {"l": 2}}, ("a",)),
        ("a: {k: 1, k: 2}\na: {l: 2}", {"a": {"l": 2}}, ("a",)),
        ("y: 1\nyes: 2", {"true": 2}, ("true",)),
        ('{"a": [{"b/c": 1, "b/c": 2}, [{"d": 1, "d": 2}]]}', {"a": [{"b/c": 2}, [{"d": 2}]]},
         ("a[0].b/c", "a[1][0].d")),
        ("a: {k: 3, <<: {k: 1}}", {"a": {"k": 1}}, ("a.k",)),
        ("a: {<<: {k: 1}, k: 3}", {"a": {"k": 3}}, ()),
        ("a: {<<: {k: 1, l: 1}, <<: {k: 2}}", {"a": {"k": 2, "l": 1}}, ("a.<<",)),
        (f"{'k' * 100}: 1\n{'k' * 100}: 2", {"k" * 100: 2}, (f"{'k' * 60}…",)),
        ("- a: 1\n  a: 2", [{"a": 2}], ("[0].a",)),
    ],
)  # fmt: skip
def test_the_last_of_equal_keys_counts_where_that_is_wanted(text: str, value: Any, repeated: tuple[str, ...]) -> None:
    (document,) = read_documents(text, "x", last_key_wins=True)
    assert (document.value, document.repeated) == (value, repeated)


def test_repeated_keys_are_those_of_their_document() -> None:
    documents = read_documents("a: 1\na: 2\n---\nb: 1\n---\nc: 1\nc: 2", "x", last_key_wins=True)
    assert [document.repeated for document in documents] == [("a",), (), ("c",)]


B05 = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: d
  namespace: t
  labels:
    x: one
    x: one
data:
  k: a
  k: b
"""


def test_b05_a_key_that_stands_twice_is_an_error_with_its_place() -> None:
    with pytest.raises(DocumentError) as caught:
        read_documents(f"a: 1\n---\n{B05}", "web/app.yaml")
    assert str(caught.value) == "web/app.yaml:10: the key x stands twice in one mapping"


def test_b05_a_key_that_stands_twice_in_what_helm_made_has_its_last_value() -> None:
    (document,) = read_documents(B05, "x", last_key_wins=True)
    assert (document.value["metadata"]["labels"], document.value["data"]) == ({"x": "one"}, {"k": "b"})
    assert document.repeated == ("metadata.labels.x", "data.k")


@pytest.mark.parametrize(
    ("written", "mode"), [("0644", 420), ("0o644", 420), ("0800", 800), ('"0644"', "0644"), ("'0o644'", "0o644")]
)
def test_b14_file_modes_are_what_kubectl_takes_them_for(written: str, mode: int | str) -> None:
    assert read_one(f"defaultMode: {written}", "x") == {"defaultMode": mode}


def test_b16_only_a_line_of_dashes_outside_of_text_ends_a_document() -> None:
    stream = (
        "kind: ConfigMap\ndata:\n  pem: |\n    ---\n    -----BEGIN X-----\n    # ---\n    -----END X-----\n"
        '--- # second\nkind: ConfigMap\ndata: {a: "a --- b"}\n...\n---  \nkind: ConfigMap\ndata: {c: third}\n'
    )
    documents = read_documents(stream, "x")
    assert [(document.index, document.value["data"]) for document in documents] == [
        (1, {"pem": "---\n-----BEGIN X-----\n# ---\n-----END X-----\n"}),
        (2, {"a": "a --- b"}),
        (3, {"c": "third"}),
    ]


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("---\n# Source: x\n---\n\n--- null\n---\nkind: ConfigMap\n---\n", [(4, {"kind": "ConfigMap"})]),
        ("# only\n# comments\n", []),
        ("\ufeffkind: ConfigMap\n", [(1, {"kind": "ConfigMap"})]),
        ("{}", [(1, {})]),
        ("text", [(1, "text")]),
    ],
)
def test_b17_documents_that_hold_nothing_are_left_out_and_no_others(content: str, values: list[Any]) -> None:
    assert [(document.index, document.value) for document in read_documents(content.encode(), "x")] == values


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("defaultMode: 0755", {"defaultMode": 493}),
        ("value: 1e+06", {"value": 1000000}),
        ("enum:\n- =\n- '!='\n- =~", {"enum": ["=", "!=", "=~"]}),
        ("priority: 9223372036854775000", {"priority": 9223372036854775000}),
    ],
)
def test_trap_10_odd_scalars_of_real_charts(written: str, value: Any) -> None:
    (read,) = [document.value for document in read_documents(written, "x")]
    assert (read, type(next(iter(read.values())))) == (value, type(next(iter(value.values()))))


def test_too_deep_nesting_is_refused() -> None:
    with pytest.raises(DocumentError, match="nest"):
        read_one("[" * 5000 + "]" * 5000, "x")
    with pytest.raises(DocumentError, match="nest"):
        read_one("".join(" " * depth + "a:\n" for depth in range(2000)), "x")


def test_alias_bomb_is_refused() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(DocumentError, match="expand to too many values"):
        read_one("\n".join(levels), "x")


def test_aliases_are_counted_over_all_documents() -> None:
    document = f"a: &a [{', '.join('x' * 100)}]\nb: [{', '.join(['*a'] * 100)}]\n"
    assert len(read_documents("---\n".join([document] * 30), "x")) == 30
    with pytest.raises(DocumentError, match="expand to too many values"):
        read_documents("---\n".join([document] * 50), "x")


@pytest.mark.parametrize("anchor", ["'TEXT'", "{TEXT: 1}"])
def test_long_texts_count_as_many_values(anchor: str) -> None:
    text = f"a: &a {anchor.replace('TEXT', 'x' * 1000)}\nb: [{', '.join(['*a'] * 10_000)}]"
    with pytest.raises(DocumentError, match="expand to too many values"):
        read_one(text, "x")


def test_one_document_is_all_that_is_read_where_one_is_expected() -> None:
    with pytest.raises(DocumentError, match="a second document starts here"):
        read_one("a: 1\n---\nb: 1\n---\n{ not YAML", "x")


def test_a_long_key_is_not_repeated_whole() -> None:
    key = "k" * 100
    with pytest.raises(DocumentError) as caught:
        read_one(f"{key}: 1\n{key}: 2", "x")
    assert str(caught.value) == f"x:2: the key {'k' * 60}… stands twice in one mapping"


def test_aliases_share_nothing() -> None:
    value = read_one("a: &x {k: [1]}\nb: *x\nc: {<<: *x}", "x")
    value["b"]["k"].append(2)
    assert value == {"a": {"k": [1]}, "b": {"k": [1, 2]}, "c": {"k": [1]}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# only\n# comments\n", []),
        ("---\n# Source: x\n---\n\n--- null\n---\na: 1\n---\n", [(4, 7, {"a": 1})]),
        ("a: 1\n...\n---   \nb: 2\n", [(1, 1, {"a": 1}), (2, 4, {"b": 2})]),
        ("a: |\n  ---\n  -----BEGIN X-----\n  # ---\n--- # second\nb: a --- b\n...\n--- \nc: 3",
         [(1, 1, {"a": "---\n-----BEGIN X-----\n# ---\n"}), (2, 6, {"b": "a --- b"}), (3, 9, {"c": 3})]),
        ("\ufeffa: 1\n---\n\ufeffb: 2\n", [(1, 1, {"a": 1}), (2, 3, {"b": 2})]),
        ("a: 1\r\n\ufeff---\r\nb: 2\r\n", [(1, 1, {"a": 1}), (2, 3, {"b": 2})]),
        ("{}\n---\ntext", [(1, 1, {}), (2, 3, "text")]),
        ("\n{\"a\":\n 1}\n", [(1, 2, {"a": 1})]),
        ("--- {a: 1}\n--- [b]\n", [(1, 1, {"a": 1}), (2, 2, ["b"])]),
        ("&x a\n---\nb", [(1, 1, "a"), (2, 3, "b")]),
    ],
)  # fmt: skip
def test_documents_of_a_stream(text: str, expected: list[tuple[int, int, Any]]) -> None:
    documents = read_documents(text.encode(), "x")
    assert [(document.index, document.line, document.value) for document in documents] == expected


def test_anchors_end_with_their_document() -> None:
    with pytest.raises(DocumentError, match="x:3: this alias has no anchor"):
        read_documents("a: &x 1\n---\nb: *x", "x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": "y", "a": "1e3"}, "b: 'y'\na: '1e3'\n"),
        ({"a": ["22:22", "2024-01-01", "0o17", "706798e8", "=", "<<", ""]},
         "a:\n- '22:22'\n- '2024-01-01'\n- '0o17'\n- '706798e8'\n- '='\n- '<<'\n- ''\n"),
        ({"a": "x\n y\n"}, "a: |\n  x\n   y\n"),
        ({"a": "x\ny"}, "a: |-\n  x\n  y\n"),
        ({"a": "x\r\ny"}, 'a: "x\\r\\ny"\n'),
        ({"a": "word " * 40 + "end"}, "a: " + "word " * 40 + "end\n"),
        ({"a": {}, "b": [], "c": None, "d": True}, "a: {}\nb: []\nc: null\nd: true\n"),
    ],
)  # fmt: skip
def test_dump_for_people(value: Any, text: str) -> None:
    assert dump_yaml(value) == text


def test_dump_repeats_shared_values() -> None:
    shared = {"k": 1}
    assert dump_yaml({"a": shared, "b": shared}) == "a:\n  k: 1\nb:\n  k: 1\n"


def test_what_is_dumped_is_read_back_the_same() -> None:
    pieces = [
        "a",
        "y",
        "no",
        "1e3",
        "0o7",
        ":",
        " ",
        "\n",
        "\t",
        "#",
        "- ",
        "---",
        "'",
        '"',
        "{",
        "\r",
        "\u2028",
        "\x85",
    ]
    pieces += ["é", "\ufeff", "😀", "|", ">", "%", "@", "=", "<<", "~", "1", "\x00", "*a", "&b", "!c", "22:22", "."]
    chance = random.Random(5)

    def value(depth: int = 0) -> Any:
        match chance.randint(0, 9 if depth < 3 else 5):
            case 9:
                return [value(depth + 1) for _ in range(chance.randint(0, 3))]
            case 8:
                return {value(9): value(depth + 1) for _ in range(chance.randint(0, 3))}
            case 7:
                return chance.choice([None, True, False, 1, 1.5, 2**60, 1e30, -0.25])
            case _:
                return "".join(chance.choice(pieces) for _ in range(chance.randint(0, 5)))

    for _ in range(3000):
        whole = {"a": value()}
        assert read_one(dump_yaml(whole), "x") == whole
