"""Looks for secret values of the tests in everything that a test run left: outputs, files, records and logs.

What is looked for is collected while the tests run, in folders named ``secret-values``: every version of every Secret
that a cluster of the tests stored (``clusters``), the Secrets that tests commit (``gitops``), those that helm and
kustomize print, also for previews (``logged_programs``), and what a test notes itself. Values of Secrets that are in
none of these, since nobody could read or render them, contain one of the markers.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

MARKERS = ("swordfish", "not-to-be-shown", "7391846205")

SECRET_VALUES = "secret-values"
"""Name of the folders with what is looked for: ``.jsonl`` and ``.yaml`` files of objects, ``.txt`` of one value."""

PUBLIC = {
    "admin": "a user's name in the example, and how the example calls the keys beside it",
    "placeholder": "an identifier in the example, and a word in one of its ConfigMaps",
    "registry": "a user's name in the example, and that of an add-on",
}
"""Values of Secrets that may be seen, and why."""

# Where Secrets have to be: what tests commit and play, what the API server stores, and the product's private folders;
# and the product itself, installed: no output.
_MAY_HOLD_SECRETS = ("gitops", "etcd", "cache", "renders", "runtime", "temporary", "ansible_collections", SECRET_VALUES)
_PLAYS = "play.yml"

_SHORTEST, _SHORTEST_LINE, _SHORTEST_WORD = 4, 16, 16
_SHORTEST_IN_BASE64 = 8
# Shorter ones are found as whole words: identifiers contain any four digits.
_SHORTEST_WITHIN_WORDS = 8
# The beginning of a longer piece tells it as well as all of it.
_LONGEST = 120
_WORD = re.compile(r"[A-Za-z0-9+/=_-]+")
_DOCUMENTS = re.compile(r"^---.*$", re.MULTILINE)


def note(folder: Path, value: str) -> None:
    """Have a value looked for that stands in no Secret; ``folder`` is one of the test."""
    values = folder / SECRET_VALUES
    values.mkdir(exist_ok=True)
    (values / f"noted-{len(list(values.iterdir()))}.txt").write_text(value)


def traces(folder: Path) -> Iterator[str]:
    """Every file below a folder that tells a secret value, and where in it."""
    wanted = {piece for value in secret_values(folder) for piece in _pieces(value)}
    forms = {form for piece in (*wanted, *(marker.encode() for marker in MARKERS)) for form in _forms(piece)}
    # The programs' own search for many texts at once: there are thousands, and hundreds of megabytes.
    command = ["grep", "--recursive", "--text", "--fixed-strings", "--file=-", "--only-matching", "--byte-offset"]
    command += ["--with-filename", "--null", f"--exclude={_PLAYS}"]
    command += [f"--exclude-dir={name}" for name in _MAY_HOLD_SECRETS]
    done = subprocess.run(
        [*command, "."],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
        input=b"\n".join(sorted(forms)),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode(errors="replace")
    told = set()
    for path, offset, form in re.findall(rb"^([^\0\n]+)\0(\d+):(.*)$", done.stdout, re.MULTILINE):
        name = path.decode().removeprefix("./")
        before, after = _around(folder / name, int(offset), len(form))
        if _is_kubeconfig(folder / name):
            continue
        by_chance = len(form) < _SHORTEST_WITHIN_WORDS and (before[-1:].isalnum() or after[:1].isalnum())
        if not by_chance and (name, form) not in told:
            told.add((name, form))
            yield f"{name}: {form!r} in …{before + form + after!r}…"


@cache
def _is_kubeconfig(path: Path) -> bool:
    """Whether a test wrote it, to log in with; what the collection writes for programs is no YAML."""
    content = b"\n" + path.read_bytes()
    return b"\nusers:" in content and b"\n  user:" in content


def secret_values(folder: Path) -> set[bytes]:
    """What the folders named ``secret-values`` hold, wherever they are, but for what is public."""
    found: set[bytes] = set()
    for values in folder.rglob(SECRET_VALUES):
        for path in values.iterdir():
            if path.suffix == ".txt":
                found.add(path.read_bytes())
            else:
                for manifest in _objects(path):
                    found.update(_values(manifest))
    return {value for value in found if value.decode(errors="replace") not in PUBLIC}


def _objects(path: Path) -> Iterator[Any]:
    """What a file of a watch, of a repository or of a program holds; what nobody can read is left out."""
    text = path.read_text(errors="replace")
    if path.suffix == ".jsonl":
        for line in text.splitlines():
            # The last line of a watch that was cut off.
            with suppress(ValueError):
                yield json.loads(line)
    else:
        for document in _DOCUMENTS.split(text):
            if "Secret" in document:
                with suppress(yaml.YAMLError, ValueError):
                    yield yaml.load(document, Loader=yaml.CSafeLoader)


def _values(manifest: Any) -> Iterator[bytes]:
    """The values of all Secrets within an object or list of objects."""
    if isinstance(manifest, list):
        for each in manifest:
            yield from _values(each)
    elif isinstance(manifest, dict) and manifest.get("kind") == "SecretList":
        # Of these, the items don't say what they are.
        for each in manifest.get("items") or []:
            yield from _contents(each)
    elif isinstance(manifest, dict) and manifest.get("kind") == "Secret":
        yield from _contents(manifest)
    elif isinstance(manifest, dict):
        for each in manifest.values():
            yield from _values(each)


def _contents(secret: dict[str, Any]) -> Iterator[bytes]:
    for field in ("data", "stringData"):
        values = secret.get(field)
        for value in values.values() if isinstance(values, dict) else ():
            # In templates, it is not yet known.
            if isinstance(value, str | int | float) and "{{" not in str(value):
                with suppress(ValueError):
                    yield base64.b64decode(str(value), validate=True) if field == "data" else str(value).encode()


def _pieces(value: bytes) -> Iterator[bytes]:
    """A value and what is as secret in it: its longer lines, as of a key, and long words of letters and digits."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        yield value[:_LONGEST]
        return
    lines = [line.strip() for line in text.splitlines()]
    whole = text.strip()
    candidates = [whole] if len(lines) <= 1 else [line for line in lines if len(line) >= _SHORTEST_LINE]
    words = (word for line in candidates for word in _WORD.findall(line) if len(word) >= _SHORTEST_WORD)
    candidates += [word for word in words if re.search("[0-9]", word) and re.search("[A-Za-z]", word)]
    for each in candidates:
        if len(each) >= _SHORTEST and not each.startswith("-----"):
            yield each[:_LONGEST].encode()
    if len(lines) > 1:
        yield text[:_LONGEST].encode()


def _forms(piece: bytes) -> Iterator[bytes]:
    """How a text that contains a piece shows it: as it is, escaped, quoted, and in base64 at each of three offsets."""
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        # Nobody prints these as they are.
        pass
    else:
        plain = {text, json.dumps(text)[1:-1], quote(text, safe=""), quote(text)}
        yield from (form.encode() for form in plain if "\n" not in form)
    yield base64.b64encode(piece)
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + piece)
        # What stands at both ends depends on the neighbours.
        middle = encoded[(0, 2, 3)[offset] : len(encoded) - (0, 3, 2)[(offset + len(piece)) % 3]]
        if len(middle) >= _SHORTEST_IN_BASE64:
            yield middle


def _around(path: Path, offset: int, length: int) -> tuple[bytes, bytes]:
    with path.open("rb") as file:
        start = max(0, offset - 80)
        file.seek(start)
        before = file.read(offset - start)
        file.seek(offset + length)
        return before, file.read(40)
