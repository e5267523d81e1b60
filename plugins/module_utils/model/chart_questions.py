"""What a Helm chart looks at beside its values, told from its text without rendering it.

That is the cluster, objects in it (``lookup``), and chance.

Charts look at the API list through ``.Capabilities.APIVersions.Has "group/version"``, nearly always with a literal.
Then nothing but these entries counts; with anything else (a variable, ``printf``, a loop, all of ``.Capabilities``) the
whole list does. All text counts that stands between double braces, since ``tpl`` makes templates of values and files:
that errs on the safe side. What can't be seen is a chart that prints its whole context (``toYaml $``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .cluster_facts import Asked

_API_LIST = re.compile(r"""\bAPIVersions\b|(?:\.|["'`])Capabilities\b(?!\.(?:APIVersions|KubeVersion|HelmVersion)\b)""")
_TEXT = r"""(?:"([^"\\{}]+)"|`([^`{}]+)`)"""
_LITERAL = re.compile(rf"\bAPIVersions\.Has\s+(?:{_TEXT}|\(\s*{_TEXT}\s*\))")
_UPGRADE = re.compile(r"""\bIs(?:Install|Upgrade)\b|(?:\.|["'`])Release\b(?!\.(?:Name|Namespace|Service|Revision)\b)""")
_CHANCE = re.compile(r"\b(?:rand\w+|gen\w*(?:Key|CA|Cert)\w*|uuidv4|htpasswd|bcrypt|encryptAES|shuffle|now|ago)\b")
"""Functions of Helm's templates that yield something else each time."""
_CLOCK = re.compile(r"\b(?:now|ago|gen\w*(?:CA|Cert)\w*)\b")
_LOOKUP = re.compile(r"""(?<![\w.$"'/-])lookup\b(?![\w.:=/-])""")
"""A call, not a part of a name as in ``include "common.lookup"`` or ``.Values.lookup``."""


def asked_by(texts: Iterable[str]) -> Asked:
    """The questions of a chart with these files (those of its subcharts included) and values."""
    literals: set[str] = set()
    anything = upgrade = False
    for text in map(_actions, texts):
        found = _LITERAL.findall(text)
        literals.update(next(filter(None, groups)) for groups in found)
        anything = anything or len(_API_LIST.findall(text)) > len(found)
        upgrade = upgrade or bool(_UPGRADE.search(text))
    return Asked(None if anything else tuple(sorted(literals)), upgrade)


def may_be_random(texts: Iterable[str]) -> bool:
    """Whether two renders of a chart with these files and values can differ."""
    return any(_CHANCE.search(_actions(text)) for text in texts)


def asks_the_clock(texts: Iterable[str]) -> bool:
    """Whether two renders of such a chart can be the same only because they are made at the same time."""
    return any(_CLOCK.search(_actions(text)) for text in texts)


def looks_up(texts: Iterable[str]) -> bool:
    """Whether a chart with these files and values reads objects of the cluster with ``lookup``."""
    return any(_LOOKUP.search(_actions(text)) for text in texts)


def _actions(text: str) -> str:
    """What stands between double braces, without comments. Each step goes forward: a text of braces takes no time."""
    found = []
    position = text.find("{{")
    while position >= 0:
        comment = text[position + 2 : position + 10].lstrip("- \t\r\n").startswith("/*")
        end = text.find("*/" if comment else "}}", position)
        if end < 0:
            found.append(text[position:])
            break
        if not comment:
            found.append(text[position:end])
        position = text.find("{{", end)
    return "\n".join(found)
