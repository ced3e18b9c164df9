"""Keeping results within their budget of tokens, and saying what was left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from clew.errors import InputError, NotFoundError
from clew.operations.spec import Call, Result


def read_cursor(cursor: str | None, farthest: int = 1_000_000) -> int:
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
    room = max_tokens - tokens_of({"success": True, **around}, count)
    kept: list[Result] = []
    for item in items:
        # One for the comma that parts it from the next.
        room -= tokens_of(item, count) + 1
        if room < 0:
            break
        kept.append(item)
    return kept


# As much of a text as fits into a budget of tokens.


_WIDEST = 16
"""Characters of a token beyond which no text is looked at: it would only take time."""


def tokens_of(value: object, count: Callable[[str], int]) -> int:
    """Tokens of a value as the JSON text that a client gets."""
    return count(json.dumps(value, ensure_ascii=False))


def fitting_length(text: str, room: int, count: Callable[[str], int]) -> int:
    """Length of the longest beginning of a text that fits, found by halving; 0 where none does.

    A beginning with more characters has about as many tokens or more, so that halving ends at most
    a few characters from the longest, and always at one that fits.
    """
    low, high = 0, min(len(text), max(room, 0) * _WIDEST)
    if high == len(text) and tokens_of(text, count) <= room:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if tokens_of(text[:middle], count) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def truncate(text: str, room: int, count: Callable[[str], int]) -> str:
    """The longest beginning that fits, at least one character of it, ending with a whole word."""
    length = fitting_length(text, room, count)
    if length == len(text):
        return text
    kept = text[: max(length, 1)]
    last = max(kept.rfind(" "), kept.rfind("\n"))
    # Scripts without spaces, and words longer than the room, are cut anywhere.
    return kept[: last + 1] if last > len(kept) // 2 else kept


def shortened(text: str, characters: int) -> str:
    """The text in at most so many characters, its middle left out."""
    if len(text) <= characters:
        return text
    half = (characters - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


# Which namespaces a call may name.


def own_namespaces(call: Call, namespaces: Sequence[str]) -> Sequence[str]:
    """Namespaces that the caller may name; another's is an error, whether it exists or not."""
    yours = call.caller.namespaces or (call.engine.settings.namespace,)
    for name in namespaces:
        if name not in yours:
            raise NotFoundError(f"no namespace {name!r} of yours; yours are {', '.join(yours)}")
    return namespaces
