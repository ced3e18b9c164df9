"""As much of a text as fits into a budget of tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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
