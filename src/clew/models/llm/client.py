"""The engine's language model: a provider whose replies are kept, counted, checked and repaired."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from pydantic import ValidationError

from clew.errors import (
    ModelError,
    ModelUnavailableError,
    ReplyError,
    StoreError,
    redacted,
    redacted_pieces,
)
from clew.hookspecs import named, there
from clew.models.llm.budget import Budget, prompt_text
from clew.ports import (
    LanguageModel,
    LoggedReply,
    Message,
    Parameters,
    Reply,
    Request,
    ToolCall,
)
from clew.text import encodable, one_line
from clew.types import Usage
from clew.untrusted import escaped

if TYPE_CHECKING:
    from pydantic import BaseModel

    from clew.ports import Task
    from clew.settings import LlmSettings
    from clew.stores.state import Replies


T = TypeVar("T")
Ask: TypeAlias = Callable[[Request], Iterator["str | Reply"]]

logger = logging.getLogger("clew")

AWAY_SECONDS = 30.0
"""How long a model that could not be reached is not asked again."""

_OF_A_QUESTION: tuple[Task, ...] = ("route", "judge", "answer")
"""Tasks that one question may take."""


class LanguageModelClient:
    """`ports.LanguageModel` over a provider; threads may share one.

    A reply that is kept is not asked for again. Each is parsed by its request's schema; one that
    fails is asked for once more, with what is wrong, and then recorded as failed.
    """

    def __init__(
        self,
        provider: LanguageModel,
        settings: LlmSettings,
        log: Replies | None = None,
    ) -> None:
        """Clients of one provider share its `slots`, which bound the requests at a time."""
        self.provider = provider
        self.settings = settings
        self.log = log if settings.cache else None
        own = threading.BoundedSemaphore(settings.concurrency)
        self.slots: threading.BoundedSemaphore = getattr(provider, "slots", own)
        self.budget = Budget(settings.max_tokens_spent, settings.max_cost)
        """Of this client."""
        self._guard = threading.Lock()
        self._under_way: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        """Requests that are being asked: who wants the same waits, and finds the reply kept."""
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
        with self._guard:
            alone = self._under_way.setdefault(key, threading.Lock())
        with alone if self.log is not None else nullcontext():
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
            reason = f"{error.reason}: {error}" if isinstance(error, ReplyError) else str(error)
            self._record(logged(key, request, _together(tried), reason))
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
        self._record(logged(key, request, whole))
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
        for until, away in self._away:
            if time.monotonic() < until:
                raise away
        self._away.clear()
        try:
            return self._retried(request, work)
        except ReplyError:
            raise
        except ModelError as error:
            if isinstance(error, ModelUnavailableError) and not error.reached:
                self._away[:] = [(time.monotonic() + AWAY_SECONDS, error)]
                raise
            fallback, asked = self.settings.fallback_model, request.parameters
            if not fallback or asked is None or asked.model == fallback:
                raise
            logger.warning("%s: %s is asked instead", error, fallback)
        return self._retried(replace(request, parameters=replace(asked, model=fallback)), work)

    def _retried(self, request: Request, work: Callable[[Request], T]) -> T:
        assert request.parameters is not None
        deadline = time.monotonic() + request.parameters.seconds
        return with_retries(lambda: work(request), retries=self.settings.retries, deadline=deadline)

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


# Requests by their hash, and replies as the store keeps them.


_VERSION = 1
"""Of what is hashed and how replies are written; another one makes all of them unknown."""


def request_key(provider: str, request: Request) -> str:
    """Hash of all that the answer depends on; the same for the same request in every process."""
    asked = request.parameters
    assert asked is not None
    schema = None if request.schema is None else request.schema.model_json_schema()
    parts = [
        _VERSION,
        provider,
        [asked.model, asked.temperature, asked.max_output_tokens],
        request.instructions,
        [asdict(message) for message in request.messages],
        schema,
        [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def logged(key: str, request: Request, reply: Reply | None, reason: str = "") -> LoggedReply:
    """A reply as the store keeps it; with a reason a failure, with what it took."""
    asked = request.parameters
    model = asked.model if asked else ""
    spent = reply or Reply(text="", finish="stop", model=model)
    kept = {"text": spent.text, "finish": spent.finish, "calls": list(map(asdict, spent.calls))}
    return LoggedReply(
        key=key,
        task=request.task,
        model=model,
        subject=request.subject[:200],
        documents=request.documents,
        reason=reason,
        reply="" if reason else json.dumps(kept),
        characters=len(prompt_text(request)),
        usage=spent.usage,
        cost=spent.cost,
        seconds=spent.seconds,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def restored(entry: LoggedReply) -> Reply:
    """A reply that was kept; nothing was spent on it."""
    kept = json.loads(entry.reply)
    return Reply(
        text=kept["text"],
        finish=kept["finish"],
        model=entry.model,
        usage=Usage(),
        cost=None,
        calls=tuple(ToolCall(**call) for call in kept["calls"]),
        cached=True,
    )


# Replies held to their schema: parsed, and asked for once more with what is wrong.


_SHOWN = 500
"""Characters of a reply, and of what is wrong with it, that the model is told."""
_SAID = 80
"""Characters of a reply without JSON that the user is told."""


def parse(request: Request, reply: Reply) -> BaseModel | None:
    """What the request's schema makes of a reply; None for a request of plain text.

    Prose or a fence around the JSON is passed over. Raises `ReplyError` for a reply that was
    refused, cut short or empty, or that is not of the schema.
    """
    if reply.finish == "refused":
        raise ReplyError(f"{reply.model} would not answer", "refused")
    if reply.finish == "length":
        raise ReplyError(
            f"{reply.model} was cut short at {reply.usage.output_tokens:,} tokens; raise"
            f" llm.{request.task}.max_output_tokens",
            "truncated",
        )
    if not reply.text.strip() and not reply.calls:
        raise ReplyError(f"{reply.model} answered with nothing", "empty")
    if reply.calls and not request.tools:
        raise ReplyError(f"{reply.model} called a tool, and was offered none", "malformed")
    if request.schema is None or reply.calls:
        return None
    start, end = reply.text.find("{"), reply.text.rfind("}")
    if start < 0:
        said = one_line(reply.text)[:_SAID]
        raise _of_another_form(reply, f"expected a JSON object, got {said!r}")
    try:
        return request.schema.model_validate_json(reply.text[start : end + 1])
    except RecursionError as error:
        raise _of_another_form(reply, "it is nested too deeply") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the reply"
        raise _of_another_form(reply, f"{place}: {first['msg']}"[:_SHOWN]) from error


def _of_another_form(reply: Reply, wrong: str) -> ReplyError:
    return ReplyError(f"{reply.model} did not answer in the form asked for: {wrong}", "malformed")


def repaired(request: Request, reply: Reply, error: ReplyError) -> Request:
    """The request once more, with the reply and what is wrong with it."""
    told = f"That is not what was asked for. {error}. Answer again, with the JSON object alone."
    return replace(
        request,
        messages=(
            *request.messages,
            Message(role="assistant", text=escaped(reply.text[:_SHOWN]) or "(nothing)"),
            Message(role="user", text=told),
        ),
    )


# Trying again: what can pass by itself is waited for, what cannot is not.


FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds: before the first further try, doubled with each, and at most."""


def with_retries(
    work: Callable[[], T],
    *,
    retries: int,
    deadline: float,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random.random,
) -> T:
    """What `work` returns, tried again while the model is overloaded and there is time.

    One that was not reached at all is not tried again: whoever waits is told at once. The wait is
    what the provider asks for, else it doubles, with a jitter of a half.
    """
    for attempt in range(retries + 1):
        try:
            return work()
        except ModelUnavailableError as error:
            wait = error.retry_after
            if wait is None:
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * (0.5 + jitter())
            late = now() + wait > deadline
            if not error.reached or attempt == retries or late or wait > LONGEST_WAIT:
                raise
            sleep(wait)
    raise AssertionError("the last try returns or raises")


# From settings to the provider of a language model; each is imported where it is chosen.


class Provider(LanguageModel, Protocol):
    """A language model that holds a connection."""

    def close(self) -> None:
        """Let go of it."""


def make_provider(settings: LlmSettings) -> Provider:
    """The provider that is configured; nothing is asked before the first request."""
    provider: Provider = there(named("language_models")[settings.provider][0])(settings)
    return provider
