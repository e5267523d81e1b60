"""Which URLs of repositories may be given: transports that are not open to everybody on the way, and no credentials.

Nothing of a URL that is refused is ever repeated: it may hold a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_EXPECTED_GIT = "expected the URL of a git repository"
# ssh, and what it is told to start, may give a name to a shell.
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?")
_USER = re.compile(r"([A-Za-z0-9._+@][A-Za-z0-9._+@-]*)?")
_SCP_LIKE = re.compile(r"([\w.+-]+@)?\w[\w.-]*:.+", re.ASCII)
_SCP_LIKE_PASSWORD = re.compile(r"[^@/]*:[^/]*@")


@dataclass(frozen=True, slots=True)
class UrlFault:
    """What is wrong with a URL, and what to do: clauses."""

    problem: str
    hint: str = ""


_CREDENTIALS = UrlFault("no credentials in a URL", "remove the part before the @, and the secret from the history")


def chart_repository_fault(url: str) -> UrlFault | None:
    """``https://``, ``oci://``, and ``http://`` on this host."""

    def allowed(scheme: str, host: str) -> bool:
        return scheme in ("https", "oci") or (scheme == "http" and host in _LOOPBACK)

    fault = _fault(url, allowed, UrlFault("expected an https:// or oci:// URL"))
    if not fault and ("?" in url or "#" in url):
        # A token often stands there.
        return UrlFault("no ? and no # in the URL of a chart repository", "give the login to helm repo add")
    return fault


def git_repository_fault(repo: str) -> UrlFault | None:
    """``https://``, ``ssh://``, ``git@host:path``, ``file:///``, ``http://`` on this host; or the path of a folder."""

    def allowed(scheme: str, host: str) -> bool:
        if not repo.startswith(f"{scheme}://") or host.startswith("-"):
            return False
        return (
            scheme in ("https", "ssh")
            or (scheme == "http" and host in _LOOPBACK)
            or (scheme == "file" and repo.startswith("file:///"))
        )

    # git takes what starts with - for an option, and transport::address runs a program (git-remote-ext).
    if repo.startswith("-") or "::" in repo.partition("/")[0] or "\\" in repo or not repo.isprintable() or " " in repo:
        return UrlFault(_EXPECTED_GIT)
    if "://" in repo:
        fault = _fault(repo, allowed, UrlFault(_EXPECTED_GIT, "use https://, ssh://, file:/// or git@host:path"))
        if not fault and ("?" in repo or "#" in repo):
            return UrlFault("no ? and no # in the URL of a git repository", "give a branch, tag or commit as revision")
        return fault
    if _SCP_LIKE_PASSWORD.match(repo):
        return _CREDENTIALS
    if ":" in repo.partition("/")[0] and not _SCP_LIKE.fullmatch(repo):
        return UrlFault(_EXPECTED_GIT)
    return None


def is_scp_like(repo: str) -> bool:
    """``git@host:path``: a colon before the first slash, as git tells it from the path of a folder."""
    return "://" not in repo and ":" in repo.partition("/")[0]


def _fault(url: str, allowed: Callable[[str, str], bool], otherwise: UrlFault) -> UrlFault | None:
    try:
        parts = urlsplit(url)
        host, user, password = parts.hostname or "", parts.username, parts.password
        bad = not parts.scheme or (not host and parts.scheme != "file") or not allowed(parts.scheme, host)
        named = _HOST.fullmatch(parts.netloc.rpartition("@")[2]) or parts.scheme == "file"
        bad = bad or not named or not _USER.fullmatch(unquote(user or ""))
        _ = parts.port  # of https://user:pass/word@host it is "pass"
    except ValueError:
        return _CREDENTIALS if "@" in url else otherwise
    if password is not None or (user is not None and parts.scheme != "ssh"):
        return _CREDENTIALS
    return otherwise if bad or not url.isprintable() or " " in url else None
