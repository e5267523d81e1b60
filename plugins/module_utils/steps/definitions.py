"""The first step: reads the definition files at a commit and makes the Addon records match them.

A file that breaks a rule protects its add-on and stops nobody else. A record is never deleted here: what a removed
file means is decided, and carried out, later in the run.
"""

from __future__ import annotations

import base64
import getpass
import os
import platform
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ..cache.folder import CacheFolder
from ..cluster.access import AccessOptions, Credential, resolve
from ..cluster.client import ApiError, Client
from ..cluster.discovery import Discovery, discover
from ..model.definition import Definition, claimed_name, dependency_order, parse_definition
from ..model.errors import AddonError, CacheError, CredentialError, DefinitionError, DocumentError, RepositoryError
from ..model.names import KEY_FIELD, KEY_SECRET, PREVIEWER_ROLE, RECORD_CRD, SOURCE_ANNOTATION
from ..model.record import Record, record_manifest
from ..model.run_directory import InvalidDefinition, RunDirectory, RunInfo, RunOptions, SourcedDefinition
from ..model.run_process import mark_of
from ..model.wording import listed
from ..repository.git import SYMBOLIC_LINK, Checkout, TreeEntry
from ..repository.remote import fetch, is_url
from .acting_account import check_acting_account
from .cluster_identity import from_elsewhere, read_cluster
from .records import apply_record, bootstrap_error, list_records
from .removals import removed_addons
from .session import save_credential
from .tombstones import read_tombstone

_READS_ONLY = (
    f"this preview only reads, since its user may not read the Secret {KEY_SECRET}, as whoever may write can: nothing "
    "is dry-run, and what reading does not tell is unknown. For a full preview bind the user to the role "
    f"{PREVIEWER_ROLE} and give addon_impersonate"
)


@dataclass(frozen=True, slots=True)
class DefinitionsRequest:
    """What a run is to work on: repository, folder of definitions, cluster, options."""

    repo: str
    revision: str
    path: str
    access: AccessOptions
    options: RunOptions
    check: bool
    process: int
    progress: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DefinitionsResult:
    """The opened run.

    ``written`` names the records that were (in check mode: would be) created or updated, ``ignored`` what is in the
    folder of definition files and is none.
    """

    directory: RunDirectory
    info: RunInfo
    records: dict[str, Record]
    written: list[str]
    ignored: list[str]


@dataclass(slots=True)
class _Files:
    """The definition files of a commit, sorted into valid and invalid ones, and the names of what is beside them."""

    valid: dict[str, SourcedDefinition] = field(default_factory=dict)
    invalid: list[InvalidDefinition] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    def refuse(self, name: str, reason: str) -> None:
        self.invalid.append(InvalidDefinition(self.valid.pop(name).file, name, reason))

    @property
    def protected(self) -> set[str]:
        return {item.name for item in self.invalid if item.name}


def read_definitions(request: DefinitionsRequest) -> DefinitionsResult:
    """Open a run.

    :raises RepositoryError: when the repository, its revision or the folder can't be read.
    :raises ClusterError: when the cluster can't be used. :raises BootstrapError: when it is not prepared.
    """
    if not request.options.impersonate.isprintable():
        raise CredentialError(
            "is no name of an account", subject="addon_impersonate", hint="give system:serviceaccount:…"
        )
    directory = RunDirectory.create(request.process)
    try:
        warnings: list[str] = []
        cache = _cache(request.options.cache, directory, warnings)
        checkout = _checkout(request, cache)
        files = _read_files(checkout, request.path)
        credential = resolve(request.access)
        request.options.cache = str(cache.path)
        return _open_run(request, checkout, files, credential, directory, warnings)
    except BaseException:
        directory.remove()
        raise


def _cache(wanted: str, directory: RunDirectory, warnings: list[str]) -> CacheFolder:
    """The cache that was asked for, or the user's own; where there is no place for that, one that ends with the run."""
    try:
        return CacheFolder.open(wanted)
    except CacheError as error:
        if wanted:
            raise
        warnings.append(f"nothing is kept for the next run: {error}")
        return CacheFolder.open(str(directory.path / "cache"))


def _checkout(request: DefinitionsRequest, cache: CacheFolder) -> Checkout:
    if is_url(request.repo):
        seconds = request.options.program_seconds
        return fetch(request.repo, request.revision, cache, seconds, request.progress)
    return Checkout.open(os.path.expandvars(request.repo), request.revision)


def _open_run(
    request: DefinitionsRequest,
    checkout: Checkout,
    files: _Files,
    credential: Credential,
    directory: RunDirectory,
    warnings: list[str],
) -> DefinitionsResult:
    options = request.options
    login = directory.folder("credential")
    client = Client(credential, workers=options.workers, files=login)
    discovery = discover(client)
    records = list_records(client)
    key, hidden = _read_key(client, options.state_namespace, required=not request.check and records is not None)
    if records is None and not request.check:
        raise bootstrap_error(f"kind {RECORD_CRD}")
    if key is None and not request.check:
        raise bootstrap_error(f"Secret {options.state_namespace}/{KEY_SECRET}")
    acting = client
    if options.impersonate:
        acting = Client(credential, impersonate=options.impersonate, files=login, answered=True)
        check_acting_account(client, acting, options.state_namespace)
    # Who may not even read the key has no rights to write either; asking for them would be a writing request itself.
    reads_only = request.check and hidden and not options.impersonate
    known = records or {}
    _check_dependencies(files)
    order, cycles = dependency_order({name: sourced.definition for name, sourced in files.valid.items()})
    for name, error in cycles.items():
        files.refuse(name, f"{files.valid[name].file}: {error.message}")
    order = [name for name in order if name in files.valid]
    defined = files.valid.keys() | files.protected
    has_commit = _has_commit(request, checkout)
    removed, doubts = removed_addons(checkout, request.path, known, defined, files.invalid, options.only, has_commit)
    chosen = _chosen(options.only, [*order, *files.protected, *removed])
    cluster, unknown_cluster = read_cluster(acting, client)
    info = RunInfo(
        run_id=secrets.token_hex(6),
        host=platform.node(),
        user=_user(),
        pid=request.process,
        started=time.time(),
        repository=str(checkout.root / checkout.prefix),
        remote=request.repo if is_url(request.repo) else "",
        commit=checkout.commit,
        path=request.path,
        server=credential.host,
        context=credential.context,
        server_version=discovery.server_version,
        check=request.check,
        comparable=key is not None,
        record_kind_served=records is not None,
        options=options,
        order=[name for name in order if name in chosen],
        others=[name for name in order if name not in chosen],
        invalid=[item for item in files.invalid if item.name in chosen or not item.name],
        removed=[name for name in removed if name in chosen],
        reads_only=reads_only,
        warnings=[
            *([_READS_ONLY] if reads_only else []),
            *warnings,
            *filter(None, [checkout.news]),
            *_uncommitted(checkout, request.revision),
            *doubts,
            *filter(None, [unknown_cluster]),
        ],
        process=mark_of(request.process, directory.path),
        cluster=cluster,
    )
    _refuse_from_elsewhere(info, known)
    written = _write_records(client, checkout, files, info, known)
    _recall(client, info, known)
    _refuse_from_elsewhere(info, known)
    _save(directory, info, files, known, discovery)
    save_credential(directory, credential, request.access, key or secrets.token_bytes(32))
    return DefinitionsResult(directory, info, known, written, files.ignored)


def _user() -> str:
    """Who runs this; in a container the account may have a number only."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _save(
    directory: RunDirectory, info: RunInfo, files: _Files, records: dict[str, Record], discovery: Discovery
) -> None:
    for sourced in files.valid.values():
        directory.save_definition(sourced)
    directory.save_records(records)
    directory.write_json("discovery.json", discovery.to_json())
    directory.save_info(info)


def _has_commit(request: DefinitionsRequest, checkout: Checkout) -> Callable[[str], bool]:
    """Whether the repository has a commit; a clone without its older commits is believed to have it."""

    def of_remote(commit: str) -> bool:
        """The clone holds what was fetched, so the remote is asked."""
        options = request.options
        try:
            fetch(request.repo, commit, CacheFolder.open(options.cache), options.program_seconds, request.progress)
        except RepositoryError:
            return False
        return True

    return of_remote if is_url(request.repo) else lambda commit: checkout.shallow or checkout.has_commit(commit)


# Files


def _read_files(checkout: Checkout, path: str) -> _Files:
    if path.startswith("/") or ".." in PurePosixPath(path).parts:
        raise RepositoryError("addon_path is a folder inside addon_repo", subject=path)
    try:
        entries = checkout.entries(path, recursive=False)
    except RepositoryError as error:
        error.hint = error.hint or "give the folder with the definition files as addon_path; nothing was removed"
        raise
    named = [entry for entry in entries if _is_definition_file(entry)]
    files, parsed = _Files(ignored=_ignored(entries, named)), defaultdict[str, list[SourcedDefinition]](list)
    contents = checkout.read(entry for entry in named if entry.mode != SYMBOLIC_LINK)
    for entry in named:
        try:
            definition = _read_file(entry, contents)
        except AddonError as error:
            name = claimed_name(_text(contents, entry), entry.path) or ""
            files.invalid.append(InvalidDefinition(entry.path, name, str(error)))
        else:
            parsed[definition.name].append(SourcedDefinition(entry.path, entry.blob, definition))
    for name, sourced in parsed.items():
        files.valid[name] = sourced[0]
        broken = [item.file for item in files.invalid if item.name == name]
        claiming = [*(item.file for item in sourced), *broken]
        if len(claiming) > 1:
            files.refuse(name, f"{', '.join(sorted(claiming))}: name: {name} is defined more than once")
    return files


def _is_definition_file(entry: TreeEntry) -> bool:
    name = PurePosixPath(entry.path).name
    return entry.kind == "blob" and name.lower().endswith((".yaml", ".yml")) and not name.startswith(".")


def _ignored(entries: list[TreeEntry], named: list[TreeEntry]) -> list[str]:
    """Names of all other entries, folders with a slash; files of git itself are nobody's definitions."""
    others = [(PurePosixPath(entry.path).name, entry.kind) for entry in entries if entry not in named]
    return [f"{name}/" if kind == "tree" else name for name, kind in others if not name.startswith(".git")]


def _read_file(entry: TreeEntry, contents: dict[str, bytes]) -> Definition:
    if entry.mode == SYMBOLIC_LINK:
        raise DefinitionError("is a symbolic link", subject=entry.path, hint="give a file")
    text = _text(contents, entry)
    if "\ufffd" in text and text.encode() != contents[entry.path]:
        raise DefinitionError("not UTF-8 text", subject=entry.path, hint="save it as UTF-8")
    return parse_definition(text, entry.path)


def _text(contents: dict[str, bytes], entry: TreeEntry) -> str:
    return contents.get(entry.path, b"").decode("utf-8", "replace")


def _check_dependencies(files: _Files) -> None:
    """Refuse definitions that depend on an add-on no file defines, until none is left that does."""
    while True:
        known = files.valid.keys() | files.protected
        for name, sourced in files.valid.items():
            unknown = [other for other in sourced.definition.depends_on if other not in known]
            if unknown:
                files.refuse(name, f"{sourced.file}: dependsOn: no file defines {', '.join(unknown)}")
                break
        else:
            return


def _uncommitted(checkout: Checkout, revision: str) -> list[str]:
    changed = checkout.uncommitted() if not revision else []
    if not changed:
        return []
    return [f"uncommitted changes are not part of this run: {listed(changed, 5)}"]


# Records


def _chosen(only: list[str], names: Iterable[str]) -> set[str]:
    known = set(names)
    unknown = [name for name in only if name not in known]
    if unknown:
        raise DefinitionError(
            f"no definition file or record names {', '.join(unknown)}", subject="addon_only", hint="correct the name"
        )
    return set(only) or known


def _write_records(
    client: Client, checkout: Checkout, files: _Files, info: RunInfo, records: dict[str, Record]
) -> list[str]:
    """Create and update the records of this run; ``records`` is brought up to date."""
    written = []
    for name in list(info.order):
        sourced, record = files.valid[name], records.get(name)
        spec = sourced.definition.to_spec()
        source = _source(checkout, sourced, record)
        if (
            record
            and record.from_git
            and _same_spec(record, spec)
            and record.annotations.get(SOURCE_ANNOTATION) == source
        ):
            continue
        written.append(name)
        if info.check:
            continue
        try:
            records[name] = apply_record(client, record_manifest(name, spec, source))
        except ApiError as error:
            if error.status == 403:
                raise
            info.order.remove(name)
            info.invalid.append(InvalidDefinition(sourced.file, name, f"{sourced.file}: {error.message}"))
    return written


def _same_spec(record: Record, spec: dict[str, object]) -> bool:
    return {name: value for name, value in record.spec.items() if name != "syncRequest"} == spec


def _source(checkout: Checkout, sourced: SourcedDefinition, record: Record | None) -> str:
    """``file@commit`` with the commit at which this blob was first seen: it moves only when the blob changes."""
    if record and record.source_file == sourced.file and record.source_commit:
        blob = checkout.object_id(record.source_commit, sourced.file)
        # A shallow clone may lack the old commit: then an equal spec is all that can be known.
        if blob == sourced.blob or (blob is None and _same_spec(record, sourced.definition.to_spec())):
            return record.annotations[SOURCE_ANNOTATION]
    return f"{sourced.file}@{checkout.commit}"


def _recall(client: Client, info: RunInfo, records: dict[str, Record]) -> None:
    """Plan add-ons that return with what their tombstones kept; their records get it under the lock."""
    hidden = []
    for name in list(info.order):
        record = records.setdefault(name, Record(name))
        if not record.fresh:
            continue
        try:
            record.status |= read_tombstone(client, info.options.state_namespace, name) or {}
        except ApiError as error:
            if not (error.forbidden and info.check):
                raise
            hidden.append(name)
        except DocumentError as error:
            info.order.remove(name)
            info.invalid.append(InvalidDefinition("", name, str(error)))
    if hidden:
        info.warnings.append(
            f"tombstones of {listed(hidden, 3)} may not be read: if they were here before, a sync goes on from them"
        )


def _refuse_from_elsewhere(info: RunInfo, records: dict[str, Record]) -> None:
    """Leave alone the add-ons of this run whose records were made for another cluster, those that left git included."""
    mine = [name for name in (*info.order, *info.removed) if name in records]
    reasons = from_elsewhere({name: records[name] for name in mine}, info.cluster)
    for name, reason in reasons.items():
        info.invalid.append(InvalidDefinition("", name, reason))
    info.order[:] = [name for name in info.order if name not in reasons]
    info.removed[:] = [name for name in info.removed if name not in reasons]


def _read_key(client: Client, namespace: str, *, required: bool) -> tuple[bytes | None, bool]:
    """The cluster's hash key; ``None`` when it is absent, or may not be read in a preview, which is then said."""
    path = f"/api/v1/namespaces/{namespace}/secrets/{KEY_SECRET}"
    try:
        data = client.get(path).body.get("data") or {}
    except ApiError as error:
        if error.status == 404 or (error.forbidden and not required):
            return None, error.forbidden
        raise
    return (base64.b64decode(data[KEY_FIELD]) if data.get(KEY_FIELD) else None), False


def facts_of_record(definition: Definition, record: Record) -> dict[str, object]:
    """What conditionals of a play may want to know of an add-on."""
    return {
        "phase": record.phase,
        "suspended": definition.suspend,
        "paused": record.paused,
        "manual_sync": definition.manual_sync,
        "adopt": definition.adopt,
        "depends_on": list(definition.depends_on),
    }
