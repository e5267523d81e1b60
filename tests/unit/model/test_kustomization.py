"""Which paths a kustomization names, and which of them lead elsewhere."""

from __future__ import annotations

import json

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.kustomization import (
    Form,
    Reference,
    references_of_kustomization,
    references_of_plugins,
)
from tests.unit.ending import that_ends

FILE, FOLDER, EITHER, CHART, PLUGIN = Form.FILE, Form.FOLDER, Form.FILE_OR_FOLDER, Form.CHART, Form.PLUGIN
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def found(references: list[Reference]) -> list[tuple[str, str, Form]]:
    return [(reference.field, reference.path, reference.form) for reference in references]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("namespace: x\nimages: [{name: a, newTag: b}]\nlabels: [{pairs: {path: x.yaml}}]", []),
        ("resources:\nnamePrefix: a-", []),
        ("resources: [a.yaml, ../b]\nbases: [c]",
         [("resources[0]", "a.yaml", EITHER), ("resources[1]", "../b", EITHER), ("bases[0]", "c", EITHER)]),
        ("ReSources: [a.yaml]", [("resources[0]", "a.yaml", EITHER)]),
        ("re\u017fources: [a.yaml]", [("resources[0]", "a.yaml", EITHER)]),
        ("buildMetadata: &x [a.yaml]\nresources: *x", [("resources[0]", "a.yaml", EITHER)]),
        ("resources: [!!binary Li4vYg==]", [("resources[0]", "../b", EITHER)]),
        ("components: [../c]", [("components[0]", "../c", FOLDER)]),
        ("crds: [c.json]\nconfigurations: [d.yaml]",
         [("configurations[0]", "d.yaml", FILE), ("crds[0]", "c.json", FILE)]),
        ("openapi: {path: s.json}", [("openapi.path", "s.json", FILE)]),
        ("openapi: {version: v1.20.4}", []),
        ("patches: [{path: p.yaml, target: {kind: X}}, {patch: 'a: 1'}, {Path: q.yaml}]",
         [("patches[0].path", "p.yaml", FILE), ("patches[2].path", "q.yaml", FILE)]),
        ("patchesJson6902: [{path: p.yaml}]", [("patchesJson6902[0].path", "p.yaml", FILE)]),
        ("patchesStrategicMerge: [p.yaml, '{kind: X}', \"kind: X\\na: 1\"]",
         [("patchesStrategicMerge[0]", "p.yaml", FILE)]),
        ("replacements: [{path: r.yaml}, {source: {kind: X}}]", [("replacements[0].path", "r.yaml", FILE)]),
        ("configMapGenerator: [{files: [a.txt, k=b/c.txt], envs: [d.env], env: e.env, literals: [f=g.txt]}]",
         [("configMapGenerator[0].files[0]", "a.txt", FILE), ("configMapGenerator[0].files[1]", "b/c.txt", FILE),
          ("configMapGenerator[0].envs[0]", "d.env", FILE), ("configMapGenerator[0].env", "e.env", FILE)]),
        ("secretGenerator: [{FILES: [a.txt]}]", [("secretGenerator[0].files[0]", "a.txt", FILE)]),
        ("transformers: [t.yaml]\ngenerators: [g]\nvalidators: [v]",
         [("generators[0]", "g", EITHER), ("transformers[0]", "t.yaml", EITHER), ("validators[0]", "v", EITHER)]),
        ("transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: p.yaml}']",
         [("transformers[0].path", "p.yaml", FILE)]),
        ("transformers: ['{apiVersion: builtin, kind: LabelTransformer, metadata: {name: a}}']", []),
        ("generators: ['{apiVersion: x/v1, kind: Mine, metadata: {name: a}}']", [("generators[0]", "Mine", PLUGIN)]),
        ("helmCharts: [{name: c}]", [("helmCharts[0]", "charts/c", CHART)]),
        ("helmGlobals: {chartHome: h}\nhelmCharts: [{name: c, version: '1', repo: x, valuesFile: v.yaml,"
         " additionalValuesFiles: [w.yaml]}]",
         [("helmCharts[0]", "h/c-1/c", CHART), ("helmCharts[0].valuesFile", "v.yaml", FILE),
          ("helmCharts[0].additionalValuesFiles[0]", "w.yaml", FILE)]),
    ],
)  # fmt: skip
def test_paths_of_a_kustomization(text: str, expected: list[tuple[str, str, Form]]) -> None:
    assert found(references_of_kustomization(text.encode(), "k.yaml")) == expected


def test_a_kustomization_of_plugins_may_list_and_nothing_else() -> None:
    content = b"kind: Kustomization\nresources: [a.yaml]\npatches: [{path: p.yaml}]\nnamePrefix: x"
    references = references_of_kustomization(content, "k.yaml", configures=True)
    assert found(references) == [
        ("patches", "", PLUGIN),
        ("namePrefix", "", PLUGIN),
        ("resources[0]", "a.yaml", EITHER),
        ("patches[0].path", "p.yaml", FILE),
    ]
    assert [reference.configures for reference in references] == [False, False, True, False]


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("SecretGenerator", "files: [a=b]", [("SecretGenerator.files[0]", "b", FILE)]),
        ("ConfigMapGenerator", "Envs: [b]", [("ConfigMapGenerator.envs[0]", "b", FILE)]),
        ("PatchJson6902Transformer", "path: b", [("PatchJson6902Transformer.path", "b", FILE)]),
        ("PatchStrategicMergeTransformer", "paths: [b, 'kind: X']",
         [("PatchStrategicMergeTransformer.paths[0]", "b", FILE)]),
        ("ReplacementTransformer", "replacements: [{path: b}]",
         [("ReplacementTransformer.replacements[0].path", "b", FILE)]),
        ("ValueAddTransformer", "targetFilePath: b", [("ValueAddTransformer.targetFilePath", "b", FILE)]),
        ("HelmChartInflationGenerator", "name: b\nchartHome: ../h", [("HelmChartInflationGenerator", "../h/b", CHART)]),
        ("PrefixTransformer", "prefix: a", []),
        ("Unheard", "path: b", [("Unheard", "Unheard", PLUGIN)]),
    ],
)  # fmt: skip
def test_paths_of_built_in_plugins(kind: str, fields: str, expected: list[tuple[str, str, Form]]) -> None:
    content = f"apiVersion: builtin\nkind: {kind}\nmetadata: {{name: a}}\n{fields}\n"
    assert found(references_of_plugins(content.encode(), "t.yaml")) == expected


@pytest.mark.parametrize("version", ["v1", "example.com/builtin", "Builtin", "/builtin", "builtin/", "''"])
def test_whatever_else_configures_is_a_plugin(version: str) -> None:
    content = f"kind: LabelTransformer\napiVersion: {version}\n---\nkind: List\nitems: []".encode()
    assert [reference.form for reference in references_of_plugins(content, "t.yaml")] == [PLUGIN, PLUGIN]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resourcess: []", "k.yaml: resourcess: unknown field. Did you mean resources."),
        ("zzz: []", "k.yaml: zzz: unknown field"),
        ("resources: []\nResources: []", "k.yaml: resources: stands there twice, in capitals and not. Remove one."),
        ("resources: a", "k.yaml: resources: expected a list"),
        ("resources: [1]", "k.yaml: resources[0]: expected text. Quote it if it looks like a number."),
        ("resources: ['']", "k.yaml: resources[0]: expected text. Quote it if it looks like a number."),
        ("patches: [a]", "k.yaml: patches[0]: expected a mapping of fields"),
        ("patches: [{path: [a]}]", "k.yaml: patches[0].path: expected text"),
        ("secretGenerator: [{files: [a], Files: [b]}]",
         "k.yaml: secretGenerator[0]: a field stands there twice, in capitals and not. Remove one."),
        ("[a]", "k.yaml: is no kustomization: expected a mapping of fields"),
        ("", "k.yaml: nothing in it"),
        ("a: b: c", "k.yaml:1: not valid YAML: mapping values are not allowed in this context. "
         "Quote text that contains a colon, or check the indentation."),
        ("resources: [a]\n---\nresources: [b]",
         "k.yaml:3: a second document starts here, only one is expected. Remove the ---."),
        ("resources: [a]\nresources: [b]", "k.yaml:2: the key resources stands twice in one mapping"),
        ("helmGlobals: {configHome: h}\nhelmCharts: [{name: a}]",
         "k.yaml: helmCharts[0]: configHome is not supported. Leave it out."),
        ("helmCharts: [{name: ../../a}]",
         "k.yaml: helmCharts[0].name: is no name. Put a folder into helmGlobals.chartHome."),
        ("helmCharts: [{name: a, releaseName: --post-renderer=x}]",
         "k.yaml: helmCharts[0].releaseName: is no name. Put a folder into helmGlobals.chartHome."),
        ("helmChartInflationGenerator: [{chartName: a}]",
         "k.yaml: helmChartInflationGenerator: is not supported. Write it as helmCharts."),
    ],
)  # fmt: skip
def test_errors(text: str, message: str) -> None:
    with pytest.raises(AddonError) as caught:
        references_of_kustomization(text.encode(), "k.yaml")
    assert str(caught.value) == message


def test_what_is_no_object_configures_nothing() -> None:
    with pytest.raises(AddonError, match=r"^t.yaml: configures no generator or transformer"):
        references_of_plugins(b"- a", "t.yaml")


@pytest.mark.parametrize(
    ("path", "as_file", "as_folder"),
    [
        ("https://example.com/a.yaml", True, True),
        ("HTTPS://example.com/a.yaml", True, True),
        ("http:/a", True, False),
        ("https://github.com/o/r//p?ref=v1", True, True),
        ("git::https://example.com/o/r", False, True),
        ("GIT::ssh://git@example.com/o/r", False, True),
        ("ssh://git@example.com/o/r.git", False, True),
        ("file:///srv/r", False, True),
        ("git@github.com:o/r.git", False, True),
        ("git@example.com:o/r", False, True),
        ("org-1234@github.com:o/r", False, True),
        ("github.com/o/r", False, True),
        ("GitHub.com:o/r", False, True),
        ("git::github.com/o/r", False, True),
        ("user@host/o/r", False, True),
        ("./github.com/o/r", False, False),
        ("../github.com/o/r", False, False),
        ("example.com/o/r", False, False),
        ("app@v1.yaml", False, False),
        ("a/b@c/d", False, False),
        ("git::a", False, False),
        ("httpd/base", False, False),
    ],
)
def test_what_is_remote(path: str, as_file: bool, as_folder: bool) -> None:
    remote = {form: Reference("f", path, form).remote for form in (FILE, FOLDER, EITHER)}
    assert remote == {FILE: as_file, FOLDER: as_folder, EITHER: as_file or as_folder}


@pytest.mark.parametrize(
    ("path", "moves"),
    [
        ("https://github.com/o/r//p", True),
        ("https://github.com/o/r//p?ref=main", True),
        (f"https://github.com/o/r//p?ref={COMMIT}", False),
        (f"https://github.com/o/r//p?version={COMMIT}", False),
        (f"https://github.com/o/r//p?ref=main&version={COMMIT}", True),
        (f"github.com/o/r?timeout=3&ref={COMMIT}", False),
        ("https://example.com/v1/install.yaml", False),
        ("https://example.com/install", True),
        ("../base", False),
    ],
)
def test_what_may_change_without_a_commit(path: str, moves: bool) -> None:
    assert Reference("f", path, EITHER).moves is moves


def test_aliases_in_many_texts_are_not_all_followed() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    text = "{" + ", ".join(levels) + "}"
    content = json.dumps({"transformers": [f"{text} # {number}" for number in range(3000)]}).encode()
    with that_ends():
        references = references_of_kustomization(content, "f")
    # None of them is an object, so each is a path, which is not there.
    assert len(references) == 3000
