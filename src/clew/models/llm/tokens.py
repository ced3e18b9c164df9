"""How many tokens a prompt takes, where the model's own tokenizer is not at hand."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.ports.language_model import Request

PER_CHARACTER = 0.25
"""Tokens of a character of English."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_USUAL_WORD = 7
"""Letters of a word that most vocabularies have whole."""
_DIGIT, _MARKS, _LINES = re.compile(r"[0-9]"), re.compile(r"(?:[^\w\s]|_)+"), re.compile(r"\n+")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_OTHER_LETTER = re.compile(r"[^\W\d_A-Za-z\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
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


def usual_tokens(text: str) -> float:
    """About as many tokens as most models make of a text, whatever it is: prose, code, numbers.

    Weights are those of published vocabularies of 65,000 to 200,000 tokens, taken together; smaller
    ones, and those with a token for each digit, make up to a quarter more.
    """
    words, marks = _WORD.findall(text), _MARKS.findall(text)
    beyond = sum(max(len(word) - _USUAL_WORD, 0) for word in words)
    digits, lines = len(_DIGIT.findall(text)), len(_LINES.findall(text))
    ideographs, others = len(_IDEOGRAPH.findall(text)), len(_OTHER_LETTER.findall(text))
    return (
        (1.05 * len(words) + 0.1 * beyond)
        + (0.8 * len(marks) + 0.1 * sum(map(len, marks)))
        + (0.85 * digits + 0.7 * lines)
        + (1.0 * ideographs + 0.8 * others)
    )


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
