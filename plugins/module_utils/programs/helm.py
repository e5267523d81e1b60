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
from ..model.chart_dependencies import DEPENDENCY_FILES, ChartDependencies, Dependency
from ..model.cluster_facts import ClusterFacts
from ..model.errors import AddonError, RenderError
from .chart_index import ChartIndex, IndexEntry, may_be_asked
from .chart_logins import login_for
from .helm_errors import dependency_error, download_error, template_error
from .program import Output, Program, ProgramError

_KEPT = frozenset({"PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"})
_PROXIES = frozenset({"http_proxy", "https_proxy", "no_proxy", "all_proxy"})
_API_VERSIONS_PER_ARGUMENT = 200
"""One argument of a program may have 128 KiB."""


@dataclass(frozen=True, slots=True)
class Helm:
    """:param work: where temporary files go; some hold logins."""

    program: Program
    cache: CacheFolder
    work: Path

    def version(self) -> str:
        """Such as ``v4.3.1``. :raises RenderError: the program is no helm."""
        environment = _environment(self.work)
        return self.program.version(
            self.cache, "version", "--template", "{{.Version}}", environment=environment, folder=self.work
        )

    def chart(self, repo: str, chart: str, version: str, progress: Callable[[str], None]) -> bytes:
        """The archive of exactly this version, downloaded unless it is in the cache.

        :raises RenderError: it can't be had, or is not the one that the repository's index is about.
        """
        repo = repo.rstrip("/")
        if not may_be_asked(repo):
            raise RenderError(
                "charts can be had from https:// only in this version", subject=repo, hint="use its chart repository"
            )
        key = _archive_key(repo, chart, version)
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
        files = {name: (chart / name).read_bytes() for name in DEPENDENCY_FILES if (chart / name).is_file()}
        dependencies = ChartDependencies.read(files, chart.name)
        wanted = dependencies.to_download()
        for one in wanted:
            if not may_be_asked(one.repository):
                raise RenderError(
                    f"the dependency {one.name} is not in a repository with an https:// URL",
                    subject=f"{chart.name}/Chart.yaml",
                    hint="commit it to charts/",
                )
        if self._placed(chart, dependencies):
            return
        kept = self._build_dependencies(chart, wanted, progress)
        if wanted == dependencies.locked:
            self.cache.write("charts", dependencies.fingerprint, json.dumps(kept).encode())

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
                text = error.errors
                for folder in {str(path.parent) for path in (chart, *values_files)}:
                    text = text.replace(f"{folder}/", "")
                raise template_error(text, secrets) from error

    def _placed(self, chart: Path, dependencies: ChartDependencies) -> bool:
        """Whether all were there from an earlier time, at which helm itself found that the lock file fits."""
        folder = chart / "charts"
        known = self.cache.read("charts", dependencies.fingerprint)
        # Helm takes other archives away; a file in the place of the folder is for it to refuse.
        if known is None or folder.is_file() or any(folder.glob("*.tgz")):
            return False
        archives = {file: self.cache.read("charts", key) or b"" for file, key in json.loads(known).items()}
        if not all(archives.values()):
            return False
        folder.mkdir(exist_ok=True)
        for file, archive in archives.items():
            (folder / file).write_bytes(archive)
        return True

    def _build_dependencies(
        self, chart: Path, wanted: Sequence[Dependency], progress: Callable[[str], None]
    ) -> dict[str, str]:
        """Let helm do it. Files that it put into ``charts/``, with the keys by which they are kept."""
        urls = [one.repository.rstrip("/") for one in wanted]
        repositories = {url: f"r{number}" for number, url in enumerate(dict.fromkeys(urls))}
        for url in repositories:
            progress(f"downloading charts that {chart.name} depends on from {url}")
        with _about(f"{chart.name}/Chart.yaml"), self._home(repositories) as home:
            indexes = home.update() if repositories else {}
            entries = [indexes[url].find(one.name, one.version) for url, one in zip(urls, wanted, strict=True)]
            for url in repositories:
                home.keep_only(url, [entry for entry in entries if entry.repository == url])
            try:
                home.run("dependency", "build", "--skip-refresh", str(chart))
            except ProgramError as error:
                raise dependency_error(error.errors.replace(f"{chart.parent}/", "")) from error
        kept = {}
        for entry in entries:
            file = chart / "charts" / entry.file
            if not file.is_file():
                # Helm leaves out what is no archive, and calls that a success.
                raise RenderError(f"the archive of {entry.chart} {entry.version} is broken", subject=entry.repository)
            archive = file.read_bytes()
            entry.check(archive)
            kept[entry.file] = _archive_key(entry.repository, entry.chart, entry.version)
            self.cache.write("charts", kept[entry.file], archive)
        return kept

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
                raise download_error(error.errors, index=False) from error
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
        return self.program.run(*arguments, environment=_environment(self.path), folder=self.path)

    def update(self) -> dict[str, ChartIndex]:
        """Download the indexes of all repositories, by URL.

        :raises RenderError: about the first one that can't be had.
        """
        try:
            self.run("repo", "update")
        except ProgramError as error:
            # Helm says on standard output why it can't have an index.
            raise self._failed_update(f"{error.errors}\n{error.text}") from error
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


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.lower() in _PROXIES}
    return {
        **kept,
        "HELM_CONFIG_HOME": str(home / "config"),
        "HELM_CACHE_HOME": str(home / "cache"),
        "HELM_DATA_HOME": str(home / "data"),
        "HELM_REPOSITORY_CONFIG": str(home / "repositories.yaml"),
        "HELM_NO_PLUGINS": "1",
        "KUBECONFIG": os.devnull,
        "DOCKER_CONFIG": str(home / "docker"),
    }


def _archive_key(repo: str, chart: str, version: str) -> str:
    return hashlib.sha256(json.dumps([repo, chart, version]).encode()).hexdigest()


@contextmanager
def _about(subject: str) -> Iterator[None]:
    """Errors that name no file and no URL are about this."""
    try:
        yield
    except AddonError as error:
        error.about(subject=subject)
        raise
