"""Plain YAML: a git folder, every ``.yaml``, ``.yml`` and ``.json`` file below it, in the order of their paths."""

from __future__ import annotations

from pathlib import PurePosixPath

from ...model.definition import GitSource
from ...model.errors import RenderError, RepositoryError
from ...model.normalise import SourceObject
from ...model.yaml_documents import read_documents
from ...repository.git import SUBMODULE, SYMBOLIC_LINK
from .source import Rendered, SourceRequest

_SUFFIXES = (".yaml", ".yml", ".json")
_OTHER_KINDS = {
    "Chart.yaml": "a Helm chart",
    "kustomization.yaml": "a kustomization",
    "kustomization.yml": "a kustomization",
    "Kustomization": "a kustomization",
}
_LFS_HEADER = b"version https://git-lfs.github.com/spec/"


class PlainSource:
    """Files are taken as they are; nothing in them is ever templated."""

    kind = "plain"

    def accepts(self, request: SourceRequest) -> bool:
        return isinstance(request.definition.source, GitSource)

    def render(self, request: SourceRequest) -> Rendered:
        source, checkout = request.definition.source, request.checkout
        assert isinstance(source, GitSource)
        if source.repo or source.revision:
            raise RenderError(
                "git.repo, git.revision: this version reads folders of the gitops repository only",
                hint="move the folder there, or leave both fields out",
            )
        if request.definition.values or request.definition.values_from or source.values_files:
            raise RenderError(
                "values, valuesFrom, valuesFiles: plain YAML takes no values", hint="remove them, or use a chart"
            )
        try:
            entries = checkout.entries(source.path, recursive=True)
        except RepositoryError as error:
            raise RenderError(f"git.path: {source.path}: {error.message}", hint=error.hint) from error
        for entry in entries:
            other = _OTHER_KINDS.get(str(PurePosixPath(entry.path).relative_to(source.path)))
            if other:
                raise RenderError(f"git.path: {source.path} is {other}, which this version can't render")
            if entry.mode == SUBMODULE:
                raise RenderError("is a git submodule, which is not fetched", subject=entry.path, hint="copy its files")
        files = [entry for entry in entries if entry.path.endswith(_SUFFIXES)]
        if not files:
            raise RenderError(f"git.path: {source.path} holds no .yaml, .yml or .json file")
        rendered = Rendered(checkout.commit, {"tree": checkout.tree_id(source.path)})
        for link in [entry for entry in entries if entry.mode == SYMBOLIC_LINK]:
            if link in files:
                raise RenderError("is a symbolic link", subject=link.path, hint="give a file")
            # It may lead to a folder full of objects.
            rendered.warnings.append(f"{link.path} is a symbolic link and not followed")
        for path, content in checkout.read(files).items():
            if content.startswith(_LFS_HEADER):
                raise RenderError("is a Git LFS pointer, not the file", subject=path, hint="commit the file itself")
            documents = read_documents(content, path)
            several = len(documents) > 1
            rendered.documents.extend(
                SourceObject(document.value, f"{path}, document {document.index}" if several else path)
                for document in documents
            )
        return rendered
