"""Keeping results within their budget of tokens, and saying what was left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.tools.truncate import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clew.tools.spec import Result

_FARTHEST = 1_000_000


def read_cursor(cursor: str | None, farthest: int = _FARTHEST) -> int:
    """How many items come before the page that a cursor stands for."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdecimal() or int(cursor) > farthest:
        raise InputError(
            f"cursor cannot be {cursor!r}; expected next_cursor of the result before, or null for"
            " the beginning. Call it again with that"
        )
    return int(cursor)


def no_room(name: str) -> InputError:
    """The error for a page without room for its first item: the next would be the same one."""
    return InputError(
        f"max_tokens leaves no room for {shortened(name, 60)!r}, which comes next; call it again"
        " with twice as much"
    )


def fitting(
    items: Iterable[Result], around: Result, max_tokens: int, count: Callable[[str], int]
) -> list[Result]:
    """The first items that fit into a result of at most `max_tokens` beside what is `around` them.

    Tokens are counted by `count` on the JSON text that a client gets.
    """
    room = max_tokens - count(_text({"success": True, **around}))
    kept: list[Result] = []
    for item in items:
        # One for the comma that parts it from the next.
        room -= count(_text(item)) + 1
        if room < 0:
            break
        kept.append(item)
    return kept


def _text(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False)
