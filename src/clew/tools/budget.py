"""Keeping results within their budget of tokens, and saying what was left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clew.tools.spec import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.tools.spec import Result

LEAST_TOKENS = 500
"""The least budget: whatever a result says beside its items fits into it."""
MAX_TOKENS = Parameter(
    name="max_tokens",
    kind="integer",
    description="Tokens of the result, 500 to 100000. Default 4000.",
    default=4000,
    minimum=LEAST_TOKENS,
    maximum=100_000,
)


def fitting(
    items: Sequence[Result], around: Result, max_tokens: int, count: Callable[[str], int]
) -> list[Result]:
    """The first items that fit into a result of at most `max_tokens` beside what is `around` them.

    Tokens are counted by `count` on the JSON text that a client gets.
    """
    room = max_tokens - count(_text(around))
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
