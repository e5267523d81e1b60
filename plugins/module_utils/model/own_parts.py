"""What of a live value is ours: just that is sent to leave all of the value as it is.

Server-side apply removes what we owned and no longer send, unless somebody else owns it, too. To send what others own
would make us its owner, and to send what nobody owns (the server's defaults) as well.
"""

from __future__ import annotations

from typing import Any

from .fields import NOTHING
from .managed_fields import FieldTree, item_keys, tree_below


def own_parts(value: Any, own: FieldTree, others: FieldTree | None) -> Any:
    """The part of a live value that nobody but us holds, ``NOTHING`` when others hold all that is ours.

    Items of a list in it have the keys that tell them apart.

    :param own: what we own of the value, empty for all of it.
    :param others: what others own of it, ``None`` for nothing.
    """
    if others is None and not own:
        return value
    if not isinstance(value, dict | list) or (not own and not others):
        return value if others is None else NOTHING
    found = _of_mapping(value, own, others) if isinstance(value, dict) else _of_list(value, own, others)
    return found if found or others is None else NOTHING


def _of_mapping(value: dict[str, Any], own: FieldTree, others: FieldTree | None) -> dict[str, Any]:
    parts = {name: _part(value, name, own, others) for name in value}
    return {name: part for name, part in parts.items() if part is not NOTHING}


def _of_list(value: list[Any], own: FieldTree, others: FieldTree | None) -> list[Any]:
    found = []
    for index, item in enumerate(value):
        part = _part(value, str(index), own, others)
        if isinstance(part, dict):
            keys = {name: item[name] for name in sorted(item_keys(own, item)) if name in item}
            found.append({**keys, **part})
        elif part is not NOTHING:
            found.append(part)
    return found


def _part(value: Any, step: str, own: FieldTree, others: FieldTree | None) -> Any:
    # A tree that is empty owns all that is below it, as far as it isn't told apart by others.
    ours = tree_below(own, value, step) if own else {}
    if ours is None:
        return NOTHING
    theirs = tree_below(others, value, step) if others else None
    return own_parts(value[int(step)] if isinstance(value, list) else value[step], ours, theirs)
