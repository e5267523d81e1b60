"""Which records have lost their definition file, and whether that can be believed.

Git trouble is not deletion: a record of another folder or another repository, a file that can't be read, or most files
gone at once is no reason to let go of an add-on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from pathlib import PurePosixPath

from ..model.errors import RepositoryError
from ..model.record import Record
from ..model.run_directory import InvalidDefinition
from ..repository.git import Checkout


def removed_addons(
    checkout: Checkout,
    path: str,
    records: dict[str, Record],
    defined: Collection[str],
    invalid: list[InvalidDefinition],
    only: Collection[str],
    has_commit: Callable[[str], bool],
) -> tuple[list[str], list[str]]:
    """The add-ons whose file is gone from the folder ``path``, and warnings about those that are left alone.

    :param defined: names that a definition file, valid or not, is about.
    :param only: names that were asked for; what is named there is let go of without these doubts.
    :param has_commit: whether the repository has a commit, as far as that can be told.
    :raises RepositoryError: when more than one, and more than half, of the folder's add-ons would be let go of.
    """
    unreadable = [item.file for item in invalid if not item.name]
    invalid_files = {item.file for item in invalid}
    removed: list[str] = []
    warnings: list[str] = []
    elsewhere: dict[str, list[str]] = defaultdict(list)
    for name, record in sorted(records.items()):
        if not record.from_git or name in defined or record.source_file in invalid_files:
            continue
        if not _is_from(record, path):
            elsewhere[str(PurePosixPath(record.source_file).parent)].append(name)
        elif unreadable:
            warnings.append(
                f"add-on {name} may be the one that {unreadable[0]} is about, which can't be read: left alone"
            )
        elif name not in only and not has_commit(record.source_commit):
            doubt = f"was recorded at commit {record.source_commit[:12]}, which this repository does not have"
            warnings.append(f"add-on {name} {doubt}: left alone (name it in addon_only to let go of it)")
        else:
            removed.append(name)
    for folder, names in elsewhere.items():
        warnings.append(f"left alone, since they come from the folder {folder}, not from {path}: {', '.join(names)}")
    if not only:
        _refuse_mass_removal(checkout, path, records, removed)
    return removed, warnings


def _is_from(record: Record, path: str) -> bool:
    return record.from_git and PurePosixPath(record.source_file).parent == PurePosixPath(path)


def _refuse_mass_removal(checkout: Checkout, path: str, records: dict[str, Record], removed: list[str]) -> None:
    """A wrong branch or revision looks as if most add-ons had left git."""
    recorded = sum(1 for record in records.values() if _is_from(record, path))
    if len(removed) > 1 and len(removed) * 2 > recorded:
        more = ", …" if len(removed) > 5 else ""
        raise RepositoryError(
            f"{len(removed)} of the {recorded} add-ons recorded from it have no definition file at commit"
            f" {checkout.commit[:12]} ({', '.join(removed[:5])}{more})",
            subject=path,
            hint="check addon_repo, addon_revision, addon_path; to let go of them on purpose, name them in addon_only",
        )
