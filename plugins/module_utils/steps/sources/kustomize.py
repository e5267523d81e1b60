"""Kustomizations: git folders with a kustomization file. kustomize itself builds them, from the files of the commit."""

from __future__ import annotations

import posixpath
import re
import tempfile
from pathlib import Path

from ...model.cluster_facts import Asked
from ...model.definition import GitSource
from ...model.normalise import SourceObject
from ...model.yaml_documents import read_documents
from ...programs.helm import Helm
from ...programs.kustomize import Kustomize
from ...programs.kustomize_errors import warnings_of
from ...repository.export import common_folder, export
from .git_folder import refuse_encrypted, refuse_lfs_pointer, refuse_values
from .kustomization_walk import Reads, kustomization_files, reads_of
from .source import Preparation, Rendered, SourceRequest, another_second, second_of

_OBJECT = re.compile(rb"""^(?:kind|\t?"kind")\s*:""", re.MULTILINE)


class KustomizeSource:
    """``kustomize build`` of a folder and of what it reads elsewhere in the repository."""

    kind = "kustomize"

    def accepts(self, request: SourceRequest) -> bool:
        source = request.definition.source
        return isinstance(source, GitSource) and bool(kustomization_files(request.source, source.path))

    def prepare(self, request: SourceRequest) -> Preparation:
        source, tools = request.definition.source, request.tools
        assert isinstance(source, GitSource)
        refuse_values(request.definition, "a kustomization takes no values")
        reads = reads_of(request.source, source.path, tools.allow)
        folder = common_folder(reads.folders)
        kustomize = Kustomize(tools.kustomize(), tools.cache)
        inputs = {
            "folder": [folder, request.source.tree_id(folder)],
            "path": reads.path,
            "kustomize": kustomize.version(),
            "needs": sorted(reads.needs),
        }
        if "helm" in reads.needs:
            inputs |= {
                "helm": Helm(tools.helm(), tools.cache, tools.work).version(),
                "cluster": request.cluster.version,
            }
        return Preparation(
            inputs,
            request.source.commit[:12],
            lambda: _render(request, kustomize, reads, folder),
            # What is downloaded, and what a plugin reads, may be another thing tomorrow.
            keep=not reads.needs & {"remote", "plugins"},
        )


def _render(request: SourceRequest, kustomize: Kustomize, reads: Reads, folder: str) -> Rendered:
    tools = request.tools
    with tempfile.TemporaryDirectory(dir=tools.work) as work:
        root, temporary = Path(work, "files"), Path(work, "temporary")
        root.mkdir()
        temporary.mkdir()
        contents = request.source.read(reads.files)
        for file, content in contents.items():
            refuse_lfs_pointer(content, file)
            # Objects can be meant to be encrypted: the kind decides, once they are read.
            if not _OBJECT.search(content):
                refuse_encrypted(content, file)
        if reads.needs & {"helm", "plugins"}:
            # They read what they like.
            export(request.source, folder, root)
        else:
            _write(contents, reads.links, root)
        if "remote" in reads.needs:
            tools.progress(f"building {reads.path} with remote bases")

        def built() -> tuple[list[SourceObject], list[str]]:
            output = kustomize.build(
                root,
                reads.path,
                work=temporary,
                may=reads.needs,
                helm=tools.helm().path if "helm" in reads.needs else None,
                cluster=request.cluster,
            )
            documents = [
                SourceObject(document.value, f"{reads.path}, document {document.index}")
                for document in read_documents(output.text, reads.path)
            ]
            return documents, warnings_of(output.errors, reads.path)

        documents, warnings = built()
        second = []
        if reads.needs & {"helm", "plugins"}:
            # Only these can make something up.
            another_second()
            second = second_of(documents, built()[0])
    asked = Asked(None) if "helm" in reads.needs else Asked()
    return Rendered(documents, warnings, asked, second)


def _write(contents: dict[str, bytes], links: dict[str, str], root: Path) -> None:
    """What is read, and nothing else: what was overlooked is then missing, and no other kustomization in the way."""
    for file, content in contents.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(content)
    for link, target in links.items():
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(posixpath.relpath(target, posixpath.dirname(link) or "."))
