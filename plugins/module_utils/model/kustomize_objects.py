"""Objects on their way through kustomize: as text that it reads as it is meant, and back without a loss.

kustomize (5.8, observed) keeps all of an object that it isn't told to change, with these exceptions: it takes some
objects for something else or not at all; it takes some annotations for its own, acts on them and drops them; a JSON
patch rounds the large integers of what it changes; and it gives up at characters that JSON has and YAML has not. Values
and annotations of these kinds are carried past it under other texts.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .names import LOCAL_CONFIG_ANNOTATION
from .normalise import SourceObject
from .objects import Manifest
from .yaml_documents import EXACT_INTEGERS, read_documents

_CARRIED = "rendimiento.ai/carried:"
"""What a text begins with that stands for another value, which follows as JSON; also a key that stands for the one
that follows."""

_INTERNAL = "internal.config.kubernetes.io/"
_OF_KUSTOMIZE = frozenset(
    {
        "alpha.config.kubernetes.io/transformations",
        "config.k8s.io/id",
        "config.kubernetes.io/index",
        "config.kubernetes.io/origin",
        "config.kubernetes.io/path",
    }
)
"""Annotations that it drops, whoever wrote them (observed), as it does those of its own domain ``internal``."""

_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Line breaks for some YAML readers, byte order marks, and no characters at all."""

_LONGEST_KEY = 500
"""A YAML reader gives up a key after 1024 characters, escapes among them."""

_DEEPEST = 120
"""As for all objects: one that is nested deeper is refused later, with its name."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What kustomize tells objects apart by: an object without a namespace is one of the namespace ``default``."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, manifest: Manifest) -> Identity | None:
        """``None`` for what has no name that is text, or no such namespace."""
        metadata = manifest.get("metadata")
        if not isinstance(metadata, dict):
            return None
        kind, name, namespace = manifest.get("kind"), metadata.get("name"), metadata.get("namespace") or "default"
        if not (isinstance(kind, str) and isinstance(name, str) and isinstance(namespace, str) and name):
            return None
        return cls(str(manifest.get("apiVersion") or ""), kind, namespace, name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Sorted:
    """The objects of a source: what kustomize takes, apart from what it would refuse or take for something else.

    ``fit`` and ``held`` are their places in the source. ``reasons`` says what is wrong with those of ``held`` that have
    a name.
    """

    fit: list[int]
    held: list[int]
    reasons: dict[Identity, str]


def sort_out(objects: Sequence[SourceObject]) -> Sorted:
    """Which of the objects can go through kustomize together."""
    result = Sorted([], [], {})
    known: dict[Identity, SourceObject] = {}
    for place, item in enumerate(objects):
        identity = Identity.of(item.manifest)
        if identity is None:
            result.held.append(place)
            continue
        reason = _flaw(item.manifest)
        if not reason and (first := known.setdefault(identity, item)) is not item:
            reason = _taken_for(first, item)
        if reason:
            result.held.append(place)
            result.reasons.setdefault(identity, reason)
        else:
            result.fit.append(place)
    return result


def outline(manifest: Manifest) -> Manifest:
    """What a patch's target looks at, of an object with an identity."""
    metadata = manifest["metadata"]
    shown = {name: metadata[name] for name in ("name", "namespace") if metadata.get(name)}
    for part in ("labels", "annotations"):
        texts = metadata.get(part)
        if isinstance(texts, dict):
            shown[part] = {key: value for key, value in texts.items() if isinstance(value, str)}
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": shown}


def _taken_for(first: SourceObject, second: SourceObject) -> str:
    if first.manifest["metadata"].get("namespace") == second.manifest["metadata"].get("namespace"):
        return f"it is in the source twice, {first.source} and {second.source}"
    return f"kustomize can't tell the one without a namespace from that of default, {first.source} and {second.source}"


def _flaw(manifest: Manifest) -> str:
    """Why kustomize can't take an object, if so."""
    if manifest["kind"].endswith("List") and "items" in manifest:
        return "kustomize takes its kind for a list of objects"
    metadata = manifest["metadata"]
    for part in ("labels", "annotations"):
        texts = metadata.get(part) or {}
        # kustomize makes texts of them, without a word.
        if not isinstance(texts, dict) or not all(isinstance(value, str) for value in texts.values()):
            return f"its metadata.{part} are not all text"
    # kustomize leaves everything out that has it, but for "false".
    if (metadata.get("annotations") or {}).get(LOCAL_CONFIG_ANNOTATION, "true") not in ("true", "false"):
        return f"its annotation {LOCAL_CONFIG_ANNOTATION} is neither true nor false"
    return next(_flaws(manifest, _DEEPEST), "")


def _flaws(value: Any, levels: int) -> Iterator[str]:
    if isinstance(value, dict):
        if not levels:
            yield "it is nested too deeply"
            return
        for key, item in value.items():
            if len(key) > _LONGEST_KEY:
                yield f"it has a key of more than {_LONGEST_KEY} characters"
            if key == "<<" or _NOT_IN_YAML.search(key):
                yield "it has a key that means something else in YAML"
            if isinstance(item, (dict, list)):
                yield from _flaws(item, levels - 1)
    elif isinstance(value, list):
        if not levels:
            yield "it is nested too deeply"
            return
        for item in value:
            if item is None:
                yield "a list in it has an empty item"
            elif isinstance(item, (dict, list)):
                yield from _flaws(item, levels - 1)


def text_for_kustomize(manifests: Iterable[Manifest]) -> str:
    """A YAML stream of objects that fit, one per document."""
    texts = (
        json.dumps(_with_annotations(_carried(manifest), _hidden_key), ensure_ascii=False) for manifest in manifests
    )
    return "".join(f"---\n{text}\n" for text in texts)


def manifests_of_kustomize(text: str) -> list[Manifest]:
    """What kustomize made of such a stream.

    :raises DocumentError: a patch made a value that is none in JSON.
    """
    values = [document.value for document in read_documents(text, "patched objects")]
    if _CARRIED not in text:
        return values
    return [_with_annotations(_restored(value), _shown_key) for value in values]


def _with_annotations(manifest: Any, name: Callable[[str], str]) -> Any:
    """The object with its annotations under other names."""
    metadata = manifest.get("metadata") if isinstance(manifest, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not metadata or not isinstance(annotations, dict):
        return manifest
    named = {name(key): value for key, value in annotations.items()}
    return {**manifest, "metadata": {**metadata, "annotations": named}}


def _hidden_key(key: str) -> str:
    carried = key.startswith((_INTERNAL, _CARRIED)) or key in _OF_KUSTOMIZE
    return f"{_CARRIED}{key}" if carried else key


def _shown_key(key: str) -> str:
    return key.removeprefix(_CARRIED)


def _carried(value: Any) -> Any:
    match value:
        case dict():
            return {key: _carried(item) for key, item in value.items()}
        case list():
            return [_carried(item) for item in value]
        case str() if _NOT_IN_YAML.search(value) or value.startswith(_CARRIED):
            return _CARRIED + json.dumps(value)
        case int() if abs(value) >= EXACT_INTEGERS:
            return _CARRIED + json.dumps(value)
    return value


def _restored(value: Any) -> Any:
    match value:
        case dict():
            return {key: _restored(item) for key, item in value.items()}
        case list():
            return [_restored(item) for item in value]
        case str() if value.startswith(_CARRIED):
            # A patch may write anything.
            with contextlib.suppress(ValueError):
                return json.loads(value.removeprefix(_CARRIED))
    return value
