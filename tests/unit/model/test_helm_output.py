"""Documents of ``helm template``, and the templates they are from; the texts are from helm 4.3.1."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import DocumentError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.helm_output import read_helm_output


def sources(text: str) -> list[tuple[str, str]]:
    return [(item.manifest["kind"], item.source) for item in read_helm_output(text, "web-1.2.3")[0]]


def test_each_document_has_its_template() -> None:
    text = (
        "---\n# Source: web/charts/db/templates/a b.yaml\nkind: A\n"
        "---\n# Source: web/templates/two.yaml\n# a comment\n\nkind: B\n"
        "---\n# Source: web/templates/two.yaml\nkind: C\n"
        '---\n# Source: web/templates/json.json\n{"kind": "D"}\n\n'
    )
    assert sources(text) == [
        ("A", "web/charts/db/templates/a b.yaml"),
        ("B", "web/templates/two.yaml, document 1"),
        ("C", "web/templates/two.yaml, document 2"),
        ("D", "web/templates/json.json"),
    ]


def test_a_comment_in_a_document_of_its_own_and_several_documents_after_it() -> None:
    text = (
        "---\n# Source: web/crds/one.yaml\n# only a comment\n---\nkind: A\n---\nkind: B\n---\n"
        "---\n# Source: web/crds/two.yaml\n---\n# Source: https://example.com/two.yaml\nkind: C\n"
        "---\n# Source: web/templates/a.yaml\nkind: D\ntext: |\n  ---\n  # Source: web/templates/b.yaml\n"
    )
    assert sources(text) == [
        ("A", "web/crds/one.yaml, document 1"),
        ("B", "web/crds/one.yaml, document 2"),
        ("C", "web/crds/two.yaml"),
        ("D", "web/templates/a.yaml"),
    ]


@pytest.mark.parametrize("text", ["", "\n", "---\n# Source: web/templates/a.yaml\n# nothing\n"])
def test_a_chart_that_renders_nothing(text: str) -> None:
    assert read_helm_output(text, "web-1.2.3") == ([], [])


def test_what_names_no_template_is_from_the_chart() -> None:
    assert sources("kind: A\n") == [("A", "web-1.2.3")]


def test_yaml_means_what_it_means_to_kubernetes() -> None:
    text = "---\n# Source: web/templates/a.yaml\nkind: A\nmode: 0755\nyes: 1e3\n"
    ((item,), _) = read_helm_output(text, "web-1.2.3")
    assert item.manifest == {"kind": "A", "mode": 493, "true": 1000}


def test_a_fault_names_the_template_and_the_rendered_line() -> None:
    with pytest.raises(DocumentError) as caught:
        read_helm_output("---\n# Source: web/templates/a.yaml\nkind: A\na: .inf\n", "web-1.2.3")
    assert caught.value.subject == "rendered web/templates/a.yaml:2"


def test_b05_of_a_key_that_stands_twice_the_last_value_counts_with_a_warning() -> None:
    text = (
        "---\n# Source: web/templates/a.yaml\nkind: A\nmetadata:\n  labels:\n    x: one\n    x: one\n"
        "data:\n  k: sesame\n  k: open\n"
        "---\n# Source: web/templates/b.yaml\nkind: B\n---\n# Source: web/templates/b.yaml\nkind: C\nkind: D\n"
        '---\n# Source: web/templates/c.json\n{"kind": "E", "list": [{"y": 1, "y": 2}]}\n'
    )
    documents, warnings = read_helm_output(text, "web-1.2.3")
    assert [item.manifest for item in documents] == [
        {"kind": "A", "metadata": {"labels": {"x": "one"}}, "data": {"k": "open"}},
        {"kind": "B"},
        {"kind": "D"},
        {"kind": "E", "list": [{"y": 2}]},
    ]
    assert warnings == [
        "web/templates/a.yaml: the key metadata.labels.x stands twice, and its last value is taken",
        "web/templates/a.yaml: the key data.k stands twice, and its last value is taken",
        "web/templates/b.yaml, document 2: the key kind stands twice, and its last value is taken",
        "web/templates/c.json: the key list[0].y stands twice, and its last value is taken",
    ]


def test_very_many_keys_that_stand_twice_are_counted() -> None:
    text = "---\n# Source: web/templates/a.yaml\n" + "".join(f"k{number}: 1\nk{number}: 2\n" for number in range(50))
    _, warnings = read_helm_output(text, "web-1.2.3")
    assert len(warnings) == 21
    assert warnings[19:] == [
        "web/templates/a.yaml: the key k19 stands twice, and its last value is taken",
        "web-1.2.3: 30 more warnings of this kind",
    ]


@pytest.mark.parametrize(
    ("text", "kinds", "warned"),
    [
        ("---\n# Source: w/crds/a.yaml\nkind: A\n---kind: B\n--- # c\nkind: C\n---#d\nkind: D", "ABCD", False),
        ("---\n# Source: w/crds/a.yaml\n---kind: A\n---\tkind: B".replace("\tk", "\nk"), "AB", False),
        ("---kind: A\n---kind: B", "AB", False),
        ("---\n# Source: w/crds/a.yaml\n---\r\nkind: A\r\n---\r\nkind: B\r\n...\r\n\n", "AB", False),
        ("---\n# Source: w/templates/a.yaml\nkind: A\n...\n\n# end\n...\n", "A", False),
        ("---\n# Source: w/templates/a.yaml\nkind: A\n... # end\nkind: B\n---\nkind: C\n", "AC", True),
        ("---\n# Source: w/templates/a.yaml\nkind: A\na: |\n  ...\n  ---\n  ---x\n  b\nb: ...\n", "A", False),
    ],
)
def test_b16_documents_end_where_helm_ends_them(text: str, kinds: str, warned: bool) -> None:
    documents, warnings = read_helm_output(text, "w")
    assert "".join(item.manifest["kind"] for item in documents) == kinds
    assert (
        warnings
        == ["w/templates/a.yaml: what follows the line ... is left out, as by Helm; separate it by ---"] * warned
    )


def test_b16_text_within_an_object_stays_as_it_is() -> None:
    block = "---\n-----BEGIN X-----\n...\n# ---\n"
    indented = "".join(f"    {line}\n" for line in block.splitlines())
    ((item,), _) = read_helm_output(f"---\n# Source: w/templates/a.yaml\ndata:\n  a: |\n{indented}", "w")
    assert item.manifest["data"]["a"] == block


def test_b17_a_text_that_is_no_object_is_there_to_be_complained_about() -> None:
    text = "---\n# Source: w/crds/a.yaml\nThank you\n---\n{}\n---\nnull\n---\n# nothing\n"
    documents, _ = read_helm_output(text, "w")
    assert [(item.manifest, item.source) for item in documents] == [
        ("Thank you", "w/crds/a.yaml, document 1"),
        ({}, "w/crds/a.yaml, document 2"),
    ]


@pytest.mark.parametrize(
    "comments",
    ["# Copyright\n---\n", "---\n# Copyright\n---\n", "#\n\n---\n---\n\n--- # and\n", "\r\n# x\r\n---\r\n"],
)
def test_trap_11_comments_before_the_first_object_do_not_hide_its_template(comments: str) -> None:
    text = f"---\n# Source: w/crds/a.yaml\n{comments}kind: A\n---\n# Source: w/templates/b.yaml\n# only a comment\n"
    assert sources(text) == [("A", "w/crds/a.yaml")]
