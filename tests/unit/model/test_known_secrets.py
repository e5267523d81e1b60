"""Which values are looked for in texts, and in which forms they are found."""

from __future__ import annotations

import base64
import json
import random
import string
import time
from urllib.parse import quote

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.known_secrets import KnownSecrets, Secret
from tests.unit.model.counted_calls import calls_of

PEM = """-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASC
KcwggSjAgEAAoIBAQC7VJTUt9Us8cKj
-----END PRIVATE KEY-----
"""


def known(*values: str | bytes | Secret, names: tuple[str, ...] = ()) -> KnownSecrets:
    secrets = []
    for value in values:
        content = value.encode() if isinstance(value, str) else value
        secrets.append(content if isinstance(content, Secret) else Secret(content))
    return KnownSecrets(secrets, names, lambda content: f"<{content[:3].decode('ascii', 'replace')}>")


def encoded(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("abcd", True),
        ("abc", False),
        ("", False),
        ("    ", False),
        ("True", False),
        ("none", False),
        ("5432", False),
        ("65535", False),
        ("-12345", False),
        ("123456", True),
        ("----", False),
        ("------------", False),
        ("!?$%&/()", True),
        ("public-name", False),
        ("geheimnisträger", True),
        ("hunter2\n", True),
    ],
)
def test_what_counts_as_a_secret(value: str, found: bool) -> None:
    secrets = known(value, names=("public-name",))
    text = f"x {value.strip()} y"
    assert (secrets.replaced(text) != text) is found


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("password", True),
        ("username", False),
        ("POSTGRES_USER", False),
        ("adminUser", False),
        ("db.host", False),
        ("user-token", True),
        ("", True),
    ],
)
def test_a_key_can_say_that_its_value_is_none(key: str, found: bool) -> None:
    secrets = KnownSecrets([Secret.of(b"postgres", key)], (), lambda _: "***")
    assert (secrets.replaced("image postgres:16") == "image ***:16") is found


def test_a_value_under_two_keys_is_a_secret() -> None:
    both = [Secret.of(b"admin", "username"), Secret.of(b"admin", "password")]
    assert KnownSecrets(both, (), lambda _: "***").replaced("admin") == "***"


@pytest.mark.parametrize(
    ("value", "text", "replaced"),
    [
        # Short ones are whole words.
        ("admin", "user=admin;", "user=<adm>;"),
        ("admin", "administrator sysadmin admin1", "administrator sysadmin admin1"),
        ("admin", "DB_admin_x", "DB_<adm>_x"),
        ("p@ss", "a p@ss, p@ssword, xp@ss", "a <p@s>, p@ssword, xp@ss"),
        ("@bcd", "x@bcd", "x<@bc>"),
        ("admin", r"first\nadmin\tx \u003dadmin", r"first\n<adm>\tx \u003d<adm>"),
        ("admin", "pw%3Dadmin%26", "pw%3D<adm>%26"),
        # Long ones are found anywhere, at each distance from the beginning.
        *[("twelve-chars", "x" * count + "twelve-charsyy", "x" * count + "<twe>yy") for count in range(7)],
        # Forms.
        ("hunter2", f"data {encoded('hunter2')}", "data <hun>"),
        ("hunter2", f"data {encoded('hunter2').rstrip('=')}", "data <hun>"),
        ("secret value", f"{encoded('secret value')}", "<sec>"),
        ("/pass?word+", quote("/pass?word+", ""), "</pa>"),
        ("/pass?word+", quote("/pass?word+", "").lower(), "</pa>"),
        ("a&b<c>d", json.dumps("a&b<c>d"), '"<a&b>"'),
        ("a&b<c>d", r'"a\u0026b\u003cc\u003ed"', '"<a&b>"'),
        ('line\none "é"', json.dumps('line\none "é"'), '"<lin>"'),
        ('line\none "é"', json.dumps('line\none "é"', ensure_ascii=False), '"<lin>"'),
        ('x "é" & more', json.dumps('x "é" & more', ensure_ascii=False), '"<x ">"'),
        # Parts.
        ("hunter2\n", "is hunter2.", "is <hun>."),
        (PEM, "  MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "  <MII>"),
        (PEM, "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----"),
        ('{"auths": {"r.io": {"username": "robot", "password": "pull-it"}}}', "robot pull-it", "robot <pul>"),
        ('{"auths": {"r.io": {"auth": "cm9ib3Q6cHVsbC1pdA"}}}', "cm9ib3Q6cHVsbC1pdA==", "<cm9>=="),
        ('{"level": "debug", "host": "db.example.com"}', "debug db.example.com", "debug db.example.com"),
        ("[smtp]\nuser = bot\npassword = hunter2\nlevel = debug\n", "bot hunter2 debug", "bot <hun> debug"),
        ("API_KEY='abc-def'\nMODE=debug\n", "abc-def debug", "<abc> debug"),
        ("postgres://app:hunter2@db/x", "hunter2", "<hun>"),
        # Nothing of values that overlap stays.
        ("hunter2", "hunter22", "hunter22"),
    ],
)  # fmt: skip
def test_forms_in_which_a_value_is_found(value: str, text: str, replaced: str) -> None:
    assert known(value).replaced(text) == replaced


@pytest.mark.parametrize("before", ["", "u", "us", "use"])
def test_a_value_within_a_longer_base64_text_is_found(before: str) -> None:
    text = known("correct-horse-battery").replaced(encoded(f"{before}:correct-horse-battery:after"))
    left = text.replace("<cor>", "")
    assert "<cor>" in text
    assert len(left) <= len(encoded(f"{before}::after")) + 4


def test_binary_values_are_found_as_base64() -> None:
    value = bytes(range(128, 200))
    assert known(value).replaced(f"x {base64.b64encode(value).decode()} y") == "x <\ufffd\ufffd\ufffd> y"


def test_nothing_is_left_of_values_that_overlap() -> None:
    secrets = known("abcdefghijklmnop", "lmnopqrstuvwxyz", "abcdefghijkl")
    assert secrets.replaced("abcdefghijklmnopqrstuvwxyz") == "<abc><lmn>"
    assert secrets.replaced("abcdefghijklmnop abcdefghijklx") == "<abc> <abc>x"


def test_keys_of_mappings_keep_short_words() -> None:
    secrets = known("password", "long-enough-to-be-one")
    assert secrets.replaced_key("password") == "password"
    assert secrets.replaced_key("x-long-enough-to-be-one") == "x-<lon>"


@pytest.mark.parametrize(
    ("number", "replaced"), [(7391846205, "<739>"), (7391846206, 7391846206), (5432, 5432), (1.5, 1.5)]
)
def test_a_number_that_is_a_secret_is_hidden(number: float, replaced: float | str) -> None:
    assert known("7391846205", "5432").replaced_number(number) == replaced


LONG_SECRET = "correct-horse-battery-staple"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('Invalid value: "abc"', 'Invalid value: "<abc>"'),
        ("parsing 'abc' abc", "parsing '<abc>' abc"),
        ('Invalid value: "true", true', 'Invalid value: "<tru>", true'),
        (f'Invalid value: "{encoded("abc")}"', 'Invalid value: "<abc>"'),
        (f'"{LONG_SECRET}" is wrong', '"<cor>" is wrong'),
        ('"correct-horse-b…', '"<cor>…'),
        ('"correct-horse-b..." is too long', '"<cor>..." is too long'),
        ("error in #10 byte of ...|attery-staple\",|..., more", "error in #10 byte of ...|<cor>\",|..., more"),
        (f"starts {encoded(LONG_SECRET)[:20]}…", "starts <cor>…"),
        ("cor…", "cor…"),
        # Numbers of any length, where a message names the value.
        ("a: Invalid value: 48213: must be less than 10", "a: Invalid value: <482>: must be less than 10"),
        ("a: Invalid value: -7.5, 48213 bytes", "a: Invalid value: <-7.>, 48213 bytes"),
        ("Invalid value: 48214: x, 48213.5, 148213", "Invalid value: 48214: x, 48213.5, 148213"),
        ("Invalid value: 48213.5: x", "Invalid value: 48213.5: x"),
        (".a: expected string, got &value.valueUnstructured{Value:48213}",
         ".a: expected string, got &value.valueUnstructured{Value:<482>}"),
        ("expected map, got &{48213}", "expected map, got &{<482>}"),
        ("expected map, got 48213", "expected map, got <482>"),
        # Base64 of what is too short to be looked for itself.
        ("data: NDgyMTM=, NDgyMTM", "data: <482>, <482>"),
        ("data: YWJj. xYWJj", "data: <abc>. xYWJj"),
        ("data: b2s=", "data: b2s="),
        ('secrets "login" not found', 'secrets "login" not found'),
    ],
)  # fmt: skip
def test_messages_in_which_values_are_quoted_or_cut(text: str, masked: str) -> None:
    secrets = known("abc", "true", LONG_SECRET, "48213", "-7.5", Secret(b"login"), Secret(b"ok"), names=("login", "ok"))
    assert secrets.replaced_in_message(text) == masked


def test_no_value_stays_whatever_surrounds_it() -> None:
    """By chance: values that count, in texts of the same characters."""
    chance = random.Random(5)
    alphabet = string.ascii_letters + string.digits + "-_.:/+=&%\\\"'\n é<"
    for _ in range(300):
        values = ["".join(chance.choices(alphabet, k=chance.randint(12, 60))) for _ in range(10)]
        secrets = known(*values)
        text = "".join(
            "".join(chance.choices(alphabet, k=chance.randint(0, 9))) + chance.choice(values) for _ in range(20)
        )
        shown = secrets.replaced(text)
        assert not [value for value in values if value in shown]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([f"abcd-{number:04}" for number in range(500)], "abcd " * 500),
        ([f"!?$%&/={chr(0x3000 + number)}" for number in range(500)], "!?$%&/=( " * 300),
        ([f"abcd-xyz-{number:06}" for number in range(500)], "abcd-xyz-abcd " * 500),
        ([f"aaaaaaaaaaaaaaaaaaaa{number:04}" for number in range(500)], "a" * 3000),
    ],
)
def test_the_work_does_not_grow_with_how_many_values_begin_alike(values: list[str], text: str) -> None:
    few, many = known(*values[:5]), known(*values)
    # The first search sorts them.
    assert few.replaced(text) == many.replaced(text) == text
    assert calls_of(lambda: many.replaced(text)) < 1.5 * calls_of(lambda: few.replaced(text)) + 50


def test_a_value_of_very_many_parts_counts_whole_and_by_its_first_ones() -> None:
    lines = [f"line {number} of a long table" for number in range(10_000)]
    texts = [f"text {number} of a long list" for number in range(10_000)]
    made: set[bytes] = set()

    def stand_in(content: bytes) -> str:
        made.add(content)
        return "***"

    secrets = KnownSecrets([Secret("\n".join(lines).encode()), Secret(json.dumps(texts).encode())], (), stand_in)
    assert len(made) < 5000
    assert secrets.replaced("\n".join(lines)) == "***"
    assert secrets.replaced(lines[0]) == secrets.replaced(lines[1999]) == secrets.replaced(texts[1999]) == "***"


def test_many_values_and_long_texts_take_no_time() -> None:
    chance = random.Random(5)
    values = [f"{chance.getrandbits(64):016x}" for _ in range(2000)]
    text = " ".join(f"{chance.getrandbits(40):x}" for _ in range(100_000))
    start = time.process_time()
    assert known(*values).replaced(f"{text} {values[7]}") == f"{text} <{values[7][:3]}>"
    # About 0.3 s; one regular expression of all forms takes minutes.
    assert time.process_time() - start < 10
