"""What a Helm chart looks at beside its values, told from its text without rendering it: the cluster, and chance.

Charts look at the API list through ``.Capabilities.APIVersions.Has "group/version"``, nearly always with a literal.
Then nothing but these entries counts; with anything else (a variable, ``printf``, a loop) the whole list does. Text
that is no template is read as if it were one, since ``tpl`` makes templates of values and files: that errs on the safe
side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .cluster_facts import Asked

_ANY = re.compile(r"\bAPIVersions\b")
_LITERAL = re.compile(r"""\bAPIVersions\.Has\s+\(?\s*(?:"([^"\\{}]+)"|`([^`{}]+)`)""")
_UPGRADE = re.compile(r"\bIs(?:Install|Upgrade)\b")
_CHANCE = re.compile(r"\b(?:rand\w+|gen\w*(?:Key|CA|Cert)\w*|uuidv4|htpasswd|bcrypt|encryptAES|shuffle|now|ago)\b")
"""Functions of Helm's templates that yield something else each time."""


def may_be_random(texts: Iterable[str]) -> bool:
    """Whether two renders of a chart with these files and values can differ."""
    return any(_CHANCE.search(text) for text in texts)


def asked_by(texts: Iterable[str]) -> Asked:
    """The questions of a chart with these files (those of its subcharts included) and values."""
    literals: set[str] = set()
    anything = upgrade = False
    for text in texts:
        found = _LITERAL.findall(text)
        literals.update(quoted or raw for quoted, raw in found)
        anything = anything or len(_ANY.findall(text)) > len(found)
        upgrade = upgrade or bool(_UPGRADE.search(text))
    return Asked(None if anything else tuple(sorted(literals)), upgrade)
