"""Kustomizations of real git, built by real kustomize."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.cluster_facts import Asked, ClusterFacts
from ansible_collections.rendimiento.addons.plugins.module_utils.model.definition import Definition
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError, RenderError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.yaml_documents import read_documents
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.kustomize import KustomizeSource
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.source import (
    Preparation,
    Rendered,
    SourceRequest,
)
from tests.unit.ending import that_ends
from tests.unit.gitops import Repository
from tests.unit.steps.sources.made_request import Workshop

Files = Mapping[str, str | bytes | None]

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web
        envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: login}}]
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
BASE: Files = {"web/base/kustomization.yaml": "resources: [cm.yaml]", "web/base/cm.yaml": CONFIG_MAP}
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


class Kustomizations:
    """The add-on ``web`` of a repository, whose source is the folder ``web/prod``."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop, self.repository = workshop, workshop.repository
        self.calls, self.work = workshop.started, workshop.work

    def request(self, path: str = "web/prod", allow: tuple[str, ...] = (), **fields: Any) -> SourceRequest:
        cluster = ClusterFacts("v1.31.4", frozenset({"v1", "apps/v1", "example.com/v1/Widget"}))
        return self._workshop.request(cluster=cluster, allow=frozenset(allow), git={"path": path}, **fields)

    def prepared(self, path: str = "web/prod", allow: tuple[str, ...] = ()) -> Preparation:
        request = self.request(path, allow)
        assert KustomizeSource().accepts(request)
        return KustomizeSource().prepare(request)

    def rendered(self, path: str = "web/prod", allow: tuple[str, ...] = ()) -> Rendered:
        made = self.prepared(path, allow).render()
        assert not list(self.work.iterdir())
        return made

    def objects(self, path: str = "web/prod", allow: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        return [document.manifest for document in self.rendered(path, allow).documents]

    def built_in_a_checkout(self, path: str = "web/prod") -> list[dict[str, Any]]:
        command = [str(self._workshop.programs["kustomize"]), "build", str(self.repository.path / path)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [document.value for document in read_documents(output, path)]

    def error(self, files: Files, allow: tuple[str, ...] = (), path: str = "web/prod") -> str:
        """What ``prepare`` says, with the commit's id as ``*``."""
        commit = self.repository.commit(files)
        with pytest.raises(AddonError) as caught:
            self.prepared(path, allow)
        return str(caught.value).replace(commit[:12], "*")


@pytest.fixture
def web(workshop: Workshop) -> Kustomizations:
    return Kustomizations(workshop)


def prod(text: str) -> dict[str, str | bytes | None]:
    return {**BASE, "web/prod/kustomization.yaml": text}


# Ordinary life

ORDINARY: dict[str, Files] = {
    "alone": {"web/prod/kustomization.yml": "resources: [d.yaml]", "web/prod/d.yaml": DEPLOYMENT},
    "overlay": {
        "web/base/kustomization.yaml": "resources: [d.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=b]}]\n"
        "secretGenerator: [{name: login, envs: [login.env]}]",
        "web/base/d.yaml": DEPLOYMENT,
        "web/base/login.env": "user=a\npassword=b\n",
        "web/prod/Kustomization": "resources: [../base]\nnamePrefix: p-\nnamespace: shop\n"
        "images: [{name: web, newTag: '1'}]\n"
        "labels: [{pairs: {stage: prod}, includeSelectors: true}]\nreplicas: [{name: web, count: 3}]\n"
        "patches:\n- path: limits.yaml\n"
        "- {target: {kind: Deployment}, patch: '- {op: add, path: /spec/paused, value: true}'}\n"
        "configMapGenerator: [{name: settings, behavior: merge, files: [x.txt, key=files/y.bin]}]\n",
        "web/prod/limits.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        "spec: {minReadySeconds: 9}\n",
        "web/prod/x.txt": "x\r\ny",
        "web/prod/files/y.bin": b"\xff\x00",
    },
    "component": {
        **BASE,
        "web/parts/log/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        "patchesStrategicMerge: [p.yaml]",
        "web/parts/log/p.yaml": CONFIG_MAP.replace("k: v", "k: other"),
        "web/prod/kustomization.yaml": "bases: [../base]\ncomponents: [../parts/log]",
    },
    "replacements": {
        **BASE,
        "web/prod/r.yaml": "- source: {kind: ConfigMap, name: a, fieldPath: data.k}\n"
        "  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.k], options: {create: true}}]\n",
        "web/prod/d.yaml": DEPLOYMENT,
        "web/prod/kustomization.yaml": "resources: [../base, d.yaml]\nreplacements: [{path: r.yaml}]",
    },
    "transformers": {
        **BASE,
        "web/marks/kustomization.yaml": "resources: [annotations.yaml]",
        "web/marks/annotations.yaml": "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: x}\n"
        "annotations: {a: b}\nfieldSpecs: [{path: metadata/annotations, create: true}]\n",
        "web/prod/patch.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: y}\npath: p.json\n"
        "target: {kind: ConfigMap}\n",
        "web/prod/p.json": '[{"op": "add", "path": "/data/x", "value": "y"}]',
        "web/prod/kustomization.yaml": "resources: [../base]\ntransformers:\n- ../marks\n- patch.yaml\n- |\n"
        "  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: z}\n  prefix: z-\n"
        "  fieldSpecs: [{path: metadata/name}]\n",
    },
    "crds": {
        **BASE,
        "web/prod/crd.json": "{}",
        "web/prod/names.yaml": "namePrefix: [{path: data/k}]",
        "web/prod/kustomization.yaml": "resources: [../base]\ncrds: [crd.json]\n"
        "configurations: [names.yaml]\nnamePrefix: x-",
    },
    "local folder like a host": {
        "web/prod/github.com/o/r/kustomization.yaml": "resources: [cm.yaml]",
        "web/prod/github.com/o/r/cm.yaml": CONFIG_MAP,
        "web/prod/kustomization.yaml": "resources: [./github.com/o/r]",
    },
    "nothing": {"web/prod/kustomization.yaml": "resources: []\nnamespace: x"},
}  # fmt: skip


@pytest.mark.parametrize("files", ORDINARY.values(), ids=ORDINARY)
def test_as_kustomize_builds_it_in_a_checkout(web: Kustomizations, files: Files) -> None:
    web.repository.commit(files)
    assert web.objects() == web.built_in_a_checkout()


def test_one_at_the_top_of_the_repository(web: Kustomizations) -> None:
    files = {"kustomization.yaml": "resources: [web]", "web/kustomization.yaml": "resources: [cm.yaml]"}
    web.repository.commit({**files, "web/cm.yaml": CONFIG_MAP})
    assert [item["metadata"]["name"] for item in web.objects(".")] == ["a"]


def test_objects_have_a_place_and_warnings_are_told(web: Kustomizations) -> None:
    web.repository.commit({**prod("bases: [../base]\nresources: [d.yaml]"), "web/prod/d.yaml": DEPLOYMENT})
    made = web.rendered("web/prod/")
    assert [document.source for document in made.documents] == ["web/prod, document 1", "web/prod, document 2"]
    assert made.warnings == ["web/prod: 'bases' is deprecated. Please use 'resources' instead"]
    assert made.asked == Asked()


def test_nothing_in_a_file_is_templated(web: Kustomizations) -> None:
    data = "{{ lookup('file', '/etc/passwd') }} ${HOME} $(id) $(X)"
    web.repository.commit(prod(f'configMapGenerator: [{{name: x, literals: ["a={data}"]}}]'))
    assert web.objects()[0]["data"] == {"a": data}


def test_line_ends_and_attributes_of_a_checkout_take_no_part(web: Kustomizations) -> None:
    web.repository.commit(
        {
            ".gitattributes": "*.txt text eol=crlf\n",
            **prod("configMapGenerator: [{name: x, files: [a.txt]}]"),
            "web/prod/a.txt": "a\nb\n",
        }
    )
    assert web.objects()[0]["data"] == {"a.txt": "a\nb\n"}


def test_the_working_tree_does_not_count(web: Kustomizations) -> None:
    web.repository.commit(prod("resources: [../base]"))
    before = web.prepared().inputs
    web.repository.write({"web/base/cm.yaml": "}{"})
    assert web.objects()[0]["data"] == {"k": "v"}
    assert web.prepared().inputs == before


def test_kustomize_runs_for_a_render_only(web: Kustomizations) -> None:
    commit = web.repository.commit(prod("resources: [../base]"))
    preparation = web.prepared()
    assert web.calls == ["kustomize version"]
    assert preparation.revision == commit[:12]
    web.prepared().render()
    assert web.calls == ["kustomize version", "kustomize build"]


# What goes in


@pytest.mark.parametrize(
    ("over", "changed", "moves"),
    [
        ("resources: [a.yaml]", "web/prod/a.yaml", True),
        ("resources: [a.yaml]", "web/dev/a.yaml", False),
        ("resources: [a.yaml]", "web/base/cm.yaml", False),
        ("resources: [../base]", "web/base/cm.yaml", True),
        ("resources: [../base]", "other/a.yaml", False),
        ("resources: [../../shared]", "shared/a.yaml", True),
        ("resources: [a.yaml]", "shared/a.yaml", False),
        ("resources: [a.yaml]\ntransformers: [../../shared/t]", "shared/t/t.yaml", True),
        ("resources: [link]", "shared/a.yaml", True),
    ],
)
def test_inputs_move_with_what_is_read(web: Kustomizations, over: str, changed: str, moves: bool) -> None:
    web.repository.write(
        {
            **prod(over),
            "web/prod/a.yaml": CONFIG_MAP,
            "web/dev/a.yaml": CONFIG_MAP,
            "shared/kustomization.yaml": "resources: [a.yaml]",
            "shared/a.yaml": CONFIG_MAP,
            "shared/t/kustomization.yaml": "resources: [t.yaml]",
            "shared/t/t.yaml": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: x}\nprefix: y\n",
            "other/a.yaml": CONFIG_MAP,
        }
    )
    (web.repository.path / "web/prod/link").symlink_to("../../shared")
    web.repository.commit({})
    before = web.prepared().inputs
    web.repository.commit({changed: (web.repository.path / changed).read_text() + "# changed\n"})
    assert (web.prepared().inputs != before) is moves


def test_inputs_are_plain_and_name_the_version(web: Kustomizations) -> None:
    web.repository.commit(prod("resources: [../base]"))
    inputs = web.prepared().inputs
    tree = web.repository.git("rev-parse", "HEAD:web")
    assert inputs == {"folder": ["web", tree], "path": "web/prod", "kustomize": "v5.8.1", "needs": []}


def test_others_beside_it_are_not_in_the_way(web: Kustomizations) -> None:
    others = {
        "web/dev/kustomization.yaml": "resources: ['http://127.0.0.1/x', 'github.com/o/r', ../../..]",
        "web/broken/kustomization.yaml": "}{",
        "web/base/unread.yaml": LFS,
    }
    web.repository.commit({**prod("resources: [../base]"), **others})
    assert len(web.objects()) == 1


# Who it is for


@pytest.mark.parametrize(
    ("files", "accepted"),
    [
        ({"web/prod/kustomization.yaml": ""}, True),
        ({"web/prod/kustomization.yml": ""}, True),
        ({"web/prod/Kustomization": ""}, True),
        ({"web/prod/Kustomization/a.yaml": ""}, False),
        ({"web/prod/a/kustomization.yaml": ""}, False),
        ({"web/other/kustomization.yaml": ""}, False),
        ({"web/prod": "a: 1"}, False),
    ],
)
def test_what_it_accepts(web: Kustomizations, files: Files, accepted: bool) -> None:
    web.repository.commit(files)
    assert KustomizeSource().accepts(web.request()) is accepted


def test_charts_of_a_repository_are_not_its_own(web: Kustomizations) -> None:
    web.repository.commit(prod(""))
    helm = {"repo": "https://x.io", "chart": "c", "version": "1.0.0"}
    request = web.request()
    definition = Definition.from_json({"name": "web", "namespace": "w", "helm": helm})
    other = SourceRequest(definition, request.checkout, request.source, request.cluster, request.tools)
    assert not KustomizeSource().accepts(other)


def test_values_are_refused(web: Kustomizations) -> None:
    web.repository.commit(prod("resources: [../base]"))
    with pytest.raises(RenderError, match=r"^values, valuesFrom, valuesFiles: a kustomization takes no values"):
        KustomizeSource().prepare(web.request(values={"password": "x"}))


# What is wrong with it


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (prod("resources: [../gone]"),
         "web/prod/kustomization.yaml: resources[0]: ../gone is not in commit *. Correct the path, or commit it."),
        (prod("resources: [gone.yaml]"),
         "web/prod/kustomization.yaml: resources[0]: gone.yaml is not in commit *. Correct the path, or commit it."),
        (prod("components: [../base, ../gone]"),
         "web/prod/kustomization.yaml: components[1]: ../gone is not in commit *. Correct the path, or commit it."),
        (prod("components: [../base/cm.yaml]"),
         "web/prod/kustomization.yaml: components[0]: ../base/cm.yaml is a file, a folder is needed. "
         "Correct the path."),
        (prod("secretGenerator: [{name: x, files: [../base]}]"),
         "web/prod/kustomization.yaml: secretGenerator[0].files[0]: ../base is a folder, a file is needed. "
         "Correct the path."),
        ({**prod("resources: [../base]"), "web/base/kustomization.yaml": "patches: [{path: x.yaml}]"},
         "web/base/kustomization.yaml: patches[0].path: x.yaml is not in commit *. Correct the path, or commit it."),
        ({**prod("transformers: [t.yaml]"),
          "web/prod/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: x.yaml"},
         "web/prod/t.yaml: PatchTransformer.path: x.yaml is not in commit *. Correct the path, or commit it."),
        ({**prod("resources: [../none]"), "web/none/a.yaml": CONFIG_MAP},
         "web/prod/kustomization.yaml: resources[0]: ../none is a folder without a kustomization. "
         "Add a kustomization.yaml there that lists its files under resources."),
        ({**prod("resources: [../base]"), "web/base/Kustomization": ""},
         "web/base: holds more than one kustomization: kustomization.yaml, Kustomization. Keep one."),
        ({**prod(""), "web/prod/kustomization.yml": ""},
         "web/prod: holds more than one kustomization: kustomization.yaml, kustomization.yml. Keep one."),
        (prod("resources: [../prod]"),
         "web/prod/kustomization.yaml: resources[0]: ../prod is the folder itself or holds it. Remove it."),
        (prod("resources: [..]") | {"web/kustomization.yaml": ""},
         "web/prod/kustomization.yaml: resources[0]: .. is the folder itself or holds it. Remove it."),
        ({**prod("resources: [../base]"), "web/base/kustomization.yaml": "resources: [../prod]"},
         "web/base/kustomization.yaml: resources[0]: ../prod is the folder itself or holds it. Remove it."),
        (prod("resources: [../base"), "web/prod/kustomization.yaml:2: not valid YAML: did not find expected ',' or ']' "
         "while parsing a flow sequence, which starts in line 1"),
        (prod("resource: [../base]"), "web/prod/kustomization.yaml: resource: unknown field. Did you mean resources."),
    ],
)  # fmt: skip
def test_errors_before_anything_is_built(web: Kustomizations, files: Files, message: str) -> None:
    assert web.error(files) == message
    assert web.calls == []


def test_an_endless_chain_ends(web: Kustomizations) -> None:
    chain = {f"web/{n}/kustomization.yaml": f"resources: [../{n + 1}]" for n in range(2000)}
    assert "is below 50 other kustomizations" in web.error({**chain, **prod("resources: [../0]")})


def link(web: Kustomizations, path: str, target: str) -> None:
    """Into the index, since no file system holds what git does."""
    web.repository.write({"target": target})
    blob = web.repository.git("hash-object", "-w", "target")
    web.repository.git("update-index", "--add", "--cacheinfo", f"120000,{blob},{path}")
    web.repository.git("commit", "--quiet", "--message", "link")


def test_paths_without_end_are_not_followed(web: Kustomizations) -> None:
    with that_ends():
        assert web.error(prod(f"resources: [{'x/' * 400_000}a.yaml]")) == (
            "web/prod/kustomization.yaml: resources[0]: is longer than 4096 characters. Name a file or a folder."
        )
        web.repository.commit(prod("resources: [a.yaml]"))
        link(web, "web/prod/a.yaml", "x/" * 400_000)
        with pytest.raises(RenderError, match=r"resources\[0\]: a.yaml leads out of the repository"):
            web.prepared()


def test_links_are_not_followed_without_end(web: Kustomizations) -> None:
    web.repository.commit({**prod("crds: [" + "l0, " * 100 + "]"), "web/prod/l30": "{}"})
    for number in range(30):
        link(web, f"web/prod/l{number}", "x/../" * 800 + f"l{number + 1}")
    with pytest.raises(RenderError, match="leads through too many paths and symbolic links"):
        web.prepared()


def test_a_file_that_is_named_many_times_is_read_once(web: Kustomizations) -> None:
    configuration = "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: z}\nprefix: z-\n"
    over = "resources: [../base]\ntransformers: [" + "t.yaml, " * 100_000 + "]"
    web.repository.commit({**prod(over), "web/prod/t.yaml": configuration})
    with that_ends():
        web.prepared()


def test_submodules_are_not_fetched(web: Kustomizations) -> None:
    commit = web.repository.commit(prod("resources: [module/base]"))
    web.repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},web/prod/module")
    web.repository.git("commit", "--quiet", "--message", "module")
    with pytest.raises(RenderError, match=r"resources\[0\]: module/base is in a git submodule, which is not fetched"):
        web.prepared()


@pytest.mark.parametrize(
    "over", ["resources: [a.yaml]", "configMapGenerator: [{name: x, files: [a.yaml]}]", "patches: [{path: a.yaml}]"]
)
def test_pointers_of_git_lfs_are_refused(web: Kustomizations, over: str) -> None:
    web.repository.commit({**prod(over), "web/prod/a.yaml": LFS})
    with pytest.raises(RenderError, match=r"^web/prod/a.yaml: is a Git LFS pointer, not the file"):
        web.rendered()


@pytest.mark.parametrize(
    "content",
    [
        "a: ENC[AES256_GCM,data:x]\nsops:\n    mac: ENC[AES256_GCM,data:y]\n    version: 3.9.0\n",
        "A=ENC[AES256_GCM,data:x]\nsops_mac=ENC[AES256_GCM,data:y]\nsops_version=3.9.0\n",
        '{\n\t"data": "ENC[AES256_GCM,data:x]",\n\t"sops": {\n\t\t"mac": "ENC[AES256_GCM,data:y]"\n\t}\n}\n',
        "[a]\nb = ENC[AES256_GCM,data:x]\n\n[sops]\nmac = ENC[AES256_GCM,data:y]\n",
    ],
    ids=["yaml", "env", "binary", "ini"],
)
def test_files_encrypted_with_sops_are_no_content_for_generators(web: Kustomizations, content: str) -> None:
    web.repository.commit({**prod("secretGenerator: [{name: x, files: [a]}]"), "web/prod/a": content})
    with pytest.raises(RenderError, match=r"^web/prod/a: is encrypted with sops"):
        web.rendered()


def test_objects_that_are_meant_to_be_encrypted_are_built(web: Kustomizations) -> None:
    kind = "apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\nmetadata: {name: a}\n"
    web.repository.commit(
        {**prod("resources: [a.yaml]"), "web/prod/a.yaml": f"{kind}sops: {{mac: 'ENC[AES256_GCM,x]'}}\n"}
    )
    assert [item.manifest["kind"] for item in web.rendered().documents] == ["SopsSecret"]


def test_errors_of_kustomize_name_paths_of_the_repository(web: Kustomizations) -> None:
    web.repository.commit({**prod("resources: [../base]"), "web/base/cm.yaml": "a: b: c"})
    with pytest.raises(RenderError) as caught:
        web.rendered()
    assert str(caught.value) == (
        "web/base: cm.yaml is not valid YAML: mapping values are not allowed in this context. Correct the file."
    )
    web.repository.commit(prod("resources: [../base/cm.yaml]"))
    with pytest.raises(RenderError, match=r"^web/prod: web/base/cm.yaml is not in or below web/prod. Move the file"):
        web.rendered()


# What must never happen

REMOTE = [
    "https://example.com/o/r",
    "https://github.com/o/r//deploy?ref=v1",
    "HTTPS://example.com/a.yaml",
    "http://127.0.0.1/a.yaml",
    "git::https://example.com/o/r",
    "git@github.com:o/r.git",
    "user@example.com:o/r",
    "github.com/o/r",
    "GitHub.com/o/r?ref=main",
    "ssh://git@example.com/o/r",
    "file:///srv/r",
]


@pytest.mark.parametrize("name", ["resources", "bases", "components", "generators", "transformers", "validators"])
@pytest.mark.parametrize("url", REMOTE)
def test_remote_bases_are_refused(web: Kustomizations, name: str, url: str) -> None:
    if name == "components" and url.endswith(".yaml"):
        url = url.removesuffix(".yaml")
    message = web.error({**prod(f"{name}: ['{url}']"), "web/prod/github.com/o/r/kustomization.yaml": "resources: []"})
    assert message.startswith(f"web/prod/kustomization.yaml: {name}[0]: lies outside of the repository. Copy it into")
    assert "example.com" not in message
    assert web.calls == []


@pytest.mark.parametrize(
    ("over", "field"),
    [
        ("crds: [URL]", "crds[0]"),
        ("configurations: [URL]", "configurations[0]"),
        ("openapi: {path: URL}", "openapi.path"),
        ("patches: [{path: URL}]", "patches[0].path"),
        ("patchesJson6902: [{path: URL}]", "patchesJson6902[0].path"),
        ("patchesStrategicMerge: [URL]", "patchesStrategicMerge[0]"),
        ("replacements: [{path: URL}]", "replacements[0].path"),
        ("configMapGenerator: [{files: [k=URL]}]", "configMapGenerator[0].files[0]"),
        ("secretGenerator: [{envs: [URL]}]", "secretGenerator[0].envs[0]"),
        ("transformers: ['{apiVersion: builtin, kind: PatchTransformer, path: URL}']", "transformers[0].path"),
    ],
)
def test_remote_files_are_refused(web: Kustomizations, over: str, field: str) -> None:
    message = web.error(prod(over.replace("URL", "http://127.0.0.1:1/x")))
    assert message.startswith(f"web/prod/kustomization.yaml: {field}: lies outside of the repository.")
    assert web.calls == []


def test_remote_files_of_configurations_are_refused(web: Kustomizations) -> None:
    plugin = "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: [k=https://example.com/x]\n"
    files = {"web/g/kustomization.yaml": "resources: [g.yaml]", "web/g/g.yaml": plugin}
    message = web.error({**prod("generators: [../g]"), **files})
    assert message.startswith("web/g/g.yaml: ConfigMapGenerator.files[0]: lies outside of the repository.")


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("resources: [../../..]", "resources[0]: ../../.. leads out of the repository. Copy what is meant into it."),
        ("resources: [../../../gitops/web/base]",
         "resources[0]: ../../../gitops/web/base leads out of the repository. Copy what is meant into it."),
        ("resources: [/etc]", "resources[0]: /etc leads out of the repository. Copy what is meant into it."),
        ("secretGenerator: [{files: [a=/etc/passwd]}]",
         "secretGenerator[0].files[0]: /etc/passwd leads out of the repository. Copy what is meant into it."),
        ("components: [../../../outside]",
         "components[0]: ../../../outside leads out of the repository. Copy what is meant into it."),
        ("configMapGenerator: [{files: [passwd]}]",
         "configMapGenerator[0].files[0]: passwd leads out of the repository. Copy what is meant into it."),
        ("configMapGenerator: [{files: [etc/passwd]}]",
         "configMapGenerator[0].files[0]: etc/passwd leads out of the repository. Copy what is meant into it."),
        ("resources: [passwd]", "resources[0]: passwd leads out of the repository. Copy what is meant into it."),
        ("resources: [etc]", "resources[0]: etc leads out of the repository. Copy what is meant into it."),
        ("resources: [above]", "resources[0]: above leads out of the repository. Copy what is meant into it."),
        ("resources: [around]", "resources[0]: around leads out of the repository. Copy what is meant into it."),
        ("patches: [{path: hop/passwd}]",
         "patches[0].path: hop/passwd leads out of the repository. Copy what is meant into it."),
        ("generators: ['{apiVersion: x/v1, kind: Mine}']",
         "generators[0]: Mine is a program of its own. Remove it, or add plugins to addon_kustomize_allow."),
        ("helmCharts: [{name: x}]", "helmCharts[0]: takes helm. Remove it, or add helm to addon_kustomize_allow."),
        ("generators: ['{apiVersion: builtin, kind: HelmChartInflationGenerator, name: x}']",
         "generators[0]: takes helm. Remove it, or add helm to addon_kustomize_allow."),
        ("validators: [../patched]",
         "web/patched/kustomization.yaml: patches: may turn a plugin into another. "
         "Remove it, or add plugins to addon_kustomize_allow."),
    ],
)  # fmt: skip
def test_nothing_leads_out(web: Kustomizations, tmp_path: Path, over: str, message: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kustomization.yaml").write_text("namePrefix: x")
    web.repository.write({**prod(over), "web/patched/kustomization.yaml": "patches: [{patch: 'a: 1'}]"})
    for name, target in [
        ("passwd", "/etc/passwd"),
        ("etc", "/etc"),
        ("above", "../../../outside"),
        ("around", "around"),
        ("hop", "../hop"),
    ]:
        (web.repository.path / "web/prod" / name).symlink_to(target)
    (web.repository.path / "web/hop").symlink_to("../../../etc")
    prefix = "" if message.startswith("web/") else "web/prod/kustomization.yaml: "
    assert web.error({}) == prefix + message
    assert web.calls == []


FUNCTION = """\
apiVersion: example.com/v1
kind: Mine
metadata:
  name: a
  annotations:
    config.kubernetes.io/function: |
      exec: {path: ./run.sh}
"""


@pytest.mark.parametrize("name", ["generators", "transformers", "validators"])
@pytest.mark.parametrize("function", [FUNCTION, FUNCTION.replace("exec: {path: ./run.sh}", "container: {image: x}")])
def test_functions_are_not_run(web: Kustomizations, tmp_path: Path, name: str, function: str) -> None:
    files = {
        **prod(f"{name}: [f.yaml]"),
        "web/prod/f.yaml": function,
        "web/prod/run.sh": f"#!/bin/sh\n: > {tmp_path}/ran",
    }
    assert web.error(files) == (
        "web/prod/f.yaml: Mine is a program of its own. Remove it, or add plugins to addon_kustomize_allow."
    )
    assert not (tmp_path / "ran").exists()


def test_links_within_the_repository_are_followed(web: Kustomizations) -> None:
    web.repository.write(
        {
            **prod("resources: [base, own.yaml]"),
            "shared/x/kustomization.yaml": "resources: [cm.yaml]",
            "shared/x/cm.yaml": CONFIG_MAP.replace("a}", "x}"),
            "web/prod/b.yaml": CONFIG_MAP.replace("a}", "b}"),
        }
    )
    (web.repository.path / "web/prod/base").symlink_to("../second")
    (web.repository.path / "web/second").symlink_to("../web/dev/../../shared/x")
    web.repository.write({"web/dev/unread": ""})
    (web.repository.path / "web/prod/own.yaml").symlink_to("b.yaml")
    (web.repository.path / "web/prod/unused").symlink_to("/etc/passwd")
    web.repository.commit({})
    assert web.objects() == web.built_in_a_checkout()
    assert len(web.objects()) == 2


# What can be allowed


def test_remote_bases_at_a_commit(web: Kustomizations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Repository(tmp_path / "remote")
    commit = remote.commit({"kustomization.yaml": "resources: [cm.yaml]", "cm.yaml": CONFIG_MAP})
    url = f"file://{remote.path}?ref={commit}"
    web.repository.commit(prod(f"resources: ['{url}']"))
    assert [item["metadata"]["name"] for item in web.objects(allow=("remote",))] == ["a"]
    message = web.error(prod(f"resources: ['file://{remote.path}?ref=main']"), ("remote",))
    assert message == (
        "web/prod/kustomization.yaml: resources[0]: may change without a commit here. Add ?ref= with a full commit id."
    )


def test_charts_for_the_cluster(web: Kustomizations) -> None:
    chart = {
        "web/prod/charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "web/prod/charts/c/templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"
        "  version: {{ .Capabilities.KubeVersion }}\n"
        '  widget: "{{ .Capabilities.APIVersions.Has "example.com/v1/Widget" }}"\n'
        '  gadget: "{{ .Capabilities.APIVersions.Has "example.com/v1/Gadget" }}"\n'
        "  value: {{ .Values.value }}\n",
        "web/prod/charts/c/values.yaml": "value: default\n",
        "web/prod/v.yaml": "value: given\n",
    }
    web.repository.commit({**chart, **prod("helmCharts: [{name: c, releaseName: r, valuesFile: v.yaml}]")})
    made = web.rendered(allow=("helm",))
    assert made.documents[0].manifest["data"] == {
        "version": "v1.31.4", "widget": "true", "gadget": "false", "value": "given",
    }  # fmt: skip
    assert made.asked == Asked(None)
    before = web.prepared(allow=("helm",)).inputs
    assert (before["helm"], before["cluster"]) == ("v4.3.1", "v1.31.4")
    web.repository.commit({"web/prod/charts/c/values.yaml": "value: other\n"})
    assert web.prepared(allow=("helm",)).inputs != before


def test_trap_01_what_a_chart_in_a_kustomization_makes_up_is_found(web: Kustomizations) -> None:
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {it: VALUE}\n"
    chart = {
        "web/prod/charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "web/prod/charts/c/templates/cm.yaml": template.replace("VALUE", "{{ randAlphaNum 16 }}"),
        "web/prod/charts/c/values.yaml": "",
    }
    web.repository.commit({**chart, **prod("helmCharts: [{name: c, releaseName: r}]")})
    made = web.rendered(allow=("helm",))
    assert [document.manifest["data"] != other.manifest["data"] for document, other in
            zip(made.documents, made.second, strict=True)] == [True]  # fmt: skip
    web.repository.commit({"web/prod/charts/c/templates/cm.yaml": template.replace("VALUE", "fixed")})
    assert web.rendered(allow=("helm",)).second == []


def test_errors_of_helm(web: Kustomizations) -> None:
    chart = {
        "web/prod/charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "web/prod/charts/c/templates/cm.yaml": '{{ fail "no" }}',
        "web/prod/charts/c/values.yaml": "",
    }
    web.repository.commit({**chart, **prod("helmCharts: [{name: c}]")})
    with pytest.raises(RenderError) as caught:
        web.rendered(allow=("helm",))
    assert str(caught.value) == (
        "web/prod: helm: execution error at (c/templates/cm.yaml:1:3): no. Correct the chart or its values."
    )
    web.repository.commit(prod("helmCharts: [{name: d}]"))
    with pytest.raises(RenderError, match=r"^web/prod: helmCharts: a chart is not in the repository. Commit it below"):
        web.rendered(allow=("helm",))


def test_plugins(web: Kustomizations) -> None:
    item = "{apiVersion: v1, kind: ConfigMap, metadata: {name: made}}"
    made = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{item}]"
    script = f"#!/bin/sh\ncat <<EOF\n{made}\nEOF\n"
    web.repository.write({**prod("generators: [f.yaml]"), "web/prod/f.yaml": FUNCTION, "web/prod/run.sh": script})
    os.chmod(web.repository.path / "web/prod/run.sh", 0o755)  # noqa: PTH101
    web.repository.commit({})
    assert [item["metadata"]["name"] for item in web.objects(allow=("plugins",))] == ["made"]
    assert web.prepared(allow=("plugins",)).inputs["folder"][1] == web.repository.git("rev-parse", "HEAD^{tree}")


def test_what_is_allowed_and_not_used_opens_nothing(web: Kustomizations) -> None:
    web.repository.commit(prod("resources: [../base]"))
    assert web.prepared(allow=("remote", "helm", "plugins")).inputs == web.prepared().inputs
