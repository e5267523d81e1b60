"""Fields of the source that are left to somebody else: ignored ones, autoscaled replicas, injected certificates.

Such a field is sent when the object is created. After that it stays as it is in the cluster: a body that left it out
would remove it as long as we are its only owner (observed), so it then carries the live value; once another manager
owns the field, it is left out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable
from typing import Any

from .field_rules import Path
from .fields import NOTHING, place_in, value_at, with_value
from .managed_fields import Entry, owners_of
from .names import FIELD_MANAGER
from .objects import Manifest, split_api_version
from .plan import YieldedField

REPLICAS: Path = ("spec", "replicas")


def yielded(
    body: Manifest, live: Manifest, fields: Iterable[tuple[Path, str]], absorbed: Collection[str] = ()
) -> tuple[Manifest, list[YieldedField]]:
    """The body that leaves these fields as they are in the live object.

    :param fields: paths within ``body`` and why they are left; paths into nothing are passed over.
    :param absorbed: managers whose fields become ours with this apply, so that they keep nothing.
    :returns: the body, and the fields whose live value is another than the source's.
    """
    told: list[YieldedField] = []
    for path, reason in fields:
        wanted = value_at(body, path)
        if wanted is NOTHING or not path:
            continue
        place = place_in(live, body, path)
        value = value_at(live, place) if place is not None else NOTHING
        owners = owners_of(live, place) if place is not None else []
        others = [entry for entry in owners if not (_is_ours(entry) or entry.manager in absorbed)]
        body = with_value(body, path, NOTHING if others or value is NOTHING else value)
        if value != wanted or type(value) is not type(wanted):
            told.append(YieldedField(_title(path), others[0].manager if others else "", reason))
    return body, told


def _is_ours(entry: Entry) -> bool:
    return (entry.manager, entry.operation, entry.subresource) == (FIELD_MANAGER, "Apply", "")


def _title(path: Path) -> str:
    return "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in path)


# Certificates that somebody injects


def bundle_paths(manifest: Manifest) -> list[Path]:
    """Where the ``caBundle`` of this object may stand: webhooks, APIServices and conversion webhooks of kinds."""
    group, _version = split_api_version(manifest["apiVersion"])
    match (group, manifest["kind"]):
        case ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration"):
            webhooks = manifest.get("webhooks")
            count = len(webhooks) if isinstance(webhooks, list) else 0
            return [("webhooks", str(number), "clientConfig", "caBundle") for number in range(count)]
        case ("apiregistration.k8s.io", "APIService"):
            return [("spec", "caBundle")]
        case ("apiextensions.k8s.io", "CustomResourceDefinition"):
            return [("spec", "conversion", "webhook", "clientConfig", "caBundle")]
    return []


def placeholders_of(manifest: Manifest) -> list[Path]:
    """Where a ``caBundle`` stands that is none: empty, or white space, to be filled in by a controller."""
    return [path for path in bundle_paths(manifest) if _is_placeholder(value_at(manifest, path))]


def _is_placeholder(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, str):
        return False
    try:
        return not base64.b64decode(value, validate=True).strip()
    except (binascii.Error, ValueError):
        return not value.strip()
