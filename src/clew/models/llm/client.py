"""The engine's language model: a provider whose replies are kept, counted, checked and repaired."""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from clew.errors import (
    ModelError,
    ModelUnavailableError,
    ReplyError,
    StoreError,
    redacted,
    redacted_pieces,
)
from clew.models.llm.budget import Budget
from clew.models.llm.cache import UnderWay, answered, failed, request_key, restored
from clew.models.llm.reachable import AWAY_SECONDS
from clew.models.llm.repair import parse, repaired
from clew.models.llm.retry import with_retries
from clew.ports.language_model import Parameters, Reply, Request, Usage
from clew.text import encodable

if TYPE_CHECKING:
    from pydantic import BaseModel

    from clew.ports.language_model import LanguageModel, LoggedReply, ReplyLog, Task
    from clew.settings import LlmSettings

T = TypeVar("T")
Ask: TypeAlias = Callable[[Request], Iterator["str | Reply"]]

logger = logging.getLogger("clew")

_OF_A_QUESTION: tuple[Task, ...] = ("route", "judge", "answer")
"""Tasks that one question may take."""


class LanguageModelClient:
    """`ports.language_model.LanguageModel` over a provider; threads may share one.

    A reply that is kept is not asked for again. Each is parsed by its request's schema; one that
    fails is asked for once more, with what is wrong, and then recorded as failed.
    """

    def __init__(
        self,
        provider: LanguageModel,
        settings: LlmSettings,
        log: ReplyLog | None = None,
    ) -> None:
        """Clients of one provider share its `slots`, which bound the requests at a time."""
        self.provider = provider
        self.settings = settings
        self.log = log if settings.cache else None
        own = threading.BoundedSemaphore(settings.concurrency)
        self.slots: threading.BoundedSemaphore = getattr(provider, "slots", own)
        self.budget = Budget(settings.max_tokens_spent, settings.max_cost)
        """Of this client."""
        self._under_way = UnderWay()
        self._away: list[tuple[float, ModelUnavailableError]] = []
        """Until when it is not asked again, and why; shared with the clients of `limited`."""

    @property
    def name(self) -> str:
        """The provider and the model."""
        return f"{self.provider.name} {self.settings.model}".strip()

    def close(self) -> None:
        """Let go of connections, where the provider has any."""
        getattr(self.provider, "close", lambda: None)()

    def warm(self, tokens: int) -> None:
        """Have a local model loaded in the background, for prompts of so many tokens.

        Where that fails nothing is said, since the first request will. Nothing is loaded where
        the tasks of a question have several models: one would be in the way of the other.
        """
        begin = getattr(self.provider, "warm", None)
        if begin is not None and len({self.model_of(task) for task in _OF_A_QUESTION}) == 1:
            empty = Request(task="answer", instructions="", messages=())
            begin(self.prepared(empty).parameters, tokens)

    def reply(self, request: Request) -> Reply:
        """See `LanguageModel`; also raises `BudgetError`.

        Threads that ask the same at the same time share one call, where replies are kept.
        """
        request = self.prepared(request)
        key = request_key(self.provider.name, request)
        with self._under_way.alone(key) if self.log is not None else nullcontext():
            *_, reply = self._answer(request, self._whole)
        assert isinstance(reply, Reply)
        return reply

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """See `LanguageModel`; also raises `BudgetError`.

        A reply that had to be repaired comes whole, after the pieces of the first try.
        """
        return self._answer(request, self._pieces)

    def kept(self, request: Request) -> Reply | None:
        """The reply to a request that would be answered without asking; not counted as used."""
        request = self.prepared(request)
        entry = self._kept(request_key(self.provider.name, request), counted=False)
        if entry is None:
            return None
        reply = restored(entry)
        return replace(reply, value=parse(request, reply))

    def unknown(self, requests: Iterable[Request]) -> list[Request]:
        """Those that would be asked: of requests that are the same, and not kept, the first."""
        if self.log is None:
            return list(requests)
        prepared = [self.prepared(request) for request in requests]
        distinct = {request_key(self.provider.name, one): one for one in reversed(prepared)}
        return [one for one in reversed(distinct.values()) if self.kept(one) is None]

    def reject(self, request: Request, reason: str) -> None:
        """Record a kept reply as failed, since the text does not bear it out: ask for it again."""
        kept = self._kept(request_key(self.provider.name, self.prepared(request)), counted=False)
        if kept is not None:
            self._record(replace(kept, reply="", reason=reason))

    def model_of(self, task: Task) -> str:
        """The model that is asked for a task."""
        return self.settings.task(task).model or self.settings.model

    def prepared(self, request: Request) -> Request:
        """The request with the parameters of its task."""
        if request.parameters is not None:
            return request
        task = self.settings.task(request.task)
        parameters = Parameters(
            model=self.model_of(request.task),
            temperature=task.temperature,
            max_output_tokens=task.max_output_tokens,
            seconds=task.seconds,
        )
        return replace(request, parameters=parameters)

    def limited(
        self, max_tokens: int | None = None, max_cost: float | None = None, *, keep: bool = True
    ) -> LanguageModelClient:
        """The same model for one piece of work: counted by itself, within limits of its own, too.

        Without `keep`, replies are neither kept nor used again.
        """
        client = copy.copy(self)
        client.budget = Budget(max_tokens or 0, max_cost or 0.0, within=self.budget)
        client.log = self.log if keep else None
        return client

    # --- one request

    def _answer(self, request: Request, ask: Ask) -> Iterator[str | Reply]:
        request = self.prepared(request)
        key = request_key(self.provider.name, request)
        kept = self._kept(key, counted=True)
        if kept is not None:
            reply = restored(kept)
            self.budget.count(reply)
            yield reply.text
            yield replace(reply, value=parse(request, reply))
            return
        self.budget.check()
        tried: list[Reply] = []
        try:
            with self.slots:
                yield from self._fresh(key, request, ask, tried)
        except ModelError as error:
            self._record(failed(key, request, _reason(error), _together(tried)))
            raise

    def _fresh(
        self, key: str, request: Request, ask: Ask, tried: list[Reply]
    ) -> Iterator[str | Reply]:
        """What the provider says; the whole reply is checked, and kept where it is sound.

        `tried` takes every reply, since one that cannot be used was paid for, too.
        """
        reply: Reply | None = None

        def pieces() -> Iterator[str]:
            nonlocal reply
            for piece in ask(request):
                if isinstance(piece, Reply):
                    reply = piece
                else:
                    yield encodable(piece)

        yield from redacted_pieces(pieces())
        if reply is None:
            raise ReplyError(f"{self.name} ended without a reply", "truncated")
        reply = replace(reply, text=redacted(encodable(reply.text)))
        self.budget.count(reply)
        tried.append(reply)
        try:
            value = parse(request, reply)
        except ReplyError as error:
            value = self._repaired(request, reply, error, tried)
        whole = _together(tried) or reply
        self._record(answered(key, request, whole))
        yield replace(whole, value=value)

    def _repaired(
        self, request: Request, reply: Reply, error: ReplyError, tried: list[Reply]
    ) -> BaseModel | None:
        """The value of the reply to the same request with the error told; asked for once."""
        if error.reason != "malformed":
            raise error
        self.budget.check()
        (second,) = self._whole(repaired(request, reply, error))
        assert isinstance(second, Reply)
        self.budget.count(second)
        tried.append(second)
        return parse(request, second)

    def _whole(self, request: Request) -> Iterator[str | Reply]:
        yield self._tried(request, self.provider.reply)

    def _pieces(self, request: Request) -> Iterator[str | Reply]:
        """Pieces as they come; tried again, or by the fallback, before the first one alone."""

        def begin(request: Request) -> tuple[str | Reply, Iterator[str | Reply]]:
            pieces = iter(self.provider.stream(request))
            return next(pieces), pieces

        first, rest = self._tried(request, begin)
        yield first
        yield from rest

    # --- trying

    def _tried(self, request: Request, work: Callable[[Request], T]) -> T:
        """What `work` makes of the request, tried again, and by the fallback model at last."""
        self._check_away()
        try:
            return self._retried(request, work)
        except ModelUnavailableError as error:
            if not error.reached:
                self._away[:] = [(time.monotonic() + AWAY_SECONDS, error)]
                raise
            return self._by_fallback(request, work, error)
        except ReplyError:
            raise
        except ModelError as error:
            return self._by_fallback(request, work, error)

    def _retried(self, request: Request, work: Callable[[Request], T]) -> T:
        assert request.parameters is not None
        deadline = time.monotonic() + request.parameters.seconds
        return with_retries(lambda: work(request), retries=self.settings.retries, deadline=deadline)

    def _by_fallback(self, request: Request, work: Callable[[Request], T], error: ModelError) -> T:
        fallback, asked = self.settings.fallback_model, request.parameters
        if not fallback or asked is None or asked.model == fallback:
            raise error
        logger.warning("%s: %s is asked instead", error, fallback)
        return self._retried(replace(request, parameters=replace(asked, model=fallback)), work)

    def _check_away(self) -> None:
        """Raise at once where the model could not be reached a moment ago."""
        for until, error in self._away:
            if time.monotonic() < until:
                raise error
        self._away.clear()

    # --- what is kept

    def _kept(self, key: str, *, counted: bool) -> LoggedReply | None:
        if self.log is None:
            return None
        try:
            return self.log.find(key, counted=counted)
        except StoreError as error:
            logger.warning("kept replies cannot be read: %s", error)
            return None

    def _record(self, entry: LoggedReply) -> None:
        if self.log is None:
            return
        try:
            self.log.record(entry)
        except StoreError as error:
            logger.warning("a reply cannot be kept: %s", error)


def _reason(error: ModelError) -> str:
    return f"{error.reason}: {error}" if isinstance(error, ReplyError) else str(error)


def _together(replies: list[Reply]) -> Reply | None:
    """The last reply with what all of them took; None where there are none."""
    if not replies:
        return None
    known = [reply.cost for reply in replies if reply.cost is not None]
    return replace(
        replies[-1],
        usage=sum((reply.usage for reply in replies), Usage()),
        cost=sum(known) if known else None,
        seconds=sum(reply.seconds for reply in replies),
    )
