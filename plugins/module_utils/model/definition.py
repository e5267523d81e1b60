"""A definition file: one add-on as people write it down in git, checked and with its defaults.

Shapes are checked with ``DEFINITION_SCHEMA``; what a schema can't say is checked here. Every fault of a file is
reported at once, each in one short clause that starts with the field. What stands in ``values``, ``valuesFrom`` and
URLs is never repeated in a message: it may be a secret.
"""

from __future__ import annotations

import copy
import difflib
import functools
import graphlib
import heapq
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .definition_schema import DEFINITION_SCHEMA, DNS_LABEL
from .errors import DefinitionError, DocumentError
from .field_rules import path_of_pointer, why_never_ignored
from .json_path import UNDERSTOOD, JsonPath
from .urls import chart_repository_fault, git_repository_fault
from .wording import dotted
from .yaml_documents import read_one, reads_as_text

try:
    import jsonschema
except ImportError:  # pragma: no cover  (the module's edge reports it)
    jsonschema = None  # type: ignore[assignment]

DEFAULT_HOOK_TIMEOUT: int = DEFINITION_SCHEMA["properties"]["hookTimeout"]["default"]
DEFAULT_WAIT: int = DEFINITION_SCHEMA["properties"]["wait"]["default"]
LONGEST_RELEASE_NAME: int = DEFINITION_SCHEMA["properties"]["releaseName"]["maxLength"]

_SOURCES = ("helm", "git")
_SECONDS = frozenset({"wait", "hookTimeout"})
_ECHOED = frozenset({"name", "namespace", "releaseName", "dependsOn", "helm.chart", "helm.version"})
_TYPE_WORDS = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}
_NAME_LINE = re.compile(
    r"""^(?:name|[ {]*"name")[ ]*:[ ]*(["']?)([a-z0-9][-a-z0-9]*)\1\s*(?:[,#}].*)?$""", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ChartSource:
    """A chart in a chart repository (``https://``) or an OCI registry (``oci://``)."""

    repo: str
    chart: str
    version: str
    values_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GitSource:
    """A folder of the gitops repository, or of ``repo`` at ``revision``."""

    path: str
    repo: str | None = None
    revision: str | None = None
    values_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Definition:
    """One add-on. Times are seconds; ``values_from``, ``patches``, ``ignore``, ``mask`` and ``ready`` hold entries as
    written.

    :param written: the fields as they stand in the file, without ``name``.
    """

    name: str
    title: str
    category: str
    description: str
    namespace: str
    source: ChartSource | GitSource
    create_namespace: bool
    adopt: bool
    allow_adopt_changes: bool
    release_name: str
    values: dict[str, Any] = field(repr=False)
    values_from: tuple[dict[str, Any], ...] = field(repr=False)
    depends_on: tuple[str, ...]
    patches: tuple[dict[str, Any], ...] = field(repr=False)
    ignore: tuple[dict[str, Any], ...]
    mask: tuple[dict[str, Any], ...]
    prune: bool
    manual_sync: bool
    suspend: bool
    skip_hooks: bool
    hook_timeout: int
    wait: int
    max_delete: int | None
    ready: tuple[dict[str, Any], ...]
    written: dict[str, Any] = field(repr=False)

    def to_spec(self) -> dict[str, Any]:
        """What the ``spec`` of the Addon record mirrors: the fields as they were written, without ``name``."""
        return copy.deepcopy(self.written)

    @classmethod
    def from_spec(cls, name: str, spec: Mapping[str, Any]) -> Definition:
        """The definition that a record mirrors; fields that are none of a definition's (``syncRequest``) are ignored.

        :raises DefinitionError: the spec breaks a rule; the add-on is filled in.
        """
        known = {key: value for key, value in spec.items() if key in DEFINITION_SCHEMA["properties"]}
        try:
            return _checked({**known, "name": name}, "spec of the record")
        except DefinitionError as error:
            error.about(addon=name)
            raise

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, **self.to_spec()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Definition:
        """Of what ``to_json`` made, which is not checked again."""
        return _build(dict(value))


def parse_definition(text: str, source: str) -> Definition:
    """The definition in a file.

    :param source: path of the file, for messages.
    :raises DefinitionError: the subject is the file (with the line, when it is not even YAML).
    """
    try:
        fields = read_one(text, source)
    except DocumentError as error:
        raise DefinitionError(error.message, subject=error.subject, hint=error.hint) from error
    if not isinstance(fields, dict):
        raise DefinitionError(f"expected a mapping of fields, got {_kind_of(fields)}", subject=source)
    return _checked(fields, source)


def claimed_name(text: str, source: str) -> str | None:
    """The add-on that a file is about, also when the file is invalid: nobody may prune or take over what it runs.

    Best effort: the ``name`` of the document, or when it can't be read the first line that looks like it.
    """
    try:
        fields = read_one(text, source)
    except DocumentError:
        fields = None
    name = fields.get("name") if isinstance(fields, dict) else None
    if not isinstance(name, str) and (line := _NAME_LINE.search(text)):
        name = line[2]
    valid = isinstance(name, str) and len(name) <= 63 and re.fullmatch(DNS_LABEL, name)
    return name if valid else None


def dependency_order(
    definitions: Mapping[str, Definition], known: Collection[str] | None = None
) -> tuple[list[str], dict[str, DefinitionError]]:
    """Names with dependencies first, alphabetical where the dependencies leave the choice.

    :param known: other add-ons that exist (records that are not part of this run), which may be depended on; without
        it, what is depended on is taken to exist.
    :return: the order of all definitions without an error, and the errors by name: members of a cycle, and add-ons
        that depend on one that does not exist. What depends on these stays in the order; the caller skips it.
    """
    errors: dict[str, DefinitionError] = {}
    existing = {*definitions, *(known or ())}
    for name in sorted(definitions) if known is not None else ():
        faults = [
            _Fault("dependsOn", f"there is no add-on {wanted}", _did_you_mean(wanted, existing - {name}))
            for wanted in definitions[name].depends_on
            if wanted not in existing
        ]
        if faults:
            errors[name] = _error_of(faults, addon=name)
    while True:
        remaining = {
            name: sorted(
                wanted for wanted in definitions[name].depends_on if wanted in definitions and wanted not in errors
            )
            for name in sorted(definitions)
            if name not in errors
        }
        sorter = graphlib.TopologicalSorter(remaining)
        try:
            sorter.prepare()
        except graphlib.CycleError as error:
            # graphlib lists what comes before first; "a -> b" is to say that a depends on b.
            members = list(reversed(error.args[1]))[:-1]
            first = members.index(min(members))
            members = members[first:] + members[:first]
            path = " -> ".join([*members, members[0]])
            errors |= {name: DefinitionError(f"dependsOn: a cycle: {path}", addon=name) for name in members}
            continue
        return list(_alphabetical(sorter)), errors


def _alphabetical(sorter: graphlib.TopologicalSorter[str]) -> Iterator[str]:
    ready: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, name)
        name = heapq.heappop(ready)
        yield name
        sorter.done(name)


@dataclass(frozen=True, slots=True)
class _Fault:
    """One thing that is wrong: the dotted path of the field, a clause, and what to do."""

    path: str
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


def _error_of(faults: list[_Fault], *, subject: str = "", addon: str = "") -> DefinitionError:
    match faults:
        case [fault]:
            return DefinitionError(str(fault), subject=subject, addon=addon, hint=fault.hint)
        case _:
            clauses = (f"{fault} ({fault.hint})" if fault.hint else str(fault) for fault in faults)
            return DefinitionError("; ".join(clauses), subject=subject, addon=addon)


def _checked(fields: dict[str, Any], source: str) -> Definition:
    fields = _without_nulls(fields)
    faults = list(_schema_faults(fields))
    if not faults:
        faults = list(_rule_faults(fields))
    if faults:
        raise _error_of(faults, subject=source)
    return _build(fields)


def _without_nulls(fields: dict[str, Any]) -> dict[str, Any]:
    """A field without a value (``values:`` with everything below commented out) is an absent one, as for Go."""
    present = {key: value for key, value in fields.items() if value is not None}
    for source in _SOURCES:
        if isinstance(present.get(source), dict):
            present[source] = {key: value for key, value in present[source].items() if value is not None}
    return present


def _build(fields: dict[str, Any]) -> Definition:
    """A definition of fields that were checked."""
    name = fields["name"]
    source: ChartSource | GitSource
    if helm := fields.get("helm"):
        source = ChartSource(helm["repo"], helm["chart"], helm["version"], tuple(helm.get("valuesFiles", ())))
    else:
        git = fields["git"]
        source = GitSource(git["path"], git.get("repo"), git.get("revision"), tuple(git.get("valuesFiles", ())))
    return Definition(
        name=name,
        title=fields.get("title", name),
        category=fields.get("category", ""),
        description=fields.get("description", ""),
        namespace=fields["namespace"],
        source=source,
        create_namespace=fields.get("createNamespace", False),
        adopt=fields.get("adopt", False),
        allow_adopt_changes=fields.get("allowAdoptChanges", False),
        release_name=fields.get("releaseName", name),
        values=fields.get("values", {}),
        values_from=tuple(fields.get("valuesFrom", ())),
        depends_on=tuple(fields.get("dependsOn", ())),
        patches=tuple(fields.get("patches", ())),
        ignore=tuple(fields.get("ignore", ())),
        mask=tuple(fields.get("mask", ())),
        prune=fields.get("prune", False),
        manual_sync=fields.get("manualSync", False),
        suspend=fields.get("suspend", False),
        skip_hooks=fields.get("skipHooks", False),
        hook_timeout=fields.get("hookTimeout", DEFAULT_HOOK_TIMEOUT),
        wait=fields.get("wait", DEFAULT_WAIT),
        max_delete=fields.get("maxDelete"),
        ready=tuple(fields.get("ready", ())),
        written={key: value for key, value in fields.items() if key != "name"},
    )


# -- shapes ------------------------------------------------------------------------------------------------------------


def _schema_faults(fields: dict[str, Any]) -> Iterator[_Fault]:
    def order(error: jsonschema.ValidationError) -> tuple[bool, list[str]]:
        """Unknown fields first: what is missing is often there under a wrong name."""
        return error.validator != "additionalProperties", [str(part) for part in error.absolute_path]

    for error in sorted(_validator().iter_errors(fields), key=order):
        yield from _in_words(error)


@functools.cache
def _validator() -> Any:
    def pattern(validator: Any, rule: str, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
        # jsonschema searches, and Python's $ would let a line break at the end pass.
        if isinstance(value, str) and not re.fullmatch(rule, value):
            yield jsonschema.ValidationError("does not match")

    validators: Any = jsonschema.validators
    return validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern})(DEFINITION_SCHEMA)


def _in_words(error: jsonschema.ValidationError) -> Iterator[_Fault]:
    """jsonschema's error as clauses; its own text repeats the value, which may be a secret."""
    path = dotted(error.absolute_path)
    rule: Any = error.validator_value
    value: Any = error.instance
    schema: Any = error.schema
    match error.validator:
        case "additionalProperties":
            known = schema["properties"]
            for unknown in sorted(set(value) - set(known)):
                yield _Fault(dotted([*error.absolute_path, unknown]), "unknown field", _did_you_mean(unknown, known))
        case "required":
            # jsonschema reports each missing field by itself, and names it only in its text.
            missing = next(name for name in rule if error.message.startswith(repr(name)))
            yield _Fault(dotted([*error.absolute_path, missing]), "missing, it has to be given")
        case "oneOf":
            given = [source for source in _SOURCES if source in value]
            yield _Fault(", ".join(given or _SOURCES), "give exactly one source")
        case "type":
            unit = " (seconds)" if path in _SECONDS else ""
            hint = "quote the value" if rule == "string" and isinstance(value, (bool, int, float)) else ""
            yield _Fault(path, f"expected {_TYPE_WORDS[rule]}{unit}, got {_kind_of(value)}", hint)
        case "pattern":
            yield _Fault(path, f"{_echo(path, value)}{_PATTERN_WORDS.get(_field(path), 'is not valid here')}")
        case "minimum":
            yield _Fault(path, "may not be negative")
        case "maximum":
            yield _Fault(path, f"may not be more than {rule}")
        case "maxLength":
            yield _Fault(path, f"longer than {rule} characters")
        case "maxItems":
            yield _Fault(path, f"has more than {rule} entries")
        case "minLength" | "minItems":
            yield _Fault(path, "may not be empty")
        case _:  # pragma: no cover  (no other keyword stands in the schema)
            yield _Fault(path, "is not valid here")


_PATTERN_WORDS = {
    "name": "is not a DNS label (lower case letters, digits and -)",
    "namespace": "is not a DNS label (lower case letters, digits and -)",
    "dependsOn": "is not the name of an add-on (lower case letters, digits and -)",
    "releaseName": "is not a release name (lower case letters, digits, - and .)",
    "helm.chart": "is not the name of a chart",
    "helm.version": "is not an exact version",
    "git.revision": "is not a branch, tag or commit",
    "ignore.pointers": "is not a JSON pointer such as /spec/replicas",
    "mask.pointers": "is not a JSON pointer such as /data/token",
}


def _field(path: str) -> str:
    """``ignore[0].pointers[1]`` to ``ignore.pointers``."""
    return re.sub(r"\[[0-9]+\]", "", path)


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int():
            return "an integer"
        case float():
            return "a number"
        case list():
            return "a list"
    return "a mapping"


def _echo(path: str, value: str) -> str:
    return _shown(value) if _field(path) in _ECHOED else ""


def _shown(value: str) -> str:
    """A value as the beginning of a clause, if it is short and does nothing to a terminal."""
    return f"{value} " if len(value) <= 63 and value.isprintable() else ""


def _did_you_mean(word: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f"did you mean {close[0]}?" if close else ""


# -- rules between and beyond shapes -----------------------------------------------------------------------------------


def _rule_faults(fields: dict[str, Any]) -> Iterator[_Fault]:
    name = fields["name"]
    for field_name in ("name", "releaseName"):
        # Charts write it into labels without quotes, where it would be a number or a truth value.
        if not reads_as_text(fields.get(field_name, "text")):
            yield _Fault(
                field_name, f"{fields[field_name]} is no text where YAML has it without quotes", "use another name"
            )
    if "helm" in fields:
        yield from _helm_faults(fields["helm"])
        if "releaseName" not in fields and len(name) > LONGEST_RELEASE_NAME:
            yield _Fault(
                "releaseName", f"missing, and name is longer than the {LONGEST_RELEASE_NAME} characters of one"
            )
    if "git" in fields:
        yield from _git_faults(fields["git"])
    for index, wanted in enumerate(fields.get("dependsOn", ())):
        if wanted == name:
            yield _Fault(f"dependsOn[{index}]", "an add-on can't depend on itself")
        elif wanted in fields["dependsOn"][:index]:
            yield _Fault(f"dependsOn[{index}]", f"{wanted} stands there twice")
    for index, entry in enumerate(fields.get("valuesFrom", ())):
        yield from _exactly_one(entry, ("secret", "configMap"), f"valuesFrom[{index}]")
    for index, entry in enumerate(fields.get("patches", ())):
        yield from _exactly_one(entry, ("patch", "path"), f"patches[{index}]")
        if "path" in entry:
            yield from _path_faults(entry["path"], f"patches[{index}].path")
    for index, entry in enumerate(fields.get("ignore", ())):
        for number, pointer in enumerate(entry["pointers"]):
            if why := why_never_ignored(path_of_pointer(pointer)):
                yield _Fault(f"ignore[{index}].pointers[{number}]", f"{_shown(pointer)}{why}")
    for index, entry in enumerate(fields.get("ready", ())):
        yield from _ready_faults(entry, f"ready[{index}]")


def _helm_faults(helm: dict[str, Any]) -> Iterator[_Fault]:
    if fault := chart_repository_fault(helm["repo"]):
        yield _Fault("helm.repo", fault.problem, fault.hint)
    yield from _values_files_faults(helm, "helm")


def _git_faults(git: dict[str, Any]) -> Iterator[_Fault]:
    yield from _path_faults(git["path"], "git.path")
    yield from _values_files_faults(git, "git")
    if "repo" in git and (fault := git_repository_fault(git["repo"])):
        yield _Fault("git.repo", fault.problem, fault.hint)


def _values_files_faults(source: dict[str, Any], path: str) -> Iterator[_Fault]:
    for index, file in enumerate(source.get("valuesFiles", ())):
        yield from _path_faults(file, f"{path}.valuesFiles[{index}]")


def _path_faults(value: str, path: str) -> Iterator[_Fault]:
    if value.startswith("/"):
        yield _Fault(path, "may not start with /, paths are relative to the repository")
    elif "\\" in value or not value.isprintable():
        yield _Fault(path, "may not contain a backslash or control characters", "separate folders with /")
    elif ".." in value.split("/"):
        yield _Fault(path, "may not lead out of the repository (..)")


def _exactly_one(entry: dict[str, Any], names: tuple[str, ...], path: str) -> Iterator[_Fault]:
    if sum(name in entry for name in names) != 1:
        yield _Fault(path, f"give exactly one of {', '.join(names[:-1])} and {names[-1]}")


def _ready_faults(entry: dict[str, Any], path: str) -> Iterator[_Fault]:
    yield from _exactly_one(entry, ("condition", "jsonPath", "wait"), path)
    if entry["kind"] == "Secret" and not entry.get("group") and "wait" not in entry:
        yield _Fault(f"{path}.kind", "Secrets are not read to find out whether they are ready")
    if "jsonPath" in entry:
        try:
            JsonPath.parse(entry["jsonPath"])
        except ValueError as error:
            yield _Fault(f"{path}.jsonPath", f"{_shown(entry['jsonPath'])}is no path to a field: {error}", UNDERSTOOD)
    if entry.get("wait"):
        yield _Fault(f"{path}.wait", "only false has a meaning here")
    if "value" in entry and "jsonPath" not in entry:
        yield _Fault(f"{path}.value", "only together with jsonPath")
