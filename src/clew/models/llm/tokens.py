"""How many tokens a prompt takes, where the model's own tokenizer is not at hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.ports.language_model import Request

PER_CHARACTER = 0.25
"""Tokens of a character of English; the store knows better once a model was asked."""
_MOST_PER_BYTE = 0.5
"""Tokens of a byte of UTF-8, at most, but for digits and noise."""
_SHORTEST = 2048
"""Tokens of a context, at least."""
_INSTRUCTIONS = 1024
"""Tokens of what is said beside passages, at most."""
_AROUND = 64
"""Tokens that a chat template puts around a request, at most."""


def prompt_text(request: Request) -> str:
    """All that the model is sent, as one text."""
    tools = [(t.name, t.description, dict(t.parameters)) for t in request.tools]
    parts = [request.instructions, *(message.text for message in request.messages)]
    parts += [call.arguments for message in request.messages for call in message.calls]
    return "\n".join([*parts, json.dumps(tools)] if tools else parts)


def most_tokens(request: Request) -> int:
    """More tokens than the prompt takes, but rarely twice as many."""
    return int(len(prompt_text(request).encode()) * _MOST_PER_BYTE) + _AROUND


def fewest_tokens(request: Request) -> int:
    """Fewer tokens than the prompt takes: no token goes beyond a word.

    Tools are not counted, since a model's template may leave them out.
    """
    texts = (request.instructions, *(message.text for message in request.messages))
    return sum(len(text.split()) for text in texts)


def most_tokens_of_passages(count: int, tokens: int) -> int:
    """The same for a prompt of some passages, of so many tokens each in truth."""
    return int(count * tokens / PER_CHARACTER * _MOST_PER_BYTE) + _INSTRUCTIONS


def context_length(tokens: int) -> int:
    """The context to load a model with for so many tokens: 2,048, 3,072, 4,096, 6,144 and so on.

    Few lengths, since whatever serves models loads one again for each other length.
    """
    power = max(_SHORTEST, 1 << (tokens - 1).bit_length())
    shorter = power // 4 * 3
    return shorter if _SHORTEST < shorter >= tokens else power
