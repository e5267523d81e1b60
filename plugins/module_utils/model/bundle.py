"""What a render of one add-on yields: its objects, its hooks apart, and the digests that identify them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .objects import Manifest, ObjectKey, key_of, split_api_version


@dataclass(frozen=True, slots=True)
class BundleObject:
    """One object as it will be sent, unless the plan has another body for it.

    ``source`` is where it was read, for messages (``web/app.yaml, document 2``). ``generated`` marks the Namespace
    of ``createNamespace``: it is made when it is missing and left alone when somebody else made it. ``second`` is the
    same object as a second render of the same input made it, where that differs: those fields were made up.
    """

    manifest: Manifest
    source: str
    generated: bool = False
    second: Manifest | None = None

    @property
    def key(self) -> ObjectKey:
        return key_of(self.manifest)

    @property
    def version(self) -> str:
        return split_api_version(self.manifest["apiVersion"])[1]


@dataclass(slots=True)
class Bundle:
    """A rendered add-on.

    ``commit`` is the commit its source was read at, ``revision`` what people call it: a chart's name and version, or a
    short commit. ``digest`` is a keyed hash over objects and hooks; ``render_key`` one over everything that went into
    the render. ``started`` names the calls of helm and kustomize that it took. ``connected`` tells that the chart could
    ask the cluster, so that another cluster, or another time, may render something else. ``record_version`` is that of
    the add-on's record, ``None`` when no other record would make another render. ``incomplete`` says why the chart had
    to be rendered without the cluster that it asks, empty when it was not: what is not in such a bundle may still be in
    the source.
    """

    name: str
    source_kind: str
    commit: str
    revision: str
    digest: str
    render_key: str
    objects: list[BundleObject] = field(default_factory=list)
    hooks: list[BundleObject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    from_cache: bool = False
    started: list[str] = field(default_factory=list)
    connected: bool = False
    record_version: str | None = None
    incomplete: str = ""

    def manifests(self) -> list[Manifest]:
        """All that was rendered, hooks too."""
        return [item.manifest for item in [*self.objects, *self.hooks]]

    def keys(self) -> set[ObjectKey]:
        return {item.key for item in self.objects}
