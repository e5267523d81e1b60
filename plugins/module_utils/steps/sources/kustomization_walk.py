"""What a kustomization reads of a commit: it is followed from file to file, through git alone.

Nothing that leads out of the repository passes: no remote base, no absolute path, no ``..`` and no symbolic link too
many. What does not exist is named here with its field, which kustomize itself does not tell.
"""

from __future__ import annotations

import functools
import posixpath
from collections import deque
from dataclasses import dataclass, field

from ...model.errors import RenderError, RepositoryError
from ...model.kustomization import (
    KUSTOMIZATION_NAMES,
    Form,
    Reference,
    references_of_kustomization,
    references_of_plugins,
)
from ...repository.git import SUBMODULE, SYMBOLIC_LINK, Checkout, TreeEntry

_MOST_LINKS = 40
"""As for Linux."""

_LONGEST_PATH = 4096
"""As for Linux; git has no limit."""

_MOST_STEPS = 1_000_000
"""Parts of paths, symbolic links followed, that one kustomization may lead through with all that it names."""

_MOST_LEVELS = 50


@dataclass(frozen=True, slots=True)
class Reads:
    """What one kustomization reads.

    :param path: its folder.
    :param files: every file that it names.
    :param links: symbolic links on the way, with the path that each leads to in the end.
    :param folders: those that hold all of this, and whatever charts and plugins may read.
    :param needs: what it needs beyond reading files: ``remote``, ``helm``, ``plugins``.
    """

    path: str
    files: tuple[TreeEntry, ...]
    links: dict[str, str]
    folders: frozenset[str]
    needs: frozenset[str]


def kustomization_files(checkout: Checkout, path: str) -> list[str]:
    """The kustomization files in a folder: none, one, or too many."""
    try:
        entries = checkout.entries(path, recursive=False)
    except RepositoryError:
        return []
    blobs = {posixpath.basename(entry.path) for entry in entries if entry.kind == "blob"}
    return [name for name in KUSTOMIZATION_NAMES if name in blobs]


def reads_of(checkout: Checkout, path: str, allow: frozenset[str]) -> Reads:
    """Everything that the kustomization in a folder reads.

    :raises AddonError: it names what is not there, leads out of the repository, or needs what is not allowed.
    """
    walk = _Walk(checkout, allow)
    here = posixpath.normpath(path)
    walk.kustomization(here, [])
    links = {link: walk.tree.follow(link) or "" for link in sorted(walk.tree.targets)}
    holders = {posixpath.dirname(name) or "." for name in (*walk.files, *links)}
    return Reads(
        here,
        tuple(walk.tree.entries[name] for name in sorted(walk.files)),
        links,
        frozenset(walk.folders | holders),
        frozenset(walk.needs),
    )


@functools.lru_cache(maxsize=4)
def _listing(checkout: Checkout) -> tuple[dict[str, TreeEntry], set[str]]:
    """The files of a commit by path, and its folders. Kept for the next add-on of the repository."""
    listed = checkout.entries(".", recursive=True)
    entries = {entry.path: entry for entry in listed if len(entry.path) <= _LONGEST_PATH}
    folders = {"."}
    for path in entries:
        while (path := posixpath.dirname(path)) and path not in folders:
            folders.add(path)
    return entries, folders


class _Tree:
    """The files of a commit, with symbolic links followed as a file system would."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self.entries, self.folders = _listing(checkout)
        self.targets: dict[str, str] = {}
        """The symbolic links that were followed, as they are written."""
        self._steps = 0

    def follow(self, path: str) -> str | None:
        """Where a path really leads, ``None`` when that is out of the repository.

        :raises RenderError: paths and links are far longer, or far more, than anybody has.
        """
        # Each part with all before it.
        here: list[str] = []
        rest = deque(path.split("/"))
        links = 0
        while rest:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise RenderError("leads through too many paths and symbolic links", hint="name fewer files")
            match rest.popleft():
                case "" | ".":
                    continue
                case ".." if not here:
                    return None
                case "..":
                    here.pop()
                    continue
                case name:
                    here.append(f"{here[-1]}/{name}" if here else name)
            if len(here[-1]) > _LONGEST_PATH:
                return None
            entry = self.entries.get(here[-1])
            if entry and entry.mode == SYMBOLIC_LINK:
                links += 1
                if entry.path not in self.targets:
                    self.targets[entry.path] = self.read(entry).decode("utf-8", "replace")
                target = self.targets[entry.path]
                if links > _MOST_LINKS or target.startswith("/") or len(target) > _LONGEST_PATH:
                    return None
                here.pop()
                rest.extendleft(reversed(target.split("/")))
        return here[-1] if here else "."

    def read(self, entry: TreeEntry) -> bytes:
        return self._checkout.read([entry])[entry.path]


@dataclass
class _Folder:
    """A kustomization that is being walked.

    :param file: its kustomization file.
    :param base: the folder that paths in configurations of plugins are relative to, empty when it builds objects.
    """

    path: str
    file: str
    base: str


@dataclass
class _Walk:
    checkout: Checkout
    allow: frozenset[str]
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    needs: set[str] = field(default_factory=set)
    done: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tree = _Tree(self.checkout)

    def kustomization(self, path: str, above: list[str], base: str = "") -> None:
        """Follow the kustomization in a folder.

        :param above: the folders of those that led here.
        :param base: as in ``_Folder``.
        """
        if (path, base) in self.done:
            return
        self.done.add((path, base))
        found = [name for name in KUSTOMIZATION_NAMES if posixpath.normpath(f"{path}/{name}") in self.tree.entries]
        if len(found) > 1:
            raise RenderError(f"holds more than one kustomization: {', '.join(found)}", subject=path, hint="keep one")
        file = posixpath.normpath(f"{path}/{found[0]}")
        folder = _Folder(path, file, base)
        entry = self._file(Reference("", found[0], Form.FILE), folder, path)
        for reference in references_of_kustomization(self.tree.read(entry), file, configures=bool(base)):
            self._follow(reference, folder, path, [*above, path])

    def _follow(self, reference: Reference, folder: _Folder, start: str, above: list[str]) -> None:
        if reference.form is Form.PLUGIN:
            what = f"{reference.path} is a program of its own" if reference.path else "may turn a plugin into another"
            self._need("plugins", reference, folder, what)
            # It may read whatever is there.
            self.folders.add(".")
        elif reference.form is Form.CHART:
            self._need("helm", reference, folder, "takes helm")
            self._chart(reference, folder, start)
        elif reference.remote:
            self._need("remote", reference, folder, "lies outside of the repository")
            if reference.moves:
                raise _error(reference, folder, "may change without a commit here", "add ?ref= with a full commit id")
        elif reference.form is Form.FOLDER or (
            reference.form is Form.FILE_OR_FOLDER and self._path(reference, folder, start) in self.tree.folders
        ):
            self._base(reference, folder, start, above)
        else:
            entry = self._file(reference, folder, start)
            base = folder.base or folder.path
            if reference.configures and (entry.path, base) not in self.done:
                self.done.add((entry.path, base))
                for inner in references_of_plugins(self.tree.read(entry), entry.path):
                    self._follow(inner, _Folder(folder.path, entry.path, ""), base, above)

    def _need(self, what: str, reference: Reference, folder: _Folder, message: str) -> None:
        if what not in self.allow:
            if what == "remote":
                hint = "copy it into the repository, write ./ before the name of a folder, or add remote to"
            else:
                hint = f"remove it, or add {what} to"
            raise _error(reference, folder, message, f"{hint} addon_kustomize_allow")
        self.needs.add(what)

    def _base(self, reference: Reference, folder: _Folder, start: str, above: list[str]) -> None:
        path = self._path(reference, folder, start)
        if path not in self.tree.folders:
            raise self._missing(reference, folder, path, "a folder is needed")
        if not any(posixpath.normpath(f"{path}/{name}") in self.tree.entries for name in KUSTOMIZATION_NAMES):
            raise _error(
                reference,
                folder,
                f"{reference.path} is a folder without a kustomization",
                "add a kustomization.yaml there that lists its files under resources",
            )
        if any(path == "." or visited == path or visited.startswith(f"{path}/") for visited in above):
            raise _error(reference, folder, f"{reference.path} is the folder itself or holds it", "remove it")
        if len(above) > _MOST_LEVELS:
            raise _error(reference, folder, f"is below {_MOST_LEVELS} other kustomizations", "use fewer")
        self.kustomization(path, above, (folder.base or folder.path) if reference.configures else "")

    def _file(self, reference: Reference, folder: _Folder, start: str) -> TreeEntry:
        path = self._path(reference, folder, start)
        entry = self.tree.entries.get(path)
        if entry is None or entry.mode == SUBMODULE:
            raise self._missing(reference, folder, path, "a file is needed")
        self.files.add(path)
        return entry

    def _chart(self, reference: Reference, folder: _Folder, start: str) -> None:
        path = self._path(reference, folder, start)
        if path in self.tree.folders and path not in self.folders:
            inside = [entry for entry in self.tree.entries.values() if entry.path.startswith(f"{path}/")]
            linked = any(entry.mode == SYMBOLIC_LINK for entry in inside)
            self.folders.add("." if linked else path)

    def _path(self, reference: Reference, folder: _Folder, start: str) -> str:
        """Where it leads: cleaned as a text first, as kustomize does, then followed."""
        if len(reference.path) > _LONGEST_PATH:
            raise _error(reference, folder, f"is longer than {_LONGEST_PATH} characters", "name a file or a folder")
        cleaned = posixpath.normpath(posixpath.join(start, reference.path))
        path = None if cleaned.startswith(("/", "../")) or cleaned == ".." else self.tree.follow(cleaned)
        if path is None:
            raise _error(
                reference, folder, f"{reference.path} leads out of the repository", "copy what is meant into it"
            )
        return path

    def _missing(self, reference: Reference, folder: _Folder, path: str, needed: str) -> RenderError:
        entry = self.tree.entries.get(path)
        if any(parent.mode == SUBMODULE for parent in (*self._parents(path), *([entry] if entry else []))):
            return _error(reference, folder, f"{reference.path} is in a git submodule, which is not fetched", "copy it")
        if entry or path in self.tree.folders:
            what = "a file" if entry else "a folder"
            return _error(reference, folder, f"{reference.path} is {what}, {needed}", "correct the path")
        commit = self.checkout.commit[:12]
        return _error(
            reference, folder, f"{reference.path} is not in commit {commit}", "correct the path, or commit it"
        )

    def _parents(self, path: str) -> list[TreeEntry]:
        parts = path.split("/")
        names = ["/".join(parts[:end]) for end in range(1, len(parts))]
        return [self.tree.entries[name] for name in names if name in self.tree.entries]


def _error(reference: Reference, folder: _Folder, message: str, hint: str) -> RenderError:
    return RenderError(f"{reference.field}: {message}" if reference.field else message, subject=folder.file, hint=hint)
