"""Real kustomize: what it may reach, and what its errors become."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.model.cluster_facts import ClusterFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import RenderError
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.kustomize import Kustomize
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.kustomize_errors import (
    build_error,
    patch_error,
    warnings_of,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.programs.program import Program
from tests.loopback import Exchange, Loopback
from tests.unit.ending import that_ends

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
BASE = {"base/kustomization.yaml": "resources: [cm.yaml]", "base/cm.yaml": CONFIG_MAP}
SECRET = "s3cret"


@pytest.fixture
def kustomize(programs: dict[str, Path], tmp_path: Path) -> Kustomize:
    calls: list[str] = []
    program = Program.find("kustomize", str(programs["kustomize"]), 60, calls.append)
    return Kustomize(program, CacheFolder.open(str(tmp_path / "cache")))


def built(
    kustomize: Kustomize,
    tmp_path: Path,
    files: Mapping[str, str],
    may: frozenset[str] = frozenset(),
    helm: Path | None = None,
) -> str:
    """What the kustomization ``over`` makes of these files."""
    root, work = tmp_path / "root", tmp_path / "work"
    work.mkdir()
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return kustomize.build(root, "over", work=work, may=may, helm=helm, cluster=ClusterFacts("v1.37.0")).text


def test_the_version_is_asked_once(kustomize: Kustomize) -> None:
    calls: list[str] = []
    again = Kustomize(Program("kustomize", kustomize.program.path, 60, calls.append), kustomize.cache)
    assert kustomize.version() == "v5.8.1"
    assert again.version() == "v5.8.1"
    assert calls == []


def test_another_program_is_no_kustomize(tmp_path: Path) -> None:
    path = tmp_path / "kustomize"
    path.write_text("#!/bin/sh\necho hello\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    other = Kustomize(Program("kustomize", path, 5, lambda call: None), CacheFolder.open(str(tmp_path / "cache")))
    with pytest.raises(RenderError, match=r"kustomize does not tell its version. Give the path of kustomize itself as"):
        other.version()


def test_a_build(kustomize: Kustomize, tmp_path: Path) -> None:
    text = built(kustomize, tmp_path, {**BASE, "over/kustomization.yaml": "resources: [../base]\nnamePrefix: x-"})
    assert "name: x-a\n" in text


@pytest.mark.parametrize(
    ("over", "files", "message"),
    [
        ("resources: [../base, ../base]", {},
         "over: ConfigMap a is there twice. Remove one, or set a namePrefix for one of its bases."),
        ("resources: [../gone]", {}, "over: gone does not exist. Correct the path, or commit the file."),
        ("resources: [gone.yaml]", {}, "over: over/gone.yaml does not exist. Correct the path, or commit the file."),
        ("resources: [../mid]", {"mid/kustomization.yaml": "resources: [../base, gone.yaml]"},
         "mid: mid/gone.yaml does not exist. Correct the path, or commit the file."),
        ("resources: [../top]",
         {"top/kustomization.yaml": "resources: [../mid]", "mid/kustomization.yaml": "resources: [bad.yaml]",
          "mid/bad.yaml": "a: b: c"},
         "mid: bad.yaml is not valid YAML: mapping values are not allowed in this context. Correct the file."),
        ("resources: [a.yaml]", {"over/a.yaml": "a: 1"},
         "over: a.yaml is no Kubernetes object. Remove it from resources."),
        ("resources: [a.yaml]", {"over/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {labels: {a: s3cret}}"},
         "over: a.yaml: Secret has no metadata.name. Give it one."),
        ("resources: [a.yaml]", {"over/a.yaml": CONFIG_MAP + "  \nmetadata: {name: s3cret}"},
         "over: a file has the key metadata twice in one mapping, in line 5. Remove one."),
        ("resources: [../none]", {"none/x.yaml": CONFIG_MAP},
         "none: holds no kustomization. Add a kustomization.yaml that lists its files under resources."),
        ("resources: [../two]", {"two/kustomization.yaml": "{}", "two/Kustomization": "{}"},
         "two: holds more than one kustomization. Keep one."),
        ("kind: Kustomization", {}, "over: the kustomization says nothing. List files under resources."),
        ("resourcess: [../base]", {}, "over: resourcess: unknown field of a kustomization. Correct its name."),
        ("resources: [../base]\nnamespace: 5", {},
         "over: namespace: got number, string is needed. Quote it if it is text."),
        ("resources: [../base]\ncomponents: [../base]", {},
         "over: base is no component. List it under resources, or make it kind: Component."),
        ("resources: [../c]", {"c/kustomization.yaml": "kind: Component\nnamePrefix: a"},
         "over: c is a component. List it under components."),
        ("resources: [../base/cm.yaml]", {},
         "over: base/cm.yaml is not in or below over. "
         "Move the file there, or make its folder a base with a kustomization."),
        ("resources: [..]", {}, "over: . is a base of itself, or of a folder in it. Remove it from resources."),
        ("resources: [../base]\npatches:\n"
         "- patch: '{apiVersion: v1, kind: Secret, metadata: {name: b.c}, data: {p: s3cret}}'", {},
         "over: patches: there is no Secret b.c to patch. "
         "Correct kind, name and namespace of the patch, or list the object under resources."),
        ("resources: [../base]\npatches: [{patch: 's3cret: : x'}]", {},
         "over: patches: a patch is neither a merge patch nor a JSON patch. Correct its YAML."),
        ("resources: [../base]\npatches: [{path: p.yaml}]", {"over/p.yaml": "s3cret"},
         "over: patches: p.yaml is neither a merge patch nor a JSON patch. Correct the file."),
        ("""resources: [../base]\npatches: [{patch: '[{"op": "add", "path": "/data/p", "value": "s3cret"}]'}]""", {},
         "over: patches: a JSON patch has no target. Add target."),
        ("resources: [../base]\npatches: [{path: p.yaml, patch: s3cret}]", {"over/p.yaml": ""},
         "over: patches: an entry needs either patch or path. Give one of them."),
        ("secretGenerator: [{name: x, literals: [s3cret]}]", {},
         "over: literals: an entry is not of the form key=value. Correct it."),
        ("secretGenerator: [{name: x, literals: [a=s3cret, a=s3cret]}]", {},
         "over: x gets the key a twice. Remove one."),
        ("generatorOptions: {disableNameSuffixHash: true}\nresources: [../base]\nconfigMapGenerator: [{name: a}]", {},
         "over: ConfigMap a is generated, and is there already. Set behavior: merge or replace."),
        ("configMapGenerator: [{name: a, behavior: merge}]", {},
         "over: ConfigMap a is not there to merge with. Leave behavior out, or correct the name."),
        ("secretGenerator: [{name: a, files: [../base]}]", {},
         "over: base is a folder, a file is needed. Name a file."),
        ("resources: [../base]\nreplacements: [{source: {kind: Secret, name: x}, targets: [{select: {kind: X}}]}]", {},
         "over: replacements: there is no Secret x to copy from. Correct source."),
        ("resources: [../base]\nreplacements:\n"
         "- {source: {kind: ConfigMap}, targets: [{select: {kind: ConfigMap}, fieldPaths: [a.b]}]}",
         {}, "over: replacements: a target has no field a.b. Correct fieldPaths, or set options.create."),
        ("resources: [../base]\nreplicas: [{name: x, count: 1}]", {},
         "over: replicas: there is no workload x. Correct its name."),
        ("resources: [a.yaml]\nlabels: [{pairs: {a: b}}]",
         {"over/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: s3cret}"},
         "over: a field has another shape than kustomize expects: expected MappingNode but got ScalarNode. "
         "Correct the object."),
        ("helmCharts: [{name: x, valuesInline: {password: s3cret}}]", {},
         "over: helmCharts: helm may not be run. Remove it, or add helm to addon_kustomize_allow."),
        ("generators: ['{apiVersion: x/v1, kind: Mine, metadata: {name: a}, spec: s3cret}']", {},
         "over: Mine is a plugin, which may not be run. Remove it, or add plugins to addon_kustomize_allow."),
        ("crds: [c]", {"over/c": ""},
         "over: kustomize crashed. Look for an empty file, of crds for example."),
        ("resources: [../base]\nsortOptions: {order: x}", {},
         "over: the field 'sortOptions.order' must be one of [fifo, legacy]. "
         "Run kustomize build in a checkout to see all of it."),
    ],
)  # fmt: skip
def test_errors(kustomize: Kustomize, tmp_path: Path, over: str, files: dict[str, str], message: str) -> None:
    with pytest.raises(RenderError) as caught:
        built(kustomize, tmp_path, {**BASE, **files, "over/kustomization.yaml": over})
    assert str(caught.value) == message


def test_a_line_of_data_is_not_repeated() -> None:
    text = "Error: loading KV pairs: env source files: [e]: line [65 61] has invalid utf8 bytes : A=s3cret"
    assert str(build_error(text, Path("/r"), "over")) == (
        "over: envs: e: a line is not UTF-8 text. Give the file under files."
    )


@pytest.mark.parametrize(
    "text",
    [
        "Error: new: `\npatch: s3cret\n`: failed",
        'Error: new "s3cret \\" s3cret" failed',
        "Error: new 'a\ns3cret' failed",
        # The rest was cut off.
        "Error: new `\npatch: s3cret",
        'Error: new "s3cret \\" s3cr',
        "Error: new 'a\ns3cret",
    ],
)
def test_quotes_of_unknown_errors_are_left_out(text: str) -> None:
    message = str(build_error(text, Path("/r"), "over"))
    assert SECRET not in message
    assert message.startswith("over: new")
    assert "\n" not in message


LONG = 1_000_000
"""More than is ever looked at, so that what is not linear would take hours."""


@pytest.mark.parametrize(
    "text",
    [
        'Kind:"' * LONG,
        'Kind:"",Name:"' * LONG,
        'Kind:"K"Name:"N"' * LONG,
        "MalformedYAMLError: yaml: " * LONG,
        "env source files: [" * LONG,
        "lstat " * LONG,
        "already registered id: a.b." + "/" * LONG,
        "already registered id: a.b./" + "a./" * LONG,
        "a: unable to run: '" + " " * LONG,
        "security; file '" * LONG,
        "resources from 'a': missing metadata.name in object {{" * LONG,
        "no resource matches strategic merge patch" * LONG,
        '"' + '\\"' * LONG,
        "'" + "\n" * LONG,
        "couldn't make target for path '" * LONG,
        "error in remove for path: '" * LONG,
        'add operation does not apply: doc is missing path: "' * LONG,
        "updating name reference in 'a' field of '" * LONG,
        "found 'a" * LONG,
        "testing value " + "a" * LONG,
    ],
)
def test_hostile_texts_are_read_once(text: str) -> None:
    with that_ends():
        build_error(f"Error: {text[:LONG]}", Path("/r"), "over")
        patch_error(f"Error: {text[:LONG]}", Path("/r"), "patches[0]")


@pytest.mark.parametrize(
    ("text", "patch", "message"),
    [
        ("Error: new", "patches[1]", "patches[1]: new. Correct the patch."),
        ("Error: new", "", "new. Correct the source."),
        ("panic: /r/x\n\ngoroutine 1 [running]", "patches[1]", "patches[1]: kustomize crashed. Correct the patch."),
        ('Error: map[string]interface {}{"a":"s3cret", "b":5}: yaml: no', "", "kustomize crashed. Correct the source."),
        ("Error: patches: /r/patch-0 is not there", "patches[0]",
         "patches[0]: patch-0 is not there. Correct the patch."),
    ],
)  # fmt: skip
def test_errors_of_patches(text: str, patch: str, message: str) -> None:
    assert str(patch_error(text, Path("/r"), patch)) == message


OUT_OF_MEMORY = [
    "runtime: out of memory: cannot allocate 134217728-byte block (641433600 in use)\nfatal error: out of memory\n\n"
    "goroutine 1 gp=0x32a3dbd2c1e0 m=4 mp=0x32a3dbd77808 [running]:\nruntime.throw({0xad58c6?, 0x3f61?})\n",
    "fatal error: failed to reserve page summary memory\n\nruntime stack:\nruntime.throw({0xae8e80?, 0x20000000?})\n",
    "fatal error: runtime: cannot allocate memory\n\ngoroutine 1 [running]:\n",
]


@pytest.mark.parametrize("text", OUT_OF_MEMORY)
def test_that_memory_ran_out_is_told_without_the_dump(text: str) -> None:
    assert str(patch_error(text, Path("/r"), "patches[0]")) == (
        "patches[0]: kustomize needs too much memory. Look for operations that copy what others copied."
    )
    assert str(build_error(text, Path("/r"), "over")) == (
        "over: kustomize needs too much memory. Look for what repeats itself in the source."
    )


def test_long_errors_are_cut() -> None:
    assert len(build_error("Error: " + "word " * 500, Path("/r"), "over").message) == 301


def test_warnings() -> None:
    text = (
        "# Warning: 'bases' is deprecated. Please use 'resources' instead. Run 'kustomize edit fix' to update.\n"
        "# Warning: 'bases' is deprecated. Please use 'resources' instead. Run 'kustomize edit fix' to update.\n"
        "noise\n"
    )
    assert warnings_of(text, "web") == ["web: 'bases' is deprecated. Please use 'resources' instead"]


# What a build may reach, also when nobody looked at its fields before.


@pytest.fixture
def loopback() -> Iterator[tuple[str, list[str]]]:
    """The URL of a server, and the paths that were asked of it."""
    asked: list[str] = []

    def answer(request: Exchange) -> None:
        asked.append(request.path)
        request.reply(200, CONFIG_MAP.encode())

    with Loopback(answer) as server:
        yield f"{server.url}/x", asked


REMOTE_FILES = [
    "resources: [URL]",
    "rEsources: [URL]",
    "crds: [URL]",
    "configurations: [URL]",
    "openapi: {path: URL}",
    "generators: [URL]",
    "transformers: [URL]",
    "patches: [{path: URL}]",
    "patches: [{Path: URL}]",
    "patchesStrategicMerge: [URL]",
    "replacements: [{path: URL}]",
    "configMapGenerator: [{name: x, files: [URL]}]",
    "configMapGenerator: [{name: x, files: [k=URL]}]",
    "secretGenerator: [{name: x, envs: [URL]}]",
    "secretGenerator: [{name: x, env: URL}]",
    "resources: [URL]\n---\nresources: []",
    "transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: URL}']",
]


@pytest.mark.parametrize("over", REMOTE_FILES)
def test_nothing_is_asked_of_this_host(
    kustomize: Kustomize, tmp_path: Path, loopback: tuple[str, list[str]], over: str
) -> None:
    url, asked = loopback
    with pytest.raises(RenderError, match=r"^over/kustomization.yaml: names something outside of the repository"):
        built(kustomize, tmp_path, {"over/kustomization.yaml": over.replace("URL", url)})
    assert asked == []


def test_the_server_would_have_been_asked(
    kustomize: Kustomize, tmp_path: Path, loopback: tuple[str, list[str]]
) -> None:
    url, asked = loopback
    assert "name: a\n" in built(
        kustomize, tmp_path, {"over/kustomization.yaml": f"resources: [{url}]"}, frozenset({"remote"})
    )
    assert asked == ["/x"]


def test_configurations_of_plugins_are_looked_at(
    kustomize: Kustomize, tmp_path: Path, loopback: tuple[str, list[str]]
) -> None:
    url, asked = loopback
    configuration = f"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {{name: a}}\npath: {url}\n"
    files = {**BASE, "over/t": configuration, "over/kustomization.yaml": "resources: [../base]\ntransformers: [t]"}
    with pytest.raises(RenderError, match=r"^over/t: names something outside of the repository"):
        built(kustomize, tmp_path, files)
    assert asked == []


@pytest.mark.parametrize(
    "over",
    [
        "resources: [../base]\ncommonAnnotations: {a: http://127.0.0.1/x}",
        "resources: [../base]\ncommonAnnotations: {path: http://127.0.0.1/x}",
        "resources: [../base]\nconfigMapGenerator: [{name: x, literals: [a=http://127.0.0.1/x, b=../../outside]}]",
        "resources: [../base]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n"
        "    data:\n      u: http://x\n",
        "resources: [../base, builtin.yaml]",
    ],
)
def test_urls_that_are_data_are_no_paths(kustomize: Kustomize, tmp_path: Path, over: str) -> None:
    (tmp_path / "outside").mkdir()
    builtin = "apiVersion: v1\nkind: Pod\nmetadata: {name: builtin}\nspec: {containers: [{args: ['http://x/builtin']}]}"
    assert built(kustomize, tmp_path, {**BASE, "over/builtin.yaml": builtin, "over/kustomization.yaml": over})


@pytest.mark.parametrize(
    "over",
    [
        "resources: [../../outside]",
        "Resources: [../../outside]",
        "components: [../../outside]",
        "generators: [../../outside]",
        'resources: ["..\\x2f../outside"]',
        "resources: [./x/../../../outside]",
    ],
)
def test_no_other_folder_of_this_host(kustomize: Kustomize, tmp_path: Path, over: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kustomization.yaml").write_text("resources: [cm.yaml]")
    (outside / "cm.yaml").write_text(CONFIG_MAP)
    with pytest.raises(RenderError, match=r"^over/kustomization.yaml: names something outside of the repository"):
        built(kustomize, tmp_path, {"over/kustomization.yaml": over})


@pytest.mark.parametrize(
    "base",
    [
        "github.com/o/r",
        "git::https://127.0.0.1:1/o/r",
        "git@127.0.0.1:o/r",
        "ssh://git@127.0.0.1/o/r",
        "file:///ROOT/base",
    ],
)
def test_no_git(kustomize: Kustomize, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    log = tmp_path / "called"
    git = tmp_path / "bin/git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\necho git >> {log}\nexit 1\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(git.parent))
    over = f"resources: ['{base.replace('/ROOT', str(tmp_path / 'root'))}']"
    with pytest.raises(RenderError, match=r"^over: names a remote base or file"):
        built(kustomize, tmp_path, {**BASE, "over/kustomization.yaml": over})
    assert not log.exists()
    (tmp_path / "work").rmdir()
    with pytest.raises(RenderError):
        built(kustomize, tmp_path, {}, frozenset({"remote"}))
    assert log.exists()


def test_helm_gets_the_network_and_nothing_else_of_the_user(
    kustomize: Kustomize, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "HTTPS_PROXY": "http://proxy:1",
        "KUBECONFIG": "/k",
        "HELM_PLUGINS": "/p",
        "HOME": "/h",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HTTP_PROXY", raising=False)
    helm = tmp_path / "helm"
    helm.write_text(f"#!/bin/sh\nexport -p > {tmp_path}/environment\nexit 1\n")
    helm.chmod(0o755)
    files = {"over/kustomization.yaml": "helmCharts: [{name: c}]", "over/charts/c/values.yaml": ""}
    with pytest.raises(RenderError):
        built(kustomize, tmp_path, files, frozenset({"helm"}), helm)
    environment = (tmp_path / "environment").read_text()
    assert "proxy:1" in environment
    assert not [name for name in ("HTTP_PROXY=", "KUBECONFIG", "HELM_PLUGINS", "HOME='/h'") if name in environment]


def test_files_elsewhere_are_not_read_through_links(kustomize: Kustomize, tmp_path: Path) -> None:
    (tmp_path / "root/over").mkdir(parents=True)
    (tmp_path / "root/over/pw").symlink_to("/etc/passwd")
    (tmp_path / "root/over/etc").symlink_to("/etc")
    for path in ("pw", "etc/passwd"):
        with pytest.raises(RenderError, match=r"is not in or below over"):
            built(
                kustomize,
                tmp_path,
                {"over/kustomization.yaml": f"configMapGenerator: [{{name: x, files: [{path}]}}]"},
            )
        (tmp_path / "work").rmdir()


def bomb(last: str) -> str:
    """Texts in lists of lists, 10^12 of them in a few hundred characters."""
    levels = [f"a0: &a0 [{last}]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 13)]
    return "\n".join(levels)


@pytest.mark.parametrize("more", ["", "\n? *a12\n: x", "\n? [*a12]\n: x"])
def test_aliases_are_looked_at_once(kustomize: Kustomize, tmp_path: Path, more: str) -> None:
    with that_ends(), pytest.raises(RenderError, match=r"^over: "):
        built(kustomize, tmp_path, {"over/kustomization.yaml": bomb("x") + more})


def test_what_an_alias_shares_is_looked_at_where_a_path_stands(kustomize: Kustomize, tmp_path: Path) -> None:
    over = "namePrefix: &x http://127.0.0.1/x\nresources: [*x]"
    with pytest.raises(RenderError, match=r"^over/kustomization.yaml: names something outside of the repository"):
        built(kustomize, tmp_path, {"over/kustomization.yaml": over})


def test_a_path_too_long_for_a_file_system_leads_nowhere(kustomize: Kustomize, tmp_path: Path) -> None:
    with pytest.raises(RenderError, match=r"^over: "):
        built(kustomize, tmp_path, {"over/kustomization.yaml": f"resources: [../../{'x' * 5000}]"})
