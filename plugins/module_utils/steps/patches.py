"""``patches`` of a definition: changes to what a source rendered, hooks included, of whatever kind the source is.

They mean what they mean in a kustomization whose resources are the rendered objects, since kustomize applies them. A
patch that changes nothing because it matches nothing is an error: a name in it may be misspelt.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..model.errors import DocumentError, RenderError
from ..model.kustomize_objects import Identity, manifests_of_kustomize, outline, sort_out, text_for_kustomize
from ..model.normalise import SourceObject, flatten
from ..model.objects import Manifest
from ..model.yaml_documents import read_documents
from ..programs.kustomize import Kustomize
from ..programs.kustomize_errors import patch_error, warnings_of
from ..programs.program import Output, ProgramError
from ..repository.git import Checkout
from .sources.git_folder import committed_file
from .sources.source import Preparation, Rendered, SourceRequest, second_of

_CORRECT_TARGET = "correct target: each of its fields has to match, as a regular expression, from end to end"


def patched(request: SourceRequest, preparation: Preparation) -> Preparation:
    """The same render with the definition's patches applied; the same preparation when there are none.

    :raises AddonError: a file of ``path`` is not there. Its ``render`` raises one for a patch that can't be applied.
    """
    patches = [_patch(number, entry, request.checkout) for number, entry in enumerate(request.definition.patches)]
    if not patches:
        return preparation
    kustomize = Kustomize(request.tools.kustomize(), request.tools.cache)
    inputs = {
        **preparation.inputs,
        "patches": [patch.identity() for patch in patches],
        "kustomize": kustomize.version(),
    }
    patcher = _Patcher(kustomize, patches, request.tools.work)
    return replace(preparation, inputs=inputs, render=lambda: patcher.changed(preparation.render()))


@dataclass(frozen=True, slots=True)
class _Patch:
    """One entry; ``place`` names it in messages, ``fields`` are its ``target`` and ``options`` as written."""

    place: str
    content: bytes
    fields: dict[str, Any]

    def identity(self) -> dict[str, Any]:
        return {**self.fields, "patch": hashlib.sha256(self.content).hexdigest()}


def _patch(number: int, entry: dict[str, Any], checkout: Checkout) -> _Patch:
    place = f"patches[{number}]"
    fields: dict[str, Any] = {name: entry[name] for name in ("target", "options") if name in entry}
    if "patch" in entry:
        return _Patch(place, entry["patch"].encode(), fields)
    path = posixpath.normpath(entry["path"])
    return _Patch(f"{place}, {path}", committed_file(checkout, path, f"{place}.path"), fields)


@dataclass(frozen=True, slots=True)
class _Patcher:
    """Applies patches; ``work`` is a private folder for temporary files."""

    kustomize: Kustomize
    patches: list[_Patch]
    work: Path

    def changed(self, rendered: Rendered) -> Rendered:
        """:raises AddonError: a patch is none, matches nothing, or does not apply."""
        named = {patch.place: _named_by(patch) for patch in self.patches}
        documents, warnings = self._changed(rendered.documents, named)
        # Patches may remove all that differed.
        second = second_of(documents, self._changed(rendered.second, named)[0]) if rendered.second else []
        return replace(rendered, documents=documents, warnings=[*rendered.warnings, *warnings], second=second)

    def _changed(
        self, documents: Sequence[SourceObject], named: dict[str, list[Identity]]
    ) -> tuple[list[SourceObject], list[str]]:
        objects = list(flatten(documents))
        parts = sort_out(objects)
        for place, identities in named.items():
            for identity in identities:
                if reason := parts.reasons.get(identity):
                    raise _out_of_reach(place, str(identity), reason)
        fit, held = ([objects[place].manifest for place in places] for places in (parts.fit, parts.held))
        output = self._built(fit, self.patches)
        try:
            made = manifests_of_kustomize(output.text)
        except DocumentError as error:
            raise RenderError(f"patches: {error.message}", hint="correct the patch that makes it so") from error
        self._check_targets(fit, made, held, parts.reasons)
        placed = _with_sources(parts.fit, objects, made) | dict(zip(parts.held, held, strict=True))
        changed = [SourceObject(placed[place], objects[place].source) for place in sorted(placed)]
        return changed, warnings_of(output.errors, "patches")

    def _built(self, manifests: Sequence[Manifest], patches: Sequence[_Patch]) -> Output:
        """:raises RenderError: the first patch that does not apply."""
        found = self._attempt(manifests, patches)
        if isinstance(found, Output):
            return found
        # Its errors don't say which patch they are about. The first so many apply, the first so many do not.
        applies, fails, error = -1, len(patches), found
        while fails - applies > 1:
            middle = (applies + fails) // 2
            found = self._attempt(manifests, patches[:middle])
            if isinstance(found, Output):
                applies = middle
            else:
                fails, error = middle, found
        raise error

    def _attempt(self, manifests: Sequence[Manifest], patches: Sequence[_Patch]) -> Output | RenderError:
        """What comes out, or what is wrong, said of the last of the patches."""
        with tempfile.TemporaryDirectory(dir=self.work) as work:
            folder, temporary = Path(work, "files"), Path(work, "temporary")
            folder.mkdir()
            temporary.mkdir()
            entries = []
            for number, patch in enumerate(patches):
                # As a file: kustomize quotes whole patches that stand in a kustomization, and never a file's content.
                (folder / f"patch-{number}").write_bytes(patch.content)
                entries.append({"path": f"patch-{number}", **patch.fields})
            (folder / "objects.yaml").write_text(text_for_kustomize(manifests), encoding="utf-8", newline="")
            kustomization = {"resources": ["objects.yaml"], "patches": entries, "sortOptions": {"order": "fifo"}}
            (folder / "kustomization.yaml").write_text(json.dumps(kustomization), encoding="utf-8")
            try:
                return self.kustomize.build_own(folder, work=temporary)
            except ProgramError as error:
                return patch_error(error.errors, folder.resolve(), patches[-1].place if patches else "")

    def _check_targets(
        self,
        before: Sequence[Manifest],
        after: Sequence[Manifest],
        held: Sequence[Manifest],
        reasons: dict[Identity, str],
    ) -> None:
        """See that each target selects something, of the objects as they were or as other patches made them.

        :raises RenderError: it does not, or it selects one of ``held``.
        """
        waiting = [patch for patch in self.patches if "target" in patch.fields]
        for patch, identity in self._selected(waiting, held):
            raise _out_of_reach(patch.place, str(identity), reasons[identity])
        for manifests in (before, after):
            found = {patch.place for patch, _ in self._selected(waiting, manifests)}
            waiting = [patch for patch in waiting if patch.place not in found]
        for patch in waiting:
            raise RenderError("its target selects no object", subject=patch.place, hint=_CORRECT_TARGET)

    def _selected(self, patches: Sequence[_Patch], manifests: Sequence[Manifest]) -> Iterator[tuple[_Patch, Identity]]:
        """Which targets select which objects. kustomize itself says so: it marks what it would patch."""
        identified = {identity: manifest for manifest in manifests if (identity := Identity.of(manifest))}
        if not patches or not identified:
            return
        marks = [
            replace(
                patch,
                content=json.dumps([{"op": "add", "path": f"/{number}", "value": True}]).encode(),
                fields={"target": patch.fields["target"]},
            )
            for number, patch in enumerate(patches)
        ]
        output = self._built([outline(manifest) for manifest in identified.values()], marks)
        for manifest in manifests_of_kustomize(output.text):
            identity = Identity.of(manifest)
            assert identity is not None
            for number, patch in enumerate(patches):
                if str(number) in manifest:
                    yield patch, identity


def _out_of_reach(place: str, title: str, reason: str) -> RenderError:
    return RenderError(
        f"{title} can't be patched: {reason}", subject=place, hint="correct the source, or patch other objects alone"
    )


def _named_by(patch: _Patch) -> list[Identity]:
    """The objects that a merge patch without a target names.

    :raises AddonError: it is no patch, or one that kustomize would do nothing with, without a word.
    """
    documents = read_documents(patch.content, patch.place)
    values = [document.value for document in documents]
    if not any(values):
        raise RenderError("is empty", subject=patch.place, hint="remove it")
    if isinstance(values[0], list) and len(values) == 1:
        return []
    identities = []
    for document in documents:
        if not isinstance(document.value, dict):
            raise RenderError(
                "is neither a merge patch (an object) nor a JSON patch (one list of operations)",
                subject=document.place,
                hint="correct it",
            )
        identity = Identity.of(document.value)
        if identity is None:
            raise RenderError(
                "a merge patch lacks kind or metadata.name",
                subject=document.place,
                hint="kustomize needs them also where a target is given, which then counts instead",
            )
        identities.append(identity)
    return identities if "target" not in patch.fields else []


def _with_sources(fit: Sequence[int], objects: Sequence[SourceObject], made: Sequence[Manifest]) -> dict[int, Manifest]:
    """What kustomize made of objects, by their place in the source. It keeps their order, and patches delete some."""
    if len(made) == len(fit):
        return dict(zip(fit, made, strict=True))
    known = {Identity.of(objects[place].manifest): place for place in fit}
    found = [known.get(Identity.of(manifest)) for manifest in made]
    left = sorted(set(fit) - set(found))
    placed: dict[int, Manifest] = {}
    last = -1
    for place, manifest in zip(found, made, strict=True):
        if place is None:
            # Renamed, while others were deleted: which of two neighbours it was matters to messages alone.
            place = next((one for one in left if one > last), left[0])
            left.remove(place)
        placed[place] = manifest
        last = place
    return placed
