"""What may be spent, what was, and what work would take before it begins."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.errors import BudgetError, InputError
from clew.models.llm.tokens import prompt_text, usual_tokens
from clew.ports.language_model import Usage

if TYPE_CHECKING:
    from clew.ports.language_model import LoggedReply, Reply, Request


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
    """Implements `ports.language_model.LanguageModel` where nothing is to be asked.

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """What work would take; nothing has been asked."""

    documents: int
    calls: int
    """Those that are answered from the cache not counted."""
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None where the price is not known."""


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
        rate = _usual_rate(requests)
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


def _usual_rate(requests: Sequence[Request]) -> float:
    """Tokens of a character, by requests from all over, the same ones each time."""
    sampled = random.Random(0).sample(requests, min(_SAMPLED, len(requests)))
    texts = [prompt_text(request) for request in sampled]
    return sum(map(usual_tokens, texts)) / max(sum(map(len, texts)), 1)


def total(found: Sequence[Estimate]) -> Estimate:
    """All of several estimates, of documents that differ; the cost is None where one's is."""
    costs = [one.cost for one in found if one.calls]
    known = [cost for cost in costs if cost is not None]
    return Estimate(
        documents=sum(one.documents for one in found),
        calls=sum(one.calls for one in found),
        cached=sum(one.cached for one in found),
        input_tokens=sum(one.input_tokens for one in found),
        output_tokens=sum(one.output_tokens for one in found),
        cost=sum(known) if costs and len(known) == len(costs) else None,
    )
