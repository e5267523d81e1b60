"""What is in the cluster, read and changed with kubectl: by another program than the one under test."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Object = dict[str, Any]


class Kubectl:
    """kubectl with one user's kubeconfig."""

    def __init__(self, program: Path, kubeconfig: Path) -> None:
        self._command = [str(program), "--kubeconfig", str(kubeconfig)]

    def run(self, *arguments: str, text: str | None = None) -> str:
        """Run a command that has to succeed and return what it prints."""
        result = self._run(arguments, text)
        assert result.returncode == 0, f"kubectl {' '.join(arguments)}: {result.stderr}"
        return result.stdout

    def create(self, *objects: Object) -> None:
        for each in objects:
            self.run("create", "-f", "-", text=json.dumps(each))

    def find(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """The object, or ``None`` when it or its kind does not exist."""
        where = [] if namespace is None else ["--namespace", namespace]
        result = self._run([*where, "get", kind, name, "--output=json", "--show-managed-fields"], None)
        if result.returncode == 0:
            found: Object = json.loads(result.stdout)
            return found
        absent = "NotFound" in result.stderr or "doesn't have a resource type" in result.stderr
        assert absent, f"kubectl get {kind} {name}: {result.stderr}"
        return None

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object:
        found = self.find(kind, name, namespace)
        assert found is not None, f"{kind} {namespace or ''}/{name} does not exist"
        return found

    def everything(self, *kinds: str) -> dict[str, Object]:
        """All objects of these kinds by title, ``Kind namespace/name``."""
        found: list[Object] = json.loads(self.run("get", ",".join(kinds), "--all-namespaces", "--output=json"))["items"]
        return {title(each): each for each in found}

    def list(self, kind: str, selector: str = "", namespace: str | None = None) -> Sequence[Object]:
        where = ["--all-namespaces"] if namespace is None else ["--namespace", namespace]
        output = self.run("get", kind, *where, f"--selector={selector}", "--output=json")
        items: list[Object] = json.loads(output)["items"]
        return items

    def can(self, verb: str, what: str, namespace: str) -> bool:
        """Whether this user has a right, such as ``get`` on ``secrets`` or ``secrets/name``."""
        return self._run(["--namespace", namespace, "auth", "can-i", verb, what], None).stdout.strip() == "yes"

    def record(self, addon: str) -> Object:
        return self.get("addon.rendimiento.ai", addon)

    def phase(self, addon: str) -> str:
        return str((self.record(addon).get("status") or {}).get("phase"))

    def annotate(self, addon: str, **annotations: str | None) -> None:
        """Set annotations ``rendimiento.ai/…`` of a record, or remove those given as ``None``."""
        words = [
            f"rendimiento.ai/{name}-" if value is None else f"rendimiento.ai/{name}={value}"
            for name, value in annotations.items()
        ]
        self.run("annotate", "radd", addon, *words)

    def merge(self, kind: str, name: str, patch: Mapping[str, Any], namespace: str | None = None) -> None:
        where = [] if namespace is None else ["--namespace", namespace]
        self.run(*where, "patch", kind, name, "--type=merge", f"--patch={json.dumps(patch)}")

    def _run(self, arguments: Sequence[str], text: str | None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *arguments], input=text, capture_output=True, text=True, check=False, timeout=60
        )


def title(manifest: Object) -> str:
    """``Kind namespace/name``, as people and the engine write it."""
    metadata = manifest["metadata"]
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{manifest['kind']} {place}{metadata['name']}"


def inventory(record: Object) -> dict[str, str]:
    """State of everything in a record's inventory, by title."""
    entries = (record.get("status") or {}).get("objects") or []
    return {title({"kind": entry["kind"], "metadata": entry}): entry["state"] for entry in entries}


def conditions(record: Object) -> dict[str, str]:
    return {each["type"]: each["status"] for each in (record.get("status") or {}).get("conditions") or []}


def wait_until(true: Callable[[], object], what: str, seconds: float = 20, poll: float = 0.1) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain until {what}"
        time.sleep(poll)
