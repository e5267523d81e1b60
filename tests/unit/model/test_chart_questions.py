"""What a chart asks of the cluster, told from its text."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.chart_questions import (
    asked_by,
    asks_the_clock,
    looks_up,
    may_be_random,
)


@pytest.mark.parametrize(
    ("text", "api_versions", "upgrade"),
    [
        ("", (), False),
        ("kind: ConfigMap # apiVersions: v1", (), False),
        ('{{ if .Capabilities.APIVersions.Has "policy/v1" }}', ("policy/v1",), False),
        ('{{ if (.Capabilities.APIVersions.Has   "a.b/v1/Kind") }}{{ if $.Capabilities.APIVersions.Has `b/v1` }}',
         ("a.b/v1/Kind", "b/v1"), False),
        ('{{ if and (.Capabilities.APIVersions.Has ("x/v1")) true }}', ("x/v1",), False),
        ("{{ .Capabilities.KubeVersion.Version }}", (), False),
        # Anything but a literal may be any entry of the list.
        ('{{ if .Capabilities.APIVersions.Has (printf "%s/v1" .Values.group) }}', None, False),
        ("{{ .Capabilities.APIVersions.Has .version }}", None, False),
        ("{{ range .Capabilities.APIVersions }}{{ . }}{{ end }}", None, False),
        ('{{ $apis := .Capabilities.APIVersions }}{{ $apis.Has "x/v1" }}', None, False),
        ('{{ tpl "{{ .Capabilities.APIVersions.Has \\"{{ .Values.a }}\\" }}" . }}', None, False),
        ('{{ .Capabilities.APIVersions.Has "a/v1" }}{{ .Capabilities.APIVersions.Has .b }}', None, False),
        ("{{ .Capabilities | toJson }}", None, False),
        ("{{ $capabilities := $.Capabilities }}", None, False),
        ('{{ (index . "Capabilities").KubeVersion }}', None, False),
        ('{{ .Capabilities.APIVersions.Has ("x.io" | printf "%s/v1") }}', None, False),
        ('{{ .Capabilities.APIVersions.Has ("x/v1") }}{{ .Capabilities.HelmVersion.Version }}', ("x/v1",), False),
        ("{{ .Capabilities.APIVersions.Has .x", None, False),
        ('{{/* a }} {{ comment */}}{{ .Capabilities.APIVersions.Has "x/v1" }}', ("x/v1",), False),
        # What is no template asks for nothing.
        ("# .Capabilities.APIVersions are looked at by some charts, and .Release.IsInstall", (), False),
        ("{{/* .Capabilities.APIVersions.Has .x and .Release */}}{{- /* all of .Capabilities */ -}}", (), False),
        ("{{ if .Release.IsInstall }}", (), True),
        ("{{ if $.Release.IsUpgrade -}}", (), True),
        ("{{ toYaml .Release | sha256sum }}", (), True),
        ('{{ (index $ "Release") }}', (), True),
        ("{{ .Release.Name }}-{{ .Release.Namespace }}{{ .Release.Service }}", (), False),
        ("{{ .Values.IsUpgradeable }}{{ .Values.ReleaseName }}", (), False),
    ],
)  # fmt: skip
def test_questions(text: str, api_versions: tuple[str, ...] | None, upgrade: bool) -> None:
    asked = asked_by([text])
    assert (asked.api_versions, asked.upgrade) == (api_versions, upgrade)


def test_the_questions_of_all_files_count() -> None:
    asked = asked_by(['{{ .Capabilities.APIVersions.Has "b/v1" }}', '{{ .Capabilities.APIVersions.Has "a/v1" }}', ""])
    assert asked.api_versions == ("a/v1", "b/v1")
    assert asked_by(["{{ .Release.IsInstall }}", '{{ .Capabilities.APIVersions.Has "b/v1" }}']).upgrade


@pytest.mark.parametrize(
    ("text", "random"),
    [
        ("{{ randAlphaNum 16 }}", True),
        ("{{ randBytes 16 | b64enc }}", True),
        ('{{ genSelfSignedCert "a" nil nil 365 }}{{ genCA "a" 1 }}{{ genPrivateKey "rsa" }}', True),
        ("{{ uuidv4 }}", True),
        ('{{ htpasswd "a" "b" }}', True),
        ("{{ now | unixEpoch }}", True),
        ("{{ sha256sum .Values.password }}", False),
        ("# nobody uses randAlphaNum now", False),
        ("", False),
    ],
)
def test_chance(text: str, random: bool) -> None:
    assert may_be_random(["a: 1", text]) is random


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{{ now | date "15:04" }}', True),
        ('{{ $x := genCA "a" 1 }}', True),
        ("{{ randAlphaNum 5 }}", False),
        ("# now", False),
    ],
)
def test_what_asks_the_clock(text: str, found: bool) -> None:
    assert asks_the_clock(["a: 1", text]) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{{ lookup "v1" "Secret" "ns" "name" }}', True),
        ('{{- $x := (lookup "v1" "Secret" .Release.Namespace "name").data }}', True),
        ('{{ if not (lookup "v1" "Node" "" "") }}', True),
        ("{{ with\nlookup `v1` `Secret` `a` `b` }}", True),
        ('{{ tpl "{{ lookup \\"v1\\" }}" . }}', True),
        ('{{ include "common.secrets.lookup" . }}', False),
        ('{{ include "lookup.it" (dict "lookup" 1) }}', False),
        ("{{ .Values.lookup }}{{ $lookup := 1 }}{{ .Values.lookups }}", False),
        ("{{/* lookup finds nothing here */}}", False),
        ("# lookup finds nothing {{ here }}", False),
    ],
)
def test_what_looks_up(text: str, found: bool) -> None:
    assert looks_up(["a: 1", text]) is found


@pytest.mark.parametrize(
    "text", ["{{", "{{/*", "}}", "{{ }}", "{{/**/", "{{ APIVersions.Has (", '{{ APIVersions.Has "']
)
def test_a_text_of_nothing_but_braces_is_read_in_one_go(text: str) -> None:
    """A megabyte, of which a reader that looks ahead from each brace would never see the end."""
    assert asked_by([text * (1_000_000 // len(text))]).upgrade is False
