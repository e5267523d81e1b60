"""The cache folder: whole entries or none, for its owner only, and never more than it may hold."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache import folder as folder_module
from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import CacheError

ROOT = Path(__file__).parents[3]
HEAD = """
import sys
from pathlib import Path
from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
cache = CacheFolder.open(sys.argv[1])
"""


@pytest.fixture
def cache(tmp_path: Path) -> CacheFolder:
    return CacheFolder.open(str(tmp_path / "cache"))


def key_of(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


KEY = key_of("one")


def process(cache: CacheFolder, code: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'collections'}"}
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code, str(cache.path)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(one: subprocess.Popen[str]) -> str:
    assert one.stdout is not None
    return one.stdout.readline().strip()


def files_of(cache: CacheFolder, area: str) -> list[str]:
    return sorted(path.name for path in (cache.path / area).iterdir())


@pytest.mark.parametrize("content", [b"", b"text\n", b"\n\n", bytes(range(256)) * 1000])
def test_what_is_written_is_read(cache: CacheFolder, content: bytes) -> None:
    assert cache.read("renders", KEY) is None
    cache.write("renders", KEY, b"former")
    cache.write("renders", KEY, content)
    assert cache.read("renders", KEY) == content
    assert CacheFolder(cache.path).read("renders", KEY) == content
    assert cache.read("renders", key_of("other")) is None
    assert cache.read("asked", KEY) is None


def test_only_its_owner_can_read_it(cache: CacheFolder) -> None:
    before = os.umask(0)
    try:
        cache.write("renders", KEY, b"secret")
        cache.folder("repositories", KEY)
        with cache.lock("repositories", KEY, 1, lambda: None):
            pass
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o7777 for path in [cache.path, *cache.path.rglob("*")] if path.is_dir()}
    assert modes == {0o700}
    assert {path.stat().st_mode & 0o7777 for path in cache.path.rglob("*") if path.is_file()} == {0o600}


@pytest.mark.parametrize(
    ("area", "key"), [("renders", "../x"), ("renders", ""), ("renders", "a/b"), ("renders", "A\n"), ("../x", KEY)]
)
def test_names_that_could_lead_elsewhere_are_a_defect_of_the_caller(cache: CacheFolder, area: str, key: str) -> None:
    for call in (
        lambda: cache.read(area, key),
        lambda: cache.write(area, key, b""),
        lambda: cache.folder(area, key),
        lambda: cache.lock(area, key, 0, lambda: None).__enter__(),
    ):
        with pytest.raises(ValueError, match="not an area"):
            call()


def damages(content: bytes) -> Iterator[bytes]:
    yield b""
    yield content[:10]
    yield content[:-1]
    yield content + b"x"
    yield content.replace(b"value", b"Value")
    yield b"0" + content[1:]
    yield content.replace(b"\n", b"", 1)


def test_a_damaged_entry_counts_as_none(cache: CacheFolder) -> None:
    cache.write("renders", KEY, b"a: value\n")
    place = cache.path / "renders" / KEY
    whole = place.read_bytes()
    for damaged in damages(whole):
        assert damaged != whole
        place.write_bytes(damaged)
        assert cache.read("renders", KEY) is None
        assert not place.exists()
        cache.write("renders", KEY, b"a: value\n")
        assert cache.read("renders", KEY) == b"a: value\n"


def test_an_entry_under_another_name_counts_as_none(cache: CacheFolder) -> None:
    cache.write("renders", KEY, b"content")
    other = key_of("other")
    (cache.path / "renders" / KEY).rename(cache.path / "renders" / other)
    assert cache.read("renders", other) is None


def test_two_processes_on_one_key_at_once(cache: CacheFolder) -> None:
    """Each writes contents of its own and reads: what it reads is always whole, and one of the two."""
    code = f"""
import time
seen = set()
until = time.monotonic() + 1.5
while time.monotonic() < until:
    cache.write("renders", "{KEY}", MINE * 300_000)
    content = cache.read("renders", "{KEY}")
    assert content in (b"a" * 300_000, b"b" * 300_000), content
    seen.add(content[:1])
print("".join(sorted(one.decode() for one in seen)))
"""
    both = [process(cache, code.replace("MINE", repr(mine))) for mine in (b"a", b"b")]
    seen = [one.communicate(timeout=30)[0].strip() for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert "ab" in seen
    assert files_of(cache, "renders") == [KEY]


def test_a_process_that_is_killed_while_writing_leaves_the_former_entry(cache: CacheFolder) -> None:
    cache.write("renders", KEY, b"former")
    code = f"""
def wait(self, target):
    print("written", flush=True)
    sys.stdin.read()
Path.replace = wait
cache.write("renders", "{KEY}", b"new" * 1000)
"""
    writer = process(cache, code)
    assert line_of(writer) == "written"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    assert cache.read("renders", KEY) == b"former"
    cache.write("renders", KEY, b"newer")
    assert cache.read("renders", KEY) == b"newer"


def test_processes_killed_at_any_time_leave_whole_entries_or_none(cache: CacheFolder) -> None:
    code = f"""
print("begins", flush=True)
while True:
    for size in range(2_000_000, 2_100_000, 10_000):
        cache.write("renders", "{KEY}", b"x" * size)
"""
    sizes = set()
    for delay in range(8):
        writer = process(cache, code)
        assert line_of(writer) == "begins"
        time.sleep(0.01 + delay * 0.004)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        # Not through read(), which would hide a bad entry.
        place = cache.path / "renders" / KEY
        if place.exists():
            content = cache.read("renders", KEY)
            assert content is not None
            sizes.add(len(content))
    assert sizes <= set(range(2_000_000, 2_100_000, 10_000))
    assert sizes


def test_what_was_not_used_for_longest_goes(cache: CacheFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folder_module.LIMITS, "charts", 10_000)
    now = time.time()
    keys = [key_of(str(number)) for number in range(8)]
    for number, key in enumerate(keys):
        cache.write("charts", key, b"x" * 1_000)
        os.utime(cache.path / "charts" / key, (now, now - 100_000 + number))
    leftover = cache.path / "charts/.of-a-killed-run"
    leftover.write_bytes(b"x" * 500)
    os.utime(leftover, (1, 1))
    assert cache.read("charts", keys[0]) is not None
    cache.write("asked", KEY, b"x" * 20_000)
    assert len(files_of(cache, "charts")) == 9
    cache.write("charts", KEY, b"x" * 1_500)
    assert sorted(files_of(cache, "charts")) == sorted([KEY, keys[0], *keys[4:]])
    assert cache.read("asked", KEY) is not None


def test_an_entry_that_is_larger_than_its_area_does_not_stay(
    cache: CacheFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(folder_module.LIMITS, "charts", 1_000)
    cache.write("charts", KEY, b"x" * 2_000)
    assert cache.read("charts", KEY) is None


def test_use_is_noted_once_an_hour_at_most(cache: CacheFolder) -> None:
    cache.write("charts", KEY, b"x")
    place, now = cache.path / "charts" / KEY, time.time()
    for age, noted in ((1800, False), (2 * 3600, True)):
        os.utime(place, (now - age, now - age))
        cache.read("charts", KEY)
        assert (place.stat().st_mtime > now - age + 1) is noted


def test_folders_go_when_nobody_used_them_for_a_day(cache: CacheFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folder_module.LIMITS, "repositories", 3_000)
    old, older, locked, recent = keys = [key_of(name) for name in ("old", "older", "locked", "recent")]
    now = time.time()
    for key, age in zip(keys, (30, 50, 60, 1), strict=True):
        folder = cache.folder("repositories", key)
        (folder / "deep").mkdir()
        (folder / "deep/file").write_bytes(b"x" * 1_000)
        os.utime(folder, (now - age * 3600, now - age * 3600))
    with cache.lock("repositories", locked, 1, lambda: None):
        cache.trim("repositories")
    assert files_of(cache, "repositories") == sorted([locked, recent])
    cache.folder("repositories", locked)
    monkeypatch.setitem(folder_module.LIMITS, "repositories", 0)
    cache.trim("repositories")
    assert files_of(cache, "repositories") == sorted([locked, recent])
    assert {old, older}.isdisjoint(files_of(cache, "repositories"))


def test_what_is_no_entry_goes_first(cache: CacheFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folder_module.LIMITS, "charts", 2_000)
    stray = cache.path / "charts/no-digest"
    stray.mkdir(parents=True)
    (stray / "file").write_bytes(b"x" * 1_500)
    os.utime(stray, (1, 1))
    cache.write("charts", KEY, b"x" * 1_000)
    assert files_of(cache, "charts") == [KEY]


def test_all_areas_together_leave_room_on_a_disk() -> None:
    assert sum(folder_module.LIMITS.values()) < 2 * 1024**3


def test_a_lock_is_for_one_process_at_a_time(cache: CacheFolder) -> None:
    code = f"""
def waits():
    print("waits", flush=True)
with cache.lock("repositories", "{KEY}", 30, waits):
    print("inside", flush=True)
    sys.stdin.read()
"""
    first = process(cache, code)
    assert line_of(first) == "inside"
    second = process(cache, code)
    assert line_of(second) == "waits"
    with (
        pytest.raises(CacheError, match=r"another run holds this part of the cache for more than 0.3 s. Wait for"),
        cache.lock("repositories", KEY, 0.3, lambda: None),
    ):
        pytest.fail("both are inside")
    with cache.lock("repositories", key_of("other"), 0, lambda: pytest.fail("locks of other keys")):
        pass
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert line_of(second) == "inside"
    second.communicate("", timeout=10)
    assert second.returncode == 0
    with cache.lock("repositories", KEY, 0, lambda: pytest.fail("nobody is inside")):
        pass


def test_a_lock_is_given_back_after_an_error(cache: CacheFolder) -> None:
    with pytest.raises(KeyError), cache.lock("repositories", KEY, 0, lambda: None):
        raise KeyError
    with cache.lock("repositories", KEY, 0, lambda: pytest.fail("still locked")):
        pass


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "{tmp}/xdg", "HOME": "{tmp}/home"}, "xdg/rendimiento-addons/sources"),
        ({"XDG_CACHE_HOME": "", "HOME": "{tmp}/home"}, "home/.cache/rendimiento-addons/sources"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "{tmp}/home"}, "home/.cache/rendimiento-addons/sources"),
    ],
)
def test_the_users_own_folder(
    environment: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    assert CacheFolder.open().path == tmp_path / expected
    assert (tmp_path / expected).stat().st_mode & 0o777 == 0o700


def test_the_users_own_folder_is_private_where_others_may_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that everybody may read can lie beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "rendimiento-addons/local-cluster").mkdir(parents=True)
    (tmp_path / "rendimiento-addons").chmod(0o755)
    assert CacheFolder.open().path.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "rendimiento-addons").stat().st_mode & 0o777 == 0o755


def test_a_home_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert CacheFolder.open("~/mine/cache").path == tmp_path / "mine/cache"


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o720, 0o1777])
def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(CacheError) as caught:
        CacheFolder.open(str(folder))
    assert str(caught.value) == (
        f"{folder}: the cache folder is open to other users (mode {mode:04o}). "
        f"If nobody else wrote to it: chmod 0700 {folder}."
    )
    folder.chmod(0o700)
    assert CacheFolder.open(str(folder)).path == folder


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    with pytest.raises(CacheError, match=r"belongs to another user. Give another folder as addon_cache_dir\.$"):
        CacheFolder.open(str(folder))


@pytest.mark.parametrize(
    ("mode", "refused"), [(0o777, True), (0o757, True), (0o702, True), (0o1777, False), (0o775, False)]
)
@pytest.mark.parametrize("place", ["shared/cache", "shared/mine/cache", "link/cache"])
def test_a_folder_that_others_could_replace_is_refused(tmp_path: Path, mode: int, refused: bool, place: str) -> None:
    shared, real = tmp_path / "shared", tmp_path / place.replace("link", "shared")
    shared.mkdir()
    shared.chmod(mode)
    (tmp_path / "link").symlink_to("shared")
    if not refused:
        assert CacheFolder.open(str(tmp_path / place)).path == real
        return
    with pytest.raises(CacheError) as caught:
        CacheFolder.open(str(tmp_path / place))
    assert str(caught.value) == (
        f"{real}: everybody may replace the cache folder (mode {mode:04o} of {shared}). "
        f"Chmod o-w {shared}, or give another folder as addon_cache_dir."
    )


def test_a_link_is_followed_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to("one")
    cache = CacheFolder.open(str(tmp_path / "cache"))
    assert cache.path == tmp_path / "one"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(CacheError, match=r"the cache folder can't be made: "):
        CacheFolder.open(str(tmp_path / "loop"))


def test_a_place_where_no_folder_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("file", "file/below"):
        with pytest.raises(CacheError, match=r"the cache folder can't be made: .*\. Give another folder"):
            CacheFolder.open(str(tmp_path / place))
    with pytest.raises(CacheError, match=r"^there is no home folder for the cache. Give another folder"):
        CacheFolder.open("~nobody-of-this-name/cache")


def test_a_cache_that_can_not_be_written_keeps_nothing(cache: CacheFolder) -> None:
    (cache.path / "renders").write_text("a file in the place of the area")
    cache.write("renders", KEY, b"content")
    assert cache.read("renders", KEY) is None


def test_a_full_disk_is_no_reason_to_fail(cache: CacheFolder) -> None:
    cache.write("renders", KEY, b"former")
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
cache.write("renders", "{KEY}", b"x" * 1_000_000)
print(cache.read("renders", "{KEY}").decode())
"""
    assert process(cache, code).communicate(timeout=10)[0] == "former\n"
    assert files_of(cache, "renders") == [KEY]
