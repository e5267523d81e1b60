"""Plain YAML: a git folder, every ``.yaml``, ``.yml`` and ``.json`` file below it, in the order of their paths."""

from __future__ import annotations

from ...model.definition import GitSource
from ...model.errors import RenderError
from ...model.normalise import SourceObject
from ...model.yaml_documents import read_documents
from ...repository.git import SYMBOLIC_LINK, TreeEntry
from .git_folder import folder_entries, refuse_lfs_pointer, refuse_values
from .source import Preparation, Rendered, SourceRequest

_SUFFIXES = (".yaml", ".yml", ".json")


class PlainSource:
    """Files are taken as they are; nothing in them is ever templated."""

    kind = "plain"

    def accepts(self, request: SourceRequest) -> bool:
        return isinstance(request.definition.source, GitSource)

    def prepare(self, request: SourceRequest) -> Preparation:
        source, checkout = request.definition.source, request.source
        assert isinstance(source, GitSource)
        refuse_values(request.definition, "plain YAML takes no values")
        entries = folder_entries(checkout, source.path)
        if not any(_holds_objects(entry) for entry in entries):
            raise RenderError(f"git.path: {source.path} holds no .yaml, .yml or .json file")
        inputs = {"tree": checkout.tree_id(source.path), "path": source.path}
        return Preparation(inputs, checkout.commit[:12], lambda: _read(request, entries))


def _holds_objects(entry: TreeEntry) -> bool:
    """In capitals, too: whoever renames a file does not mean to delete what is in it."""
    return entry.path.lower().endswith(_SUFFIXES)


def _read(request: SourceRequest, entries: list[TreeEntry]) -> Rendered:
    rendered = Rendered()
    files = [entry for entry in entries if _holds_objects(entry)]
    for link in [entry for entry in entries if entry.mode == SYMBOLIC_LINK]:
        if link in files:
            raise RenderError("is a symbolic link", subject=link.path, hint="give a file")
        # It may lead to a folder full of objects.
        rendered.warnings.append(f"{link.path} is a symbolic link and not followed")
    for path, content in request.source.read(files).items():
        refuse_lfs_pointer(content, path)
        documents = read_documents(content, path)
        several = len(documents) > 1
        rendered.documents.extend(
            SourceObject(document.value, f"{path}, document {document.index}" if several else path)
            for document in documents
        )
    return rendered
