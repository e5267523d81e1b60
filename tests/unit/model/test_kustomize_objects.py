"""Objects as text for kustomize, and which of them it can take. What it makes of them is in ``test_patches.py``."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.kustomize_objects import (
    Identity,
    manifests_of_kustomize,
    outline,
    sort_out,
    text_for_kustomize,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.normalise import SourceObject


def thing(kind: str = "Thing", metadata: Any = None, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "x.io/v1",
        "kind": kind,
        "metadata": {"name": "a"} if metadata is None else metadata,
        **fields,
    }


def sources(*manifests: dict[str, Any]) -> list[SourceObject]:
    return [SourceObject(manifest, f"{number}.yaml") for number, manifest in enumerate(manifests)]


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (thing("AllowList", spec={"items": [1]}), None),
        (thing("AllowList", items=[1]), "kustomize takes its kind for a list of objects"),
        (thing(spec={"a": [{"b": [1, None]}]}), "a list in it has an empty item"),
        (thing(spec={"a": None, "b": [], "c": {}}), None),
        (thing(spec={"k" * 500: 1}), None),
        (thing(spec={"k" * 501: 1}), "it has a key of more than 500 characters"),
        (thing(spec={"<<": 1}), "it has a key that means something else in YAML"),
        (thing(spec=[{"a\x85": 1}]), "it has a key that means something else in YAML"),
        (thing(spec=nested(119)), None),
        (thing(spec=nested(5000)), "it is nested too deeply"),
        (thing(metadata={"name": "a", "labels": {"a": 1}}), "its metadata.labels are not all text"),
        (thing(metadata={"name": "a", "annotations": {"a": None}}), "its metadata.annotations are not all text"),
        (thing(metadata={"name": "a", "annotations": ["a"]}), "its metadata.annotations are not all text"),
        (thing(metadata={"name": "a", "annotations": None, "labels": {}}), None),
        (thing(metadata={"name": "a", "annotations": {"config.kubernetes.io/local-config": "yes"}}),
         "its annotation config.kubernetes.io/local-config is neither true nor false"),
        (thing(metadata={"name": "a", "annotations": {"config.kubernetes.io/local-config": "true"}}), None),
    ],
)  # fmt: skip
def test_what_kustomize_can_take(manifest: dict[str, Any], reason: str | None) -> None:
    parts = sort_out(sources(manifest))
    assert parts.reasons == ({} if reason is None else {Identity.of(manifest): reason})
    assert (parts.fit, parts.held) == (([0], []) if reason is None else ([], [0]))


@pytest.mark.parametrize(
    "metadata", [{}, "a", [], {"generateName": "a-"}, {"name": 5}, {"name": ""}, {"name": "a", "namespace": 5}]
)
def test_what_has_no_identity_is_held_back_without_a_reason(metadata: Any) -> None:
    parts = sort_out(sources(thing(metadata=metadata)))
    assert (parts.fit, parts.held, parts.reasons) == ([], [0], {})


def test_one_of_two_that_kustomize_takes_for_the_same_is_held_back() -> None:
    twice, in_default = thing(), thing(metadata={"name": "a", "namespace": "default"})
    in_another, of_another = thing(metadata={"name": "a", "namespace": "b"}), {**thing(), "apiVersion": "y.io/v1"}
    parts = sort_out(sources(twice, in_another, twice, of_another))
    assert (parts.fit, parts.held) == ([0, 1, 3], [2])
    assert list(parts.reasons.values()) == ["it is in the source twice, 0.yaml and 2.yaml"]
    parts = sort_out(sources(in_default, thing()))
    assert (parts.fit, parts.held) == ([0], [1])
    assert list(parts.reasons.values()) == [
        "kustomize can't tell the one without a namespace from that of default, 0.yaml and 1.yaml"
    ]


def test_the_outline_has_what_a_target_looks_at() -> None:
    metadata = {"name": "a", "namespace": None, "labels": {"a": "b", "c": 1}, "annotations": ["x"], "uid": "u"}
    assert outline(thing(metadata=metadata, spec={})) == thing(metadata={"name": "a", "labels": {"a": "b"}})


def test_text_and_back() -> None:
    spec = {
        "integers": [2**53, 2**53 - 1, -(2**63), 2**64 - 1],
        "texts": ["0644", "706798e8", "\x85a", "\u2028b", "\ufeffc", "\x7f", "\uffff", "\x00", "a\r\nb ", "😀", "yes"],
        "flags": [True, False],
        "": None,
        "like what is carried": ["rendimiento.ai/carried:5", "x rendimiento.ai/carried:5"],
    }
    manifests = [thing(spec=spec), thing("Other")]
    text = text_for_kustomize(manifests)
    assert f" {2**53 - 1}" in text
    assert f" {2**53}" not in text
    assert not set("\x85\u2028\ufeff\x7f\uffff") & set(text)
    assert manifests_of_kustomize(text) == manifests


def test_annotations_that_kustomize_takes_for_its_own_are_carried_under_other_names() -> None:
    keys = ["internal.config.kubernetes.io/index", "config.kubernetes.io/path", "rendimiento.ai/carried:x", "app"]
    manifest = thing(metadata={"name": "a", "annotations": dict.fromkeys(keys, "x")})
    text = text_for_kustomize([manifest])
    assert not [key for key in keys[:3] if f'"{key}"' in text]
    assert '"app"' in text
    assert manifests_of_kustomize(text) == [manifest]


def test_what_a_patch_writes_need_not_be_what_is_carried() -> None:
    assert manifests_of_kustomize("a: 'rendimiento.ai/carried:{'") == [{"a": "rendimiento.ai/carried:{"}]
