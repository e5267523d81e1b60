"""Hides secret values in whatever people get to see, and keeps visible whether two of them are equal.

A placeholder is a keyed hash of the content: it says nothing about content or length, not even to somebody who guesses
(a plain hash of a short password can be tried out), but the same value gives the same placeholder before and after.

So one thing can be found out: who can write to the repository and read the preview can put a guess into an object of
the same add-on, and sees from the placeholders whether it equals a secret there. That takes one preview per guess, or
one with many guesses: a short secret is not safe from them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .field_rules import FieldRule, Path, paths_for
from .known_secrets import KnownSecrets, Secret
from .names import LAST_APPLIED_ANNOTATION
from .objects import Manifest, ObjectKey, split_api_version
from .shapes import mapping_of

_DATA = ("data", "stringData")

# Annotations in which other tools keep a copy of the object (kapp, Rancher, Banzai's operators, kpt, Argo CD).
_COPIES = frozenset(
    {
        "kapp.k14s.io/original",
        "kapp.k14s.io/original-diff",
        "objectset.rio.cattle.io/applied",
        "banzaicloud.com/last-applied",
        "internal.config.kubernetes.io/prior-content",
        "kots.io/last-applied",
    }
)
_BEGINNINGS_OF_COPIES = ("{", "[", "H4sI")
"""JSON, and gzip in base64."""


class Placeholders:
    """Stand-ins for secret values, equal for equal values under one key, in every process.

    :param key: the cluster's ``addon-key``, or a random key of the run.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, value: str | bytes) -> str:
        """Such as ``<secret 3f9a1c07>``."""
        content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return f"<secret {hmac.new(self._key, content, hashlib.sha256).hexdigest()[:8]}>"


@dataclass(frozen=True, slots=True)
class Mask:
    """What hides the secrets of one add-on in whatever is shown of its objects.

    :param rules: fields that the definition names to be hidden, besides the values of Secrets.
    :param known: values that are hidden wherever else they stand; made by ``with_secrets_of``.
    """

    placeholders: Placeholders
    rules: Sequence[FieldRule] = ()
    known: KnownSecrets | None = None

    def with_secrets_of(self, manifests: Iterable[Manifest]) -> Mask:
        """The same mask, which also knows the secret values in these objects, and that their names are none."""
        secrets: set[Secret] = set()
        names: set[str] = set()
        for manifest in manifests:
            secrets |= self.secrets_of(manifest)
            key = _key(manifest)
            names |= {key.name, key.namespace}
        return replace(self, known=self._knowing(secrets, names))

    def secrets_of(self, manifest: Manifest) -> set[Secret]:
        """The values of a Secret, also one within another object, and of the fields that the rules name."""
        return set(_secrets_in(manifest, self._paths(manifest)))

    def object(self, manifest: Manifest) -> Manifest:
        """The object, or the list of objects, without secret values; the original stays as it is.

        - Every value in ``data`` and ``stringData`` of a Secret, and every scalar in a field that a rule names, becomes
          a placeholder of its content; one under ``stringData`` equals its base64 form under ``data``.
        - In all other texts, and in the keys of mappings, the known values and the object's own are replaced.
        - The annotation of client-side ``kubectl apply``, a full copy of the object, is dropped from objects of every
          kind; of a Secret, copies that other tools made are hidden as well.
        """
        known = self._knowing(self.secrets_of(manifest), ())
        masked: Manifest = _Masking(self, known).value(manifest, self._paths(manifest))
        # They are no secret, and who reads them has to be able to tell what it is.
        masked |= {key: manifest[key] for key in ("apiVersion", "kind") if key in manifest}
        return masked

    def text(self, text: str) -> str:
        """A text such as an API error, in which the server may quote values, with the known ones replaced."""
        return self.known.replaced_in_message(text) if self.known else text

    def _knowing(self, secrets: Collection[Secret], names: Collection[str]) -> KnownSecrets:
        known = self.known or KnownSecrets((), (), self.placeholders.of)
        return known.extended(secrets, names)

    def _paths(self, manifest: Manifest) -> list[Path]:
        """What the rules name in an object, and in the items of a list."""
        paths = paths_for(self.rules, _key(manifest)) if self.rules else []
        items = manifest.get("items")
        if self.rules and isinstance(items, list):
            for index, item in enumerate(items):
                if isinstance(item, dict):
                    paths += [("items", str(index), *path) for path in self._paths(item)]
        return paths


@dataclass(frozen=True, slots=True)
class _Masking:
    mask: Mask
    known: KnownSecrets

    def value(self, value: Any, hidden: list[Path]) -> Any:
        """:param hidden: paths from here to what is hidden."""
        if hidden and () in hidden:
            return self._hidden(value)
        if isinstance(value, str):
            return self.known.replaced(value)
        if isinstance(value, dict):
            return self._mapping(value, hidden)
        if isinstance(value, list):
            return [self.value(item, _below(hidden, str(index))) for index, item in enumerate(value)]
        if value is None or isinstance(value, bool):
            return value
        return self.known.replaced_number(value)

    def _mapping(self, mapping: dict[str, Any], hidden: list[Path], of_secrets: bool = False) -> dict[str, Any]:
        """:param of_secrets: it is one of a list of Secrets, whose items do not say what they are."""
        masked: dict[str, Any] = {}
        is_secret = of_secrets or _is_secret(mapping)
        for key, item in mapping.items():
            below = _below(hidden, key)
            if is_secret and key in _DATA:
                masked[key] = self._data(item, key)
            elif mapping.get("kind") == "SecretList" and key == "items" and isinstance(item, list):
                masked[key] = [self._mapping(one, [], True) if isinstance(one, dict) else one for one in item]
            elif key == "annotations" and isinstance(item, dict) and LAST_APPLIED_ANNOTATION in item:
                if rest := {name: text for name, text in item.items() if name != LAST_APPLIED_ANNOTATION}:
                    masked[key] = self.value(rest, below)
            else:
                copies = _copies(item) if is_secret and key == "metadata" else []
                masked[self.known.replaced_key(key)] = self.value(item, [*below, *copies])
        return masked

    def _data(self, values: Any, field: str) -> Any:
        of = self.mask.placeholders.of
        if isinstance(values, dict):
            return {self.known.replaced_key(key): of(_content(value, field)) for key, value in values.items()}
        return values if values is None else of(_content(values, field))

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.known.replaced_key(key): self._hidden(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._hidden(item) for item in value]
        return value if value is None else self.mask.placeholders.of(_content(value, ""))


def _secrets_in(value: Any, hidden: list[Path], list_of_secrets: bool = False) -> Iterator[Secret]:
    if hidden and () in hidden:
        yield from _scalars(value)
    elif isinstance(value, dict):
        is_secret = list_of_secrets or _is_secret(value)
        of_secrets = value.get("kind") == "SecretList"
        for key, item in value.items():
            if is_secret and key in _DATA:
                values = item if isinstance(item, dict) else {"": item}
                for name, one in values.items():
                    yield from (Secret.of(content, name) for content in _known_contents(one, key))
            elif of_secrets and key == "items" and isinstance(item, list):
                for one in item:
                    yield from _secrets_in(one, [], True)
            elif isinstance(item, dict | list) or hidden:
                yield from _secrets_in(item, _below(hidden, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict | list) or hidden:
                yield from _secrets_in(item, _below(hidden, str(index)))


def _scalars(value: Any) -> Iterator[Secret]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _scalars(item)
    elif value is not None:
        yield Secret(_content(value, ""))


def _below(hidden: list[Path], step: str) -> list[Path]:
    return [path[1:] for path in hidden if path[0] == step] if hidden else hidden


def _copies(metadata: Any) -> list[Path]:
    return [
        ("annotations", name)
        for name, text in mapping_of(mapping_of(metadata).get("annotations")).items()
        if name in _COPIES or (isinstance(text, str) and text.lstrip().startswith(_BEGINNINGS_OF_COPIES))
    ]


def _is_secret(manifest: dict[str, Any]) -> bool:
    return manifest.get("kind") == "Secret" and "/" not in str(manifest.get("apiVersion", ""))


def _key(manifest: Manifest) -> ObjectKey:
    """The identity of what may be no proper object."""
    named = mapping_of(manifest.get("metadata"))
    group, _version = split_api_version(str(manifest.get("apiVersion", "")))
    texts = (manifest.get("kind"), named.get("namespace"), named.get("name"))
    return ObjectKey(group, *(str(text or "") for text in texts))


def _content(value: Any, field: str) -> bytes:
    if not isinstance(value, str):
        return json.dumps(value, sort_keys=True).encode()
    raw = value.encode("utf-8", "surrogatepass")
    if field == "data":
        try:
            # The server passes over line breaks, and over no other white space.
            return base64.b64decode(raw.translate(None, b"\r\n"), validate=True)
        except binascii.Error:
            return raw
    return raw


def _known_contents(value: Any, field: str) -> Iterator[bytes]:
    """A value of a Secret, and its base64 where that has several lines, which may stand elsewhere in the same form."""
    if value is None:
        return
    content = _content(value, field)
    yield content
    if isinstance(value, str) and "\n" in value.strip() and content != value.encode("utf-8", "surrogatepass"):
        yield value.encode()
