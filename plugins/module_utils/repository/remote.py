"""Fetching one revision of a git repository by its URL: a bare, shallow clone in the cache, for reading only.

Credentials are git's own affair (a credential helper, a key for ssh, ``GIT_CONFIG_*``): none is taken from a URL, and
none gets into a message. What a repository brings is never run, and its branches and tags are names like any other.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..cache.folder import CacheFolder
from ..model.errors import RepositoryError
from ..model.urls import git_repository_fault, is_scp_like
from ..model.wording import listed
from ..programs.limits import LARGEST_FILE, MIB, Limits, NotStartedError, TooMuchError, ended
from .git import COMMIT_ID, Checkout, git_command, git_environment, git_not_started, run_git, two_meanings
from .git_errors import in_words

_AREA = "repositories"
_KEPT_CLONE_SECONDS = 24 * 3600
_ANSWER = 64 * MIB
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-auto-gc")
_SEEN = "seen.json"
_LOOKED_BACK = 50
"""Commits, in search of the one that a branch was at before."""

_NO_REVISION = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^[-/]|/$|\.lock$")

_SETTINGS = {
    "fetch.recurseSubmodules": "false",
    "gc.autoDetach": "false",
    # Other runs may still read a commit that no branch has any more.
    "gc.pruneExpire": "2.weeks.ago",
}
_TRACES = re.compile(r"GIT_TRACE\w*|GIT_CURL_VERBOSE")

_NEEDS_WHOLE_HISTORY = re.compile(r"unadvertised object|want [0-9a-f]+ not valid|does not support shallow")
_NO_SUCH_OBJECT = re.compile(r"not our ref|couldn't find remote ref|could not find remote ref")


class _GitError(RepositoryError):
    """git ended with an error, and wrote ``output``, in which secrets may be."""

    def __init__(self, url: str, output: str) -> None:
        message, hint = in_words(output)
        super().__init__(message, subject=url, hint=hint)
        self.output = output


class _TimeLimitError(RepositoryError):
    """The remote does not answer; it is not asked again."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """``name``, which the remote is asked for (a ref, ``HEAD`` or a commit), and the object that it was just now.

    ``before`` is the commit that it was when it was fetched last, empty when it was not.
    """

    name: str
    identity: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class _Remote:
    """A remote, and what talks to it: the user's git, from a folder in which no other repository is found."""

    url: str
    folder: Path
    seconds: int
    environment: Mapping[str, str]
    settings: Mapping[str, str]

    @classmethod
    def at(cls, url: str, folder: Path, seconds: int) -> _Remote:
        environment = {name: value for name, value in git_environment().items() if not _TRACES.fullmatch(name)}
        allowed = {"https", "ssh", "file"} | ({"http"} if url.startswith("http:") else set())
        if stricter := os.environ.get("GIT_ALLOW_PROTOCOL"):
            allowed &= set(stricter.split(":"))
        environment |= {
            "GIT_ALLOW_PROTOCOL": ":".join(sorted(allowed)) or "none",
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
            "GCM_INTERACTIVE": "never",
        }
        if not environment.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"} and not _configured(folder, "core.sshCommand"):
            environment["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
            # A window on somebody's desktop would be a prompt, too.
            environment.pop("SSH_ASKPASS", None)
        # git sends this header, in which there may be a password, to wherever it is redirected.
        header = _configured(folder, "--get-urlmatch", "http.extraHeader", url)
        return cls(url, folder, seconds, environment, _SETTINGS | ({"http.followRedirects": "false"} if header else {}))

    def run(self, *arguments: str, clone: Path | None = None) -> str:
        """:raises RepositoryError: git ended with an error, or did not end in time."""
        options = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        command = git_command(clone or self.folder, *options, *arguments, bare=clone is not None)
        # A pack may be larger than any file that is read.
        limits = Limits(self.seconds, largest_file=None if clone else LARGEST_FILE)
        try:
            # ssh's master and a credential daemon are to stay.
            with ended(command, limits, environment=self.environment, leaves_others=True) as process:
                if process.code != 0:
                    raise _GitError(self.url, process.errors)
                return process.read(_ANSWER).decode("utf-8", "replace")
        except NotStartedError as error:
            raise git_not_started(error) from error
        except subprocess.TimeoutExpired:
            raise _TimeLimitError(
                f"no complete answer within {self.seconds} s", subject=self.url, hint="see addon_program_seconds"
            ) from None
        except TooMuchError:
            raise RepositoryError(
                f"answers with more than {_ANSWER // MIB} MiB", subject=self.url, hint="see that it is the right URL"
            ) from None

    def refs(self, *options: str, names: tuple[str, ...] = ()) -> dict[str, str]:
        """What the remote has, by full name; a tag's commit stands at the name with ``^{}``."""
        lines = self.run("ls-remote", *options, "--", self.url, *names).splitlines()
        return {name: identity for identity, _, name in (line.partition("\t") for line in lines)}


def is_url(repo: str) -> bool:
    """Whether a repository is given by URL, and not as a folder of this host."""
    return "://" in repo or (is_scp_like(repo) and not _is_here(repo))


def _is_here(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        # Such as one that is too long for a name.
        return False


def fetch(url: str, revision: str, cache: CacheFolder, seconds: int, progress: Callable[[str], None]) -> Checkout:
    """The repository at a revision: a branch, a tag, a full commit id, a name such as ``refs/heads/x``, or its HEAD.

    Only a commit that the cache does not have is fetched; for a full commit id that it has, the remote is not asked.
    A branch whose history was rewritten and a moved tag are followed, and told once per cache, as ``news``.

    :param seconds: how long the remote may take for one answer, and another run for its fetch of the same repository.
    :param progress: is told what takes time.
    :raises RepositoryError: one line without credentials. :raises CacheError: the cache can't be used.
    """
    fault = git_repository_fault(url)
    if fault or not is_url(url):
        problem, hint = (fault.problem, fault.hint) if fault else ("expected the URL of a git repository", "")
        if "credentials" in problem:
            hint = f"{hint}; git has its own ways: a credential helper, a key for ssh, http.extraHeader"
        raise RepositoryError(problem, subject="the repository", hint=hint)
    if _NO_REVISION.search(revision):
        raise RepositoryError(
            f"{revision!a} is no branch, tag or commit", subject=url, hint="correct the revision, or leave it out"
        )
    remote = _Remote.at(url, cache.path.resolve(), seconds)
    is_commit = COMMIT_ID.fullmatch(revision)
    wanted = _Wanted(revision, revision) if is_commit else _resolved(remote, revision)
    key = hashlib.sha256(url.encode()).hexdigest()
    with cache.lock(_AREA, key, seconds, lambda: progress(f"waiting for another run that fetches {url}")):
        clones = cache.folder(_AREA, key)
        clone = (clones / "current").resolve()
        wanted = replace(wanted, before="" if is_commit else _seen(clones).get(wanted.name, ""))
        commit = _commit(clone, wanted.identity)
        if commit is None:
            progress(f"fetching {revision or 'HEAD'} of {url}")
            try:
                clone, commit = _updated(clones, wanted, remote)
            except OSError as error:
                raise RepositoryError(f"can't be kept in the cache: {error.strerror}", subject=url) from error
            cache.trim(_AREA)
        news = ""
        if not is_commit and commit != wanted.before:
            news = _news(clone, wanted, commit, remote) if wanted.before else ""
            _remember(clones, wanted.name, commit)
    return Checkout(clone, "", commit, bare=True, news=news)


def _resolved(remote: _Remote, revision: str) -> _Wanted:
    """What a name means on the remote, without a look at the clone."""
    if revision in ("", "HEAD"):
        head = remote.refs(names=("HEAD",)).get("HEAD")
        if head is None:
            raise RepositoryError(
                "has no commit at its HEAD", subject=remote.url, hint="push one, or name a branch as revision"
            )
        return _Wanted("HEAD", head)
    if revision.startswith("refs/"):
        known = remote.refs(names=(revision, f"{revision}^{{}}"))
        names = [revision]
    else:
        known = remote.refs("--heads", "--tags")
        names = [f"refs/heads/{revision}", f"refs/tags/{revision}"]
    found = [name for name in names if name in known]
    if len(found) > 1:
        raise two_meanings(remote.url, revision, found)
    if not found:
        raise RepositoryError(f"has no revision {revision}", subject=remote.url, hint=_other_names(revision, known))
    return _Wanted(found[0], known.get(f"{found[0]}^{{}}", known[found[0]]))


def _other_names(revision: str, known: dict[str, str]) -> str:
    if re.fullmatch("[0-9a-f]{7,39}", revision):
        return "a commit has to be given with all its digits"
    names = sorted({re.sub(r"^refs/(heads|tags)/", "", name) for name in known if not name.endswith("^{}")})
    close = difflib.get_close_matches(revision, names, n=3)
    return f"the closest names there: {listed(close, 3)}" if close else "correct the revision, or push it"


def _commit(clone: Path, identity: str) -> str | None:
    """The commit that an object is or leads to, if the clone has it with every file; ``None`` also without a clone."""
    with contextlib.suppress(RepositoryError):
        name = ("--verify", "--quiet", "--end-of-options", f"{identity}^{{commit}}")
        commit = run_git(clone, "rev-parse", *name, bare=True).decode().strip()
        # A git that was killed may leave a commit without its files.
        run_git(clone, "rev-list", "--no-walk", "--objects", "--quiet", commit, bare=True)
        return commit
    return None


def _updated(clones: Path, wanted: _Wanted, remote: _Remote) -> tuple[Path, str]:
    """The clone that is there, brought up to date; a new one, when there is none or it can't be any more.

    The former one stays for a day: another run may be reading it.
    """
    current = clones / "current"
    former = current.resolve()
    if not current.is_symlink() or time.time() - current.lstat().st_mtime > _KEPT_CLONE_SECONDS:
        for other in clones.iterdir():
            if other.is_dir() and other.resolve() != former:
                shutil.rmtree(other, ignore_errors=True)
    if current.exists():
        with contextlib.suppress(_GitError):
            commit = _fetched(former, wanted, remote)
            if commit:
                return former, commit
    clone = Path(tempfile.mkdtemp(prefix="clone-", dir=clones))
    try:
        algorithm = "sha256" if len(wanted.identity) == 64 else "sha1"
        # Without a template there are no hooks.
        run_git(clone, "init", "--quiet", "--bare", "--template=", f"--object-format={algorithm}", ".")
        commit = _fetched(clone, wanted, remote)
        if commit is None:
            raise _no_commit(wanted, remote)
        link = clone / "link"
        link.symlink_to(clone.name)
        link.replace(current)
    except BaseException:
        shutil.rmtree(clone, ignore_errors=True)
        raise
    return clone, commit


def _own(name: str) -> str:
    """The clone's ref for what a name was fetched as. A digest: branches can stand in each other's way (a, a/b)."""
    return f"refs/fetched/{hashlib.sha256(name.encode()).hexdigest()}"


def _fetched(clone: Path, wanted: _Wanted, remote: _Remote) -> str | None:
    """The commit that was fetched; ``None`` when the clone lacks it all the same, or files of it."""
    own = _own(wanted.name)
    try:
        # One request more to find out that a branch only went on would be one in each run with news.
        depth = _LOOKED_BACK if wanted.before and not wanted.name.startswith("refs/tags/") else 1
        remote.run(*_FETCH, f"--depth={depth}", "--", remote.url, f"+{wanted.name}:{own}", clone=clone)
        commit = _commit(clone, own)
    except _GitError as error:
        if _NO_SUCH_OBJECT.search(error.output):
            raise _no_commit(wanted, remote) from error
        if not _NEEDS_WHOLE_HISTORY.search(error.output):
            raise
        # Servers that give a commit only as part of a branch, or can't leave out older ones.
        more = ("--prune", "--unshallow") if (clone / "shallow").exists() else ("--prune",)
        all_refs = ("+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*")
        remote.run(*_FETCH, *more, "--", remote.url, *all_refs, clone=clone)
        commit = _commit(clone, wanted.identity)
    with contextlib.suppress(RepositoryError):
        remote.run("gc", "--auto", "--quiet", clone=clone)
    return commit


def _seen(clones: Path) -> dict[str, str]:
    """The commit that each name was at when it was asked for last."""
    try:
        return dict(json.loads((clones / _SEEN).read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def _remember(clones: Path, name: str, commit: str) -> None:
    with contextlib.suppress(OSError):
        beside = clones / f"{_SEEN}.new"
        beside.write_text(json.dumps({**_seen(clones), name: commit}))
        beside.replace(clones / _SEEN)


def _news(clone: Path, wanted: _Wanted, commit: str, remote: _Remote) -> str:
    """What became of a name that moved, if that is no ordinary step forward."""
    short = re.sub("^refs/(heads|tags)/", "", wanted.name)
    moved = f"was at {wanted.before[:12]}, and is at {commit[:12]} now"
    if wanted.name.startswith("refs/tags/"):
        return f"{remote.url}: the tag {short} was moved: it {moved}"
    for fetched in (False, True):
        if _leads_to(clone, commit, wanted.before):
            return ""
        if not fetched and _ends_early(clone, commit):
            with contextlib.suppress(RepositoryError):
                refs = f"+{wanted.name}:{_own(wanted.name)}"
                remote.run(*_FETCH, f"--depth={_LOOKED_BACK}", "--", remote.url, refs, clone=clone)
    doubt = f" (or more than {_LOOKED_BACK} commits came at once)" if _ends_early(clone, commit) else ""
    return f"{remote.url}: the history of {short} was rewritten{doubt}: it {moved}"


def _ends_early(clone: Path, commit: str) -> bool:
    """Whether the clone lacks the beginning of a commit's history."""
    try:
        ends = set((clone / "shallow").read_text().split())
    except OSError:
        return False
    return not ends.isdisjoint(run_git(clone, "rev-list", commit, bare=True).decode().split())


def _leads_to(clone: Path, commit: str, former: str) -> bool:
    """Whether one commit comes before the other, as far back as the clone goes."""
    with contextlib.suppress(RepositoryError):
        run_git(clone, "merge-base", "--is-ancestor", former, commit, bare=True)
        return True
    return False


def _no_commit(wanted: _Wanted, remote: _Remote) -> RepositoryError:
    return RepositoryError(f"has no commit {wanted.name}", subject=remote.url, hint="push it, or correct the revision")


def _configured(folder: Path, *name: str) -> bool:
    with contextlib.suppress(RepositoryError):
        return bool(run_git(folder, "config", *name))
    return False
