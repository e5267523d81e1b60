"""Fetching revisions by URL, with real git: from a folder, over HTTP and through a program in the place of ssh."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import CacheError, RepositoryError
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git import Checkout
from ansible_collections.rendimiento.addons.plugins.module_utils.repository.remote import fetch, is_url
from tests.unit.cluster.logging_proxy import LoggingProxy
from tests.unit.gitops import Repository
from tests.unit.repository.git_server import GitServer

ROOT = Path(__file__).parents[3]
LOGIN = "deploy:hunter2-hunter2"


@dataclass
class Fetcher:
    """Fetches into one cache, and remembers what it was told meanwhile."""

    cache: CacheFolder
    told: list[str] = field(default_factory=list)

    def __call__(self, url: str, revision: str = "", seconds: int = 20) -> Checkout:
        self.told.clear()
        return fetch(url, revision, self.cache, seconds, self.told.append)

    def error(self, url: str, revision: str = "", seconds: int = 20) -> str:
        with pytest.raises(RepositoryError) as caught:
            self(url, revision, seconds)
        assert "hunter2" not in str(caught.value)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    @property
    def clones(self) -> Path:
        """The folder of the only repository that was fetched."""
        (one,) = (self.cache.path / "repositories").iterdir()
        return one


@pytest.fixture
def fetcher(tmp_path: Path) -> Fetcher:
    return Fetcher(CacheFolder.open(str(tmp_path / "cache")))


@pytest.fixture
def url(repository: Repository) -> str:
    return f"file://{repository.path}"


def text_of(checkout: Checkout, name: str = "a.yaml") -> str:
    return checkout.read(checkout.entries("", recursive=True))[name].decode()


def git_settings(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> None:
    """As a user gives them for one run."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (name, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)


def test_every_way_to_name_a_revision(repository: Repository, url: str, fetcher: Fetcher) -> None:
    first = repository.commit({"a.yaml": "first"})
    repository.git("tag", "--annotate", "v1", "--message", "x")
    repository.git("tag", "light")
    second = repository.commit({"a.yaml": "second"})
    repository.git("checkout", "--quiet", "-b", "feature/é")
    third = repository.commit({"a.yaml": "third"})
    repository.git("update-ref", "refs/pull/7/head", third)
    repository.git("checkout", "--quiet", "main")
    tag_object = repository.git("rev-parse", "v1")
    for revision, commit in (
        ("", second),
        ("HEAD", second),
        ("main", second),
        ("refs/heads/main", second),
        ("feature/é", third),
        ("v1", first),
        ("refs/tags/v1", first),
        ("light", first),
        ("refs/pull/7/head", third),
        (first, first),
        (tag_object, first),
    ):
        for once_more in (False, True):
            checkout = fetcher(url, revision)
            assert checkout.commit == commit, revision
            assert text_of(checkout) == {first: "first", second: "second", third: "third"}[commit]
            assert not (once_more and fetcher.told)
    assert checkout.bare
    assert checkout.prefix == ""
    assert checkout.shallow
    assert checkout.uncommitted() == []
    assert Checkout.open(str(checkout.root), first) == checkout


def test_what_takes_time_is_told(repository: Repository, url: str, fetcher: Fetcher) -> None:
    repository.commit({"a.yaml": ""})
    fetcher(url, "main")
    assert fetcher.told == [f"fetching main of {url}"]


def test_b51_branches_and_tags_that_move_are_followed(repository: Repository, url: str, fetcher: Fetcher) -> None:
    first = repository.commit({"a.yaml": "first"})
    repository.git("tag", "stable")
    assert fetcher(url, "main").commit == fetcher(url, "stable").commit == first
    second = repository.commit({"a.yaml": "second"})
    repository.git("tag", "--force", "stable")
    former = fetcher(url, first)
    assert fetcher(url, "main").commit == fetcher(url, "stable").commit == second
    repository.git("reset", "--quiet", "--hard", first)
    repository.git("commit", "--quiet", "--amend", "--message", "rewritten")
    rewritten = repository.commit({"a.yaml": "forced"})
    assert text_of(fetcher(url, "main")) == "forced"
    assert fetcher(url, "main").commit == rewritten
    # What a run works on stays there, whatever other runs fetch.
    assert text_of(former) == "first"


def test_b51_a_rewritten_history_is_told_once_with_both_commits(
    repository: Repository, url: str, fetcher: Fetcher
) -> None:
    repository.commit({"a.yaml": "first"})
    for number in range(3):
        before = repository.commit({"a.yaml": f"pushed {number}"})
        assert not fetcher(url, "main").news, "that is how branches move"
    repository.git("commit", "--quiet", "--amend", "--message", "rewritten")
    after = repository.git("rev-parse", "HEAD")
    told = f"{url}: the history of main was rewritten: it was at {before[:12]}, and is at {after[:12]} now"
    assert [fetcher(url, "main").news for _ in range(2)] == [told, ""]

    # Back to a commit that is in the clone already, so that nothing has to be fetched.
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    back = repository.git("rev-parse", "HEAD")
    told = f"{url}: the history of main was rewritten: it was at {after[:12]}, and is at {back[:12]} now"
    assert [fetcher(url, "main").news for _ in range(2)] == [told, ""]

    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit({"a.yaml": "another beginning"})
    repository.git("branch", "--force", "main", "other")
    assert "the history of main was rewritten: it was at " in fetcher(url, "main").news


def test_b51_many_commits_at_once_are_not_taken_for_certain(repository: Repository, url: str, fetcher: Fetcher) -> None:
    repository.commit({"a.yaml": "first"})
    fetcher(url, "main")
    for number in range(60):
        repository.git("commit", "--quiet", "--allow-empty", "--message", str(number))
    assert "was rewritten (or more than 50 commits came at once): it was at" in fetcher(url, "main").news


def test_b51_a_branch_that_goes_on_to_what_another_one_brought(
    repository: Repository, url: str, fetcher: Fetcher
) -> None:
    """The commit is there, and not what leads to it."""
    repository.commit({"a.yaml": "first"})
    fetcher(url, "main")
    repository.git("checkout", "--quiet", "-b", "next")
    for word in ("second", "third"):
        commit = repository.commit({"a.yaml": word})
    fetcher(url, "next")
    repository.git("branch", "--force", "main", "next")
    checkout = fetcher(url, "main")
    assert (checkout.commit, checkout.news, fetcher.told) == (commit, "", [])


def test_b51_a_tag_that_was_moved_is_told_once(repository: Repository, url: str, fetcher: Fetcher) -> None:
    before = repository.commit({"a.yaml": "first"})
    repository.git("tag", "--annotate", "v1", "--message", "x")
    assert not fetcher(url, "v1").news
    after = repository.commit({"a.yaml": "second"})
    repository.git("tag", "--force", "--annotate", "v1", "--message", "x")
    moved = f"it was at {before[:12]}, and is at {after[:12]} now"
    assert [fetcher(url, "v1").news for _ in range(2)] == [f"{url}: the tag v1 was moved: {moved}", ""]
    # The same commit by another tag object is the same.
    repository.git("tag", "--force", "--annotate", "v1", "--message", "signed anew")
    assert not fetcher(url, "v1").news


def test_b51_what_was_seen_before_may_be_lost(repository: Repository, url: str, fetcher: Fetcher) -> None:
    repository.commit({"a.yaml": "first"})
    for content in (b"", b"[1]", b"{"):
        fetcher(url, "main")
        (fetcher.clones / "seen.json").write_bytes(content)
        repository.git("commit", "--quiet", "--amend", "--message", repr(content))
        checkout = fetcher(url, "main")
        assert (checkout.commit, checkout.news) == (repository.git("rev-parse", "HEAD"), "")


def test_b51_deleted_branches_and_ones_in_their_place(repository: Repository, url: str, fetcher: Fetcher) -> None:
    repository.commit({"a.yaml": "main"})
    repository.git("branch", "release")
    fetcher(url, "release")
    repository.git("branch", "--delete", "--force", "release")
    assert fetcher.error(url, "release") == f"{url}: has no revision release. Correct the revision, or push it."
    assert "has no revision refs/heads/release." in fetcher.error(url, "refs/heads/release")
    repository.git("branch", "release/1")
    assert text_of(fetcher(url, "release/1")) == "main"


def test_b51_names_that_mean_nothing_or_two_things(repository: Repository, url: str, fetcher: Fetcher) -> None:
    assert fetcher.error(url) == (f"{url}: has no commit at its HEAD. Push one, or name a branch as revision.")
    commit = repository.commit({"a.yaml": "main"})
    for name in ("release-1", "release-2"):
        repository.git("branch", name)
    repository.git("tag", "release-2")
    assert fetcher.error(url, "release-2") == (
        f"{url}: release-2 is a branch and a tag. Write refs/heads/release-2 or refs/tags/release-2 as revision."
    )
    assert fetcher(url, "refs/tags/release-2").commit == commit
    for kind in ("branch", "tag"):
        repository.git(kind, "feat/x")
    assert "feat/x is a branch and a tag. Write refs/heads/feat/x or refs/tags/feat/x" in fetcher.error(url, "feat/x")
    assert fetcher.error(url, "relaese-1").endswith(
        "has no revision relaese-1. The closest names there: release-1, release-2."
    )
    assert fetcher.error(url, "refs/heads/mai").endswith(
        "has no revision refs/heads/mai. Correct the revision, or push it."
    )
    assert fetcher.error(url, commit[:10]).endswith(
        f"has no revision {commit[:10]}. A commit has to be given with all its digits."
    )
    assert fetcher.error(url, "0" * 40).endswith(f"has no commit {'0' * 40}. Push it, or correct the revision.")
    assert fetcher(url, "refs/heads/release-2").commit == commit
    blob = repository.git("rev-parse", "main:a.yaml")
    assert "has no commit" in fetcher.error(url, blob)


@pytest.mark.parametrize(
    "revision",
    [
        "--upload-pack=touch hacked", "--upload-pack=touch${IFS}hacked", "-q", "main~1", "main^", "main:a.yaml", "*",
        "refs/heads/*", "main..other", "@{u}", "a b", "a\nb", "a\x1b[0m", "refs/heads/main:refs/heads/x", "main.lock",
        "/main", "main/",
    ],
)  # fmt: skip
def test_revisions_that_are_no_names(revision: str, repository: Repository, url: str, fetcher: Fetcher) -> None:
    repository.commit({"a.yaml": "main"})
    assert fetcher.error(url, revision).endswith(
        f"{revision!a} is no branch, tag or commit. Correct the revision, or leave it out."
    )
    assert not list(repository.path.rglob("hacked"))


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch hacked", "ext::sh -c touch% hacked", "-oProxyCommand=x:y", "https://hunter2@x.test/y",
        "ssh://git:hunter2@x.test/y", "http://x.test/y", "git://x.test/y", "file://relative/x", "/a/folder",
        "https://x.test/y?token=hunter2",
    ],
)  # fmt: skip
def test_urls_that_are_refused_are_not_repeated(url: str, fetcher: Fetcher) -> None:
    message = fetcher.error(url)
    assert message.startswith("the repository: ")
    assert "x.test" not in message
    assert not fetcher.told


def test_the_hint_for_credentials_names_gits_own_ways(fetcher: Fetcher) -> None:
    assert fetcher.error("https://hunter2@x.test/y") == (
        "the repository: no credentials in a URL. Remove the part before the @, and the secret from the history; git "
        "has its own ways: a credential helper, a key for ssh, http.extraHeader."
    )


def test_what_is_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd:name").mkdir()
    for repo, expected in {
        "https://x.test/y": True, "file:///x": True, "git@x.test:y": True, "alias:y": True, "ext::sh": True,
        "/srv/x": False, "x": False, ".": False, "~/x": False, "odd:name": False,
        f"host:{'x' * 300}": True,
    }.items():  # fmt: skip
        assert is_url(repo) is expected, repo


def test_remotes_that_are_none(tmp_path: Path, fetcher: Fetcher) -> None:
    (tmp_path / "plain").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    unreachable = f"http://127.0.0.1:{port}/x"
    for url in (f"file://{tmp_path}/nowhere", f"file://{tmp_path}/plain"):
        assert fetcher.error(url) == (
            f"{url}: there is no git repository. Correct the URL, or get the right to read it."
        )
    message = fetcher.error(unreachable)
    assert message.startswith(f"{unreachable}: git can't read it: Failed to connect to 127.0.0.1 port {port}")
    assert message.endswith(". See that the server and the network (a proxy, a firewall) let git through.")
    with GitServer(tmp_path) as server:
        assert fetcher.error(f"{server.url}/nowhere").startswith(f"{server.url}/nowhere: there is no git repository.")
    assert not (fetcher.cache.path / "repositories").exists()


def test_a_remote_that_never_answers(fetcher: Fetcher) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        started = time.monotonic()
        assert fetcher.error(url, seconds=1) == f"{url}: no complete answer within 1 s. See addon_program_seconds."
        assert time.monotonic() - started < 5
        connection, _ = silent.accept()
        connection.settimeout(5)
        # Its request, and then the end of the connection: nothing of git is left.
        while connection.recv(4096):
            pass


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else(repository: Repository, url: str, fetcher: Fetcher) -> None:
    repository.commit({"a.yaml": ""})
    os.chown(repository.path / ".git", 12345, 12345)
    assert "if you trust it: git config --global --add safe.directory" in fetcher.error(url).replace("If", "if")


# -- the clone ---------------------------------------------------------------------------------------------------------


def test_nothing_is_fetched_when_nothing_moved(repository: Repository, fetcher: Fetcher) -> None:
    commit = repository.commit({"a.yaml": "first"})
    repository.git("tag", "--annotate", "v1", "--message", "x")
    with GitServer(repository.path.parent) as server:
        url = f"{server.url}/gitops"
        for revision in ("main", "v1", "", commit):
            assert fetcher(url, revision).commit == commit
        assert server.fetches == 1
        asked = len(server.authorizations)
        fetcher(url, commit)
        assert len(server.authorizations) == asked, "the cache has this commit"
        repository.commit({"a.yaml": "second"})
        assert text_of(fetcher(url, "main")) == "second"
        assert server.fetches == 2
        assert text_of(fetcher(url, commit)) == "first"
        assert server.fetches == 2
    assert fetcher(url, commit).commit == commit


def test_servers_that_give_commits_only_as_part_of_a_branch(
    repository: Repository, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repository.commit({"a.yaml": "first"})
    second = repository.commit({"a.yaml": "second"})
    repository.commit({"a.yaml": "third"})
    git_settings(monkeypatch, {"protocol.version": "0"})
    with GitServer(repository.path.parent) as server:
        url = f"{server.url}/gitops"
        shallow = fetcher(url)
        assert text_of(shallow) == "third"
        for commit, text in ((first, "first"), (second, "second")):
            checkout = fetcher(url, commit)
            assert text_of(checkout) == text
            assert checkout.root == shallow.root, "what is there already is not fetched again"
        assert fetcher.error(url, "1" * 40).endswith(f"has no commit {'1' * 40}. Push it, or correct the revision.")
        repository.commit({"a.yaml": "fourth"})
        assert text_of(fetcher(url)) == "fourth"


def test_a_remote_that_is_shallow_itself(repository: Repository, url: str, fetcher: Fetcher, tmp_path: Path) -> None:
    repository.commit({"a.yaml": "first"})
    repository.commit({"a.yaml": "second"})
    repository.git("clone", "--quiet", "--depth=1", url, str(tmp_path / "shallow"))
    assert text_of(fetcher(f"file://{tmp_path}/shallow")) == "second"


def test_repositories_with_longer_ids(tmp_path: Path, repository: Repository, fetcher: Fetcher) -> None:
    other = tmp_path / "other"
    repository.git("init", "--quiet", "--object-format=sha256", "--initial-branch=main", str(other))
    commit = Repository(other).commit({"a.yaml": "text"})
    assert len(commit) == 64
    for revision in ("main", commit):
        assert text_of(fetcher(f"file://{other}", revision)) == "text"


def remove_objects(clone: Path) -> None:
    shutil.rmtree(clone / "objects")
    (clone / "objects").mkdir()


def shorten_the_packs(clone: Path) -> None:
    for file in (file for file in (clone / "objects").rglob("*") if file.is_file()):
        content = file.read_bytes()
        file.chmod(0o600)
        file.write_bytes(content[: len(content) // 2])


def remove_one_file(name: str) -> Callable[[Path], None]:
    def remove(clone: Path) -> None:
        (clone / name).unlink()

    return remove


def leave_lock(name: str) -> Callable[[Path], None]:
    def leave(clone: Path) -> None:
        (clone / name).write_text("")

    return leave


def leave_half_a_clone(clone: Path) -> None:
    """As a run does that is killed in its first fetch."""
    (clone.parent / "current").unlink()
    for name in ("HEAD", "config"):
        (clone / name).unlink()


def empty_the_blobs(clone: Path) -> None:
    """Loose objects without their content, as a machine leaves them that lost its power."""
    for file in (clone / "objects").glob("??/*"):
        file.chmod(0o600)
        file.write_bytes(b"")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "shallow.lock": leave_lock("shallow.lock"),
    "packed-refs.lock": leave_lock("packed-refs.lock"),
    "config.lock": leave_lock("config.lock"),
    "index.lock": leave_lock("index.lock"),
    "no objects": remove_objects,
    "short packs": shorten_the_packs,
    "empty objects": empty_the_blobs,
    "no HEAD": remove_one_file("HEAD"),
    "no list of shallow commits": remove_one_file("shallow"),
    "half a clone": leave_half_a_clone,
    "no clone": shutil.rmtree,
}


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_b52_a_clone_that_was_left_damaged_is_made_good(
    damage: str,
    moved: bool,
    repository: Repository,
    url: str,
    fetcher: Fetcher,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git_settings(monkeypatch, {"fetch.unpackLimit": "1" if damage == "short packs" else "1000"})
    repository.commit({"a.yaml": "first"})
    commit = repository.commit({"a.yaml": "second", "b.yaml": "b"})
    clone = fetcher(url).root
    for file in clone.rglob("*.lock"):
        pytest.fail(f"{file} was left")
    DAMAGES[damage](clone)
    if moved:
        commit = repository.commit({"a.yaml": "third"})
    checkout = fetcher(url)
    assert checkout.commit == commit
    assert checkout.read(checkout.entries("", recursive=True)) == {
        "a.yaml": b"third" if moved else b"second",
        "b.yaml": b"b",
    }
    repository.commit({"a.yaml": "more"})
    assert text_of(fetcher(url)) == "more"


def test_what_can_not_be_seen_without_reading_everything_says_what_to_do(
    repository: Repository, url: str, fetcher: Fetcher
) -> None:
    repository.commit({"a.yaml": "first" * 1000})
    checkout = fetcher(url)
    (entry,) = checkout.entries("", recursive=True)
    file = checkout.root / "objects" / entry.blob[:2] / entry.blob[2:]
    content = bytearray(file.read_bytes())
    content[-1] ^= 255
    file.chmod(0o600)
    file.write_bytes(content)
    with pytest.raises(RepositoryError) as caught:
        fetcher(url).read([entry])
    assert str(caught.value) == (
        f"a.yaml: git can't read this file. If {checkout.root} is a clone of the cache, remove it."
    )
    shutil.rmtree(checkout.root)
    assert text_of(fetcher(url)) == "first" * 1000


def test_a_blob_that_is_gone_is_fetched_again(repository: Repository, url: str, fetcher: Fetcher) -> None:
    repository.commit({"a.yaml": "first", "b.yaml": "b"})
    checkout = fetcher(url)
    blob = next(entry.blob for entry in checkout.entries("", recursive=True) if entry.path == "b.yaml")
    (checkout.root / "objects" / blob[:2] / blob[2:]).unlink()
    assert text_of(fetcher(url), "b.yaml") == "b"


def test_b52_a_clone_that_was_replaced_stays_for_whoever_reads_it(
    repository: Repository, url: str, fetcher: Fetcher
) -> None:
    repository.commit({"a.yaml": "first"})
    former = fetcher(url)
    leave_lock("shallow.lock")(former.root)
    repository.commit({"a.yaml": "second"})
    latter = fetcher(url)
    assert latter.root != former.root
    assert (text_of(former), text_of(latter)) == ("first", "second")
    repository.commit({"a.yaml": "third"})
    assert fetcher(url).root == latter.root
    assert (text_of(former), text_of(latter)) == ("first", "second")
    repository.commit({"a.yaml": "fourth"})
    day_ago = time.time() - 25 * 3600
    os.utime(fetcher.clones / "current", (day_ago, day_ago), follow_symlinks=False)
    assert fetcher(url).root == latter.root
    assert sorted(path.name for path in fetcher.clones.iterdir()) == sorted(["current", latter.root.name, "seen.json"])


def test_a_commit_that_is_not_there_does_not_cost_a_new_clone(
    repository: Repository, url: str, fetcher: Fetcher
) -> None:
    repository.commit({"a.yaml": "first"})
    root = fetcher(url).root
    fetcher.error(url, "0" * 40)
    assert sorted(fetcher.clones.iterdir()) == sorted([root, fetcher.clones / "current", fetcher.clones / "seen.json"])


def child(cache: CacheFolder, url: str, seconds: int = 20) -> subprocess.Popen[str]:
    code = (
        "import sys\n"
        "from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder\n"
        "from ansible_collections.rendimiento.addons.plugins.module_utils.repository.remote import fetch\n"
        "checkout = fetch(sys.argv[2], '', CacheFolder.open(sys.argv[1]), int(sys.argv[3]),\n"
        "                 lambda line: print(line, flush=True))\n"
        "print(len(checkout.read(checkout.entries('', recursive=True))))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(cache.path), url, str(seconds)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "collections")},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_b52_fetches_at_once(repository: Repository, fetcher: Fetcher) -> None:
    repository.commit({f"{number}.yaml": f"{number}" * 100 for number in range(300)})
    with GitServer(repository.path.parent) as server:
        several = [child(fetcher.cache, f"{server.url}/gitops") for _ in range(4)]
        outputs = [one.communicate(timeout=60)[0].splitlines() for one in several]
        assert [output[-1] for output in outputs] == ["300"] * 4
        assert server.fetches == 1


def test_b52_a_fetch_waits_for_another_one_and_not_for_ever(repository: Repository, url: str, fetcher: Fetcher) -> None:
    repository.commit({"a.yaml": "first"})
    fetcher(url)
    key = fetcher.clones.name
    with fetcher.cache.lock("repositories", key, 0, lambda: None):
        with pytest.raises(CacheError, match="another run holds this part of the cache for more than 1 s"):
            fetcher(url, seconds=1)
        assert fetcher.told == [f"waiting for another run that fetches {url}"]
        waiting = child(fetcher.cache, url)
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == f"waiting for another run that fetches {url}\n"
    assert waiting.communicate(timeout=20)[0] == "1\n"


def test_b52_a_run_that_is_killed_in_its_fetch(repository: Repository, fetcher: Fetcher) -> None:
    repository.commit({f"{number}.yaml": f"{number}" * 100 for number in range(100)})
    with GitServer(repository.path.parent) as server:
        url = f"{server.url}/gitops"
        reached, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            reached.set()
            go_on.wait(20)

        server.before_fetch = hold
        killed = child(fetcher.cache, url)
        assert reached.wait(20)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        server.before_fetch = lambda: None
        # Also while the git of the killed run still lives.
        assert len(fetcher(url).entries("", recursive=True)) == 100
        go_on.set()
        repository.commit({"a.yaml": "later"})
        assert text_of(fetcher(url)) == "later"


def test_clones_are_for_their_owner_only_and_bring_no_hooks(
    repository: Repository, url: str, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "ran"
    hooks = tmp_path / "template/hooks"
    hooks.mkdir(parents=True)
    for name in ("reference-transaction", "post-checkout", "fsmonitor-watchman", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hooks / name).chmod(0o700)
    repository.commit({"a.yaml": "first"})
    git_settings(
        monkeypatch,
        {
            "init.templateDir": str(hooks.parent),
            "core.hooksPath": str(hooks),
            "core.fsmonitor": str(hooks / "fsmonitor-watchman"),
            "gc.auto": "1",
            "gc.autoPackLimit": "1",
        },
    )
    fetcher(url)
    repository.path.joinpath("b.yaml").write_text("b")
    with monkeypatch.context() as without:
        git_settings(without, {})
        repository.commit({"b.yaml": "b"})
        marker.unlink(missing_ok=True)
    checkout = fetcher(url)
    assert text_of(checkout, "b.yaml") == "b"
    assert not (checkout.root / "hooks").exists()
    assert not marker.exists()
    assert {path.stat().st_mode & 0o777 for path in (fetcher.clones.parent, fetcher.clones, checkout.root)} == {0o700}


def test_a_hook_of_another_repository_does_not_lead_astray(
    repository: Repository, url: str, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit({"a.yaml": "first"})
    other = Repository(tmp_path / "other")
    before = other.commit({"b.yaml": "other"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.path / ".git/objects"))
    assert fetcher(url).commit == commit
    assert text_of(fetcher(url)) == "first"
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_OBJECT_DIRECTORY")
    assert other.git("for-each-ref", "--format=%(objectname) %(refname)") == f"{before} refs/heads/main"


def test_a_repository_around_the_cache_takes_no_part(
    repository: Repository, url: str, tmp_path: Path, fetcher: Fetcher
) -> None:
    commit = repository.commit({"a.yaml": "first"})
    around = Repository(tmp_path)
    around.git("config", f"url.file://{tmp_path}/nowhere.insteadOf", url)
    assert fetcher(url).commit == commit


def test_a_user_who_lets_git_find_no_bare_repository(
    repository: Repository, url: str, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit({"a.yaml": "first"})
    git_settings(monkeypatch, {"safe.bareRepository": "explicit"})
    checkout = fetcher(url)
    assert text_of(checkout) == "first"
    assert Checkout.open(str(checkout.root), commit) == checkout


def test_submodules_and_lfs_pointers_stay_what_they_are(
    repository: Repository, url: str, fetcher: Fetcher, tmp_path: Path
) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    other = Repository(tmp_path / "other").commit({"x": "x"})
    repository.write({".gitmodules": f'[submodule "m"]\n\tpath = m\n\turl = {tmp_path}/other\n'})
    repository.commit({"big.bin": pointer, ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs\n"})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{other},m")
    repository.git("commit", "--quiet", "--message", "module")
    checkout = fetcher(url)
    entries = {entry.path: entry for entry in checkout.entries("", recursive=True)}
    assert entries["m"].mode == "160000"
    assert checkout.read([entries["big.bin"]]) == {"big.bin": pointer}
    assert not checkout.has_commit(other)


# -- credentials and transports ----------------------------------------------------------------------------------------


def helper(login: str) -> str:
    name, _, password = login.partition(":")
    return f'!f() {{ test "$1" = get && echo username={name} && echo password={password}; }}; f'


def test_credentials_of_gits_own_configuration(
    repository: Repository, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit({"a.yaml": "first"})
    asks = "it asks for credentials, and git has none that it accepts. Give git the credentials (a credential helper,"
    refuses = "it does not accept the credentials that git has. Give git the credentials (a credential helper,"
    with GitServer(repository.path.parent, login=LOGIN) as server:
        url = f"{server.url}/gitops"
        right = "Authorization: Basic ZGVwbG95Omh1bnRlcjItaHVudGVyMg=="
        assert fetcher.error(url).startswith(f"{url}: {asks}")
        for settings, message in (
            ({"credential.helper": helper("deploy:hunter2-wrong")}, refuses),
            ({"http.extraHeader": "Authorization: Basic aHVudGVyMjpodW50ZXIy"}, asks),
        ):
            git_settings(monkeypatch, settings)
            error = fetcher.error(url)
            assert error.startswith(f"{url}: {message}")
            assert "Basic" not in error
            assert "aHVudGVyM" not in error
        for settings in (
            {"credential.helper": helper(LOGIN)},
            {f"http.{server.url}/.extraHeader": right},
        ):
            shutil.rmtree(fetcher.cache.path / "repositories", ignore_errors=True)
            git_settings(monkeypatch, settings)
            assert fetcher(url).commit == commit
            assert not [line for line in fetcher.told if "hunter2" in line]
        kept = b"".join(path.read_bytes() for path in fetcher.cache.path.rglob("*") if path.is_file())
        assert b"hunter2" not in kept
        assert b"ZGVwbG95" not in kept


def test_credentials_that_the_users_configuration_puts_into_the_url(
    repository: Repository, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a.yaml": "first"})
    with GitServer(repository.path.parent, login=LOGIN) as server:
        host = server.url.removeprefix("http://")
        git_settings(monkeypatch, {f"url.http://{LOGIN}@{host}/.insteadOf": f"http://{host}/"})
        monkeypatch.setenv("GIT_TRACE", "1")
        monkeypatch.setenv("GIT_CURL_VERBOSE", "1")
        assert text_of(fetcher(f"{server.url}/gitops")) == "first"
        # git itself repeats that URL with the password.
        assert "there is no git repository" in fetcher.error(f"{server.url}/nowhere")
    assert "git can't read it: Failed to connect" in fetcher.error(f"{server.url}/gitops")


def test_b60_a_proxy_towards_the_api_server_is_none_towards_git(
    repository: Repository, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit({"a.yaml": "first"})
    with GitServer(repository.path.parent) as server, LoggingProxy(server.port) as proxy:
        monkeypatch.setenv("K8S_AUTH_PROXY", proxy.url)
        assert fetcher(f"{server.url}/gitops").commit == commit
        assert proxy.asked == []
        git_settings(monkeypatch, {"http.proxy": proxy.url})
        repository.commit({"a.yaml": "second"})
        fetcher.error(f"{server.url}/gitops", seconds=2)
        assert proxy.asked[0].startswith(f"{server.url}/gitops")


def test_credentials_do_not_follow_a_redirect(
    repository: Repository, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a.yaml": "first"})
    with GitServer(repository.path.parent) as other, GitServer(repository.path, redirect=other.url) as server:
        git_settings(monkeypatch, {f"credential.{server.url}.helper": helper(LOGIN)})
        assert text_of(fetcher(f"{server.url}/gitops")) == "first"
        git_settings(monkeypatch, {f"http.{server.url}/.extraHeader": "Authorization: Basic aHVudGVyMjpodW50ZXIy"})
        assert fetcher.error(f"{server.url}/gitops").endswith("it redirects to another URL. Give that URL.")
        assert any(server.authorizations)
        assert not any(other.authorizations)


def test_over_ssh(repository: Repository, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git starts what stands in the place of ssh, which notes its arguments and runs the other side here."""
    commit = repository.commit({"a.yaml": "first"})
    program = tmp_path / "bin/ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    for url in (f"git@git.example.com:{repository.path}", f"ssh://git@git.example.com:2222{repository.path}"):
        assert fetcher(url).commit == commit
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert all("-o BatchMode=yes" in line and "git@git.example.com" in line for line in arguments)
    own = tmp_path / "own"
    shutil.copy(program, own)
    (tmp_path / "arguments").write_text("")
    with monkeypatch.context() as user:
        user.setenv("GIT_SSH_COMMAND", f"{own} -i key")
        fetcher(f"git@git.example.com:{repository.path}")
    with monkeypatch.context() as user:
        git_settings(user, {"core.sshCommand": f"{own} -i key"})
        fetcher(f"git@git.example.com:{repository.path}")
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert sum("git-upload-pack" in line for line in arguments) == 2
    assert all(line.startswith("-i key ") and "BatchMode" not in line for line in arguments)
    program.write_text(
        "#!/bin/sh\necho 'Warning: odd' >&2\necho 'git@git.example.com: Permission denied (publickey).' >&2\nexit 255\n"
    )
    assert fetcher.error("git@git.example.com:x") == (
        "git@git.example.com:x: git can't read it: git@git.example.com: Permission denied (publickey). "
        "Give ssh a key that is accepted there, without passphrase or with an agent."
    )


def test_transports_that_the_users_configuration_leads_to(
    repository: Repository, url: str, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit({"a.yaml": "first"})
    git_settings(monkeypatch, {f"url.{url}.insteadOf": "https://git.example.com/gitops"})
    assert fetcher("https://git.example.com/gitops").commit == commit
    for target in ("ext::touch hacked ", "http://git.example.com/"):
        git_settings(
            monkeypatch, {f"url.{target}.insteadOf": "https://git.example.com/", "protocol.ext.allow": "always"}
        )
        assert "not allowed. Use https://, ssh://, file:/// or git@host:path." in fetcher.error(
            "https://git.example.com/x"
        )
    git_settings(monkeypatch, {})
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "https:ssh:ext")
    assert "transport 'file' not allowed" in fetcher.error(url)
    assert not list(tmp_path.rglob("hacked"))


def test_without_git_there_is_one_error(fetcher: Fetcher, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert fetcher.error(url) == "git is not installed on this host. Install git."
