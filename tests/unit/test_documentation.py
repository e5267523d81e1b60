"""The documentation says what the code does: options, return values, groups and the role's arguments."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
ROLE = ROOT / "roles/addon"
COLLECTION = "rendimiento.addons"
MODULES = sorted(path.stem for path in (PLUGINS / "modules").glob("addon_*.py"))
ENTRY_POINTS = f"ansible_collections.{COLLECTION}.plugins.module_utils.entry_points"
SHOWS_DIFFS = {"addon_apply", "addon_bootstrap", "addon_diff", "addon_prune"}


@pytest.fixture(scope="session")
def documentation() -> dict[str, Any]:
    """Of all modules, with their fragments, as ansible-doc reads it."""
    names = [f"{COLLECTION}.{name}" for name in MODULES]
    result = subprocess.run(
        [sys.executable, "-m", "ansible", "doc", "--json", "--type", "module", *names],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(result.stdout)
    return {name.rpartition(".")[2]: entry for name, entry in found.items()}


def argument_spec(name: str) -> dict[str, dict[str, Any]]:
    spec: dict[str, dict[str, Any]] = importlib.import_module(f"{ENTRY_POINTS}.{name}").ARGUMENT_SPEC
    return spec


def facts(option: dict[str, Any]) -> dict[str, Any]:
    """What documentation and argument spec say of an option in the same words; text and masking aside."""
    return {
        "type": option.get("type", "str"),
        "elements": option.get("elements"),
        "required": option.get("required", False),
        "default": option.get("default"),
        "choices": option.get("choices"),
        "aliases": option.get("aliases") or [],
    }


@pytest.mark.parametrize("name", MODULES)
def test_options_are_those_of_the_argument_spec(name: str, documentation: dict[str, Any]) -> None:
    documented = {option: facts(entry) for option, entry in documentation[name]["doc"]["options"].items()}
    assert documented == {option: facts(entry) for option, entry in argument_spec(name).items()}


@pytest.mark.parametrize("name", MODULES)
def test_environment_variables_are_told(name: str, documentation: dict[str, Any]) -> None:
    for option, entry in argument_spec(name).items():
        text = " ".join(documentation[name]["doc"]["options"][option]["description"])
        for variable in entry["fallback"][1] if "fallback" in entry else []:
            assert f"E({variable})" in text, f"{option} does not tell {variable}"


@pytest.mark.parametrize("name", MODULES)
def test_return_values_are_those_of_the_result(name: str, documentation: dict[str, Any]) -> None:
    diff = {"diff"} if name in SHOWS_DIFFS else set()
    assert documentation[name]["return"].keys() == returned_values(name) | diff


@pytest.mark.parametrize("name", MODULES)
def test_b70_what_a_failed_step_returns_as_unknown_is_what_it_returns_otherwise(name: str) -> None:
    names = importlib.import_module(f"{ENTRY_POINTS}.{name}").RETURNS
    known = set(names) if isinstance(names, tuple) else {one for each in names.values() for one in each}
    assert known == returned_values(name) | ({"diff"} if name in SHOWS_DIFFS else set())
    if not isinstance(names, tuple):
        assert list(names) == argument_spec(name)["state"]["choices"]


@pytest.mark.parametrize("name", MODULES)
def test_attributes(name: str, documentation: dict[str, Any]) -> None:
    attributes = documentation[name]["doc"]["attributes"]
    assert attributes["check_mode"]["support"] == "full"
    assert (
        (attributes["diff_mode"]["support"] == "full")
        == (name in SHOWS_DIFFS)
        == ("diff" in arguments_of_results(name))
    )
    assert attributes["action_group"]["membership"] == [f"{COLLECTION}.addon"]
    assert all("support" in attribute for attribute in attributes.values())


@pytest.mark.parametrize("name", MODULES)
def test_examples_use_options_that_exist(name: str, documentation: dict[str, Any]) -> None:
    specs = {f"{COLLECTION}.{module}": argument_spec(module) for module in MODULES}
    tasks = list(_mappings(yaml.safe_load(documentation[name]["examples"])))
    assert any(f"{COLLECTION}.{name}" in task for task in tasks)
    for task in tasks:
        for module in task.keys() & specs.keys():
            assert (task[module] or {}).keys() <= specs[module].keys()


def test_modules_actions_entry_points_and_the_action_group_are_the_same() -> None:
    runtime = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())
    assert runtime["action_groups"] == {"addon": MODULES}
    assert sorted(path.stem for path in (PLUGINS / "action").glob("*.py")) == MODULES
    assert sorted(path.stem for path in (PLUGINS / "module_utils/entry_points").glob("addon_*.py")) == MODULES


# The role


@pytest.fixture(scope="session")
def role_defaults() -> dict[str, Any]:
    defaults: dict[str, Any] = yaml.safe_load((ROLE / "defaults/main.yml").read_text())
    return defaults


def test_role_arguments_are_its_defaults(role_defaults: dict[str, Any]) -> None:
    options = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    assert {name: option["default"] for name, option in options.items() if not option.get("required")} == role_defaults
    assert all(name.startswith("addon_") for name in options)


def test_role_uses_all_of_its_arguments_and_no_other(role_defaults: dict[str, Any]) -> None:
    options = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    tasks = "".join(path.read_text() for path in sorted((ROLE / "tasks").glob("*.yml")))
    assert set(re.findall(r"{{ *(addon_\w+)", tasks)) == options.keys()


# What the code says of itself


def results(name: str) -> list[ast.Call]:
    """The places where an entry point makes its result."""
    tree = ast.parse((PLUGINS / f"module_utils/entry_points/{name}.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Result"]


def arguments_of_results(name: str) -> set[str]:
    return {keyword.arg for call in results(name) for keyword in call.keywords if keyword.arg}


def returned_values(name: str) -> set[str]:
    found: set[str] = set()
    for call in results(name):
        for keyword in call.keywords:
            if keyword.arg == "values":
                assert isinstance(keyword.value, ast.Dict)
                found |= {str(key.value) for key in keyword.value.keys if isinstance(key, ast.Constant)}
    return found


def _mappings(value: Any) -> Any:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _mappings(item)
