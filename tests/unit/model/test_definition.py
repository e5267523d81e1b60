"""Definition files: what is accepted, with which defaults, and what people read about their mistakes."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition import (
    ChartSource,
    Definition,
    GitSource,
    claimed_name,
    dependency_order,
    parse_definition,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition_schema import DEFINITION_SCHEMA
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import DefinitionError

LONGHORN = """\
name: longhorn
title: Longhorn
category: storage
namespace: longhorn-system
createNamespace: true
helm:
  repo: https://charts.longhorn.io/
  chart: longhorn
  version: v1.10.2
releaseName: longhorn        # keep a migrated release's name
values:
  preUpgradeChecker:
    jobEnabled: false
adopt: true
manualSync: true
prune: false
"""
UMAMI = "name: umami\nnamespace: umami\ngit:\n  path: umami\nadopt: true\nprune: true\n"
GIT = "name: web\nnamespace: web\ngit: {path: web}\n"
HELM = "name: web\nnamespace: web\nhelm: {repo: https://x.test, chart: web, version: 1.0.0"


def test_the_chart_of_the_original() -> None:
    definition = parse_definition(LONGHORN, "addons/longhorn.yaml")
    assert definition.source == ChartSource("https://charts.longhorn.io/", "longhorn", "v1.10.2")
    assert definition.values == {"preUpgradeChecker": {"jobEnabled": False}}
    assert (definition.create_namespace, definition.adopt, definition.manual_sync) == (True, True, True)
    assert "name" not in definition.to_spec()
    assert definition.to_spec()["releaseName"] == "longhorn"


def test_defaults() -> None:
    definition = parse_definition(UMAMI, "addons/umami.yaml")
    assert definition == Definition(
        name="umami", title="umami", category="", description="", namespace="umami", source=GitSource("umami"),
        create_namespace=False, adopt=True, allow_adopt_changes=False, release_name="umami", values={}, values_from=(),
        depends_on=(), patches=(), ignore=(), mask=(), prune=True, manual_sync=False, suspend=False, skip_hooks=False,
        hook_timeout=600, wait=300, max_delete=None, ready=(),
        written={"namespace": "umami", "git": {"path": "umami"}, "adopt": True, "prune": True},
    )  # fmt: skip


@pytest.mark.parametrize("text", [LONGHORN, UMAMI, HELM + ", valuesFiles: [a.yaml]}\nmaxDelete: 0\nvalues: {a: [1]}"])
def test_round_trips(text: str) -> None:
    definition = parse_definition(text, "x")
    assert Definition.from_json(definition.to_json()) == definition
    assert Definition.from_spec(definition.name, {**definition.to_spec(), "syncRequest": 3}) == definition


def test_spec_is_a_copy_and_secrets_are_not_in_the_repr() -> None:
    definition = parse_definition(GIT + "values: {password: hunter2}", "x")
    definition.to_spec()["values"]["password"] = "changed"
    assert definition.to_spec()["values"]["password"] == "hunter2"
    assert "hunter2" not in repr(definition)


def test_a_broken_record_names_its_addon() -> None:
    with pytest.raises(DefinitionError) as caught:
        Definition.from_spec("web", {"namespace": "web"})
    assert str(caught.value) == "add-on web: spec of the record: helm, git: give exactly one source"


@pytest.mark.parametrize(
    "more",
    [
        "values:\ntitle:\n",
        "wait: 0\nhookTimeout: 1\nmaxDelete: 0\n",
        "dependsOn: [a, b]\n",
        "valuesFrom: [{secret: web, key: a.yaml, optional: true}, {configMap: web.values}]\n",
        "patches: [{path: patches/a.yaml}, {patch: 'x', target: {kind: Deployment, name: 'web-.*'}}]\n",
        "ignore: [{pointers: [/spec/replicas, /metadata/annotations/a.io~1b], group: apps, kind: Deployment}]\n",
        "mask: [{pointers: [/metadata/name]}]\n",
        "ready: [{kind: A, condition: Up}, {kind: B, jsonPath: '{.a}', value: x}, {group: '', kind: C, wait: false}]\n",
        "values: {anything: [1, {a: null}], 'Any Key': yes}\n",
    ],
)
def test_valid_fields(more: str) -> None:
    assert parse_definition(GIT + more, "x").name == "web"


@pytest.mark.parametrize(
    "source",
    [
        "helm: {repo: 'oci://ghcr.io/x/charts', chart: web, version: 1.0.0-rc.1+build}",
        "helm: {repo: 'http://127.0.0.1:8080/charts', chart: web, version: 1.2.3}",
        "helm: {repo: 'http://localhost', chart: web, version: 1.2.3, valuesFiles: [values/web.yaml]}",
        "git: {path: .}",
        "git: {path: deploy, repo: 'https://github.com/x/y.git', revision: v1.0}",
        "git: {path: deploy, repo: 'git@github.com:x/y.git', revision: feature/a}",
        "git: {path: deploy, repo: 'ssh://git@host:22/x.git'}",
        "git: {path: deploy, repo: /srv/git/x}",
        "git: {path: deploy, repo: 'file:///srv/git/x'}",
        "git: {path: a/b..c/.d, revision: other-branch}",
    ],
)
def test_valid_sources(source: str) -> None:
    assert parse_definition(f"name: web\nnamespace: web\n{source}", "x").name == "web"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GIT + "prunee: true", "x: prunee: unknown field. Did you mean prune?"),
        (GIT + "Prune: true", "x: Prune: unknown field. Did you mean prune?"),
        (GIT + "create_namespace: true", "x: create_namespace: unknown field. Did you mean createNamespace?"),
        (GIT + "zzz: true", "x: zzz: unknown field"),
        (GIT + "wait: soon", "x: wait: expected an integer (seconds), got text"),
        (GIT + "wait: true", "x: wait: expected an integer (seconds), got true"),
        (GIT + "wait: 1.5", "x: wait: expected an integer (seconds), got a number"),
        (GIT + "hookTimeout: -1", "x: hookTimeout: may not be negative"),
        (GIT + "maxDelete: 1e10", "x: maxDelete: may not be more than 2147483647"),
        (GIT + "maxDelete: []", "x: maxDelete: expected an integer, got a list"),
        (GIT + "prune: 'true'", "x: prune: expected true or false, got text"),
        (GIT + "values: hunter2", "x: values: expected a mapping, got text"),
        (GIT + "dependsOn: db", "x: dependsOn: expected a list, got text"),
        (GIT + "dependsOn: [db, web]", "x: dependsOn[1]: an add-on can't depend on itself"),
        (GIT + "dependsOn: [db, db]", "x: dependsOn[1]: db stands there twice"),
        (GIT + "dependsOn: [Db]",
         "x: dependsOn[0]: Db is not the name of an add-on (lower case letters, digits and -)"),
        (GIT + "valuesFrom: [{secret: a, configMap: b}]",
         "x: valuesFrom[0]: give exactly one of secret and configMap"),
        (GIT + "valuesFrom: [{secret: hunter2!}]", "x: valuesFrom[0].secret: is not valid here"),
        (GIT + "patches: [{target: {kind: A}}]", "x: patches[0]: give exactly one of patch and path"),
        (GIT + "patches: [{path: ../a}]", "x: patches[0].path: may not lead out of the repository (..)"),
        (GIT + "patches: [{patch: {a: 1}}]", "x: patches[0].patch: expected text, got a mapping"),
        (GIT + "ignore: [{pointers: [spec.replicas]}]",
         "x: ignore[0].pointers[0]: is not a JSON pointer such as /spec/replicas"),
        (GIT + "ignore: [{pointers: ['']}]", "x: ignore[0].pointers[0]: is not a JSON pointer such as /spec/replicas"),
        (GIT + "ignore: [{pointers: [/a]}, {pointers: [/spec, /metadata/name]}]",
         "x: ignore[1].pointers[1]: /metadata/name tells which object it is, which can't be left to others"),
        (GIT + "ignore: [{pointers: [/metadata/labels/rendimiento.ai~1addon]}]",
         "x: ignore[0].pointers[0]: /metadata/labels/rendimiento.ai~1addon is of this collection itself, as all of"
         " rendimiento.ai/"),
        (GIT + f"ignore: [{{pointers: [/status/{'a' * 99}]}}]",
         "x: ignore[0].pointers[0]: is never sent, so it needs no entry"),
        (GIT + "ignore: [{kind: A}]", "x: ignore[0].pointers: missing, it has to be given"),
        (GIT + "ready: [{kind: A}]", "x: ready[0]: give exactly one of condition, jsonPath and wait"),
        (GIT + "ready: [{kind: A, wait: true}]", "x: ready[0].wait: only false has a meaning here"),
        (GIT + "ready: [{kind: A, jsonPath: '{.status.*}'}]",
         "x: ready[0].jsonPath: {.status.*} is no path to a field: .* is not understood. "
         "Names, [0], ['a.b/c'] and [?(@.type==\"Ready\")] are understood, and it has to lead to one field."),
        (GIT + "ready: [{kind: Secret, jsonPath: '{.data.a}'}]",
         "x: ready[0].kind: Secrets are not read to find out whether they are ready"),
        (GIT + "ready: [{kind: A, condition: B, value: c}]", "x: ready[0].value: only together with jsonPath"),
        (GIT + "releaseName: Web", "x: releaseName: Web is not a release name (lower case letters, digits, - and .)"),
        (GIT + f"releaseName: {'a' * 54}", "x: releaseName: longer than 53 characters"),
        (GIT + HELM[len("name: web\nnamespace: web\n"):] + "}", "x: helm, git: give exactly one source"),
        ("name: web\nnamespace: web", "x: helm, git: give exactly one source"),
        ("name: web\ngit: {path: a}", "x: namespace: missing, it has to be given"),
        ("name: Web\nnamespace: web\ngit: {path: a}",
         "x: name: Web is not a DNS label (lower case letters, digits and -)"),
        ("name: 'web\n\n'\nnamespace: web\ngit: {path: a}",
         "x: name: is not a DNS label (lower case letters, digits and -)"),
        (f"name: {'a' * 64}\nnamespace: web\ngit: {{path: a}}", "x: name: longer than 63 characters"),
        (f"name: {'a' * 54}\n{HELM[10:]}}}",
         "x: releaseName: missing, and name is longer than the 53 characters of one"),
        ("name: 1\nnamespace: web\ngit: {path: a}", "x: name: expected text, got an integer. Quote the value."),
        ("name: web\nnamespace: web\ngit: {path: a, rev: b}", "x: git.rev: unknown field"),
        ("name: web\nnamespace: web\ngit: {path: /a}",
         "x: git.path: may not start with /, paths are relative to the repository"),
        ("name: web\nnamespace: web\ngit: {path: a/../../b}", "x: git.path: may not lead out of the repository (..)"),
        ("name: web\nnamespace: web\ngit: {path: 'a\\b'}",
         "x: git.path: may not contain a backslash or control characters. Separate folders with /."),
        ("name: web\nnamespace: web\ngit: {path: ''}", "x: git.path: may not be empty"),
        ("name: web\nnamespace: web\ngit: {path: a, revision: --upload-pack=x}",
         "x: git.revision: is not a branch, tag or commit"),
        ("name: web\nnamespace: web\ngit: {path: a, repo: '--upload-pack=x'}",
         "x: git.repo: expected the URL of a git repository"),
        ("name: web\nnamespace: web\ngit: {path: a, repo: 'ext::sh'}",
         "x: git.repo: expected the URL of a git repository"),
        ("name: web\nnamespace: web\ngit: {path: a, repo: 'https://hunter2@x.test/y'}",
         "x: git.repo: no credentials in a URL. Remove the part before the @, and the secret from the history."),
        (HELM.replace("https://x.test", "https://me:hunter2@x.test") + "}",
         "x: helm.repo: no credentials in a URL. Remove the part before the @, and the secret from the history."),
        (HELM.replace("https://x.test", "http://x.test") + "}", "x: helm.repo: expected an https:// or oci:// URL"),
        (HELM.replace("https://x.test", "'https://[x'") + "}", "x: helm.repo: expected an https:// or oci:// URL"),
        (HELM.replace("https://x.test", "charts") + "}", "x: helm.repo: expected an https:// or oci:// URL"),
        (HELM.replace("1.0.0", "1.10") + "}", "x: helm.version: expected text, got a number. Quote the value."),
        (HELM.replace("1.0.0", "^1.0") + "}", "x: helm.version: ^1.0 is not an exact version"),
        (HELM.replace("chart: web", "chart: --x") + "}", "x: helm.chart: --x is not the name of a chart"),
        (HELM + ", valuesFiles: [ok.yaml, ../x]}", "x: helm.valuesFiles[1]: may not lead out of the repository (..)"),
        ("name: web\nnamespace: web\nhelm: {chart: a}",
         "x: helm.repo: missing, it has to be given; helm.version: missing, it has to be given"),
        (GIT + "prunee: true\nwait: soon",
         "x: prunee: unknown field (did you mean prune?); wait: expected an integer (seconds), got text"),
        ("- a", "x: expected a mapping of fields, got a list"),
        ("", "x: nothing in it"),
        (GIT + "---\n" + GIT, "x:5: a second document starts here, only one is expected. Remove the ---."),
        ("name: web\nname: other", "x:2: the key name stands twice in one mapping"),
        ("name: web\nvalues: {{ x }}",
         "x:2: a key is a mapping or a list. Quote text that starts with { or [."),
        ("name: web\n  namespace: web", "x:2: not valid YAML: mapping values are not allowed in this context. "
         "Quote text that contains a colon, or check the indentation."),
    ],
)  # fmt: skip
def test_faults_in_words(text: str, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_definition(text, "x")
    assert str(caught.value) == message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    "word", ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "123", "1e3", "0x1f", "0755"]
)
def test_trap_08_a_name_that_yaml_reads_as_something_else_is_refused(word: str) -> None:
    """A chart writes ``app.kubernetes.io/instance: y`` without quotes, and the API server gets a truth value."""
    for field, text in (
        ("name", GIT.replace("name: web", f"name: '{word}'", 1)),
        ("releaseName", GIT + f"releaseName: '{word}'"),
    ):
        with pytest.raises(DefinitionError) as caught:
            parse_definition(text, "x")
        assert str(caught.value) == (
            f"x: {field}: {word} is no text where YAML has it without quotes. Use another name."
        )


@pytest.mark.parametrize("word", ["yy", "node", "1-2", "12a", "1e3x", "e3", "2024-01-01", "null-1"])
def test_names_that_are_text(word: str) -> None:
    assert parse_definition(f"name: '{word}'\nnamespace: web\ngit: {{path: a}}\n", "x").release_name == word


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (GIT + "prunee: true", "web"),
        ("name: web\n\tbroken", "web"),
        ("name: 'web' # the site\nname: other", "web"),
        ("<<<<<<< HEAD\r\nname: web\r\n=======\r\n", "web"),
        ('{"name": "web", "namespace": }', "web"),
        ('{\n  "name": "web",\n', "web"),
        ("values:\n  name: inner\n\tbroken\nname: web", "web"),
        ("name: Web", None),
        ("name: [web]", None),
        ("title: web", None),
        ("", None),
        (f"name: {'a' * 64}", None),
    ],
)
def test_claimed_name(text: str, name: str | None) -> None:
    assert claimed_name(text, "x") == name


def _definitions(edges: dict[str, list[str]]) -> dict[str, Definition]:
    return {
        name: Definition.from_json({"name": name, "namespace": "n", "git": {"path": "p"}, "dependsOn": wanted})
        for name, wanted in edges.items()
    }


@pytest.mark.parametrize(
    ("edges", "order", "errors"),
    [
        ({}, [], {}),
        ({"c": [], "b": [], "a": []}, ["a", "b", "c"], {}),
        ({"a": ["z"], "b": [], "z": []}, ["b", "z", "a"], {}),
        ({"a": ["z"], "b": [], "z": ["y"], "y": ["b"]}, ["b", "y", "z", "a"], {}),
        ({"a": ["recorded"]}, ["a"], {}),
        ({"a": ["b"], "b": ["a"], "c": ["a"], "d": []}, ["c", "d"],
         {"a": "add-on a: dependsOn: a cycle: a -> b -> a", "b": "add-on b: dependsOn: a cycle: a -> b -> a"}),
        ({"b": ["c"], "c": ["a"], "a": ["b"]}, [],
         {name: f"add-on {name}: dependsOn: a cycle: a -> b -> c -> a" for name in "abc"}),
        ({"a": ["b"], "b": ["a"], "x": ["y"], "y": ["x"]}, [],
         {"a": "add-on a: dependsOn: a cycle: a -> b -> a", "b": "add-on b: dependsOn: a cycle: a -> b -> a",
          "x": "add-on x: dependsOn: a cycle: x -> y -> x", "y": "add-on y: dependsOn: a cycle: x -> y -> x"}),
        ({"web": ["databse"], "database": [], "site": ["web"]}, ["database", "site"],
         {"web": "add-on web: dependsOn: there is no add-on databse. Did you mean database?"}),
    ],
)  # fmt: skip
def test_dependency_order(edges: dict[str, list[str]], order: list[str], errors: dict[str, str]) -> None:
    found, faults = dependency_order(_definitions(edges), known={"recorded"})
    assert (found, {name: str(fault) for name, fault in faults.items()}) == (order, errors)


def test_unknown_names_are_no_concern_without_a_set_of_known_ones() -> None:
    assert dependency_order(_definitions({"a": ["absent"]})) == (["a"], {})


def test_every_part_of_the_schema_is_closed_and_described() -> None:
    jsonschema.Draft202012Validator.check_schema(DEFINITION_SCHEMA)

    def walk(schema: dict[str, Any], path: str) -> None:
        if path:
            assert schema.get("title"), path
            assert schema.get("description"), path
        if schema["type"] == "object" and path != "values":
            assert schema["additionalProperties"] is False, path
            for name, inner in schema["properties"].items():
                walk(inner, f"{path}.{name}".removeprefix("."))
        if schema["type"] == "array" and schema["items"]["type"] == "object":
            walk(schema["items"], f"{path}[]")
        pattern = schema.get("pattern", "^$")
        assert (pattern[0], pattern[-1]) == ("^", "$"), path

    walk(DEFINITION_SCHEMA, "")
