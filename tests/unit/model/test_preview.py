"""The preview as Markdown: what stands in it, what can't break out of it, and what a limit leaves of it."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from markdown_it import MarkdownIt

from ansible_collections.rendimiento.addons.plugins.module_utils.model.plan import PlanItem
from ansible_collections.rendimiento.addons.plugins.module_utils.model.preview import (
    DEFAULT_SIZE,
    MARKER,
    SMALLEST,
    markdown_preview,
)
from ansible_collections.rendimiento.addons.plugins.module_utils.model.review import Review, ReviewedAddon
from tests.unit.model.counted_calls import calls_of
from tests.unit.model.made_review import EVIL, HOSTILE, addon, changed, every_sort, item, review

READER = MarkdownIt("commonmark").enable("table")
LARGE = addon("large", [changed(f"o{number}", 40) for number in range(300)])
SIZES = [500, 501, 550, 600, 700, 800, 1000, 1500, 2000, 3000, 5000, 10_000, 30_000, DEFAULT_SIZE, 200_000, 10_000_000]


def told(made: Review, of: str, until: tuple[str, ...] = ("###",)) -> list[str]:
    """The paragraphs about one object or add-on, to the next one."""
    paragraphs = markdown_preview(made, 0).strip().split("\n\n")
    start = next(
        index for index, text in enumerate(paragraphs) if f"`{of}`" in text and not text.startswith(("|", "- "))
    )
    end = next((index for index in range(start + 1, len(paragraphs)) if paragraphs[index].startswith(until)), None)
    return paragraphs[start:end]


def test_nothing_to_do_is_one_line_and_the_table() -> None:
    made = review(addon("app", [item("a"), item("b", "keep", reason="protected")]), addon("b", [item("c")]))
    assert markdown_preview(made, DEFAULT_SIZE) == (
        f"{MARKER}\n## Preview of the add-ons\n\n"
        "Commit `c0ffee`, cluster `https://server` (`v1.37.2`).\n\n"
        "Nothing would change.\n\n"
        "| add-on | phase | keep | unchanged |\n"
        "| --- | --- | --: | --: |\n"
        "| `app` | `Synced` | 1 | 1 |\n"
        "| `b` | `Synced` |  | 1 |\n"
    )


@pytest.mark.parametrize(("context", "told"), [("", ""), ("staging", ", context `staging`")])
def test_b59_it_states_the_server_and_the_context(context: str, told: str) -> None:
    text = markdown_preview(review(context=context), SMALLEST)
    assert f"\n\nCommit `c0ffee`, cluster `https://server` (`v1.37.2`){told}.\n\n" in text


def test_a_run_without_add_ons() -> None:
    text = markdown_preview(review(), SMALLEST)
    assert text.endswith("Nothing would change.\n\nThere are no add-ons.\n")


@pytest.mark.parametrize(
    ("addons", "fields", "line"),
    [
        ([addon("a", [item("a", "create"), item("b", "prune"), item("c")])], {},
         "**1 of 1 add-on would change**: **1 prune**, 1 create, 1 unchanged."),
        ([addon("a", [item("a", "create", "simulated")]), addon("b")], {},
         "**1 of 2 add-ons would change**: 1 create, 1 simulated."),
        ([addon("a", [item("a", "blocked", "unknown")])], {},
         "**1 of 1 add-on would change**: **1 blocked**, **1 unknown**."),
        ([addon("a", [item("a", "create")])], {"check": False}, "**1 of 1 add-on had changes**: 1 create."),
        ([addon("a")], {"check": False}, "There was nothing to change."),
        ([addon("a", None, {"error": "no such chart"}), addon("b")], {}, "**1 add-on could not be planned.**"),
        ([addon("a", None, {"error": "x"}), addon("b", [item("a", "create")])], {"invalid": ["x.yaml: bad"]},
         "**1 of 2 add-ons would change**: 1 create. **2 add-ons could not be planned.**"),
        ([addon("a", None, {"pending": True, "message": "its definition left git"})], {},
         "**1 of 1 add-on would change**: no objects."),
    ],
)  # fmt: skip
def test_the_first_line_says_what_would_happen(addons: list[ReviewedAddon], fields: dict[str, Any], line: str) -> None:
    assert markdown_preview(review(*addons, **fields), 0).split("\n\n")[2] == line


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (item("a", "create", after="a: 1\n"), ["**create** `ConfigMap web/a`, verified by the server"]),
        (item("a", "adopt"), ["**adopt (label and field ownership only)** `ConfigMap web/a`, verified by the server"]),
        (item("a", "replace", reason="spec.selector is immutable"),
         ["**replace (deletes it and makes it anew)** `ConfigMap web/a`, verified by the server: "
          "`spec.selector is immutable`"]),
        (item("a", "prune"), ["**prune (deletes it)** `ConfigMap web/a`, verified by the server"]),
        (item("a", "create", "simulated", reason="namespace web comes with this run"),
         ["**create** `ConfigMap web/a`, simulated, the server could not check it yet: "
          "`namespace web comes with this run`"]),
        (item("a", "blocked", "unknown", reason="no right"),
         ["**blocked** `ConfigMap web/a`, unknown, it could not be checked: `no right`"]),
        (item("a", "blocked", reason="the API server refuses it: bad"),
         ["**blocked** `ConfigMap web/a`, verified by the server: `the API server refuses it: bad`"]),
        (changed("a", warnings=["deprecated"]),
         ["**update** `ConfigMap web/a`, verified by the server", "- Warning: `deprecated`"]),
    ],
)  # fmt: skip
def test_what_is_told_of_an_object(made: PlanItem, lines: list[str]) -> None:
    paragraphs = [
        text for text in told(review(addon("app", [made])), "ConfigMap web/a", ("**",)) if "<" not in text[:1]
    ]
    assert [text for text in paragraphs if not text.startswith("```")] == lines


def test_ownership_is_told_at_the_object() -> None:
    assert told(review(every_sort()), "ConfigMap web/changed")[1].split("\n") == [
        "- `takes .spec.replicas why from kubectl why`",
        "- `shares .data.a why with lambda why`",
        "- `leaves .spec.a why to autoscaler why: why`",
        "- `leaves .spec.b as it is: why`",
        "- `absorbs the fields of helm why`",
        "- `removes .metadata.annotations.x why`",
        "- `repairs the ownership of helm why: its kind has no version x.io/v1 why any more`",
        "- `repairs lost ownership: what the source states becomes the add-on's, what it does not have stays nobody's`",
        "- Warning: `deprecated why`",
    ]


def test_a_diff_is_folded() -> None:
    text = markdown_preview(review(addon("app", [changed("a")])), 0)
    assert text.endswith(
        "<details><summary>diff, 3 lines</summary>\n\n```diff\n@@ -1,1 +1,1 @@\n-a0: 1\n+b0: 1\n```\n\n</details>\n"
    )


def test_objects_stand_in_the_order_of_importance() -> None:
    text = markdown_preview(review(every_sort()), 0)
    order = ["immutable", "left", "refused", "unseen", "changed", "taken", "new why", "coming", "stays", "doubtful"]
    heads = [line for line in text.split("\n") if line.startswith("**") and "` " not in line.partition("ConfigMap")[0]]
    assert [name for line in heads for name in order if f"`ConfigMap web/{name}`," in line] == order


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (addon("app", [item("a", "create")], plan={"gate": "adoption", "gate_reason": "Set adopt: true"}),
         "**Held back, it would take over or change what runs already**: `Set adopt: true`"),
        (addon("app", [item("a", "create")], plan={"gate": "manual-sync", "gate_reason": "raise it"}),
         "**Waits for somebody to ask for a sync**: `raise it`"),
        (addon("app", [item("a", "create")], plan={"gate": "hooks", "gate_reason": "has hooks"}),
         "**Held back, it has hooks that can't be run**: `has hooks`"),
        (addon("app", [item("a", "create")], {"phase": "Suspended", "message": "paused by x", "pending": False}),
         "**Left alone**: `paused by x`. What follows is what a sync would do otherwise."),
        (addon("app", [item("a", "create")], {"skipped": "depends on db, which failed"}),
         "**Skipped**: `depends on db, which failed`"),
        (addon("app", None, {"error": "no such chart", "message": "no such chart"}), "**Error**: `no such chart`"),
        (addon("app", None, {"message": "its definition left git"}), "`its definition left git`"),
        (addon("app", warnings=["a schema was not read"]), "- The render warns: `a schema was not read`"),
        (addon("app", [item("a", warnings=["old"])]), "- Warning: `old` (`ConfigMap web/a`)"),
        (addon("app", [item(f"o{n}", "create", warnings=["old"]) for n in range(100)]),
         "- Warning: `old` (`ConfigMap web/o0`, `ConfigMap web/o1`, `ConfigMap web/o2` and 97 more)"),
        (addon("app", [item("a", "create")], plan={"gone": [item("b").key]}),
         "1 create. 1 object of its inventory no longer exist."),
    ],
)  # fmt: skip
def test_what_is_told_of_an_add_on(made: ReviewedAddon, expected: str) -> None:
    assert expected in told(review(made), "app")


def test_a_refusal_is_told_once_besides_the_table() -> None:
    assert markdown_preview(review(every_sort()), 0).count("`ConfigMap web/refused: why`") == 2


def test_the_order_is_told_when_there_is_one() -> None:
    later = item("later", "create", layer=3)
    text = markdown_preview(review(addon("app", [later, changed("first", layer=1), changed("too", layer=1)])), 0)
    assert (
        "Order of applying:\n\n"
        "- layer 1: `ConfigMap web/first`, `ConfigMap web/too`\n- layer 3: `ConfigMap web/later`\n" in text
    )
    alone = addon("app", [changed("first", layer=1), item("same", layer=2), item("gone", "prune")])
    assert "Order" not in markdown_preview(review(alone), 0), "all that changes is applied at once"


def test_notes_of_the_run() -> None:
    made = review(addon("app"), invalid=["x.yaml: bad"], warnings=["uncommitted changes"], comparable=False)
    text = markdown_preview(made, 0)
    assert "- Definition file: `x.yaml: bad`\n- Warning: `uncommitted changes`\n" in text
    assert "stand-ins for secrets are made for this run alone" in text


def test_the_same_plans_give_the_same_text() -> None:
    assert markdown_preview(review(every_sort()), 3000) == markdown_preview(review(every_sort()), 3000)


# Nothing breaks out


def hostile_review() -> Review:
    broken = addon(HOSTILE, None, {"error": HOSTILE, "message": HOSTILE, "phase": HOSTILE}, why=HOSTILE)
    skipped = addon("skipped", [changed("a")], {"skipped": HOSTILE}, plan={"gate": "hooks", "gate_reason": HOSTILE})
    paused = addon("paused", [changed("a")], {"phase": "Suspended", "message": HOSTILE})
    return Review(
        HOSTILE, HOSTILE, HOSTILE, True, False,
        [broken, every_sort(text=HOSTILE), skipped, paused, LARGE], [HOSTILE] * 20, [HOSTILE] * 20,
    )  # fmt: skip


@pytest.mark.parametrize("size", [0, *SIZES])
def test_hostile_content_stays_in_code(size: int) -> None:
    text = markdown_preview(hostile_review(), size)
    tokens = READER.parse(text)
    everything = [child for token in tokens for child in token.children or [token]]
    # All of the markup is ours, whatever stands in the content.
    html = {token.content for token in everything if token.type.startswith("html")}
    assert {line.rstrip("\n") for line in html if not line.startswith("<details><summary>diff, ")} <= {
        MARKER,
        "</details>",
    }
    assert not {"link_open", "image", "code_block", "hr", "blockquote_open"} & {token.type for token in everything}
    assert [
        token.type for token in everything if EVIL in token.content and token.type not in ("code_inline", "fence")
    ] == []
    assert all(character.isprintable() or character in "\n\t" for character in text)
    # Each row of the table has all of its cells and no more.
    tables = [line.count("|") for line in text.split("\n") if line.startswith("|")]
    assert len(set(tables)) <= 1
    assert size or EVIL in text


# What a limit leaves


def reviews() -> dict[str, Review]:
    drawn = random.Random(5)
    many = [
        addon(f"add-on-{number}", [changed(f"o{n}", drawn.randrange(200)) for n in range(drawn.randrange(5))],
              why="reason " * drawn.randrange(40))
        for number in range(150)
    ]  # fmt: skip
    return {
        "nothing": review(addon("app", [item("a")])),
        "every sort": review(every_sort()),
        "one large": review(LARGE, addon("quiet", [item("a")])),
        "one long diff": review(addon("app", [changed("a", 5000), item("left", "prune", before="a: 1\n")])),
        "many add-ons": review(*many, warnings=["w" * 500] * 30),
        "only errors": review(*(addon(f"a{number}", None, {"error": "e" * 3000}) for number in range(50))),
        "hostile": hostile_review(),
        "multibyte": review(
            addon("app", [item(f"ü{number}", "create", after="ö: 漢字\n" * 30) for number in range(40)])
        ),
    }


REVIEWS = reviews()


@cache
def unlimited(name: str) -> str:
    return markdown_preview(REVIEWS[name], 0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", REVIEWS)
def test_a_limit_holds_and_what_was_cut_is_told(name: str, size: int) -> None:
    made, whole = markdown_preview(REVIEWS[name], size), unlimited(name)
    assert len(made.encode()) <= size
    assert ("**Cut" in made) is (made != whole)
    assert made == whole or len(whole.encode()) + 2 > size
    # Everything that was opened is closed.
    blocks = [token for token in READER.parse(made) if token.type in ("html_block", "fence")]
    kinds = [token.content[:5] if token.type == "html_block" else token.type for token in blocks]
    assert kinds == ["<!-- ", *["<deta", "fence", "</det"] * (len(kinds) // 3)]
    assert made.startswith(f"{MARKER}\n## Preview of the add-ons\n\n")


@pytest.mark.parametrize("size", [size for size in SIZES if size >= 1000])
def test_no_object_disappears_uncounted(size: int) -> None:
    text = markdown_preview(REVIEWS["one large"], size)
    shown = text.count("**update** ")
    hidden = "" if shown == 300 else f" {300 - shown} objects with {(300 - shown) * 81} lines of diff"
    assert hidden in text
    assert hidden or "objects with" not in text


def test_a_small_change_is_not_lost_behind_a_large_one() -> None:
    text = markdown_preview(REVIEWS["one long diff"], 5000)
    assert "**prune (deletes it)** `ConfigMap web/left`" in text
    assert "diff, 2 lines" in text
    assert "diff, 300 of 10001 lines" in text
    assert "… 9701 more lines\n```" in text
    assert "**Cut** in `app`: 9701 lines of the diffs of 1 object above." in text


def test_of_many_add_ons_those_with_changes_stay_in_the_table() -> None:
    quiet = [addon(f"quiet-{number}", [item("a")]) for number in range(200)]
    text = markdown_preview(review(*quiet, addon("changing", [changed("a")])), 2000)
    assert "| `changing` |" in text
    shown = text.count("\n| `quiet-")
    assert shown > 20
    assert f"**Cut**: {200 - shown} more add-ons, 0 of them with something to tell." in text


def test_the_work_grows_with_the_number_of_add_ons_and_not_with_its_square() -> None:
    def made(count: int) -> Review:
        return review(*(addon(f"add-on-{number}", [changed(f"o{n}") for n in range(10)]) for number in range(count)))

    few, many = made(25), made(100)
    assert calls_of(lambda: markdown_preview(many, 5000)) < 5 * calls_of(lambda: markdown_preview(few, 5000))
    assert calls_of(lambda: markdown_preview(many, DEFAULT_SIZE)) < 5 * calls_of(
        lambda: markdown_preview(few, DEFAULT_SIZE)
    )


def test_hidden_objects_are_named_if_there_is_room() -> None:
    items = [item(f"o{number:03}", "create", reason="r" * 500) for number in range(100)]
    text = markdown_preview(review(addon("app", items)), 10_000)
    assert "Not shown of `app`: `ConfigMap web/o" in text
