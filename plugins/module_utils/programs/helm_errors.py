"""What helm writes to standard error, as one clear line: where, what, and what to do about it.

Helm's texts are made for a terminal: several lines, the place of a fault somewhere in the middle, and now and then the
value that did not fit. The texts of helm 4.3 are known here one by one; any other is shown as it is, in one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..model.errors import RenderError
from .go_faults import ran_out_of_memory
from .hidden_values import HIDDEN, HiddenValues

_LONGEST_TEXT = 600
_CORRECT_VALUES = "correct the values"
_CORRECT_TEMPLATE = "correct the template, or the values that it uses"


class ChartRefusalError(RenderError):
    """The chart itself ended its render, with ``fail`` or ``required``: the message is its author's."""

    def without_text(self) -> ChartRefusalError:
        """The same without the message, for a chart that may have put a Secret into it."""
        return ChartRefusalError(
            "the chart ends its render; its message is not shown, since the chart can read Secrets of the cluster",
            subject=self.subject,
            hint="helm template --dry-run=server shows it",
        )


def template_error(stderr: str, secrets: Collection[str] = ()) -> RenderError:
    """What ``helm template`` failed of.

    :param secrets: texts that the message may not repeat, in whatever form templates write them.
    """
    if ran_out_of_memory(stderr):
        return RenderError("helm needs too much memory", hint="look for what repeats itself in the chart")
    hidden = HiddenValues(secrets)
    text = hidden.replaced(error_of(stderr))
    if text.startswith(("execution error at ", "template: ")):
        # A value that was written with another indentation is one again.
        text = hidden.replaced(" ".join(text.split()))
    for known in (_traced, _parse_error, _called_fail, _rendered_text, _schema, _file, _other):
        if error := known(text):
            return error
    return _unknown("helm can't render the chart", hidden.replaced(" ".join(text.split())))


def download_error(text: str, *, index: bool) -> RenderError:
    """What a download failed of; the caller adds from where.

    :param index: whether it was the index of the repository, not an archive.
    """
    reason = _one_line(text)
    if status := re.search(r"failed to fetch \S+ : (\d+)(.*)", reason):
        return _refused(int(status[1]), f"{status[1]}{status[2]}", index)
    if "x509:" in reason or "tls:" in reason:
        return RenderError(
            f"there is no trusted connection to it: {_last_clause(reason)}",
            hint="give its CA with helm repo add --ca-file, or in SSL_CERT_FILE",
        )
    if "deadline exceeded" in reason or "Client.Timeout" in reason or "i/o timeout" in reason:
        return RenderError("does not answer in time", hint="try again later, or check the network and the proxy")
    if re.search(r"\b(unexpected )?EOF\b|connection reset", reason):
        return RenderError("the connection ended in the middle of a download", hint="try again")
    if re.search(r'Get ".*?": ', reason):
        return RenderError(f"can't be reached: {_last_clause(reason)}", hint="check the URL, the network and the proxy")
    if index and re.search(r"YAML|JSON|json|index.yaml|no API version", reason):
        return RenderError("is no chart repository: what it has as index.yaml is none", hint="correct the URL")
    return _unknown("helm can't download from it", reason)


def warnings_of(stderr: str) -> list[str]:
    """What people should know about a render that went well."""
    found: dict[str, None] = {}
    for line in stderr.splitlines():
        fields = {name: _unquoted(value) for name, value in re.findall(r'\b(\w+)=("(?:[^"\\]|\\.)*"|\S+)', line)}
        message = fields.pop("msg", "")
        match fields.pop("level", ""), message:
            case _, "skipping unknown hooks":
                found[f"an object with the unknown hook {fields.get('hookTypes')} is left out, as Helm does"] = None
            case _, "this chart is deprecated":
                found["the chart is deprecated"] = None
            case _, "returned non-bool value":
                what = fields.get("path") or f"tag {fields.get('tag')}"
                found[f"{what} of the chart {fields.get('chart')} is neither true nor false, and does not count"] = None
            case _, _ if message.startswith("warning: "):
                text = message.removeprefix("warning: ").rstrip()
                # What stands in brackets at its end is a value.
                found[(text.partition(" (")[0] if text.endswith(")") else text).rstrip(".")] = None
            case "WARN", _:
                found[_one_line(": ".join([message, *fields.values()]))] = None
    return list(found)


# -- failures of templates ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    """One step on the way to the template code that failed."""

    file: str
    line: str
    code: str
    message: str


_TRACED = re.compile(
    r'^(?P<file>[^\n:]+):(?P<line>\d+)(?::\d+)?\n(?: +executing "[^\n]{0,300}?" at <(?P<code>.{0,100}?)>:\n)?'
    r" +(?P<message>[^\n]*)",
    re.MULTILINE,
)
_CHAINED = re.compile(
    r'template: (?P<file>[^\n:]+):(?P<line>\d+)(?::\d+)?: (?:executing ".{0,300}?" at <(?P<code>.{0,100}?)>: )?'
    r"(?P<message>.*?)(?=template: [^\n:]+:\d|\Z)",
    re.DOTALL,
)
# A quote that is never closed goes to the end: the rest was cut off, and each further one would be looked for in vain.
_QUOTED = r'"(?:[^"\\]|\\[\s\S]?)*(?:"|\Z)'
_TEXT_OF_TPL = re.compile(rf"(function execution for|cannot parse template) {_QUOTED}: ")
"""What ``tpl`` was given; it comes from the values."""


def _traced(text: str) -> RenderError | None:
    """``template: …`` in one line, or the same as a trace of several lines."""
    if not re.match(r"template: |[^\n:]+:\d+(:\d+)?\n ", text):
        return None
    text = _TEXT_OF_TPL.sub("", text)
    pattern = _CHAINED if text.startswith("template: ") else _TRACED
    calls = [
        _Call(*(match[name] or "" for name in ("file", "line", "code", "message"))) for match in pattern.finditer(text)
    ]
    # Templates that tpl makes of values have no file.
    places = [call for call in calls if call.file != "gotpl"]
    if not places:
        return None
    # What a function quotes is what it was called with.
    message = re.sub(r"error calling \w+: ?", "", calls[-1].message)
    message = _one_line(re.sub(rf"{_QUOTED}|`[^`]*(?:`|\Z)", HIDDEN, message))
    if nowhere := re.search(r'no template ("[^"]*") associated', text):
        # A name that is not written out may come from anywhere.
        written = re.search(r'\b(?:include|template) "', calls[-1].code)
        message = f"there is no template {nowhere[1]}" if written else "there is no template of this name"
    message = re.sub(r"(range can't iterate over) .*", r"\1 this value", message)
    place, first = places[-1], places[0]
    code = f" at <{_one_line(calls[-1].code)}>" if calls[-1].code else ""
    given = ", in a template that the values hold" if calls[-1].file == "gotpl" else ""
    used = f", used by {first.file}:{first.line}" if first.file != place.file else ""
    return RenderError(
        f"{message or 'the template fails'}{code}{given}{used}",
        subject=f"{place.file}:{place.line}",
        hint=_CORRECT_TEMPLATE,
    )


def _parse_error(text: str) -> RenderError | None:
    if not (match := re.match(r"parse error at \((.+?:\d+)(?::\d+)?\): (.*)", text, re.DOTALL)):
        return None
    return RenderError(f"is no valid template: {_one_line(match[2])}", subject=match[1], hint="correct the template")


def _called_fail(text: str) -> RenderError | None:
    """``fail`` and ``required`` of a template."""
    if not (match := re.match(r"execution error at \((.+?:\d+)(?::\d+)?\): (.*)", text, re.DOTALL)):
        return None
    message = _one_line(match[2]).rstrip(" .!") or "the chart refuses these values"
    return ChartRefusalError(message, subject=match[1], hint=_CORRECT_VALUES)


def _rendered_text(text: str) -> RenderError | None:
    """A template whose output is no YAML, or no object."""
    if not (match := re.match(r"YAML parse error on (.+?): (.*)", text, re.DOTALL)):
        return None
    hint = "correct the values that it uses; helm template --debug shows what it renders"
    if shape := re.search(r"cannot unmarshal (\w+) into Go (?:value|struct field \w+\.(\S+)) of type (\S+)", match[2]):
        got, field, wanted = shape.groups()
        what = f"{field}, which is a {_kind(got)}, not a {_kind(wanted)}" if field else f"a {_kind(got)}, not an object"
        return RenderError(f"renders {what}", subject=match[1], hint=hint)
    line = re.search(r"yaml: line (\d+): ", match[2])
    where = f" in line {line[1]} of the rendered document" if line else ""
    return RenderError(f"renders no valid YAML: {_yaml_fault(match[2])}{where}", subject=match[1], hint=hint)


def _yaml_fault(text: str) -> str:
    """What Go's YAML library says, without what it quotes of the text."""
    fault = re.sub(r"^.*yaml: (line \d+: )?", "", _one_line(text))
    return _one_line(re.sub(r"(unknown anchor) '.*?'|(invalid map key).*|`.*?`", rf"\1\2 {HIDDEN}", fault))


def _kind(go: str) -> str:
    names = {"array": "list", "string": "text", "object": "mapping", "bool": "boolean"}
    return "mapping" if go.startswith("map[") else names.get(go, go)


# -- values ------------------------------------------------------------------------------------------------------------


def _schema(text: str) -> RenderError | None:
    """All that the values schemas of the chart and its subcharts find, in one line."""
    if not text.startswith("values don't meet the specifications of the schema"):
        return None
    found = text.replace("\ninvalid type for values", "\n- invalid type for values").partition("\n")[2]
    if away := re.search(r'failing loading "(\S+?)": (.*)', found):
        return RenderError(
            f"its values schema refers to {away[1]}, which can't be read: {_last_clause(away[2])}",
            hint="make it reachable from this host, or use a version of the chart without it",
        )
    if "not valid against metaschema" in found or not re.search(r"^ *- ", found, re.MULTILINE):
        return RenderError("its values.schema.json is no valid schema", hint="use another version of the chart")
    return RenderError(f"the values do not fit the schema {'; '.join(_violations(found))}", hint=_CORRECT_VALUES)


def _violations(text: str) -> Iterator[str]:
    """``of CHART: field: what is wrong; …`` for each chart; helm lists them in no order."""
    for chart, lines in re.findall(r"^(\S+):\n((?: *- .*\n?)+)", text, re.MULTILINE):
        clauses: list[list[str]] = []
        for indentation, pointer, fault in re.findall(r"^( *)- (?:at '(.*?)': )?(.*)", lines, re.MULTILINE):
            # Only these two quote what stands in the values.
            fault = re.sub(r"^'.*'(?= does not match pattern ')", "", fault).strip()
            fault = re.sub(r"^.* (is not valid [\w-]+): .*", r"\1", fault)
            path = pointer.strip("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
            clause = f"{path}: {fault}" if path else fault
            if indentation and clauses:
                clauses[-1].append(clause)
            else:
                clauses.append([clause])
        yield f"of {chart}: " + "; ".join(
            f"{first} ({', '.join(rest)})" if rest else first for first, *rest in sorted(clauses)
        )


def _file(text: str) -> RenderError | None:
    """A values file, or a file of the chart that helm reads itself."""
    if match := re.match(r"validation: (.*)", text):
        return RenderError(match[1].removeprefix("chart.metadata."), subject="Chart.yaml", hint="correct the file")
    if not (
        match := re.match(r"(?:cannot load|failed to parse) (\S+?): (?:cannot unmarshal yaml document: )?(.*)", text)
    ):
        return None
    what = "is no mapping" if "cannot unmarshal" in match[2] else f"is no valid YAML: {_yaml_fault(match[2])}"
    return RenderError(what, subject=PurePosixPath(match[1]).name, hint="correct the file")


def _other(text: str) -> RenderError | None:
    if match := re.match(r"chart requires kubeVersion: (.*) which is incompatible with Kubernetes (\S+)", text):
        return RenderError(
            f"the chart is for Kubernetes {match[1]}, and the cluster is {match[2]}",
            hint="use another version of the chart",
        )
    if match := re.search(r"missing in charts/ directory: (.*)", text):
        return RenderError(
            f"charts that it depends on are not in charts/: {match[1]}",
            hint="run helm dependency update, and commit Chart.lock or charts/",
        )
    if text == "library charts are not installable":
        return RenderError("is a library chart, which renders nothing", hint="use the chart that depends on it")
    if match := re.match(r'release name check failed: release name "(.*?)"', text):
        return RenderError(
            f"{match[1]} can't be the name of a Helm release",
            hint="set releaseName: lower case letters, digits and -, at most 53 characters",
        )
    if match := re.match(r"error evaluating symlink (\S+): ", text):
        return RenderError("is a symbolic link that leads nowhere", subject=match[1], hint="commit the file itself")
    if re.search(r"does not appear to be a gzipped archive|gzip: invalid|unexpected EOF", text):
        return RenderError("is no whole chart archive", hint="try again, or use another version of the chart")
    return None


# -- wording -----------------------------------------------------------------------------------------------------------


def _refused(status: int, reason: str, index: bool) -> RenderError:
    match status:
        case 401 | 403:
            message = f"wants a login that it accepts ({reason})"
            return RenderError(message, hint="make it known on this host with helm repo add --username --password")
        case 404 | 410 if index:
            return RenderError(f"is no chart repository: it has no index.yaml ({reason})", hint="correct the URL")
        case 404 | 410:
            return RenderError(
                f"the archive that the index names is not there ({reason})", hint="use another version of the chart"
            )
    return RenderError(f"answers {reason}", hint="try again later")


def _unknown(what: str, text: str) -> RenderError:
    return RenderError(f"{what}: {_one_line(text)}", hint="helm itself, called by hand, may say more")


def error_of(stderr: str) -> str:
    """What follows ``Error:``, without log lines before it and advice for people at a terminal after it."""
    match = re.search(r"^Error: (.*)", stderr, re.MULTILINE | re.DOTALL)
    return (match[1] if match else stderr).replace("\n\nUse --debug flag to render out invalid YAML", "").strip()


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError:
        return value[1:-1]


def _last_clause(text: str) -> str:
    """What Go's network library says at the end, after all the calls and addresses that led there."""
    return _one_line(text.partition("\n")[0].rpartition(": ")[2])


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else f"{line[:_LONGEST_TEXT]} {HIDDEN}"
