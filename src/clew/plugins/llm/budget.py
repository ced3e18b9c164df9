"""What may be spent, what was, and what work would take before it begins."""

from __future__ import annotations

import json
import math
import random
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from clew.errors import BudgetError, InputError
from clew.ports import Estimate, LoggedReply, Reply, Request
from clew.types import Usage

_SAMPLED = 64
"""Requests whose words are counted, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What requests took so far."""

    requests: int = 0
    """Those that were answered from the cache not counted."""
    cached: int = 0
    """Those that were."""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars, of the requests whose price is known; None where none is."""


class Budget:
    """Counts what requests take, and refuses the one that would go beyond a limit.

    Threads may share it. 0 is no limit. Requests under way are not counted before they are
    answered: as many as run at a time may go beyond the limit together.
    """

    def __init__(
        self, max_tokens: int = 0, max_cost: float = 0.0, *, within: Budget | None = None
    ) -> None:
        """What is counted here counts for `within`, too, whose limits hold as well.

        Raises `InputError` for limits below 0 or without an end.
        """
        if not (max_tokens >= 0 and max_cost >= 0 and math.isfinite(max_cost)):
            raise InputError(
                f"limits of {max_tokens!r} tokens and ${max_cost!r} cannot be; expected numbers"
                " from 0, which is no limit"
            )
        self._max_tokens, self._max_cost, self._within = max_tokens, max_cost, within
        self._lock = threading.Lock()
        self.spent = Spent()

    def check(self) -> None:
        """Raise `BudgetError` where a limit is reached."""
        if self._within is not None:
            self._within.check()
        spent = self.spent
        if 0 < self._max_tokens <= spent.usage.total:
            raise BudgetError(
                f"{spent.usage.total:,} of {self._max_tokens:,} tokens are spent; what is done is"
                " kept: run it again to go on with as many more, or raise llm.max_tokens_spent"
            )
        if 0 < self._max_cost <= (spent.cost or 0.0):
            raise BudgetError(
                f"${spent.cost:.4f} of ${self._max_cost:g} are spent; what is done is kept: run it"
                " again to go on with as much more, or raise llm.max_cost"
            )

    def count(self, reply: Reply) -> None:
        """Add what a reply took."""
        if self._within is not None:
            self._within.count(reply)
        with self._lock:
            before, fresh = self.spent, not reply.cached
            cost = before.cost
            if fresh and reply.cost is not None:
                cost = (cost or 0.0) + reply.cost
            self.spent = Spent(
                requests=before.requests + fresh,
                cached=before.cached + (not fresh),
                usage=before.usage + reply.usage if fresh else before.usage,
                cost=cost,
            )


class Rehearsal:
    """Implements `ports.LanguageModel` where nothing is to be asked.

    Kept replies are given; whatever else would be asked fails, as if a limit were reached.
    """

    def __init__(self, name: str, kept: Callable[[Request], Reply | None]) -> None:
        self._name, self._kept = name, kept
        self.asked: list[Request] = []
        """Every request."""

    @property
    def name(self) -> str:
        """That of the model."""
        return self._name

    def reply(self, request: Request) -> Reply:
        """The kept reply; else raises `BudgetError`."""
        self.asked.append(request)
        kept = self._kept(request)
        if kept is None:
            raise BudgetError("nothing is asked in a dry run")
        return kept

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """The same, in one piece."""
        reply = self.reply(request)
        yield reply.text
        yield reply


def estimate(
    requests: Sequence[Request], cached: int, past: Sequence[LoggedReply], output_tokens: int
) -> Estimate:
    """What requests would take that are not answered yet, judged by those of the past.

    `past` are requests of the same model and task, be it that they failed; without any, tokens are
    counted as most models would, and a reply has `output_tokens`.
    """
    done = [entry for entry in past if entry.usage.input_tokens and entry.characters]
    characters = sum(entry.characters for entry in done)
    rate, reply, price = 0.0, float(output_tokens), None
    if done:
        rate = sum(entry.usage.input_tokens for entry in done) / characters
        reply = sum(entry.usage.output_tokens for entry in done) / len(done)
        costs = [entry.cost for entry in done if entry.cost is not None]
        tokens = sum(entry.usage.total for entry in done if entry.cost is not None)
        price = sum(costs) / tokens if tokens else None
    else:
        # By requests from all over, the same ones each time.
        sampled = random.Random(0).sample(requests, min(_SAMPLED, len(requests)))
        texts = [prompt_text(request) for request in sampled]
        rate = sum(map(usual_tokens, texts)) / max(sum(map(len, texts)), 1)
    read = round(rate * sum(len(prompt_text(request)) for request in requests))
    written = round(reply * len(requests))
    return Estimate(
        documents=len({name for request in requests for name in request.documents}),
        calls=len(requests),
        cached=cached,
        input_tokens=read,
        output_tokens=written,
        cost=None if price is None else price * (read + written),
    )


# How many tokens a prompt takes, where the model's own tokenizer is not at hand.


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
