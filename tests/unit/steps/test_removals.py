"""Which records are let go of, and every doubt that keeps them."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import RepositoryError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.record import Record
from ansible_collections.rendimiento.addons.plugins.module_utils.model.run_directory import InvalidDefinition
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.removals import removed_addons
from tests.unit.gitops import Repository

HERE = "the commit of the repository"


def record(name: str, source: str | None = None, *, from_git: bool = True) -> Record:
    labels = {"rendimiento.ai/gitops": "true"} if from_git else {}
    annotations = {"rendimiento.ai/source": f"addons/{name}.yaml@{HERE}" if source is None else source}
    return Record(name, "u", "1", 1, labels, annotations)


def judged(
    repository: Repository,
    records: list[Record],
    *,
    defined: tuple[str, ...] = (),
    invalid: tuple[tuple[str, str], ...] = (),
    only: tuple[str, ...] = (),
) -> tuple[list[str], list[str]]:
    """``defined`` add-ons have a record of this folder, too, as after any sync."""
    commit = repository.commit({"x": "y"})
    known = {one.name: one for one in [*(record(name) for name in defined), *records]}
    for one in known.values():
        source = one.annotations["rendimiento.ai/source"]
        one.annotations["rendimiento.ai/source"] = source.replace(HERE, commit)
    files = [InvalidDefinition(file, name, "broken") for file, name in invalid]
    checkout = Checkout.open(str(repository.path))
    protected = {*defined, *(name for _, name in invalid if name)}
    return removed_addons(checkout, "addons/", known, protected, files, only, checkout.has_commit)


@pytest.mark.parametrize(
    ("records", "invalid", "removed", "left_alone"),
    [
        ([record("b")], (), ["b"], []),
        # Moved to another file of the folder, or broken: not removed.
        ([record("a", f"addons/other.yaml@{HERE}")], (), [], []),
        ([record("b")], (("addons/b.yaml", "b"),), [], []),
        ([record("b")], (("addons/b.yaml", ""),), [], []),
        # Made by hand, from another folder, or from another repository: somebody else's.
        ([record("b", from_git=False)], (), [], []),
        ([record("b", f"dev/b.yaml@{HERE}"), record("c", f"dev/c.yaml@{HERE}")], (), [],
         ["left alone, since they come from the folder dev, not from addons/: b, c"]),
        ([record("b", "")], (), [], ["left alone, since they come from the folder ., not from addons/: b"]),
        ([record("b", f"addons/b.yaml@{'1' * 40}")], (), [],
         ["add-on b was recorded at commit 111111111111, which this repository does not have: left alone"]),
        # A renamed file that can't be read may be about any of them: an invalid file never removes anything.
        ([record("b"), record("c")], (("addons/renamed.yaml", ""),), [],
         ["add-on b may be the one that addons/renamed.yaml is about", "add-on c may be the one"]),
    ],
)  # fmt: skip
def test_who_is_let_go_of(
    repository: Repository,
    records: list[Record],
    invalid: tuple[tuple[str, str], ...],
    removed: list[str],
    left_alone: list[str],
) -> None:
    names, warnings = judged(repository, records, defined=("a",), invalid=invalid)
    assert names == removed
    assert [warning[: len(start)] for warning, start in zip(warnings, left_alone, strict=True)] == left_alone


@pytest.mark.parametrize(
    ("defined", "gone", "refused"),
    [((), 1, False), (("x",), 1, False), (("x", "y"), 2, False), (("x",), 2, True), ((), 2, True)],
)
def test_most_of_a_folder_at_once_is_not_believed(
    repository: Repository, defined: tuple[str, ...], gone: int, refused: bool
) -> None:
    records = [record(f"gone-{number}") for number in range(gone)]
    if refused:
        with pytest.raises(RepositoryError, match=f"{gone} of the {gone + len(defined)} add-ons recorded from it"):
            judged(repository, records, defined=defined)
    else:
        assert len(judged(repository, records, defined=defined)[0]) == gone


def test_what_is_named_is_let_go_of_without_doubts(repository: Repository) -> None:
    records = [record("b"), record("c", f"addons/c.yaml@{'1' * 40}")]
    assert judged(repository, records, only=("b", "c")) == (["b", "c"], [])
