"""Pairs of a live state and a source, drawn at random: who made what runs, what others did to it since, what git says.

A pair is an add-on with a namespace of its own. It depends on its seed and number alone, so one can be made again
without the others; ``repr`` of it is all there is to know.
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass, field
from typing import Any, Literal

from ansible_collections.rendimiento.addons.plugins.module_utils.model.names import ADOPT_ANNOTATION
from tests.integration.generated_objects import (
    ABSENT,
    GROUP,
    KINDS,
    WORKLOADS,
    WRONG,
    Object,
    Path,
    at,
    choices_of,
    draw,
    gadget_kind,
    has,
    pointer,
    put,
    redraw,
    shuffle,
)

Maker = Literal["nobody", "addon", "kubectl apply", "kubectl apply --server-side", "kubectl create", "post", "apply"]
Verb = Literal["merge", "strategic", "json", "apply", "put", "scale", "status", "delete", "create", "kubectl apply"]

TRAITS = (
    "drift",
    "nothing runs yet",
    "drift of kubectl apply",
    "kubectl apply",
    "kubectl apply --server-side",
    "wrong",
    "drift by deletion",
    "kubectl create",
    "namespace comes",
    "versions",
    "post",
    "fixed",
    "drift of workloads",
    "apply",
    "kinds come",
    "not to be adopted",
    "nulls",
    "adopted as it is",
    "kinds change",
    "drift of ownership",
    "no namespace",
    "much leaves",
    "schema changes",
    "kinds change",
    "drift",
    "terminates",
)
"""What a pair is about, in turn; 26 make a round."""

BUILT_FOR = frozenset({"namespace comes", "kinds come", "schema changes", "terminates"})
"""Pairs in which the server can't be asked about everything, and the plan has to say so."""

HELD_BACK = frozenset({"wrong", "fixed", "no namespace", "not to be adopted", "terminates"})
"""Pairs that are not to be synced, each for a reason of its own."""

SOMEBODY, TOOL, HUMAN = "somebody", "other-tool", "kubectl-edit"


@dataclass
class Entry:
    """An object and the key of ``KINDS`` that it was drawn by."""

    what: str
    manifest: Object

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def identity(self) -> tuple[str, str]:
        return str(self.manifest["kind"]), self.name

    def placed(self, namespace: str) -> Object:
        """A copy that says its namespace, as everybody but the engine needs it."""
        made = copy.deepcopy(self.manifest)
        if self.what in KINDS and KINDS[self.what].namespaced:
            made["metadata"]["namespace"] = namespace
        return made


@dataclass
class Edit:
    """What somebody does to a live object. ``body`` is what the verb needs: a patch, an object, a field and value."""

    verb: Verb
    manifest: Object
    body: Any = None
    manager: str = SOMEBODY

    def __str__(self) -> str:
        metadata = self.manifest["metadata"]
        body = "" if self.body is None else f" {json.dumps(self.body, default=repr, ensure_ascii=False)}"
        return f"{self.verb} {self.manifest['kind']} {metadata['name']} as {self.manager}{body}"


@dataclass
class Pair:
    """``before`` is what ``made_by`` made, with ``edits`` done to it since; ``after`` is what git says now.

    ``fields`` are those of the definition file, ``first_fields`` those of the first sync.
    """

    seed: int
    number: int
    trait: str
    made_by: Maker = "addon"
    before: list[Object] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    after: list[Object] = field(default_factory=list)
    first_fields: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    namespace_exists: bool = True

    @property
    def name(self) -> str:
        return f"pair-{self.seed:04}-{self.number:04}"

    @property
    def built_for_doubt(self) -> bool:
        return self.trait in BUILT_FOR

    @property
    def built_to_be_held_back(self) -> bool:
        return self.trait in HELD_BACK

    def __str__(self) -> str:
        lines = [
            f"pair {self.seed}:{self.number} ({self.trait}), made by {self.made_by}; definition {self.fields}",
            *(f"  before {json.dumps(one, ensure_ascii=False)}" for one in self.before),
            *(f"  edit   {one}" for one in self.edits),
            *(f"  after  {json.dumps(one, ensure_ascii=False)}" for one in self.after),
        ]
        return "\n".join(lines)


def generate(seed: int, number: int) -> Pair:
    """The pair of that number."""
    made = _Generator(random.Random(f"{seed}/{number}"), Pair(seed, number, TRAITS[number % len(TRAITS)]))
    made.fill()
    # As YAML files and requests have it: nothing is shared between two objects.
    return copy.deepcopy(made.pair)


_MAKERS: dict[str, Maker] = {
    "kubectl apply": "kubectl apply",
    "kubectl apply --server-side": "kubectl apply --server-side",
    "kubectl create": "kubectl create",
    "post": "post",
    "apply": "apply",
    "not to be adopted": "post",
    "adopted as it is": "kubectl apply",
    "nothing runs yet": "nobody",
    "namespace comes": "nobody",
    "kinds come": "nobody",
    "no namespace": "nobody",
}


class _Generator:
    def __init__(self, rng: random.Random, pair: Pair) -> None:
        self.rng = rng
        self.pair = pair
        self.before: list[Entry] = []
        self.after: list[Entry] = []
        self._count = 0

    def fill(self) -> None:
        pair, rng = self.pair, self.rng
        pair.made_by = _MAKERS.get(pair.trait, "addon")
        pair.namespace_exists = pair.trait not in ("namespace comes", "no namespace")
        fields = {"wait": 0, "prune": rng.random() < 0.8, "adopt": rng.random() < 0.85}
        fields["allowAdoptChanges"] = rng.random() < 0.85
        pair.first_fields = {"wait": 0, "prune": True}
        self.before = [self.entry() for _ in range(rng.randint(4, 7))]
        self.after = self.mutated(self.before)
        match pair.trait:
            case "namespace comes":
                fields["createNamespace"] = True
            case "not to be adopted":
                fields["adopt"] = False
            case "adopted as it is":
                fields |= {"adopt": True, "allowAdoptChanges": False}
                self.after = copy.deepcopy(self.before)
            case "kubectl apply" | "kubectl apply --server-side" | "kubectl create" | "post" | "apply":
                fields |= {"adopt": True, "allowAdoptChanges": True}
            case "wrong":
                self._wrong()
            case "fixed":
                self._fixed()
            case "versions":
                self._versions()
            case "kinds come":
                self._kinds_come()
            case "schema changes":
                self._schema_changes()
            case "kinds change":
                self._kinds_change()
            case "nulls":
                self._nulls()
            case "much leaves":
                self._much_leaves()
        if pair.made_by == "nobody":
            self.before = []
        if pair.trait.startswith("drift") or (self.before and rng.random() < 0.4 and pair.trait != "adopted as it is"):
            drifts = pair.trait.startswith("drift")
            fields |= {"adopt": True, "allowAdoptChanges": True} if drifts and rng.random() < 0.8 else {}
            self._edit()
        if pair.trait == "terminates":
            self._terminates()
        if pair.trait in ("post", "apply") and rng.random() < 0.9:
            # What another program has is changed only if that is asked for.
            for one in self.after:
                one.manifest["metadata"].setdefault("annotations", {})[ADOPT_ANNOTATION] = "true"
        by_engine = pair.made_by == "addon"
        pair.before = [one.manifest if by_engine else one.placed(pair.name) for one in self.before]
        pair.after = [one.manifest for one in self.after]
        pair.fields = fields

    # Sources

    def entry(self, what: str = "") -> Entry:
        what = what or self.rng.choice([*KINDS, *WORKLOADS, "ConfigMap", "Gadget"])
        self._count += 1
        name = f"{what.lower().replace(' ', '-')}-{self._count}"
        made = draw(self.rng, what, name if KINDS[what].namespaced else f"{self.pair.name}-{name}")
        if self.rng.random() < 0.1:
            made["metadata"].setdefault("annotations", {})["helm.sh/resource-policy"] = "keep"
        return Entry(what, made)

    def mutated(self, entries: list[Entry]) -> list[Entry]:
        """The same with some gone, some new, some changed, in another order."""
        rng = self.rng
        result = [copy.deepcopy(one) for one in entries if rng.random() > 0.15]
        for one in result:
            if rng.random() < 0.5:
                redraw(rng, one.what, one.manifest, rng.randint(1, 2))
            if rng.random() < 0.2:
                shuffle(rng, one.manifest)
            if rng.random() < 0.2:
                one.manifest["metadata"]["namespace"] = self.pair.name
        result += [self.entry() for _ in range(rng.randint(0, 2))]
        rng.shuffle(result)
        return result

    def _both(self, what: str) -> Entry:
        """An object of that kind that stands in both sources; returns the one in the second."""
        made = self.entry(what)
        self.before.append(made)
        self.after.append(copy.deepcopy(made))
        return self.after[-1]

    def _wrong(self) -> None:
        what, path, value = self.rng.choice(WRONG)
        put(self._both(what).manifest, path, value)

    def _fixed(self) -> None:
        what = self.rng.choice([name for name, kind in KINDS.items() if kind.fixed])
        choice = self.rng.choice(KINDS[what].fixed)
        put(self._both(what).manifest, choice.path, choice.values[1])

    def _versions(self) -> None:
        for what in ("Gadget", "HorizontalPodAutoscaler", "Gadget"):
            first, second = self.rng.sample(KINDS[what].api_versions, 2)
            made = self._both(what)
            self.before[-1].manifest["apiVersion"] = first
            made.manifest["apiVersion"] = second
            if self.rng.random() < 0.5:
                redraw(self.rng, what, made.manifest, 1)

    def _own_gadget(self) -> Entry:
        made = self.entry("Gadget")
        made.manifest["apiVersion"] = f"{self.pair.name}.{GROUP}/v1"
        return made

    def _kinds_come(self) -> None:
        self.after.append(Entry("definition", gadget_kind(f"{self.pair.name}.{GROUP}")))
        self.after += [self._own_gadget() for _ in range(3)]
        self.rng.shuffle(self.after)

    def _schema_changes(self) -> None:
        """The definition of a kind gets a field, and one of two objects of that kind uses it."""
        group = f"{self.pair.name}.{GROUP}"
        gadgets = [self._own_gadget() for _ in range(2)]
        self.before += [Entry("definition", gadget_kind(group)), *gadgets]
        later = copy.deepcopy(gadgets)
        later[0].manifest["spec"]["extra"] = "new"
        self.after += [Entry("definition", gadget_kind(group, more=True)), *later]

    def _kinds_change(self) -> None:
        """A name that a source uses for another kind than before."""
        for old, new in (("Deployment", "StatefulSet"), ("ConfigMap", "Secret")):
            gone = self.entry(old)
            self.before.append(gone)
            self.after.append(Entry(new, draw(self.rng, new, gone.name)))

    def _nulls(self) -> None:
        for one in (*self.before, *self.after):
            free = [choice.path for choice in KINDS[one.what].choices if not has(one.manifest, choice.path)]
            for path in self.rng.sample(free, min(2, len(free))):
                put(one.manifest, path, None)
        # The API server takes null for nothing in a custom resource when it is created, and refuses to apply it.
        self.before = [one for one in self.before if one.what != "Gadget"]

    def _much_leaves(self) -> None:
        self.before += [self.entry() for _ in range(4)]
        self.after = self.after[: max(2, len(self.after) // 2)]

    def _terminates(self) -> None:
        made = self._both("ConfigMap")
        redraw(self.rng, "ConfigMap", made.manifest, 1)
        target = self.before[-1].placed(self.pair.name)
        self.pair.edits += [
            Edit("merge", target, {"metadata": {"finalizers": ["test.io/hold"]}}),
            Edit("delete", target),
        ]

    # What others do

    def _edit(self) -> None:
        rng, trait = self.rng, self.pair.trait
        stays = {one.identity for one in self.after}
        chance = 0.8 if trait.startswith("drift") else 0.4
        for one in self.before:
            if one.what == "definition" or rng.random() > chance:
                continue
            possible = self._possible(one, stays=one.identity in stays)
            wanted = {
                "drift of kubectl apply": ["kubectl apply", "set"],
                "drift by deletion": ["delete", "remake", "set"],
                "drift of workloads": ["scale", "sidecar", "env", "set"],
                "drift of ownership": ["unlabel", "strip", "remove", "take", "scale"],
            }.get(trait, possible)
            for what in rng.sample(possible, len(possible)):
                if what in wanted:
                    self._one_edit(what, one)
                    break

    def _possible(self, one: Entry, *, stays: bool) -> list[str]:
        names = ["set", "set", "take", "remove", "label", "annotation", "unlabel", "delete", "remake", "strip"]
        names += ["put", "kubectl apply"]
        # What is held by a finalizer can't leave.
        names += ["finalizer"] if stays else []
        names += ["scale", "env", "sidecar"] if one.what in WORKLOADS else []
        names += ["status"] if one.what in ("Gadget", "Service") else []
        names += ["key"] if one.what in ("ConfigMap", "Secret") else []
        return names

    def _one_edit(self, what: str, one: Entry) -> None:
        rng, edits, target = self.rng, self.pair.edits, one.placed(self.pair.name)
        plain = [choice for choice in choices_of(one.what) if not any(isinstance(step, int) for step in choice.path)]
        choice = rng.choice(choices_of(one.what))
        value = rng.choice([value for value in choice.values if value is not ABSENT])
        match what:
            case "set" if choice in plain:
                edits.append(Edit("merge", target, _nested(choice.path, value), rng.choice((SOMEBODY, HUMAN))))
            case "set":
                edits.append(Edit("json", target, [_operation("add", choice.path, value)]))
            case "put":
                edits.append(Edit("put", target, [list(choice.path), value]))
            case "take":
                edits.append(Edit("apply", target, _applied(target, choice.path, value), TOOL))
            case "remove":
                present = [each.path for each in choices_of(one.what) if at(target, each.path) not in (ABSENT, None)]
                if present:
                    edits.append(Edit("json", target, [{"op": "remove", "path": pointer(rng.choice(present))}]))
            case "label":
                edits.append(Edit("merge", target, {"metadata": {"labels": {"test.io/by": "somebody"}}}))
            case "annotation":
                edits.append(Edit("merge", target, {"metadata": {"annotations": {"test.io/by": "somebody"}}}))
            case "finalizer":
                edits.append(Edit("merge", target, {"metadata": {"finalizers": ["test.io/hold"]}}))
            case "unlabel":
                edits.append(Edit("merge", target, {"metadata": {"labels": {"rendimiento.ai/addon": None}}}))
            case "key":
                edits.append(Edit("merge", target, {"data": {"added": "c3dvcmRmaXNoLW9mLWFub3RoZXI="}}))
            case "strip":
                edits.append(
                    Edit("json", target, [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])
                )
            case "scale":
                edits.append(Edit("scale", target, {"spec": {"replicas": rng.randint(0, 3)}}, "kubectl"))
            case "env":
                container = {"name": "main", "env": [{"name": "INJECTED", "value": "1"}]}
                edits.append(Edit("strategic", target, {"spec": {"template": {"spec": {"containers": [container]}}}}))
            case "sidecar":
                container = {"name": "sidecar", "image": "none"}
                body = {"spec": {"template": {"spec": {"containers": [container]}}}}
                edits.append(Edit("apply", target, body, TOOL))
            case "status":
                inside = {"loadBalancer": {"ingress": [{"ip": "10.1.2.3"}]}} if one.what == "Service" else {"seen": 1}
                edits.append(Edit("status", target, {"status": inside}))
            case "delete":
                edits.append(Edit("delete", target))
            case "remake":
                changed = copy.deepcopy(target)
                redraw(rng, one.what, changed, rng.randint(0, 2))
                if rng.random() < 0.5:
                    changed["metadata"].setdefault("labels", {})["rendimiento.ai/addon"] = self.pair.name
                edits += [Edit("delete", target), Edit("create", target, changed)]
            case "kubectl apply":
                changed = copy.deepcopy(target)
                redraw(rng, one.what, changed, 1)
                edits.append(Edit("kubectl apply", target, changed, "kubectl"))


def _nested(path: Path, value: Any) -> Object:
    result = value
    for step in reversed(path):
        result = {step: result}
    return dict(result)


def _operation(operation: str, path: Path, value: Any) -> Object:
    return {"op": operation, "path": pointer(path), "value": value}


def _applied(manifest: Object, path: Path, value: Any) -> Object:
    """The smallest body that sets one field; a container in the path is named."""
    result = value
    for depth in range(len(path) - 1, -1, -1):
        step = path[depth]
        if isinstance(step, int):
            item = at(manifest, path[: depth + 1])
            result = [{"name": item["name"], **result}]
        else:
            result = {step: result}
    return dict(result)
