"""Writes kubeconfig files. Everything is embedded, so a file works wherever it is copied on this machine."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

from .certificates import Certificates

TEMPLATE = """\
apiVersion: v1
kind: Config
current-context: {user}@local-cluster
contexts:
- name: {user}@local-cluster
  context:
    cluster: local-cluster
    user: {user}
clusters:
- name: local-cluster
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"""


def write(path: Path, server: str, certificates: Certificates, client: str) -> None:
    """Replaces the file at once, since somebody may be reading it."""
    text = TEMPLATE.format(
        user=client,
        server=server,
        authority=_embedded(certificates.authority),
        certificate=_embedded(certificates.certificate(client)),
        key=_embedded(certificates.key(client)),
    )
    unfinished = path.with_name(f".{path.name}.unfinished")
    # Never readable for others, not even for the moment before a chmod.
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    unfinished.rename(path)


def _embedded(file: Path) -> str:
    return b64encode(file.read_bytes()).decode()
