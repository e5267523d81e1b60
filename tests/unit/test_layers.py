"""The layers of the collection's Python: an import only ever points downwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "plugins/module_utils"
BELOW = {
    "model": set[str](),
    "cache": {"model"},
    "programs": {"model", "cache"},
    "cluster": {"model"},
    "repository": {"model", "cache", "programs"},
    "steps": {"model", "cache", "programs", "cluster", "repository"},
    "entry_points": {"model", "cache", "programs", "cluster", "repository", "steps"},
}
"""Each layer with those that it may import."""

REACHES_OUT = {"http", "kubernetes", "requests", "socket", "ssl", "subprocess", "urllib3"}
"""Libraries that talk to something outside of the process; files of the run directory are the model's own."""

VAGUE_NAMES = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}

PYTHON_FILES = sorted(
    path
    for folder in ("plugins", "local_cluster", "examples", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
)
CORE_FILES = sorted(CORE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports_of(path: Path) -> Iterator[tuple[str, ...]]:
    """What a file imports: absolute names as words, relative ones from ``plugins/module_utils`` with a leading dot."""
    package = path.relative_to(CORE).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level == 0:
                yield module
            else:
                yield (".", *package[: len(package) - node.level + 1], *module)


@pytest.mark.parametrize("path", CORE_FILES, ids=name_of)
def test_imports_point_downwards(path: Path) -> None:
    layer = path.relative_to(CORE).parts[0]
    if layer == "__init__.py":
        return
    for words in imports_of(path):
        if words[0] == ".":
            assert words[1] in BELOW[layer] | {layer}, f"imports {'.'.join(words[1:])}"
        else:
            assert words[0] != "ansible_collections", "imports of the collection are relative in module_utils"


@pytest.mark.parametrize("path", CORE_FILES, ids=name_of)
def test_only_entry_points_know_ansible(path: Path) -> None:
    if path.relative_to(CORE).parts[0] != "entry_points":
        assert "ansible" not in {words[0] for words in imports_of(path)}


@pytest.mark.parametrize("path", sorted((CORE / "model").rglob("*.py")), ids=name_of)
def test_the_model_does_not_reach_out(path: Path) -> None:
    assert not REACHES_OUT & {words[0] for words in imports_of(path)}


@pytest.mark.parametrize("path", CORE_FILES, ids=name_of)
def test_imports_stand_at_the_top(path: Path) -> None:
    """Each task is a new fork of the controller: an import inside a function is paid by every one of them."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    inside = [node for function in functions for node in ast.walk(function)]
    assert not [node.lineno for node in inside if isinstance(node, ast.Import | ast.ImportFrom)]


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_files_say_what_they_are_for(path: Path) -> None:
    text = path.read_text()
    assert (path.name == "__init__.py" and not text) or ast.get_docstring(ast.parse(text))
    assert path.stem.strip("_") not in VAGUE_NAMES
