"""Runs helm: charts of chart repositories, the dependencies of chart folders, and what a chart renders to.

Each call has a home of its own that goes with it, so that nothing of the user's set-up takes part: no plugin, no
repository, no cache, no cluster. What is taken is the login of a repository, see ``chart_logins``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cache.folder import CacheFolder
from ..model.cluster_facts import ClusterFacts
from ..model.errors import DocumentError, RenderError
from ..model.yaml_documents import read_one
from .chart_index import ChartIndex, IndexEntry, may_be_asked
from .chart_logins import login_for
from .helm_errors import dependency_error, download_error, template_error
from .program import Output, Program, ProgramError

_KEPT = frozenset({"PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"})
_PROXIES = frozenset({"http_proxy", "https_proxy", "no_proxy", "all_proxy"})
_API_VERSIONS_PER_ARGUMENT = 200
"""One argument of a program may have 128 KiB."""

_CHART_FILES = ("Chart.yaml", "requirements.yaml")
_LOCK_FILES = ("requirements.lock", "Chart.lock")


@dataclass(frozen=True, slots=True)
class Helm:
    """:param work: where temporary files go; some hold logins. By default, where all programs put theirs."""

    program: Program
    cache: CacheFolder
    work: Path | None = None

    def version(self) -> str:
        """Such as ``v4.3.1``; asked once for each build of helm.

        :raises RenderError: the program is no helm.
        """
        key = self.program.identity()
        known = self.cache.read("programs", key)
        if known is None:
            try:
                with self._home({}) as home:
                    known = home.run("version", "--template", "{{.Version}}").text.strip().encode()
            except ProgramError:
                known = b""
            if not known.startswith(b"v"):
                raise RenderError(f"{self.program.path} is no helm", hint="give the path of helm as addon_helm")
            self.cache.write("programs", key, known)
        return known.decode()

    def chart(self, repo: str, chart: str, version: str, progress: Callable[[str], None]) -> bytes:
        """The archive of exactly this version, downloaded unless it is in the cache.

        :raises RenderError: it can't be had, or is not the one that the repository's index is about.
        """
        repo = repo.rstrip("/")
        if not may_be_asked(repo):
            raise RenderError(
                "charts can be had from https:// only in this version", subject=repo, hint="use its chart repository"
            )
        key = hashlib.sha256(json.dumps([repo, chart, version]).encode()).hexdigest()
        archive = self.cache.read("charts", key)
        if archive is None:
            progress(f"downloading the chart {chart} {version} from {repo}")
            with _about(repo):
                archive = self._download(repo, chart, version)
            self.cache.write("charts", key, archive)
        return archive

    def build_dependencies(self, chart: Path, progress: Callable[[str], None]) -> None:
        """Bring what ``Chart.lock`` names into the ``charts/`` of a chart folder.

        Without a lock file only what needs none: charts that lie beside it.
        :raises RenderError: there is no lock file, it does not fit ``Chart.yaml``, or a chart can't be had.
        """
        wanted = _remote_dependencies(chart)
        repositories = {url: f"r{number}" for number, url in enumerate(dict.fromkeys(url for url, _, _ in wanted))}
        for url in repositories:
            progress(f"downloading charts that {chart.name} depends on from {url}")
        with _about(f"{chart.name}/Chart.yaml"), self._home(repositories) as home:
            indexes = home.update() if repositories else {}
            entries = [indexes[url].find(name, version) for url, name, version in wanted]
            for url in repositories:
                home.keep_only(url, [entry for entry in entries if entry.repository == url])
            try:
                home.run("dependency", "build", "--skip-refresh", str(chart))
            except ProgramError as error:
                raise dependency_error(error.output.replace(f"{chart.parent}/", "")) from error
        for entry in entries:
            file = chart / "charts" / entry.file
            if not file.is_file():
                # Helm leaves out what is no archive, and calls that a success.
                raise RenderError(f"the archive of {entry.chart} {entry.version} is broken", subject=entry.repository)
            entry.check(file.read_bytes())

    def template(
        self,
        chart: Path,
        *,
        release: str,
        namespace: str,
        values_files: Sequence[Path],
        cluster: ClusterFacts,
        secrets: Collection[str] = (),
    ) -> Output:
        """Render a chart folder or archive for a cluster, without asking that cluster.

        :param values_files: later ones win.
        :param secrets: texts that no message may repeat.
        :raises RenderError: one line with template and line.
        """
        arguments = ["--namespace", namespace, "--kube-version", cluster.version, "--include-crds"]
        served = sorted(cluster.api_versions)
        for start in range(0, len(served), _API_VERSIONS_PER_ARGUMENT):
            arguments += ["--api-versions", ",".join(served[start : start + _API_VERSIONS_PER_ARGUMENT])]
        if cluster.upgrade:
            arguments.append("--is-upgrade")
        for file in values_files:
            arguments += ["--values", str(file)]
        with _about(chart.name.removesuffix(".tgz")), self._home({}) as home:
            try:
                return home.run("template", *arguments, "--", release, str(chart))
            except ProgramError as error:
                text = error.output
                for folder in {str(path.parent) for path in (chart, *values_files)}:
                    text = text.replace(f"{folder}/", "")
                raise template_error(text, secrets) from error

    def _download(self, repo: str, chart: str, version: str) -> bytes:
        with self._home({repo: "r"}) as home:
            entry = home.update()[repo].find(chart, version)
            home.keep_only(repo, [entry])
            target = home.path / "archive"
            target.mkdir()
            arguments = ["--version", version, "--destination", str(target)]
            if home.logins[repo].get("insecure_skip_tls_verify"):
                # Of the entry in repositories.yaml, helm takes this for the index alone.
                arguments.append("--insecure-skip-tls-verify")
            try:
                home.run("pull", *arguments, "--", f"r/{chart}")
            except ProgramError as error:
                raise download_error(error.output, index=False) from error
            archive = next(target.iterdir()).read_bytes()
        entry.check(archive)
        return archive

    @contextmanager
    def _home(self, repositories: Mapping[str, str]) -> Iterator[_Home]:
        """:param repositories: names by URL."""
        logins = {url: login_for(url) for url in repositories}
        with tempfile.TemporaryDirectory(prefix="helm-", dir=self.work) as folder:
            home = _Home(self.program, Path(folder), dict(repositories), logins)
            home.write_repositories()
            yield home


@dataclass(frozen=True, slots=True)
class _Home:
    """A home for calls of helm.

    :param repositories: names of chart repositories by URL.
    :param logins: fields of ``repositories.yaml`` by URL.
    """

    program: Program
    path: Path
    repositories: dict[str, str]
    logins: dict[str, dict[str, Any]]

    def write_repositories(self) -> None:
        entries = [{"name": name, "url": url, **self.logins[url]} for url, name in self.repositories.items()]
        file = self.path / "repositories.yaml"
        file.touch(mode=0o600)
        file.write_text(json.dumps({"apiVersion": "", "repositories": entries}))

    def run(self, *arguments: str) -> Output:
        return self.program.run(*arguments, environment=self._environment(), folder=self.path)

    def update(self) -> dict[str, ChartIndex]:
        """Download the indexes of all repositories, by URL.

        :raises RenderError: about the first one that can't be had.
        """
        try:
            self.run("repo", "update")
        except ProgramError as error:
            # Helm says on standard output why it can't have an index.
            raise self._failed_update(f"{error.output}\n{error.text}") from error
        return {url: ChartIndex.read(self._index(url).read_bytes(), url) for url in self.repositories}

    def keep_only(self, url: str, entries: Sequence[IndexEntry]) -> None:
        """Leave helm no other choice, and a large index needs not be read again."""
        charts: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            charts.setdefault(entry.chart, []).append(entry.to_json())
        self._index(url).write_text(json.dumps({"apiVersion": "v1", "entries": charts}))

    def _index(self, url: str) -> Path:
        return self.path / "cache" / "repository" / f"{self.repositories[url]}-index.yaml"

    def _failed_update(self, text: str) -> RenderError:
        for url, name in self.repositories.items():
            if match := re.search(rf'from the "{name}" chart repository \(.*?\):\n\t(.*)', text):
                error = download_error(match[1], index=True)
                error.subject = url
                return error
        return download_error(text, index=True)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.lower() in _PROXIES}
        return {
            **kept,
            "HELM_CONFIG_HOME": str(self.path / "config"),
            "HELM_CACHE_HOME": str(self.path / "cache"),
            "HELM_DATA_HOME": str(self.path / "data"),
            "HELM_REPOSITORY_CONFIG": str(self.path / "repositories.yaml"),
            "HELM_NO_PLUGINS": "1",
            "KUBECONFIG": os.devnull,
            "DOCKER_CONFIG": str(self.path / "docker"),
        }


@contextmanager
def _about(subject: str) -> Iterator[None]:
    """Errors that name no file and no URL are about this."""
    try:
        yield
    except RenderError as error:
        error.about(subject=subject)
        raise


def _remote_dependencies(chart: Path) -> list[tuple[str, str, str]]:
    """URL of the repository, name and exact version of each locked dependency that is not a folder.

    :raises RenderError: nothing locks them, or one is where no chart may come from.
    """
    wanted = [entry for name in _CHART_FILES for entry in _dependencies(chart / name)]
    folders = {(entry.get("name"), entry.get("repository")) for entry in wanted}
    lock = next((chart / name for name in _LOCK_FILES if (chart / name).is_file()), None)
    found = []
    for dependency in wanted if lock is None else _dependencies(lock):
        name, url = str(dependency.get("name")), str(dependency.get("repository") or "")
        if url.startswith("file://") and (name, url) not in folders:
            # Where Chart.yaml may lead was checked; Helm itself goes where the lock file leads.
            raise RenderError(
                f"the folder of {name} is another one than in Chart.yaml",
                subject=f"{chart.name}/Chart.lock",
                hint="run helm dependency update, and commit Chart.lock",
            )
        if not url or url.startswith("file://"):
            continue
        if lock is None:
            raise RenderError(
                f"no Chart.lock says which version of {name} it depends on",
                subject=f"{chart.name}/Chart.yaml",
                hint="run helm dependency update, and commit Chart.lock or charts/",
            )
        if not may_be_asked(url):
            raise RenderError(
                f"the dependency {name} is not in a repository with an https:// URL",
                subject=f"{chart.name}/{lock.name}",
                hint="commit it to charts/",
            )
        found.append((url.rstrip("/"), name, str(dependency.get("version"))))
    return found


def _dependencies(file: Path) -> list[dict[str, Any]]:
    """What a file lists as ``dependencies``; nothing when it is not there."""
    subject = f"{file.parent.name}/{file.name}"
    try:
        value = read_one(file.read_bytes(), subject) if file.is_file() else {}
    except DocumentError as error:
        raise RenderError(error.message, subject=error.subject, hint=error.hint) from error
    found = value.get("dependencies") if isinstance(value, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
