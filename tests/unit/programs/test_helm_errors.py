"""One clear line for each text that helm 4.3.1 really wrote to standard error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.programs.helm_errors import (
    download_error,
    template_error,
    warnings_of,
)
from tests.unit.ending import that_ends

DEBUG = "\n\nUse --debug flag to render out invalid YAML\n"
TEMPLATE_HINT = "Correct the template, or the values that it uses."
YAML_HINT = "Correct the values that it uses; helm template --debug shows what it renders."
SCHEMA = "Error: values don't meet the specifications of the schema(s) in the following chart(s):\n"
RELEASE_NAME = (
    r"invalid release name, must match regex ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$ and the length must not be longer than 53"
)

TEMPLATE_ERRORS = {
    "syntax": (
        f"Error: parse error at (web/templates/a.yaml:5): missing value for if{DEBUG}",
        "web/templates/a.yaml:5: is no valid template: missing value for if. Correct the template.",
    ),
    "unknown function": (
        f'Error: parse error at (web/templates/a.yaml:5): function "nofun" not defined{DEBUG}',
        'web/templates/a.yaml:5: is no valid template: function "nofun" not defined. Correct the template.',
    ),
    "nil pointer": (
        'Error: web/templates/a.yaml:5:15\n  executing "web/templates/a.yaml" at <.Values.a.b.c>:\n'
        f"    nil pointer evaluating interface {{}}.b{DEBUG}",
        f"web/templates/a.yaml:5: nil pointer evaluating interface {{}}.b at <.Values.a.b.c>. {TEMPLATE_HINT}",
    ),
    "in an include of an include": (
        'Error: web/templates/a.yaml:5:8\n  executing "web/templates/a.yaml" at <include "x" .>:\n'
        '    error calling include:\nweb/templates/_h.tpl:1:19\n  executing "x" at <include "y" .>:\n'
        '    error calling include:\nweb/templates/_h.tpl:3:10\n  executing "y" at <.Values.a.b.c>:\n'
        f"    nil pointer evaluating interface {{}}.b{DEBUG}",
        "web/templates/_h.tpl:3: nil pointer evaluating interface {}.b at <.Values.a.b.c>, "
        f"used by web/templates/a.yaml:5. {TEMPLATE_HINT}",
    ),
    "unknown include": (
        'Error: web/templates/a.yaml:5:8\n  executing "web/templates/a.yaml" at <include "nix" .>:\n'
        f'    error calling include:\ntemplate: no template "nix" associated with template "gotpl"{DEBUG}',
        f'web/templates/a.yaml:5: there is no template "nix" at <include "nix" .>. {TEMPLATE_HINT}',
    ),
    "unknown include of a name from elsewhere": (
        'Error: web/templates/a.yaml:5:8\n  executing "web/templates/a.yaml" at <include $x .>:\n'
        f'    error calling include:\ntemplate: no template "s3cret" associated with template "gotpl"{DEBUG}',
        f"web/templates/a.yaml:5: there is no template of this name at <include $x .>. {TEMPLATE_HINT}",
    ),
    "endless include": (
        'Error: template: web/templates/a.yaml:1:3: executing "web/templates/a.yaml" at <include "x" .>: error calling '
        'include: template: web/templates/_h.tpl:1:19: executing "x" at <include "x" .>: error calling include: '
        'template: web/templates/_h.tpl:1:19: executing "x" at <include "x" .>: error calling include: rendering '
        f"template has a nested reference name: x: unable to execute template{DEBUG}",
        "web/templates/_h.tpl:1: rendering template has a nested reference name: x: unable to execute template at "
        f'<include "x" .>, used by web/templates/a.yaml:1. {TEMPLATE_HINT}',
    ),
    "in a subchart": (
        'Error: web/charts/db/templates/deep/a.yaml:3:10\n  executing "web/charts/db/templates/deep/a.yaml" at '
        f"<.Values.x.y.z>:\n    nil pointer evaluating interface {{}}.y{DEBUG}",
        "web/charts/db/templates/deep/a.yaml:3: nil pointer evaluating interface {}.y at <.Values.x.y.z>. "
        f"{TEMPLATE_HINT}",
    ),
    "wrong type": (
        'Error: web/templates/a.yaml:4:31\n  executing "web/templates/a.yaml" at <5>:\n'
        f"    wrong type for value; expected string; got map[string]interface {{}}{DEBUG}",
        "web/templates/a.yaml:4: wrong type for value; expected string; got map[string]interface {} at <5>. "
        f"{TEMPLATE_HINT}",
    ),
    "a range shows the value": (
        'Error: web/templates/a.yaml:4:26\n  executing "web/templates/a.yaml" at <.Values.a>:\n'
        f"    range can't iterate over sesame{DEBUG}",
        f"web/templates/a.yaml:4: range can't iterate over this value at <.Values.a>. {TEMPLATE_HINT}",
    ),
    "tpl shows the value": (
        'Error: template: web/templates/a.yaml:4:13: executing "web/templates/a.yaml" at <tpl .Values.a .>: error '
        'calling tpl: error during tpl function execution for "sesame {{ .x.y.z }}": template: gotpl:1:12: executing '
        f'"gotpl" at <.x.y.z>: nil pointer evaluating interface {{}}.y{DEBUG}',
        "web/templates/a.yaml:4: nil pointer evaluating interface {}.y at <.x.y.z>, in a template that the values "
        f"hold. {TEMPLATE_HINT}",
    ),
    "tpl can't parse the value": (
        'Error: template: web/templates/a.yaml:4:13: executing "web/templates/a.yaml" at <tpl .Values.a .>: error '
        f'calling tpl: cannot parse template "sesame {{{{ ": template: gotpl:1: unclosed action{DEBUG}',
        f"web/templates/a.yaml:4: unclosed action, in a template that the values hold. {TEMPLATE_HINT}",
    ),
    "a function fails": (
        'Error: template: web/templates/a.yaml:4:13: executing "web/templates/a.yaml" at <div 1 0>: error calling div: '
        f"runtime error: integer divide by zero{DEBUG}",
        f"web/templates/a.yaml:4: runtime error: integer divide by zero at <div 1 0>. {TEMPLATE_HINT}",
    ),
    "a function shows the value": (
        'Error: template: web/templates/a.yaml:5:8: executing "web/templates/a.yaml" at <mustToDate "2006" .Values.a>: '
        'error calling mustToDate: parsing time "sesame \\"x" as "2006": cannot parse "sesame" as "2006"' + DEBUG,
        'web/templates/a.yaml:5: parsing time … as …: cannot parse … as … at <mustToDate "2006" .Values.a>. '
        f"{TEMPLATE_HINT}",
    ),
    "a function shows the value in backquotes": (
        'Error: template: web/templates/a.yaml:5:8: executing "web/templates/a.yaml" at <mustRegexMatch .Values.a "x">'
        f": error calling mustRegexMatch: error parsing regexp: missing closing ): `(sesame`{DEBUG}",
        'web/templates/a.yaml:5: error parsing regexp: missing closing ): … at <mustRegexMatch .Values.a "x">. '
        f"{TEMPLATE_HINT}",
    ),
    "required": (
        f"Error: execution error at (web/templates/a.yaml:4:13): a is required!{DEBUG}",
        "web/templates/a.yaml:4: a is required. Correct the values.",
    ),
    "fail in several lines": (
        f"Error: execution error at (web/templates/a.yaml:4:3): \nline one:\n  line two{DEBUG}",
        "web/templates/a.yaml:4: line one: line two. Correct the values.",
    ),
    "no YAML": (
        "Error: YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: line 5: mapping values "
        f"are not allowed in this context{DEBUG}",
        "web/templates/a.yaml: renders no valid YAML: mapping values are not allowed in this context in line 5 of the "
        f"rendered document. {YAML_HINT}",
    ),
    "an anchor that is a value": (
        "Error: YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: unknown anchor 'sesame' "
        f"referenced{DEBUG}",
        f"web/templates/a.yaml: renders no valid YAML: unknown anchor … referenced. {YAML_HINT}",
    ),
    "a key that is a value": (
        "Error: YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: invalid map key: "
        f'map[interface {{}}]interface {{}}{{"sesame":"b"}}{DEBUG}',
        f"web/templates/a.yaml: renders no valid YAML: invalid map key …. {YAML_HINT}",
    ),
    "a tag that a value does not fit": (
        "Error: YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: cannot decode !!str "
        f"`sesame` as a !!int{DEBUG}",
        f"web/templates/a.yaml: renders no valid YAML: cannot decode !!str … as a !!int. {YAML_HINT}",
    ),
    "a list": (
        "Error: YAML parse error on web/templates/a.yaml: error unmarshaling JSON: while decoding JSON: json: cannot "
        f"unmarshal array into Go value of type util.SimpleHead{DEBUG}",
        f"web/templates/a.yaml: renders a list, not an object. {YAML_HINT}",
    ),
    "a field of another type": (
        "Error: YAML parse error on web/templates/a.yaml: error unmarshaling JSON: while decoding JSON: json: cannot "
        f"unmarshal array into Go struct field SimpleHead.metadata.annotations of type map[string]string{DEBUG}",
        f"web/templates/a.yaml: renders metadata.annotations, which is a list, not a mapping. {YAML_HINT}",
    ),
    "schema": (
        f"{SCHEMA}web:\n- at '/n': minimum: got 1, want 3\n- at '/port': got string, want integer\n"
        "- at '/pw': 'SESAME1' does not match pattern '^[a-z]+$'\n"
        "- at '/mail': 'SESAME2' is not valid email: missing @\n"
        "- at '/mode': value must be one of 'a', 'b'\n- at '': additional properties 'q' not allowed\n\n",
        "the values do not fit the schema of web: additional properties 'q' not allowed; mail: is not valid email; "
        "mode: value must be one of 'a', 'b'; n: minimum: got 1, want 3; port: got string, want integer; "
        "pw: does not match pattern '^[a-z]+$'. Correct the values.",
    ),
    "schema with alternatives": (
        f"{SCHEMA}web:\n- at '/a/0': 'oneOf' failed, none matched\n  - at '/a/0': got array, want string\n"
        "  - at '/a/0': got array, want integer\n\n",
        "the values do not fit the schema of web: a.0: 'oneOf' failed, none matched (a.0: got array, want string, "
        "a.0: got array, want integer). Correct the values.",
    ),
    "schema of a subchart": (
        f"{SCHEMA}web:\n- at '/port': got string, want integer\ndb:\n- at '': missing property 'pw'\n"
        "redis:\ninvalid type for values: expected object (map), got string\n\n",
        "the values do not fit the schema of web: port: got string, want integer; of db: missing property 'pw'; "
        "of redis: invalid type for values: expected object (map), got string. Correct the values.",
    ),
    "schema that is none": (
        f"{SCHEMA}web:\nunexpected EOF\n",
        "its values.schema.json is no valid schema. Use another version of the chart.",
    ),
    "schema that refers to an unreachable URL": (
        f'{SCHEMA}web:\nfailing loading "http://127.0.0.1:1/x.json": HTTP request failed for '
        'http://127.0.0.1:1/x.json: Get "http://127.0.0.1:1/x.json": dial tcp 127.0.0.1:1: connect: connection '
        "refused\n",
        "its values schema refers to http://127.0.0.1:1/x.json, which can't be read: connection refused. Make it "
        "reachable from this host, or use a version of the chart without it.",
    ),
    "kubeVersion": (
        "Error: chart requires kubeVersion: >=1.40.0-0 which is incompatible with Kubernetes v1.37.2" + DEBUG,
        "the chart is for Kubernetes >=1.40.0-0, and the cluster is v1.37.2. Use another version of the chart.",
    ),
    "missing dependencies": (
        "Error: an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' "
        "to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: db, db2\n",
        "charts that it depends on are not in charts/: db, db2. Run helm dependency update, and commit Chart.lock or "
        "charts/.",
    ),
    "library chart": (
        "Error: library charts are not installable\n",
        "is a library chart, which renders nothing. Use the chart that depends on it.",
    ),
    "release name": (
        f'level=ERROR msg="release name check failed" error="release name \\"Rel_x\\": {RELEASE_NAME}"\n'
        f'Error: release name check failed: release name "Rel_x": {RELEASE_NAME}\n',
        "Rel_x can't be the name of a Helm release. Set releaseName: lower case letters, digits and -, at most 53 "
        "characters.",
    ),
    "values that are no mapping": (
        "Error: failed to parse /run/values/0-prod.yaml: cannot unmarshal yaml document: error unmarshaling JSON: "
        "while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}\n",
        "0-prod.yaml: is no mapping. Correct the file.",
    ),
    "values.yaml of the chart": (
        "Error: cannot load values.yaml: cannot unmarshal yaml document: error converting YAML to JSON: yaml: mapping "
        "values are not allowed in this context\n",
        "values.yaml: is no valid YAML: mapping values are not allowed in this context. Correct the file.",
    ),
    "Chart.yaml": (
        'Error: validation: chart.metadata.version "abc" is invalid\n',
        'Chart.yaml: version "abc" is invalid. Correct the file.',
    ),
    "no archive": (
        "Error: file 'web-1.2.3.tgz' does not appear to be a gzipped archive; got 'application/octet-stream'\n",
        "is no whole chart archive. Try again, or use another version of the chart.",
    ),
    "symbolic link": (
        'level=INFO msg="found symbolic link in path. Contents of linked file included and used" path=a resolved=b\n'
        "Error: error evaluating symlink web/templates/z.yaml: lstat web/templates/zz.yaml: no such file or "
        "directory\n",
        "web/templates/z.yaml: is a symbolic link that leads nowhere. Commit the file itself.",
    ),
    "anything else": (
        "Error: something\nnew\n",
        "helm can't render the chart: something new. Helm itself, called by hand, may say more.",
    ),
}


@pytest.mark.parametrize(("stderr", "line"), TEMPLATE_ERRORS.values(), ids=TEMPLATE_ERRORS)
def test_a_failed_render_is_one_line(stderr: str, line: str) -> None:
    assert str(template_error(stderr)) == line


def test_secrets_are_hidden_also_as_go_quotes_them() -> None:
    stderr = 'Error: execution error at (a/templates/b.yaml:1:1): key "one\\ntwo" or one\ntwo or sesame-open is weak\n'
    error = template_error(stderr, {"sesame", "one\ntwo", "sesame-open", ""})
    assert error.message == 'key "…" or … or … is weak'


KEY_FILE = "first line\n  second line\nthird"


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("    first line\n      second line\n    third", "…"),
        (KEY_FILE.replace("\n", "\n\t\t"), "…"),
        ("Zmlyc3QgbGluZQogIHNlY29uZCBsaW5lCnRoaXJk", "…"),
        ("8.472938412e+09", "…"),
        ("pin 4829 of 48291", "pin … of 48291"),
        ("true", "true"),
    ],
)
def test_values_are_hidden_in_the_forms_of_templates(quoted: str, shown: str) -> None:
    secrets = {KEY_FILE, "8.472938412e+09", "4829", "true", "abc"}
    error = template_error(f"Error: execution error at (a/templates/b.yaml:1:1): it is {quoted} abc\n", secrets)
    assert (error.subject, error.message) == ("a/templates/b.yaml:1", f"it is {shown} abc")


def test_with_too_many_values_to_look_for_no_text_is_shown() -> None:
    secrets = {f"value-{number}" for number in range(100_000)}
    error = template_error("Error: execution error at (a/templates/b.yaml:1:1): no value-7\n", secrets)
    assert "value-7" not in str(error)
    assert "too many" in str(error)


def test_helm_without_memory() -> None:
    text = "fatal error: runtime: cannot allocate memory\n\ngoroutine 1 [running]:\n"
    assert str(template_error(text)) == "helm needs too much memory. Look for what repeats itself in the chart."


def test_a_message_has_an_end() -> None:
    assert len(str(template_error(f"Error: execution error at (a/templates/b.yaml:1:1): {'long ' * 1000}"))) < 800


GET = 'Get "http://127.0.0.1:4/index.yaml": '
DOWNLOAD_ERRORS = {
    "no index": (
        "failed to fetch http://127.0.0.1:4/index.yaml : 404 Not Found",
        "is no chart repository: it has no index.yaml (404 Not Found). Correct the URL.",
    ),
    "login": (
        "failed to fetch http://127.0.0.1:4/index.yaml : 401 Unauthorized",
        "wants a login that it accepts (401 Unauthorized). Make it known on this host with helm repo add --username "
        "--password.",
    ),
    "server error": (
        "failed to fetch http://127.0.0.1:4/index.yaml : 503 Service Unavailable",
        "answers 503 Service Unavailable. Try again later.",
    ),
    "half": ("unexpected EOF", "the connection ended in the middle of a download. Try again."),
    "closed": (f"{GET}EOF", "the connection ended in the middle of a download. Try again."),
    "refused": (
        f"{GET}dial tcp 127.0.0.1:4: connect: connection refused",
        "can't be reached: connection refused. Check the URL, the network and the proxy.",
    ),
    "no such host": (
        'Get "http://no.invalid/index.yaml": dial tcp: lookup no.invalid on 10.0.0.53:53: no such host',
        "can't be reached: no such host. Check the URL, the network and the proxy.",
    ),
    "slow": (
        f"{GET}context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
        "does not answer in time. Try again later, or check the network and the proxy.",
    ),
    "certificate": (
        'Get "https://127.0.0.1:4/index.yaml": tls: failed to verify certificate: x509: certificate signed by unknown '
        "authority",
        "there is no trusted connection to it: certificate signed by unknown authority. Give its CA with helm repo add "
        "--ca-file, or in SSL_CERT_FILE.",
    ),
    "HTML": (
        "error converting YAML to JSON: yaml: mapping values are not allowed in this context",
        "is no chart repository: what it has as index.yaml is none. Correct the URL.",
    ),
    "a list": (
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type "
        "repo.IndexFile",
        "is no chart repository: what it has as index.yaml is none. Correct the URL.",
    ),
    "empty": (
        "empty index.yaml file",
        "is no chart repository: what it has as index.yaml is none. Correct the URL.",
    ),
}


@pytest.mark.parametrize(("text", "line"), DOWNLOAD_ERRORS.values(), ids=DOWNLOAD_ERRORS)
def test_an_index_that_can_not_be_had(text: str, line: str) -> None:
    assert str(download_error(text, index=True)) == line


def test_an_archive_that_is_gone_is_no_wrong_repository() -> None:
    error = download_error("Error: failed to fetch http://127.0.0.1:4/web-1.2.3.tgz : 404 Not Found\n", index=False)
    assert str(error) == (
        "the archive that the index names is not there (404 Not Found). Use another version of the chart."
    )


def test_what_is_worth_a_warning() -> None:
    stderr = (
        'level=WARN msg="this chart is deprecated"\n'
        'level=INFO msg="found symbolic link in path. Contents of linked file included and used" path=/a resolved=/b\n'
        'level=INFO msg="skipping unknown hooks" hookTypes=crd-install\n'
        'level=INFO msg="skipping unknown hooks" hookTypes=crd-install\n'
        'level=WARN msg="returned non-bool value" path=db.on chart=db\n'
        'level=INFO msg="warning: skipped value for web.c: Not a table."\n'
        'level=INFO msg="warning: cannot overwrite table with non table for web.a (map[password:sesame \\"x\\"])"\n'
        'level=WARN msg="ImportValues missing table" error="\\"exports.x\\" is not a table"\n'
    )
    assert warnings_of(stderr) == [
        "the chart is deprecated",
        "an object with the unknown hook crd-install is left out, as Helm does",
        "db.on of the chart db is neither true nor false, and does not count",
        "skipped value for web.c: Not a table",
        "cannot overwrite table with non table for web.a",
        'ImportValues missing table: "exports.x" is not a table',
    ]


LONG = 1_000_000
"""More than is ever looked at, so that what is not linear would take hours."""


@pytest.mark.parametrize(
    ("explain", "text"),
    [
        (template_error, 'Error: template: a:1: executing "' + '" at <' * LONG),
        (template_error, "Error: " + 'template: a:1: executing "' * LONG),
        (template_error, 'Error: a:1:1\n  executing "' + '" at <' * LONG),
        (template_error, "Error: template: a:1: x" + '"' + '\\"' * LONG),
        (template_error, "Error: template: a:1: x " + "`" * (LONG + 1)),
        (template_error, "Error: template: a:1: " + 'cannot parse template "\\' * LONG),
        (template_error, "Error: YAML parse error on a: " + "cannot unmarshal a into Go struct field a." * LONG),
        (template_error, "Error: values don't meet the specifications of the schema\na:\n" + "- at '" * LONG),
        (warnings_of, "a" * LONG),
        (warnings_of, "level=WARN msg=" + '"\\" a=' * LONG),
        (warnings_of, 'msg="warning: ' + " (" * LONG + '"'),
    ],
)
def test_hostile_texts_are_read_once(explain: Callable[[str], object], text: str) -> None:
    with that_ends():
        explain(text[:LONG])


def test_a_quote_that_was_cut_off_is_not_repeated() -> None:
    error = template_error('Error: template: a.yaml:1:1: executing "a.yaml" at <x>: wrong type for "sesame \\" sesa')
    assert str(error) == f"a.yaml:1: wrong type for … at <x>. {TEMPLATE_HINT}"


def test_a_schema_that_can_not_be_loaded_without_a_reason() -> None:
    error = template_error(f'{SCHEMA}failing loading "http://x": \n- a')
    assert "refers to http://x, which can't be read" in str(error)
