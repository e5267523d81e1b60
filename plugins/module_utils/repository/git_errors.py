"""What git and ssh say when a remote can't be read, as one line without secrets and with what to do.

Credentials can be in it: git repeats URLs that the user's configuration made, and servers repeat what they were sent.
"""

from __future__ import annotations

import re

_LONGEST = 200

_PREFIXES = re.compile(r"^((fatal|error|remote): ?)+(unable to access '[^']*': )?")
_WARNING = re.compile(r"warning:|cloning into|[@*=]{3}", re.IGNORECASE)
_SECRETS = (
    (re.compile(r"(?<=://)[^\s/]*@"), ""),
    (re.compile(r"(authorization|cookie|token|password)(\s*[:=]).*", re.IGNORECASE), r"\1\2 …"),
    (re.compile(r"\b(basic|bearer)\s+\S{8,}", re.IGNORECASE), r"\1 …"),
)
_ASKS = "it asks for credentials, and git has none that it accepts"
_GIVE_CREDENTIALS = (
    "give git the credentials (a credential helper, or http.extraHeader through GIT_CONFIG_* in the environment), or "
    "correct the URL"
)
# The first that is found anywhere in the text. Without a clause of its own, git's is shown.
_CAUSES = (
    (r"could not read (Username|Password)", _ASKS, _GIVE_CREDENTIALS),
    (r"Authentication failed|error: 40[13]", "it does not accept the credentials that git has", _GIVE_CREDENTIALS),
    (r"error: 30\d", "it redirects to another URL", "give that URL"),
    (r"Permission denied \(", "", "give ssh a key that is accepted there, without passphrase or with an agent"),
    (
        r"Host key verification failed",
        "ssh does not know the host's key, or it is another one than before",
        "put the right one into known_hosts",
    ),
    (r"dubious ownership", "", "if you trust it: git config --global --add safe.directory and its folder"),
    (
        r"not appear to be a git repo|[Rr]epository .*not found|not exist|is this a git repo|could not be found",
        "there is no git repository",
        "correct the URL, or get the right to read it",
    ),
    (r"certificate", "", "give git the authority's certificate with http.sslCAInfo"),
    (r"transport '.*' not allowed", "", "use https://, ssh://, file:/// or git@host:path"),
    (r"No space left on device", "", "make room, or give another folder as addon_cache_dir"),
    (r"", "", "see that the server and the network (a proxy, a firewall) let git through"),
)


def in_words(output: str) -> tuple[str, str]:
    """A clause and a hint for what was written to standard error: its first line that says something."""
    lines = (_PREFIXES.sub("", line.strip()) for line in output.splitlines())
    first = next((line for line in lines if re.search(r"\w", line) and not _WARNING.match(line)), "git failed")
    cleaned = "".join(character for character in first if character.isprintable())
    for secret, replacement in _SECRETS:
        cleaned = secret.sub(replacement, cleaned)
    _, message, hint = next(cause for cause in _CAUSES if re.search(cause[0], output))
    return message or f"git can't read it: {cleaned[:_LONGEST].rstrip('.')}", hint
