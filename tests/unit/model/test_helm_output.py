"""Documents of ``helm template``, and the templates they are from; the texts are from helm 4.3.1."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import DocumentError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.helm_output import read_helm_output


def sources(text: str) -> list[tuple[str, str]]:
    return [(item.manifest["kind"], item.source) for item in read_helm_output(text, "web-1.2.3")]


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
    assert read_helm_output(text, "web-1.2.3") == []


def test_what_names_no_template_is_from_the_chart() -> None:
    assert sources("kind: A\n") == [("A", "web-1.2.3")]


def test_yaml_means_what_it_means_to_kubernetes() -> None:
    (item,) = read_helm_output("---\n# Source: web/templates/a.yaml\nkind: A\nmode: 0755\nyes: 1e3\n", "web-1.2.3")
    assert item.manifest == {"kind": "A", "mode": 493, "true": 1000}


def test_a_fault_names_the_template_and_the_rendered_line() -> None:
    with pytest.raises(DocumentError) as caught:
        read_helm_output("---\n# Source: web/templates/a.yaml\nkind: A\nkind: B\n", "web-1.2.3")
    assert caught.value.subject == "rendered web/templates/a.yaml:2"
