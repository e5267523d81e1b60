"""The user's own logins for chart repositories, as ``helm repo add`` keeps them: all that is taken of their set-up."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ..model.errors import RenderError
from ..model.yaml_documents import read_one

_TAKEN = (
    "username",
    "password",
    "certFile",
    "keyFile",
    "caFile",
    "insecure_skip_tls_verify",
    "pass_credentials_all",
)


def login_for(repo: str) -> dict[str, Any]:
    """The fields of the entry with this URL that say how to log in; empty when there is none.

    :raises AddonError: the user's file is there and can't be read.
    """
    file = _repositories_file()
    try:
        content = file.read_bytes().strip()
        repositories = read_one(content, str(file)).get("repositories") if content else None
        for entry in repositories or ():
            if entry["url"].rstrip("/") == repo.rstrip("/"):
                return {name: entry[name] for name in _TAKEN if entry.get(name)}
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RenderError(f"can't be read: {error.strerror}", subject=str(file)) from error
    except (TypeError, KeyError, AttributeError):
        raise RenderError("is no list of chart repositories", subject=str(file), hint="see helm repo list") from None
    return {}


def _repositories_file() -> Path:
    """Where helm itself would look (``helm env HELM_REPOSITORY_CONFIG``)."""
    if file := os.environ.get("HELM_REPOSITORY_CONFIG"):
        return Path(file)
    if folder := os.environ.get("HELM_CONFIG_HOME"):
        return Path(folder, "repositories.yaml")
    settings = "Library/Preferences" if sys.platform == "darwin" else ".config"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / settings, "helm", "repositories.yaml")
