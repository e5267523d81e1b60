"""Runs helm: charts of chart repositories, whether a chart folder is complete, and what a chart renders to.

Never ``helm dependency build``: where that goes is up to the chart, to any folder of this host.

Each call has a home of its own that goes with it, so that nothing of the user's set-up takes part: no plugin, no
repository, no cache, no cluster. What is taken is the login of a repository, see ``chart_logins``, and for charts that
read the cluster while they render the login that the run gives.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..cache.folder import CacheFolder
from ..model.cluster_facts import ClusterFacts
from ..model.errors import AddonError, RenderError
from .chart_index import ChartIndex, IndexEntry, may_be_asked
from .chart_logins import login_for
from .cluster_faults import cluster_fault, without_notes
from .helm_errors import download_error, template_error
from .program import Output, Program, ProgramError, TimeLimitError

_KEPT = frozenset({"PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"})
_PROXIES = frozenset({"http_proxy", "https_proxy", "no_proxy", "all_proxy"})
_REPOSITORY = "r"
_API_VERSIONS_PER_ARGUMENT = 200
"""One argument of a program may have 128 KiB."""
_API_VERSION = re.compile(r"[A-Za-z0-9./_-]+")


class ClusterFaultError(RenderError):
    """A chart can't be rendered with the cluster connected, and the cluster is why: a kind or a right is missing."""


def unanswered(reason: str, chart: str = "") -> RenderError:
    """Nothing is known of the cluster then, so that no render stands for this one."""
    message = f"the chart asks the cluster (lookup), which gives no answer: {reason}"
    return RenderError(message, subject=chart, hint="try again")


@dataclass(frozen=True, slots=True)
class Connection:
    """The cluster for a render that reads it.

    :param kubeconfig: a file with a login that needs nothing else.
    :param user: the account to act as; empty for that of the login.
    :param secrets: texts of it that no message may repeat.
    """

    kubeconfig: Path
    user: str
    secrets: frozenset[str] = field(repr=False)


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
        key = hashlib.sha256(json.dumps([repo, chart, version]).encode()).hexdigest()
        archive = self.cache.read("charts", key)
        if archive is None:
            progress(f"downloading the chart {chart} {version} from {repo}")
            with _about(repo):
                archive = self._download(repo, chart, version)
            self.cache.write("charts", key, archive)
        return archive

    def check_dependencies(self, chart: Path, names: Collection[str]) -> None:
        """Have helm itself look whether all that a chart folder depends on is in ``charts/``, in a version that fits.

        Helm renders a chart without a dependency of another version, and says nothing.
        :param names: what it depends on.
        :raises RenderError: one is not there, or not as ``Chart.yaml`` wants it.
        """
        with _about(chart.name), self._home() as home:
            try:
                listed = home.run("dependency", "list", "--max-col-width", "0", "--", str(chart)).text
            except ProgramError as error:
                raise template_error(error.errors.replace(f"{chart.parent}/", "")) from error
            table = listed.partition("\n\n")[0].splitlines()[1:]
            found = [(cells[0].strip(), cells[-1].strip()) for cells in (line.split("\t") for line in table)]
            counted = Counter(name for name, _ in found)
            found += [(name, "not known to helm") for name in sorted(set(names) - counted.keys())]
            for name, status in found:
                # Helm says so when a chart is wanted in two versions, and renders both.
                if status not in ("ok", "unpacked") and not (status == "too many matches" and counted[name] > 1):
                    raise RenderError(
                        f"the dependency {name} is not as it should be in charts/: {status}",
                        subject=f"{chart.name}/Chart.yaml",
                        hint="run helm dependency update, and commit Chart.lock or charts/",
                    )

    def template(
        self,
        chart: Path,
        *,
        release: str,
        namespace: str,
        values_files: Sequence[Path],
        cluster: ClusterFacts,
        check_values: bool = True,
        secrets: Collection[str] = (),
        connection: Connection | None = None,
    ) -> Output:
        """Render a chart folder or archive for a cluster.

        Connected, ``lookup`` finds what is there, and helm takes version and API list from the cluster itself.

        :param values_files: later ones win.
        :param check_values: against the schemas in the chart, which Helm follows wherever they lead.
        :param secrets: texts that no message may repeat.
        :param connection: without one, the cluster is not asked.
        :raises ClusterFaultError: connected only: it may not be asked, or does not have what the chart needs.
        :raises RenderError: one line with template and line; connected, also that the cluster does not answer.
        """
        arguments = ["--namespace", namespace, "--include-crds"]
        if connection:
            # What it renders is not sent, so it needs no validation. Objects that are there are no other release's.
            arguments += ["--dry-run=server", "--disable-openapi-validation", "--take-ownership"]
            arguments += ["--kubeconfig", str(connection.kubeconfig)]
            if connection.user:
                arguments += ["--kube-as-user", connection.user]
        else:
            arguments += ["--kube-version", cluster.version]
            # Names of custom resources are anybody's.
            served = sorted(filter(_API_VERSION.fullmatch, cluster.api_versions))
            for start in range(0, len(served), _API_VERSIONS_PER_ARGUMENT):
                arguments += ["--api-versions", ",".join(served[start : start + _API_VERSIONS_PER_ARGUMENT])]
        if cluster.upgrade:
            arguments.append("--is-upgrade")
        if not check_values:
            arguments.append("--skip-schema-validation")
        for file in values_files:
            arguments += ["--values", str(file)]
        with _about(chart.name.removesuffix(".tgz")), self._home() as home:
            try:
                output = home.run("template", *arguments, "--", release, str(chart), connected=bool(connection))
            except TimeLimitError as error:
                if connection:
                    error.message += "; the chart asks the cluster (lookup), which may be slow to answer"
                raise
            except ProgramError as error:
                text = error.errors
                for folder in {str(path.parent) for path in (chart, *values_files)}:
                    text = text.replace(f"{folder}/", "")
                hidden = [*secrets, *(connection.secrets if connection else ())]
                if connection and (fault := cluster_fault(text, hidden)):
                    raise (ClusterFaultError(fault.text) if fault.lasting else unanswered(fault.text)) from error
                raise template_error(text, hidden) from error
        return Output(output.text, without_notes(output.errors)) if connection else output

    def _download(self, repo: str, chart: str, version: str) -> bytes:
        with self._home() as home:
            login = home.add_repository(repo)
            entry = home.index(repo).find(chart, version)
            home.keep_only(entry)
            target = home.path / "archive"
            target.mkdir()
            arguments = ["--version", version, "--destination", str(target)]
            if login.get("insecure_skip_tls_verify"):
                # Of the entry in repositories.yaml, helm takes this for the index alone.
                arguments.append("--insecure-skip-tls-verify")
            try:
                home.run("pull", *arguments, "--", f"{_REPOSITORY}/{chart}")
            except ProgramError as error:
                raise download_error(error.errors, index=False) from error
            archive = next(target.iterdir()).read_bytes()
        entry.check(archive)
        return archive

    @contextmanager
    def _home(self) -> Iterator[_Home]:
        with tempfile.TemporaryDirectory(prefix="helm-", dir=self.work) as folder:
            yield _Home(self.program, Path(folder))


@dataclass(frozen=True, slots=True)
class _Home:
    """A home for calls of helm, in which it knows one chart repository at most."""

    program: Program
    path: Path

    def add_repository(self, url: str) -> dict[str, Any]:
        """The fields of ``repositories.yaml`` that log in to it."""
        login = login_for(url)
        file = self.path / "repositories.yaml"
        file.touch(mode=0o600)
        file.write_text(json.dumps({"apiVersion": "", "repositories": [{"name": _REPOSITORY, "url": url, **login}]}))
        return login

    def run(self, *arguments: str, connected: bool = False) -> Output:
        environment = _environment(self.path, proxies=not connected)
        return self.program.run(*arguments, environment=environment, folder=self.path)

    def index(self, url: str) -> ChartIndex:
        """Download the index of the repository.

        :raises RenderError: it can't be had.
        """
        try:
            self.run("repo", "update")
        except ProgramError as error:
            # Helm says on standard output why it can't have an index.
            text = f"{error.errors}\n{error.text}"
            match = re.search(r'from the "\w+" chart repository \(.*?\):\n\t(.*)', text)
            raise download_error(match[1] if match else text, index=True) from error
        return ChartIndex.read(self._index.read_bytes(), url)

    def keep_only(self, entry: IndexEntry) -> None:
        """Leave helm no other choice, and a large index needs not be read again."""
        self._index.write_text(json.dumps({"apiVersion": "v1", "entries": {entry.chart: [entry.to_json()]}}))

    @property
    def _index(self) -> Path:
        return self.path / "cache" / "repository" / f"{_REPOSITORY}-index.yaml"


def _environment(home: Path, *, proxies: bool = True) -> dict[str, str]:
    """:param proxies: those of this process; a kubeconfig has its own, or means that there is to be none."""
    taken = _PROXIES if proxies else frozenset()
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.lower() in taken}
    return {
        **kept,
        "HELM_CONFIG_HOME": str(home / "config"),
        "HELM_CACHE_HOME": str(home / "cache"),
        "HELM_DATA_HOME": str(home / "data"),
        "HELM_REPOSITORY_CONFIG": str(home / "repositories.yaml"),
        "HELM_NO_PLUGINS": "1",
        "KUBECONFIG": os.devnull,
        "KUBECACHEDIR": str(home / "discovery"),
        "DOCKER_CONFIG": str(home / "docker"),
    }


@contextmanager
def _about(subject: str) -> Iterator[None]:
    """Errors that name no file and no URL are about this."""
    try:
        yield
    except AddonError as error:
        error.about(subject=subject)
        raise
