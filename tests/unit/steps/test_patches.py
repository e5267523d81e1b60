"""Patches of a definition, by real kustomize, on what a plain folder, a kustomization or a chart rendered."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.cache.folder import CacheFolder
from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.normalise import SourceObject
from ansible_collections.rendimiento.addons.plugins.module_utils.model.yaml_documents import dump_yaml
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.patches import patched
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.render_cache import find_or_render
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.registry import source_for
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.sources.source import Preparation, Rendered
from tests.unit.steps.sources.made_request import CLUSTER, Workshop

Object = dict[str, Any]
Patch = dict[str, Any]
SECRET = "s3cret-and-long-enough-to-be-one"
SOPS = "a: ENC[AES256_GCM,data:x]\nsops:\n  mac: ENC[AES256_GCM,data:y]\n"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


def config_map(name: str, namespace: str | None = None, **fields: Any) -> Object:
    place = {} if namespace is None else {"namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **place}, **fields}


def thing(name: str, kind: str = "Thing", group: str = "x.io", **fields: Any) -> Object:
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name}, **fields}


def add(path: str, value: Any, **target: str) -> Patch:
    return {"patch": json.dumps([{"op": "add", "path": path, "value": value}]), "target": target}


def merge(patch: Object, **fields: Any) -> Patch:
    return {"patch": json.dumps(patch), **fields}


DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 1,
        "template": {
            "spec": {
                "containers": [{"name": "main", "image": "a"}, {"name": "side", "image": "b"}],
                "volumes": [{"name": "v", "configMap": {"name": "settings"}}],
            }
        },
    },
}
IMAGE = merge(
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "new"}]}}},
    }
)


def from_objects(
    workshop: Workshop, objects: Sequence[Any], patches: Sequence[Patch], again: Sequence[Any] = ()
) -> Rendered:
    """What patches make of objects that no source has seen; each is called by its number."""
    if not (workshop.repository.path / "README").exists():
        workshop.repository.commit({"README": ""})

    def documents(values: Sequence[Any]) -> list[SourceObject]:
        return [SourceObject(copy.deepcopy(value), f"{number}.yaml") for number, value in enumerate(values)]

    request = workshop.request(git={"path": "web"}, patches=list(patches))
    rendered = Rendered(documents(objects), ["of the source"], second=documents(again))
    return patched(request, Preparation({}, "r", lambda: rendered)).render()


def objects_of(rendered: Rendered) -> list[Object]:
    return [document.manifest for document in rendered.documents]


def made(workshop: Workshop, objects: Sequence[Any], *patches: Patch) -> list[Object]:
    return objects_of(from_objects(workshop, objects, patches))


def message_of(workshop: Workshop, objects: Sequence[Any], *patches: Patch) -> str:
    with pytest.raises(AddonError) as caught:
        from_objects(workshop, objects, patches)
    message = str(caught.value)
    assert str(workshop.work) not in message
    assert "\n" not in message
    return message


def test_without_patches_nothing_is_prepared_anew(workshop: Workshop) -> None:
    workshop.repository.commit({"README": ""})
    preparation = Preparation({"a": 1}, "r", Rendered)
    assert patched(workshop.request(git={"path": "web"}), preparation) is preparation
    assert workshop.started == []


# -- every kind of source ----------------------------------------------------------------------------------------------

SOURCES: dict[str, Mapping[str, str]] = {
    "plain": {"web/a.yaml": dump_yaml(DEPLOYMENT)},
    "kustomize": {"web/a.yaml": dump_yaml(DEPLOYMENT), "web/kustomization.yaml": "resources: [a.yaml]"},
    "helm": {
        "web/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "web/templates/a.yaml": dump_yaml(DEPLOYMENT),
        "web/templates/hook.yaml": dump_yaml(
            {**config_map("hook"), "metadata": {"name": "hook", "annotations": {"helm.sh/hook": "pre-install"}}}
        ),
    },
}


@pytest.mark.parametrize("kind", SOURCES)
def test_what_each_source_renders_is_patched(workshop: Workshop, kind: str) -> None:
    patch = dump_yaml([{"op": "replace", "path": "/spec/replicas", "value": 3}])
    workshop.repository.commit({**SOURCES[kind], "patches/replicas.yaml": patch})
    patches = [IMAGE, {"path": "./patches/replicas.yaml", "target": {"kind": "Deployment"}}]
    if kind == "helm":
        patches.append(add("/data", {"a": "b"}, annotationSelector="helm.sh/hook=pre-install"))
    request = workshop.request(git={"path": "web"}, patches=patches)
    source = source_for(request)
    assert source.kind == kind
    rendered = patched(request, source.prepare(request)).render()
    by_name = {document.manifest["metadata"]["name"]: document for document in rendered.documents}
    spec = by_name["web"].manifest["spec"]
    assert spec["replicas"] == 3
    assert [one["image"] for one in spec["template"]["spec"]["containers"]] == ["new", "b"]
    assert (
        by_name["web"].source
        == {
            "plain": "web/a.yaml",
            "kustomize": "web, document 1",
            "helm": "c/templates/a.yaml",
        }[kind]
    )
    if kind == "helm":
        assert by_name["hook"].manifest["data"] == {"a": "b"}


def test_a_patched_render_is_found_in_the_cache_until_a_patch_changes(workshop: Workshop) -> None:
    first = dump_yaml([{"op": "add", "path": "/data", "value": {"a": "1"}}])
    workshop.repository.commit({"web/a.yaml": dump_yaml(config_map("a")), "p.yaml": first})

    def found(cache: CacheFolder, **target: str) -> tuple[list[Object], bool]:
        request = workshop.request(git={"path": "web"}, patches=[{"path": "p.yaml", "target": target}])
        preparation = patched(request, source_for(request).prepare(request))
        rendered, from_cache = find_or_render("plain", preparation, CLUSTER, cache)
        return objects_of(rendered), from_cache

    assert found(workshop.cache, name="a") == ([config_map("a", data={"a": "1"})], False)
    workshop.started.clear()
    assert found(workshop.cache, name="a") == ([config_map("a", data={"a": "1"})], True)
    assert workshop.started == []
    assert found(workshop.cache, name="a.*")[1] is False
    workshop.repository.commit({"p.yaml": first.replace("'1'", "'2'")})
    assert found(workshop.cache, name="a") == ([config_map("a", data={"a": "2"})], False)


def test_inputs_hold_patches_by_digest_and_the_version_of_kustomize(workshop: Workshop) -> None:
    workshop.repository.commit({"p.yaml": SECRET})
    patches = [{"patch": SECRET, "options": {"allowNameChange": True}}, {"path": "p.yaml", "target": {"kind": "A"}}]
    preparation = Preparation({"of": "source"}, "r", Rendered, keep=False)
    result = patched(workshop.request(git={"path": "web"}, patches=patches), preparation)
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    assert result.inputs == {
        "of": "source",
        "patches": [
            {"patch": digest, "options": {"allowNameChange": True}},
            {"patch": digest, "target": {"kind": "A"}},
        ],
        "kustomize": "v5.8.1",
    }
    assert (result.revision, result.keep) == ("r", False)


def test_warnings_and_what_was_asked_stay_and_the_second_render_is_patched_too(workshop: Workshop) -> None:
    patch = add("/data/b", "2", name="a")
    rendered = from_objects(workshop, [config_map("a", data={"a": "1"})], [patch], [config_map("a", data={"a": "x"})])
    assert rendered.warnings == ["of the source"]
    assert objects_of(rendered) == [config_map("a", data={"a": "1", "b": "2"})]
    assert [document.manifest["data"] for document in rendered.second] == [{"a": "x", "b": "2"}]


# -- what patches do ---------------------------------------------------------------------------------------------------


def test_lists_are_taken_apart_and_order_and_places_stay(workshop: Workshop) -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": [config_map("z"), config_map("b")]}
    rendered = from_objects(workshop, [items, DEPLOYMENT, config_map("a")], [add("/data", {"x": "y"}, name="b")])
    assert [(one.manifest["metadata"]["name"], one.source) for one in rendered.documents] == [
        ("z", "0.yaml, item 1"), ("b", "0.yaml, item 2"), ("web", "1.yaml"), ("a", "2.yaml"),
    ]  # fmt: skip
    assert rendered.documents[1].manifest["data"] == {"x": "y"}


def test_deleted_objects_go_and_renamed_ones_keep_their_place_and_are_referred_to(workshop: Workshop) -> None:
    objects = [config_map("a"), config_map("b"), config_map("settings"), DEPLOYMENT]
    patches = [
        merge({**config_map("a"), "$patch": "delete"}),
        merge(
            config_map("configuration"),
            target={"kind": "ConfigMap", "name": "settings"},
            options={"allowNameChange": True},
        ),
    ]
    rendered = from_objects(workshop, objects, patches)
    names = [(document.manifest["metadata"]["name"], document.source) for document in rendered.documents]
    assert names == [("b", "1.yaml"), ("configuration", "2.yaml"), ("web", "3.yaml")]
    volumes = rendered.documents[2].manifest["spec"]["template"]["spec"]["volumes"]
    assert volumes == [{"name": "v", "configMap": {"name": "configuration"}}]


def test_all_may_be_deleted(workshop: Workshop) -> None:
    assert made(workshop, [config_map("a")], merge({**config_map("a"), "$patch": "delete"}, target={"name": "a"})) == []


def test_a_later_target_may_select_what_an_earlier_patch_made(workshop: Workshop) -> None:
    patches = [add("/metadata/labels", {"tier": "one"}, name="a"), add("/data", {"x": "y"}, labelSelector="tier=one")]
    assert made(workshop, [config_map("a")], *patches)[0]["data"] == {"x": "y"}


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ({}, ["a", "a", "a", "b"]),
        ({"name": "a"}, ["a", "a", "a"]),
        ({"namespace": "n1"}, ["a"]),
        # An object that names no namespace is one of the namespace default, as for kustomize.
        ({"namespace": "default"}, ["a", "b"]),
        ({"name": "a|b", "kind": "Config.*", "version": "v1"}, ["a", "a", "a", "b"]),
        ({"name": "(?i)B"}, ["b"]),
    ],
)
def test_what_a_target_selects(workshop: Workshop, target: dict[str, str], names: list[str]) -> None:
    objects = [config_map("a"), config_map("a", "n1"), config_map("a", "n2"), config_map("b")]
    result = made(workshop, objects, add("/data", {"x": "y"}, **target))
    assert [one["metadata"]["name"] for one in result if "data" in one] == names


# -- what they leave alone ---------------------------------------------------------------------------------------------

TEXTS = [
    "0644", "yes", "1e3", "706798e8", "0123", "on", "n", "null", "~", "", "0x1f", "0o17", "1_000", ".5", "1.", "- a",
    "# c", "a # b", "a: b", "{a}", "[a]", "&a", "*a", "!a", "|", "> x", "%a", "@a", "`a`", "'", '"', "\\", "\t", " a",
    "a ", "a\n", "\na", "a\n\n", "a \nb\n", " a\nb", "a\r\nb\r\n", "a\rb", "\x85x", "\u2028x", "\ufeffx", "é 漢", "😀",
    "\U0010ffff", "\x07", "\x00", "\x7f", "\xa0", "\uffff", "<<", "=", "---", "--- a", "...", "a\n---\nb\n", "22:22",
    "2024-01-01", "1e400", ".inf", "FALSE", "x " * 500, "  lead\nx", "trail  \nx  \n", "{{ x }}", "$(A)", "1__0", "08",
]  # fmt: skip
NUMBERS = [
    9223372036854775000, 2**63 - 1, -(2**63), 2**64 - 1, 2**53 + 1, 0, -1, 1.5, 0.1, 1e21, 1e300, 1e-7, 5e-324,
    1.7976931348623157e308, 123456789.123456789, 21000000, 2.5e7,
]  # fmt: skip
STRANGE: list[Object] = [
    thing("texts", spec={f"key{number}": text for number, text in enumerate(TEXTS)}),
    thing("items", spec=TEXTS),
    thing(
        "keys", spec={text[:100]: 1 for text in TEXTS if text and not set(text) & set("<\x85\x7f\uffff\u2028\ufeff")}
    ),
    thing("carried", spec=["rendimiento.ai/carried:5"]),
    thing("numbers", spec={f"key{number}": value for number, value in enumerate(NUMBERS)}),
    thing("empty", spec={"a": {}, "b": [], "c": None, "d": {"e": None}, "f": [[]], "g": [{}], "h": False, "i": ""}),
    thing("deep", spec=json.loads("[" * 100 + "]" * 100)),
    thing("named", "AllowList", spec={"items": [1]}),
    thing("web", "Ingress", "networking.k8s.io"),
    thing("web", "Ingress", "extensions"),
    config_map("a", "n1"),
    config_map("a", "n2"),
    config_map("a"),
    config_map("binary", binaryData={"a": "AAAA" * 500}),
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "YQ==", "b": None}},
    {**config_map("hook"), "metadata": {"name": "hook", "annotations": {"helm.sh/hook": "pre-install"}}},
    thing("status", status={"a": 1}),
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "large.x.io", "creationTimestamp": None},
        "spec": {"properties": {f"field{number}": {"description": "a: b\n" * 20} for number in range(4000)}},
    },
]


def test_all_else_comes_back_as_it_was(workshop: Workshop) -> None:
    other = thing("other")
    patch = add("/spec", {"a": "b"}, name="other")
    assert made(workshop, [*STRANGE, other], patch) == [*STRANGE, {**other, "spec": {"a": "b"}}]


def test_a_patch_changes_nothing_else_in_its_object(workshop: Workshop) -> None:
    result = made(workshop, STRANGE, add("/patched", value=True))
    assert result == [{**one, "patched": True} for one in STRANGE]


def test_a_merge_patch_changes_nothing_else_in_its_object(workshop: Workshop) -> None:
    result = made(workshop, STRANGE, merge(thing("x", patched=True), target={}))
    assert result == [{**one, "patched": True} for one in STRANGE]


OWN_ANNOTATIONS = {
    "alpha.config.kubernetes.io/transformations": "x",
    "config.k8s.io/id": "1",
    "config.kubernetes.io/index": "0",
    "config.kubernetes.io/origin": "path: a",
    "config.kubernetes.io/path": "a.yaml",
    "internal.config.kubernetes.io/allowNameChange": "enabled",
    "internal.config.kubernetes.io/index": "0",
    "internal.config.kubernetes.io/needsHashSuffix": "enabled",
    "internal.config.kubernetes.io/path": "a.yaml",
    "internal.config.kubernetes.io/previousNames": "x,y",
    "internal.config.kubernetes.io/refBy": "x",
    "kustomize.config.k8s.io/needs-hash": "true",
}


@pytest.mark.parametrize("name", ["other", "annotated"])
def test_annotations_that_kustomize_takes_for_its_own_come_back(workshop: Workshop, name: str) -> None:
    annotated = config_map("annotated")
    annotated["metadata"]["annotations"] = OWN_ANNOTATIONS
    objects = [annotated, config_map("other")]
    result = made(workshop, objects, add("/data", {"x": "y"}, name=name))
    assert result == [{**one, "data": {"x": "y"}} if one["metadata"]["name"] == name else one for one in objects]


UNFIT: list[tuple[Object, str]] = [
    (thing("odd", "AllowList", items=[{"a": 1}]), "kustomize takes its kind for a list of objects"),
    (thing("odd", spec=[None]), "a list in it has an empty item"),
    (thing("odd", spec={"<<": {"a": 1}}), "it has a key that means something else in YAML"),
    (thing("odd", spec={"k" * 2000: 1}), "it has a key of more than 500 characters"),
    ({**config_map("odd"), "metadata": {"name": "odd", "labels": {"a": 1}}}, "its metadata.labels are not all text"),
    (config_map("twice", "n", data={}), "it is in the source twice, 0.yaml and 2.yaml"),
    (config_map("both"),
     "kustomize can't tell the one without a namespace from that of default, 1.yaml and 2.yaml"),
]  # fmt: skip


@pytest.mark.parametrize(("unfit", "reason"), UNFIT)
def test_what_kustomize_can_not_take_is_carried_past_it_and_is_not_patched(
    workshop: Workshop, unfit: Object, reason: str
) -> None:
    objects = [config_map("twice", "n"), config_map("both", "default"), unfit, config_map("a")]
    result = made(workshop, objects, add("/data", {"x": "y"}, name="a"))
    assert result == [*objects[:3], config_map("a", data={"x": "y"})]
    kind, name = unfit["kind"], unfit["metadata"]["name"]
    hint = "Correct the source, or patch other objects alone."
    target = add("/data", {}, name=name)
    assert message_of(workshop, objects, target) == f"patches[0]: {kind} {name} can't be patched: {reason}. {hint}"
    named = merge({**unfit, "metadata": {**unfit["metadata"], "labels": {}}, "spec": {}})
    assert message_of(workshop, objects, named) == f"patches[0]: {kind} {name} can't be patched: {reason}. {hint}"


@pytest.mark.parametrize("metadata", [{"generateName": "a-"}, {"name": 5}, {"name": "a", "namespace": 5}, None])
def test_what_has_no_identity_is_left_to_be_refused_as_ever(workshop: Workshop, metadata: Any) -> None:
    unnamed = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    result = made(workshop, [unnamed, config_map("a")], add("/data", {"x": "y"}, name="a"))
    assert result == [unnamed, config_map("a", data={"x": "y"})]


# -- what is wrong -----------------------------------------------------------------------------------------------------

FINE = add("/data", {"x": "1"}, name="a")
LIKE = "Correct target: each of its fields has to match, as a regular expression, from end to end."


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (add("/data", {}, name="aa"), f"its target selects no object. {LIKE}"),
        (add("/data", {}, name="A"), f"its target selects no object. {LIKE}"),
        (add("/data", {}, kind="ConfigMap", group="core"), f"its target selects no object. {LIKE}"),
        (add("/data", {}, labelSelector="app=web"), f"its target selects no object. {LIKE}"),
        (add("/data", {}, annotationSelector="a"), f"its target selects no object. {LIKE}"),
        (merge({**config_map("a"), "$patch": "delete"}, target={"name": "b"}), f"its target selects no object. {LIKE}"),
        (merge(config_map("b")),
         "there is no ConfigMap b to patch. "
         "Correct kind, name and namespace of the patch, or list the object under resources."),
        ({"patch": add("/data", SECRET)["patch"]}, "a JSON patch has no target. Add target."),
        (add("/spec/a", SECRET, name="a"), "add of /spec/a does not apply. Add what it is in first."),
        ({"patch": '[{"op": "remove", "path": "/data/y"}]', "target": {"name": "a"}},
         "remove of /data/y does not apply. Correct its path."),
        ({"patch": json.dumps([{"op": "test", "path": "/data/x", "value": SECRET}]), "target": {"name": "a"}},
         "the test of /data/x fails. Correct it."),
        ({"patch": '[{"op": "ad", "path": "/data"}]', "target": {"name": "a"}},
         "a JSON patch lacks its op. Use add, remove, replace, move, copy or test."),
        ({"patch": f'["{SECRET}"]', "target": {"name": "a"}},
         "is neither a merge patch nor a JSON patch. Correct the patch."),
        ({"patch": SECRET, "target": {"name": "a"}},
         "is neither a merge patch (an object) nor a JSON patch (one list of operations). Correct it."),
        ({"patch": "[{op: add}]\n---\n[{op: add}]", "target": {"name": "a"}},
         "is neither a merge patch (an object) nor a JSON patch (one list of operations). Correct it."),
        ({"patch": f"a: b\nc: d: {SECRET}"}, "not valid YAML: mapping values are not allowed in this context. "
         "Quote text that contains a colon, or check the indentation."),
        ({"patch": f"kind: a\ndata: {{a: {SECRET}}}", "target": {"name": "a"}},
         "a merge patch lacks kind or metadata.name. "
         "Kustomize needs them also where a target is given, which then counts instead."),
        ({"patch": "# nothing\n", "target": {"name": "a"}}, "is empty. Remove it."),
        ({"patch": "[]", "target": {"name": "a"}}, "is empty. Remove it."),
        (merge(config_map("a", data=[SECRET])),
         "a field has another shape than kustomize expects: expected MappingNode but got SequenceNode. "
         "Correct the patch."),
        (merge(config_map("a", **{"$patch": SECRET})), "$patch is unknown. Use delete, replace or merge."),
        ({"patch": "kind: A\nmetadata: {name: a}\n---\nkind: A\nmetadata: {name: a}", "target": {"name": "a"}},
         "several merge patches in one entry can't have a target. Make them several entries."),
        (add("/data", {}, name="("), "target: is no regular expression: missing closing ). Correct it."),
        (add("/data", {}, labelSelector="a in (b"),
         "target: a selector is not valid. Write it as for kubectl, such as app=web."),
        ({"patch": '[{"op": "replace", "path": "/metadata/name", "value": "c"}]', "target": {"name": "a"}},
         "makes a second ConfigMap c. Give it another name."),
        ({"patch": '[{"op": "remove", "path": "/metadata/name"}]', "target": {"name": "a"}},
         "an object is left without metadata.name. Correct the patch that takes it away."),
        ({"patch": f'[{{"op": "add", "path": "/metadata", "value": "{SECRET}"}}]', "target": {"name": "a"}},
         "an object is left without metadata.name. Correct the patch that takes it away."),
        (merge({**config_map("a"), "metadata": {"name": "a", "labels": [SECRET]}}, target={"name": "a"}),
         "kustomize crashed. Correct the patch."),
    ],
)  # fmt: skip
def test_a_patch_that_does_not_apply_is_named(workshop: Workshop, patch: Patch, message: str) -> None:
    objects = [config_map("a", annotations=SECRET), config_map("c")]
    found = message_of(workshop, objects, FINE, patch, FINE)
    place, _, rest = found.partition(": ")
    assert (place.partition("]:")[0].rstrip("]"), rest) == ("patches[1", message)
    assert SECRET not in found


@pytest.mark.parametrize("bad", [0, 1, 20, 39])
def test_the_patch_that_does_not_apply_is_found_among_many_with_few_builds(workshop: Workshop, bad: int) -> None:
    patches = [FINE] * 40
    patches[bad] = add("/spec/a", "x", name="a")
    found = message_of(workshop, [config_map("a")], *patches)
    assert found == f"patches[{bad}]: add of /spec/a does not apply. Add what it is in first."
    assert workshop.started.count("kustomize build") <= 8


def test_a_patch_of_a_file_is_named_with_its_file_and_line(workshop: Workshop) -> None:
    workshop.repository.commit({"p/a.yaml": "kind: a\nb: 1\nb: 2\n"})
    assert message_of(workshop, [config_map("a")], {"path": "p//a.yaml"}) == (
        "patches[0], p/a.yaml:3: the key b stands twice in one mapping"
    )


def test_objects_that_kustomize_can_not_read_are_no_fault_of_a_patch(workshop: Workshop) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": "x",
    }
    assert message_of(workshop, [config_map("a"), role], FINE) == (
        "ClusterRole r: rules/resourceNames has another shape than kustomize expects. Correct the object."
    )


def test_without_objects_no_target_selects_any(workshop: Workshop) -> None:
    assert message_of(workshop, [], FINE) == f"patches[0]: its target selects no object. {LIKE}"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("p/none.yaml", "patches[1].path: p/none.yaml is no file of commit *. Correct the path."),
        ("none/a.yaml", "patches[1].path: none/a.yaml is no file of commit *. Correct the path."),
        ("p", "patches[1].path: p is no file of commit *. Correct the path."),
        ("p/link.yaml", "patches[1].path: p/link.yaml is a symbolic link of commit *. Correct the path."),
        ("p/lfs.yaml", "patches[1].path: p/lfs.yaml: is a Git LFS pointer, not the file. Commit the file itself."),
        ("p/sops.yaml", "patches[1].path: p/sops.yaml: is encrypted with sops. It can't be used as it is."),
    ],
)
def test_files_that_are_none(workshop: Workshop, path: str, message: str) -> None:
    workshop.repository.write({"p/a.yaml": "", "p/lfs.yaml": LFS, "p/sops.yaml": SOPS})
    (workshop.repository.path / "p/link.yaml").symlink_to("/etc/passwd")
    commit = workshop.repository.commit({})
    request = workshop.request(git={"path": "web"}, patches=[FINE, {"path": path}])
    with pytest.raises(AddonError) as caught:
        patched(request, Preparation({}, "r", Rendered))
    assert str(caught.value) == message.replace("*", commit[:12])


def test_a_patch_reaches_nothing_outside(workshop: Workshop) -> None:
    """Neither by its text, nor by objects that would configure plugins in a kustomization."""
    plugin = {
        "apiVersion": "builtin",
        "kind": "ConfigMapGenerator",
        "metadata": {"name": "g"},
        "files": ["/etc/passwd", "../../secret", "http://127.0.0.1:1/x"],
    }
    result = made(workshop, [plugin, config_map("a")], add("/x", "https://127.0.0.1:1/../../x", kind=".*"))
    assert result == [{**one, "x": "https://127.0.0.1:1/../../x"} for one in (plugin, config_map("a"))]


def test_no_file_is_left_behind(workshop: Workshop) -> None:
    made(workshop, [config_map("a")], FINE)
    message_of(workshop, [config_map("a")], add("/data", {}, name="b"))
    assert list(workshop.work.iterdir()) == []
