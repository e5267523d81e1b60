"""``addon_definitions``: opens a run. Reads the definition files at a commit, makes the records match."""

from __future__ import annotations

from ..model.run_directory import RunInfo, RunOptions
from ..model.wording import listed, printable
from ..steps.definitions import DefinitionsRequest, facts_of_record, read_definitions
from .invocation import Invocation, Parameters, Result
from .options import ACCESS_SPEC, STATE_NAMESPACE_SPEC, access_options

_NAMES = 10
_READ = "a definition is a .yaml or .yml file directly in it"

ARGUMENT_SPEC = {
    **ACCESS_SPEC,
    **STATE_NAMESPACE_SPEC,
    "repo": {"type": "str", "required": True},
    "revision": {"type": "str", "default": ""},
    "path": {"type": "str", "default": "addons"},
    "only": {"type": "list", "elements": "str", "default": []},
    "impersonate": {"type": "str", "default": ""},
    "workers": {"type": "int", "default": 8},
    "helm": {"type": "str", "default": ""},
    "kustomize": {"type": "str", "default": ""},
    "kustomize_allow": {"type": "list", "elements": "str", "choices": ["remote", "helm", "plugins"], "default": []},
    "program_seconds": {"type": "int", "default": 120},
    "cache_dir": {"type": "path", "default": ""},
}

RETURNS = (
    *("run", "commit", "server", "server_version", "context"),
    *("names", "addons", "invalid", "ignored", "removed", "written"),
)


def call(parameters: Parameters, invocation: Invocation) -> Result:
    opened = read_definitions(
        DefinitionsRequest(
            repo=parameters["repo"],
            revision=parameters["revision"],
            path=parameters["path"],
            access=access_options(parameters, invocation),
            options=RunOptions(
                state_namespace=parameters["state_namespace"],
                impersonate=parameters["impersonate"],
                only=parameters["only"],
                workers=max(1, parameters["workers"]),
                helm=parameters["helm"],
                kustomize=parameters["kustomize"],
                kustomize_allow=parameters["kustomize_allow"],
                program_seconds=max(1, parameters["program_seconds"]),
                cache=parameters["cache_dir"],
            ),
            check=invocation.check,
            process=invocation.process,
            progress=invocation.progress,
        )
    )
    info = opened.info
    facts = {}
    for name in info.order:
        facts[name] = facts_of_record(opened.directory.definition(name).definition, opened.records[name])
    return Result(
        changed=bool(opened.written),
        values={
            "run": str(opened.directory.path),
            "commit": info.commit,
            "server": info.server,
            "server_version": info.server_version,
            "context": info.context,
            "names": info.order,
            "addons": facts,
            "invalid": [{"file": item.file, "name": item.name, "reason": item.reason} for item in info.invalid],
            "ignored": opened.ignored,
            "removed": info.removed,
            "written": opened.written,
        },
        report=_first_lines(info, opened.ignored),
    )


def _first_lines(info: RunInfo, ignored: list[str]) -> list[str]:
    """What is read, where it is meant for, and what of the folder is not read."""
    context = f", context {info.context}" if info.context else ""
    lines = [f"{info.origin} at {info.commit[:12]}, cluster {info.server} ({info.server_version}){context}"]
    if ignored:
        lines.append(f"not read in {info.path}: {listed(ignored, _NAMES)} ({_READ})")
    return [printable(line) for line in lines]
