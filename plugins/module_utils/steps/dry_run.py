"""What the server says that an apply would make of an object, in one request or, where one can't tell, in two."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from ..cluster.api_error import FieldConflict
from ..cluster.client import ApiError, Client
from ..model.field_rules import Path
from ..model.fields import NOTHING, emptied_in, place_in, value_at, with_value, without_fields
from ..model.managed_fields import Entry, entries_of, values_in_both, within, without
from ..model.names import FIELD_MANAGER
from ..model.objects import Manifest
from ..model.plan import Takeover
from ..model.predecessors import UNKNOWN_OWNER
from ..model.prediction import overlaid, without_invented
from .absorption import without_absorbed
from .leftovers import leftovers_of, owners_of_leftovers, with_leftovers, without_leftovers


@dataclass(slots=True)
class DryRun:
    """The object as it would be.

    ``first`` has to be applied before the body itself, ``None`` when nothing has to. ``clears`` are fields that have to
    become ours before, see ``leftovers``. ``removes`` are fields that go with the ownership of former tools.
    ``uncertain`` says why the whole of it could not be asked, empty if it was.
    """

    predicted: Manifest
    created: bool
    takes_over: list[Takeover]
    warnings: list[str]
    first: Manifest | None = None
    clears: list[Path] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    uncertain: str = ""


def dry_run(
    client: Client,
    path: str,
    body: Manifest,
    live: Manifest | None,
    absorbed: list[Entry],
    *,
    unappliable: bool = False,
) -> DryRun:
    """:param absorbed: entries of former tools that become ours just before the apply.
    :param unappliable: the live object's managed fields have to be mended first, so that it can't be dry-run.

    :raises ApiError: the server refuses the object, or the change.
    """
    try:
        made = _asked(client, path, body, live, absorbed, unappliable=unappliable)
    except ApiError as refusal:
        leftovers = leftovers_of(refusal, body, live) if live else []
        if live is None or not leftovers:
            raise
        made = _clearing(client, path, body, live, absorbed, leftovers, refusal)
    made.predicted = without_invented(made.predicted, body, live)
    return made


def _asked(
    client: Client,
    path: str,
    body: Manifest,
    live: Manifest | None,
    absorbed: list[Entry],
    *,
    unappliable: bool = False,
) -> DryRun:
    emptied = list(emptied_in(body, live)) if live else []
    if live and unappliable:
        return _unapplied(client, path, body, live, absorbed)
    if live and absorbed:
        return _absorbing(client, path, body, emptied, absorbed)
    if emptied:
        return _emptying(client, path, body, emptied)
    return _applied(client, path, body)


def _applied(client: Client, path: str, body: Manifest, absorbed: Collection[Entry] = ()) -> DryRun:
    """Without force first, since only that tells what is taken from others; what is absorbed is ours by then."""
    takes_over: list[Takeover] = []
    try:
        response = client.apply(path, body, dry_run=True, force=False)
    except ApiError as error:
        if not error.conflict_fields:
            raise
        takes_over = [
            Takeover(one.manager, one.field)
            for one in error.conflict_fields
            # Nobody loses what was never anybody's.
            if one.manager != UNKNOWN_OWNER and not any(_is_with(one, entry) for entry in absorbed)
        ]
        response = client.apply(path, body, dry_run=True, force=True)
    return DryRun(response.body, response.status == 201, takes_over, list(response.warnings))


def _is_with(conflict: FieldConflict, entry: Entry) -> bool:
    # Of a manager that applies, the server tells no version.
    version = entry.api_version if entry.operation == "Update" else ""
    return (conflict.manager, conflict.subresource, conflict.version) == (entry.manager, entry.subresource, version)


def _emptying(client: Client, path: str, body: Manifest, emptied: list[Path]) -> DryRun:
    """A field whose content goes, while the field itself stays as an empty one.

    Server-side apply removes such a field at first, and only the same apply once more puts the empty one there; of
    custom resources it refuses the change for good, with "must be of type object: null" (both observed).
    """
    try:
        made = _applied(client, path, body)
    except ApiError as error:
        if not error.is_bad_manifest:
            raise
        first = without_fields(body, reversed(emptied))
        try:
            made = _applied(client, path, first)
        except ApiError:
            raise error from None
        if not _missing(made.predicted, body, emptied):
            raise
        made.first = first
        _update(client, path, made, _with_empties(made.predicted, body, emptied))
        return made
    if missing := _missing(made.predicted, body, emptied):
        removed = made.predicted
        _update(client, path, made, _with_empties(removed, body, emptied))
        if len(_missing(made.predicted, body, emptied)) == len(missing):
            # Of most kinds the server keeps no empty fields.
            made.predicted = removed
        else:
            made.first = body
    return made


def _absorbing(client: Client, path: str, body: Manifest, emptied: list[Path], absorbed: list[Entry]) -> DryRun:
    """An apply just after former tools' fields became ours, which can't be dry-run together."""
    made = _applied(client, path, body, absorbed)
    rest, made.removes = without_absorbed(made.predicted, body, absorbed)
    if emptied:
        first = without_fields(body, reversed(emptied))
        with suppress(ApiError):
            client.apply(path, first, dry_run=True, force=True)
            made.first = first
    filled = _with_empties(rest, body, emptied)
    if filled is not made.predicted:
        _update(client, path, made, filled)
    return made


def _clearing(
    client: Client,
    path: str,
    body: Manifest,
    live: Manifest,
    absorbed: list[Entry],
    leftovers: list[Path],
    refusal: ApiError,
) -> DryRun:
    """An apply just after fields that are in its way became ours, which can't be dry-run together.

    All else is dry-run with what is around them as it is; then the server is asked about the whole.
    """
    made = _asked(client, path, with_leftovers(body, live, leftovers), live, absorbed)
    try:
        _update(client, path, made, without_leftovers(made.predicted, body, leftovers))
    except ApiError:
        raise refusal from None
    made.clears = leftovers
    made.takes_over += owners_of_leftovers(live, leftovers)
    return made


def _unapplied(client: Client, path: str, body: Manifest, live: Manifest, absorbed: list[Entry]) -> DryRun:
    """What an apply would do, as an update: our fields that the source lacks go, those that it has are laid over."""
    ours = [*(entry for entry in entries_of(live) if _is_own(entry)), *absorbed]
    others = [entry for entry in entries_of(live) if entry not in ours]
    kept = [*(entry.fields for entry in others), *(within(entry.fields, body) for entry in ours)]
    rest, removed = without(overlaid(live, body), [entry.fields for entry in ours], kept)
    takes_over = [
        Takeover(entry.manager, name)
        for entry in others
        if entry.manager != UNKNOWN_OWNER
        for (name, wanted), there in values_in_both(entry.fields, body, live)
        if wanted != there
    ]
    made = DryRun(live, False, takes_over, [], removes=removed if absorbed else [])
    _update(client, path, made, rest)
    made.uncertain = made.uncertain or "its ownership has to be repaired before an apply can be dry-run"
    return made


def _is_own(entry: Entry) -> bool:
    return (entry.manager, entry.operation, entry.subresource) == (FIELD_MANAGER, "Apply", "")


def _missing(manifest: Manifest, body: Manifest, paths: list[Path]) -> list[tuple[Path, Path]]:
    """Paths of fields that the manifest lacks, each with the place where it would be."""
    places = ((path, place_in(manifest, body, path)) for path in paths)
    return [(path, place) for path, place in places if place is not None and value_at(manifest, place) is NOTHING]


def _with_empties(manifest: Manifest, body: Manifest, emptied: list[Path]) -> Manifest:
    for path, place in _missing(manifest, body, emptied):
        manifest = with_value(manifest, place, value_at(body, path))
    return manifest


def _update(client: Client, path: str, made: DryRun, manifest: Manifest) -> None:
    """Predict what a dry-run update makes of it: with the server's defaults, which an apply would get as well."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "managedFields"}
    query = {"dryRun": "All", "fieldManager": FIELD_MANAGER}
    try:
        reply: Manifest = client.put(path, {**manifest, "metadata": metadata}, query=query).body
    except ApiError as error:
        if not error.forbidden:
            raise
        made.predicted, made.uncertain = manifest, f"not all that it changes could be checked: {error.message}"
        return
    kept = {name: manifest["metadata"].get(name) for name in ("resourceVersion", "managedFields")}
    made.predicted = {**reply, "metadata": {**reply["metadata"], **kept}}
