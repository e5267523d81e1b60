"""What ``kustomize build`` writes to standard error, as one clear line: where, what, and what to do about it.

Its errors nest: each kustomization on the way adds what it was doing, and a path is tried as a file and as a folder,
with both failures told. Some quote whole patches or lines of data, which may be secret: what stands in a message here
is a name, a path, or a text of kustomize with all that it quotes left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ..model.errors import RenderError
from .go_faults import ran_out_of_memory

_LONGEST = 300
_WHERE = re.compile(r"(?:recursed accumulation of|couldn't make target for) path '([^']*)': ")
_ID = re.compile(r"(?P<kind>[^.]*)\.(?P<version>[^.]*)\.(?P<group>.*)/(?P<name>[^/]*)\.(?P<namespace>[^.]*)")
# A quote that is never closed goes to the end: the rest was cut off, and each further one would be looked for in vain.
_QUOTED = re.compile(r"`[^`]*(?:`|\Z)|\"(?:\\[\s\S]?|[^\"\\])*(?:\"|\Z)|'[^'\n]*\n[^']*(?:'|\Z)")
_OF_HELM = re.compile(r"Error: |Use --debug flag.*")
_PREFIXES = re.compile(r"(?:accumulating resources: |accumulation err=|trouble configuring builtin (?=\w))+")
_OPTION = "addon_kustomize_allow"
_NEEDS_MEMORY = "kustomize needs too much memory"
_REORGANISE = "move the file there, or make its folder a base with a kustomization"


def build_error(text: str, root: Path, path: str) -> RenderError:
    """What a build failed of.

    :param root: the folder that paths are shown relative to.
    :param path: the kustomization that was built, relative to it.
    """
    if ran_out_of_memory(text):
        return RenderError(_NEEDS_MEMORY, subject=path, hint="look for what repeats itself in the source")
    error = _last(text, root)
    *_, where, error = ["", path, *_WHERE.split(error)][-2:] if _WHERE.search(error) else ("", path, error)
    message, hint = _explained(error, _CAUSES)
    return RenderError(message, subject=where, hint=hint or "run kustomize build in a checkout to see all of it")


def patch_error(text: str, root: Path, patch: str) -> RenderError:
    """What a kustomization of nothing but objects and patches failed of.

    :param root: its folder.
    :param patch: the one that made it fail, such as ``patches[0]``; empty when it does so without any.
    """
    if ran_out_of_memory(text):
        hint = "look for operations that copy what others copied" if patch else "look for what repeats itself in it"
        return RenderError(_NEEDS_MEMORY, subject=patch, hint=hint)
    error = _last(text, root)
    message, hint = _explained(error, _CAUSES_OF_PATCHES + _CAUSES)
    hint = hint or ("correct the patch" if patch else "correct the source")
    return RenderError(message.removeprefix("patches: "), subject=patch, hint=hint)


def warnings_of(text: str, path: str) -> list[str]:
    """What a build that went well had to say, each once."""
    lines = re.findall(r"Warning: (.*)", text)
    # What to do about a deprecated field stands before the advice to let kustomize rewrite the files.
    return [f"{path}: {line.partition(' Run ')[0].removesuffix('.')}" for line in dict.fromkeys(lines)]


def _last(text: str, root: Path) -> str:
    """The error itself, without what was written before it and without the place of temporary files."""
    error = re.split(r"^(?:Error: |(?=panic: ))", text, flags=re.MULTILINE)[-1].strip()
    return error.replace(f"{root}/", "").replace(str(root), ".")


def _explained(error: str, causes: list[tuple[str, _Explain]]) -> tuple[str, str]:
    """Message and hint; the error itself, without what it quotes, where no cause is known."""
    for pattern, explain in causes:
        if found := re.search(pattern, error, re.DOTALL):
            return explain(found)
    return _without_quotes(error), ""


def _without_quotes(error: str) -> str:
    line = " ".join(_QUOTED.sub("…", _PREFIXES.sub("", error)).split())
    return f"{line[:_LONGEST]}…" if len(line) > _LONGEST else line or "kustomize build failed"


def _object(identity: str) -> str:
    """``ConfigMap.v1.[noGrp]/a.[noNs]`` as ``ConfigMap a``."""
    parts = _ID.fullmatch(identity)
    if not parts:
        return identity
    namespace = "" if parts["namespace"] == "[noNs]" else f"{parts['namespace']}/"
    return f"{parts['kind']} {namespace}{parts['name']}"


_GENERATED = r"Kind:\"(\w*)\"[^\"]{0,99}Name:\"([^\"]*)\", Namespace:\"[^\"]*\"[^\"]{0,99}"
"""An object as Go shows it."""

_Explain = Callable[[re.Match[str]], tuple[str, str]]

_CAUSES_OF_PATCHES: list[tuple[str, _Explain]] = [
    (r"already registered id: (\S+)", lambda found: (f"makes a second {_object(found[1])}", "give it another name")),
    (r"^panic: |^map\[", lambda found: ("kustomize crashed", "")),
    (r"unable to parse SM or JSON patch", lambda found: ("is neither a merge patch nor a JSON patch", "")),
    (
        r"wrong node kind: (.*?)(?:: node contents|$)",
        lambda found: (f"a field has another shape than kustomize expects: {found[1]}", ""),
    ),
]
"""What means something else, or has another remedy, where all but patches is known to be right."""

_CAUSES: list[tuple[str, _Explain]] = [
    (r"^panic: ", lambda found: ("kustomize crashed", "look for an empty file, of crds for example")),
    (
        r"^(.*?): unable to run: '",
        lambda found: (f"helm: {_without_quotes(_OF_HELM.sub('', found[1]))}", "correct the chart or its values"),
    ),
    (
        r"no repo specified for pull",
        lambda found: ("helmCharts: a chart is not in the repository", "commit it below charts/, or give its repo"),
    ),
    (
        r"security; file '([^']*)' is not in or below '([^']*)'",
        lambda found: (f"{found[1]} is not in or below {found[2]}", _REORGANISE),
    ),
    (
        r"cycle detected: candidate root '([^']*)'",
        lambda found: (f"{found[1]} is a base of itself, or of a folder in it", "remove it from resources"),
    ),
    (
        r"MalformedYAMLError: yaml: (.{0,300}?) in File: (\S+)",
        lambda found: (f"{found[2]} is not valid YAML: {_without_quotes(found[1])}", "correct the file"),
    ),
    (
        r"(?:line (\d+): )?mapping key \"([^\"]*)\" already defined at line \d+",
        lambda found: (f"a file has the key {found[2]} twice in one mapping, in line {found[1]}", "remove one"),
    ),
    (
        r"resources from '([^']*)': missing metadata.name in object \{\{\S* (\w*)\}",
        lambda found: (f"{found[1]}: {found[2]} has no metadata.name", "give it one"),
    ),
    (
        r"resources from '([^']*)': missing Resource metadata",
        lambda found: (f"{found[1]} is no Kubernetes object", "remove it from resources"),
    ),
    (
        r"unable to find one of 'kustomization.yaml'",
        lambda found: ("holds no kustomization", "add a kustomization.yaml that lists its files under resources"),
    ),
    (r"Found multiple kustomization files", lambda found: ("holds more than one kustomization", "keep one")),
    (r"kustomization.yaml is empty", lambda found: ("the kustomization says nothing", "list files under resources")),
    (
        r"json: unknown field \"(\w*)\"",
        lambda found: (f"{found[1]}: unknown field of a kustomization", "correct its name"),
    ),
    (
        r"cannot unmarshal (\S+) into Go struct field (\S+) of type (\S+)",
        lambda found: (f"{found[2].partition('.')[2]}: got {found[1]}, {found[3]} is needed", "quote it if it is text"),
    ),
    (
        r"expected kind 'Component' for path '([^']*)'",
        lambda found: (f"{found[1]} is no component", "list it under resources, or make it kind: Component"),
    ),
    (
        r"expected kind != 'Component' for path '([^']*)'",
        lambda found: (f"{found[1]} is a component", "list it under components"),
    ),
    (
        r"no resource matches strategic merge patch \"([^\"]*)\"|no matches for Id (\S+?);",
        lambda found: (
            f"patches: there is no {_object(found[1] or found[2])} to patch",
            "correct kind, name and namespace of the patch, or list the object under resources",
        ),
    ),
    (
        r"multiple matches for Id (\S+?);",
        lambda found: (
            f"patches: there is more than one {_object(found[1])} to patch", "name the namespace, or give a target"
        ),
    ),
    (r"testing value (\S{0,300}) failed", lambda found: (f"patches: the test of {found[1]} fails", "correct it")),
    (
        r"error in (\w{1,20}) for path: '([^']{0,300})'",
        lambda found: (f"patches: {found[1]} of /{found[2].lstrip('/')} does not apply", "correct its path"),
    ),
    (
        r"(?<!\w)(\w{1,20}) operation does not apply: doc is missing (?:path|from path): \"([^\"]{0,300})\"",
        lambda found: (f"patches: {found[1]} of {found[2]} does not apply", "add what it is in first"),
    ),
    (
        r"Unexpected kind: ",
        lambda found: ("patches: a JSON patch lacks its op", "use add, remove, replace, move, copy or test"),
    ),
    (r"unknown patch strategy", lambda found: ("patches: $patch is unknown", "use delete, replace or merge")),
    (
        r"Multiple Strategic-Merge Patches in one",
        lambda found: ("patches: several merge patches in one entry can't have a target", "make them several entries"),
    ),
    (
        r"error parsing regexp: ([^:`]{0,100})",
        lambda found: (f"patches: target: is no regular expression: {found[1]}", "correct it"),
    ),
    (
        r"unable to parse requirement|found '[^']{0,300}', expected",
        lambda found: ("patches: target: a selector is not valid", "write it as for kubectl, such as app=web"),
    ),
    (
        r"missing (?:Resource metadata|([\w.]{1,50}) in object)",
        lambda found: (f"an object is left without {found[1] or 'metadata'}", "correct the patch that takes it away"),
    ),
    (
        r"updating name reference in '([^']{0,300})' field of '([^']{0,300})'",
        lambda found: (
            f"{_object(found[2])}: {found[1]} has another shape than kustomize expects", "correct the object"
        ),
    ),
    (
        r"already registered id: (\S+)",
        lambda found: (f"{_object(found[1])} is there twice", "remove one, or set a namePrefix for one of its bases"),
    ),
    (
        _GENERATED + r" exists; can not use behavior",
        lambda found: (f"{found[1]} {found[2]} is generated, and is there already", "set behavior: merge or replace"),
    ),
    (
        _GENERATED + r" does not exist; cannot merge or replace",
        lambda found: (f"{found[1]} {found[2]} is not there to merge with", "leave behavior out, or correct the name"),
    ),
    (r"invalid literal source", lambda found: ("literals: an entry is not of the form key=value", "correct it")),
    (
        r"configmap (\S*) illegally repeats the key `([^`]*)`",
        lambda found: (f"{found[1]} gets the key {found[2]} twice", "remove one"),
    ),
    (
        r"env source files: \[([^\]]{0,300})\]: line .{0,99} has invalid utf8",
        lambda found: (f"envs: {found[1]}: a line is not UTF-8 text", "give the file under files"),
    ),
    (
        r"unable to parse SM or JSON patch from \[path: \"([^\"]*)\"",
        lambda found: (f"patches: {found[1]} is neither a merge patch nor a JSON patch", "correct the file"),
    ),
    (
        r"unable to parse SM or JSON patch",
        lambda found: ("patches: a patch is neither a merge patch nor a JSON patch", "correct its YAML"),
    ),
    (r"must specify a target for JSON patch", lambda found: ("patches: a JSON patch has no target", "add target")),
    (
        r"patch and path can't be set at the same time|must specify one of patch and path",
        lambda found: ("patches: an entry needs either patch or path", "give one of them"),
    ),
    (
        r"nothing selected by (\S+)",
        lambda found: (f"replacements: there is no {_object(found[1])} to copy from", "correct source"),
    ),
    (
        r"unable to find field \"([^\"]*)\" in replacement target",
        lambda found: (f"replacements: a target has no field {found[1]}", "correct fieldPaths, or set options.create"),
    ),
    (
        r"resource with name (\S+) does not match a config",
        lambda found: (f"replicas: there is no workload {found[1]}", "correct its name"),
    ),
    (
        r"wrong node kind: (.*?)(?:: node contents|$)",
        lambda found: (f"a field has another shape than kustomize expects: {found[1]}", "correct the object"),
    ),
    (
        r"must specify --enable-helm",
        lambda found: ("helmCharts: helm may not be run", f"remove it, or add helm to {_OPTION}"),
    ),
    (
        r"unable to load external plugin '([^']*)'",
        lambda found: (f"{found[1]} is a plugin, which may not be run", f"remove it, or add plugins to {_OPTION}"),
    ),
    (
        r"no 'git' program on path|proxyconnect|dial tcp",
        lambda found: ("names a remote base or file", f"copy it into the repository, or add remote to {_OPTION}"),
    ),
    (
        r"lstat (.{0,500}?): no such file or directory",
        lambda found: (f"{found[1]} does not exist", "correct the path, or commit the file"),
    ),
    (r"'([^']*)' must resolve to a file", lambda found: (f"{found[1]} is a folder, a file is needed", "name a file")),
    (r"'([^']*)': file is not directory", lambda found: (f"{found[1]} is a file, a folder is needed", "correct it")),
]  # fmt: skip
"""Texts of kustomize 5.8, in the order in which they are looked for: what is tried and fails besides comes last.

What stands between two words of them is bounded, or ends with a character that each new beginning has: a text full of
beginnings would else be read from each of them to its end.
"""
