"""Runs kustomize: what a kustomization builds, with no more reach than it was given.

Unless it is allowed to, a build can't start a program (an empty ``PATH``, no plugin or helm flag), can't reach another
host (a proxy that is none), and what could lead out of the files it was given is looked for once more before it starts.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cache.folder import CacheFolder
from ..model.cluster_facts import ClusterFacts
from ..model.errors import RenderError
from ..model.kustomization import KUSTOMIZATION_NAMES
from .git_variables import OF_ANOTHER_REPOSITORY
from .kustomize_errors import build_error
from .program import Output, Program, ProgramError

try:
    import yaml
except ImportError:  # pragma: no cover  (the module's edge reports it)
    yaml = None  # type: ignore[assignment]

_NOWHERE = "http://127.0.0.1:0"
_NETWORK = frozenset({"http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"})
_DOWNLOADED = re.compile(r"https?:", re.IGNORECASE)
_BUILTIN = b"builtin"
_TEXTS = frozenset({"commonannotations", "commonlabels", "labels", "literals", "metadata"})
"""What people write there is a text, whatever it looks like."""

_NAMES_OF_PATHS = frozenset({"path", "env", "targetfilepath", "valuesfile"})
_MOST_TEXTS = 3
"""Configurations of plugins in texts of others; kustomize reads them from one."""


@dataclass(frozen=True, slots=True)
class Kustomize:
    program: Program
    cache: CacheFolder

    def version(self) -> str:
        """Such as ``v5.8.1``. :raises RenderError: the program is no kustomize."""
        return self.program.version(self.cache, "version", environment=_closed(Path("/")), folder=Path("/"))

    def build(
        self, root: Path, path: str, *, work: Path, may: Collection[str], helm: Path | None, cluster: ClusterFacts
    ) -> Output:
        """The objects of a kustomization, as YAML.

        :param root: the files it may read, and nothing else; nobody else writes to them.
        :param path: its folder, relative to ``root``.
        :param work: for temporary files of kustomize and what it starts.
        :param may: ``remote``, ``helm``, ``plugins``: what it needs beyond reading files, and was allowed.
        :param helm: the program, used if ``may`` has ``helm``, for this cluster.
        :raises RenderError: one line with folder and what to do.
        """
        root = root.resolve()
        if not may:
            _check_reach(root)
        options = ["--enable-alpha-plugins", "--enable-exec"] if "plugins" in may else []
        if "helm" in may:
            options += ["--enable-helm", "--helm-command", str(helm), "--helm-kube-version", cluster.version]
            for name in sorted(cluster.api_versions):
                options += ["--helm-api-versions", name]
        try:
            return self.program.run("build", *options, ".", environment=_environment(work, may), folder=root / path)
        except ProgramError as error:
            raise build_error(error.errors, root, path) from error

    def build_own(self, folder: Path, *, work: Path) -> Output:
        """The same of a kustomization that this collection wrote, which names nothing but files beside it.

        :raises ProgramError: it does not build. :raises RenderError: the program can't be used, or does not end.
        """
        return self.program.run("build", ".", environment=_closed(work), folder=folder)


def _environment(work: Path, may: Collection[str]) -> dict[str, str]:
    if {"remote", "plugins"} & set(may):
        # git and plugins are the user's own, and so are their settings.
        own = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_REPOSITORY}
        return own | {"GIT_TERMINAL_PROMPT": "0", "TMPDIR": str(work)}
    if "helm" in may:
        # It may have to download the chart.
        network = {name: value for name, value in os.environ.items() if name.lower() in _NETWORK}
        return {"PATH": "", "TMPDIR": str(work)} | network
    return _closed(work)


def _closed(work: Path) -> dict[str, str]:
    return {"PATH": "", "TMPDIR": str(work), "HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE}


def _check_reach(root: Path) -> None:
    """Look for URLs and folders outside of ``root`` in every kustomization and configuration of a plugin there.

    Whoever says what a kustomization reads has looked at its fields. This looks at every text that stands where a path
    may, in whatever field and document: kustomize goes to the loopback without a proxy, and follows ``..`` to any
    kustomization of this host.

    :raises RenderError: something leads out.
    """
    for file in root.rglob("*"):
        if file.is_symlink() or not file.is_file():
            continue
        content = file.read_bytes()
        kustomization = file.name in KUSTOMIZATION_NAMES
        if kustomization or _BUILTIN in content:
            for text in _possible_paths(content, kustomization):
                if _DOWNLOADED.match(text) or _leads_out(root, file.parent, text):
                    raise RenderError(
                        "names something outside of the repository",
                        subject=str(file.relative_to(root)),
                        hint="remove it, or add remote to addon_kustomize_allow",
                    )


def _possible_paths(content: bytes | str, kustomization: bool, texts: int = _MOST_TEXTS) -> Iterator[str]:
    """Of a kustomization, or else of those documents only that configure a built-in plugin.

    :param texts: how far documents in texts of documents are looked for.
    """
    try:
        for document in yaml.compose_all(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if kustomization or _configures(document):
                yield from _scalars(document, texts)
    except (yaml.YAMLError, RecursionError):
        # kustomize can't read it either, and says so if it has to.
        return


def _configures(document: Any) -> bool:
    return isinstance(document, yaml.MappingNode) and any(
        (key.value, value.value) == ("apiVersion", _BUILTIN.decode()) for key, value in document.value
    )


def _scalars(document: Any, texts: int) -> Iterator[str]:
    """Each node is looked at once: aliases share nodes, in numbers that have no end."""
    waiting, known = [(document, True)], set()
    while waiting:
        node, may_be_path = waiting.pop()
        if (id(node), may_be_path) in known:
            continue
        known.add((id(node), may_be_path))
        match node:
            case yaml.SequenceNode():
                waiting += [(item, True) for item in node.value]
            case yaml.MappingNode():
                # Any other key has no name, and no end as a text.
                named = [(key.value if isinstance(key, yaml.ScalarNode) else "", value) for key, value in node.value]
                folded = [(name.casefold(), value) for name, value in named]
                waiting += [(value, name in _NAMES_OF_PATHS) for name, value in folded if name not in _TEXTS]
            case yaml.ScalarNode(value=text) if "\n" in text or text.startswith("{"):
                if texts:
                    yield from _possible_paths(text, False, texts - 1)
            case yaml.ScalarNode(value=text) if may_be_path:
                # Data files are written key=path.
                yield text
                yield text.partition("=")[2]


def _leads_out(root: Path, folder: Path, text: str) -> bool:
    """Whether it is the relative path of an existing folder outside of ``root``; absolute ones kustomize refuses."""
    if ".." not in text or text.startswith("/") or "\0" in text:
        return False
    target = Path(posixpath.normpath(folder / text))
    try:
        return not target.is_relative_to(root) and target.is_dir()
    except OSError:
        # Too long for a name.
        return False
