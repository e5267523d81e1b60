"""Texts of real git, ssh and servers, and what is made of them."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.repository.git_errors import in_words

NO_REPOSITORY = "there is no git repository"
NOT_ACCEPTED = "it does not accept the credentials that git has"
NETWORK = "see that the server and the network (a proxy, a firewall) let git through"


@pytest.mark.parametrize(
    ("output", "message", "hint"),
    [
        (
            "fatal: unable to access 'https://x.test/y/': Could not resolve host: x.test\n",
            "git can't read it: Could not resolve host: x.test",
            NETWORK,
        ),
        (
            "ssh: connect to host x.test port 22: Connection timed out\r\n"
            "fatal: Could not read from remote repository.\n"
            "\nPlease make sure you have the correct access rights\nand the repository exists.\n",
            "git can't read it: ssh: connect to host x.test port 22: Connection timed out",
            NETWORK,
        ),
        (
            "Warning: Permanently added 'x.test' (ED25519) to the list of known hosts.\r\n"
            "git@x.test: Permission denied (publickey).\r\nfatal: Could not read from remote repository.\n",
            "git can't read it: git@x.test: Permission denied (publickey)",
            "give ssh a key that is accepted there, without passphrase or with an agent",
        ),
        (
            "@@@@@@@@@@@@@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@@@@@@@@@@@@@@@@@\n"
            "Host key verification failed.\nfatal: Could not read from remote repository.\n",
            "ssh does not know the host's key, or it is another one than before",
            "put the right one into known_hosts",
        ),
        (
            "fatal: '/srv/x' does not appear to be a git repository\nfatal: Could not read from remote repository.\n",
            NO_REPOSITORY,
            "correct the URL, or get the right to read it",
        ),
        ("remote: Repository not found.\nfatal: repository 'https://x.test/y/' not found\n", NO_REPOSITORY, None),
        (
            "remote: \nremote: ========================================\nremote: \n"
            "remote: ERROR: The project you were looking for could not be found.\nremote: \n",
            NO_REPOSITORY,
            None,
        ),
        (
            "remote: \nremote: ====================\nremote: \nremote: ERROR: The project is frozen.\n",
            "git can't read it: ERROR: The project is frozen",
            NETWORK,
        ),
        (
            "fatal: https://x.test/y/info/refs not valid: is this a git repository?\n",
            NO_REPOSITORY,
            "correct the URL, or get the right to read it",
        ),
        (
            "fatal: could not read Username for 'https://x.test': terminal prompts disabled\n",
            "it asks for credentials, and git has none that it accepts",
            None,
        ),
        ("fatal: Authentication failed for 'https://x.test/y/'\n", NOT_ACCEPTED, None),
        (
            "remote: HTTP Basic: Access denied\nfatal: unable to access 'https://x.test/': The requested URL returned "
            "error: 403\n",
            NOT_ACCEPTED,
            None,
        ),
        (
            "fatal: unable to access 'https://x.test/y/': server certificate verification failed. CAfile: none\n",
            "git can't read it: server certificate verification failed. CAfile: none",
            "give git the authority's certificate with http.sslCAInfo",
        ),
        (
            "fatal: detected dubious ownership in repository at '/srv/x'\n"
            "To add an exception for this directory, call:\n",
            "git can't read it: detected dubious ownership in repository at '/srv/x'",
            "if you trust it: git config --global --add safe.directory and its folder",
        ),
        ("", "git can't read it: git failed", NETWORK),
        ("\n\n", "git can't read it: git failed", NETWORK),
        ("fatal: odd\x1b[31m\x07 text\n", "git can't read it: odd[31m text", NETWORK),
        (f"fatal: {'x' * 500}\n", f"git can't read it: {'x' * 200}", NETWORK),
    ],
)
def test_known_texts(output: str, message: str, hint: str | None) -> None:
    assert in_words(output)[0] == message
    assert hint in (None, in_words(output)[1])


@pytest.mark.parametrize(
    "line",
    [
        "fatal: unable to access 'https://deploy:hunter2@x.test/y/': Connection reset by peer",
        "fatal: odd answer from https://hunter2@x.test/y",
        "fatal: odd answer from ssh://git:hun@hunter2@x.test/y",
        "remote: you sent Authorization: Basic hunter2-hunter2",
        "remote: you sent authorization=hunter2",
        "remote: you sent Basic hunter2-hunter2",
        "remote: you sent bearer hunter2-hunter2 to us",
        "remote: unknown PRIVATE-TOKEN: hunter2",
        "remote: Set-Cookie: session=hunter2",
        "remote: password=hunter2",
    ],
)
def test_secrets_are_taken_out(line: str) -> None:
    message, hint = in_words(f"{line}\nfatal: Could not read from remote repository.\n")
    assert "hunter2" not in message + hint
    assert message.startswith("git can't read it: ")
    assert len(message) > len("git can't read it: ") + 5
