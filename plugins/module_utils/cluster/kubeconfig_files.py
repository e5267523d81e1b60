"""Kubeconfig files as they lie on the disk: several as one, some encrypted with ansible-vault, and never their content.

Merged as kubectl does it (https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/): of
entries with one name, and of current contexts, the first counts, and paths are relative to the file that they stand in.
The ``kubernetes`` package has the last context count, and looks for a user's files beside those of the cluster.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.errors import CredentialError

try:
    import yaml
    from kubernetes.config.kube_config import ConfigNode
except ImportError:  # pragma: no cover  (the module's edge reports it)
    pass

_KINDS = ("clusters", "contexts", "users")
_PATHS = {"cluster": ("certificate-authority",), "user": ("client-certificate", "client-key", "tokenFile")}
VAULT_HEADER = "$ANSIBLE_VAULT;"
# Far more than any path, and less than what is in a kubeconfig.
_LONGEST_PATH = 500


@dataclass(frozen=True)
class KubeconfigFiles:
    """:ivar merged: the one that all files are together, for the package's loader.
    :ivar contents: by path, what is in each file; the loader changes it when a login is renewed.
    """

    merged: Any
    contents: dict[str, Any]
    _saved: dict[str, Any]

    @classmethod
    def read(cls, paths: Iterable[str], decrypted: Mapping[str, str]) -> KubeconfigFiles:
        """:param decrypted: the plain text of encrypted files, by path.

        :raises CredentialError: a file is encrypted, or no kubeconfig. :raises yaml.YAMLError: it is not YAML.
        :raises OSError: it can't be read.
        :raises ConfigException: an entry has no name.
        """
        merged: dict[str, Any] = {kind: [] for kind in _KINDS}
        contents: dict[str, Any] = {}
        first = ""
        for path in paths:
            place = str(Path(path).expanduser())
            content = yaml.safe_load(text_of(path, decrypted)) or {}
            if not isinstance(content, dict):
                raise CredentialError("is no kubeconfig", subject=path, hint="give the right file")
            first = first or place
            for kind in _KINDS:
                for entry in content.get(kind) or []:
                    node = ConfigNode(f"{place}/{kind}", _with_whole_paths(entry, place), place)
                    if all(node["name"] != known["name"] for known in merged[kind]):
                        merged[kind].append(node)
            for name, value in content.items():
                if name not in _KINDS and not merged.get(name):
                    merged[name] = value
            if path not in decrypted:
                contents[place] = content
        return cls(ConfigNode(first, merged, first), contents, copy.deepcopy(contents))

    def save_changes(self) -> None:
        """Write the files of which something changed; never in the place of an encrypted one."""
        for path, content in self.contents.items():
            if content != self._saved[path]:
                Path(path).write_text(yaml.safe_dump(content, default_flow_style=False))
                self._saved[path] = copy.deepcopy(content)


def _with_whole_paths(entry: Any, file: str) -> Any:
    """An entry of a file with its paths absolute; all other parts are the same objects, which the loader may change."""
    folder = Path(file).absolute().parent

    def part(value: Any, names: Iterable[str]) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: str(folder / one) if name in names and one else one for name, one in value.items()}

    if not isinstance(entry, dict):
        return entry
    made = {name: part(value, _PATHS.get(name, ())) for name, value in entry.items()}
    user = made.get("user")
    program = user.get("exec") if isinstance(user, dict) else None
    # One without a slash is looked for in PATH.
    if isinstance(program, dict) and "/" in str(program.get("command")):
        made["user"]["exec"] = part(program, ("command",))
    return made


def text_of(path: str, decrypted: Mapping[str, str]) -> str:
    """What is in a file.

    :raises CredentialError: it is encrypted, and nobody decrypted it. :raises OSError: it can't be read.
    """
    if path in decrypted:
        return decrypted[path]
    text = Path(path).expanduser().read_text()
    if text.startswith(VAULT_HEADER):
        raise CredentialError(
            "is encrypted with ansible-vault, and was not decrypted",
            subject=path,
            hint="give it as an option of a task whose connection is local, with the vault's password, or decrypt it",
        )
    return text


def refuse_content(paths: Any) -> None:
    """:raises CredentialError: this is what stands in a kubeconfig, and no path; none of it is repeated."""
    text = paths if isinstance(paths, str) else "{"
    if "\n" in text or text.lstrip().startswith("{") or any(len(one) > _LONGEST_PATH for one in text.split(os.pathsep)):
        raise CredentialError(
            "expected the path of a file, and got something else, which is not shown",
            subject="kubeconfig",
            hint="write the kubeconfig to a file with mode 0600, which ansible-vault may encrypt, and give its path",
        )
